/* Clocks of the program's own execution; simulated time is sim_ns (sim/core/units.h). */
#ifndef ORRERY_CLI_RUN_CLOCK_H
#define ORRERY_CLI_RUN_CLOCK_H

#include <time.h>

static inline double clock_read_s(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds since a fixed moment. */
static inline double clock_wall_s(void)
{
    return clock_read_s(CLOCK_MONOTONIC);
}

/* Processor time of all threads so far. */
static inline double clock_cpu_s(void)
{
    return clock_read_s(CLOCK_PROCESS_CPUTIME_ID);
}

#endif
