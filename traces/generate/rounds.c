/* Federated rounds: each round, clients train for a time drawn at random, and a tree of aggregators folds what they
 * send. The clients of the next round start when the root has ended.
 *
 *     T(round) = time of the last client that is waited for + sum over levels (hop + fold min(fan_in, inputs)),
 *
 * and a hop more before the next round.
 *
 * A lazy aggregator waits for all its inputs and then folds them one by one. An eager one folds each as it comes. With
 * a(k) the time at which k of n inputs have come, it ends at the latest of
 *
 *     a(k) + fold (n - k + 1)   for k from 1 to n,
 *
 * a lazy one at a(n) + fold n. With `enough` the one aggregator of a round folds so many of its clients, the first to
 * end; the others end for nothing. Clients hold GPUs, aggregators none. All jobs are submitted at time 0, and come
 * after one another (sim/world/jobs/job_graph.h). An eager fold is two jobs: an `arrival` without duration, which
 * waits for k of the inputs, and the fold, which comes after it and after the fold before.
 *
 * Source: Qi et al., LIFL, MLSys 2024 (the tree; lazy and eager). Leaves out: start-up of aggregators, clients that
 * drop out. */
#include "traces/generate/run_time.h"
#include "traces/registry.h"
#include "traces/stream.h"
#include "traces/transform.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <stdio.h>

enum folding { FOLDING_LAZY, FOLDING_EAGER };

/* Each of n eager folds waits for n inputs: n^2 links. */
enum { MOST_EAGER = 4096 };

struct rounds_params {
    struct trace_transform transform;
    int64_t rounds, clients, enough, gpus, fan_in;
    struct run_params run;
    sim_ns fold_ns, hop_ns;
    int folding;
};

/* Ids of the jobs whose ends are the inputs of a level. */
struct ids {
    int64_t *ids;
    size_t n, capacity;
};

struct rounds {
    struct stream stream;
    const struct rounds_params *params;
    struct arena arena;
    struct rng rng;
    int64_t n, round;            /* jobs so far; rounds that are complete */
    int64_t n_clients;           /* of the present round, so far */
    struct ids inputs, outputs;  /* of the present level of aggregators; so far */
    int64_t n_folded;            /* of the inputs, so far */
    struct job_need *arrivals;   /* inputs of the present eager aggregator */
    int64_t n_steps;             /* its jobs so far; 0: it has not begun */
    const struct job_need *root; /* of the latest complete round; NULL: there is none */
};

static struct job_need *make_needs(struct rounds *rounds, const int64_t *ids, int64_t n, sim_ns delay_ns)
{
    struct job_need *needs = arena_alloc(&rounds->arena, (size_t)n * sizeof *needs);
    for (int64_t i = 0; needs != NULL && i < n; i++) needs[i] = (struct job_need){.job = ids[i], .delay_ns = delay_ns};
    return needs;
}

static int add_id(struct ids *ids, int64_t id)
{
    return vec_push(&ids->ids, &ids->n, &ids->capacity, id);
}

static int give_client(struct rounds *rounds, struct job_record *job)
{
    const struct rounds_params *params = rounds->params;
    job->type = "client";
    job->gpus = (int32_t)params->gpus;
    job->duration_ns = job->estimate_ns = sim_ns_from_s(run_draw_s(&rounds->rng, &params->run));
    job->needs = rounds->root;
    job->n_needs = rounds->root != NULL;
    rounds->n_clients++;
    return add_id(&rounds->inputs, job->id);
}

/* Inputs of the next aggregator. */
static int64_t fan_in(const struct rounds *rounds)
{
    const int64_t left = (int64_t)rounds->inputs.n - rounds->n_folded, most = rounds->params->fan_in;
    return most > 0 && most < left ? most : left;
}

