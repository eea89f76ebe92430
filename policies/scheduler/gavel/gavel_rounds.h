/* Rounds, in which Gavel (Narayanan et al., OSDI 2020, section 5) turns an allocation into running jobs. An allocation
 * is the share of its time that each job should have on GPUs of each node type. At the start of a round every node
 * type in turn takes jobs while it has GPUs. Jobs are ordered by the share over the time received there since the
 * allocation (plus half a round), then by the time owed under earlier allocations, then by age. No job starts within a
 * round: GPUs of finished jobs stay idle. A round ends early when all its jobs have finished.
 *
 * As in the authors' simulator, the start of a round computes a new allocation if jobs have arrived or finished, but
 * not more often than every `reallocation_ns`. Jobs that arrived after the current allocation do not start. With
 * `idle_waits` they wait even while nothing runs, until a job arrives after that time. With `idle_waits` a round also
 * begins when the previous one ends. Idle time between rounds then counts as received by the jobs of the next round.
 *
 * Jobs of CPUs alone are no part of allocations and rounds: they start when they fit and are never preempted.
 *
 * GPUs left over by jobs with a share go to others in turn. GPUs that jobs without an allocation would take stay free
 * for them.
 *
 * Jobs of equal width may be packed in pairs, if GPUs are only counted. Two jobs whose types have speeds beside each
 * other (job_view_shared_speed) share the same GPUs. Of others, each has half of the GPUs.
 *
 * Allocations and rounds look at all unfinished jobs, so the cost of a round grows with them. `depth` bounds it: only
 * the oldest `depth` jobs take part, and a younger one enters when one of them finishes. */
#ifndef ORRERY_POLICIES_SCHEDULER_GAVEL_GAVEL_ROUNDS_H
#define ORRERY_POLICIES_SCHEDULER_GAVEL_GAVEL_ROUNDS_H

#include "policies/scheduler/cpu_jobs.h"
#include "sim/world/policy/scheduler.h"

#include <stddef.h>

enum { GAVEL_TYPES = 8 }; /* largest number of node types */

/* First member of the parameters of all these policies. */
struct gavel_params {
    sim_ns round_ns, reallocation_ns;
    bool idle_waits;
    int64_t depth; /* most jobs in allocations and rounds; 0: all */
};

/* Their rows. `at` is the path from ROW_OF to struct gavel_params: `rounds.`, or nothing. */
#define GAVEL_ROWS(at, waits)                                                                                          \
    ROW_TIME("round", at round_ns, DEFAULT("6min"), AT_LEAST(1e-9), "length of a round"),                              \
        ROW_TIME("reallocation", at reallocation_ns, DEFAULT("32min"), AT_LEAST(0), "least time between two computations of the shares"), \
        ROW_BOOL("idle_waits", at idle_waits, DEFAULT(waits),                                                          \
                 "new jobs wait for the next computation of the shares even if nothing runs, as in the authors' simulator"), \
        ROW_INT("depth", at depth, DEFAULT("0"), WITHIN(0, 1e9),                                                       \
                "only the oldest jobs take part in the rounds, at most so many, which bounds the cost of a round; 0: all")

/* Share of each node type, and time received and owed there, of a job or a pair of jobs. */
struct gavel_claim {
    double share[GAVEL_TYPES];
    double received_s[GAVEL_TYPES], owed_s[GAVEL_TYPES];
};

struct gavel_job {
    const struct job_view *view;
    struct gavel_claim alone, paired; /* paired: kept by the older job of a pair */
    struct gavel_job *partner;        /* packed with it; NULL: none */
    struct gavel_job *ran_with;       /* partner in the current round */
    struct gavel_job *shares_with;    /* on the same GPUs; NULL: none */
    int ran_on;                       /* node type in the current round; -1: none */
    int next_on;                      /* node type in the next round; -1: none */
    bool is_admitted;                 /* it was in the system at the latest allocation */
    bool is_known, possible[GAVEL_TYPES]; /* whether possible[] is set: node types with nodes that it fits on */
    double left_s, left_rate, alone_s; /* for finish time fairness: at the last allocation, and so far */
};

struct gavel_rounds;

