/* What the files of this room share: the job, and the state of all jobs. */
#ifndef ORRERY_WORLD_JOBS_JOB_H
#define ORRERY_WORLD_JOBS_JOB_H

#include "sim/core/engine.h"
#include "sim/core/mem.h"
#include "sim/core/real_list.h"
#include "sim/core/rng.h"
#include "sim/world/cluster/cluster.h"
#include "sim/world/cluster/resource_requests.h"
#include "sim/world/jobs/job_activity.h"
#include "sim/world/jobs/job_graph.h"
#include "sim/world/jobs/job_progress.h"
#include "sim/world/jobs/job_reader.h"
#include "sim/world/jobs/job_stats.h"
#include "sim/world/jobs/job_training.h"
#include "sim/world/jobs/jobs.h"
#include "sim/world/policy/placement.h"
#include "sim/world/policy/scheduler.h"
#include "sim/world/rows/source.h"

/* A run has up to millions of jobs at a time, and each event touches another one. So a job is small: what only some
 * jobs have is behind pointers. The members that the start of a job touches are together, for the cache. The
 * scheduler's bytes of the job, if they are many, lie apart: a scheduler that walks through jobs reads little else. */
struct job {
    _Alignas(16) struct job_view view; /* first member: a policy's pointer to the view is one to the job */
    struct owner finish;
    struct jobs *jobs;
    void *slot;                    /* the scheduler's state of the job */
    const struct job_type *type;   /* NULL: the scenario does not describe it */
    struct job_activity *activity; /* NULL: its type describes no saves by flows, no traffic and no phases */
    struct job_place *place;       /* among jobs that come after one another; NULL while no job of the run does */
    struct job *mate;              /* the next of the jobs that share its GPUs, in a ring; NULL: none does */
    sim_ns first_start_ns;         /* -1: never started */
    sim_ns restart_ns;             /* wait that a failure adds to its next start */
    sim_ns ready_ns;               /* that wait does not begin before */
    sim_ns since_ns;               /* when it took the GPUs that it holds now; when it last stopped */
    sim_ns held_from_ns;           /* its stay without a placement row so far */
    uint64_t preempted_in;         /* number of the plan that preempted it last; 0: none */
    int32_t preempt_action;        /* index of that preemption among the plan's actions; -1: not recorded */
    bool falls_back;               /* after a preemption: its next start falls back to the saved work */
    bool never_saves;              /* its checkpointing policy wants no saves on its GPUs */
    bool has_interval;             /* it chose an interval last, rather than no saves */
    double save_interval_s;        /* that: work between two saves; 0 without one */
    bool is_widened;               /* it has had more GPUs than it asked for */
    bool is_stopped;               /* its scheduler ends it before its work is done */
    double place_speed;            /* speed factor of the distance between its GPUs */
    struct job_progress progress;  /* while it runs: up to the last change of its speed */
    struct holder holder;          /* the GPUs it holds while it runs; after a preemption, those it held */
    /* once it has run */
    sim_ns executed_ns;            /* time with GPUs before since_ns */
    tally_int128 held_ugpu_ns;     /* GPU time before since_ns, in 1e-6 GPU ns */
    tally_int128 active_before_ns; /* integral of the active jobs when it was submitted */
    enum job_status status;
    int32_t restarts;              /* after its GPUs were taken by force */
    double unsaved_gpu_s;          /* at its last stop: GPU time of unsaved work */
    double last_speed, last_gpus;  /* the last speed above 0, and the GPUs that gave it */
    double lost_gpu_s;             /* GPU time of repeated work */
    int64_t group_ugpus;           /* that jobs on the same GPUs hold together */
    const char *user;              /* who submitted it; "" when unknown */
    struct job *prev, *next;       /* in the system, in the order of submission */
};

struct job_action {
    struct job *job; /* NULL: void */
    const char *name, *reason;
    double gpus, free_gpus; /* GPUs it moves; GPUs of their node type that are free after it */
    const struct cluster *cluster; /* that node type: the job may be on another one when the row is written */
    double freed_gpus;      /* of a "preempt": by how much it raised free_gpus; GPUs of a node that is down stay away */
    struct job_host host;   /* of a "tune": what the job has then */
};

/* A warning of the scheduler. */
struct job_warning {
    const char *code, *text;
    sim_ns first_ns;
    int64_t count;
};

enum { JOB_PLAN_WARNINGS = 8 };

