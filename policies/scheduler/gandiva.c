/* Gandiva's time slicing and packing as in Gavel's simulator. While the jobs in the system request no more GPUs than
 * exist, each of n jobs has one nth of every node type. Otherwise unpacked jobs are drawn two by two, and two jobs of
 * equal width become a pair that shares its GPUs. Each of the n pairs and single jobs then has one nth. Packing is by
 * trial and error: the next allocation splits pairs that together do less than one job alone, and draws all single
 * jobs again.
 *
 * The speed of a packed job is its speed on half of its GPUs (jobs.types, speedup), whatever its partner. Nothing is
 * packed if a placer places whole GPUs. Gandiva's migrations and affinities are left out. */
#include "policies/declared.h"
#include "policies/scheduler/gavel_rounds.h"

#include "sim/core/mem.h"
#include "sim/core/rng.h"

/* Joint throughput of a pair relative to each job alone, on the node type where it is largest. */
static double gain(const struct gavel_rounds *rounds, const struct gavel_job *a, const struct gavel_job *b)
{
    double most = 0;
    const double gpus = a->view->gpus;
    for (int j = 0; j < rounds->types; j++) {
        const double alone_a = gavel_speed_on(rounds, a, j, gpus), alone_b = gavel_speed_on(rounds, b, j, gpus);
        if (!(alone_a > 0 && alone_b > 0)) continue;
        const double sum = gavel_speed_on(rounds, a, j, gpus / 2) / alone_a +
                           gavel_speed_on(rounds, b, j, gpus / 2) / alone_b;
        if (sum > most) most = sum;
    }
    return most;
}

static void split_pair(struct gavel_job *job)
{
    job->partner->partner = NULL;
    job->partner = NULL;
}

static void pair(struct gavel_job *a, struct gavel_job *b)
{
    a->partner = b;
    b->partner = a;
    a->paired = b->paired = (struct gavel_claim){0};
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
static void draw_pairs(struct rng *rng, struct gavel_job **single, size_t n)
{
    for (size_t draws = n; n > 1 && draws > 0; draws--) {
        size_t i, j;
        struct gavel_job *a = draw(rng, single, n, &i), *b = draw(rng, single, n - 1, &j);
        if (j >= i) b = single[++j];
        if (a->view->gpus != b->view->gpus) continue;
        pair(a, b);
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
    draw_pairs(random, single, n);
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
        if (job->partner != NULL && gain(rounds, job, job->partner) < 1) split_pair(job);
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

GAVEL_SCHEDULER(scheduler_gandiva, rule, struct gavel_rounds, gavel_notify, gavel_rounds_fini, .name = "gandiva",
                .summary = "in rounds over all jobs, equal parts for all; if requests exceed the GPUs, pairs of jobs share GPUs by trial and error",
                .source = "Xiao et al. (OSDI 2018), as in Gavel's simulator, gandiva");
