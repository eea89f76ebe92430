/* AntMan (Xiao et al., OSDI 2020): resource-guarantee jobs, and opportunistic ones on GPUs that these leave idle, in
 * whole or for a part of the time. A job type is opportunistic if its section `sharing` says so.
 *
 * Resource-guarantee jobs go in order of submission, and those that do not fit are skipped. GPUs of opportunistic jobs
 * count as free for them. A job takes free GPUs, else it joins an opportunistic job on as many GPUs, which slows down
 * and does not stop. Else opportunistic jobs are preempted, the youngest first. So if GPUs are only counted, resource-
 * guarantee jobs start and end as if there were no others.
 *
 * Opportunistic jobs go in order of submission, too. A job takes free GPUs, else it joins the resource-guarantee job
 * beside which it is fastest, if it keeps the share `least_speed` of its speed.
 *
 * AntMan scales memory and kernels so that the resource-guarantee job keeps its speed. Here the utilisation of both
 * jobs gives the speeds, at once and without overhead, and memory that does not suffice forbids sharing. Quotas of
 * tenants are left out: the type of a job tells its class. The cluster's own nodes only. */
#include "policies/declared.h"
#include "policies/scheduler/sharing/partners.h"
#include "sim/world/policy/scheduler.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

struct antman_params {
    double least_speed;
};

struct antman {
    struct antman_params params;
    struct pending guaranteed, opportunistic;
    struct partners partners;
    struct partner_job **victims; /* of one attempt to start a job */
    size_t n_victims, victims_capacity;
    int code;
};

static struct pending *queue_of(struct antman *antman, const struct partner_job *job)
{
    return job->yields ? &antman->opportunistic : &antman->guaranteed;
}

static void antman_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct antman *antman = state;
    struct partner_job *job = job_view_slot(note->job);
    int code = 0;
    if (note->event == JOB_EVENT_FINISH || note->event == JOB_EVENT_PREEMPT) partners_stop(&antman->partners, job);
    if (note->event == JOB_EVENT_SUBMIT)
        *job = (struct partner_job){.ranked = {.job = note->job, .gpus = note->job->gpus,
                                               .rank = {.first = note->job->sequence}},
                                    .yields = job_view_demand(view, note->job).is_opportunistic};
    if (note->event == JOB_EVENT_SUBMIT || note->event == JOB_EVENT_PREEMPT)
        code = pending_add(queue_of(antman, job), &job->ranked);
    if (note->event == JOB_EVENT_START) {
        pending_remove(queue_of(antman, job), &job->ranked);
        code = partners_run(&antman->partners, job);
    }
    if (code < 0) antman->code = code;
}

/* Speed of the first of two jobs beside the other, over that alone. */
static double kept_frac(const struct cluster_view *view, const struct job_view *job, const struct job_view *other)
{
    const struct job_view *pair[] = {job, other};
    return job_view_shared_speed(view, pair, 2, 0) / job_view_speed_on(view, job, job->gpus);
}

/* The running job of the other class beside which the opportunistic one of both is fastest, or NULL. The other one must
 * keep its speed. */
static struct partner_job *find_partner(const struct antman *antman, const struct cluster_view *view,
                                        const struct partner_job *job)
{
    struct partner_job *best = NULL;
    double most = 0;
    for (size_t i = 0; i < antman->partners.n; i++) {
        struct partner_job *running = antman->partners.running[i];
        if (running->yields == job->yields || !partners_match(job, running)) continue;
        const struct job_view *yielding = job->yields ? job->ranked.job : running->ranked.job;
        const struct job_view *other = job->yields ? running->ranked.job : job->ranked.job;
        const double kept = kept_frac(view, yielding, other);
        if (!(kept > 0) || kept < antman->params.least_speed || kept < most || kept_frac(view, other, yielding) < 1)
            continue;
        if (kept == most && running->ranked.job->sequence > best->ranked.job->sequence) continue;
        best = running;
        most = kept;
    }
    return best;
}

