/* Muri (Zhao et al., SIGCOMM 2022): jobs that request equally many GPUs share them in groups, so that their
 * iterations use different resources at a time. With `order` srsf (Muri-S) jobs go by the least remaining GPU time,
 * with las (Muri-L) by the least attained GPU time.
 *
 * Every round, jobs are walked in order. Each one that would fit alone makes room for a group, and the next jobs
 * with as many GPUs, `most` in all, become candidates for it. If the candidates need more GPUs than there are,
 * those with equally many are matched in pairs, then pairs with pairs, until they fit. A matching maximises the sum
 * over groups of
 *
 *     sum over the jobs of a group of (speed in the group / speed alone)
 *
 * which is the paper's interleaving efficiency times the number of resources. Groups with most GPUs start first.
 *
 * Muri finds matchings by the blossom algorithm. Jobs of one type are alike here, so an integer program over the
 * types of groups finds the same optimum (matching.h). Speeds are known, not profiled. Groups need the placement
 * "counted"; under a placer that puts jobs on nodes each job is alone. The cluster's own nodes only.
 *
 * A program over the types of groups may branch: of 2,000 new jobs one takes as long as all else, of 1,900 or 2,100
 * none does. */
#include "policies/declared.h"
#include "policies/scheduler/cpu_jobs.h"
#include "policies/scheduler/sharing/matching.h"
#include "sim/world/policy/scheduler.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <stdlib.h>
#include <string.h>

enum muri_order { MURI_SRSF, MURI_LAS };

struct muri_params {
    sim_ns round_ns;
    int64_t most;
    int order;
};

struct muri {
    struct muri_params params;
    struct cpu_jobs cpu_jobs;
    struct sharing_job **jobs; /* [n], in order of submission but for a decision */
    size_t n, capacity;
    struct sharing_group *groups; /* [n_groups] of the present decision */
    size_t n_groups, groups_capacity;
    sim_ns decided_ns; /* -1: never */
    bool is_stale;
    int code;
};

/* --- Jobs --- */

static void forget_mate(struct sharing_job *job, const struct sharing_job *mate)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < job->n_mates; i++)
        if (job->mates[i] != mate) job->mates[kept++] = job->mates[i];
    job->n_mates = kept;
}

static void leave_group(struct sharing_job *job)
{
    for (int32_t i = 0; i < job->n_mates; i++) forget_mate(job->mates[i], job);
    job->n_mates = 0;
}

static void muri_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)view;
    struct muri *muri = state;
    struct sharing_job *job = job_view_slot(note->job);
    cpu_jobs_notify(&muri->cpu_jobs, note, &job->waiting);
    if (note->job->gpus == 0) return;
    if (note->event == JOB_EVENT_SUBMIT) {
        job->view = note->job;
        const int code = vec_push(&muri->jobs, &muri->n, &muri->capacity, job);
        if (muri->code == 0) muri->code = code;
    }
    if (note->event == JOB_EVENT_FINISH || note->event == JOB_EVENT_PREEMPT) leave_group(job);
    muri->is_stale |= note->event == JOB_EVENT_SUBMIT || note->event == JOB_EVENT_FINISH || note->forced;
    if (note->event != JOB_EVENT_FINISH) return;
    size_t at = 0;
    while (at < muri->n && muri->jobs[at] != job) at++;
    if (at == muri->n) return;
    memmove(&muri->jobs[at], &muri->jobs[at + 1], (--muri->n - at) * sizeof(struct sharing_job *));
}

static int by_key(const void *one, const void *other)
{
    const struct sharing_job *a = *(struct sharing_job *const *)one, *b = *(struct sharing_job *const *)other;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return a->view->sequence < b->view->sequence ? -1 : 1;
}

static void sort_jobs(struct muri *muri, const struct cluster_view *view)
{
    for (size_t i = 0; i < muri->n; i++) {
        struct sharing_job *job = muri->jobs[i];
        const sim_ns time_ns = muri->params.order == MURI_SRSF ? job_view_remaining_work_ns(view, job->view)
                                                               : job_view_executed_ns(view, job->view);
        job->key = sim_s_from_ns(time_ns) * job->view->gpus;
        job->is_taken = false;
    }
    if (muri->n > 1) qsort(muri->jobs, muri->n, sizeof *muri->jobs, by_key);
}

/* --- Groups --- */

