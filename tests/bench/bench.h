/* Shared by the benchmarks: the clock they measure with, medians, and the size of a load. */
#ifndef ORRERY_TESTS_BENCH_BENCH_H
#define ORRERY_TESTS_BENCH_BENCH_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { BENCH_REPEATS = 5 };

/* CPU seconds of this process. */
static inline double bench_cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* `n`, or a thousandth of it, at least 1, where BENCH_TINY is set: then a benchmark is only shown to run. */
static inline int bench_load(int n)
{
    const int tiny = n / 1000;
    if (getenv("BENCH_TINY") == NULL) return n;
    return tiny < 1 ? 1 : tiny;
}

/* Sorts the repeats. */
static inline double bench_median(double repeats[BENCH_REPEATS])
{
    qsort(repeats, BENCH_REPEATS, sizeof *repeats, bench_compare);
    return repeats[BENCH_REPEATS / 2];
}

#endif
