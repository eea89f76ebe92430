#include "policies/scheduler/preemptive.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <string.h>

__extension__ typedef __int128 gpu_time; /* GPUs * ns do not fit into 64 bits */

#define ROW_OF struct preemptive_params
const struct config_field preemptive_fields[] = {
    ROW_BOOL("keeps_turn", keeps_turn, DEFAULT("false"),
             "a job for which the placer finds no room keeps later jobs off the GPUs counted for it, as in Lucid's simulator"),
    {0}};
#undef ROW_OF

void preemptive_fini(void *state)
{
    struct preemptive *preemptive = state;
    pending_fini(&preemptive->pending);
    mem_free(preemptive->groups);
    ranked_list_fini(&preemptive->starts);
    ranked_list_fini(&preemptive->preemptions);
    ranked_list_fini(&preemptive->preempted);
    ranked_list_fini(&preemptive->tail);
}

static struct preemptive_job *slot_of(const struct ranked *ranked)
{
    return (struct preemptive_job *)(void *)ranked;
}

static void append(struct preemptive *preemptive, struct ranked_list *list, struct ranked *ranked)
{
    int code = ranked_list_add(list, ranked);
    if (code < 0) preemptive->code = code;
}

/* --- The order --- */

/* GPUs that weigh the remaining time. A job of CPUs alone weighs like one with 1 GPU. */
static int64_t weight(const struct preemptive *preemptive, int64_t gpus)
{
    return preemptive->order == BY_GPU_TIME_LEFT && gpus > 0 ? gpus : 1;
}

/* The first key of the order. */
static gpu_time value_of_pending(const struct preemptive *preemptive, const struct ranked *ranked)
{
    if (preemptive->order == BY_LEVEL) return slot_of(ranked)->level;
    return (gpu_time)slot_of(ranked)->remaining_ns * weight(preemptive, ranked->gpus);
}

/* Whether pending job a comes before b. */
static bool pending_before(const struct preemptive *preemptive, const struct ranked *a, const struct ranked *b)
{
    gpu_time value_a = value_of_pending(preemptive, a), value_b = value_of_pending(preemptive, b);
    if (value_a != value_b) return value_a < value_b;
    return a->rank.third < b->rank.third;
}

/* Position of a running job among its equals: 0: it was pending and started since this moment began, 1: it ran before,
 * 2: it became pending and started in this moment. */
static int standing(const struct ranked *running, sim_ns now)
{
    if (running->rank.second == now) return 2;
    return running->rank.second == -now ? 0 : 1;
}

/* Whether running job a comes before b, of another group. On a tie of jobs that ran before, the one with more GPUs was
 * behind, since it moves faster. */
static bool running_before(const struct ranked *a, const struct ranked *b, sim_ns now)
{
    gpu_time value_a = (gpu_time)(a->rank.first - now) * a->gpus, value_b = (gpu_time)(b->rank.first - now) * b->gpus;
    if (value_a != value_b) return value_a < value_b;
    int standing_a = standing(a, now), standing_b = standing(b, now);
    if (standing_a != standing_b) return standing_a < standing_b;
    return standing_a == 1 ? a->gpus < b->gpus : a->rank.third < b->rank.third;
}

/* A number for a job that begins to wait, larger than those of all jobs that wait longer. Among jobs of one moment,
 * new ones come last. Enough for 2^31 moments and 2^32 jobs in one. */
static uint64_t waiting_number(struct preemptive *preemptive, const struct preemptive_job *slot)
{
    if (slot->waits_since_ns != preemptive->moment_ns) {
        preemptive->moment_ns = slot->waits_since_ns;
        preemptive->moment += UINT64_C(1) << 33;
        preemptive->n_in_moment = 0;
    }
    return preemptive->moment | (uint64_t)slot->is_new << 32 | preemptive->n_in_moment++;
}

/* The rank of a job that begins to wait in its class. Among equals, jobs that wait longer come first. */
static struct rank pending_rank(struct preemptive *preemptive, const struct preemptive_job *slot)
{
    if (preemptive->order == BY_LEVEL)
        return (struct rank){slot->level, 0, (uint64_t)slot->ranked.job->sequence};
    return (struct rank){slot->remaining_ns, 0, waiting_number(preemptive, slot)};
}

