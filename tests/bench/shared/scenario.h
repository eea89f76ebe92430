/* A scenario given as text, run and timed in CPU seconds, all in: reading it, set-up, events, decisions, statistics,
 * rows. */
#ifndef ORRERY_TESTS_BENCH_SHARED_SCENARIO_H
#define ORRERY_TESTS_BENCH_SHARED_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

struct bench_outcome {
    double cpu_s, metric;
    uint64_t events;
};

/* Runs with results going to SQLite, in a file that is removed, and returns the metric of that name (0: there is
 * none) with the time. With `rows`, each request and job has one. A scenario that fails ends the program. */
struct bench_outcome bench_scenario(const char *text, const char *metric, bool rows);

#endif
