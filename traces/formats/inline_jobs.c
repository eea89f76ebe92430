/* Jobs written in the scenario itself, for small cases in one file:
 *
 *     "trace": {"format": "inline-jobs", "jobs": [{"submit": "0s", "duration": "5min", "gpus": 4}, ...]}
 *
 * In the order of their submission; a job's id is its place in the list, from 0. A job with "after" waits for earlier
 * ones: {"duration": "5min", "after": [{"job": 0}, {"job": 2, "delay": "3s"}]}. */
#include "traces/registry.h"
#include "traces/transform.h"

#include "sim/core/mem.h"

#include <math.h>

struct inline_job {
    sim_ns submit_ns;
    double duration_s; /* NAN: steps say it */
    double estimate_s; /* NAN: the duration */
    int64_t gpus, nodes, steps;
    const char *type;
    double gpu_share, cpus, memory_bytes; /* memory NAN: none */
    const char *gpu_models;
    struct config_list after; /* struct job_need */
    int64_t enough;
    double loss; /* NAN: none */
};

struct inline_params {
    struct trace_transform transform;
    struct config_list jobs; /* struct inline_job */
};

struct inline_stream {
    struct stream stream;
    const struct inline_params *params;
    size_t next;
};

static const struct inline_job *job_at(const struct inline_params *params, size_t i)
{
    return (const struct inline_job *)params->jobs.items + i;
}

static int inline_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    (void)diag;
    struct inline_stream *list = (struct inline_stream *)stream;
    if (list->next == list->params->jobs.n) return 0;
    const struct inline_job *job = job_at(list->params, list->next);
    const sim_ns duration_ns = isnan(job->duration_s) ? 0 : sim_ns_from_s(job->duration_s);
    record->job = (struct job_record){
        .id = (int64_t)list->next++,
        .submit_ns = job->submit_ns,
        .duration_ns = duration_ns,
        .steps = isnan(job->duration_s) && job->steps == 0 ? -1 : job->steps,
        .estimate_ns = isnan(job->estimate_s) ? duration_ns : sim_ns_from_s(job->estimate_s),
        .gpus = (int32_t)job->gpus,
        .nodes = (int32_t)job->nodes,
        .gpu_milli = job->gpus == 1 ? (int32_t)(job->gpu_share * 1000 + 0.5) : 1000,
        .cpu_milli = (int64_t)(job->cpus * 1000 + 0.5),
        .memory_bytes = job->memory_bytes > 0 ? (int64_t)job->memory_bytes : 0,
        .gpu_models = job->gpu_models,
        .group = "",
        .user = "",
        .type = job->type,
        .needs = job->after.items,
        .n_needs = (int32_t)job->after.n,
        .n_enough = (int32_t)job->enough,
        .has_loss = !isnan(job->loss),
        .loss = job->loss,
    };
    return 1;
}

static struct source_place inline_place(const struct stream *stream)
{
    const struct inline_stream *list = (const struct inline_stream *)stream;
    size_t n = list->params->jobs.n;
    return (struct source_place){.row = (int64_t)list->next, .done_frac = n > 0 ? (double)list->next / (double)n : 1};
}

static bool inline_note(const struct stream *stream, size_t index, struct source_note *note)
{
    (void)stream, (void)index, (void)note;
    return false;
}

static void inline_close(struct stream *stream)
{
    mem_free(stream);
}

static const struct stream_ops inline_ops = {
    .next = inline_next, .place = inline_place, .note = inline_note, .close = inline_close};

static int check_order(const struct inline_params *params, const char *where, struct diag *diag)
{
    for (size_t i = 0; i < params->jobs.n; i++)
        if (!isnan(job_at(params, i)->duration_s) && job_at(params, i)->steps > 0)
            return diag_error(diag, SIM_E_CONFIG, where, "leave one of them out",
                              "job %zu of \"jobs\" has a 'duration' and 'steps'", i);
    for (size_t i = 1; i < params->jobs.n; i++)
        if (job_at(params, i)->submit_ns < job_at(params, i - 1)->submit_ns)
            return diag_error(diag, SIM_E_CONFIG, where, "write the jobs in the order of their submission",
                              "job %zu of \"jobs\" is submitted before the one above it", i);
    return 0;
}

