/* Scheduling: which jobs run. The plan of one decision and the struct of a scheduler; the view is in cluster_view.h. */
#ifndef ORRERY_WORLD_POLICY_SCHEDULER_H
#define ORRERY_WORLD_POLICY_SCHEDULER_H

#include "sim/world/policy/cluster_view.h"
#include "sim/world/policy/policy.h"

#include <stdbool.h>
#include <stddef.h>

struct job_plan; /* made by the world around one decide() call */

/* Starts or resumes a pending job if all its GPUs fit, given the earlier actions of this plan. Returns whether it did.
 * A job preempted earlier in this plan tries its previous GPUs first. If these are still free, both actions are void:
 * the job runs on without a break. */
bool job_plan_start(struct job_plan *plan, const struct job_view *job, const char *reason);

/* GPUs of one node type (job_view.node_type) for a job; a whole number where a placer places them. 1 GPU for a job that
 * asked for a share of one is that share; more are whole GPUs. */
struct job_grant {
    double gpus;
    int32_t node_type;
};

/* As job_plan_start, with other GPUs than the job asked for; job_view_speed_on returns its speed there. A speed of 0 is
 * a policy fault, and so is a further node type without `uses_node_types`. A job that asks for no GPUs gets none. */
bool job_plan_start_as(struct job_plan *plan, const struct job_view *job, const struct job_grant *grant,
                       const char *reason);

/* As job_plan_start, on the nodes of `where` instead of those of the placer. Where no placer places GPUs, that is a
 * policy fault. So are GPUs that are not free, and another number than the job asked for. A job preempted earlier in
 * this plan does not continue: it starts anew. */
bool job_plan_start_at(struct job_plan *plan, const struct job_view *job, const struct placement *where,
                       const char *reason);

/* As job_plan_start, on the nodes of `where` or (NULL) of the placer, with the CPUs and memory of `host` or (NULL)
 * those that the job asked for. Each node gives them in proportion to the job's GPUs on it. Where nodes count neither,
 * `host` means nothing. */
bool job_plan_start_with(struct job_plan *plan, const struct job_view *job, const struct job_host *host,
                         const struct placement *where, const char *reason);

/* Changes the CPUs and the memory of a running job on its nodes, at once, if there is room. Returns whether it did. A
 * job that is resized or migrated has what it asked for again. */
bool job_plan_set_host(struct job_plan *plan, const struct job_view *job, const struct job_host *host,
                       const char *reason);

/* Starts n pending jobs that share GPUs, as many as each of them requested, if they are free. Each counts as
 * holding an nth of them; job_view_shared_speed returns its speed. When one of them stops, the others run on with
 * its part. A group of which a job cannot run is a policy fault. So is one where a placer places GPUs, and one of
 * a scheduler without `shares_gpus`. */
bool job_plan_start_group(struct job_plan *plan, const struct job_view *const *jobs, int32_t n,
                          const struct job_grant *grant, const char *reason);

/* Starts a pending job on the GPUs of a running one that is alone on as many as both requested. Otherwise as
 * job_plan_start_group. */
bool job_plan_join(struct job_plan *plan, const struct job_view *job, const struct job_view *running,
                   const char *reason);

/* Pending jobs that wait for one another's GPUs, which earlier jobs keep for them, exchange them: the oldest cycle of
 * jobs for which no GPUs are free starts, each job on the very GPUs kept for the next one. Kept GPUs must be as many as
 * the job asks for, where it can run. Not `among_others`: only a job that takes the GPUs kept for itself. Returns
 * whether jobs started; false also if GPUs are about to be freed at this moment, after which a decision follows. */
bool job_plan_exchange(struct job_plan *plan, bool among_others);

/* Changes the number of GPUs of a running job on its node type, at once and without a delay, if there is room. Returns
 * whether it did; false for a job that asks for no GPUs. */
bool job_plan_resize(struct job_plan *plan, const struct job_view *job, double gpus, const char *reason);

/* Moves a running job to other nodes of this node type; the placer is asked as if the job held nothing. Returns false
 * and changes nothing if there is no room, if the job would stay on its nodes, or if it would be slower than
 * `least_speed` (job_view.speed; 0: any). A moved job loses no work. It works again after restart.migrate plus what is
 * left of an earlier wait. A scheduler without `migrates` that calls it is at fault. */
bool job_plan_migrate(struct job_plan *plan, const struct job_view *job, int32_t node_type, double least_speed,
                      const char *reason);

