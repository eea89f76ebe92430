/* The reference queue: an implicit 4-ary heap of event records (Johnson 1975; LaMarca and Ladner 1996).
 *
 * The four children of a node share two cache lines, so a level costs one miss at most. It is the oracle that the
 * calendar is tested and measured against, and the calendar's place for the rare event that overtakes its pages. */
#ifndef ORRERY_CORE_HEAP_H
#define ORRERY_CORE_HEAP_H

#include "sim/core/event.h"

#include <stddef.h>

enum { HEAP_ARITY = 4 };

struct heap {
    struct event *nodes; /* node 0 is the root; children of i are 4i + 1 .. 4i + 4 */
    size_t n, capacity;
    void *block; /* what `nodes` lies in, so that siblings share lines */
};

void heap_init(struct heap *heap);
void heap_fini(struct heap *heap);

/* Makes room for at least one more event. 0 or SIM_E_NOMEM. */
int heap_grow(struct heap *heap);

/* 0 or SIM_E_NOMEM. */
static inline int heap_push(struct heap *heap, struct event event)
{
    if (heap->n == heap->capacity && heap_grow(heap) != 0) return SIM_E_NOMEM;
    struct event *nodes = heap->nodes;
    size_t hole = heap->n++;
    while (hole > 0) {
        size_t parent = (hole - 1) / HEAP_ARITY;
        if (!event_before(&event, &nodes[parent])) break;
        nodes[hole] = nodes[parent];
        hole = parent;
    }
    event_write(&nodes[hole], event);
    return 0;
}

/* Removes the earliest event; the heap must not be empty. */
void heap_drop(struct heap *heap);

/* Makes a heap of the `n` nodes, which are in any order. */
void heap_order(struct heap *heap);

/* Removes every dead record and returns how many there were. */
size_t heap_compact(struct heap *heap);

size_t heap_bytes(const struct heap *heap);

#endif