struct job_plan {
    struct jobs *jobs;
    uint64_t number;
    int code;       /* code of the first fault of any plan */
    sim_ns wake_ns; /* SIM_NS_MAX: no wake-up requested */
    int32_t n_actions, actions_capacity;
    struct job_action *actions;
    struct job_warning warnings[JOB_PLAN_WARNINGS]; /* of all plans */
    int32_t n_warnings;
};

/* What trials reach: job_trials.c. */
struct job_losses {
    bool has_any;        /* the trace has stated one, the scheduler has read one, or they have noise */
    bool is_read;        /* by the scheduler */
    bool is_awaited;     /* the scheduler asks when jobs will have done shares of their work */
    struct key_map traced; /* of jobs in the system: struct traced_loss, by number of the job */
    struct pool pool;
};

struct jobs {
    struct site_env *site;
    struct cluster *cluster;
    const struct jobs_config *config;
    struct cluster_view view;        /* of the cluster's own nodes */
    struct cluster_view *next_views; /* of further node types */
    int64_t n_known;                 /* jobs that needed to wait for no other, or do no more */
    int32_t n_lone_wakes;            /* decisions in a row that ask to be woken while nothing else is to come */
    int32_t n_idle_decisions;        /* that ask to be woken while GPUs are kept and no job runs, since one ran */
    int32_t n_node_types;            /* with the first */
    const struct scheduler *scheduler;
    const struct placer *placer; /* NULL: GPUs are only counted */
    void *scheduler_state;
    void **placer_states; /* [n_node_types]: placers keep what they know of nodes by number */
    struct source_options source_options;
    struct job_source *source;
    struct job_record record;   /* the next one, when not `dry` */
    bool dry;                   /* the trace has ended */
    bool decision_due;
    const char *obstacle;       /* why the job that the scheduler gets to know can never run; NULL: it can */
    bool has_slots_apart;       /* the scheduler's state of a job is in `slots`; else behind the job */
    struct pool pool, slots, activities;
    struct job *oldest, *youngest; /* in the system */
    struct job **ended;            /* [n_ended] in the present plan, whose actions may name them */
    int32_t n_ended, ended_capacity;
    struct owner submit, decide, wake;
    struct job_plan plan;
    struct placement placement; /* buffer for the placer's answer */
    struct tenant tenant;
    struct job_trainings *trainings; /* NULL: no type trains */
    struct holder_draw *draws; /* [types + 1]: of each type; the last of jobs without one */
    void **checkpoint_states;  /* [types] of their policies; NULL: no types */
    struct topology *topology;   /* NULL: no links */
    struct job_network *network; /* NULL: the scenario describes no steps */
    struct job_swapping *swapping; /* NULL: no job's states beyond its GPUs are on links */
    struct job_readers *readers; /* NULL: no type reads data while it works */
    struct resource_requests requests;     /* of all jobs so far, where node resources are tracked */
    struct job_host share_of_gpu;          /* of each GPU, if all have equal parts; 0: not counted */
    struct real_list sizes_gpu_s; /* of the whole trace, rising, where the scheduler wants them */
    struct goodput_cache goodputs;
    struct job_graph graph;
    struct rng estimates;       /* stream "jobs.estimates" */
    struct rng deadlines;       /* stream "jobs.deadlines" */
    struct rng random;          /* stream "placement", for placers */
    struct active_jobs active;
    struct job_losses losses;
    struct job_types_seen types_seen;
    int64_t n_never_saved;  /* times that a job which never saves lost all its work */
    const struct job_type *never_saved; /* the type of the first of them */
    bool has_drawn_by_plan; /* a power model prices some jobs, whose power nobody states */
    int64_t n_without_peer; /* runs whose checkpoints go to a peer that they do not have */
    struct job_stats stats;
};

/* Fetches the job from memory all at once: a job that waited or ran for long is in no cache. */
static inline void job_prefetch(const struct job *job)
{
    enum { LINE_BYTES = 64 };
    for (size_t i = 0; i < sizeof *job; i += LINE_BYTES) __builtin_prefetch((const char *)job + i, 1);
}

/* Order of submission, from 0. */
static inline uint64_t job_number(const struct job *job)
{
    return job->holder.number;
}

/* The job of a view that a policy holds. */
static inline struct job *job_of(const struct job_view *view)
{
    return (struct job *)(void *)view;
}

static inline sim_ns job_executed_ns(const struct job *job, sim_ns now)
{
    return job->executed_ns + (job->view.state == JOB_RUNNING ? now - job->since_ns : 0);
}

/* Work done that need not be repeated. */
static inline sim_ns job_done_ns(const struct job *job, sim_ns now)
{
    if (job->view.state == JOB_RUNNING) return job_progress_done_ns(&job->progress, now);
    return job->falls_back ? job->progress.saved_ns : job->progress.done_ns;
}

