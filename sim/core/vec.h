/* Growable arrays. The owner keeps three members under names of its own: a pointer to the items, their number and the
 * capacity (size_t or int32_t), all zero at first; mem_free(items) frees the array.
 *
 *     struct job *jobs;
 *     size_t n_jobs, capacity;
 *     ...
 *     if (vec_push(&list->jobs, &list->n_jobs, &list->capacity, job) != 0) return SIM_E_NOMEM;
 *
 * Both macros evaluate an argument more than once. After SIM_E_NOMEM the array is what it was. */
#ifndef ORRERY_CORE_VEC_H
#define ORRERY_CORE_VEC_H

#include "sim/core/err.h"

#include <stddef.h>
#include <stdint.h>

/* Makes room for `wanted` items in all. `items` is the address of the pointer, `capacity` that of the capacity.
 * Returns 0 or SIM_E_NOMEM. New items are not initialised. */
#define vec_reserve(items, capacity, wanted)                                                                           \
    ((size_t)(wanted) <= (size_t)(*(capacity))                                                                         \
         ? 0                                                                                                           \
         : VEC_GROW(capacity)((items), (capacity), (size_t)(wanted), sizeof **(items)))
#define VEC_GROW(capacity) _Generic((capacity), size_t *: vec_grow, int32_t *: vec_grow_int32)

/* Appends an item, the last argument, and counts it in *n. Returns 0 or SIM_E_NOMEM. */
#define vec_push(items, n, capacity, ...)                                                                              \
    (vec_reserve(items, capacity, (size_t)(*(n)) + 1) != 0 ? SIM_E_NOMEM : ((*(items))[(*(n))++] = (__VA_ARGS__), 0))

/* For the macros: `items` is the address of a pointer to items of `item_bytes` each; the capacity at least doubles. */
int vec_grow(void *items, size_t *capacity, size_t wanted, size_t item_bytes) __attribute__((cold, warn_unused_result));
int vec_grow_int32(void *items, int32_t *capacity, size_t wanted, size_t item_bytes)
    __attribute__((cold, warn_unused_result));

#endif
