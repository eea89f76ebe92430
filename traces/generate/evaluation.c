/* The jobs that evaluate an LLM on data sets, as Acme's evaluation does: each data set is a trial on one GPU that loads
 * the model, prepares the data, infers, and computes a metric on the CPU while it holds its GPU.
 *
 * Acme's coordinator decouples these, one step after another:
 *
 *     none      trials load the model over the network, by "load" of the type "trial"
 *     load      a "loader" on each node loads it into host memory; then "warm-trial" jobs copy it from there
 *     metric    metrics are jobs without GPUs ("metric"), after their trials
 *     elastic   data sets are cut into pieces of at most 1 / pieces of a GPU's mean share. Those with metrics come
 *               first, then the longest. They are dealt round robin. The pieces of a GPU follow one another and copy
 *               the model once.
 *
 * Times of inference are lognormal: `inference` is their median, `spread` the standard deviation of their logarithm. A
 * piece takes its part of the preparation. All jobs are submitted at time 0.
 *
 * Source: Hu et al., Characterization of Large Language Model Development in the Datacenter, NSDI 2024. Leaves out:
 * CPUs that metrics wait for, failed trials, trials of several GPUs. */
#include "traces/registry.h"
#include "traces/stream.h"
#include "traces/transform.h"

#include "sim/core/mem.h"
#include "sim/core/rng.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum coordinator { COORDINATOR_NONE, COORDINATOR_LOAD, COORDINATOR_METRIC, COORDINATOR_ELASTIC };

struct evaluation_params {
    struct trace_transform transform;
    int64_t datasets, metric_datasets, nodes, gpus_per_node, pieces;
    double spread;
    sim_ns inference_ns, prepare_ns, metric_ns, copy_ns;
    int coordinator;
};

/* A part of a data set. */
struct piece {
    int64_t dataset, index; /* index: within the data set */
    sim_ns time_ns;         /* to prepare and infer */
    bool has_metric;
};

struct evaluation {
    struct stream stream;
    const struct evaluation_params *params;
    struct arena arena;
    struct job_record *jobs; /* [n_jobs] */
    int64_t n_jobs, n_given;
    struct job_need *loaded; /* [nodes]: the loaders */
};

static bool has_metric(const struct evaluation_params *params, int64_t dataset)
{
    return params->metric_ns > 0 && dataset * params->metric_datasets % params->datasets < params->metric_datasets;
}

static struct job_record *add_job(struct evaluation *evaluation, const char *type, int64_t gpus, sim_ns duration_ns)
{
    struct job_record *job = &evaluation->jobs[evaluation->n_jobs];
    *job = (struct job_record){.id = evaluation->n_jobs++, .gpus = (int32_t)gpus, .gpu_milli = 1000, .type = type,
                               .duration_ns = duration_ns, .estimate_ns = duration_ns, .group = "", .user = ""};
    return job;
}

static int add_loaders(struct evaluation *evaluation)
{
    const struct evaluation_params *params = evaluation->params;
    evaluation->loaded = arena_alloc(&evaluation->arena, (size_t)params->nodes * sizeof *evaluation->loaded);
    if (evaluation->loaded == NULL) return SIM_E_NOMEM;
    for (int64_t i = 0; i < params->nodes; i++)
        evaluation->loaded[i] = (struct job_need){.job = add_job(evaluation, "loader", params->gpus_per_node, 0)->id};
    return 0;
}

/* Computes the metric of the one trial. */
static int add_metric(struct evaluation *evaluation, int64_t trial)
{
    struct job_need *needs = arena_alloc(&evaluation->arena, sizeof *needs);
    if (needs == NULL) return SIM_E_NOMEM;
    *needs = (struct job_need){.job = trial};
    struct job_record *metric = add_job(evaluation, "metric", 0, evaluation->params->metric_ns);
    metric->needs = needs;
    metric->n_needs = 1;
    return 0;
}

