/* Pending jobs of CPUs alone, for schedulers that divide only GPUs. They start when they fit, the oldest first, on the
 * first node type with room.
 *
 * Jobs of one class (pending.h) fit together or not at all. So a decision tries one job of each class and those that
 * start, and none if nothing has become free since they were refused. */
#ifndef ORRERY_POLICIES_SCHEDULER_CPU_JOBS_H
#define ORRERY_POLICIES_SCHEDULER_CPU_JOBS_H

#include "policies/scheduler/pending.h"

/* Zero-initialised. */
struct cpu_jobs {
    struct pending pending;
    uint64_t capacity_epochs; /* of all node types, at the latest decision */
    struct pending_class **heap; /* in a decision: the open classes, the one with the oldest job at the top */
    size_t capacity;
    int code; /* SIM_E_NOMEM once a job could not be kept */
};

void cpu_jobs_fini(struct cpu_jobs *cpu_jobs);

/* For the note of every job, with GPUs or without. `slot` lies in the slot of the note's job; only jobs of CPUs alone
 * use it. */
void cpu_jobs_notify(struct cpu_jobs *cpu_jobs, const struct job_note *note, struct ranked *slot);

/* CPU or memory has become free otherwise than by jobs that finish or are preempted. */
static inline void cpu_jobs_room(struct cpu_jobs *cpu_jobs)
{
    cpu_jobs->pending.round++;
}

/* Starts what fits, on the first node type or on all. Returns 0 or a negative code. */
int cpu_jobs_start(struct cpu_jobs *cpu_jobs, const struct cluster_view *view, bool all_types, struct job_plan *plan);

#endif
