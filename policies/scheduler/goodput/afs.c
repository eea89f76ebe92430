/* AFS, elastic resource sharing (Hwang et al., NSDI 2021, algorithm AFS-L): GPUs are given one by one, each to the
 * winner of a tournament over the jobs. Of two jobs let a be the one that would finish sooner on the GPUs it has so
 * far, b the other one. The GPU goes to the longer job b if it gains relatively more:
 *
 *     (speed_b(k + 1) - speed_b(k)) / speed_b(k + 1) > (speed_a(m + 1) - speed_a(m)) / speed_a(m)
 *
 * and else to a. A job without GPUs counts as the longer one; of two such jobs the shorter on one GPU goes first.
 * A job that runs on several GPUs only gets as many at a time, and its gains count per GPU. Numbers of GPUs that gain
 * nothing are stepped over: plans of training deal out whole micro-batches. Lengths are users'
 * estimates. Jobs keep their batch size. The cluster's own nodes only.
 *
 * The tournament passes over all jobs for each GPU, so a round takes time in proportion to GPUs times jobs. */
#include "policies/declared.h"
#include "policies/scheduler/goodput/elastic.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <math.h>

/* A job in the tournament: speeds on its GPUs so far, and on those of its next step. */
struct player {
    struct elastic_job *job;
    double left_s, speed, next;
    int32_t least; /* the fewest GPUs on which it runs: it gets multiples of them */
    int32_t step;  /* GPUs that it gets next: to the next number on which it is faster */
    bool is_full;
};

struct afs {
    struct elastic elastic; /* first */
    struct player *players;
    size_t n, capacity;
};

static void look_ahead(const struct elastic *elastic, struct player *player)
{
    struct elastic_job *job = player->job;
    player->speed = job->gpus > 0 ? elastic_speed(elastic, job, 0, job->gpus) : 0;
    const int32_t next = player->least > 0 ? elastic_next_faster(elastic, job, player->least) : 0;
    player->is_full = next == 0;
    player->step = next - job->gpus;
    player->next = player->is_full ? 0 : elastic_speed(elastic, job, 0, next);
}

/* Whether the challenger takes the GPU from the holder, who is the older job. */
static bool wins(const struct player *challenger, const struct player *holder)
{
    if (challenger->speed == 0 && holder->speed == 0)
        return challenger->left_s / challenger->next < holder->left_s / holder->next;
    const bool is_shorter = challenger->left_s / challenger->speed < holder->left_s / holder->speed;
    const struct player *a = is_shorter ? challenger : holder, *b = is_shorter ? holder : challenger;
    const double gain_b = (b->next - b->speed) / b->next / b->step, gain_a = (a->next - a->speed) / a->speed / a->step;
    return (gain_b > gain_a ? b : a) == challenger;
}

static struct player *winner(struct afs *afs)
{
    struct player *best = NULL;
    for (size_t i = 0; i < afs->n; i++) {
        struct player *player = &afs->players[i];
        if (!player->is_full && (best == NULL || wins(player, best))) best = player;
    }
    return best;
}

static int choose(struct elastic *elastic, const struct cluster_view *view)
{
    struct afs *afs = (struct afs *)elastic;
    struct player *best;
    const int code = vec_reserve(&afs->players, &afs->capacity, elastic->n);
    if (code != 0) return code;
    afs->n = elastic->n;
    for (size_t i = 0; i < afs->n; i++) {
        afs->players[i] = (struct player){.job = elastic->jobs[i], .left_s = elastic_left_s(view, elastic->jobs[i]),
                                          .least = elastic_least_gpus(elastic, elastic->jobs[i], 0)};
        look_ahead(elastic, &afs->players[i]);
    }
    for (int64_t left = elastic->gpus[0]; left > 0 && (best = winner(afs)) != NULL;) {
        if (best->step > left) {
            best->is_full = true;
            continue;
        }
        best->job->gpus += best->step;
        left -= best->step;
        look_ahead(elastic, best);
    }
    return 0;
}

static const struct elastic_rule rule = {.choose = choose, .one_type = true, .stops = "its part of the GPUs changes",
                                         .starts = "it has won GPUs from jobs that gain less"};

static int afs_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    elastic_init(state, &rule, params);
    return 0;
}

static void afs_fini(void *state)
{
    mem_free(((struct afs *)state)->players);
    elastic_fini(state);
}

#define ROW_OF struct elastic_params
static const struct config_field afs_fields[] = {ELASTIC_ROWS(, "60s"), {0}};
#undef ROW_OF

const struct scheduler scheduler_afs = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "afs",
               .summary = "in rounds, GPU by GPU to the shorter job, or to a longer one that gains relatively more",
               .source = "Hwang et al., Elastic Resource Sharing (NSDI 2021)",
               .oracle = ORACLE_SPEEDS,
               .params = afs_fields,
               .params_bytes = sizeof(struct elastic_params),
               .state_bytes = sizeof(struct afs),
               .init = afs_init,
               .fini = afs_fini},
    .job_bytes = sizeof(struct elastic_job),
    .notify = elastic_notify,
    .decide = elastic_decide,
};