static int add_group(struct muri *muri, struct sharing_job *job)
{
    const struct sharing_group group = {.n = 1, .jobs = {job}};
    job->is_taken = true;
    return vec_push(&muri->groups, &muri->n_groups, &muri->groups_capacity, group);
}

/* Where the next candidate with so many GPUs is looked for: all before it are taken. */
struct cursor {
    int32_t gpus;
    size_t at;
};

enum { CURSORS = 64 };

static struct cursor *cursor_of(struct cursor *cursors, int32_t gpus, size_t from)
{
    struct cursor *cursor = &cursors[gpus % CURSORS];
    if (cursor->gpus != gpus || cursor->at < from) *cursor = (struct cursor){gpus, from};
    return cursor;
}

/* Candidates as groups of one. */
static int choose_candidates(struct muri *muri, const struct cluster_view *view)
{
    const int64_t most = view->n_nodes > 0 ? 1 : muri->params.most;
    struct cursor cursors[CURSORS] = {{0}};
    int64_t left = view->total_gpus;
    int code = 0;
    muri->n_groups = 0;
    for (size_t i = 0; code == 0 && i < muri->n; i++) {
        struct sharing_job *job = muri->jobs[i];
        const int32_t gpus = job->view->gpus;
        if (job->is_taken || gpus > left) continue;
        if (left < INT64_MAX) left -= gpus;
        struct cursor *cursor = cursor_of(cursors, gpus, i);
        for (int64_t taken = 0; code == 0 && cursor->at < muri->n && taken < most; cursor->at++) {
            if (muri->jobs[cursor->at]->is_taken || muri->jobs[cursor->at]->view->gpus != gpus) continue;
            code = add_group(muri, muri->jobs[cursor->at]);
            taken++;
        }
    }
    return code;
}

static int64_t demand_of(const struct muri *muri)
{
    int64_t sum = 0;
    for (size_t i = 0; i < muri->n_groups; i++) sum += muri->groups[i].jobs[0]->view->gpus;
    return sum;
}

/* Most GPUs first, then the group with the first job in order. */
static int by_gpus(const void *one, const void *other)
{
    const struct sharing_group *a = one, *b = other;
    const struct job_view *x = a->jobs[0]->view, *y = b->jobs[0]->view;
    if (x->gpus != y->gpus) return x->gpus > y->gpus ? -1 : 1;
    if (a->jobs[0]->key != b->jobs[0]->key) return a->jobs[0]->key < b->jobs[0]->key ? -1 : 1;
    return x->sequence < y->sequence ? -1 : 1;
}

/* Matches the groups of each number of GPUs in pairs. */
static int match_all(struct muri *muri, const struct cluster_view *view)
{
    size_t kept = 0;
    int code = 0;
    qsort(muri->groups, muri->n_groups, sizeof *muri->groups, by_gpus);
    for (size_t first = 0, end; code >= 0 && first < muri->n_groups; first = end) {
        for (end = first; end < muri->n_groups; end++)
            if (muri->groups[end].jobs[0]->view->gpus != muri->groups[first].jobs[0]->view->gpus) break;
        size_t n = end - first;
        code = matching_pair(view, &muri->groups[first], &n, (int32_t)muri->params.most);
        memmove(&muri->groups[kept], &muri->groups[first], n * sizeof *muri->groups);
        kept += n;
    }
    muri->n_groups = kept;
    return code;
}

static int make_groups(struct muri *muri, const struct cluster_view *view)
{
    int code = choose_candidates(muri, view);
    for (int32_t size = 1; code >= 0 && size < muri->params.most && demand_of(muri) > view->total_gpus; size *= 2)
        code = match_all(muri, view);
    if (code >= 0 && muri->n_groups > 1) qsort(muri->groups, muri->n_groups, sizeof *muri->groups, by_gpus);
    return code;
}

/* --- Plan --- */

/* Whether the jobs of the group run together, and with no other. */
static bool runs(const struct sharing_group *group)
{
    const struct sharing_job *first = group->jobs[0];
    if (first->n_mates != group->n - 1) return false;
    for (int32_t i = 0; i < group->n; i++) {
        bool is_mate = i == 0;
        for (int32_t k = 0; k < first->n_mates; k++) is_mate = is_mate || first->mates[k] == group->jobs[i];
        if (!is_mate || group->jobs[i]->view->state != JOB_RUNNING) return false;
    }
    return true;
}

