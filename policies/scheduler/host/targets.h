/* CPUs and memory that running jobs shall have: what is left of their nodes, and how they get there. */
#ifndef ORRERY_POLICIES_SCHEDULER_HOST_TARGETS_H
#define ORRERY_POLICIES_SCHEDULER_HOST_TARGETS_H

#include "policies/scheduler/host/synergy_opt.h"

#include <stdbool.h>
#include <stdint.h>

static inline int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

bool job_host_equal(const struct job_host *a, const struct job_host *b);

/* What a running job holds of all its nodes: the most whose parts, rounded up, are what it holds of each. The sum of
 * these may be more. */
struct job_host job_host_held(const struct job_view *job);

/* The target of a running job is what it holds and what is left of its nodes, up to its best, if that makes it faster.
 * `given`: [n_nodes] of the room there, what others get; what this job gets is added. */
void target_grow(struct opt_job *job, const struct cluster_view *view, struct job_host *given);

/* Gives n running jobs their targets. Jobs that give back come first. */
void targets_set(const struct opt_job *jobs, size_t n, const char *reason, struct job_plan *plan);

#endif
