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
 * GPUs are free for them. Sharing needs the placement "counted". The cluster's own nodes only. */
#include "policies/declared.h"
#include "policies/scheduler/pending.h"
#include "policies/scheduler/predictor.h"
#include "sim/world/policy/scheduler.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <math.h>

struct lucid_params {
    double least_speed, most_ratio;
};

struct lucid_job {
    struct ranked ranked; /* first: its place among pending jobs */
    size_t at;            /* in lucid.running */
    struct lucid_job *mate;
};

struct lucid {
    struct lucid_params params;
    struct pending pending;
    struct predictor predictor;
    struct lucid_job **running; /* [n] with GPUs, in any order */
    size_t n, capacity;
    uint64_t capacity_epoch;
    int code;
};

static void enter(struct lucid *lucid, const struct job_view *view)
{
    struct lucid_job *job = job_view_slot(view);
    const double gpu_s = predictor_gpu_s(&lucid->predictor, view);
    job->ranked = (struct ranked){.job = view, .gpus = view->gpus,
                                  .rank = {.first = sim_ns_from_s(gpu_s), .second = view->sequence}};
    const int code = pending_add(&lucid->pending, &job->ranked);
    if (code < 0) lucid->code = code;
}

static void run(struct lucid *lucid, struct lucid_job *job)
{
    pending_remove(&lucid->pending, &job->ranked);
    job->at = lucid->n;
    if (vec_push(&lucid->running, &lucid->n, &lucid->capacity, job) != 0) lucid->code = SIM_E_NOMEM;
}

static void stop(struct lucid *lucid, struct lucid_job *job)
{
    lucid->pending.round++;
    if (job->mate != NULL) job->mate->mate = NULL;
    job->mate = NULL;
    if (job->at >= lucid->n || lucid->running[job->at] != job) return; /* there was no memory for it */
    lucid->running[job->at] = lucid->running[--lucid->n];
    lucid->running[job->at]->at = job->at;
}

static void lucid_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct lucid *lucid = state;
    struct lucid_job *job = job_view_slot(note->job);
    if (note->event == JOB_EVENT_FINISH || note->event == JOB_EVENT_PREEMPT) stop(lucid, job);
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
static struct lucid_job *find_partner(const struct lucid *lucid, const struct cluster_view *view,
                                      const struct lucid_job *job)
{
    const struct job_view *waiting = job->ranked.job;
    struct lucid_job *best = NULL;
    double most = 0;
    for (size_t i = 0; i < lucid->n; i++) {
        struct lucid_job *running = lucid->running[i];
        const struct job_view *other = running->ranked.job;
        if (running->mate != NULL || other->gpus != waiting->gpus || other->held_gpus != other->gpus) continue;
        if ((double)job->ranked.rank.first > lucid->params.most_ratio * (double)running->ranked.rank.first) continue;
        const double kept = kept_frac(view, waiting, other);
        if (!(kept > 0) || kept < lucid->params.least_speed || kept < most) continue;
        if (kept == most && other->sequence > best->ranked.job->sequence) continue;
        best = running;
        most = kept;
    }
    return best;
}

static bool start_or_join(const struct lucid *lucid, const struct cluster_view *view, struct lucid_job *job,
                          struct job_plan *plan)
{
    const struct job_view *waiting = job->ranked.job;
    if (waiting->gpus <= view->free_gpus && job_plan_start(plan, waiting, "least predicted GPU time that fits"))
        return true;
    struct lucid_job *partner = view->n_nodes > 0 || waiting->gpus == 0 ? NULL : find_partner(lucid, view, job);
    if (partner == NULL) return false;
    job->mate = partner;
    partner->mate = job;
    if (job_plan_join(plan, waiting, partner->ranked.job, "both jobs keep their speed")) return true;
    job->mate = partner->mate = NULL;
    return false;
}

/* Jobs of a class that are tried behind the first one, which may find partners where it finds none. */
enum { MOST_TRIED = 64 };

static bool start_any(struct lucid *lucid, const struct cluster_view *view, const struct pending_class *class,
                      struct ranked *first, struct job_plan *plan)
{
    struct ranked *next = first;
    for (int i = 0; i < MOST_TRIED && next != NULL; i++) {
        const struct rank after = {next->rank.first, next->rank.second, 1};
        if (start_or_join(lucid, view, (struct lucid_job *)(void *)next, plan)) return true;
        next = ranking_first_from(&class->jobs, after);
    }
    return false;
}

static int lucid_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct lucid *lucid = state;
    struct ranked *first;
    lucid->pending.round++;
    while (lucid->code == 0 && (first = pending_first(&lucid->pending, INT64_MAX)) != NULL) {
        struct pending_class *class = pending_class_of(&lucid->pending, first->job);
        if (!start_any(lucid, view, class, first, plan)) class->refused_in = lucid->pending.round;
    }
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
    mem_free(lucid->running);
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
               .params = lucid_fields,
               .params_bytes = sizeof(struct lucid_params),
               .state_bytes = sizeof(struct lucid),
               .init = lucid_init,
               .fini = lucid_fini},
    .job_bytes = sizeof(struct lucid_job),
    .notify = lucid_notify,
    .decide = lucid_decide,
};
