/* Chronus (Gao et al., SoCC 2021): jobs with deadlines (SLO jobs) and best-effort jobs, on leases of GPUs.
 *
 * All jobs run for leases of a fixed length. An SLO job is admitted if the leases that it needs can be planned before
 * its deadline beside those of the jobs admitted before. It then has a plan: the numbers of its leases. New SLO jobs
 * are planned in order of deadlines, each on the earliest leases with room. If one does not fit, a new job is refused:
 * of it and those planned before it in this decision, the one that needs most GPU time (Moore 1968). On one GPU with
 * all jobs there at once, that keeps as many deadlines as possible.
 *
 * In each lease run the SLO jobs whose plan has it. Then come best-effort and refused jobs, the shortest remaining time
 * first, while they fit. Other admitted jobs come last, and get ahead of their plans. A job that falls behind its plan,
 * by failures or waits at its starts, gets further leases before its deadline, or is refused if there are none.
 *
 * Chronus plans by a mixed-integer program. Its placements are those of the placer here. Remaining times are those of
 * users' estimates, with the wait for the next start; later restarts are not planned. Plans reach MOST_LEASES ahead:
 * jobs without room within them are refused. The cluster's own nodes only. */
#include "policies/declared.h"
#include "policies/scheduler/rounds.h"
#include "sim/world/policy/scheduler.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

enum { MOST_LEASES = 4096 }; /* that are planned ahead */

struct chronus_params {
    sim_ns lease_ns;
    int64_t depth;
};

enum chronus_status { IS_NEW, IS_ADMITTED, IS_BEST_EFFORT };

struct chronus_job {
    struct round_job round; /* first */
    enum chronus_status status;
    int32_t leases;         /* the latest planned one in chronus.leases; -1: none */
    int32_t n_leases;
    sim_ns left_ns;
};

/* A planned lease. */
struct lease {
    int64_t number; /* since time 0 */
    int32_t next;   /* the one before it, of the same job; -1: none */
};

struct chronus {
    struct chronus_params params;
    struct rounds rounds;
    struct lease *leases;
    int32_t n_leases, capacity, free_lease;
    int64_t now;                    /* number of the lease that begins */
    int64_t used_gpus[MOST_LEASES]; /* by number of the lease, modulo MOST_LEASES: planned GPUs */
    int64_t n_refused, n_late;
    int code;
};

static struct chronus_job *job_at(const struct chronus *chronus, size_t i)
{
    return (struct chronus_job *)(void *)chronus->rounds.jobs[i];
}

static int64_t *used_in(struct chronus *chronus, int64_t lease)
{
    return &chronus->used_gpus[lease % MOST_LEASES];
}

/* --- Plans of jobs --- */

/* Returns 0 or SIM_E_NOMEM. */
static int add_lease(struct chronus *chronus, struct chronus_job *job, int64_t number)
{
    int32_t later = -1, next = job->leases, fresh = chronus->free_lease;
    for (; next >= 0 && chronus->leases[next].number > number; next = chronus->leases[next].next) later = next;
    if (fresh < 0) {
        fresh = chronus->n_leases;
        const struct lease empty = {0};
        if (vec_push(&chronus->leases, &chronus->n_leases, &chronus->capacity, empty) != 0) return SIM_E_NOMEM;
    } else {
        chronus->free_lease = chronus->leases[fresh].next;
    }
    chronus->leases[fresh] = (struct lease){number, next};
    *(later < 0 ? &job->leases : &chronus->leases[later].next) = fresh;
    *used_in(chronus, number) += job->round.view->gpus;
    job->n_leases++;
    return 0;
}

/* Takes out the planned leases before a number, or, with `latest`, the latest one. */
static void drop_leases(struct chronus *chronus, struct chronus_job *job, int64_t before, bool latest)
{
    int32_t *at = &job->leases;
    while (*at >= 0) {
        const int32_t index = *at;
        struct lease *lease = &chronus->leases[index];
        if (!latest && lease->number >= before) {
            at = &lease->next;
            continue;
        }
        *used_in(chronus, lease->number) -= job->round.view->gpus;
        *at = lease->next;
        lease->next = chronus->free_lease;
        chronus->free_lease = index;
        job->n_leases--;
        if (latest) return;
    }
}

static bool has_lease(const struct chronus *chronus, const struct chronus_job *job, int64_t number)
{
    int32_t at = job->leases;
    while (at >= 0 && chronus->leases[at].number > number) at = chronus->leases[at].next;
    return at >= 0 && chronus->leases[at].number == number;
}