/* Jobs wait for earlier ones only, so no job waits for itself. */
static int check_needs(const struct inline_params *params, const char *where, struct diag *diag)
{
    for (size_t i = 0; i < params->jobs.n; i++) {
        const struct config_list *after = &job_at(params, i)->after;
        const struct job_need *needs = after->items;
        if (job_at(params, i)->enough > (int64_t)after->n)
            return diag_error(diag, SIM_E_CONFIG, where, "lower its 'enough', or name more jobs",
                              "job %zu of \"jobs\" waits for %lld of %zu jobs", i, (long long)job_at(params, i)->enough,
                              after->n);
        for (size_t k = 0; k < after->n; k++)
            if (needs[k].job >= (int64_t)i)
                return diag_error(diag, SIM_E_CONFIG, where, "name jobs above it; the first has number 0",
                                  "job %zu of \"jobs\" comes after job %lld, which is not above it", i,
                                  (long long)needs[k].job);
    }
    return 0;
}

static int open_jobs(const void *params, const struct source_options *options, struct job_source **source,
                     struct diag *diag)
{
    const struct inline_params *inline_params = params;
    int code = check_order(inline_params, options->where, diag);
    if (code == 0) code = check_needs(inline_params, options->where, diag);
    if (code != 0) return code;
    struct inline_stream *list = mem_zalloc(1, sizeof *list);
    if (list == NULL) return diag_nomem(diag);
    list->stream.ops = &inline_ops;
    list->params = inline_params;
    struct stream *stream = &list->stream;
    code = transform_open(&inline_params->transform, options, false, stream, &stream, diag);
    return code != 0 ? code : stream_to_jobs(stream, source, diag);
}

#define ROW_OF struct job_need
static const struct config_field need_fields[] = {
    ROW_INT("job", job, REQUIRED, WITHIN(0, 1e15), "number of the job in the list, from 0"),
    ROW_TIME("delay", delay_ns, DEFAULT("0s"), WITHIN(0, 9e9),
             "time that its data takes to another node than its first one"),
    ROW_BOOL("keeps_gpus", keeps_gpus, DEFAULT("false"),
             "that job keeps its GPUs after its work until this one starts"),
    {0}};
#undef ROW_OF

#define ROW_OF struct inline_job
static const struct config_field job_fields[] = {
    ROW_TIME("submit", submit_ns, DEFAULT("0s"), WITHIN(0, 9e9), "time of submission"),
    ROW_QUANTITY("duration", duration_s, UNIT_TIME, OPTIONAL, WITHIN(0, 9e9),
                 "run time on the requested GPUs; default: from steps"),
    ROW_INT("steps", steps, DEFAULT("0"), WITHIN(0, 1e12),
            "steps of training, in place of a duration; its type says what it trains"),
    ROW_QUANTITY("estimate", estimate_s, UNIT_TIME, OPTIONAL, WITHIN(0, 9e9),
                 "run time estimated by the user; default: the duration"),
    ROW_INT("gpus", gpus, DEFAULT("1"), WITHIN(0, INT32_MAX), "GPUs requested"),
    ROW_INT("nodes", nodes, DEFAULT("0"), WITHIN(0, INT32_MAX), "nodes requested; 0: free choice"),
    ROW_TEXT("type", type, DEFAULT(""), ANY, "name of its entry under \"jobs.types\""),
    ROW_REAL("gpu_share", gpu_share, DEFAULT("1"), WITHIN(0.001, 1),
             "share of the GPU that a job of one GPU requests, under placement of shares"),
    ROW_REAL("cpus", cpus, DEFAULT("0"), WITHIN(0, 1e9),
             "CPU cores requested, over all nodes; counted on nodes with cpus_per_node"),
    ROW_QUANTITY("memory", memory_bytes, UNIT_BYTES, OPTIONAL, WITHIN(0, 1e18), "memory requested, over all nodes; counted on nodes with memory_per_node"),
    ROW_TEXT("gpu_models", gpu_models, OPTIONAL, ANY,
             "acceptable GPU models, \"V100|A100\", if nodes differ; default: any"),
    ROW_LIST("after", after, OPTIONAL, ANY, struct job_need, need_fields, "jobs that must have ended before it starts"),
    ROW_INT("enough", enough, DEFAULT("0"), WITHIN(0, INT32_MAX), "of these, so many must have ended; 0: all"),
    ROW_REAL("loss", loss, OPTIONAL, WITHIN(-1e6, 1e6), "of a trial: loss at its end; default: drawn"),
    {0}};
#undef ROW_OF

#define ROW_OF struct inline_params
static const struct config_field params[] = {
    TRACE_TIME_PARAMS,
    ROW_LIST("jobs", jobs, REQUIRED, ANY, struct inline_job, job_fields, "the jobs, in the order of their submission"),
    {0}};
#undef ROW_OF

const struct trace_format trace_inline_jobs = {.name = "inline-jobs",
                                               .summary = "jobs written in the scenario itself",
                                               .source = "",
                                               .params = params,
                                               .params_bytes = sizeof(struct inline_params),
                                               .open_jobs = open_jobs};
