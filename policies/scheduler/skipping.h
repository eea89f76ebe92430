/* What the schedulers without preemption and reservation share: the first job in the order that fits starts, and jobs
 * that do not fit are skipped. With counted GPUs the result is that of walking through all pending jobs. */
#ifndef ORRERY_POLICIES_SCHEDULER_SKIPPING_H
#define ORRERY_POLICIES_SCHEDULER_SKIPPING_H

#include "policies/scheduler/pending.h"
#include "sim/world/policy/scheduler.h"

struct skipping_params {
    bool strict; /* the first that does not fit stops all behind it instead */
};

struct skipping {
    struct skipping_params params; /* first */
    struct pending pending;
    uint64_t capacity_epoch; /* of the latest decision: what was refused since GPUs last came back stays refused */
    int code; /* SIM_E_NOMEM once a job could not be kept */
};

/* The state per job is a struct ranked; `rank` is the job's place in the order while it is pending. */
void skipping_notify(struct skipping *skipping, const struct job_note *note, struct rank rank);
int skipping_decide(struct skipping *skipping, const struct cluster_view *view, struct job_plan *plan,
                    const char *reason);
void skipping_fini(void *state);

#endif
