/* Rounds, in which Gavel (Narayanan et al., OSDI 2020, section 5) turns an allocation into what runs. An allocation
 * tells which share of its time each job should have on GPUs of each node type. At the start of a round every node
 * type in turn takes jobs, as long as there are GPUs, by the share over the time received there since the allocation
 * was made (plus half a round); equals by what was owed under earlier allocations, then by age. Until the round ends
 * nobody else starts: who is done leaves its GPUs idle. A round ends early when all that ran in it are done.
 *
 * As in the simulator of the paper's authors, an allocation is made anew at the start of a round when jobs have come
 * or gone, but not more often than every `reallocation_ns`, and jobs that came later than the current one do not
 * start: there not even while nothing runs (`idle_waits`), until one arrives when the time is over. With that, time
 * in which nothing ran counts as received by those who run in the round after it: there a round begins when the one
 * before ends.
 *
 * GPUs left over by those with a share go to others in turn; those that jobs without an allocation would take stay
 * free for them.
 *
 * Jobs of equal width may be packed in pairs, each on half of the GPUs' amount, where GPUs are only counted. */
#ifndef ORRERY_POLICIES_SCHEDULER_GAVEL_ROUNDS_H
#define ORRERY_POLICIES_SCHEDULER_GAVEL_ROUNDS_H

#include "sim/world/policy/scheduler.h"

#include <stddef.h>

enum { GAVEL_TYPES = 8 }; /* node types at most */

/* What the parameters of all these policies begin with. */
struct gavel_params {
    sim_ns round_ns, reallocation_ns;
    bool idle_waits;
};

/* Their rows, in a struct whose member `rounds` or which itself is a struct gavel_params. */
#define GAVEL_ROWS(at, waits)                                                                                          \
    ROW_TIME("round", at round_ns, DEFAULT("6min"), AT_LEAST(1e-9), "length of a round"),                              \
        ROW_TIME("reallocation", at reallocation_ns, DEFAULT("32min"), AT_LEAST(0), "least time between allocations"), \
        ROW_BOOL("idle_waits", at idle_waits, DEFAULT(waits),                                                          \
                 "jobs wait for an allocation even while nothing runs, as in the authors' simulator")

/* What a job, or a pair of jobs, is to have and has had of each node type. */
struct gavel_claim {
    double share[GAVEL_TYPES];
    double received_s[GAVEL_TYPES], owed_s[GAVEL_TYPES];
};

struct gavel_job {
    const struct job_view *view;
    struct gavel_claim alone, paired; /* the latter of the older one of a pair */
    struct gavel_job *partner;        /* that it is packed with, or NULL */
    struct gavel_job *ran_with;       /* in the current round */
    int ran_on;                       /* node type in the current round; -1: none */
    int next_on;                      /* in the next one */
    bool is_admitted;                 /* it was there when the allocation was made */
    double left_s, left_rate, alone_s; /* for finish time fairness: at the last allocation, and so far */
    unsigned char states[GAVEL_TYPES + 2]; /* where its part of a linear program starts */
};

struct gavel_rounds;

/* What tells the policies apart. */
struct gavel_rule {
    /* Sets the shares, which are zero, of all jobs. 0 or a negative code. */
    int (*allocate)(struct gavel_rounds *rounds, const struct cluster_view *view);
    bool is_strict; /* jobs without a share on a node type do not run there, even when GPUs are left over */
    bool is_exact;  /* nor do jobs that have received more than their share of it so far */
    bool rotates;   /* another node type chooses first in each round; else always the first */
};

/* Zeroed, then gavel_rounds_init. */
struct gavel_rounds {
    const struct gavel_rule *rule;
    struct gavel_params params;
    struct gavel_job **jobs; /* [n] that are not done, by age */
    struct gavel_candidate *candidates;
    size_t n, capacity, candidates_capacity;
    int types;
    double gpus[GAVEL_TYPES]; /* that there are, in this round */
    const struct cluster_view *views[GAVEL_TYPES];
    sim_ns start_ns, end_ns, allocated_ns; /* of this round, of the one before; of the allocation, -1: none yet */
    int64_t number;           /* of this round */
    bool is_open, is_idle;    /* something runs in it; nobody could run when it was to begin */
    bool is_stale;            /* jobs came or went since the allocation */
    struct job_plan *plan;    /* while one is made */
    int code;                 /* the first failure */
};

/* The parameters of policies that have no others; jobs wait also while nothing runs. */
extern const struct config_field gavel_rounds_fields[];

void gavel_rounds_init(struct gavel_rounds *rounds, const struct gavel_rule *rule, const void *params);
void gavel_rounds_fini(void *state);

/* As struct scheduler has them; the state begins with struct gavel_rounds, a job's slot is a struct gavel_job. */
void gavel_notify(void *state, const struct cluster_view *view, const struct job_note *note);
int gavel_decide(void *state, const struct cluster_view *view, struct job_plan *plan);

/* The speed of a job on so many GPUs of a node type; 0: it cannot run there. */
double gavel_speed_on(const struct gavel_rounds *rounds, const struct gavel_job *job, int type, double gpus);

/* The share of each node type that is the nth part of it for each of n jobs, or pairs: no more than all of the time
 * in sum. */
void gavel_nth_part(const struct gavel_rounds *rounds, double n, double width, double share[GAVEL_TYPES]);

#endif