/* A type of jobs: i < config->all_types.n. */
static inline const struct job_type *jobs_type(const struct jobs *jobs, size_t i)
{
    return (const struct job_type *)jobs->config->all_types.items + i;
}

/* Node types that jobs may run on: the first ones. */
static inline int32_t jobs_used_types(const struct jobs *jobs)
{
    return jobs->scheduler->uses_node_types ? jobs->n_node_types : 1;
}

/* The share of one GPU that the job requests, in 1/1000: below 1000 only where shares of GPUs are placed. */
static inline int32_t job_gpu_milli(const struct job *job)
{
    const struct jobs *jobs = job->jobs;
    return jobs->placer != NULL && jobs->cluster->resources != NULL ? jobs->requests.items[job->view.request].gpu_milli
                                                                    : 1000;
}

/* Whether its work has ended, and it keeps its GPUs for others. */
static inline bool job_is_kept(const struct job *job)
{
    return job->place != NULL && job->place->is_kept;
}

/* Whether it waits for other jobs to end. */
static inline bool job_is_held(const struct job *job)
{
    return job->place != NULL && job->place->n_awaited > 0;
}

/* Converts a number of GPUs for the job to 1e-6 GPUs, and back. 1 GPU of a job that requests a share is that share;
 * more than 1 are whole GPUs. */
static inline int64_t job_ugpus(const struct job *job, double gpus)
{
    const int64_t ugpus = ugpus_of(gpus);
    return ugpus > GPU_MICRO ? ugpus : ugpus * job_gpu_milli(job) / 1000;
}

static inline double job_gpus(const struct job *job, int64_t ugpus)
{
    return gpus_of(ugpus > GPU_MICRO ? ugpus : ugpus * 1000 / job_gpu_milli(job));
}

/* Whether the job must be placed: it requests GPUs, or CPU and memory where nodes count them. */
static inline bool job_needs_node(const struct job *job)
{
    const struct jobs *jobs = job->jobs;
    if (job->view.gpus > 0) return true;
    if (jobs->placer == NULL || jobs->cluster->resources == NULL) return false;
    const struct resource_request *request = &jobs->requests.items[job->view.request];
    return request->cpu_milli > 0 || request->memory_bytes > 0;
}

/* Records for jobs, and the scheduler's bytes of each: all zero. job_take returns NULL when out of memory. */
void job_pools_init(struct jobs *jobs);
struct job *job_take(struct jobs *jobs);
void job_give_back(struct job *job);

/* A job that waits for no other becomes pending, or runs at once if it needs no GPUs. Returns 0 or a negative code. */
int jobs_admit(struct job *job, sim_ns now);

/* Shows the scheduler a pending job that it does not know. */
void jobs_make_known(struct job *job);

/* Rejects a held job whose needs are rejected. Returns 0 or the sink's code. */
int jobs_reject_held(struct job *job, sim_ns now);

/* Brings the views of the cluster up to date. */
void jobs_refresh_view(struct jobs *jobs);
void jobs_notify(struct jobs *jobs, enum job_event event, const struct job *job);
void jobs_notify_forced(struct jobs *jobs, const struct job *job); /* a preemption from outside the plan */

/* Puts a job that holds nothing on a node type. */
void job_set_node_type(struct job *job, int32_t node_type);

/* The view of a node type, 0 .. n_node_types - 1, and its cluster. */
static inline struct cluster_view *jobs_view_of(struct jobs *jobs, int32_t node_type)
{
    return node_type == 0 ? &jobs->view : &jobs->next_views[node_type - 1];
}

static inline struct cluster *jobs_cluster_of(const struct jobs *jobs, int32_t node_type)
{
    struct cluster *cluster = jobs->cluster;
    while (node_type-- > 0) cluster = cluster->next;
    return cluster;
}

int jobs_make_views(struct jobs *jobs); /* 0 or SIM_E_NOMEM */

/* Reads the whole trace where the scheduler, the placer or a metric must know its jobs. Returns 0 or a negative
 * code. */
int jobs_learn_trace(struct jobs *jobs, const struct trace_format *format);

/* One decision per moment, after all changes of that moment; with rounds, at the end of the current round. */
void jobs_request_decision(struct jobs *jobs);

/* GPU time that the job has held, in 1e-6 GPU ns. */
static inline tally_int128 job_held_ugpu_ns(const struct job *job, sim_ns now)
{
    return job->held_ugpu_ns +
           (job->view.state == JOB_RUNNING ? (tally_int128)job->holder.ugpus * (now - job->since_ns) : 0);
}

