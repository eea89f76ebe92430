/* The conformance suite of evictors: small caches under access patterns that have caught evictors before, with blocks
 * in use, dropped blocks, and a second cache that takes the blocks evicted from the first one. */
#ifndef ORRERY_STUDY_CONFORM_CACHE_H
#define ORRERY_STUDY_CONFORM_CACHE_H

#include "sim/core/config/config.h"
#include "sim/study/conform_cases.h"
#include "sim/world/rows/sink.h"

extern const struct conform_case conform_cache_cases[];
extern const size_t conform_cache_n_cases;

/* A case with the policies of both caches, bound from the JSON of conform_cache_json by conform_cache_fields. */
struct conform_cache {
    struct config_variant evictor, below;
    int64_t capacity;
};

extern const struct config_field conform_cache_fields[];

void conform_cache_json(const struct conform_case *wanted, const char *policy, const char *partner, struct text *json);

/* Runs a case. Every eviction of both caches, and whether each access hits, is emitted as a decision; its time is one
 * second per earlier access. Returns 0 or a negative code with a finding. */
int conform_cache_run(const struct conform_case *wanted, const struct conform_cache *bound, struct sink *sink,
                      struct diag *diag);

#endif
