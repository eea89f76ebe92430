/* What a prefix cache of a given size and eviction policy would have found of a trace's blocks.
 *
 * Requests come one after the other and take no time: each asks for its blocks from the first to the last, and those that are
 * absent are put in. A hit is a block of the unbroken prefix that was there; behind the first absent block nothing counts, although
 * what is there is used (it becomes recent). So of one request's blocks, its last one is the most recently used. A last
 * block that is not full counts like the others. */
#ifndef ORRERY_STUDY_CACHE_STAT_H
#define ORRERY_STUDY_CACHE_STAT_H

#include "sim/study/block_log.h"
#include "sim/world/policy/policy.h"

#include <stdint.h>

struct cache_stat_setting {
    const struct policy *evictor;
    const void *params;
    int64_t capacity_blocks; /* >= 1; INT64_MAX: no limit */
    uint64_t seed;
};

struct cache_stat {
    int64_t blocks;       /* asked for */
    int64_t block_hits;   /* found along the unbroken prefixes of requests */
    int64_t blocks_found; /* found, also behind a gap: hits in the sense of paging */
    int64_t evictions;
};

/* `future` is needed by evictors that declare ORACLE_FUTURE; else it may be NULL. Returns 0 or what the cache returned
 * (world/cache.h), with a finding. */
int cache_stat_run(const struct block_log *log, const struct cache_future *future,
                   const struct cache_stat_setting *setting, struct cache_stat *stat, struct diag *diag);

#endif
