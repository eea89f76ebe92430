/* The result of every kernel model, and functions that the models share: maxima, a soft maximum, rounding up. */
#ifndef ORRERY_MODELS_OPERATORS_KERNEL_TIME_H
#define ORRERY_MODELS_OPERATORS_KERNEL_TIME_H

#include <math.h>
#include <stdint.h>

/* The parts overlap, so `seconds` is less than their sum and at least each of them. */
struct kernel_time {
    double seconds;
    double compute_s, memory_s, network_s, overhead_s; /* each alone */
    double flop, bytes, link_bytes; /* the work: operations and memory traffic, each operand once but for
                                      write_passes (attention.h); what one GPU sends over its link */
};

/* Of two numbers: fmax() and fmin() without their calls. */
static inline double larger_of(double a, double b)
{
    return a > b ? a : b;
}

static inline double smaller_of(double a, double b)
{
    return a < b ? a : b;
}

/* The maximum of two times that overlap in part: (a^p + b^p)^(1/p), the p-norm. For p -> infinity it is the roofline's
 * hard maximum, for p = 1 the two times follow one another. a, b >= 0, p > 0. Never below either of them. */
static inline double soft_max(double a, double b, double p)
{
    const double larger = a > b ? a : b, smaller = a > b ? b : a;
    if (smaller <= 0.0) return larger;
    return larger * pow(1.0 + pow(smaller / larger, p), 1.0 / p);
}

/* The same for p = 2 and p = 4, without pow. */
static inline double soft_max_2(double a, double b)
{
    return sqrt(a * a + b * b);
}

static inline double soft_max_4(double a, double b)
{
    return sqrt(soft_max_2(a * a, b * b));
}

/* The next whole number, for 0 <= x < 2^53: ceil() without its call. */
static inline double round_up(double x)
{
    const double whole = (double)(int64_t)x;
    return whole < x ? whole + 1.0 : whole;
}

#endif
