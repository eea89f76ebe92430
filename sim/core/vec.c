#include "sim/core/vec.h"

#include "sim/core/mem.h"

#include <string.h>

enum { FIRST_ITEMS = 16 };

static size_t grown(size_t capacity, size_t wanted, size_t limit)
{
    const size_t n = capacity > limit / 2 ? limit : 2 * capacity;
    return n >= wanted && n >= FIRST_ITEMS ? n : wanted > FIRST_ITEMS ? wanted : FIRST_ITEMS;
}

static int resize(void *items, size_t n, size_t item_bytes)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, item_bytes, &bytes)) return SIM_E_NOMEM;
    void *block;
    memcpy(&block, items, sizeof block); /* not *(void **)items: the pointer has the type of its items */
    block = mem_realloc(block, bytes);
    if (block == NULL) return SIM_E_NOMEM;
    memcpy(items, &block, sizeof block);
    return 0;
}

int vec_grow(void *items, size_t *capacity, size_t wanted, size_t item_bytes)
{
    const size_t n = grown(*capacity, wanted, SIZE_MAX);
    const int code = resize(items, n, item_bytes);
    if (code == 0) *capacity = n;
    return code;
}

int vec_grow_int32(void *items, int32_t *capacity, size_t wanted, size_t item_bytes)
{
    if (wanted > INT32_MAX) return SIM_E_NOMEM;
    const size_t n = grown((size_t)*capacity, wanted, INT32_MAX);
    const int code = resize(items, n, item_bytes);
    if (code == 0) *capacity = (int32_t)n;
    return code;
}
