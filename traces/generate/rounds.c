/* Federated rounds: each round, clients train for a time drawn at random, and a tree of aggregators folds what they
 * send. The clients of the next round start when the root has ended.
 *
 *     T(round) = time of the last client that is waited for + sum over levels (hop + fold min(fan_in, inputs)),
 *
 * and a hop more before the next round.
 *
 * An aggregator waits for all its inputs and then folds them one by one ("lazy" of LIFL). With `enough` the one
 * aggregator of a round starts when so many of its clients have ended; the others end for nothing. Clients hold GPUs,
 * aggregators none. All jobs are submitted at time 0, and come after one another (sim/world/jobs/job_graph.h).
 *
 * Source: Qi et al., LIFL, MLSys 2024 (the tree). Leaves out: folding each input as it comes, start-up of aggregators,
 * clients that drop out. */
#include "traces/generate/run_time.h"
#include "traces/registry.h"
#include "traces/stream.h"
#include "traces/transform.h"

#include "sim/core/mem.h"

#include <stdio.h>

struct rounds_params {
    struct trace_transform transform;
    int64_t rounds, clients, enough, gpus, fan_in;
    struct run_params run;
    sim_ns fold_ns, hop_ns;
};

struct rounds {
    struct stream stream;
    const struct rounds_params *params;
    struct arena arena;
    struct rng rng;
    int64_t n, round;          /* jobs so far; rounds that are complete */
    int64_t n_clients;         /* of the present round, so far */
    int64_t inputs, n_inputs;  /* of the present level of aggregators: the first one's id */
    int64_t n_folded;          /* of these, so far */
    const struct job_need *root; /* of the latest complete round; NULL: there is none */
};

static struct job_need *make_needs(struct rounds *rounds, int64_t first, int64_t n, sim_ns delay_ns)
{
    struct job_need *needs = arena_alloc(&rounds->arena, (size_t)n * sizeof *needs);
    for (int64_t i = 0; needs != NULL && i < n; i++) needs[i] = (struct job_need){.job = first + i, .delay_ns = delay_ns};
    return needs;
}

static void give_client(struct rounds *rounds, struct job_record *job)
{
    const struct rounds_params *params = rounds->params;
    job->type = "client";
    job->gpus = (int32_t)params->gpus;
    job->duration_ns = job->estimate_ns = sim_ns_from_s(run_draw_s(&rounds->rng, &params->run));
    job->needs = rounds->root;
    job->n_needs = rounds->root != NULL;
    if (++rounds->n_clients < params->clients) return;
    rounds->inputs = rounds->n - params->clients;
    rounds->n_inputs = params->clients;
    rounds->n_folded = 0;
}

static int give_aggregator(struct rounds *rounds, struct job_record *job)
{
    const struct rounds_params *params = rounds->params;
    const int64_t left = rounds->n_inputs - rounds->n_folded;
    const int64_t n = params->fan_in > 0 && params->fan_in < left ? params->fan_in : left;
    const int64_t n_folds = params->enough > 0 ? params->enough : n;
    job->type = "aggregator";
    job->needs = make_needs(rounds, rounds->inputs + rounds->n_folded, n, params->hop_ns);
    job->n_needs = (int32_t)n;
    job->n_enough = (int32_t)params->enough;
    job->duration_ns = job->estimate_ns = params->fold_ns * n_folds;
    if (job->needs == NULL) return SIM_E_NOMEM;
    rounds->n_folded += n;
    if (rounds->n_folded < rounds->n_inputs) return 0;
    const bool is_root = n == rounds->n_inputs;
    rounds->inputs += rounds->n_inputs;
    rounds->n_inputs = rounds->n - rounds->inputs;
    rounds->n_folded = 0;
    if (!is_root) return 0;
    rounds->root = make_needs(rounds, job->id, 1, params->hop_ns);
    rounds->n_clients = 0;
    rounds->round++;
    return rounds->root != NULL ? 0 : SIM_E_NOMEM;
}

static int rounds_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct rounds *rounds = (struct rounds *)stream;
    int code = 0;
    if (rounds->round == rounds->params->rounds) return 0;
    record->job = (struct job_record){.id = rounds->n++, .gpu_milli = 1000, .group = "", .user = ""};
    if (rounds->n_clients < rounds->params->clients)
        give_client(rounds, &record->job);
    else
        code = give_aggregator(rounds, &record->job);
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
    ROW_TIME("hop", hop_ns, DEFAULT("0s"), WITHIN(0, 1e6), "time that a message takes, up and down the tree"),
    {0}};
#undef ROW_OF

const struct trace_format trace_generate_rounds = {.name = "generate-rounds",
                                                   .summary = "federated rounds: clients and a tree of aggregators",
                                                   .source = "Qi et al., LIFL, MLSys 2024",
                                                   .params = params,
                                                   .params_bytes = sizeof(struct rounds_params),
                                                   .open_jobs = open_jobs};
