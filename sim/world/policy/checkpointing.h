/* Checkpointing: how often a job saves its state. The view of a job and the struct of a checkpointer. */
#ifndef ORRERY_WORLD_POLICY_CHECKPOINTING_H
#define ORRERY_WORLD_POLICY_CHECKPOINTING_H

#include "sim/world/policy/job_view.h"
#include "sim/world/policy/policy.h"

/* A job that is about to run, as one that decides on checkpoints sees it. */
struct checkpoint_view {
    const struct job_view *job;
    double stall_s, flush_s;  /* of one save: the job stands still; then until it counts */
    double least_interval_s;  /* a save that has to be flushed, and a step that has to be over, before the next one */
    double restart_s;         /* mean wait of the job on its GPUs after a failure */
    /* mean time between failures on these GPUs, of all causes; INFINITY: none that is known */
    double mtbf_s;
};

/* interval_s: asked whenever a job starts or gets other GPUs: seconds of work between two saves, taken as at least
 * view->least_interval_s; INFINITY: never. A policy without it takes no checkpoints. */
#define CHECKPOINTER_FUNCTIONS(X)                                                                                      \
    X(checkpointer, OPTIONAL, double, interval_s, (void *state, const struct checkpoint_view *view), (state, view),    \
      view, view->job)

struct checkpointer {
    struct policy policy;
    CHECKPOINTER_FUNCTIONS(POLICY_MEMBER)
};

#endif
