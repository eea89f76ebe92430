/* Placement: which GPUs a job gets. The plan of one placement and the struct of a placer; the view is in
 * cluster_view.h. */
#ifndef ORRERY_WORLD_POLICY_PLACEMENT_H
#define ORRERY_WORLD_POLICY_PLACEMENT_H

#include "sim/world/policy/cluster_view.h"
#include "sim/world/policy/policy.h"

#include <stdbool.h>
#include <stdint.h>

/* Empty when handed over, with room for as many nodes as the job has GPUs or the cluster has nodes. Whole GPUs are the
 * lowest-numbered free GPUs of the node. */
struct placement {
    int32_t *nodes, *gpus; /* [capacity]: gpus[i] GPUs on node nodes[i] */
    int32_t n, capacity;
    int32_t gpu;           /* for a job that asks for a share of a GPU: the GPU on its node */
};

static inline void placement_add(struct placement *placement, int32_t node, int32_t gpus)
{
    int32_t i = placement->n++;
    if (i >= placement->capacity) return;
    placement->nodes[i] = node;
    placement->gpus[i] = gpus;
}

/* --- The family --- */

/* Each node type has a state of its own: `view` and `job` are always of the type that the state was made for.
 *
 * A placer that only counts leaves both functions NULL: its jobs' GPUs are on no node in particular. On an unlimited
 * cluster no placer is asked.
 *
 * possible: whether the job could be placed on an empty cluster; if not, it is rejected when it is submitted. It
 * never asks for more than view->total_gpus. NULL: always.
 *
 * place: fills `placement` with nodes that have the GPUs free and returns 1, or 0 when there is no room now. Called
 * only when view->free_gpus suffices. */
#define PLACER_FUNCTIONS(X)                                                                                            \
    X(placer, OPTIONAL, bool, possible, (void *state, const struct cluster_view *view, const struct job_view *job),    \
      (state, view, job), view, job)                                                                                   \
    X(placer, OPTIONAL, int, place,                                                                                    \
      (void *state, const struct cluster_view *view, const struct job_view *job, struct placement *placement),         \
      (state, view, job, placement), view, job)

struct placer {
    struct policy policy;
    PLACER_FUNCTIONS(POLICY_MEMBER)
    bool by_node;     /* uses cluster_view.nodes, and places shares of GPUs */
    bool wants_tasks; /* uses the kinds of jobs of the trace (cluster_view.tasks, ORACLE_MIX) */
};

#endif
