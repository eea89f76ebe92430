#include "sim/world/replica/run_clock.h"

/* The positive root of S(k) = t, in the form that does not cancel. */
static double run_clock_root(const struct run_clock *clock, double t_ns)
{
    double b = clock->first_ns - 0.5 * clock->slope_ns;
    double under_root = b * b + 2 * clock->slope_ns * t_ns;
    return under_root > 0 ? 2 * t_ns / (b + sqrt(under_root)) : t_ns / clock->first_ns;
}

int64_t run_clock_first_boundary(const struct run_clock *clock, sim_ns time_ns)
{
    if (time_ns <= run_clock_boundary_ns(clock, 1)) return 1;
    int64_t k = (int64_t)ceil(run_clock_root(clock, (double)(time_ns - clock->anchor_ns)));
    if (k < 1) k = 1;
    while (k > 1 && run_clock_boundary_ns(clock, k - 1) >= time_ns) k--;
    while (run_clock_boundary_ns(clock, k) < time_ns) k++;
    return k;
}
