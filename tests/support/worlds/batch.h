/* Valid worlds that have run, to be run again as the runs of one sweep: in worker processes, through shards, and merged
 * into one database. One process does many worlds, so what a world leaves behind meets the next one. */
#ifndef ORRERY_TESTS_SUPPORT_WORLDS_BATCH_H
#define ORRERY_TESTS_SUPPORT_WORLDS_BATCH_H

#include "sim/catalog/catalog.h"
#include "sim/core/hash.h"

#include <stdint.h>

enum { BATCH_MOST = 100 };

struct batch {
    struct catalog_memory *memory;
    size_t n;
    struct batch_item {
        uint64_t world;
        char *json;
        char hash[HASH_HEX_CHARS]; /* the result that it must have */
    } items[BATCH_MOST];
};

/* Adds a world to a batch that has fewer than BATCH_MOST; copies the texts. */
void batch_add(struct batch *batch, uint64_t world, const char *json, const char *hash);

/* Runs the worlds, calls `found` for each that has another result, and empties the batch. */
void batch_run(struct batch *batch, void (*found)(void *context, uint64_t world, const char *text), void *context);

#endif
