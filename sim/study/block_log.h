/* The prefix blocks of all requests of a trace, in memory: what a cache of them would be asked for. */
#ifndef ORRERY_STUDY_BLOCK_LOG_H
#define ORRERY_STUDY_BLOCK_LOG_H

#include "sim/core/err.h"
#include "sim/world/policy/view.h"
#include "sim/world/rows/source.h"

#include <stddef.h>
#include <stdint.h>

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

#endif
