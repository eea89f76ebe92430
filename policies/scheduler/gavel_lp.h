/* The linear programs of Gavel (Narayanan et al., OSDI 2020, sections 3 and 4): which share of its time a job spends
 * on GPUs of which type, X, such that an objective is best. Pure functions of jobs and GPUs.
 *
 * All have sum_j X_mj <= 1 and sum_m width_m X_mj <= gpus_j, and differ in what they ask of the rates, sum_j speed_mj
 * X_mj. Jobs that are alike in all that a program knows of them may stand in one kind: the programs are convex, so
 * the mean of what alike jobs get in an optimum is one, too. Packing of two jobs on one GPU is left out. */
#ifndef ORRERY_POLICIES_SCHEDULER_GAVEL_LP_H
#define ORRERY_POLICIES_SCHEDULER_GAVEL_LP_H

#include "policies/lp.h"

#include <stddef.h>

struct gavel_jobs {
    int types, kinds;
    const double *gpus;  /* [types] > 0 */
    const double *count; /* [kinds] jobs of each kind */
    const double *width; /* [kinds] GPUs that each of them takes */
    const double *speed; /* [kinds][types] work per time; 0: cannot run there */
    /* Where the simplex method starts, and ended: of every kind gavel_kind_states(types) bytes, and
     * gavel_common_states(types) of the program. Zeros: from nothing. Whoever keeps them sets those of a new kind to
     * zero and drops those that are gone. */
    unsigned char *kind_states, *common_states;
};

static inline size_t gavel_kind_states(int types)
{
    return (size_t)types + 2;
}

static inline size_t gavel_common_states(int types)
{
    return (size_t)types + 3;
}

/* Every function below writes X [kinds][types] when it returns LP_OPTIMAL. Kinds that can run nowhere get nothing and
 * are left out of the objective. Where an objective leaves a choice, the sum of all rates, each relative to the
 * kind's fastest type, is largest, then that of the kinds that come first. */

/* Maximises the least rate in units of `need` [kinds] > 0, which goes to `level`. */
enum lp_outcome gavel_max_min(const struct gavel_jobs *jobs, const double *need, double *x, double *level);

/* Least attained service: the `need` of gavel_max_min, weight rate(X_equal) / width, where X_equal spreads each job's
 * time over the types as there are GPUs of each: all of it or, with more jobs than GPUs, its nth part of the GPUs. */
void gavel_equal_share(const struct gavel_jobs *jobs, const double *weight, double *need);

/* Maximises the sum of the rates, each relative to the kind's fastest type and times the width, the count and `value`
 * [kinds], while each rate is at least `at_least` [kinds] (NULL: 0). First in, first out: value n for the first of n
 * kinds, 1 for the last. */
enum lp_outcome gavel_max_sum(const struct gavel_jobs *jobs, const double *value, const double *at_least, double *x);

/* Maximises that sum, with value 1, per cost of the GPUs used, `price` [types] > 0 per GPU and time: a
 * linear-fractional program, solved as a linear one (Charnes and Cooper 1962). Of X that differ by a factor the
 * largest. The ratio goes to `ratio`. */
enum lp_outcome gavel_max_per_cost(const struct gavel_jobs *jobs, const double *price, const double *at_least,
                                   double *x, double *ratio);

/* What each job has left, when it would have been alone on its nth part of the cluster, and how old it is. */
struct gavel_finish {
    const double *left;    /* [kinds] work, > 0 */
    const double *age;     /* [kinds] time since its arrival */
    const double *alone;   /* [kinds] time it has or would have spent on its nth part for the work done so far */
};

/* Minimises the largest ratio of the time at which a job will finish to that at which it would have on its nth part
 * (the finish time fairness of Themis): max_m (age + left / rate) / (alone + left / rate_alone), which goes to
 * `worst`. */
enum lp_outcome gavel_min_finish(const struct gavel_jobs *jobs, const struct gavel_finish *finish, double *x,
                                 double *worst);

/* The nth part of every type for each of n jobs, as time shares, no more than 1 in all: X [kinds][types]. */
void gavel_isolated(const struct gavel_jobs *jobs, double *x);

/* The rate of a kind under X. */
double gavel_rate(const struct gavel_jobs *jobs, const double *x, int kind);

#endif
