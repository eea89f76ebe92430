/* Queues of decreasing priority, as Tiresias walks them. Queue by queue, jobs take their GPUs if enough are left and
 * are skipped if not; a skipped running job is preempted. In its queue a running job stands before pending jobs, and a
 * job just moved into the queue behind all. After the walk pending jobs stand behind running ones, both in the order
 * of the walk.
 *
 * So a queue is two rankings and the jobs that have just arrived. A walk examines only those running jobs that it
 * preempts, and the first pending job of each class (pending.h).
 *
 * The walk counts GPUs. If the placer finds no room for a job that fits by count, the walk is repeated without its
 * class, so that jobs preempted for it continue in place. */
#ifndef ORRERY_POLICIES_SCHEDULER_QUEUES_H
#define ORRERY_POLICIES_SCHEDULER_QUEUES_H

#include "policies/scheduler/pending.h"
#include "sim/world/policy/scheduler.h"

struct queued {
    struct ranked ranked; /* first; its place in the queue */
    int32_t queue;
    bool runs;
    int64_t was_at;        /* its place before the present round moved it */
    uint64_t preempted_in; /* round that last preempted it */
};

struct queue {
    struct ranking running;
    struct pending pending;
    struct ranked_list arrivals; /* running jobs moved here since the last walk */
    int64_t running_end, pending_front, pending_end; /* next places */
};

/* Zero-initialised. */
struct queues {
    int32_t n;
    struct queue *queues;
    struct ranked_list starts, preemptions; /* of the plan being made */
    uint64_t round;
    bool walking; /* notes come from the walk itself */
    int code;     /* SIM_E_NOMEM once something could not be kept */
};

/* The limit of a queue, of a config_list of doubles: the attained service at which a job moves to the next queue. */
static inline double queues_limit(const struct config_list *limits, int32_t queue)
{
    return ((const double *)limits->items)[queue];
}

/* Whether the limits increase. Returns 0, or SIM_E_CONFIG with a finding. */
int queues_check_limits(const struct config_list *limits, struct diag *diag);

/* Returns 0 or SIM_E_NOMEM. */
int queues_init(struct queues *queues, int32_t n);
void queues_fini(struct queues *queues);

/* Updates the queues; to be called for every note. A job's slot begins with a struct queued. A new job joins the first
 * queue. A job that lost its GPUs other than by a walk waits in front. */
void queues_notify(struct queues *queues, const struct job_note *note);

/* Moves a job to the end of another queue; before a walk. */
void queues_move(struct queues *queues, struct queued *job, int32_t queue);

/* Walks the queues and carries out the result. */
void queues_walk(struct queues *queues, const struct cluster_view *view, struct job_plan *plan);

#endif
