/* Horus (Yeung et al., IEEE TPDS 33(1), 2022): jobs whose predicted utilisation leaves room share GPUs. Jobs go in
 * order of submission, and those that do not fit are skipped. A job that no free GPUs fit joins the running job on as
 * many GPUs with which the sum of both utilisations is least, if that is at most `most_utilisation` and memory
 * suffices. Nobody is preempted.
 *
 * Horus predicts a job's utilisation from its graph by gradient boosting. Here the section `sharing` of the job's type
 * gives it: predictions are exact. The cluster's own nodes only. */
#include "policies/declared.h"
#include "policies/scheduler/sharing/partners.h"
#include "sim/world/policy/scheduler.h"

struct horus_params {
    double most_utilisation;
};

struct horus {
    struct horus_params params;
    struct pending pending;
    struct partners partners;
    int code;
};

static void horus_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct horus *horus = state;
    struct partner_job *job = job_view_slot(note->job);
    int code = 0;
    (void)view;
    if (note->event == JOB_EVENT_FINISH || note->event == JOB_EVENT_PREEMPT) partners_stop(&horus->partners, job);
    if (note->event == JOB_EVENT_SUBMIT || note->event == JOB_EVENT_PREEMPT) {
        job->ranked = (struct ranked){.job = note->job, .gpus = note->job->gpus,
                                      .rank = {.first = note->job->sequence}};
        code = pending_add(&horus->pending, &job->ranked);
    }
    if (note->event == JOB_EVENT_START) {
        pending_remove(&horus->pending, &job->ranked);
        code = partners_run(&horus->partners, job);
    }
    if (code < 0) horus->code = code;
}

/* Whether two jobs can run together. */
static bool can_share(const struct cluster_view *view, const struct job_view *job, const struct job_view *other)
{
    const struct job_view *pair[] = {job, other};
    return job_view_shared_speed(view, pair, 2, 0) > 0 && job_view_shared_speed(view, pair, 2, 1) > 0;
}

static struct partner_job *find_partner(const struct horus *horus, const struct cluster_view *view,
                                        const struct partner_job *job)
{
    const double own = job_view_demand(view, job->ranked.job).utilisation;
    struct partner_job *best = NULL;
    double least = horus->params.most_utilisation;
    for (size_t i = 0; i < horus->partners.n && own > 0; i++) {
        struct partner_job *running = horus->partners.running[i];
        const struct job_view *other = running->ranked.job;
        if (!partners_match(job, running)) continue;
        const double sum = own + job_view_demand(view, other).utilisation;
        if (sum > least + 1e-12 || !can_share(view, job->ranked.job, other)) continue;
        if (best != NULL && sum > least - 1e-12 && other->sequence > best->ranked.job->sequence) continue;
        best = running;
        least = sum;
    }
    return best;
}

static bool start_or_join(void *scheduler, const struct cluster_view *view, struct partner_job *job,
                          struct job_plan *plan)
{
    const struct job_view *waiting = job->ranked.job;
    if (waiting->gpus <= view->free_gpus && job_plan_start(plan, waiting, "oldest job that fits")) return true;
    struct partner_job *partner = view->n_nodes > 0 || waiting->gpus == 0 ? NULL : find_partner(scheduler, view, job);
    return partner != NULL && partners_join(plan, job, partner, "the utilisation of both leaves room");
}

static int horus_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct horus *horus = state;
    partners_serve(&horus->pending, start_or_join, horus, view, plan, &horus->code);
    return horus->code;
}

static int horus_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    ((struct horus *)state)->params = *(const struct horus_params *)params;
    return 0;
}

static void horus_fini(void *state)
{
    struct horus *horus = state;
    pending_fini(&horus->pending);
    partners_fini(&horus->partners);
}

#define ROW_OF struct horus_params
static const struct config_field horus_fields[] = {
    ROW_REAL("most_utilisation", most_utilisation, DEFAULT("1"), WITHIN(0, 2),
             "most utilisation of two jobs together that share GPUs"),
    {0}};
#undef ROW_OF

const struct scheduler scheduler_horus = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "horus",
               .summary = "order of submission; jobs that do not fit join running ones with the least predicted utilisation",
               .source = "Yeung et al., Horus (IEEE TPDS 33(1), 2022)",
               .oracle = ORACLE_SPEEDS,
               .params = horus_fields,
               .params_bytes = sizeof(struct horus_params),
               .state_bytes = sizeof(struct horus),
               .init = horus_init,
               .fini = horus_fini},
    .job_bytes = sizeof(struct partner_job),
    .notify = horus_notify,
    .decide = horus_decide,
    .ignores_estimates = true,
    .shares_gpus = true,
};
