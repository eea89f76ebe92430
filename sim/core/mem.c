#include "sim/core/mem.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(from, bytes) ((void)0)
#define ASAN_UNPOISON_MEMORY_REGION(from, bytes) ((void)0)
#endif

enum { ARENA_CHUNK_BYTES = 16 * 1024, ALIGN_BYTES = 16, FIRST_SLAB_RECORDS = 64, MAX_SLAB_RECORDS = 8192 };

/* Allocations that still succeed on this thread before the injected fault; negative: no fault. Not simulation state. */
static _Thread_local long allocations_left = -1;
static _Thread_local long live_blocks; /* neither is this */

void mem_fail_after(long n)
{
    allocations_left = n;
}

long mem_fail_never(void)
{
    const long left = allocations_left;
    allocations_left = -1;
    return left;
}

static int must_fail(void)
{
    if (__builtin_expect(allocations_left < 0, 1)) return 0;
    if (allocations_left == 0) return 1;
    allocations_left--;
    return 0;
}

long mem_live_blocks(void)
{
    return live_blocks;
}

static void *counted(void *block)
{
    live_blocks += block != NULL;
    return block;
}

void *mem_alloc(size_t bytes)
{
    return must_fail() ? NULL : counted(malloc(bytes ? bytes : 1));
}

void *mem_zalloc(size_t count, size_t bytes_each)
{
    return must_fail() ? NULL : counted(calloc(count ? count : 1, bytes_each ? bytes_each : 1));
}

void *mem_realloc(void *block, size_t bytes)
{
    if (must_fail()) return NULL;
    bool is_new = block == NULL;
    void *moved = realloc(block, bytes ? bytes : 1);
    return is_new ? counted(moved) : moved;
}

void mem_free(void *block)
{
    live_blocks -= block != NULL;
    free(block);
}

char *mem_strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = mem_alloc(bytes);
    if (copy != NULL) memcpy(copy, text, bytes);
    return copy;
}

/* Every slab and chunk starts with a pointer to the one before it, padded to keep what follows aligned. */
struct link {
    _Alignas(ALIGN_BYTES) struct link *before;
};

static void free_links(void *last)
{
    for (struct link *link = last, *before; link != NULL; link = before) {
        before = link->before;
        mem_free(link);
    }
}

static size_t round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

static void init(struct pool *pool, size_t record_bytes, size_t align_bytes)
{
    const size_t bytes = round_up(record_bytes < sizeof(void *) ? sizeof(void *) : record_bytes, align_bytes);
    *pool = (struct pool){.record_bytes = bytes, .align_bytes = align_bytes};
}

void pool_init(struct pool *pool, size_t record_bytes)
{
    init(pool, record_bytes, ALIGN_BYTES);
}

void pool_init_lines(struct pool *pool, size_t record_bytes)
{
    init(pool, record_bytes, CACHE_LINE_BYTES);
}

void pool_fini(struct pool *pool)
{
    free_links(pool->slabs);
    *pool = (struct pool){.record_bytes = pool->record_bytes, .align_bytes = pool->align_bytes};
}

/* Into the list of free records. Sanitizers report whoever reads or writes it from now on. */
static void put_aside(struct pool *pool, void *record)
{
    memcpy(record, &pool->free_list, sizeof(void *));
    pool->free_list = record;
    ASAN_POISON_MEMORY_REGION(record, pool->record_bytes);
}

/* Slabs grow with the pool, so that a small run stays small and a large one allocates rarely. */
static int pool_grow(struct pool *pool)
{
    size_t n = pool->n_slab_records;
    if (n < FIRST_SLAB_RECORDS) n = FIRST_SLAB_RECORDS;
    if (n > MAX_SLAB_RECORDS) n = MAX_SLAB_RECORDS;
    struct link *slab = mem_alloc(sizeof *slab + pool->align_bytes - ALIGN_BYTES + n * pool->record_bytes);
    if (slab == NULL) return -1;
    slab->before = pool->slabs;
    pool->slabs = slab;
    pool->n_slab_records += n;
    char *records = (char *)(slab + 1);
    records += -(uintptr_t)records % pool->align_bytes;
    for (size_t i = n; i-- > 0;) put_aside(pool, records + i * pool->record_bytes);
    return 0;
}

void *pool_take(struct pool *pool)
{
    if (pool->free_list == NULL && pool_grow(pool) != 0) return NULL;
    void *record = pool->free_list;
    ASAN_UNPOISON_MEMORY_REGION(record, pool->record_bytes);
    memcpy(&pool->free_list, record, sizeof(void *));
    pool->n_live++;
    return record;
}

void pool_give(struct pool *pool, void *record)
{
    put_aside(pool, record);
    pool->n_live--;
}

void arena_init(struct arena *arena)
{
    *arena = (struct arena){0};
}

void arena_fini(struct arena *arena)
{
    free_links(arena->chunks);
    arena_init(arena);
}

/* A chunk of its own, zeroed by the system: a page that nobody touches costs nothing, and the tables of cost models
 * are large and mostly empty. */
static void *alloc_large(struct arena *arena, size_t bytes)
{
    struct link *chunk = mem_zalloc(1, sizeof *chunk + bytes);
    if (chunk == NULL) return NULL;
    chunk->before = arena->chunks;
    arena->chunks = chunk;
    return chunk + 1;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
    bytes = round_up(bytes ? bytes : 1, ALIGN_BYTES);
    if (bytes > ARENA_CHUNK_BYTES) return alloc_large(arena, bytes);
    if (bytes > arena->left_bytes) {
        struct link *chunk = mem_alloc(sizeof *chunk + ARENA_CHUNK_BYTES);
        if (chunk == NULL) return NULL;
        chunk->before = arena->chunks;
        arena->chunks = chunk;
        arena->next = (char *)(chunk + 1);
        arena->left_bytes = ARENA_CHUNK_BYTES;
    }
    void *block = arena->next;
    arena->next += bytes;
    arena->left_bytes -= bytes;
    return memset(block, 0, bytes);
}

char *arena_strdup(struct arena *arena, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = arena_alloc(arena, bytes);
    return copy != NULL ? memcpy(copy, text, bytes) : NULL;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    char *text = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1);
    if (text != NULL) vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}
