/* What the preemptive schedulers share: at every decision all jobs, pending and running, are walked in the policy's
 * order, each takes its GPUs if enough are left and is skipped if not; who is skipped and runs is preempted, who is
 * not and waits starts. Equal jobs keep the order they had at the decision before; a new job comes after its equals.
 * So asking again in the same moment, as happens when a job of no length ends, changes nothing for those who have
 * their GPUs. (Equal jobs that two decisions of one moment preempt wait in the order of these.)
 *
 * The walk is not made. Between two decisions its result changes only where a job came or left: running jobs only
 * come nearer to the front, which leaves less for those they pass. So it is enough to look for the first pending job
 * that now fits behind the running jobs before it, and for the first running job that no longer does, until there is
 * none. Pending jobs lie in one ranking per class; running ones in one ranking per speed at which they move to the
 * front.
 *
 * The walk counts GPUs. When the placer finds no room for a job that fits by count, the walk is made anew without its
 * class, so that those preempted for it may go on where they were. The class is left out until as many GPUs have come
 * free as the job wants; up to then it only gets what nobody else takes. A placer that splits jobs as needed never
 * refuses. With `keeps_turn` a job that was refused waits with its GPUs counted as its own instead.
 *
 * Time left is time: a job that runs slower than on what it asked for has more of it, and what a job will wait before
 * it works counts. */
#ifndef ORRERY_POLICIES_SCHEDULER_PREEMPTIVE_H
#define ORRERY_POLICIES_SCHEDULER_PREEMPTIVE_H

#include "policies/scheduler/pending.h"
#include "sim/world/policy/scheduler.h"

/* The order: by the job's level and then age, by run time left (true one: declare ORACLE_DURATION), or by run time
 * left times GPUs. */
enum preemptive_order { BY_LEVEL, BY_TIME_LEFT, BY_GPU_TIME_LEFT };

struct preemptive_job {
    struct ranked ranked; /* first */
    bool waits;          /* is in the ranking of its class */
    bool is_new;         /* waits since its submission */
    int64_t level;       /* the scheduler's own, BY_LEVEL; the lowest goes first */
    sim_ns remaining_ns; /* while it waits */
    sim_ns waits_since_ns;
    struct rank ran;     /* its place among running jobs up to then, unless is_new */
};

struct running_group {
    int32_t gpus; /* of its jobs; 0: of any */
    struct ranking jobs;
    struct ranked *last; /* of the jobs that a walk from the end has not passed */
};

/* Of schedulers that take whether a refused job keeps its turn from the scenario. */
struct preemptive_params {
    bool keeps_turn;
};

struct preemptive {
    enum preemptive_order order;
    struct preemptive_params params;
    bool deciding; /* preemptions that the world tells of are our own */
    struct pending pending;
    size_t n_groups, groups_capacity;
    struct running_group *groups; /* fewest GPUs first */
    int64_t running_gpus;         /* of the jobs in the groups */
    int64_t chosen_gpus;          /* of the jobs in `starts` */
    int64_t freed_gpus;           /* by all jobs that finished */
    uint64_t capacity_epoch;      /* of the view at the last decision */
    struct ranked_list starts, preemptions; /* of the plan being made */
    struct ranked_list preempted;           /* by this decision so far */
    struct ranked_list tail;                /* the last running jobs, the very last first */
    int64_t tail_gpus;
    sim_ns moment_ns;             /* when a job last began to wait */
    uint64_t moment;              /* the number of that moment, in the upper bits */
    uint32_t n_in_moment;         /* jobs that began to wait then */
    int code;                     /* SIM_E_NOMEM once something could not be kept */
};

extern const struct config_field preemptive_fields[];

/* Moves a running job to another level. */
void preemptive_set_level(struct preemptive *preemptive, struct preemptive_job *job, int64_t level, sim_ns now);

/* For policies that hear the pace and whose state is a struct preemptive and whose state per job begins with a struct
 * preemptive_job. */
void preemptive_fini(void *state);
void preemptive_notify(void *state, const struct cluster_view *view, const struct job_note *note);
int preemptive_decide(void *state, const struct cluster_view *view, struct job_plan *plan);

#endif