/* Whether a pending job ran when this moment began. */
static bool was_running(const struct preemptive_job *slot, sim_ns now)
{
    return !slot->is_new && slot->waits_since_ns == now;
}

/* The rank of a job that starts now in its group. Running jobs are ranked by their end, which does not move. Among
 * equals a job that was pending before comes first and a new job last. Jobs that start together keep the order in
 * which they waited, and a job that was running keeps its rank. */
static struct rank running_rank(const struct preemptive *preemptive, const struct preemptive_job *slot, sim_ns now)
{
    uint64_t number = slot->ranked.rank.third;
    if (preemptive->order == BY_LEVEL) return (struct rank){slot->level, 0, number};
    sim_ns end_ns = sim_ns_add(now, slot->remaining_ns);
    if (was_running(slot, now) && slot->ran.first == end_ns) return slot->ran;
    bool was_waiting = slot->waits_since_ns < now;
    return (struct rank){end_ns, was_waiting ? -now : now, number};
}

/* The rank below which running jobs come before this pending one, among its equals that end at `end_ns`. In a second
 * decision of a moment, equals may have started in it, and this job may have been running: they keep their order. */
static struct rank bound_among_equals(const struct running_group *group, const struct ranked *ranked, sim_ns end_ns,
                                      sim_ns now)
{
    const struct preemptive_job *slot = slot_of(ranked);
    if (!was_running(slot, now)) return (struct rank){end_ns, slot->waits_since_ns < now ? -now : now, ranked->rank.third};
    if (group->gpus == 0 || group->gpus == ranked->gpus) return slot->ran;
    return (struct rank){end_ns, group->gpus < ranked->gpus ? now : 1 - now, 0};
}

/* The rank in a group below which running jobs come before this pending one. */
static struct rank bound_in_group(const struct preemptive *preemptive, const struct running_group *group,
                                  const struct ranked *ranked, sim_ns now)
{
    if (preemptive->order == BY_LEVEL) return (struct rank){slot_of(ranked)->level, 0, ranked->rank.third};
    gpu_time value = value_of_pending(preemptive, ranked);
    int64_t speed = weight(preemptive, group->gpus);
    gpu_time end = now + (value + speed - 1) / speed;
    if (end >= INT64_MAX) return (struct rank){INT64_MAX, INT64_MIN, 0};
    if (value % speed != 0) return (struct rank){(int64_t)end, INT64_MIN, 0};
    return bound_among_equals(group, ranked, (sim_ns)end, now);
}

static int64_t running_gpus_before(const struct preemptive *preemptive, const struct ranked *ranked, sim_ns now)
{
    int64_t gpus = 0;
    for (size_t i = 0; i < preemptive->n_groups; i++) {
        const struct running_group *group = &preemptive->groups[i];
        if (group->jobs.root != NULL)
            gpus += ranking_gpus_before(&group->jobs, bound_in_group(preemptive, group, ranked, now));
    }
    return gpus;
}

/* --- Keeping the rankings --- */

static struct running_group *add_group(struct preemptive *preemptive, size_t at, int32_t gpus)
{
    if (vec_reserve(&preemptive->groups, &preemptive->groups_capacity, preemptive->n_groups + 1) != 0) return NULL;
    struct running_group *group = &preemptive->groups[at];
    memmove(group + 1, group, (preemptive->n_groups++ - at) * sizeof *group);
    *group = (struct running_group){.gpus = gpus};
    return group;
}

/* The group of running jobs of this size, created if needed; NULL: out of memory. */
static struct running_group *group_of(struct preemptive *preemptive, int64_t job_gpus)
{
    int32_t gpus = preemptive->order == BY_GPU_TIME_LEFT ? (int32_t)job_gpus : 0;
    size_t at = 0;
    while (at < preemptive->n_groups && preemptive->groups[at].gpus < gpus) at++;
    bool found = at < preemptive->n_groups && preemptive->groups[at].gpus == gpus;
    return found ? &preemptive->groups[at] : add_group(preemptive, at, gpus);
}

