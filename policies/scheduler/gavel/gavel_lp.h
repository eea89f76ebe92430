/* The linear programs of Gavel (Narayanan et al., OSDI 2020, sections 3 and 4): the share of its time X that a job
 * spends on each GPU type, such that an objective is best. Pure functions of jobs and GPUs.
 *
 * All programs have sum_j X_mj <= 1 and sum_m width_m X_mj <= gpus_j. They differ in their demands on the rates, sum_j
 * speed_mj X_mj. Jobs that a program cannot tell apart may form one kind. The programs are convex, so the mean over
 * alike jobs in an optimum is an optimum too. Packing of two jobs on one GPU is left out. */
#ifndef ORRERY_POLICIES_SCHEDULER_GAVEL_GAVEL_LP_H
#define ORRERY_POLICIES_SCHEDULER_GAVEL_GAVEL_LP_H

#include "policies/lp.h"

#include <stddef.h>

struct gavel_jobs {
    int types, kinds;
    const double *gpus;  /* [types] whole numbers; 0: none can run there, all speeds are 0 */
    const double *count; /* [kinds] jobs of each kind */
    const double *width; /* [kinds] GPUs of each such job */
    const double *speed; /* [kinds][types] work per time; 0: cannot run there */
};

/* Every function below writes X [kinds][types] if it returns LP_OPTIMAL. Kinds that can run nowhere get nothing and do
 * not enter the objective; what they need is ignored. Of equal optima gavel_max_min finds one whose sum of relative
 * rates is within about 1 % of the largest. There the first kinds come first, on the first types. The others find any
 * optimum, always the same. */

/* Maximises the least rate in units of `need` [kinds] > 0; `level` gets that rate. */
enum lp_outcome gavel_max_min(const struct gavel_jobs *jobs, const double *need, double *x, double *level);

/* gavel_max_min and gavel_max_sum for one set of numbers after another of the same jobs. Each begins where the last
 * one of its kind ended. NULL: out of memory. The jobs outlive it. */
struct gavel_levels;
struct gavel_levels *gavel_levels_create(const struct gavel_jobs *jobs);
void gavel_levels_destroy(struct gavel_levels *levels);
enum lp_outcome gavel_levels_max_min(struct gavel_levels *levels, const double *need, double *x, double *level);
enum lp_outcome gavel_levels_max_sum(struct gavel_levels *levels, const double *value, const double *at_least,
                                     double *x);

/* Least attained service: the `need` of gavel_max_min, weight rate(X_equal) / width. X_equal spreads each job's time
 * over the types in proportion to their GPUs: all its time or, with more jobs than GPUs, its nth part of the GPUs. */
void gavel_equal_share(const struct gavel_jobs *jobs, const double *weight, double *need);

/* Maximises the sum of the rates, each relative to the kind's fastest type and times width, count and `value` [kinds].
 * Each rate is at least `at_least` [kinds] (NULL: 0). First in, first out: value n for the first of n kinds, 1 for the
 * last. */
enum lp_outcome gavel_max_sum(const struct gavel_jobs *jobs, const double *value, const double *at_least, double *x);

/* Maximises that sum, with value 1, per cost of the GPUs used, `price` [types] > 0 per GPU and time. One linear
 * program after another leads to the best ratio (Dinkelbach 1967). Among X that differ by a factor it finds the
 * largest. `ratio` gets the ratio. */
enum lp_outcome gavel_max_per_cost(const struct gavel_jobs *jobs, const double *price, const double *at_least,
                                   double *x, double *ratio);

/* Maximises the sum of raw rates, count rate_k speed_kj X_kj, each over `price` [types] > 0 of its type (NULL: 1).
 * `rate` [kinds] is that of a job at speed 1, such as steps per second. Each rate is at least `at_least` [kinds] (NULL:
 * 0), in units of speed. It is the form of Gavel's released code, in which types of jobs with many short steps count
 * most, and GPUs are used at any price. */
enum lp_outcome gavel_max_raw(const struct gavel_jobs *jobs, const double *rate, const double *price,
                              const double *at_least, double *x);

/* Remaining work, age, and time on the nth part of the cluster of each job. */
struct gavel_finish {
    const double *left;    /* [kinds] remaining work, > 0 */
    const double *age;     /* [kinds] time since its arrival */
    const double *alone;   /* [kinds] time that the work done so far takes on its nth part */
};

/* Minimises the largest ratio of a job's finish time to that on its nth part (the finish time fairness of Themis):
 * max_m (age + left / rate) / (alone + left / rate_alone). `worst` gets the ratio. */
enum lp_outcome gavel_min_finish(const struct gavel_jobs *jobs, const struct gavel_finish *finish, double *x,
                                 double *worst);

/* One nth of every type for each of n jobs, as time shares of at most 1 in all: X [kinds][types]. */
void gavel_isolated(const struct gavel_jobs *jobs, double *x);

/* The rate of a kind under X. */
double gavel_rate(const struct gavel_jobs *jobs, const double *x, int kind);

#endif
