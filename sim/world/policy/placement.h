/* Placement: which GPUs a job gets. The struct of a placer; the view and the plan of one placement are in
 * cluster_view.h. */
#ifndef ORRERY_WORLD_POLICY_PLACEMENT_H
#define ORRERY_WORLD_POLICY_PLACEMENT_H

#include "sim/world/policy/cluster_view.h"
#include "sim/world/policy/policy.h"

#include <stdbool.h>
#include <stdint.h>

/* --- The family --- */

/* Each node type has a state of its own: `view` and `job` are always of the type that the state was made for.
 *
 * A placer that only counts leaves both functions NULL: its jobs' GPUs are on no node in particular. On an unlimited
 * cluster no placer is asked.
 *
 * possible: whether the job could be placed on an empty cluster; if not, it is rejected when it is submitted. It
 * never asks for more than view->total_gpus. NULL: always.
 *
 * place: fills `placement`, which is empty, with nodes that have the GPUs free and returns 1, or 0 when there is no
 * room now. Called only when view->free_gpus suffices. */
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
