/* Lucid's orchestrator (Hu et al., ASPLOS 2023): no preemption, and jobs that no free GPUs fit share those of a
 * running job if both hardly lose speed. Jobs go by the least predicted GPU time, as learnt from jobs that have
 * ended (predictor.h), and those that do not fit are skipped.
 *
 * A waiting job joins a running one that is alone on as many GPUs as both requested, if each keeps at least the
 * share `least_speed` of its speed alone, and if its predicted GPU time is at most `most_ratio` times that of the
 * other. Of several it joins the one beside which both keep most. Lucid scores jobs by their utilisation in classes
 * and checks their memory; here the measured speeds of pairs tell both.
 *
 * By default jobs share only when no GPUs are free for them. With `eager` they join others before they take free
 * GPUs, and with `quiet_jobs` sharing is switched off while few jobs are submitted. Then the first job that does not
 * fit stops all behind it. Both are after the released code (S-Lab-System-Group/Lucid at 9b9ba894,
 * simulation/policy/lucid.py), with these differences:
 *
 * - It switches sharing off while at most 2 jobs per 10 min are forecast, on average over the next 50 min. A fitted
 *   model of the time of day and past submissions forecasts them. Here the last 50 min stand for the next, so that a
 *   run is quiet at first.
 * - It does so for the cluster Venus alone (check_pas), and looks every 100 s. Here each decision looks, on any
 *   cluster.
 * - It forecasts jobs of a whole cluster, though a policy serves one virtual cluster. Here both are the scenario's.
 * - There only jobs of at most 8 GPUs look for a partner, and take the first in the order of starts, not the best.
 *
 * The profiler's short runs are left out. Sharing needs the placement "counted". The cluster's own nodes only.
 *
 * A job that does not fit looks at all running jobs. So the time of a round grows by 2.7 to 4.8 when the jobs double,
 * up to 8,000 on 1,024 GPUs; then none joins any more. */
#include "policies/declared.h"
#include "policies/scheduler/predictor.h"
#include "policies/scheduler/sharing/partners.h"
#include "sim/core/mem.h"
#include "sim/core/vec.h"
#include "sim/world/policy/scheduler.h"

#include <math.h>
#include <string.h>

struct lucid_params {
    double least_speed, most_ratio, quiet_jobs;
    bool eager;
};

/* Submissions are counted over so many periods, those for which `quiet_jobs` is a number of jobs. */
enum { PERIODS = 5 };
static const sim_ns period_ns = 600 * SIM_NS_PER_S;

struct lucid {
    struct lucid_params params;
    struct pending pending;
    struct predictor predictor;
    struct partners partners;
    sim_ns *submits_ns; /* [n_submits] of jobs with GPUs, rising; those before `recent` are too long ago */
    size_t n_submits, submits_capacity, recent;
    bool is_quiet, is_stopped; /* sharing is off; then a job did not fit in this decision */
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

static void count_submit(struct lucid *lucid, const struct cluster_view *view, const struct job_view *job)
{
    if (!(lucid->params.quiet_jobs > 0) || job->gpus == 0) return;
    if (vec_push(&lucid->submits_ns, &lucid->n_submits, &lucid->submits_capacity, view->now_ns) != 0)
        lucid->code = SIM_E_NOMEM;
}

/* Whether at most `quiet_jobs` were submitted per period of late. Forgets older submissions. */
static bool is_quiet(struct lucid *lucid, const struct cluster_view *view)
{
    if (!(lucid->params.quiet_jobs > 0)) return false;
    while (lucid->recent < lucid->n_submits && view->now_ns - lucid->submits_ns[lucid->recent] >= PERIODS * period_ns)
        lucid->recent++;
    const size_t n = lucid->n_submits - lucid->recent;
    if (lucid->recent > n) {
        memmove(lucid->submits_ns, lucid->submits_ns + lucid->recent, n * sizeof *lucid->submits_ns);
        lucid->n_submits = n;
        lucid->recent = 0;
    }
    return (double)n <= lucid->params.quiet_jobs * PERIODS;
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
    if (note->event == JOB_EVENT_SUBMIT) count_submit(lucid, view, note->job);
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

static bool start_alone(const struct cluster_view *view, const struct job_view *waiting, struct job_plan *plan)
{
    return waiting->gpus <= view->free_gpus && job_plan_start(plan, waiting, "least predicted GPU time that fits");
}

static bool join(const struct lucid *lucid, const struct cluster_view *view, struct partner_job *job,
                 struct job_plan *plan)
{
    const bool may_share = view->n_nodes == 0 && job->ranked.job->gpus > 0;
    struct partner_job *partner = may_share ? find_partner(lucid, view, job) : NULL;
    return partner != NULL && partners_join(plan, job, partner, "both jobs keep their speed");
}

static bool start_or_join(void *scheduler, const struct cluster_view *view, struct partner_job *job,
                          struct job_plan *plan)
{
    struct lucid *lucid = scheduler;
    const struct job_view *waiting = job->ranked.job;
    if (lucid->is_quiet) {
        lucid->is_stopped = lucid->is_stopped || !start_alone(view, waiting, plan);
        return !lucid->is_stopped;
    }
    if (lucid->params.eager && join(lucid, view, job, plan)) return true;
    return start_alone(view, waiting, plan) || (!lucid->params.eager && join(lucid, view, job, plan));
}

static int lucid_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct lucid *lucid = state;
    lucid->is_quiet = is_quiet(lucid, view);
    lucid->is_stopped = false;
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
    mem_free(lucid->submits_ns);
}

#define ROW_OF struct lucid_params
static const struct config_field lucid_fields[] = {
    ROW_REAL("least_speed", least_speed, DEFAULT("0.85"), WITHIN(0, 1),
             "least part of its speed alone that each of two jobs keeps when they share GPUs"),
    ROW_REAL("most_ratio", most_ratio, DEFAULT("2"), WITHIN(0, 1e6),
             "most predicted GPU time of a job over that of the running job that it joins"),
    ROW_BOOL("eager", eager, DEFAULT("false"), "jobs join others before they take free GPUs, as in the released code"),
    ROW_REAL("quiet_jobs", quiet_jobs, DEFAULT("0"), WITHIN(0, 1e6),
             "no jobs share while at most so many are submitted per 10 min, over the last 50 min; 0: they always may"),
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
