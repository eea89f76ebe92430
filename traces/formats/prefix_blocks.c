#include "traces/formats/prefix_blocks.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

void *prefix_blocks_create(void)
{
    return mem_zalloc(1, sizeof(struct prefix_blocks));
}

void prefix_blocks_destroy(void *state)
{
    struct prefix_blocks *blocks = state;
    if (blocks != NULL) mem_free(blocks->ids);
    mem_free(blocks);
}

bool prefix_blocks_add(struct prefix_blocks *blocks, uint64_t id)
{
    return vec_push(&blocks->ids, &blocks->n, &blocks->capacity, id) == 0;
}

void prefix_blocks_give(const struct prefix_blocks *blocks, int64_t block_tokens, struct request_record *request)
{
    request->n_prefix_blocks = (int32_t)blocks->n;
    request->prefix_block_tokens = (int32_t)block_tokens;
    request->prefix_blocks = blocks->n > 0 ? blocks->ids : NULL;
}