static void add_to_pending(struct preemptive *preemptive, struct preemptive_job *slot)
{
    slot->waits = true;
    int code = pending_add(&preemptive->pending, &slot->ranked);
    if (code < 0) preemptive->code = code;
}

static void take_from_pending(struct preemptive *preemptive, struct preemptive_job *slot)
{
    slot->waits = false;
    pending_remove(&preemptive->pending, &slot->ranked);
}

static void queue_pending(struct preemptive *preemptive, struct preemptive_job *slot)
{
    slot->ranked.rank = pending_rank(preemptive, slot);
    add_to_pending(preemptive, slot);
}

static void add_to_running(struct preemptive *preemptive, struct preemptive_job *slot)
{
    struct running_group *group = group_of(preemptive, slot->ranked.gpus);
    if (group == NULL) {
        preemptive->code = SIM_E_NOMEM;
        return;
    }
    ranking_add(&group->jobs, &slot->ranked);
    preemptive->running_gpus += slot->ranked.gpus;
}

static void queue_running(struct preemptive *preemptive, struct preemptive_job *slot, sim_ns now)
{
    if (slot->waits) take_from_pending(preemptive, slot);
    slot->ranked.rank = running_rank(preemptive, slot, now);
    add_to_running(preemptive, slot);
}

static void take_from_running(struct preemptive *preemptive, struct preemptive_job *slot)
{
    ranking_remove(&group_of(preemptive, slot->ranked.gpus)->jobs, &slot->ranked);
    preemptive->running_gpus -= slot->ranked.gpus;
}

static void update_remaining(struct preemptive *preemptive, const struct cluster_view *view,
                             struct preemptive_job *slot)
{
    if (preemptive->order != BY_LEVEL) slot->remaining_ns = job_view_remaining_ns(view, slot->ranked.job);
}

/* Handles a job that lost its GPUs, but not to a decision of this scheduler. */
static void requeue_lost(struct preemptive *preemptive, struct preemptive_job *slot, sim_ns now)
{
    take_from_running(preemptive, slot);
    preemptive->freed_gpus += slot->ranked.gpus;
    slot->is_new = false;
    slot->waits_since_ns = now;
    slot->ran = slot->ranked.rank;
    queue_pending(preemptive, slot);
}

static void update_end(struct preemptive *preemptive, struct preemptive_job *slot, sim_ns now)
{
    if (preemptive->order == BY_LEVEL) return;
    take_from_running(preemptive, slot);
    slot->ranked.rank.first = sim_ns_add(now, slot->remaining_ns);
    add_to_running(preemptive, slot);
}

void preemptive_set_level(struct preemptive *preemptive, struct preemptive_job *job, int64_t level, sim_ns now)
{
    take_from_running(preemptive, job);
    job->level = level;
    job->ranked.rank = running_rank(preemptive, job, now);
    add_to_running(preemptive, job);
}

static void submit(struct preemptive_job *slot, const struct job_view *job, sim_ns now)
{
    slot->ranked.job = job;
    slot->ranked.gpus = job->gpus;
    slot->is_new = true;
    slot->waits_since_ns = now;
}

void preemptive_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct preemptive *preemptive = state;
    struct preemptive_job *slot = job_view_slot(note->job);
    if (preemptive->code < 0) return;
    if (note->event == JOB_EVENT_SUBMIT) submit(slot, note->job, view->now_ns);
    if (note->event == JOB_EVENT_FINISH) {
        take_from_running(preemptive, slot);
        preemptive->freed_gpus += slot->ranked.gpus;
        return;
    }
    if (note->event == JOB_EVENT_PREEMPT && preemptive->deciding) {
        append(preemptive, &preemptive->preempted, &slot->ranked);
        return;
    }
    update_remaining(preemptive, view, slot);
    if (note->event == JOB_EVENT_SUBMIT)
        queue_pending(preemptive, slot);
    else if (note->event == JOB_EVENT_START)
        queue_running(preemptive, slot, view->now_ns);
    else if (note->event == JOB_EVENT_PREEMPT)
        requeue_lost(preemptive, slot, view->now_ns);
    else
        update_end(preemptive, slot, view->now_ns);
}

