/* Results of `orrery trace check` and `orrery trace stat`, as text, LaTeX, JSON and CSV. */
#ifndef ORRERY_CLI_TRACE_TRACE_REPORT_H
#define ORRERY_CLI_TRACE_TRACE_REPORT_H

#include "sim/cli/answer.h"
#include "sim/cli/options.h"
#include "sim/core/config/config.h"
#include "sim/study/cache_stat.h"
#include "traces/check.h"
#include "traces/stat.h"

#include <stdbool.h>
#include <stdio.h>

/* --- Prefix caches that `--prefix-cache` tries on a trace's blocks --- */

/* A policy at one capacity, and its result. */
struct trace_cache {
    const char *policy; /* with its parameters, as written */
    struct cache_stat_setting setting;
    struct cache_stat found;
};

struct trace_caches {
    struct arena arena;
    size_t n;
    struct trace_cache *items; /* in the order asked for */
};

/* Reads texts like "lru=1000,inf" and "phase-bit:error=0.1=1000": a policy, its parameters, capacities in blocks.
 * Returns 0 or a negative code with findings; trace_caches_fini may follow either. */
int trace_caches_read(const struct option_texts *texts, const struct config_families *families, uint64_t seed,
                      struct trace_caches *caches, struct diag *diag);
void trace_caches_fini(struct trace_caches *caches);

/* Runs all caches. Returns 0, SIM_E_DATA if the trace names no blocks, or a negative code. */
int trace_caches_run(struct trace_caches *caches, struct block_log *log, struct diag *diag);

/* --- Printing --- */

void trace_report_check(const struct trace_check *check, const char *path, bool requests, FILE *out);

/* Prints the statistics, and the prefix caches that were tried. Returns 0 or SIM_E_NOMEM. */
int trace_report_stat(const struct trace_stat *stat, bool requests, const struct trace_caches *caches,
                      enum answer_form form, FILE *out);

#endif