/* The aggregator of the next n inputs ends with this job. */
static int end_aggregator(struct rounds *rounds, int64_t n, int64_t job)
{
    const bool is_root = n == (int64_t)rounds->inputs.n;
    int code = add_id(&rounds->outputs, job);
    rounds->n_folded += n;
    if (code < 0 || rounds->n_folded < (int64_t)rounds->inputs.n) return code;
    const struct ids folded = rounds->inputs;
    rounds->inputs = rounds->outputs;
    rounds->outputs = folded;
    rounds->outputs.n = 0;
    rounds->n_folded = 0;
    if (!is_root) return 0;
    rounds->inputs.n = 0;
    rounds->root = make_needs(rounds, &job, 1, rounds->params->hop_ns);
    rounds->n_clients = 0;
    rounds->round++;
    return rounds->root != NULL ? 0 : SIM_E_NOMEM;
}

static int give_lazy(struct rounds *rounds, struct job_record *job)
{
    const struct rounds_params *params = rounds->params;
    const int64_t n = fan_in(rounds);
    job->type = "aggregator";
    job->needs = make_needs(rounds, rounds->inputs.ids + rounds->n_folded, n, params->hop_ns);
    job->n_needs = (int32_t)n;
    job->n_enough = (int32_t)params->enough;
    job->duration_ns = job->estimate_ns = params->fold_ns * (params->enough > 0 ? params->enough : n);
    return job->needs != NULL ? end_aggregator(rounds, n, job->id) : SIM_E_NOMEM;
}

/* An arrival, or the fold after it. */
static int give_eager(struct rounds *rounds, struct job_record *job)
{
    const struct rounds_params *params = rounds->params;
    const int64_t n = fan_in(rounds), n_folds = params->enough > 0 ? params->enough : n;
    if (rounds->n_steps == 0)
        rounds->arrivals = make_needs(rounds, rounds->inputs.ids + rounds->n_folded, n, params->hop_ns);
    if (rounds->arrivals == NULL) return SIM_E_NOMEM;
    const int64_t step = rounds->n_steps++;
    if (step % 2 == 0) {
        job->type = "arrival";
        job->needs = rounds->arrivals;
        job->n_needs = (int32_t)n;
        job->n_enough = (int32_t)(step / 2 + 1);
        return 0;
    }
    const int64_t before[] = {job->id - 1, job->id - 2};
    job->type = "aggregator";
    job->n_needs = step > 1 ? 2 : 1;
    job->needs = make_needs(rounds, before, job->n_needs, 0);
    job->duration_ns = job->estimate_ns = params->fold_ns;
    if (job->needs == NULL) return SIM_E_NOMEM;
    if (rounds->n_steps < 2 * n_folds) return 0;
    rounds->n_steps = 0;
    return end_aggregator(rounds, n, job->id);
}

static int rounds_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct rounds *rounds = (struct rounds *)stream;
    int code = 0;
    if (rounds->round == rounds->params->rounds) return 0;
    record->job = (struct job_record){.id = rounds->n++, .gpu_milli = 1000, .group = "", .user = ""};
    if (rounds->n_clients < rounds->params->clients)
        code = give_client(rounds, &record->job);
    else
        code = rounds->params->folding == FOLDING_EAGER ? give_eager(rounds, &record->job)
                                                        : give_lazy(rounds, &record->job);
    return code == 0 ? 1 : diag_nomem(diag);
}

static struct source_place rounds_place(const struct stream *stream)
{
    const struct rounds *rounds = (const struct rounds *)stream;
    return (struct source_place){.row = rounds->n,
                                 .done_frac = (double)rounds->round / (double)rounds->params->rounds};
}

static bool rounds_note(const struct stream *stream, size_t index, struct source_note *note)
{
    (void)stream, (void)index, (void)note;
    return false;
}

static void rounds_close(struct stream *stream)
{
    struct rounds *rounds = (struct rounds *)stream;
    arena_fini(&rounds->arena);
    mem_free(rounds->inputs.ids);
    mem_free(rounds->outputs.ids);
    mem_free(rounds);
}

static const struct stream_ops rounds_ops = {
    .next = rounds_next, .place = rounds_place, .note = rounds_note, .close = rounds_close};

