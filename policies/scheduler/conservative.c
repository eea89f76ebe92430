/* Conservative backfilling (Mu'alem and Feitelson, TPDS 2001): at submission every job gets a reservation for the
 * earliest time at which, by the users' estimates, it fits beside the running jobs and all earlier reservations. A
 * later job never delays an earlier one, and with exact estimates no job starts later than promised.
 *
 * When a job ends before its estimate, pending jobs move to the earliest time that leaves all other reservations in
 * place, in order of submission, until none moves. A job that overruns its estimate counts as ending now. If that
 * keeps a reservation from beginning, all reservations are recomputed in order of submission.
 *
 * Reservations count GPUs, not nodes. A reservation costs O(log n) for n jobs, if no gap before it is too short. Jobs
 * of several sizes leave many such gaps. No order of the gaps finds the first that is both wide and long enough, so
 * each is tried. 1,000, 2,000 and 4,000 new jobs of 1 to 4 GPUs take 61, 333 and 1,639 million instructions. Each early
 * end examines every reservation, as often as reservations move.
 *
 * `depth` bounds that, as the number of jobs that are tried does in backfilling schedulers in use (bf_max_job_test of
 * Slurm): at most so many jobs wait with a reservation. The other pending jobs queue in order of submission and start
 * no sooner than they have one. An interrupted job gets one at once, in place of the youngest that has one. So a
 * depth of 1 is first in, first out. */
#include "policies/declared.h"
#include "policies/scheduler/ranking.h"
#include "policies/scheduler/usage.h"
#include "sim/world/policy/scheduler.h"

struct conservative_params {
    int64_t depth; /* 0: all pending jobs have a reservation */
};

struct reserved {
    struct ranked by_age, by_start; /* while the job is pending */
    sim_ns span_ns, from_ns, to_ns; /* reserved duration and times, also while the job runs */
    bool is_queued;                 /* without a reservation */
};

struct conservative {
    struct usage usage; /* GPUs of running jobs and of all reservations */
    struct ranking by_age, by_start; /* of jobs with a reservation */
    struct ranking queue;            /* by age: those without, where `depth` bounds the reservations */
    int64_t depth, n_reserved;
    struct ranked_list arrivals; /* jobs without a reservation yet */
    int64_t total_gpus;
    bool may_come_earlier; /* reserved room was released early */
    bool is_stale;         /* reserved room is held for longer */
    int code;             /* SIM_E_NOMEM once a job could not be kept */
};

#define ROW_OF struct conservative_params
static const struct config_field conservative_fields[] = {
    ROW_INT("depth", depth, DEFAULT("0"), WITHIN(0, 1e9), "jobs that may wait with a reservation; 0: all"),
    {0}};
#undef ROW_OF

static int conservative_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    ((struct conservative *)state)->depth = ((const struct conservative_params *)params)->depth;
    return 0;
}

static void conservative_fini(void *state)
{
    struct conservative *conservative = state;
    usage_fini(&conservative->usage);
    ranked_list_fini(&conservative->arrivals);
}

static struct reserved *reserved_of(const struct ranked *ranked)
{
    return job_view_slot(ranked->job);
}

static void add_to_profile(struct conservative *conservative, const struct reserved *job, int64_t sign)
{
    int code = usage_add(&conservative->usage, job->from_ns, job->to_ns, sign * job->by_age.gpus);
    if (code < 0) conservative->code = code;
}

static void reserve(struct conservative *conservative, struct reserved *job, sim_ns from_ns)
{
    job->from_ns = from_ns;
    job->to_ns = sim_ns_add(from_ns, job->span_ns);
    add_to_profile(conservative, job, +1);
    job->by_start.rank = (struct rank){.first = from_ns, .second = job->by_age.rank.first};
    ranking_add(&conservative->by_start, &job->by_start);
}

static void cancel(struct conservative *conservative, struct reserved *job)
{
    ranking_remove(&conservative->by_start, &job->by_start);
    add_to_profile(conservative, job, -1);
}

/* Moves a reservation to the earliest time that leaves all others in place. Returns whether its time changed. */
static bool move(struct conservative *conservative, const struct cluster_view *view, struct reserved *job)
{
    sim_ns before_ns = job->from_ns;
    cancel(conservative, job);
    reserve(conservative, job,
            usage_earliest(&conservative->usage, view->now_ns, job->span_ns, job->by_age.gpus, view->total_gpus));
    return job->from_ns != before_ns;
}

