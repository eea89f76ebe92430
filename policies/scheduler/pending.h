/* Pending jobs by class. Jobs with equal GPUs, nodes and other resources (job_view.request) wait in one ranking,
 * because at any time either all jobs of a class fit or none does. So a decision examines the first job of each class,
 * not every job. */
#ifndef ORRERY_POLICIES_SCHEDULER_PENDING_H
#define ORRERY_POLICIES_SCHEDULER_PENDING_H

#include "policies/scheduler/ranking.h"

#include <stddef.h>
#include <stdint.h>

struct pending_class {
    int32_t gpus, nodes, request;
    struct ranking jobs;
    uint64_t refused_in;   /* last round in which the placer refused a job of this class */
    int64_t closed_until;  /* for the scheduler's own use */
};

/* Zero-initialised. */
struct pending {
    size_t n, capacity;
    struct pending_class **classes; /* fewest GPUs first */
    uint64_t round;                 /* number of the decision, or of the period since GPUs last became free */
};

void pending_fini(struct pending *pending);

/* The class of a job, created if needed; NULL: out of memory. */
struct pending_class *pending_class_of(struct pending *pending, const struct job_view *job);

/* Adds a job to its class, and removes it. pending_add returns 0 or SIM_E_NOMEM; it cannot fail for a job added
 * before. */
int pending_add(struct pending *pending, struct ranked *ranked);
void pending_remove(struct pending *pending, struct ranked *ranked);

/* Whether the class has jobs and the placer refused none of them in this round. */
static inline bool pending_class_is_open(const struct pending *pending, const struct pending_class *class)
{
    return class->jobs.root != NULL && class->refused_in != pending->round;
}

/* The job first in rank among the open classes with at most `gpus` GPUs; NULL: none is open. Inline: every decision
 * asks. */
static inline struct ranked *pending_first(const struct pending *pending, int64_t gpus)
{
    struct ranked *first = NULL;
    for (size_t i = 0; i < pending->n && pending->classes[i]->gpus <= gpus; i++) {
        const struct pending_class *class = pending->classes[i];
        if (!pending_class_is_open(pending, class)) continue;
        if (first == NULL || rank_before(&class->jobs.first->rank, &first->rank)) first = class->jobs.first;
    }
    return first;
}

#endif