/* Leases that the job needs from now on. */
static int64_t needed_leases(const struct chronus *chronus, const struct chronus_job *job)
{
    const sim_ns lease_ns = chronus->params.lease_ns;
    return job->left_ns / lease_ns + (job->left_ns % lease_ns > 0);
}

/* The last lease in which the job may end, with what is left of it in its last lease; below `now`: none. */
static int64_t last_lease(const struct chronus *chronus, const struct cluster_view *view, const struct chronus_job *job)
{
    const sim_ns lease_ns = chronus->params.lease_ns, left_ns = job->left_ns > 0 ? job->left_ns : 1;
    const sim_ns rest_ns = (left_ns - 1) % lease_ns + 1, time_ns = job->round.view->deadline_ns - view->now_ns;
    if (time_ns < rest_ns) return chronus->now - 1;
    const int64_t ahead = (time_ns - rest_ns) / lease_ns;
    return chronus->now + (ahead < MOST_LEASES ? ahead : MOST_LEASES - 1);
}

/* Plans the leases that the job lacks, on the earliest with room. Returns 1, 0 if there are not enough, when it keeps
 * what it had, or SIM_E_NOMEM. */
static int plan_job(struct chronus *chronus, const struct cluster_view *view, struct chronus_job *job)
{
    const int64_t last = last_lease(chronus, view, job), room = view->total_gpus - job->round.view->gpus;
    int64_t lacks = needed_leases(chronus, job) - job->n_leases, found = 0, end = chronus->now;
    for (; end <= last && found < lacks; end++)
        found += *used_in(chronus, end) <= room && !has_lease(chronus, job, end);
    if (found < lacks) return 0;
    for (int64_t lease = chronus->now; lease < end && lacks > 0; lease++) {
        if (*used_in(chronus, lease) > room || has_lease(chronus, job, lease)) continue;
        if (add_lease(chronus, job, lease) != 0) return SIM_E_NOMEM;
        lacks--;
    }
    return 1;
}

static void drop_all(struct chronus *chronus, struct chronus_job *job)
{
    while (job->leases >= 0) drop_leases(chronus, job, 0, true);
}

static void chronus_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct chronus *chronus = state;
    struct chronus_job *job = job_view_slot(note->job);
    (void)view;
    const int code = rounds_notify(&chronus->rounds, note);
    if (code < 0) chronus->code = code;
    if (note->event == JOB_EVENT_SUBMIT) {
        job->leases = -1;
        job->status = note->job->deadline_ns < SIM_NS_MAX ? IS_NEW : IS_BEST_EFFORT;
    }
    if (note->event == JOB_EVENT_FINISH && note->job->gpus > 0) drop_all(chronus, job);
}

/* --- Decisions --- */

static int by_deadline(const void *one, const void *other)
{
    const struct job_view *a = (*(struct round_job *const *)one)->view, *b = (*(struct round_job *const *)other)->view;
    if (a->deadline_ns != b->deadline_ns) return a->deadline_ns < b->deadline_ns ? -1 : 1;
    return a->sequence < b->sequence ? -1 : 1;
}

static int by_left(const void *one, const void *other)
{
    const struct chronus_job *a = *(struct chronus_job *const *)one, *b = *(struct chronus_job *const *)other;
    if (a->left_ns != b->left_ns) return a->left_ns < b->left_ns ? -1 : 1;
    return a->round.view->sequence < b->round.view->sequence ? -1 : 1;
}

/* Brings the plans of admitted jobs up to date: what is past or no longer needed goes. */
static void keep_plans(struct chronus *chronus, const struct cluster_view *view)
{
    for (size_t i = 0; i < chronus->rounds.n && chronus->code == 0; i++) {
        struct chronus_job *job = job_at(chronus, i);
        job->left_ns = job_view_estimated_remaining_ns(view, job->round.view);
        if (job->status != IS_ADMITTED) continue;
        drop_leases(chronus, job, chronus->now, false);
        while (job->n_leases > needed_leases(chronus, job)) drop_leases(chronus, job, 0, true);
        const int code = plan_job(chronus, view, job);
        if (code < 0) chronus->code = code;
        if (code != 0) continue;
        drop_all(chronus, job);
        job->status = IS_BEST_EFFORT;
        chronus->n_late++;
    }
}

static double gpu_ns_of(const struct chronus_job *job)
{
    return (double)job->left_ns * job->round.view->gpus;
}

/* Of the first n jobs, the new one with a plan that needs most GPU time, if `job` needs less; else NULL. */
static struct chronus_job *largest_planned(const struct chronus *chronus, size_t n, const struct chronus_job *job)
{
    struct chronus_job *largest = NULL;
    double most = gpu_ns_of(job);
    for (size_t i = 0; i < n; i++) {
        struct chronus_job *other = job_at(chronus, i);
        if (other->status != IS_NEW || gpu_ns_of(other) <= most) continue;
        largest = other;
        most = gpu_ns_of(other);
    }
    return largest;
}

