/* What the job room shares among its files: the job, and the state of all jobs. */
#ifndef ORRERY_WORLD_JOBS_JOB_H
#define ORRERY_WORLD_JOBS_JOB_H

#include "sim/core/engine.h"
#include "sim/core/mem.h"
#include "sim/core/real_list.h"
#include "sim/core/rng.h"
#include "sim/world/cluster/cluster.h"
#include "sim/world/cluster/demands.h"
#include "sim/world/jobs/job_crowd.h"
#include "sim/world/jobs/job_progress.h"
#include "sim/world/jobs/job_stats.h"
#include "sim/world/jobs/jobs.h"
#include "sim/world/policy/policy.h"
#include "sim/world/rows/source.h"

/* The scheduler's own bytes follow behind. */
struct job {
    _Alignas(16) struct job_view view; /* first: what policies hold is the job */
    struct jobs *jobs;
    struct holder holder; /* what it holds while it runs; when it was preempted, what it held. Its number: the sequence */
    struct owner finish;
    const struct job_type *type;  /* NULL: the scenario says nothing of it */
    struct job_progress progress; /* while it runs, up to when its speed last changed */
    double place_speed;    /* factor of the distance between its GPUs */
    tally_int128 held_ugpu_ns; /* over what it held before since_ns */
    sim_ns executed_ns;    /* holding GPUs, before since_ns */
    sim_ns since_ns;       /* start of the present stretch, or of what it holds now */
    sim_ns first_start_ns; /* -1: never started */
    enum job_fate fate;
    tally_int128 crowd_before; /* job_ns of the crowd when it was submitted */
    int32_t restarts;      /* after its GPUs were taken by force */
    bool falls_back;       /* to what is saved, at its next start: it was preempted */
    double unsaved_gpu_s;  /* when it stopped: GPU time of the work that it had not saved */
    sim_ns restart_ns;     /* wait of its next start for a failure */
    double lost_gpu_s;     /* GPU time of work that it had to do again */
    sim_ns held_from_ns, held_to_ns; /* on its allocation, where no row tells of it yet; held_to: while it does not run */
    uint64_t preempted_in;         /* number of the plan that preempted it last; 0: none */
    int32_t preempt_action;        /* index of that action */
    struct job *prev, *next;       /* in the system, in the order of submission */
};

struct job_action {
    struct job *job; /* NULL: void */
    const char *name, *reason;
    double gpus, free_gpus; /* that it moves; that are free after it, of their node type */
};

/* What a scheduler warned of. */
struct job_warning {
    const char *code, *text;
    sim_ns first_ns;
    int64_t count;
};

enum { JOB_PLAN_WARNINGS = 8 };

struct job_plan {
    struct jobs *jobs;
    uint64_t number;
    int code;       /* of the first fault of any plan */
    sim_ns wake_ns; /* SIM_NS_MAX: no wish */
    int32_t n_actions, actions_capacity;
    struct job_action *actions;
    struct job_warning warnings[JOB_PLAN_WARNINGS]; /* of all plans */
    int32_t n_warnings;
};