/* One trial for each data set. */
static int add_trials(struct evaluation *evaluation, const struct piece *sets)
{
    const struct evaluation_params *params = evaluation->params;
    const bool warm = params->coordinator >= COORDINATOR_LOAD, apart = params->coordinator >= COORDINATOR_METRIC;
    const int64_t first = evaluation->n_jobs;
    for (int64_t i = 0; i < params->datasets; i++) {
        const sim_ns metric_ns = sets[i].has_metric && !apart ? params->metric_ns : 0;
        const sim_ns time_ns = sets[i].time_ns + metric_ns + (warm ? params->copy_ns : 0);
        struct job_record *job = add_job(evaluation, warm ? "warm-trial" : "trial", 1, time_ns);
        job->needs = evaluation->loaded;
        job->n_needs = warm ? (int32_t)params->nodes : 0;
    }
    int code = 0;
    for (int64_t i = 0; apart && i < params->datasets && code == 0; i++)
        if (sets[i].has_metric) code = add_metric(evaluation, first + i);
    return code;
}

/* --- Pieces --- */

static int compare_pieces(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    if (x->has_metric != y->has_metric) return x->has_metric ? -1 : 1;
    if (x->time_ns != y->time_ns) return x->time_ns > y->time_ns ? -1 : 1;
    if (x->dataset != y->dataset) return x->dataset < y->dataset ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* The longest piece. */
static sim_ns limit_of(const struct evaluation_params *params, const struct piece *sets)
{
    double sum_ns = 0.0;
    for (int64_t i = 0; i < params->datasets; i++) sum_ns += (double)sets[i].time_ns;
    const double limit_ns = sum_ns / (double)(params->nodes * params->gpus_per_node * params->pieces);
    return limit_ns < 1.0 ? 1 : (sim_ns)ceil(limit_ns);
}

static int64_t n_pieces_of(const struct piece *set, sim_ns limit_ns)
{
    return set->time_ns > limit_ns ? (set->time_ns + limit_ns - 1) / limit_ns : 1;
}

/* Returns their number. */
static int64_t cut(const struct evaluation_params *params, const struct piece *sets, struct piece *pieces)
{
    const sim_ns limit_ns = limit_of(params, sets);
    int64_t n = 0;
    for (int64_t i = 0; i < params->datasets; i++) {
        const int64_t parts = n_pieces_of(&sets[i], limit_ns);
        for (int64_t k = 0; k < parts; k++) {
            pieces[n] = sets[i];
            pieces[n].index = k;
            pieces[n++].time_ns = sets[i].time_ns / parts + (k < sets[i].time_ns % parts);
        }
    }
    qsort(pieces, (size_t)n, sizeof *pieces, compare_pieces);
    return n;
}

/* A metric of a data set follows all its pieces, which are `n_pieces`. */
static int add_metric_after(struct evaluation *evaluation, int64_t n_pieces, struct job_record **metric)
{
    struct job_need *needs = arena_alloc(&evaluation->arena, (size_t)n_pieces * sizeof *needs);
    if (needs == NULL) return SIM_E_NOMEM;
    *metric = add_job(evaluation, "metric", 0, evaluation->params->metric_ns);
    (*metric)->needs = needs;
    return 0;
}

/* Metrics of the data sets, whose pieces are `first` and those behind it. Pieces with a metric come before others. */
static int add_metrics(struct evaluation *evaluation, const struct piece *pieces, int64_t n, int64_t first)
{
    const size_t n_sets = (size_t)evaluation->params->datasets;
    int64_t *n_pieces = arena_alloc(&evaluation->arena, n_sets * sizeof *n_pieces);
    struct job_record **metrics = arena_alloc(&evaluation->arena, n_sets * sizeof *metrics);
    if (n_pieces == NULL || metrics == NULL) return SIM_E_NOMEM;
    for (int64_t i = 0; i < n && pieces[i].has_metric; i++) n_pieces[pieces[i].dataset]++;
    for (int64_t i = 0; i < n && pieces[i].has_metric; i++) {
        const int64_t set = pieces[i].dataset;
        if (pieces[i].index == 0 && add_metric_after(evaluation, n_pieces[set], &metrics[set]) < 0) return SIM_E_NOMEM;
    }
    for (int64_t i = 0; i < n && pieces[i].has_metric; i++) {
        struct job_record *metric = metrics[pieces[i].dataset];
        ((struct job_need *)metric->needs)[metric->n_needs++] = (struct job_need){.job = first + i};
    }
    return 0;
}

static int add_pieces(struct evaluation *evaluation, const struct piece *sets, struct piece *pieces)
{
    const struct evaluation_params *params = evaluation->params;
    const int64_t n = cut(params, sets, pieces), gpus = params->nodes * params->gpus_per_node;
    const int64_t first = evaluation->n_jobs;
    struct job_need *before = arena_alloc(&evaluation->arena, (size_t)n * sizeof *before);
    if (before == NULL) return SIM_E_NOMEM;
    for (int64_t i = 0; i < n; i++) {
        const bool is_first = i < gpus;
        struct job_record *job = add_job(evaluation, "warm-trial", 1,
                                         pieces[i].time_ns + (is_first ? params->copy_ns : 0));
        before[i] = (struct job_need){.job = first + i - gpus};
        job->needs = is_first ? evaluation->loaded : &before[i];
        job->n_needs = is_first ? (int32_t)params->nodes : 1;
    }
    return add_metrics(evaluation, pieces, n, first);
}

/* --- All jobs --- */

static void draw(const struct evaluation_params *params, struct rng *rng, struct piece *sets)
{
    for (int64_t i = 0; i < params->datasets; i++) {
        const double factor = exp(params->spread * gsl_cdf_ugaussian_Pinv(rng_uniform(rng)));
        const double inference_s = sim_s_from_ns(params->inference_ns) * factor;
        sets[i] = (struct piece){.dataset = i,
                                 .time_ns = params->prepare_ns + sim_ns_from_s(inference_s),
                                 .has_metric = has_metric(params, i)};
    }
}

static int make_jobs(struct evaluation *evaluation, struct rng *rng)
{
    const struct evaluation_params *params = evaluation->params;
    const size_t n_sets = (size_t)params->datasets;
    const size_t most_pieces = n_sets + (size_t)(params->nodes * params->gpus_per_node * params->pieces);
    struct piece *sets = arena_alloc(&evaluation->arena, n_sets * sizeof *sets);
    struct piece *pieces = arena_alloc(&evaluation->arena, most_pieces * sizeof *pieces);
    evaluation->jobs = arena_alloc(&evaluation->arena,
                                   ((size_t)params->nodes + most_pieces + n_sets) * sizeof *evaluation->jobs);
    if (sets == NULL || pieces == NULL || evaluation->jobs == NULL) return SIM_E_NOMEM;
    draw(params, rng, sets);
    const int code = params->coordinator >= COORDINATOR_LOAD ? add_loaders(evaluation) : 0;
    if (code != 0) return code;
    return params->coordinator == COORDINATOR_ELASTIC ? add_pieces(evaluation, sets, pieces)
                                                      : add_trials(evaluation, sets);
}

static int evaluation_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct evaluation *evaluation = (struct evaluation *)stream;
    (void)diag;
    if (evaluation->n_given == evaluation->n_jobs) return 0;
    record->job = evaluation->jobs[evaluation->n_given++];
    return 1;
}

