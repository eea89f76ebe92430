/* Ids of the prompt blocks of the current row, and the block size of the trace. */
#ifndef ORRERY_TRACES_FORMATS_PREFIX_BLOCKS_H
#define ORRERY_TRACES_FORMATS_PREFIX_BLOCKS_H

#include "sim/world/rows/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct prefix_blocks {
    size_t n, capacity;
    uint64_t *ids;
};

void *prefix_blocks_create(void); /* NULL when out of memory */
void prefix_blocks_destroy(void *blocks);
bool prefix_blocks_add(struct prefix_blocks *blocks, uint64_t id); /* false when out of memory */

/* Lends the ids to a record, until the next row. */
void prefix_blocks_give(const struct prefix_blocks *blocks, int64_t block_tokens, struct request_record *request);

/* The parameter "block_tokens", of a params_struct with this member. */
#define PREFIX_BLOCK_PARAM(params_struct)                                                                              \
    TRACE_PARAM(params_struct, block_tokens, "block_tokens", CONFIG_INT, "512", 1, 1e6, "tokens per prefix block")

#endif