struct jobs {
    struct site_env *site;
    struct cluster *cluster;
    const struct jobs_config *config;
    struct cluster_view view;        /* of the cluster's own nodes */
    struct cluster_view *next_views; /* of further node types */
    int32_t n_node_types;            /* with the first */
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
    struct tenant tenant;
    void **checkpoint_states;  /* [types] of their policies; NULL: no types */
    struct demands demands;     /* of all jobs so far, where there is a stock */
    struct real_list sizes_gpu_s; /* of the whole trace, rising, where the scheduler wants them */
    struct rng estimates;       /* stream "jobs.estimates" */
    struct rng random;          /* stream "placement", for placers */
    struct job_crowd crowd;
    struct job_stats stats;
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

/* Work that it has done, and has not to do again. */
static inline sim_ns job_done_ns(const struct job *job, sim_ns now)
{
    if (job->view.state == JOB_RUNNING) return job_progress_done_ns(&job->progress, now);
    return job->falls_back ? job->progress.saved_ns : job->progress.done_ns;
}

/* What of each GPU it asks for, in 1/1000: less than 1000 where shares of GPUs are placed. */
static inline int32_t job_gpu_milli(const struct job *job)
{
    const struct jobs *jobs = job->jobs;
    return jobs->placer != NULL && jobs->cluster->stock != NULL ? jobs->demands.items[job->view.demand].gpu_milli
                                                                : 1000;
}

/* What so many GPUs of those that it asks for amount to, and back. */
static inline int64_t job_ugpus(const struct job *job, double gpus)
{
    return ugpus_of(gpus) * job_gpu_milli(job) / 1000;
}

static inline double job_gpus(const struct job *job, int64_t ugpus)
{
    return gpus_of(ugpus * 1000 / job_gpu_milli(job));
}

/* Whether it must be placed: it asks for GPUs, or for CPU and memory of nodes where these count. */
static inline bool job_needs_node(const struct job *job)
{
    const struct jobs *jobs = job->jobs;
    if (job->view.gpus > 0) return true;
    if (jobs->placer == NULL || jobs->cluster->stock == NULL) return false;
    const struct job_demand *demand = &jobs->demands.items[job->view.demand];
    return demand->cpu_milli > 0 || demand->memory_bytes > 0;
}

/* Brings the views of the cluster up to date. */
void jobs_refresh_view(struct jobs *jobs);
void jobs_notify(struct jobs *jobs, enum job_event event, const struct job *job);
void jobs_notify_forced(struct jobs *jobs, const struct job *job); /* of a preemption */

/* Puts a job that holds nothing on a node type. */
void job_put_on(struct job *job, int32_t node_type);

/* The view of a node type, 0 .. n_node_types - 1, and its cluster. */
struct cluster_view *jobs_view_of(struct jobs *jobs, int32_t node_type);
struct cluster *jobs_cluster_of(struct jobs *jobs, int32_t node_type);

int jobs_make_views(struct jobs *jobs); /* 0 or SIM_E_NOMEM */

/* One decision per moment, after all of its changes; with rounds, at the end of this one. */
void jobs_request_decision(struct jobs *jobs);

/* GPU time that it has held, in 1e-6 GPU ns. */
static inline tally_int128 job_held_ugpu_ns(const struct job *job, sim_ns now)
{
    return job->held_ugpu_ns +
           (job->view.state == JOB_RUNNING ? (tally_int128)job->holder.ugpus * (now - job->since_ns) : 0);
}

/* Starts a stretch of running on what its holder has taken: state, clock, finish event. `wait_ns`: before
 * it works. */
void job_run(struct job *job, sim_ns now, sim_ns wait_ns);

/* Goes on at the moment at which it stopped as if it had not. */
void job_run_on(struct job *job, sim_ns now);

/* Ends it: the GPUs are given back, the work that it has done is kept. */
void job_stop(struct job *job, sim_ns now);

/* Its finish event: it ends, its row is emitted, it leaves. */
void job_on_finish(struct engine *engine, struct owner *owner, sim_ns now);

/* Time until its end: as it runs, else as it would on what it asked for. */
sim_ns job_remaining_ns(const struct job *job, sim_ns now);

/* What becomes of a job without a policy's doing, for those who want to know. Returns 0 or the sink's code. */
int job_emit_detail(const struct job *job, const char *action, const char *what, sim_ns now);

/* The wait of its next start; and of one after a preemption. */
sim_ns job_owed_wait_ns(const struct job *job);
sim_ns job_resume_wait_ns(const struct job *job);

/* A running job holds so many from now on. */
void job_resize(struct job *job, sim_ns now, int64_t ugpus);

/* A running job has moved to where its allocation is now. Nothing is lost, but it goes on after a wait only. */
void job_migrate(struct job *job, sim_ns now);

/* How fast it is on what it holds, at the clock that it had there last. */
double job_speed(const struct job *job);

/* The job as the watchers of the site see it: operations, and its power. */
extern const struct holder_ops job_holder_ops;
struct holder_draw job_draw(const struct job_type *type);

/* Takes the GPUs of a running job from outside of a plan. It is pending again, and its scheduler is asked what now. When it
 * `failed`, it falls back to what it has saved; else it keeps what it keeps of a preemption. Returns 0 or the sink's code. */
int job_interrupt(struct job *job, sim_ns now, bool failed, const char *reason);

/* The same of one whose GPUs go away for good, as was known `notice_ns` before. Where its type takes checkpoints it falls back to
 * the last one, which it takes at the notice if that ends in time; else it keeps its work, as after a preemption. */
int job_evict(struct job *job, sim_ns now, sim_ns notice_ns, const char *reason);

/* Whether it could run on so many GPUs of a node type if that was empty and all of it there, with what services may give back. */
bool job_is_possible_on(struct job *job, int32_t node_type, double gpus);

/* The speed that the distance between its GPUs leaves a job: 1 on one node. */
double jobs_place_speed(const struct jobs *jobs, const struct allocation *allocation);

/* Emits where the job was in the stretch that ended last, or (running) in the one under way, up to now. Once for each: before
 * its allocation is forgotten. */
int job_emit_placement(struct job *job, sim_ns now);

/* The jobs among the tenants of the site: jobs_yield.c. */
extern const struct tenant_ops jobs_tenant_ops;

/* Armed when the scheduler wishes to be woken. */
void jobs_on_wake(struct engine *engine, struct owner *owner, sim_ns now);

/* Around decide(): an empty plan, and what becomes of it. job_plan_end emits the decisions, arms the wake-up and
 * returns 0 or the code of the first fault. */
void job_plan_begin(struct jobs *jobs);
int job_plan_end(struct jobs *jobs);

/* The rows of what the scheduler warned of. Returns 0 or the sink's code. */
int job_plan_emit_warnings(const struct jobs *jobs);

#endif