/* Starts a run of the job on the GPUs that its holder has taken: state, clock, finish event. It works after
 * `wait_ns`. */
void job_run(struct job *job, sim_ns now, sim_ns wait_ns);

/* Resumes the job at the moment it stopped, as if it had not stopped. */
void job_continue(struct job *job, sim_ns now);

/* Ends the run: GPUs are released, the work done is kept. */
void job_stop(struct job *job, sim_ns now);

/* The finish event: the job ends, its row is emitted, it leaves the system. */
void job_on_finish(struct engine *engine, struct owner *owner, sim_ns now);

/* The two parts of that. job_end_run: its GPUs are free, and the scheduler knows; `holder` still names them.
 * job_end: the rest. */
void job_end_run(struct job *job, sim_ns now);
void job_end(struct job *job, sim_ns now);

/* The job has ended by a plan: job_end at the end of the plan. */
void job_end_after_plan(struct job *job);

/* Emits the decisions of the plan, which name such jobs, and ends them, the last one first. Returns 0 or the sink's
 * code. */
int jobs_end_after_plan(struct jobs *jobs);

/* Ends a job that has started before its work is done: its row says 'stopped'. Returns false for others. */
bool job_stop_early(struct job *job, sim_ns now);

/* No losses yet: has_any only if the configuration gives them noise. job_losses_fini frees those of jobs that are
 * still in the system. */
void job_losses_init(struct job_losses *losses, const struct jobs_config *config);
void job_losses_fini(struct job_losses *losses);

/* The trace states the loss that the job reaches at its end. Returns 0 or SIM_E_NOMEM. */
int job_loss_trace(struct job *job, double loss);

/* The job leaves the system. */
void job_loss_forget(struct job *job);

/* Whether it is a trial: the trace states its loss, or the scheduler reads losses and is told of this job. */
bool job_has_loss(const struct job *job);

/* The loss as measured at a share of its work. */
double job_loss_of(const struct job *job, double done_frac);

/* Its speed by the CPUs and memory that it holds, relative to that with what it asked for. */
double job_host_speed(const struct job *job);

/* Checks that nodes count what types say of CPUs and memory. Returns 0 or SIM_E_CONFIG with a finding. */
int jobs_check_hosts(struct jobs *jobs);

/* Checks INV-14 (world.h), as a component. */
void jobs_check_held(void *jobs, sim_ns now);

/* Reports the first fault of a policy. */
__attribute__((format(printf, 3, 4))) void job_plan_blame(struct jobs *jobs, const struct policy *policy,
                                                          const char *format, ...);

/* Records an action for the decision table. Returns its index; -1 if the sink takes no decisions, or out of memory. */
int32_t job_plan_add_action(struct job_plan *plan, struct job *job, const char *name, const char *reason);

/* A fault of the scheduler: `what` it does to the job. */
void job_plan_fault(struct jobs *jobs, const char *what, const struct job_view *job);

/* Starts a waiting job on the very GPUs that another one has just released. */
void job_plan_take_over(struct job_plan *plan, struct job *job, const struct job *released);

/* Time until the job ends: at its present speed, or if it does not run, on the GPUs it requested. */
sim_ns job_remaining_ns(const struct job *job, sim_ns now);

/* Writes " of node type 'NAME'" for a cluster of the site, or "" where all jobs are on the first one. */
void job_say_node_type(const struct jobs *jobs, const struct cluster *cluster, char *text, size_t bytes);

/* Emit detail rows of a change that no policy decided: `what`, and the GPUs of the job. Return 0 or the sink's code.
 * An interruption says nothing of free GPUs: what takes those of the job comes after it. */
int job_emit_finish(const struct job *job, sim_ns now);
int job_emit_interrupt(const struct job *job, const char *what, sim_ns now);
int job_emit_reject(const struct job *job, const char *what, sim_ns now);

/* Live rows of sink.h. jobs_emit_queue: what `submitted` meets; NULL: what the next decision meets. jobs_emit_seen:
 * what the scheduler sees. Both only where the sink takes these rows. job_emit_clock: the clock of the job's GPUs.
 * They return 0 or the sink's code. */
int jobs_emit_queue(const struct jobs *jobs, const struct job *submitted, sim_ns now);
int jobs_emit_seen(const struct jobs *jobs, sim_ns now);
int job_emit_clock(const struct job *job, sim_ns now);

/* The wait of the job's next start, and that of a start after a preemption. */
sim_ns job_owed_wait_ns(const struct job *job);
sim_ns job_resume_wait_ns(const struct job *job);

