/* Gittins index of a job with attained service a, whose size S is drawn from a list of sizes of other jobs, all equally
 * likely:
 *
 *     index(a) = P(S - a <= D | S > a) / E[min(S - a, D) | S > a]
 *
 * the probability of ending within a quantum D of service, over the mean service that this takes. Tiresias takes one
 * quantum for all (Gu et al., NSDI 2019); Gittins' own index is that of the best quantum, and serving the highest one
 * minimises the mean response time of jobs on one server that know no more (Gittins 1979; Aalto, Ayesta and Righter
 * 2009).
 *
 * Leaves out the sizes between and beyond those listed: at the last one and beyond the index is 0. */
#ifndef ORRERY_MODELS_GITTINS_H
#define ORRERY_MODELS_GITTINS_H

#include <stddef.h>

/* Sizes that are not negative, in any unit of service. */
struct gittins {
    size_t n;
    const double *sizes; /* [n], rising */
    const double *sums;  /* [n + 1]: of the first i sizes */
};

/* Fills sums[0 .. n]. */
void gittins_sum(const double *sizes, size_t n, double *sums);

/* The number of sizes <= this one. O(log n). */
size_t gittins_ended(const struct gittins *gittins, double attained);

/* The index with a quantum > 0, which may be INFINITY: then it is 1 / mean size left. Per unit of service; O(log n). */
double gittins_index(const struct gittins *gittins, double attained, double quantum);

/* The best quantum from an attained service on: its index, and the number of sizes <= its end. */
struct gittins_quantum {
    double index;
    size_t end;
};

/* Fills best[0 .. n]: best[0] where nothing has been attained, best[i] where the i-th size has: of equal ones the last
 * counts. A longer quantum is better as long as what it adds has a higher index alone. O(n). */
void gittins_best(const struct gittins *gittins, struct gittins_quantum *best);

/* What Tiresias' released simulator takes for the index, in millionths and rounded as there: the index at the next size
 * less 1, with the sizes themselves in E for what is left of them, E in whole units, and without the last one among
 * those that end. Of a quantum of at least 1; 0 where E is. */
double gittins_index_released(const struct gittins *gittins, double attained, double quantum);

#endif
