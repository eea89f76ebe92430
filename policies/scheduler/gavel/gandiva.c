/* Gandiva's time slicing and packing as in Gavel's simulator. While the jobs in the system request no more GPUs than
 * exist, each of n jobs has one nth of every node type. Otherwise unpacked jobs are drawn two by two, and two jobs of
 * equal width that gain by it become a pair that shares its GPUs. Each of the n pairs and single jobs then has one nth.
 * The next allocation splits pairs that no longer gain, and draws all single jobs again.
 *
 * A pair gains if both jobs together do more than one job alone in the same time: the sum of their throughputs, each
 * relative to the job alone, is above 1. Gavel's released code (stanford-futuredata/gavel @ c4fa400,
 * scheduler/policies/gandiva.py) packs any two jobs of equal width on trial. The next allocation splits a pair whose
 * sum, added up over all GPU types, is below 1, or that cannot run on one of them. A pair of exactly 1 stays. `pairs`
 * chooses between both rules.
 *
 * The speed of a packed job is its speed beside its partner, if the types of both have it (jobs.types, sharing). Else
 * it is its speed on half of its GPUs (jobs.types, speedup), whatever its partner. Nothing is packed if a placer places
 * whole GPUs. Gandiva's migrations and affinities are left out.
 *
 * Two jobs that are taken out of the draw move those behind them. So the time of a round grows by 2.5 to 3.4 when the
 * jobs double, from 1,000 on. */
#include "policies/declared.h"
#include "policies/scheduler/gavel/gavel_rounds.h"

#include "sim/core/mem.h"
#include "sim/core/rng.h"

enum pairs { PAIRS_GAINING, PAIRS_RELEASED };

struct gandiva_params {
    struct gavel_params rounds;
    int pairs;
};

struct gandiva {
    struct gavel_rounds rounds; /* first */
    int pairs;
};

/* Throughput of a pair relative to each job alone, summed, on a node type; 0: one of them cannot run there. */
static double gain_on(const struct gavel_rounds *rounds, const struct gavel_job *a, const struct gavel_job *b, int type)
{
    const double gpus = a->view->gpus;
    const double alone_a = gavel_speed_on(rounds, a, type, gpus), alone_b = gavel_speed_on(rounds, b, type, gpus);
    const double packed_a = gavel_packed_speed(rounds, a, b, type);
    const double packed_b = gavel_packed_speed(rounds, b, a, type);
    if (!(alone_a > 0 && alone_b > 0 && packed_a > 0 && packed_b > 0)) return 0;
    return packed_a / alone_a + packed_b / alone_b;
}

/* Whether the pair gains on a node type. Rounding errors gain nothing. */
static bool gains(const struct gavel_rounds *rounds, const struct gavel_job *a, const struct gavel_job *b)
{
    for (int j = 0; j < rounds->types; j++)
        if (gain_on(rounds, a, b, j) > 1 + 1e-9) return true;
    return false;
}

/* Whether the released code keeps the pair. */
static bool is_kept_as_released(const struct gavel_rounds *rounds, const struct gavel_job *a, const struct gavel_job *b)
{
    double sum = 0;
    for (int j = 0; j < rounds->types; j++) {
        const double gain = gain_on(rounds, a, b, j);
        if (!(gain > 0)) return false;
        sum += gain;
    }
    return sum >= 1;
}

static bool is_kept(const struct gavel_rounds *rounds, const struct gavel_job *a, const struct gavel_job *b)
{
    const bool released = ((const struct gandiva *)rounds)->pairs == PAIRS_RELEASED;
    return released ? is_kept_as_released(rounds, a, b) : gains(rounds, a, b);
}

static bool may_pair(const struct gavel_rounds *rounds, const struct gavel_job *a, const struct gavel_job *b)
{
    if (a->view->gpus != b->view->gpus) return false;
    return ((const struct gandiva *)rounds)->pairs == PAIRS_RELEASED || gains(rounds, a, b);
}

static struct gavel_job *draw(struct rng *rng, struct gavel_job **from, size_t n, size_t *at)
{
    *at = (size_t)rng_below(rng, n);
    return from[*at];
}

static void take_out(struct gavel_job **from, size_t *n, size_t at)
{
    (*n)--;
    for (size_t i = at; i < *n; i++) from[i] = from[i + 1];
}