/* --- Deciding --- */

static bool is_open(const struct preemptive *preemptive, const struct pending_class *class)
{
    return class->jobs.root != NULL && class->closed_until <= preemptive->freed_gpus;
}

/* The first pending job in the order that fits behind the running jobs before it and the jobs already chosen, or NULL.
 * It is the first of its class, since less is left for the others. A candidate that does not fit also rules out all
 * jobs at least as wide, which are further behind. */
static struct ranked *first_that_fits(const struct preemptive *preemptive, const struct cluster_view *view)
{
    const struct pending *pending = &preemptive->pending;
    int64_t room = view->total_gpus - preemptive->chosen_gpus, left = room;
    for (;;) {
        struct ranked *first = NULL;
        for (size_t i = 0; i < pending->n && pending->classes[i]->gpus <= left; i++) {
            const struct pending_class *class = pending->classes[i];
            if (!is_open(preemptive, class)) continue;
            if (first == NULL || pending_before(preemptive, class->jobs.first, first)) first = class->jobs.first;
        }
        if (first == NULL) return NULL;
        left = room - running_gpus_before(preemptive, first, view->now_ns);
        if (first->gpus <= left) return first;
    }
}

/* Lists running jobs from the end until they hold `gpus`. */
static void list_tail(struct preemptive *preemptive, int64_t gpus, sim_ns now)
{
    for (size_t i = 0; i < preemptive->n_groups; i++)
        preemptive->groups[i].last = ranking_last(&preemptive->groups[i].jobs);
    while (preemptive->tail_gpus < gpus && preemptive->code == 0) {
        struct running_group *latest = NULL;
        for (size_t i = 0; i < preemptive->n_groups; i++) {
            struct running_group *group = &preemptive->groups[i];
            if (group->last == NULL) continue;
            if (latest == NULL || running_before(latest->last, group->last, now)) latest = group;
        }
        append(preemptive, &preemptive->tail, latest->last);
        preemptive->tail_gpus += latest->last->gpus;
        latest->last = ranking_previous(&latest->jobs, latest->last);
    }
}

/* The first running job in the order that no longer fits: the jobs behind it hold less than the excess. Keeps only
 * those jobs on the tail. The next such job is among them, so the tail is listed once per choice. */
static struct ranked *first_in_excess(struct preemptive *preemptive, int64_t excess, sim_ns now)
{
    struct ranked_list *tail = &preemptive->tail;
    if (tail->n == 0) list_tail(preemptive, excess, now);
    struct ranked *first = NULL;
    while (preemptive->tail_gpus >= excess && tail->n > 0) {
        first = tail->items[--tail->n];
        preemptive->tail_gpus -= first->gpus;
    }
    return first;
}

static void choose_start(struct preemptive *preemptive, struct ranked *ranked)
{
    take_from_pending(preemptive, slot_of(ranked));
    preemptive->chosen_gpus += ranked->gpus;
    append(preemptive, &preemptive->starts, ranked);
}

static void choose_preemption(struct preemptive *preemptive, struct ranked *ranked, sim_ns now)
{
    struct preemptive_job *slot = slot_of(ranked);
    take_from_running(preemptive, slot);
    if (preemptive->order != BY_LEVEL && standing(ranked, now) != 1) { /* started now: it waits as before */
        ranked->rank = (struct rank){slot->remaining_ns, 0, ranked->rank.third};
        add_to_pending(preemptive, slot);
    } else {
        slot->is_new = false;
        slot->waits_since_ns = now;
        slot->ran = ranked->rank;
        if (preemptive->order != BY_LEVEL) slot->remaining_ns = ranked->rank.first - now;
        queue_pending(preemptive, slot);
    }
    append(preemptive, &preemptive->preemptions, ranked);
}

