/* Pending jobs by class: jobs that ask for the same GPUs, nodes and whatever else (job_view.demand) wait in one
 * ranking, because at any moment either all of a class fit or none does. So a decision looks at the first of each
 * class, not at every job. */
#ifndef ORRERY_POLICIES_SCHEDULER_PENDING_H
#define ORRERY_POLICIES_SCHEDULER_PENDING_H

#include "policies/scheduler/ranking.h"

#include <stddef.h>
#include <stdint.h>

struct pending_class {
    int32_t gpus, nodes, request;
    struct ranking jobs;
    uint64_t refused_in;   /* the last round in which the placer had no room for this class */
    int64_t closed_until;  /* for the scheduler's own use */
};

/* Zero-initialised. */
struct pending {
    size_t n, capacity;
    struct pending_class **classes; /* fewest GPUs first */
    uint64_t round;                 /* number of the decision being made, or of the time since GPUs last came back */
};

void pending_fini(struct pending *pending);

/* The class of a job, made when there is none; NULL when out of memory. */
struct pending_class *pending_class_of(struct pending *pending, const struct job_view *job);

/* Adds to and removes from the job's class. pending_add returns 0 or SIM_E_NOMEM; after the job's first time it cannot
 * fail. */
int pending_add(struct pending *pending, struct ranked *ranked);
void pending_remove(struct pending *pending, struct ranked *ranked);

/* The first in rank of the open classes with at most `gpus` GPUs: its first job; NULL: no class is open. */
struct ranked *pending_first(const struct pending *pending, int64_t gpus);

/* Whether the class has jobs that the placer did not refuse in this round. */
static inline bool pending_class_is_open(const struct pending *pending, const struct pending_class *class)
{
    return class->jobs.root != NULL && class->refused_in != pending->round;
}

#endif
