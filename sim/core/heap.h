/* The reference queue: an implicit 4-ary heap of event records (Johnson 1975; LaMarca and Ladner 1996).
 *
 * The four children of a node share two cache lines, so a level costs one miss at most. It is the oracle that the
 * calendar is tested and measured against, and the calendar's place for the rare event that overtakes its pages. */
#ifndef ORRERY_CORE_HEAP_H
#define ORRERY_CORE_HEAP_H

#include "sim/core/event.h"

#include <stddef.h>

struct heap {
    struct event *nodes; /* node 0 is the root; children of i are 4i + 1 .. 4i + 4 */
    size_t n, capacity;
    void *block; /* what `nodes` lies in, so that siblings share lines */
};

void heap_init(struct heap *heap);
void heap_fini(struct heap *heap);

/* 0 or SIM_E_NOMEM. */
int heap_push(struct heap *heap, struct event event);

/* Removes the earliest event; the heap must not be empty. */
void heap_drop(struct heap *heap);

/* Removes every dead record and returns how many there were. */
size_t heap_compact(struct heap *heap);

size_t heap_bytes(const struct heap *heap);

#endif