/* A running job holds `ugpus` from now on. */
void job_resize(struct job *job, sim_ns now, int64_t ugpus);

/* A running job gets other GPUs, `ugpus` of its node type. The views of the cluster are up to date. Returns 1, 0 if
 * there is no room (it keeps its GPUs), or a negative code. */
int job_exchange_gpus(struct job *job, int64_t ugpus);

/* A running job has moved to its present allocation. It loses no work and continues after a wait. */
void job_migrate(struct job *job, sim_ns now);

/* Whether the node type of a view has a GPU of a model that the job accepts. */
bool job_has_model(const struct cluster_view *view, const struct job *job);

/* As job_view_shared_speed, for the world itself. */
double jobs_shared_speed(const struct cluster_view *view, const struct job_view *const *jobs, int32_t n, int32_t i);

/* Speed on `gpus` GPUs of the node type of a view, but for their distance and clock. */
double job_speed_on(const struct job *job, const struct cluster_view *view, double gpus);

/* Speed on its present GPUs at their last clock; and the same if it need not wait for data. */
double job_speed(const struct job *job);
double job_full_speed(const struct job *job);

/* The progress of a running job has changed: its finish event follows. */
void job_rearm(struct job *job);

/* Something that the speed of a running job depends on has changed. */
void job_speed_changed(struct job *job, sim_ns now);

/* The job as the watchers of the site see it: operations, and what it draws. */
extern const struct holder_ops job_holder_ops;

/* What jobs of each type draw. Returns 0 or SIM_E_NOMEM. */
int job_draws_create(struct jobs *jobs);
const struct holder_draw *job_typed_draw(const struct job *job);

/* Takes the GPUs of a running job from outside a plan. The job is pending again and its scheduler decides. If it
 * `failed`, it falls back to its saved work; else it keeps what a preemption leaves. Returns 0 or the sink's code. */
int job_interrupt(struct job *job, sim_ns now, bool failed, const char *reason);

/* Interrupts a job whose GPUs are withdrawn for good, as was known `notice_ns` before. If its type takes checkpoints,
 * it falls back to the last one, which it takes at the notice if it completes in time; else it keeps its work, as
 * after a preemption. */
int job_evict(struct job *job, sim_ns now, sim_ns notice_ns, const char *reason);

/* Whether the job could run on `gpus` GPUs of a node type if all its nodes were up and empty and services had released
 * what they may release. */
bool job_is_possible_on(struct job *job, int32_t node_type, double gpus);

/* The number of the next record's request; 0 unless node resources are tracked; -1 when out of memory. */
int32_t jobs_request_index(struct jobs *jobs);

/* Whether the job could run on some node type that its scheduler uses. */
bool jobs_can_run(struct jobs *jobs, struct job *job);

/* Obstacle of a job that no nodes of the site could ever run. */
extern const char job_never_fits[];

/* Most GPUs that a job can ever have, on nodes of one type: all but those that services keep. */
int64_t jobs_most_gpus(struct jobs *jobs);

/* Place of a job in the scenario, for findings; of the trace, if its jobs are not in the scenario. */
const char *jobs_record_where(const struct jobs *jobs, int64_t id);

/* `read_through` of the component (sim/world/rows/component.h); `self` is a struct jobs. */
int jobs_read_through(void *self, sim_ns until_ns);

/* The speed factor of the distance between a job's GPUs: 1 on one node. */
double jobs_place_speed(const struct jobs *jobs, const struct allocation *allocation);

/* Emits placement rows of the job's last run, or of its present run up to now. Called once for each run, before its
 * allocation is forgotten. */
int job_emit_placement(struct job *job, sim_ns now);

/* The jobs among the tenants of the site: jobs_yield.c. */
extern const struct tenant_ops jobs_tenant_ops;

/* The event at the time for which the scheduler asked to be woken. */
void jobs_on_wake(struct engine *engine, struct owner *owner, sim_ns now);

/* Around decide(): job_plan_begin empties the plan; job_plan_end emits its decisions, arms the wake-up and returns 0
 * or the code of the first fault. */
void job_plan_begin(struct jobs *jobs);
int job_plan_end(struct jobs *jobs);

/* Emits the decisions of a plan. Returns 0 or the sink's code. */
int job_plan_emit_actions(const struct job_plan *plan);

/* Emits what the trace skipped or repaired, as far as it was read. Returns 0 or the sink's code. */
int jobs_emit_notes(const struct jobs *jobs);

/* At the end: asks the scheduler for its warnings (finish), and emits them. Returns 0 or the sink's code. */
int job_plan_emit_warnings(struct jobs *jobs);

#endif