/* What differs between the policies. */
struct gavel_rule {
    /* Sets the shares of all jobs, which are zero before. Returns 0 or a negative code. */
    int (*allocate)(struct gavel_rounds *rounds, const struct cluster_view *view);
    bool is_strict; /* jobs do not run on a node type without a share of it, even on left-over GPUs */
    bool is_exact;  /* nor once they have received more than their share of it so far */
    bool rotates;   /* a different node type chooses first in each round; else always the first */
};

/* Zeroed, then gavel_rounds_init. */
struct gavel_rounds {
    const struct gavel_rule *rule;
    struct gavel_params params;
    struct gavel_job **jobs; /* [n] unfinished jobs with GPUs, by age; with a depth the oldest of them */
    struct gavel_candidate *candidates;
    size_t n, capacity, candidates_capacity;
    struct gavel_job **later; /* [later_first, n_later) younger jobs, which wait for a place in jobs[], by age */
    size_t later_first, n_later, later_capacity;
    int64_t n_running;                         /* of jobs[] */
    struct cpu_jobs cpu_jobs;
    int types;
    double gpus[GAVEL_TYPES]; /* GPUs of each node type in this round */
    const struct cluster_view *views[GAVEL_TYPES];
    sim_ns start_ns, end_ns, allocated_ns; /* this round, end of the last, allocation; -1: none */
    int64_t number;           /* of this round */
    bool is_open, is_idle;    /* jobs run in it; it was to begin but no job could run */
    bool is_stale;            /* jobs arrived or finished since the allocation */
    struct job_plan *plan;    /* during a decision */
    int code;                 /* of the first failure */
};

/* Parameters of policies without others; idle_waits is true by default. */
extern const struct config_field gavel_rounds_fields[];

void gavel_rounds_init(struct gavel_rounds *rounds, const struct gavel_rule *rule, const void *params);
void gavel_rounds_fini(void *state);

/* Functions of struct scheduler. The state begins with a struct gavel_rounds; a job's slot is a struct gavel_job,
 * or that of a job of CPUs alone a struct ranked. */
void gavel_notify(void *state, const struct cluster_view *view, const struct job_note *note);
int gavel_decide(void *state, const struct cluster_view *view, struct job_plan *plan);
/* Returns 0, or SIM_E_CONFIG for more than GAVEL_TYPES node types. */
int gavel_check_types(void *state, const struct cluster_view *view, struct diag *diag);

/* Speed of a job on this many GPUs of a node type; 0: it cannot run there. */
double gavel_speed_on(const struct gavel_rounds *rounds, const struct gavel_job *job, int type, double gpus);

/* Speed of a job packed with another one of equal width, and whether their types have speeds beside each other. */
double gavel_packed_speed(const struct gavel_rounds *rounds, const struct gavel_job *job, const struct gavel_job *with,
                          int type);
bool gavel_shares(const struct gavel_rounds *rounds, const struct gavel_job *job, const struct gavel_job *with,
                  int type);

/* Makes a pair of two single jobs, or two single jobs of a pair. */
void gavel_pair(struct gavel_job *a, struct gavel_job *b);
void gavel_split_pair(struct gavel_job *job);

/* One nth of each node type as time shares, for n jobs or pairs of this width. The sum is at most 1. */
void gavel_nth_part(const struct gavel_rounds *rounds, double n, double width, double share[GAVEL_TYPES]);

/* Defines a scheduler by its rule. `state` is the type of its state, which begins with struct gavel_rounds. The other
 * arguments are members of struct policy: name, summary, source. */
#define GAVEL_SCHEDULER(symbol, rule, state, notify_, fini_, ...)                                                      \
    static int symbol##_init(void *at, const void *params, struct diag *diag)                                          \
    {                                                                                                                  \
        (void)diag;                                                                                                    \
        gavel_rounds_init(at, &(rule), params);                                                                        \
        return 0;                                                                                                      \
    }                                                                                                                  \
    const struct scheduler symbol = {                                                                                  \
        .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER), .params = gavel_rounds_fields,                            \
                   .params_bytes = sizeof(struct gavel_params), .state_bytes = sizeof(state), .init = symbol##_init,   \
                   .fini = fini_, __VA_ARGS__},                                                                        \
        .job_bytes = sizeof(struct gavel_job), .notify = notify_, .decide = gavel_decide, .uses_node_types = true,     \
        .prepare = gavel_check_types, .ignores_estimates = true}

#endif
