/* First in, first out with skipping and migration: when GPUs have become free that no pending job can use, running
 * jobs slowed by the distance between their GPUs (network_penalty) migrate to fewer nodes. The oldest goes first, and
 * each must get faster by at least `gain`. These are the migrations with which Gandiva undoes fragmentation.
 * Afterwards pending jobs may find the nodes that they request.
 *
 * Left out: whether a migration pays, given the job's remaining run time and the cost of restart.migrate. */
#include "policies/declared.h"
#include "policies/scheduler/skipping.h"
#include "sim/world/policy/scheduler.h"

struct migrate_params {
    double gain_frac;
};

struct migrate_job {
    struct ranked pending; /* first */
    struct ranked apart;   /* while the job runs and could be faster */
    bool is_apart;
};

struct migrate {
    struct skipping skipping; /* first */
    struct migrate_params params;
    struct ranking apart;
    uint64_t tried_in; /* round of `skipping` in which migrations were last tried; no GPUs became free since */
};

#define ROW_OF struct migrate_params
static const struct config_field migrate_fields[] = {
    ROW_REAL("gain", gain_frac, DEFAULT("0.05"), WITHIN(1e-6, 1e3), "least relative gain in speed for which a job moves"),
    {0}};
#undef ROW_OF

static int migrate_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    ((struct migrate *)state)->params = *(const struct migrate_params *)params;
    return 0;
}

static void update_apart(struct migrate *migrate, const struct cluster_view *view, const struct job_view *job)
{
    struct migrate_job *slot = job_view_slot(job);
    if (slot->is_apart) ranking_remove(&migrate->apart, &slot->apart);
    slot->is_apart = job->state == JOB_RUNNING && job->speed < job_view_speed_on(view, job, job->held_gpus);
    if (!slot->is_apart) return;
    slot->apart = (struct ranked){.job = job, .rank = {.first = job->sequence}};
    ranking_add(&migrate->apart, &slot->apart);
}

static void migrate_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    skipping_notify(state, note, (struct rank){.first = note->job->sequence});
    update_apart(state, view, note->job);
}

/* Returns whether any job migrated. */
static bool migrate_apart(struct migrate *migrate, struct job_plan *plan)
{
    bool has_moved = false;
    struct rank from = {0};
    for (const struct ranked *apart; (apart = ranking_first_from(&migrate->apart, from)) != NULL;) {
        const struct job_view *job = apart->job;
        const double least_speed = job->speed * (1 + migrate->params.gain_frac);
        from.first = job->sequence + 1;
        has_moved = job_plan_migrate(plan, job, 0, least_speed, "its GPUs come closer together") || has_moved;
    }
    return has_moved;
}

/* A migration may make room that an earlier job did not find, so the loop repeats. */
static int migrate_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct migrate *migrate = state;
    int code = skipping_decide(&migrate->skipping, view, plan, "oldest that fits");
    if (migrate->skipping.pending.round == migrate->tried_in) return code;
    while (code == 0 && migrate_apart(migrate, plan)) {
        migrate->skipping.pending.round++;
        code = skipping_decide(&migrate->skipping, view, plan, "oldest that fits after others have moved");
    }
    migrate->tried_in = migrate->skipping.pending.round;
    return code;
}

const struct scheduler scheduler_fifo_migrate = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "fifo-migrate",
               .summary = "order of submission with skipping; running jobs on distant GPUs migrate to nearer ones",
               .source = "migration as in Xiao et al., Gandiva (OSDI 2018)",
               .oracle = ORACLE_SPEEDS, /* of a job where it would be after its migration */
               .params = migrate_fields,
               .params_bytes = sizeof(struct migrate_params),
               .state_bytes = sizeof(struct migrate),
               .init = migrate_init,
               .fini = skipping_fini},
    .job_bytes = sizeof(struct migrate_job),
    .notify = migrate_notify,
    .decide = migrate_decide,
    .wants_speed_events = true,
    .ignores_estimates = true,
    .migrates = true,
};