static bool join(const struct antman *antman, const struct cluster_view *view, struct partner_job *job,
                 struct job_plan *plan)
{
    struct partner_job *partner = view->n_nodes > 0 || job->ranked.job->gpus == 0 ? NULL
                                                                                  : find_partner(antman, view, job);
    return partner != NULL && partners_join(plan, job, partner, "an opportunistic job gets what the other one leaves");
}

static struct partner_job *youngest_alone(const struct antman *antman)
{
    struct partner_job *youngest = NULL;
    for (size_t i = 0; i < antman->partners.n; i++) {
        struct partner_job *job = antman->partners.running[i];
        if (!job->yields || job->mate != NULL) continue;
        if (youngest == NULL || job->ranked.job->sequence > youngest->ranked.job->sequence) youngest = job;
    }
    return youngest;
}

static bool start_guaranteed(void *scheduler, const struct cluster_view *view, struct partner_job *job,
                             struct job_plan *plan)
{
    static const char reason[] = "oldest resource-guarantee job that fits";
    struct antman *antman = scheduler;
    struct partner_job *victim;
    int64_t lent = view->free_gpus; /* and GPUs of opportunistic jobs alone */
    for (size_t i = 0; i < antman->partners.n && lent < INT64_MAX; i++) {
        const struct partner_job *other = antman->partners.running[i];
        if (other->yields && other->mate == NULL) lent += other->ranked.job->gpus;
    }
    if (lent < job->ranked.job->gpus) return false;
    bool started = job_plan_start(plan, job->ranked.job, reason) || join(antman, view, job, plan);
    antman->n_victims = 0;
    while (!started && antman->code == 0 && (victim = youngest_alone(antman)) != NULL) {
        job_plan_preempt(plan, victim->ranked.job, "a resource-guarantee job needs its GPUs");
        if (vec_push(&antman->victims, &antman->n_victims, &antman->victims_capacity, victim) != 0)
            antman->code = SIM_E_NOMEM;
        started = job_plan_start(plan, job->ranked.job, reason);
    }
    for (size_t i = antman->n_victims; i-- > 0 && !started;)
        job_plan_start(plan, antman->victims[i]->ranked.job, "goes on"); /* on the GPUs that it has just lost */
    return started;
}

static bool start_opportunistic(void *scheduler, const struct cluster_view *view, struct partner_job *job,
                                struct job_plan *plan)
{
    return job_plan_start(plan, job->ranked.job, "free GPUs, opportunistic") || join(scheduler, view, job, plan);
}

static int antman_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct antman *antman = state;
    partners_serve(&antman->guaranteed, start_guaranteed, antman, view, plan, &antman->code);
    partners_serve(&antman->opportunistic, start_opportunistic, antman, view, plan, &antman->code);
    return antman->code;
}

static int antman_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    ((struct antman *)state)->params = *(const struct antman_params *)params;
    return 0;
}

static void antman_fini(void *state)
{
    struct antman *antman = state;
    pending_fini(&antman->guaranteed);
    pending_fini(&antman->opportunistic);
    partners_fini(&antman->partners);
    mem_free(antman->victims);
}

#define ROW_OF struct antman_params
static const struct config_field antman_fields[] = {
    ROW_REAL("least_speed", least_speed, DEFAULT("0.1"), WITHIN(0, 1),
             "least part of its speed that an opportunistic job keeps beside another one"),
    {0}};
#undef ROW_OF

const struct scheduler scheduler_antman = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "antman",
               .summary = "opportunistic jobs run beside resource-guarantee ones, in the time that these leave idle",
               .source = "Xiao et al., AntMan (OSDI 2020)",
               .oracle = ORACLE_SPEEDS,
               .params = antman_fields,
               .params_bytes = sizeof(struct antman_params),
               .state_bytes = sizeof(struct antman),
               .init = antman_init,
               .fini = antman_fini},
    .job_bytes = sizeof(struct partner_job),
    .notify = antman_notify,
    .decide = antman_decide,
    .ignores_estimates = true,
    .shares_gpus = true,
};
