/* The clock of a run of iterations with one batch. Iteration i lasts first + i * slope. So the time of boundary k, the
 * end of iteration k - 1, is closed-form and does not depend on which boundaries before it were visited. */
#ifndef ORRERY_WORLD_REPLICA_RUN_CLOCK_H
#define ORRERY_WORLD_REPLICA_RUN_CLOCK_H

#include "sim/core/units.h"

#include <math.h>
#include <stdint.h>

struct run_clock {
    sim_ns anchor_ns; /* boundary 0 */
    double first_ns, slope_ns;
};

/* anchor + S(k), rounded half to even, S(k) = k first + k (k - 1) / 2 slope; SIM_NS_MAX when it is past the end of
 * time. */
static inline sim_ns run_clock_boundary_ns(const struct run_clock *clock, int64_t k)
{
    double steps = (double)k, since_ns = steps * clock->first_ns + 0.5 * steps * (steps - 1) * clock->slope_ns;
    return since_ns < 0x1p62 ? sim_ns_add(clock->anchor_ns, llrint(since_ns)) : SIM_NS_MAX;
}

/* The positive root of S(k) = t, in the form that does not cancel. */
static inline double run_clock_root(const struct run_clock *clock, double t_ns)
{
    double b = clock->first_ns - 0.5 * clock->slope_ns;
    double under_root = b * b + 2 * clock->slope_ns * t_ns;
    return under_root > 0 ? 2 * t_ns / (b + sqrt(under_root)) : t_ns / clock->first_ns;
}

/* The first k >= 1 whose boundary is at or after time_ns. Iterations must last at least a nanosecond. */
static inline int64_t run_clock_first_boundary(const struct run_clock *clock, sim_ns time_ns)
{
    if (time_ns <= run_clock_boundary_ns(clock, 1)) return 1;
    int64_t k = (int64_t)ceil(run_clock_root(clock, (double)(time_ns - clock->anchor_ns)));
    if (k < 1) k = 1;
    while (k > 1 && run_clock_boundary_ns(clock, k - 1) >= time_ns) k--;
    while (run_clock_boundary_ns(clock, k) < time_ns) k++;
    return k;
}

#endif
