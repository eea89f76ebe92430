/* What the job room shares among its files: the job, and the state of all jobs. */
#ifndef ORRERY_WORLD_JOB_H
#define ORRERY_WORLD_JOB_H

#include "sim/core/engine.h"
#include "sim/core/mem.h"
#include "sim/world/cluster.h"
#include "sim/world/job_stats.h"
#include "sim/world/jobs.h"
#include "sim/world/policy.h"
#include "sim/world/source.h"

/* The scheduler's own bytes follow behind. */
struct job {
    _Alignas(16) struct job_view view; /* first: what policies hold is the job */
    struct jobs *jobs;
    struct owner finish;
    sim_ns duration_ns;
    sim_ns executed_ns;    /* in the stretches before the present one */
    sim_ns since_ns;       /* start of the present stretch */
    sim_ns first_start_ns; /* -1: never started */
    sim_ns held_from_ns, held_to_ns; /* on its allocation, where no row tells of it yet; held_to: while it does not run */
    struct allocation *allocation; /* where its GPUs are, or were when it was preempted; NULL without nodes */
    uint64_t preempted_in;         /* number of the plan that preempted it last; 0: none */
    int32_t preempt_action;        /* index of that action */
    struct job *prev, *next;       /* in the system, in the order of submission */
};

struct job_action {
    struct job *job; /* NULL: void */
    const char *name, *reason;
    int64_t free_gpus; /* after it */
};

struct job_plan {
    struct jobs *jobs;
    uint64_t number;
    int code;       /* of the first fault of any plan */
    sim_ns wake_ns; /* SIM_NS_MAX: no wish */
    int32_t n_actions, actions_capacity;
    struct job_action *actions;
};

struct jobs {
    struct engine *engine;
    struct cluster *cluster;
    struct cluster_view view;
    const struct scheduler *scheduler;
    const struct placer *placer; /* NULL: GPUs are only counted */
    void *scheduler_state, *placer_state;
    struct source_options source_options;
    struct job_source *source;
    struct job_record record;   /* the next one, when not `dry` */
    bool dry;                   /* the trace is at its end */
    bool decision_due;
    struct pool pool;
    struct job *oldest, *youngest; /* in the system */
    struct owner submit, decide, wake;
    struct job_plan plan;
    struct placement placement; /* room for the placer's answer */
    struct job_stats stats;
    const struct sink *sink;
    const char *where;
    struct diag *diag;
};

/* Of any job_view that a policy may hold. */
static inline struct job *job_of(const struct job_view *view)
{
    return (struct job *)(void *)view;
}

static inline sim_ns job_executed_ns(const struct job *job, sim_ns now)
{
    return job->executed_ns + (job->view.state == JOB_RUNNING ? now - job->since_ns : 0);
}

/* Brings the view of the cluster up to date. */
void jobs_refresh_view(struct jobs *jobs);
void jobs_notify(struct jobs *jobs, enum job_event event, const struct job *job);

/* Starts a stretch of running: state, clock, finish event. */
void job_run(struct job *job, sim_ns now);

/* Emits where the job was in the stretch that ended last, or (running) in the one under way, up to now. Once for each: before
 * its allocation is forgotten. */
int job_emit_placement(struct job *job, sim_ns now);

/* Armed when the scheduler wishes to be woken. */
void jobs_on_wake(struct engine *engine, struct owner *owner, sim_ns now);

/* Around decide(): an empty plan, and what becomes of it. job_plan_end emits the decisions, arms the wake-up and
 * returns 0 or the code of the first fault. */
void job_plan_begin(struct jobs *jobs);
int job_plan_end(struct jobs *jobs);

#endif
