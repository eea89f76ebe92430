/* The trace of a study as it was recorded. The seeds of a study may replicate a trace (traces/replicate.h): then the
 * study also runs the trace without "replicate", once at each point, under the point's first seed. The metrics of that
 * run stand beside those of the first seed, in the table metric_recorded, and outside of the result and its hash. */
#ifndef ORRERY_CLI_STUDY_RECORDED_H
#define ORRERY_CLI_STUDY_RECORDED_H

#include "sim/cli/run/setup.h"
#include "sim/world/rows/sink.h"

#include <signal.h>

enum recorded_method { RECORDED_NONE, RECORDED_BLOCKS, RECORDED_WINDOWS }; /* blocks if traces have both */

/* How traces of a loaded scenario are replicated. */
enum recorded_method recorded_method_of(const struct setup *setup);

/* Metrics of a run. */
struct recorded {
    struct arena *arena;
    size_t n, capacity;
    struct metric_row *rows; /* in the arena */
};

/* Collects the metrics of a run, which outlive it. */
struct sink recorded_sink(struct recorded *recorded);

/* Runs the recorded trace if `run`, which is loaded as `setup`, is that of the first of several seeds of its point and
 * replicates a trace; not in a search. The memory of catalogs may be NULL. n = 0: the run is
 * not due, or it failed. Returns 0, SIM_E_INTERRUPTED or SIM_E_NOMEM. */
int recorded_find(const struct study *study, const struct study_run *run, const struct setup *setup,
                  struct catalog_memory *memory, const volatile sig_atomic_t *interrupt, struct arena *arena,
                  struct recorded *recorded);

/* Warns, after the study, if the recorded trace failed at points whose first seed ran. Says at how many, and why at the
 * first of them, whose recorded trace is run again. `output`: the results. Returns 0 or a negative code. */
int recorded_warn(const struct study *study, const char *output, const struct plugins *plugins,
                  const volatile sig_atomic_t *interrupt, struct diag *diag);

#endif
