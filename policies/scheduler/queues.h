/* Queues of decreasing priority, as Tiresias walks them: queue by queue, jobs take their GPUs if enough are left, are
 * skipped if not, and who is skipped and runs is preempted. In its queue a running job stands before those that wait,
 * and a job that has just been moved into the queue behind all of them. After the walk those that wait stand behind
 * those that run, both in the order in which they were walked.
 *
 * So a queue is two rankings and the jobs that have just come. Of those that run, only the ones are looked at that a
 * walk would preempt; of those that wait, the first of each class (pending.h).
 *
 * The walk counts GPUs. When the placer finds no room for a job that fits by count, the walk is made anew without its
 * class, so that those preempted for it go on where they were. */
#ifndef ORRERY_POLICIES_SCHEDULER_QUEUES_H
#define ORRERY_POLICIES_SCHEDULER_QUEUES_H

#include "policies/scheduler/pending.h"
#include "sim/world/policy/scheduler.h"

struct queued {
    struct ranked ranked; /* first; its place in the queue */
    int32_t queue;
    bool runs;
    int64_t was_at;        /* its place before the present round moved it */
    uint64_t preempted_in; /* the round that last preempted it */
};

struct queue {
    struct ranking running;
    struct pending pending;
    struct ranked_list arrivals; /* running jobs that were moved here since the last walk */
    int64_t running_end, pending_front, pending_end; /* next places */
};

/* Zero-initialised. */
struct queues {
    int32_t n;
    struct queue *queues;
    struct ranked_list starts, preemptions; /* of the plan being made */
    uint64_t round;
    bool walking; /* what the world tells now is of our own making */
    int code;     /* SIM_E_NOMEM once something could not be kept */
};

/* Returns 0 or SIM_E_NOMEM. */
int queues_init(struct queues *queues, int32_t n);
void queues_fini(struct queues *queues);

/* Keeps the queues up to date; to be called for every note. The state per job begins with a struct queued. A new job
 * joins the first queue; one that lost its GPUs otherwise than by a walk waits in front. */
void queues_notify(struct queues *queues, const struct job_note *note);

/* Moves a job to the end of another queue; before a walk. */
void queues_move(struct queues *queues, struct queued *job, int32_t queue);

/* Walks the queues and carries out what came of it. */
void queues_walk(struct queues *queues, const struct cluster_view *view, struct job_plan *plan);

#endif
