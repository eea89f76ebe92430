/* orrery trace stat --prefix-cache: tries prefix caches on a trace's blocks. */
#ifndef ORRERY_CLI_TRACE_TRACE_CACHE_H
#define ORRERY_CLI_TRACE_TRACE_CACHE_H

#include "sim/cli/options.h"
#include "sim/core/config/config.h"
#include "sim/study/cache_stat.h"

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

#endif
