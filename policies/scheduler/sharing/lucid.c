/* Lucid's orchestrator (Hu et al., ASPLOS 2023): no preemption, and jobs that no free GPUs fit share those of a
 * running job if both hardly lose speed. Jobs go by the least predicted GPU time, as learnt from jobs that have
 * ended (predictor.h), and those that do not fit are skipped.
 *
 * A waiting job joins a running one that is alone on as many GPUs as both requested, if each keeps at least the
 * share `least_speed` of its speed alone, and if its predicted GPU time is at most `most_ratio` times that of the
 * other. Of several it joins the one beside which both keep most. Lucid scores jobs by their utilisation in classes
 * and checks their memory; here the measured speeds of pairs tell both.
 *
 * The profiler's short runs, and switching sharing off by predicted load, are left out: jobs share only when no
 * GPUs are free for them. Sharing needs the placement "counted". The cluster's own nodes only.
 *
 * A job that does not fit looks at all running jobs. So the time of a round grows by 2.7 to 4.8 when the jobs double,
 * up to 8,000 on 1,024 GPUs; then none joins any more. */
#include "policies/declared.h"
#include "policies/scheduler/predictor.h"
#include "policies/scheduler/sharing/partners.h"
#include "sim/world/policy/scheduler.h"

#include <math.h>

struct lucid_params {
    double least_speed, most_ratio;
};

struct lucid {
    struct lucid_params params;
    struct pending pending;
    struct predictor predictor;
    struct partners partners;
    int code;
};

static void enter(struct lucid *lucid, const struct job_view *view)
{
    struct partner_job *job = job_view_slot(view);
    const double gpu_s = predictor_gpu_s(&lucid->predictor, view);
    job->ranked = (struct ranked){.job = view, .gpus = view->gpus,
                                  .rank = {.first = sim_ns_from_s(gpu_s), .second = view->sequence}};
    const int code = pending_add(&lucid->pending, &job->ranked);
    if (code < 0) lucid->code = code;
}

static void run(struct lucid *lucid, struct partner_job *job)
{
    pending_remove(&lucid->pending, &job->ranked);
    if (partners_run(&lucid->partners, job) != 0) lucid->code = SIM_E_NOMEM;
}

static void lucid_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct lucid *lucid = state;
    struct partner_job *job = job_view_slot(note->job);
    if (note->event == JOB_EVENT_FINISH || note->event == JOB_EVENT_PREEMPT) {
        lucid->pending.round++;
        partners_stop(&lucid->partners, job);
    }
    if (note->event == JOB_EVENT_SUBMIT || note->event == JOB_EVENT_PREEMPT) enter(lucid, note->job);
    if (note->event == JOB_EVENT_START) run(lucid, job);
    const int code = note->event == JOB_EVENT_FINISH ? predictor_learn(&lucid->predictor, view, note->job) : 0;
    if (code < 0) lucid->code = code;
}

/* The least part of its speed that either job keeps beside the other. */
static double kept_frac(const struct cluster_view *view, const struct job_view *job, const struct job_view *other)
{
    const struct job_view *pair[] = {job, other};
    double kept = 1;
    for (int32_t i = 0; i < 2; i++)
        kept = fmin(kept, job_view_shared_speed(view, pair, 2, i) / job_view_speed_on(view, pair[i], pair[i]->gpus));
    return kept;
}

/* The running job that the other one joins, or NULL. */
static struct partner_job *find_partner(const struct lucid *lucid, const struct cluster_view *view,
                                        const struct partner_job *job)
{
    struct partner_job *best = NULL;
    double most = 0;
    for (size_t i = 0; i < lucid->partners.n; i++) {
        struct partner_job *running = lucid->partners.running[i];
        if (!partners_match(job, running)) continue;
        if ((double)job->ranked.rank.first > lucid->params.most_ratio * (double)running->ranked.rank.first) continue;
        const double kept = kept_frac(view, job->ranked.job, running->ranked.job);
        if (!(kept > 0) || kept < lucid->params.least_speed || kept < most) continue;
        if (kept == most && running->ranked.job->sequence > best->ranked.job->sequence) continue;
        best = running;
        most = kept;
    }
    return best;
}

static bool start_or_join(void *scheduler, const struct cluster_view *view, struct partner_job *job,
                          struct job_plan *plan)
{
    const struct lucid *lucid = scheduler;
    const struct job_view *waiting = job->ranked.job;
    if (waiting->gpus <= view->free_gpus && job_plan_start(plan, waiting, "least predicted GPU time that fits"))
        return true;
    struct partner_job *partner = view->n_nodes > 0 || waiting->gpus == 0 ? NULL : find_partner(lucid, view, job);
    return partner != NULL && partners_join(plan, job, partner, "both jobs keep their speed");
}

static int lucid_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct lucid *lucid = state;
    partners_serve(&lucid->pending, start_or_join, lucid, view, plan, &lucid->code);
    return lucid->code;
}

static int lucid_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    ((struct lucid *)state)->params = *(const struct lucid_params *)params;
    return 0;
}

static void lucid_fini(void *state)
{
    struct lucid *lucid = state;
    pending_fini(&lucid->pending);
    predictor_fini(&lucid->predictor);
    partners_fini(&lucid->partners);
}

#define ROW_OF struct lucid_params
static const struct config_field lucid_fields[] = {
    ROW_REAL("least_speed", least_speed, DEFAULT("0.85"), WITHIN(0, 1),
             "least part of its speed alone that each of two jobs keeps when they share GPUs"),
    ROW_REAL("most_ratio", most_ratio, DEFAULT("2"), WITHIN(0, 1e6),
             "most predicted GPU time of a job over that of the running job that it joins"),
    {0}};
#undef ROW_OF

const struct scheduler scheduler_lucid = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "lucid",
               .summary = "least predicted GPU time first; jobs that do not fit join running ones if both keep their speed",
               .source = "Hu et al., Lucid (ASPLOS 2023)",
               .oracle = ORACLE_SPEEDS,
               .params = lucid_fields,
               .params_bytes = sizeof(struct lucid_params),
               .state_bytes = sizeof(struct lucid),
               .init = lucid_init,
               .fini = lucid_fini},
    .job_bytes = sizeof(struct partner_job),
    .notify = lucid_notify,
    .decide = lucid_decide,
    .shares_gpus = true,
};