static struct source_place evaluation_place(const struct stream *stream)
{
    const struct evaluation *evaluation = (const struct evaluation *)stream;
    return (struct source_place){.row = evaluation->n_given,
                                 .done_frac = (double)evaluation->n_given / (double)evaluation->n_jobs};
}

static bool evaluation_note(const struct stream *stream, size_t index, struct source_note *note)
{
    (void)stream, (void)index, (void)note;
    return false;
}

static void evaluation_close(struct stream *stream)
{
    struct evaluation *evaluation = (struct evaluation *)stream;
    arena_fini(&evaluation->arena);
    mem_free(evaluation);
}

static const struct stream_ops evaluation_ops = {.next = evaluation_next,
                                                 .place = evaluation_place,
                                                 .note = evaluation_note,
                                                 .close = evaluation_close};

static int check(const struct evaluation_params *params, const char *where, struct diag *diag)
{
    if (params->metric_datasets <= params->datasets) return 0;
    return diag_error(diag, SIM_E_CONFIG, where, "lower 'metric_datasets', or raise 'datasets'",
                      "%lld of %lld data sets have a metric to compute", (long long)params->metric_datasets,
                      (long long)params->datasets);
}

static int open_jobs(const void *params, const struct source_options *options, struct job_source **source,
                     struct diag *diag)
{
    const struct evaluation_params *evaluation_params = params;
    char name[STREAM_NAME_CHARS];
    struct rng rng;
    int code = check(evaluation_params, options->where, diag);
    if (code != 0) return code;
    struct evaluation *evaluation = mem_zalloc(1, sizeof *evaluation);
    if (evaluation == NULL) return diag_nomem(diag);
    evaluation->stream.ops = &evaluation_ops;
    evaluation->params = evaluation_params;
    arena_init(&evaluation->arena);
    snprintf(name, sizeof name, "%s.evaluation", options->stream);
    rng_init(&rng, options->seed, options->run, name, 0);
    if (make_jobs(evaluation, &rng) != 0) {
        evaluation_close(&evaluation->stream);
        return diag_nomem(diag);
    }
    struct stream *stream = &evaluation->stream;
    code = transform_open(&evaluation_params->transform, options, false, stream, &stream, diag);
    return code != 0 ? code : stream_to_jobs(stream, source, diag);
}