static int check(const struct rounds_params *params, const char *where, struct diag *diag)
{
    if (params->fan_in == 1)
        return diag_error(diag, SIM_E_CONFIG, where, "take 0 for one aggregator, or 2 and more for a tree",
                          "aggregators of one input form no tree");
    if (params->enough > params->clients)
        return diag_error(diag, SIM_E_CONFIG, where, "lower 'enough', or raise 'clients'",
                          "a round waits for %lld of %lld clients", (long long)params->enough,
                          (long long)params->clients);
    if (params->enough > 0 && params->fan_in > 0 && params->fan_in < params->clients)
        return diag_error(diag, SIM_E_CONFIG, where, "leave out 'fan_in' or 'enough'",
                          "only a single aggregator starts before all clients have ended");
    const int64_t most = params->fan_in > 0 && params->fan_in < params->clients ? params->fan_in : params->clients;
    if (params->folding == FOLDING_EAGER && most > MOST_EAGER)
        return diag_error(diag, SIM_E_CONFIG, where, "take a lower 'fan_in', or lazy aggregators",
                          "an eager aggregator has at most %d inputs, not %lld", MOST_EAGER, (long long)most);
    return run_check(&params->run, "clients", where, diag);
}

static int open_jobs(const void *params, const struct source_options *options, struct job_source **source,
                     struct diag *diag)
{
    const struct rounds_params *rounds_params = params;
    char name[STREAM_NAME_CHARS];
    int code = check(rounds_params, options->where, diag);
    if (code != 0) return code;
    struct rounds *rounds = mem_zalloc(1, sizeof *rounds);
    if (rounds == NULL) return diag_nomem(diag);
    rounds->stream.ops = &rounds_ops;
    rounds->params = rounds_params;
    arena_init(&rounds->arena);
    snprintf(name, sizeof name, "%s.rounds", options->stream);
    rng_init(&rounds->rng, options->seed, options->run, name, 0);
    struct stream *stream = &rounds->stream;
    code = transform_open(&rounds_params->transform, options, false, stream, &stream, diag);
    return code != 0 ? code : stream_to_jobs(stream, source, diag);
}

static const char *const folding_names[] = {[FOLDING_LAZY] = "lazy", [FOLDING_EAGER] = "eager", NULL};

#define ROW_OF struct rounds_params
static const struct config_field params[] = {
    TRACE_TIME_PARAMS,
    ROW_INT("rounds", rounds, DEFAULT("1"), WITHIN(1, 1e9), "rounds, one after another"),
    ROW_INT("clients", clients, REQUIRED, WITHIN(1, 1e6), "clients of each round"),
    ROW_SECTION("run_time", run, FILLED, run_fields, "training times of clients"),
    ROW_INT("gpus", gpus, DEFAULT("1"), WITHIN(0, INT32_MAX), "GPUs that a client requests"),
    ROW_INT("enough", enough, DEFAULT("0"), WITHIN(0, 1e6), "clients for which a round waits; 0: all"),
    ROW_INT("fan_in", fan_in, DEFAULT("0"), WITHIN(0, 1e6), "most inputs of an aggregator; 0: one for all clients"),
    ROW_TIME("fold", fold_ns, DEFAULT("0s"), WITHIN(0, 1e3), "time to fold one input"),
    ROW_CHOICE("folding", folding, DEFAULT("lazy"), folding_names,
               "when inputs are folded: once all have come, or each as it comes"),
    ROW_TIME("hop", hop_ns, DEFAULT("0s"), WITHIN(0, 1e6), "time that a message takes, up and down the tree"),
    {0}};
#undef ROW_OF

const struct trace_format trace_generate_rounds = {.name = "generate-rounds",
                                                   .summary = "federated rounds: clients and a tree of aggregators",
                                                   .source = "Qi et al., LIFL, MLSys 2024",
                                                   .params = params,
                                                   .params_bytes = sizeof(struct rounds_params),
                                                   .open_jobs = open_jobs};
