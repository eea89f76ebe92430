/* Shared by schedulers of elastic jobs. At the multiples of a round they choose a number of GPUs and a node type for
 * every job. A job whose GPUs change stops and starts anew with the wait of jobs.restart; the others run on.
 *
 * Jobs that get most start first. If the placer finds no room for a job, it gets fewer GPUs, in whole ranks, unless the
 * scheduler gives all or none. When nothing could start at all, jobs get the GPUs that they requested, in order of
 * submission. */
#ifndef ORRERY_POLICIES_SCHEDULER_GOODPUT_ELASTIC_H
#define ORRERY_POLICIES_SCHEDULER_GOODPUT_ELASTIC_H

#include "policies/scheduler/cpu_jobs.h"
#include "policies/scheduler/goodput/knapsack.h"
#include "sim/world/policy/scheduler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELASTIC_TYPES = KNAPSACK_TYPES };

/* A job's slot. Of jobs without GPUs only `waiting` is used. */
struct elastic_job {
    struct ranked waiting;
    const struct job_view *view;
    int32_t gpus, type;  /* chosen for this round; gpus 0: none */
    int32_t most_held;   /* GPUs in any of its runs so far */
    int32_t n_starts;
    sim_ns until_ns;     /* end of its lease, for schedulers with leases */
};

struct elastic_params {
    sim_ns round_ns;
    int64_t depth, most_gpus;
};

#define ELASTIC_ROWS(at, round)                                                                                        \
    ROW_TIME("round", at round_ns, DEFAULT(round), AT_LEAST(1e-3), "time between two decisions"),                      \
        ROW_INT("depth", at depth, DEFAULT("2000"), WITHIN(1, 1e9),                                                    \
                "only the oldest jobs take part, at most so many, which bounds the cost of a decision"),               \
        ROW_INT("most_gpus", at most_gpus, DEFAULT("64"), WITHIN(1, 1e6),                                              \
                "most GPUs that a job gets, unless it requests more")

struct elastic;

/* How a scheduler differs from others. */
struct elastic_rule {
    /* Sets gpus and type of the first n jobs, which are 0 before. Returns 0 or a negative code. */
    int (*choose)(struct elastic *elastic, const struct cluster_view *view);
    bool is_gang;  /* jobs get all chosen GPUs or none */
    bool one_type; /* only the cluster's own nodes are used: no uses_node_types */
    const char *stops, *starts; /* reasons */
};

/* The state of such a scheduler begins with it. */
struct elastic {
    struct elastic_params params;
    const struct elastic_rule *rule;
    struct cpu_jobs cpu_jobs;
    struct elastic_job **jobs; /* by order of submission */
    size_t n_all, capacity;
    size_t n; /* that take part in this round */
    int types;
    const struct cluster_view *views[ELASTIC_TYPES];
    int64_t gpus[ELASTIC_TYPES]; /* that jobs may use */
    struct elastic_job **chosen; /* [n_all] */
    size_t chosen_capacity;
    sim_ns decided_ns; /* the last round; -1: none */
    int code;
};

void elastic_init(struct elastic *elastic, const struct elastic_rule *rule, const struct elastic_params *params);
void elastic_fini(void *state);
void elastic_notify(void *state, const struct cluster_view *view, const struct job_note *note);
int elastic_decide(void *state, const struct cluster_view *view, struct job_plan *plan);

/* Speed of the job on so many GPUs of a node type; 0: it cannot run there. */
double elastic_speed(const struct elastic *elastic, const struct elastic_job *job, int type, int32_t gpus);

/* The most GPUs of a node type that the job may get. */
int32_t elastic_most_gpus(const struct elastic *elastic, const struct elastic_job *job, int type);

/* The fewest GPUs of a node type on which the job runs, at most `elastic_most_gpus`; 0: it runs on none. More than 1
 * for jobs whose ranks fill several GPUs: such a job gets multiples of them. */
int32_t elastic_least_gpus(const struct elastic *elastic, const struct elastic_job *job, int type);

/* Most GPUs of a job that explores: twice as many as it has ever held, or `least` if these are more; at most
 * `most`. */
int32_t elastic_explored_gpus(const struct elastic_job *job, int32_t least, int32_t most);

/* The multiple of the job's ranks (job_view_rank_gpus) that `gpus` GPUs hold. */
int32_t elastic_whole_ranks(const struct elastic_job *job, int32_t gpus);

/* The next larger number of GPUs, in steps of `unit`, on which the job is faster than on its own; 0: none. */
int32_t elastic_next_faster(const struct elastic *elastic, const struct elastic_job *job, int32_t unit);

/* All GPUs of all node types. */
int64_t elastic_all_gpus(const struct elastic *elastic);

/* Whether these are the GPUs that the job holds. */
static inline bool elastic_is_held(const struct elastic_job *job, int type, int32_t gpus)
{
    return job->view->state == JOB_RUNNING && job->view->node_type == type && job->view->held_gpus == gpus;
}

/* Work that is left by the user's estimate, in seconds on the GPUs that the job requested; above 0. */
double elastic_left_s(const struct cluster_view *view, const struct elastic_job *job);

/* Pollux's discount on other GPUs than the job holds: (age - restarts x wait) / (age + wait), at least 0. */
double elastic_restart_factor(const struct cluster_view *view, const struct elastic_job *job, double wait_s);

/* --- Choices for a knapsack --- */

/* Zero-initialised. */
struct elastic_choices {
    struct knapsack_choice *items;
    size_t n, capacity;
    size_t *starts; /* [jobs + 1] */
    size_t n_starts, starts_capacity;
    int32_t *picked; /* [jobs] */
    size_t picked_capacity;
};

void elastic_choices_fini(struct elastic_choices *choices);

/* Empties the list; starts the choices of the next job; adds one. All return 0 or SIM_E_NOMEM. */
int elastic_choices_begin(struct elastic_choices *choices, size_t jobs);
int elastic_choices_next(struct elastic_choices *choices);
int elastic_choices_add(struct elastic_choices *choices, double value, int type, int32_t gpus);

/* Gives the elastic jobs what maximises the sum of values. Returns as knapsack_solve. */
int elastic_choices_apply(struct elastic_choices *choices, struct elastic *elastic);

#endif
