#include "policies/scheduler/queues.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"

int queues_check_limits(const struct config_list *limits, struct diag *diag)
{
    for (int32_t i = 1; i < (int32_t)limits->n; i++)
        if (queues_limit(limits, i) <= queues_limit(limits, i - 1))
            return diag_error(diag, SIM_E_CONFIG, NULL, "list each limit once, the lowest first",
                              "limit %g of queue %d is not above that of the queue before it", queues_limit(limits, i),
                              i);
    return 0;
}

int queues_init(struct queues *queues, int32_t n)
{
    queues->queues = mem_zalloc((size_t)n, sizeof *queues->queues);
    if (queues->queues == NULL) return SIM_E_NOMEM;
    queues->n = n;
    return 0;
}

void queues_fini(struct queues *queues)
{
    for (int32_t i = 0; i < queues->n; i++) {
        pending_fini(&queues->queues[i].pending);
        ranked_list_fini(&queues->queues[i].arrivals);
    }
    mem_free(queues->queues);
    ranked_list_fini(&queues->starts);
    ranked_list_fini(&queues->preemptions);
}

static struct queued *queued_of(const struct ranked *ranked)
{
    return (struct queued *)(void *)ranked;
}

static struct queue *queue_of(struct queues *queues, const struct queued *job)
{
    return &queues->queues[job->queue];
}

static void check(struct queues *queues, int code)
{
    if (code < 0) queues->code = code;
}

/* --- Places --- */

static void add_pending(struct queues *queues, struct queued *job, int64_t place)
{
    job->runs = false;
    job->ranked.rank = (struct rank){.first = place};
    check(queues, pending_add(&queue_of(queues, job)->pending, &job->ranked));
}

static void add_running(struct queues *queues, struct queued *job, int64_t place)
{
    job->runs = true;
    job->ranked.rank = (struct rank){.first = place};
    ranking_add(&queue_of(queues, job)->running, &job->ranked);
}

static void wait_in_front(struct queues *queues, struct queued *job)
{
    add_pending(queues, job, --queue_of(queues, job)->pending_front);
}

static void wait_at_end(struct queues *queues, struct queued *job)
{
    add_pending(queues, job, queue_of(queues, job)->pending_end++);
}

static void run_at_end(struct queues *queues, struct queued *job)
{
    add_running(queues, job, queue_of(queues, job)->running_end++);
}

static void take_out(struct queues *queues, struct queued *job)
{
    if (job->runs)
        ranking_remove(&queue_of(queues, job)->running, &job->ranked);
    else
        pending_remove(&queue_of(queues, job)->pending, &job->ranked);
}

void queues_move(struct queues *queues, struct queued *job, int32_t queue)
{
    take_out(queues, job);
    job->queue = queue;
    if (job->runs)
        check(queues, ranked_list_add(&queue_of(queues, job)->arrivals, &job->ranked));
    else
        wait_at_end(queues, job);
}

void queues_notify(struct queues *queues, const struct job_note *note)
{
    struct queued *job = job_view_slot(note->job);
    if (queues->code < 0 || queues->walking) return;
    if (note->event == JOB_EVENT_SUBMIT) {
        job->ranked.job = note->job;
        job->ranked.gpus = note->job->gpus;
        wait_at_end(queues, job);
    } else if (note->event == JOB_EVENT_FINISH) {
        take_out(queues, job);
    } else if (job->runs && note->job->state == JOB_PENDING) {
        take_out(queues, job);
        wait_in_front(queues, job);
    }
}

/* --- The walk --- */

static void choose_start(struct queues *queues, struct queued *job)
{
    int64_t waited_at = job->ranked.rank.first;
    take_out(queues, job);
    if (job->preempted_in == queues->round)
        add_running(queues, job, job->was_at);
    else
        run_at_end(queues, job);
    job->was_at = waited_at;
    check(queues, ranked_list_add(&queues->starts, &job->ranked));
}

static void choose_preemption(struct queues *queues, struct ranked *ranked)
{
    struct queued *job = queued_of(ranked);
    ranking_remove(&queue_of(queues, job)->running, ranked);
    job->was_at = ranked->rank.first;
    job->preempted_in = queues->round;
    check(queues, ranked_list_add(&queues->preemptions, ranked));
}

/* Preempts jobs for which `room` is too small. They wait in front of the others, in their order. Returns the room
 * left. */
static int64_t walk_running(struct queues *queues, struct queue *queue, int64_t room)
{
    size_t before = queues->preemptions.n;
    while (ranking_gpus(&queue->running) > room && queues->code == 0)
        choose_preemption(queues, ranking_reach(&queue->running, room + 1));
    for (size_t i = queues->preemptions.n; queues->code == 0 && i-- > before;)
        wait_in_front(queues, queued_of(queues->preemptions.items[i]));
    return room - ranking_gpus(&queue->running);
}

static int64_t walk_pending(struct queues *queues, struct queue *queue, int64_t room)
{
    struct ranked *fits;
    while (queues->code == 0 && (fits = pending_first(&queue->pending, room)) != NULL) {
        choose_start(queues, queued_of(fits));
        room -= fits->gpus;
    }
    return room;
}

static int64_t walk_arrivals(struct queues *queues, struct queue *queue, int64_t room)
{
    for (size_t i = 0; i < queue->arrivals.n && queues->code == 0; i++) {
        struct queued *job = queued_of(queue->arrivals.items[i]);
        if (job->ranked.gpus <= room) {
            run_at_end(queues, job);
            room -= job->ranked.gpus;
        } else {
            wait_at_end(queues, job);
            check(queues, ranked_list_add(&queues->preemptions, &job->ranked));
        }
    }
    queue->arrivals.n = 0;
    return room;
}

static void choose(struct queues *queues, int64_t room)
{
    queues->starts.n = queues->preemptions.n = 0;
    for (int32_t i = 0; i < queues->n && queues->code == 0; i++) {
        struct queue *queue = &queues->queues[i];
        room = walk_running(queues, queue, room);
        room = walk_pending(queues, queue, room);
        room = walk_arrivals(queues, queue, room);
    }
}

static void wait_again(struct queues *queues, struct queued *job)
{
    int64_t ran_at = job->ranked.rank.first;
    take_out(queues, job);
    add_pending(queues, job, job->was_at);
    job->was_at = ran_at;
}

/* Returns whether every start found room. If not, the refused job and all later ones wait again, and its class is left
 * out for the rest of the round. */
static bool carry_out(struct queues *queues, struct job_plan *plan)
{
    const struct ranked_list *starts = &queues->starts, *preemptions = &queues->preemptions;
    for (size_t i = 0; i < preemptions->n; i++)
        job_plan_preempt(plan, preemptions->items[i]->job, "those before it need its GPUs");
    size_t n = 0;
    while (n < starts->n && job_plan_start(plan, starts->items[n]->job, "fits in its turn")) n++;
    if (n == starts->n) return true;
    struct queue *queue = queue_of(queues, queued_of(starts->items[n]));
    pending_class_of(&queue->pending, starts->items[n]->job)->refused_in = queues->round;
    for (; n < starts->n; n++) wait_again(queues, queued_of(starts->items[n]));
    return false;
}

void queues_walk(struct queues *queues, const struct cluster_view *view, struct job_plan *plan)
{
    bool done = false;
    queues->round++;
    queues->walking = true;
    for (int32_t i = 0; i < queues->n; i++) queues->queues[i].pending.round = queues->round;
    while (queues->code == 0 && !done) {
        choose(queues, view->total_gpus);
        if (queues->code == 0) done = carry_out(queues, plan);
    }
    queues->walking = false;
}
