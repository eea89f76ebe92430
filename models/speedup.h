/* Speedup of a job by more GPUs: s(k) for real k > 0, with s(1) = 1, never decreasing.
 *
 *     linear   s = k
 *     amdahl   s = k / ((1-f) k + f)    f: share of the work that is parallel (Amdahl 1967)
 *     power    s = k^p                  0 < p <= 1
 *     table    straight between the points (k, s), constant after the last one, straight from (0, 0) to the first
 *
 * Below one GPU s = k, except for the power law, where it is optional: half a GPU takes twice as long. Leaves out the
 * cost of a change of k. */
#ifndef ORRERY_MODELS_SPEEDUP_H
#define ORRERY_MODELS_SPEEDUP_H

#include <stdbool.h>
#include <stddef.h>

enum speedup_law { SPEEDUP_LINEAR, SPEEDUP_AMDAHL, SPEEDUP_POWER, SPEEDUP_TABLE };

struct speedup_point {
    double gpus, speed;
};

struct speedup {
    enum speedup_law law;
    double parallel_frac; /* amdahl: 0 .. 1 */
    double exponent;      /* power: above 0, up to 1 */
    bool linear_below_one; /* power */
    size_t n_points;      /* table: at least one, by rising gpus and speeds that do not fall */
    const struct speedup_point *points;
};

/* s(gpus) for gpus > 0; 0 for none. */
double speedup_at(const struct speedup *speedup, double gpus);

#endif
