/* Scheduling: which jobs run. The plan of one decision and the struct of a scheduler; the view is in cluster_view.h. */
#ifndef ORRERY_WORLD_POLICY_SCHEDULER_H
#define ORRERY_WORLD_POLICY_SCHEDULER_H

#include "sim/world/policy/cluster_view.h"
#include "sim/world/policy/policy.h"

#include <stdbool.h>
#include <stddef.h>

struct job_plan; /* made by the world around one decide() call */

/* Starts or resumes a pending job if there is room for all its GPUs, given the actions before it in this plan. Returns
 * whether it did. A job that was preempted earlier in the same plan first tries the GPUs it had: if they are still
 * free, both actions are void and it runs on as if nothing had happened. */
bool job_plan_start(struct job_plan *plan, const struct job_view *job, const char *reason);

/* What a job is given: so many GPUs of a node type (job_view, node_type). Where a placer places they are whole ones. */
struct job_grant {
    double gpus;
    int32_t node_type;
};

/* The same with other GPUs than it asked for. How fast it is there, job_view_speed_on tells; where that is 0, it is a policy
 * fault, and so is a further node type without having declared `uses_node_types`. A job that asks for no GPUs gets none. */
bool job_plan_start_as(struct job_plan *plan, const struct job_view *job, const struct job_grant *grant,
                       const char *reason);

/* A running job goes on with another number of GPUs of the same node type, at once and without a delay, if there is room.
 * Returns whether it did. One that asks for no GPUs has none to change. */
bool job_plan_resize(struct job_plan *plan, const struct job_view *job, double gpus, const char *reason);

/* A running job goes to other nodes, of this node type, without waiting in between: the placer is asked as if it held nothing. It stays
 * where it is, and false comes back, when there is no room, when it would be on the nodes on which it is, or slower than
 * `least_speed` (job_view, speed; 0: whatever comes of it). It loses no work, and works again after restart.migrate; what was left
 * of an earlier wait comes on top. */
bool job_plan_migrate(struct job_plan *plan, const struct job_view *job, int32_t node_type, double least_speed,
                      const char *reason);

/* Takes a running job off its GPUs; the work that it has done is kept. */
void job_plan_preempt(struct job_plan *plan, const struct job_view *job, const char *reason);

/* Asks for another decide() at this time (> now), if nothing happens before; the earliest wish of a plan counts. */
void job_plan_wake_at(struct job_plan *plan, sim_ns time_ns);

/* A warning of the run: what the policy cannot do as its parameters ask. `code` and `text` are static texts, no more than 8 codes;
 * those of a code are one row, with the time of the first. */
void job_plan_warn(struct job_plan *plan, const char *code, const char *text);

/* --- The family --- */

enum job_event {
    JOB_EVENT_SUBMIT,
    JOB_EVENT_START,
    JOB_EVENT_PREEMPT,
    JOB_EVENT_FINISH,
    JOB_EVENT_RESIZE, /* it goes on with other GPUs, as many or not; like the next one only for those who hear the pace */
    JOB_EVENT_PACE    /* it goes on at another speed */
};

struct job_note {
    enum job_event event;
    const struct job_view *job;
    bool forced; /* JOB_EVENT_PREEMPT: not by a plan: a failure or a service took its GPUs */
};

/* notify: keeps the scheduler's own index up to date. Called for every change, also for those of its own plans, as soon as
 * they are made.
 *
 * decide: called once per moment in which something changed, after all of that moment's changes. Returns 0 or a negative
 * code.
 *
 * wants_sizes: whether it goes by the GPU time that jobs take (cluster_view.sizes_gpu_s, ORACLE_MIX). Asked once, after init.
 * NULL: no.
 *
 * prepare: asked once, before the run, whether its parameters go with the cluster. Returns 0, or what diag_error returns.
 *
 * finish: called once, after the run. May warn (job_plan_warn) with texts that last as long as the state. */
#define SCHEDULER_FUNCTIONS(X)                                                                                         \
    X(scheduler, REQUIRED, void, notify,                                                                               \
      (void *state, const struct cluster_view *view, const struct job_note *note), (state, view, note),                 \
      view, note->job)                                                                                        \
    X(scheduler, REQUIRED, int, decide, (void *state, const struct cluster_view *view, struct job_plan *plan),           \
      (state, view, plan), POLICY_NONE, POLICY_NONE) /* the view follows the plan */                                       \
    X(scheduler, OPTIONAL, bool, wants_sizes, (const void *state), (state), POLICY_NONE, POLICY_NONE)                      \
    X(scheduler, OPTIONAL, int, prepare, (void *state, const struct cluster_view *view, struct diag *diag),              \
      (state, view, diag), view, POLICY_NONE)                                                                         \
    X(scheduler, OPTIONAL, void, finish, (void *state, struct job_plan *plan), (state, plan), POLICY_NONE, POLICY_NONE)

struct scheduler {
    struct policy policy;
    size_t job_bytes; /* of the scheduler's own state per job (job_view_slot) */
    SCHEDULER_FUNCTIONS(POLICY_MEMBER)
    bool hears_pace;      /* it is notified of JOB_EVENT_RESIZE and JOB_EVENT_PACE */
    bool uses_node_types; /* it starts jobs on further node types; else one that the first can never hold is rejected */
};

#endif
