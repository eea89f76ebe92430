/* What a prefix cache of a given size and eviction policy would have found of a trace's blocks.
 *
 * Requests come one after the other and take no time: each asks for its blocks from the first to the last, and those that are
 * absent are put in. A hit is a block of the unbroken prefix that was there; behind the first absent block nothing counts, although
 * what is there is used (it becomes recent). So of one request's blocks, its last one is the most recently used. A last
 * block that is not full counts like the others. */
#ifndef ORRERY_STUDY_CACHE_STAT_H
#define ORRERY_STUDY_CACHE_STAT_H

#include "sim/core/err.h"
#include "sim/world/policy/policy.h"
#include "sim/world/policy/view.h"
#include "sim/world/rows/source.h"

#include <stddef.h>
#include <stdint.h>

/* The prefix blocks of all requests of a trace, in memory. */
struct block_log {
    size_t n_requests, n_blocks, requests_capacity, blocks_capacity;
    int32_t *lengths;    /* [n_requests]: blocks of each */
    uint64_t *keys;      /* [n_blocks]: of all requests in a row */
    int64_t *next_uses;  /* [n_blocks], once asked for */
};

/* Zeroed, a log is empty. */
void block_log_fini(struct block_log *log);
int block_log_add(struct block_log *log, const uint64_t *keys, int32_t n); /* 0 or SIM_E_NOMEM */

/* What is still to come at each access, when all blocks of all requests are asked for in a row. `future` borrows from the log, to
 * which nothing is added any more. Returns 0 or SIM_E_NOMEM. */
int block_log_future(struct block_log *log, struct cache_future *future);

/* A source that hands on the records of another one and logs their blocks on the way. The inner one is not closed by it, and
 * both must outlive its use. */
struct logging_source {
    struct request_source source;
    struct request_source *inner;
    struct block_log *log;
};

void logging_source_init(struct logging_source *logging, struct request_source *inner, struct block_log *log);

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