static void add_reserved(struct conservative *conservative, struct reserved *job)
{
    job->is_queued = false;
    ranking_add(&conservative->by_age, &job->by_age);
    reserve(conservative, job, SIM_NS_MAX);
    conservative->n_reserved++;
}

static void enqueue(struct conservative *conservative, struct reserved *job)
{
    job->to_ns = 0;
    job->is_queued = true;
    ranking_add(&conservative->queue, &job->by_age);
}

static void send_back_youngest(struct conservative *conservative)
{
    struct reserved *job = reserved_of(ranking_last(&conservative->by_age));
    ranking_remove(&conservative->by_age, &job->by_age);
    cancel(conservative, job);
    conservative->n_reserved--;
    conservative->may_come_earlier = true;
    enqueue(conservative, job);
}

static void add_pending(struct conservative *conservative, const struct cluster_view *view, struct reserved *job,
                        bool is_new)
{
    job->span_ns = job_view_estimated_remaining_ns(view, job->by_age.job);
    if (conservative->depth > 0 && is_new) {
        enqueue(conservative, job);
        return;
    }
    add_reserved(conservative, job);
    int code = ranked_list_add(&conservative->arrivals, &job->by_age);
    if (code < 0) conservative->code = code;
    if (conservative->depth > 0 && conservative->n_reserved > conservative->depth) send_back_youngest(conservative);
}

/* Releases the rest of the time that was reserved for a job that ran. */
static void release_rest(struct conservative *conservative, struct reserved *job, sim_ns now_ns)
{
    if (job->to_ns <= now_ns) return;
    job->from_ns = now_ns;
    add_to_profile(conservative, job, -1);
    conservative->may_come_earlier = true;
}

/* Reserves the GPUs of a running job until its estimated end, which its speed may have moved. */
static void hold(struct conservative *conservative, const struct cluster_view *view, struct reserved *job)
{
    sim_ns left_ns = job_view_estimated_remaining_ns(view, job->by_age.job), before_ns = job->to_ns;
    sim_ns to_ns = sim_ns_add(view->now_ns, left_ns);
    if (to_ns == before_ns || left_ns == 0) return;
    release_rest(conservative, job, view->now_ns);
    job->from_ns = view->now_ns;
    job->to_ns = to_ns;
    add_to_profile(conservative, job, +1);
    conservative->is_stale |= to_ns > before_ns;
}

static void conservative_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct conservative *conservative = state;
    struct reserved *job = job_view_slot(note->job);
    if (conservative->code < 0) return;
    if (note->event == JOB_EVENT_SUBMIT) {
        job->by_age = job->by_start = (struct ranked){.job = note->job, .gpus = note->job->gpus};
        job->by_age.rank.first = note->job->sequence;
        add_pending(conservative, view, job, true);
    } else if (note->event == JOB_EVENT_START) {
        ranking_remove(&conservative->by_age, &job->by_age);
        ranking_remove(&conservative->by_start, &job->by_start);
        conservative->n_reserved--;
        hold(conservative, view, job);
    } else if (note->event == JOB_EVENT_FINISH) {
        release_rest(conservative, job, view->now_ns);
    } else if (note->event == JOB_EVENT_PREEMPT) {
        release_rest(conservative, job, view->now_ns);
        add_pending(conservative, view, job, false);
    } else {
        hold(conservative, view, job);
    }
}

static bool is_overdue(const struct ranked *first, sim_ns now_ns)
{
    return first != NULL && first->rank.first < now_ns;
}

static struct ranked *next_in_age(const struct conservative *conservative, const struct ranked *job)
{
    return ranking_first_from(&conservative->by_age, (struct rank){.first = job->rank.first + 1});
}

static void cancel_all(struct conservative *conservative)
{
    struct ranked *job = conservative->by_age.first;
    for (; job != NULL && conservative->code == 0; job = next_in_age(conservative, job)) {
        cancel(conservative, reserved_of(job));
        reserve(conservative, reserved_of(job), SIM_NS_MAX);
    }
}

/* Repeats until no reservation moves. */
static void move_all(struct conservative *conservative, const struct cluster_view *view)
{
    bool moved = true;
    while (moved && conservative->code == 0) {
        moved = false;
        struct ranked *job = conservative->by_age.first;
        for (; job != NULL && conservative->code == 0; job = next_in_age(conservative, job))
            moved |= move(conservative, view, reserved_of(job));
    }
}

