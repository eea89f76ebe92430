#include "traces/formats/prefix_blocks.h"

#include "sim/core/mem.h"

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
    if (blocks->n == blocks->capacity) {
        size_t capacity = blocks->capacity > 0 ? 2 * blocks->capacity : 64;
        uint64_t *ids = mem_realloc(blocks->ids, capacity * sizeof *ids);
        if (ids == NULL) return false;
        blocks->ids = ids;
        blocks->capacity = capacity;
    }
    blocks->ids[blocks->n++] = id;
    return true;
}

void prefix_blocks_give(const struct prefix_blocks *blocks, int64_t block_tokens, struct request_record *request)
{
    request->n_prefix_blocks = (int32_t)blocks->n;
    request->prefix_block_tokens = (int32_t)block_tokens;
    request->prefix_blocks = blocks->n > 0 ? blocks->ids : NULL;
}
