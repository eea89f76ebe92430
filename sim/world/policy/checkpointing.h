/* Checkpointing: how often a job saves its state. The view of a job and the struct of a checkpointer. */
#ifndef ORRERY_WORLD_POLICY_CHECKPOINTING_H
#define ORRERY_WORLD_POLICY_CHECKPOINTING_H

#include "sim/world/policy/job_view.h"
#include "sim/world/policy/policy.h"

/* A job that is about to run. */
struct checkpoint_view {
    const struct job_view *job;
    double stall_s, flush_s;  /* of one save: stall of the job; then the time until the save counts */
    double least_interval_s;  /* by then the previous save has been flushed and a step has completed */
    double restart_s;         /* mean wait of the job on its GPUs after a failure */
    /* mean time between failures on these GPUs, over all causes, with interruptions of spot GPUs whose notice is too
     * short for a save; INFINITY: none is known */
    double mtbf_s;
};

/* interval_s: returns the seconds of work between two saves; INFINITY: no saves. A value below view->least_interval_s
 * counts as that. Called whenever a job starts or gets other GPUs. NULL: no saves. */
#define CHECKPOINTER_FUNCTIONS(X)                                                                                      \
    X(checkpointer, OPTIONAL, double, interval_s, (void *state, const struct checkpoint_view *view), (state, view),    \
      view, view->job)

struct checkpointer {
    struct policy policy;
    CHECKPOINTER_FUNCTIONS(POLICY_MEMBER)
};

#endif