static const char *const coordinator_names[] = {"none", "load", "metric", "elastic", NULL};

#define ROW_OF struct evaluation_params
static const struct config_field params[] = {
    TRACE_TIME_PARAMS,
    ROW_INT("datasets", datasets, REQUIRED, WITHIN(1, 1e6), "data sets, each a trial on one GPU"),
    ROW_TIME("inference", inference_ns, REQUIRED, WITHIN(0, 1e6), "median time to infer a data set"),
    ROW_REAL("spread", spread, DEFAULT("0"), WITHIN(0, 5), "standard deviation of the logarithm of that time"),
    ROW_TIME("prepare", prepare_ns, DEFAULT("0s"), WITHIN(0, 1e6), "time to prepare a data set, which holds the GPU"),
    ROW_TIME("metric", metric_ns, DEFAULT("0s"), WITHIN(0, 1e6), "time to compute a metric on the CPU"),
    ROW_INT("metric_datasets", metric_datasets, DEFAULT("0"), WITHIN(0, 1e6),
            "data sets whose metric takes that time, evenly spaced; those of others take none"),
    ROW_CHOICE(
        "coordinator", coordinator, DEFAULT("none"), coordinator_names,
        "what is decoupled from the trials: nothing; the loading; also the metrics; elastic: also cuts data sets"),
    ROW_INT("nodes", nodes, DEFAULT("1"), WITHIN(1, 1e4), "nodes that the coordinator loads the model on"),
    ROW_INT("gpus_per_node", gpus_per_node, DEFAULT("8"), WITHIN(1, 64), "GPUs of each of these nodes"),
    ROW_TIME("copy", copy_ns, DEFAULT("0s"), WITHIN(0, 1e6), "time to copy the model from host memory to a GPU"),
    ROW_INT("pieces", pieces, DEFAULT("8"), WITHIN(1, 64), "elastic: fewest pieces that make a GPU's mean share"),
    {0}};
#undef ROW_OF

/* The coordinator loads on nodes that it counts itself. */
static const char *misfit(const void *of, const struct trace_site *site)
{
    const struct evaluation_params *own = of;
    const char *const *type = site->loading_types;
    if (own->coordinator < COORDINATOR_LOAD) return NULL;
    while (*type != NULL && strcmp(*type, "loader") != 0) type++;
    if (*type == NULL) return "its coordinator loads the model at once: jobs of type 'loader' have no \"load\"";
    if (site->n_nodes == 0) return NULL;
    if (own->nodes != site->n_nodes) return "its coordinator loads on 'nodes' nodes, and the cluster has others";
    if (own->gpus_per_node != site->gpus_per_node)
        return "its loaders take 'gpus_per_node' GPUs, and nodes of the cluster have another number";
    return NULL;
}

/* By the coordinator. */
static const char *const job_types[] = {"trial", "loader", "warm-trial", "metric", NULL};

const struct trace_format trace_generate_evaluation = {
    .name = "generate-evaluation",
    .summary = "an LLM evaluated on data sets, with parts decoupled",
    .source = "Hu et al., Characterization of Large Language Model Development in the Datacenter, NSDI 2024",
    .params = params,
    .params_bytes = sizeof(struct evaluation_params),
    .job_types = job_types,
    .misfit = misfit,
    .open_jobs = open_jobs};