/* As many draws as there are single jobs at first. */
static void draw_pairs(const struct gavel_rounds *rounds, struct rng *rng, struct gavel_job **single, size_t n)
{
    for (size_t draws = n; n > 1 && draws > 0; draws--) {
        size_t i, j;
        struct gavel_job *a = draw(rng, single, n, &i), *b = draw(rng, single, n - 1, &j);
        if (j >= i) b = single[++j];
        if (!may_pair(rounds, a, b)) continue;
        gavel_pair(a, b);
        take_out(single, &n, i > j ? i : j);
        take_out(single, &n, i > j ? j : i);
    }
}

/* Draws partners for all jobs without one. */
static int pack(struct gavel_rounds *rounds, struct rng *random)
{
    struct gavel_job **single = mem_zalloc(rounds->n, sizeof(struct gavel_job *));
    if (single == NULL) return SIM_E_NOMEM;
    size_t n = 0;
    for (size_t i = 0; i < rounds->n; i++)
        if (rounds->jobs[i]->partner == NULL) single[n++] = rounds->jobs[i];
    draw_pairs(rounds, random, single, n);
    mem_free(single);
    return 0;
}

static bool is_older(const struct gavel_job *job)
{
    return job->partner != NULL && job->view->sequence < job->partner->view->sequence;
}

static void share_packed(struct gavel_rounds *rounds)
{
    double n = (double)rounds->n;
    for (size_t i = 0; i < rounds->n; i++) n -= is_older(rounds->jobs[i]);
    for (size_t i = 0; i < rounds->n; i++) {
        struct gavel_job *job = rounds->jobs[i];
        if (job->partner == NULL)
            gavel_nth_part(rounds, n, job->view->gpus, job->alone.share);
        else if (is_older(job))
            gavel_nth_part(rounds, n, job->view->gpus, job->paired.share);
    }
}

static int allocate(struct gavel_rounds *rounds, const struct cluster_view *view)
{
    double asked = 0, gpus = 0;
    for (int j = 0; j < rounds->types; j++) gpus += rounds->gpus[j];
    for (size_t i = 0; i < rounds->n; i++) {
        struct gavel_job *job = rounds->jobs[i];
        asked += job->view->gpus;
        if (job->partner != NULL && !is_kept(rounds, job, job->partner)) gavel_split_pair(job);
    }
    if (asked > gpus && view->n_nodes == 0) {
        const int code = pack(rounds, view->random);
        share_packed(rounds);
        return code;
    }
    for (size_t i = 0; i < rounds->n; i++)
        gavel_nth_part(rounds, (double)rounds->n, rounds->jobs[i]->view->gpus, rounds->jobs[i]->alone.share);
    return 0;
}

static const struct gavel_rule rule = {.allocate = allocate};

static int gandiva_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    const struct gandiva_params *own = params;
    ((struct gandiva *)state)->pairs = own->pairs;
    gavel_rounds_init(state, &rule, &own->rounds);
    return 0;
}

static const char *const pairs_names[] = {"gaining", "released", NULL};
#define ROW_OF struct gandiva_params
static const struct config_field gandiva_fields[] = {
    GAVEL_ROWS(rounds., "true"),
    ROW_CHOICE(
        "pairs", pairs, DEFAULT("gaining"), pairs_names,
        "jobs that are packed: two that do more together than one alone, or any two on trial as in Gavel's released simulator"),
    {0}};
#undef ROW_OF

const struct scheduler scheduler_gandiva = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "gandiva",
               .summary = "in rounds over all jobs, equal parts for all; if requests exceed the GPUs, pairs of jobs that gain by it share GPUs",
               .source = "Xiao et al. (OSDI 2018), as in Gavel's simulator, gandiva",
               .oracle = ORACLE_SPEEDS,
               .params = gandiva_fields,
               .params_bytes = sizeof(struct gandiva_params),
               .state_bytes = sizeof(struct gandiva),
               .init = gandiva_init,
               .fini = gavel_rounds_fini},
    .job_bytes = sizeof(struct gavel_job),
    .notify = gavel_notify,
    .decide = gavel_decide,
    .uses_node_types = true,
    .ignores_estimates = true,
    .shares_gpus = true,
};
