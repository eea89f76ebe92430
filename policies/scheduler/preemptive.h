/* Shared by the preemptive schedulers. At every decision all jobs, pending and running, are walked in the policy's
 * order. Each job takes its GPUs if enough are left, and is skipped if not. A skipped running job is preempted; a
 * pending job that is not skipped starts. Equal jobs keep the order of the previous decision, and a new job comes
 * after its equals. So a second decision at the same time, as after a job of length zero, changes nothing for jobs
 * that hold their GPUs. (Equal jobs preempted by two decisions of one moment wait in the order of these decisions.)
 *
 * The walk is not executed. Between two decisions its result changes only where a job arrived or left: running jobs
 * only move toward the front, which leaves less for the jobs they pass. So it suffices to search for the first pending
 * job that now fits behind the running jobs before it, and for the first running job that no longer fits, until there
 * is none. Pending jobs form one ranking per class, running jobs one per speed at which they move toward the front.
 *
 * The walk counts GPUs. If the placer finds no room for a job that fits by count, the walk is repeated without its
 * class, so that jobs preempted for it may continue in place. The class is left out until as many GPUs have become
 * free as the job requests. Until then it only gets GPUs that no other job takes. A placer that splits jobs as needed
 * never refuses. With `keeps_turn` a refused job instead waits with its GPUs counted as its own.
 *
 * Remaining time is wall time: it grows for a job that runs slower than on its requested GPUs, and includes the delay
 * before the job works. */
#ifndef ORRERY_POLICIES_SCHEDULER_PREEMPTIVE_H
#define ORRERY_POLICIES_SCHEDULER_PREEMPTIVE_H

#include "policies/scheduler/pending.h"
#include "sim/world/policy/scheduler.h"

/* The order: by level and then age, by remaining run time (the true one: declare ORACLE_DURATION), or by remaining run
 * time times GPUs. */
enum preemptive_order { BY_LEVEL, BY_TIME_LEFT, BY_GPU_TIME_LEFT };

struct preemptive_job {
    struct ranked ranked; /* first */
    bool waits;          /* is in the ranking of its class */
    bool is_new;         /* has not run since its submission */
    int64_t level;       /* set by the scheduler, BY_LEVEL; the lowest goes first */
    sim_ns remaining_ns; /* while it is pending */
    sim_ns waits_since_ns;
    struct rank ran;     /* its rank among running jobs up to then, unless is_new */
};

struct running_group {
    int32_t gpus; /* GPUs of each job; 0: any */
    struct ranking jobs;
    struct ranked *last; /* last job that a walk from the end has not passed */
};

/* Parameters of schedulers that let the scenario choose whether a refused job keeps its turn. */
struct preemptive_params {
    bool keeps_turn;
};

struct preemptive {
    enum preemptive_order order;
    struct preemptive_params params;
    bool deciding; /* preemption notes come from this decision */
    struct pending pending;
    size_t n_groups, groups_capacity;
    struct running_group *groups; /* fewest GPUs first */
    int64_t running_gpus;         /* GPUs of the jobs in the groups */
    int64_t chosen_gpus;          /* GPUs of the jobs in `starts` */
    int64_t freed_gpus;           /* GPUs freed by all jobs that finished or were interrupted */
    struct ranked_list starts, preemptions; /* of the plan being made */
    struct ranked_list preempted;           /* preempted by this decision so far */
    struct ranked_list tail;                /* the last running jobs, the very last first */
    int64_t tail_gpus;
    sim_ns moment_ns;             /* when a job last began to wait */
    uint64_t moment;              /* number of that moment, in the upper bits */
    uint32_t n_in_moment;         /* jobs that began to wait then */
    int code;                     /* SIM_E_NOMEM once something could not be kept */
};

extern const struct config_field preemptive_fields[];

/* Moves a running job to another level. */
void preemptive_set_level(struct preemptive *preemptive, struct preemptive_job *job, int64_t level, sim_ns now);

/* Functions of struct scheduler for policies with wants_speed_events. The state begins with a struct preemptive, a
 * job's slot with a struct preemptive_job. */
void preemptive_fini(void *state);
void preemptive_notify(void *state, const struct cluster_view *view, const struct job_note *note);
int preemptive_decide(void *state, const struct cluster_view *view, struct job_plan *plan);

/* Defines a scheduler by its order. The other arguments are members of struct policy: name, summary, source, oracle. */
#define PREEMPTIVE_SCHEDULER(symbol, order_, ...)                                                                      \
    static int symbol##_init(void *state, const void *params, struct diag *diag)                                       \
    {                                                                                                                  \
        (void)diag;                                                                                                    \
        struct preemptive *preemptive = state;                                                                         \
        preemptive->params = *(const struct preemptive_params *)params;                                                \
        preemptive->order = order_;                                                                                    \
        return 0;                                                                                                      \
    }                                                                                                                  \
    const struct scheduler symbol = {                                                                                  \
        .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER), .params = preemptive_fields,                              \
                   .params_bytes = sizeof(struct preemptive_params), .state_bytes = sizeof(struct preemptive),         \
                   .init = symbol##_init, .fini = preemptive_fini, __VA_ARGS__},                                       \
        .job_bytes = sizeof(struct preemptive_job), .notify = preemptive_notify, .decide = preemptive_decide,          \
        .wants_speed_events = true, .ignores_estimates = true}

#endif
