/* Memory: one allocation hook, a pool of equal-sized records, and an arena that is freed at once.
 *
 * Everything in Orrery allocates through here, so that tests can make the n-th allocation fail. A function that
 * allocates returns NULL (or SIM_E_NOMEM) on failure; nothing here exits. */
#ifndef ORRERY_CORE_MEM_H
#define ORRERY_CORE_MEM_H

#include <stddef.h>
#include <stdint.h>

/* Like malloc, calloc, realloc, free; alignment is that of malloc. mem_free(NULL) does nothing. */
void *mem_alloc(size_t bytes) __attribute__((malloc, warn_unused_result));
void *mem_zalloc(size_t count, size_t bytes_each) __attribute__((malloc, warn_unused_result));
void *mem_realloc(void *block, size_t bytes) __attribute__((warn_unused_result));
void mem_free(void *block);
char *mem_strdup(const char *text) __attribute__((malloc, warn_unused_result));

/* Fault injection, for tests: the allocation after `n` successful ones fails, and so does every later one, on this
 * thread, until mem_fail_never() is called. This returns how many more would have succeeded. */
void mem_fail_after(long n);
long mem_fail_never(void);

/* Blocks that this thread has taken from the functions above less those that it has given back: what a piece of work
 * leaves behind, when no other thread frees for it. */
long mem_live_blocks(void);

/* Records of one size, handed out and taken back in O(1); slabs are returned to the system only by pool_fini. */
struct pool {
    size_t record_bytes, align_bytes;
    void *free_list;
    void *slabs;
    size_t n_live, n_slab_records;
};

void pool_init(struct pool *pool, size_t record_bytes);

/* Each record begins at a cache line: for records of several lines, of which a walk through many reads one. */
enum { CACHE_LINE_BYTES = 64 };
void pool_init_lines(struct pool *pool, size_t record_bytes);
void pool_fini(struct pool *pool);
/* A record with undefined contents; NULL when out of memory. */
void *pool_take(struct pool *pool) __attribute__((warn_unused_result));
void pool_give(struct pool *pool, void *record);

/* Blocks of any size that live exactly as long as the arena. */
struct arena {
    void *chunks;
    char *next;
    size_t left_bytes;
};

void arena_init(struct arena *arena);
void arena_fini(struct arena *arena);
void *arena_alloc(struct arena *arena, size_t bytes) __attribute__((warn_unused_result)); /* zeroed, 16-byte aligned */
char *arena_strdup(struct arena *arena, const char *text) __attribute__((warn_unused_result));
char *arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3), warn_unused_result));

#endif
