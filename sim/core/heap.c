#include "sim/core/heap.h"

#include "sim/core/mem.h"

#include <string.h>

enum { ARITY = 4, GROUP_BYTES = ARITY * sizeof(struct event), FIRST_CAPACITY = 61 };

void heap_init(struct heap *heap)
{
    *heap = (struct heap){0};
}

void heap_fini(struct heap *heap)
{
    mem_free(heap->block);
    heap_init(heap);
}

/* Node 1, the first of a group of siblings, starts at a multiple of GROUP_BYTES, and so does every later group. */
static int heap_grow(struct heap *heap)
{
    size_t capacity = heap->capacity == 0 ? FIRST_CAPACITY : heap->capacity * 2 + 3;
    void *block = mem_alloc((capacity + ARITY - 1) * sizeof(struct event) + GROUP_BYTES);
    if (block == NULL) return SIM_E_NOMEM;
    uintptr_t group = ((uintptr_t)block + GROUP_BYTES - 1) / GROUP_BYTES * GROUP_BYTES;
    struct event *nodes = (struct event *)group + ARITY - 1;
    if (heap->n > 0) memcpy(nodes, heap->nodes, heap->n * sizeof *nodes);
    mem_free(heap->block);
    *heap = (struct heap){.nodes = nodes, .n = heap->n, .capacity = capacity, .block = block};
    return 0;
}

int heap_push(struct heap *heap, struct event event)
{
    if (heap->n == heap->capacity && heap_grow(heap) != 0) return SIM_E_NOMEM;
    struct event *nodes = heap->nodes;
    size_t hole = heap->n++;
    while (hole > 0) {
        size_t parent = (hole - 1) / ARITY;
        if (!event_before(&event, &nodes[parent])) break;
        nodes[hole] = nodes[parent];
        hole = parent;
    }
    nodes[hole] = event;
    return 0;
}

/* The earliest of four siblings, without branches. */
static size_t earliest_of_group(const struct event *nodes, size_t first)
{
    size_t a = first + event_before(&nodes[first + 1], &nodes[first]);
    size_t b = first + 2 + event_before(&nodes[first + 3], &nodes[first + 2]);
    return event_before(&nodes[b], &nodes[a]) ? b : a;
}

/* Lets `event` sink from the hole to its place. */
static void sift_down(struct heap *heap, size_t hole, struct event event)
{
    struct event *nodes = heap->nodes;
    for (;;) {
        size_t first = hole * ARITY + 1, child;
        if (first + ARITY <= heap->n) {
            child = earliest_of_group(nodes, first);
        } else if (first < heap->n) {
            child = first;
            for (size_t i = first + 1; i < heap->n; i++)
                if (event_before(&nodes[i], &nodes[child])) child = i;
        } else {
            break;
        }
        if (!event_before(&nodes[child], &event)) break;
        nodes[hole] = nodes[child];
        hole = child;
    }
    nodes[hole] = event;
}

void heap_drop(struct heap *heap)
{
    heap->n--;
    if (heap->n > 0) sift_down(heap, 0, heap->nodes[heap->n]);
}

size_t heap_compact(struct heap *heap)
{
    size_t kept = 0, before = heap->n;
    for (size_t i = 0; i < before; i++)
        if (!event_is_dead(&heap->nodes[i])) heap->nodes[kept++] = heap->nodes[i];
    heap->n = kept;
    for (size_t i = kept / ARITY + 1; i-- > 0;)
        if (i < kept) sift_down(heap, i, heap->nodes[i]);
    return before - kept;
}

size_t heap_bytes(const struct heap *heap)
{
    return heap->capacity == 0 ? 0 : (heap->capacity + ARITY - 1) * sizeof(struct event) + GROUP_BYTES;
}