static void place_arrivals(struct conservative *conservative, const struct cluster_view *view)
{
    for (size_t i = 0; i < conservative->arrivals.n && conservative->code == 0; i++) {
        struct reserved *job = reserved_of(conservative->arrivals.items[i]);
        if (!job->is_queued) move(conservative, view, job);
    }
}

/* Takes the GPUs of jobs whose reservation has begun from *free_gpus, and returns how many jobs find them. */
static int64_t count_starting(const struct conservative *conservative, sim_ns now_ns, int64_t *free_gpus)
{
    int64_t n = 0;
    const struct ranked *job = conservative->by_start.first;
    for (; job != NULL && job->rank.first <= now_ns;
         job = ranking_first_from(&conservative->by_start, (struct rank){job->rank.first, job->rank.second + 1, 0})) {
        if (job->gpus > *free_gpus) continue;
        *free_gpus -= job->gpus;
        n++;
    }
    return n;
}

static struct reserved *dequeue(struct conservative *conservative)
{
    struct reserved *job = reserved_of(conservative->queue.first);
    ranking_remove(&conservative->queue, &job->by_age);
    add_reserved(conservative, job);
    return job;
}

/* Lets jobs of the queue arrive, until `depth` have a reservation. */
static void fill(struct conservative *conservative)
{
    while (conservative->n_reserved < conservative->depth && conservative->queue.first != NULL &&
           conservative->code == 0) {
        struct reserved *job = dequeue(conservative);
        const int code = ranked_list_add(&conservative->arrivals, &job->by_age);
        if (code < 0) conservative->code = code;
    }
}

/* Gives further jobs of the queue a reservation, until `depth` of them wait. */
static void admit(struct conservative *conservative, const struct cluster_view *view)
{
    int64_t free_gpus = view->free_gpus;
    int64_t n_waiting = conservative->n_reserved - count_starting(conservative, view->now_ns, &free_gpus);
    while (n_waiting < conservative->depth && conservative->queue.first != NULL && conservative->code == 0) {
        struct reserved *job = dequeue(conservative);
        move(conservative, view, job);
        if (job->from_ns <= view->now_ns && job->by_age.gpus <= free_gpus)
            free_gpus -= job->by_age.gpus;
        else
            n_waiting++;
    }
}

/* Starts jobs whose reservation begins, if they find room, and wakes for the next reservation. */
static void start_due(struct conservative *conservative, const struct cluster_view *view, struct job_plan *plan)
{
    const struct ranked *next = conservative->by_start.first;
    while (next != NULL && next->rank.first <= view->now_ns) {
        struct rank after = {next->rank.first, next->rank.second + 1, 0};
        job_plan_start(plan, next->job, "its reservation begins");
        next = ranking_first_from(&conservative->by_start, after);
    }
    if (next != NULL && next->rank.first < SIM_NS_MAX) job_plan_wake_at(plan, next->rank.first);
}

static int conservative_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct conservative *conservative = state;
    bool all_anew = conservative->is_stale || conservative->total_gpus != view->total_gpus ||
                    is_overdue(conservative->by_start.first, view->now_ns);
    usage_forget(&conservative->usage, view->now_ns);
    fill(conservative);
    if (all_anew) cancel_all(conservative);
    if (all_anew || conservative->may_come_earlier)
        move_all(conservative, view);
    else
        place_arrivals(conservative, view);
    admit(conservative, view);
    conservative->total_gpus = view->total_gpus;
    conservative->may_come_earlier = conservative->is_stale = false;
    conservative->arrivals.n = 0;
    if (conservative->code == 0) start_due(conservative, view, plan);
    return conservative->code;
}

const struct scheduler scheduler_conservative = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "conservative",
               .summary = "order of submission, with backfilling around a reservation for every job",
               .source = "Mu'alem and Feitelson, IEEE TPDS 12(6) (2001)",
               .params = conservative_fields,
               .params_bytes = sizeof(struct conservative_params),
               .state_bytes = sizeof(struct conservative),
               .init = conservative_init,
               .fini = conservative_fini},
    .job_bytes = sizeof(struct reserved),
    .notify = conservative_notify,
    .decide = conservative_decide,
    .wants_speed_events = true,
};