static void start(const struct sharing_group *group, struct job_plan *plan)
{
    static const char reason[] = "its group is next in order";
    const struct job_view *views[SHARING_MOST];
    const struct job_grant grant = {.gpus = group->jobs[0]->view->gpus};
    for (int32_t i = 0; i < group->n; i++) views[i] = group->jobs[i]->view;
    if (group->n == 1) job_plan_start(plan, views[0], reason);
    if (group->n == 1 || !job_plan_start_group(plan, views, group->n, &grant, reason)) return;
    for (int32_t i = 0; i < group->n; i++)
        for (int32_t k = 0; k < group->n; k++)
            if (k != i) group->jobs[i]->mates[group->jobs[i]->n_mates++] = group->jobs[k];
}

/* Marks the groups that fit, and stops the jobs of all others. */
static void apply(struct muri *muri, const struct cluster_view *view, struct job_plan *plan)
{
    int64_t left = view->total_gpus;
    for (size_t i = 0; i < muri->n; i++) muri->jobs[i]->stays = false;
    for (size_t i = 0; i < muri->n_groups; i++) {
        struct sharing_group *group = &muri->groups[i];
        group->fits = group->jobs[0]->view->gpus <= left;
        if (!group->fits) continue;
        if (left < INT64_MAX) left -= group->jobs[0]->view->gpus;
        for (int32_t k = 0; k < group->n; k++) group->jobs[k]->stays = runs(group);
    }
    for (size_t i = 0; i < muri->n; i++)
        if (muri->jobs[i]->view->state == JOB_RUNNING && !muri->jobs[i]->stays)
            job_plan_preempt(plan, muri->jobs[i]->view, "other groups come before it");
    for (size_t i = 0; i < muri->n_groups; i++)
        if (muri->groups[i].fits && muri->groups[i].jobs[0]->view->state == JOB_PENDING) start(&muri->groups[i], plan);
}

static int muri_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct muri *muri = state;
    const sim_ns past_ns = view->now_ns % muri->params.round_ns;
    const bool is_due = past_ns == 0 && view->now_ns != muri->decided_ns && (muri->is_stale || view->n_running == 0);
    if (muri->code == 0 && is_due && muri->n > 0) {
        muri->decided_ns = view->now_ns;
        muri->is_stale = false;
        sort_jobs(muri, view);
        const int code = make_groups(muri, view);
        muri->code = code < 0 ? code : 0;
        if (code >= 0) apply(muri, view, plan);
    }
    if (muri->code == 0) muri->code = cpu_jobs_start(&muri->cpu_jobs, view, false, plan);
    if (muri->code == 0 && muri->n > 0)
        job_plan_wake_at(plan, sim_ns_add(view->now_ns - past_ns, muri->params.round_ns));
    return muri->code;
}

static int muri_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    struct muri *muri = state;
    muri->params = *(const struct muri_params *)params;
    muri->decided_ns = -1;
    return 0;
}

static void muri_fini(void *state)
{
    struct muri *muri = state;
    mem_free(muri->jobs);
    mem_free(muri->groups);
    cpu_jobs_fini(&muri->cpu_jobs);
}

static const char *const orders[] = {"srsf", "las", NULL};

#define ROW_OF struct muri_params
static const struct config_field muri_fields[] = {
    ROW_TIME("round", round_ns, DEFAULT("6min"), AT_LEAST(1e-3), "time between two decisions"),
    ROW_INT("most", most, DEFAULT("4"), WITHIN(1, SHARING_MOST), "most jobs of a group"),
    ROW_CHOICE("order", order, DEFAULT("srsf"), orders,
               "srsf: least remaining GPU time first (Muri-S); las: least attained GPU time first (Muri-L)"),
    {0}};
#undef ROW_OF

static bool muri_shares(const void *state)
{
    return ((const struct muri *)state)->params.most > 1;
}

const struct scheduler scheduler_muri = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "muri",
               .summary = "groups of jobs that use different resources at a time share GPUs; matched for the highest efficiency",
               .source = "Zhao et al., Muri (SIGCOMM 2022)",
               .oracle = ORACLE_DURATION | ORACLE_SPEEDS,
               .params = muri_fields,
               .params_bytes = sizeof(struct muri_params),
               .state_bytes = sizeof(struct muri),
               .init = muri_init,
               .fini = muri_fini},
    .job_bytes = sizeof(struct sharing_job),
    .notify = muri_notify,
    .decide = muri_decide,
    .ignores_estimates = true,
    .shares = muri_shares,
    .shares_gpus = true,
};
