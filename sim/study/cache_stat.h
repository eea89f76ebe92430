/* The hits a prefix cache with a given size and eviction policy would have on a trace's blocks.
 *
 * Requests arrive one after the other and take no time: each looks up its blocks in order, and absent blocks are
 * inserted. A hit is a block of the unbroken prefix that is present. Blocks behind the first absent block do not
 * count, although present ones become recent. The last block of a request is thus its most recently used one. A
 * partial last block counts like a full one. */
#ifndef ORRERY_STUDY_CACHE_STAT_H
#define ORRERY_STUDY_CACHE_STAT_H

#include "sim/core/err.h"
#include "sim/world/policy/eviction.h"
#include "sim/world/rows/source.h"

#include <stddef.h>
#include <stdint.h>

/* The prefix blocks of all requests of a trace, in memory. */
struct block_log {
    size_t n_requests, n_blocks, requests_capacity, blocks_capacity;
    int32_t *lengths;    /* [n_requests] blocks per request */
    uint64_t *keys;      /* [n_blocks] of all requests, one after the other */
    int64_t *next_uses;  /* [n_blocks], after block_log_future */
};

/* An empty log is all zero. */
void block_log_fini(struct block_log *log);
int block_log_add(struct block_log *log, const uint64_t *keys, int32_t n); /* 0 or SIM_E_NOMEM */

/* The next use of each block, if the blocks of all requests are looked up in order. `future` borrows from the log,
 * which must not grow afterwards. Returns 0 or SIM_E_NOMEM. */
int block_log_future(struct block_log *log, struct cache_future *future);

/* A source that forwards the records of `inner` and logs their blocks. It does not close `inner`; `inner` and the
 * log must outlive its use. */
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
    int64_t blocks;       /* looked up */
    int64_t block_hits;   /* present, in unbroken prefixes of requests */
    int64_t blocks_found; /* present, also behind a gap: hits in the sense of paging */
    int64_t evictions;
};

/* Evictors that declare ORACLE_FUTURE need `future`; else it may be NULL. Returns 0 or the cache's code
 * (sim/world/kv/cache.h), with a finding. */
int cache_stat_run(const struct block_log *log, const struct cache_future *future,
                   const struct cache_stat_setting *setting, struct cache_stat *stat, struct diag *diag);

#endif
