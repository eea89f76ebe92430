/* EASY backfilling (Lifka 1995): jobs start in order of submission. If the first job of the queue does not fit, it
 * gets a reservation for the time at which, by the users' estimates, enough GPUs are free. A later job may start now
 * if by its estimate it ends before that time, or if it only needs GPUs that the first job leaves over.
 *
 * The reservation counts GPUs, not nodes. A job that overruns its estimate counts as ending now. */
#include "policies/declared.h"
#include "policies/scheduler/pending.h"
#include "sim/world/policy/scheduler.h"

struct easy {
    struct pending pending; /* ranked by submission; span_ns is the estimate */
    struct ranking running; /* ranked by estimated end */
    int code;
};

/* The reservation of the first job of the queue. */
struct reservation {
    sim_ns shadow_ns;   /* when the job starts at the latest */
    int64_t extra_gpus; /* GPUs that it leaves over then */
};

static void easy_fini(void *state)
{
    pending_fini(&((struct easy *)state)->pending);
}

static void add_pending(struct easy *easy, const struct cluster_view *view, const struct job_view *job)
{
    struct ranked *ranked = job_view_slot(job);
    *ranked = (struct ranked){.job = job,
                              .rank = {.first = job->sequence},
                              .gpus = job->gpus,
                              .span_ns = job_view_estimated_remaining_ns(view, job)};
    int code = pending_add(&easy->pending, ranked);
    if (code < 0) easy->code = code;
}

static void add_running(struct easy *easy, const struct cluster_view *view, struct ranked *ranked)
{
    sim_ns left_ns = job_view_estimated_remaining_ns(view, ranked->job);
    ranked->rank = (struct rank){.first = sim_ns_add(view->now_ns, left_ns), .second = ranked->job->sequence};
    ranking_add(&easy->running, ranked);
}

static void easy_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct easy *easy = state;
    struct ranked *ranked = job_view_slot(note->job);
    if (note->event == JOB_EVENT_START)
        pending_remove(&easy->pending, ranked);
    else if (note->event != JOB_EVENT_SUBMIT)
        ranking_remove(&easy->running, ranked);
    if (note->job->state == JOB_PENDING)
        add_pending(easy, view, note->job);
    else if (note->job->state == JOB_RUNNING)
        add_running(easy, view, ranked);
}

static struct reservation reserve(const struct easy *easy, const struct cluster_view *view, const struct job_view *job)
{
    int64_t spare = view->free_gpus - job->gpus;
    if (spare >= 0) return (struct reservation){view->now_ns, spare};
    const struct ranked *last = ranking_reach(&easy->running, -spare);
    if (last == NULL) return (struct reservation){SIM_NS_MAX, 0};
    sim_ns shadow_ns = last->rank.first > view->now_ns ? last->rank.first : view->now_ns;
    const struct rank after = {.first = shadow_ns, .second = INT64_MAX};
    return (struct reservation){shadow_ns, spare + ranking_gpus_before(&easy->running, after)};
}

/* The oldest job that may start without delaying the reservation. */
static struct ranked *first_backfill(const struct pending *pending, const struct cluster_view *view,
                                     const struct reservation *promise)
{
    struct ranked *best = NULL;
    for (size_t i = 0; i < pending->n && pending->classes[i]->gpus <= view->free_gpus; i++) {
        const struct pending_class *class = pending->classes[i];
        if (!pending_class_is_open(pending, class)) continue;
        struct ranked *candidate = class->gpus <= promise->extra_gpus
                                       ? class->jobs.first
                                       : ranking_first_within(&class->jobs, promise->shadow_ns - view->now_ns);
        if (candidate != NULL && (best == NULL || rank_before(&candidate->rank, &best->rank))) best = candidate;
    }
    return best;
}

static void backfill(struct easy *easy, const struct cluster_view *view, struct job_plan *plan,
                     struct reservation *promise)
{
    struct ranked *ranked;
    while ((ranked = first_backfill(&easy->pending, view, promise)) != NULL) {
        bool ends_before = ranked->span_ns <= promise->shadow_ns - view->now_ns;
        const char *reason = ends_before ? "backfilled: ends before the reservation"
                                         : "backfilled beside the reservation";
        if (!job_plan_start(plan, ranked->job, reason))
            pending_class_of(&easy->pending, ranked->job)->refused_in = easy->pending.round;
        else if (!ends_before)
            promise->extra_gpus -= ranked->gpus;
    }
}

static int easy_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct easy *easy = state;
    struct pending *pending = &easy->pending;
    const struct ranked *first;
    pending->round++;
    while ((first = pending_first(pending, INT64_MAX)) != NULL &&
           job_plan_start(plan, first->job, "head of the queue")) {
    }
    if (first == NULL || view->free_gpus == 0) return easy->code;
    pending_class_of(pending, first->job)->refused_in = pending->round;
    struct reservation promise = reserve(easy, view, first->job);
    backfill(easy, view, plan, &promise);
    return easy->code;
}

const struct scheduler scheduler_easy = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "easy",
               .summary = "order of submission, with backfilling around a reservation for the first job",
               .source = "Lifka, The ANL/IBM SP scheduling system (JSSPP 1995)",
               .state_bytes = sizeof(struct easy),
               .fini = easy_fini},
    .job_bytes = sizeof(struct ranked),
    .notify = easy_notify,
    .decide = easy_decide,
    .wants_speed_events = true,
};