/* Takes a running job off its GPUs; its finished work is kept. */
void job_plan_preempt(struct job_plan *plan, const struct job_view *job, const char *reason);

/* Ends a job that has started, before its work is done. Its row has the status 'stopped'. The scheduler gets
 * JOB_EVENT_FINISH and must forget the job. */
void job_plan_stop(struct job_plan *plan, const struct job_view *job, const char *reason);

/* Asks for another decide() at time_ns (> now), unless something changes before. The earliest time of a plan counts. */
void job_plan_wake_at(struct job_plan *plan, sim_ns time_ns);

/* Warns of what the policy cannot do as its parameters ask. `code` and `text` are static texts; at most 8 codes. The
 * warnings of one code are one row, with the time of the first. */
void job_plan_warn(struct job_plan *plan, const char *code, const char *text);

/* --- The family --- */

enum job_event {
    JOB_EVENT_SUBMIT,
    JOB_EVENT_START,
    JOB_EVENT_PREEMPT,
    JOB_EVENT_FINISH,
    /* The job's GPUs changed, perhaps in number. Sent, as JOB_EVENT_SPEED is, only if wants_speed_events. */
    JOB_EVENT_RESIZE,
    JOB_EVENT_SPEED /* the job's speed changed, or it has read what it loads or restores */
};

struct job_note {
    enum job_event event;
    const struct job_view *job;
    bool forced; /* JOB_EVENT_PREEMPT: a failure or a service took the GPUs, not a plan */
};

/* notify: keeps the scheduler's own index up to date. Called at once for every change, including those of its own
 * plans.
 *
 * decide: called once per moment in which something changed, after all of that moment's changes. Returns 0 or a
 * negative code.
 *
 * wants_sizes: whether it uses the GPU times of the trace's jobs (cluster_view.sizes_gpu_s, ORACLE_MIX). Called once,
 * after init. NULL: no.
 *
 * prepare: checks its parameters against the cluster. Called once, before the run. Returns 0, or what diag_error
 * returns.
 *
 * finish: called once, after the run. May warn (job_plan_warn) with texts that last as long as the state.
 *
 * reads_estimates: whether it reads estimates of run times, where that follows from its parameters. NULL: unless it
 * ignores_estimates.
 *
 * shares: whether jobs share GPUs under it, where that follows from its parameters. NULL: if shares_gpus. */
#define SCHEDULER_FUNCTIONS(X)                                                                                         \
    X(scheduler, REQUIRED, void, notify,                                                                               \
      (void *state, const struct cluster_view *view, const struct job_note *note), (state, view, note),                \
      view, note->job)                                                                                                 \
    X(scheduler, REQUIRED, int, decide, (void *state, const struct cluster_view *view, struct job_plan *plan),         \
      (state, view, plan), POLICY_NONE, POLICY_NONE) /* the view follows the plan */                                   \
    X(scheduler, OPTIONAL, bool, wants_sizes, (const void *state), (state), POLICY_NONE, POLICY_NONE)                  \
    X(scheduler, OPTIONAL, int, prepare, (void *state, const struct cluster_view *view, struct diag *diag),            \
      (state, view, diag), view, POLICY_NONE)                                                                          \
    X(scheduler, OPTIONAL, void, finish, (void *state, struct job_plan *plan), (state, plan), POLICY_NONE,             \
      POLICY_NONE)                                                                                                     \
    X(scheduler, OPTIONAL, bool, reads_estimates, (const void *state), (state), POLICY_NONE, POLICY_NONE)              \
    X(scheduler, OPTIONAL, bool, shares, (const void *state), (state), POLICY_NONE, POLICY_NONE)

struct scheduler {
    struct policy policy;
    size_t job_bytes; /* of the scheduler's own state per job (job_view_slot) */
    SCHEDULER_FUNCTIONS(POLICY_MEMBER)
    bool wants_speed_events; /* notify gets JOB_EVENT_RESIZE and JOB_EVENT_SPEED */
    bool uses_node_types;    /* may use further node types; else jobs that never fit on the first are rejected */
    bool adapts_batch;       /* jobs with a goodput profile take the best batch size for the GPUs that they hold */
    bool ignores_estimates;  /* reads no estimate of a run time; else a run whose estimates are exact says so */
    bool shares_gpus;        /* may start groups, or join jobs, under the placement "counted" */
    bool reads_deadlines;    /* goes by deadlines of jobs; a scenario that gives none says so */
    bool migrates;           /* may move running jobs to other nodes */
};

#endif
