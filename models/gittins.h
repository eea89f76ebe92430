/* Gittins index of a job with attained service a, whose size S is drawn from a list of sizes of other jobs, all equally
 * likely:
 *
 *     index(a) = P(S - a <= D | S > a) / E[min(S - a, D) | S > a]
 *
 * the probability of ending within a quantum D of service, over the mean service until then. Tiresias uses one quantum
 * for all (Gu et al., NSDI 2019). Gittins' own index is that of the best quantum; serving the job with the highest
 * index minimises the mean response time on one server if nothing more is known (Gittins 1979; Aalto, Ayesta and
 * Righter 2009).
 *
 * Leaves out sizes between and beyond those listed: from the last one on the index is 0. */
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

/* Fills best[0 .. n]: best[0] for no attained service, best[i] for the i-th size (of equal sizes the last). A longer
 * quantum is better while its additional part alone has a higher index. O(n). */
void gittins_best(const struct gittins *gittins, struct gittins_quantum *best);

/* The index as Tiresias' released simulator computes it, in millionths and rounded as there: at the next size less 1,
 * with the whole sizes in E instead of the rest, E in whole units, and the last size not among those that end. The
 * quantum is at least 1; 0 if E is 0. */
double gittins_index_released(const struct gittins *gittins, double attained, double quantum);

#endif