/* Each choice is at or behind the previous one, so the loop ends. */
static void choose(struct preemptive *preemptive, const struct cluster_view *view)
{
    preemptive->chosen_gpus = 0;
    preemptive->tail_gpus = 0;
    preemptive->starts.n = preemptive->preemptions.n = preemptive->tail.n = 0;
    while (preemptive->code == 0) {
        struct ranked *fits = first_that_fits(preemptive, view);
        if (fits != NULL) {
            choose_start(preemptive, fits);
            continue;
        }
        int64_t excess = preemptive->running_gpus + preemptive->chosen_gpus - view->total_gpus;
        struct ranked *exceeds = excess > 0 ? first_in_excess(preemptive, excess, view->now_ns) : NULL;
        if (exceeds == NULL) return;
        choose_preemption(preemptive, exceeds, view->now_ns);
    }
}

/* Closes the class of a refused job until GPUs become free. A class of CPUs alone waits for one GPU. */
static void close_class(struct preemptive *preemptive, const struct ranked *refused)
{
    struct pending_class *class = pending_class_of(&preemptive->pending, refused->job);
    class->refused_in = preemptive->pending.round;
    class->closed_until = preemptive->freed_gpus + (refused->gpus > 0 ? refused->gpus : 1);
}

/* Carries out the choice. If the placer refuses a job, its class is closed, later jobs wait again, and the result is
 * false: the choice must be repeated without that class. With keeps_turn a refused job just waits again. */
static bool carry_out(struct preemptive *preemptive, struct job_plan *plan)
{
    const struct ranked_list *starts = &preemptive->starts, *preemptions = &preemptive->preemptions;
    for (size_t i = 0; i < preemptions->n; i++)
        job_plan_preempt(plan, preemptions->items[i]->job, "others come before it");
    bool refused = false;
    for (size_t i = 0; i < starts->n; i++) {
        struct ranked *ranked = starts->items[i];
        if (!refused && job_plan_start(plan, ranked->job, "fits in its turn")) continue;
        if (!refused && !preemptive->params.keeps_turn) close_class(preemptive, ranked);
        refused = !preemptive->params.keeps_turn;
        add_to_pending(preemptive, slot_of(ranked));
    }
    return !refused;
}

/* Offers the remaining free GPUs to the closed classes. */
static void offer_rest(struct preemptive *preemptive, const struct cluster_view *view, struct job_plan *plan)
{
    struct pending *pending = &preemptive->pending;
    for (;;) {
        struct pending_class *first = NULL;
        for (size_t i = 0; i < pending->n && pending->classes[i]->gpus <= view->free_gpus; i++) {
            struct pending_class *class = pending->classes[i];
            if (!pending_class_is_open(pending, class)) continue;
            if (first == NULL || pending_before(preemptive, class->jobs.first, first->jobs.first)) first = class;
        }
        if (first == NULL) return;
        if (!job_plan_start(plan, first->jobs.first->job, "finds room left over")) first->refused_in = pending->round;
    }
}

/* Updates the rank of jobs that stay preempted: they will be delayed before they work, and their remaining work counts
 * at the speed of the requested GPUs. */
static void rank_preempted(struct preemptive *preemptive, const struct cluster_view *view)
{
    for (size_t i = 0; i < preemptive->preempted.n && preemptive->order != BY_LEVEL; i++) {
        struct preemptive_job *slot = slot_of(preemptive->preempted.items[i]);
        if (!slot->waits) continue;
        take_from_pending(preemptive, slot);
        update_remaining(preemptive, view, slot);
        slot->ranked.rank.first = slot->remaining_ns;
        add_to_pending(preemptive, slot);
    }
    preemptive->preempted.n = 0;
}

int preemptive_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct preemptive *preemptive = state;
    preemptive->pending.round++;
    preemptive->deciding = true;
    bool done = false;
    while (preemptive->code == 0 && !done) {
        choose(preemptive, view);
        if (preemptive->code == 0) done = carry_out(preemptive, plan);
    }
    if (preemptive->code == 0 && !preemptive->params.keeps_turn) offer_rest(preemptive, view, plan);
    if (preemptive->code == 0) rank_preempted(preemptive, view);
    preemptive->deciding = false;
    return preemptive->code;
}