/* Plans new jobs in order of deadlines; those that are not refused are admitted. */
static void admit(struct chronus *chronus, const struct cluster_view *view)
{
    for (size_t i = 0; i < chronus->rounds.n && chronus->code == 0; i++) {
        struct chronus_job *job = job_at(chronus, i);
        if (job->status != IS_NEW) continue;
        int code = plan_job(chronus, view, job);
        struct chronus_job *largest = code == 0 ? largest_planned(chronus, i, job) : NULL;
        if (largest != NULL) {
            drop_all(chronus, largest);
            code = plan_job(chronus, view, job);
            struct chronus_job *refused = code == 1 ? largest : job;
            if (code == 0) code = plan_job(chronus, view, largest); /* where it was */
            refused->status = IS_BEST_EFFORT;
            chronus->n_refused++;
        } else if (code == 0) {
            job->status = IS_BEST_EFFORT;
            chronus->n_refused++;
        }
        if (code < 0) chronus->code = code;
    }
    for (size_t i = 0; i < chronus->rounds.n; i++)
        if (job_at(chronus, i)->status == IS_NEW) job_at(chronus, i)->status = IS_ADMITTED;
}

static void choose_jobs(struct chronus *chronus, const struct cluster_view *view)
{
    int64_t gpus = view->total_gpus;
    for (size_t i = 0; i < chronus->rounds.n; i++)
        if (has_lease(chronus, job_at(chronus, i), chronus->now)) rounds_choose(chronus->rounds.jobs[i], &gpus);
    rounds_sort(&chronus->rounds, by_left);
    for (size_t i = 0; i < chronus->rounds.n; i++)
        if (job_at(chronus, i)->status == IS_BEST_EFFORT) rounds_choose(chronus->rounds.jobs[i], &gpus);
    for (size_t i = 0; i < chronus->rounds.n; i++) rounds_choose(chronus->rounds.jobs[i], &gpus);
}

static int chronus_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct chronus *chronus = state;
    const struct chronus_params *params = &chronus->params;
    const int due = chronus->code == 0 ? rounds_begin(&chronus->rounds, view, params->lease_ns, params->depth) : 0;
    if (due < 0) chronus->code = due;
    if (due > 0) {
        chronus->now = view->now_ns / params->lease_ns;
        rounds_sort(&chronus->rounds, by_deadline);
        keep_plans(chronus, view);
        admit(chronus, view);
        choose_jobs(chronus, view);
        rounds_apply(&chronus->rounds, plan, "its lease ends", "it gets this lease");
    }
    for (; chronus->n_refused > 0; chronus->n_refused--)
        job_plan_warn(plan, "chronus-refused",
                      "jobs cannot keep their deadlines beside others: they run as best-effort jobs");
    for (; chronus->n_late > 0; chronus->n_late--)
        job_plan_warn(plan, "chronus-late", "jobs fell behind their plans too far to keep their deadlines");
    if (chronus->code == 0) chronus->code = rounds_end(&chronus->rounds, view, params->lease_ns, plan);
    return chronus->code;
}

static int chronus_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    struct chronus *chronus = state;
    chronus->params = *(const struct chronus_params *)params;
    chronus->free_lease = -1;
    return 0;
}

static void chronus_fini(void *state)
{
    struct chronus *chronus = state;
    rounds_fini(&chronus->rounds);
    mem_free(chronus->leases);
}

#define ROW_OF struct chronus_params
static const struct config_field chronus_fields[] = {
    ROW_TIME("lease", lease_ns, DEFAULT("240s"), AT_LEAST(1e-3), "length of a lease"),
    ROW_INT("depth", depth, DEFAULT("2000"), WITHIN(1, 1e9),
            "only the oldest jobs take part, at most so many, which bounds the cost of a decision"),
    {0}};
#undef ROW_OF

const struct scheduler scheduler_chronus = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "chronus",
               .summary = "leases: admitted jobs have a plan that keeps their deadlines; best-effort jobs run beside it",
               .source = "Gao et al., Chronus (SoCC 2021)",
               .params = chronus_fields,
               .params_bytes = sizeof(struct chronus_params),
               .state_bytes = sizeof(struct chronus),
               .init = chronus_init,
               .fini = chronus_fini},
    .job_bytes = sizeof(struct chronus_job),
    .notify = chronus_notify,
    .decide = chronus_decide,
    .reads_deadlines = true,
};
