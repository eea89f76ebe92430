/* Shared by schedulers without preemption and reservation: the first job in the order that fits starts, and jobs that
 * do not fit are skipped. If GPUs are only counted, the result equals a walk through all pending jobs. */
#ifndef ORRERY_POLICIES_SCHEDULER_SKIPPING_H
#define ORRERY_POLICIES_SCHEDULER_SKIPPING_H

#include "policies/scheduler/pending.h"
#include "sim/world/policy/scheduler.h"

struct skipping_params {
    bool strict; /* the first job that does not fit stops all behind it */
};

struct skipping {
    struct skipping_params params; /* first */
    struct pending pending;
    uint64_t capacity_epoch; /* of the latest decision: a refusal holds until GPUs become free */
    int code; /* SIM_E_NOMEM once a job could not be kept */
};

/* A job's slot is a struct ranked; `rank` is the job's place in the order while it is pending. */
void skipping_notify(struct skipping *skipping, const struct job_note *note, struct rank rank);
int skipping_decide(struct skipping *skipping, const struct cluster_view *view, struct job_plan *plan,
                    const char *reason);
void skipping_fini(void *state);

#endif
