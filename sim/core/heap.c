#include "sim/core/heap.h"

#include "sim/core/mem.h"

#include <string.h>

enum { GROUP_BYTES = HEAP_ARITY * sizeof(struct event), FIRST_CAPACITY = 61 };

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
int heap_grow(struct heap *heap)
{
    size_t capacity = heap->capacity == 0 ? FIRST_CAPACITY : heap->capacity * 2 + 3;
    void *block = mem_alloc((capacity + HEAP_ARITY - 1) * sizeof(struct event) + GROUP_BYTES);
    if (block == NULL) return SIM_E_NOMEM;
    uintptr_t group = ((uintptr_t)block + GROUP_BYTES - 1) / GROUP_BYTES * GROUP_BYTES;
    struct event *nodes = (struct event *)group + HEAP_ARITY - 1;
    if (heap->n > 0) memcpy(nodes, heap->nodes, heap->n * sizeof *nodes);
    mem_free(heap->block);
    *heap = (struct heap){.nodes = nodes, .n = heap->n, .capacity = capacity, .block = block};
    return 0;
}

/* The earliest of four siblings, without branches: which one it is cannot be foreseen. */
static struct event *earliest_of_group(struct event *group)
{
    struct event *a = group + event_before(&group[1], &group[0]);
    struct event *b = group + 2 + event_before(&group[3], &group[2]);
    return event_before(b, a) ? b : a;
}

static struct event *earliest_child(struct heap *heap, size_t first)
{
    struct event *nodes = heap->nodes, *child = &nodes[first];
    if (first + HEAP_ARITY <= heap->n) return earliest_of_group(child);
    for (size_t i = first + 1; i < heap->n; i++)
        if (event_before(&nodes[i], child)) child = &nodes[i];
    return child;
}

/* Lets the hole at `top` sink to a leaf and `event` rise from there: it is mostly a late one, so that this takes fewer
 * comparisons that can go either way than to look for its place on the way down (Wegener 1993). */
static void sift_down(struct heap *heap, size_t top, const struct event *event)
{
    struct event *nodes = heap->nodes;
    size_t hole = top;
    for (size_t first; (first = hole * HEAP_ARITY + 1) < heap->n;) {
        const struct event *child = earliest_child(heap, first);
        nodes[hole] = *child;
        hole = (size_t)(child - nodes);
    }
    for (size_t parent; hole > top; hole = parent) {
        parent = (hole - 1) / HEAP_ARITY;
        if (!event_before(event, &nodes[parent])) break;
        nodes[hole] = nodes[parent];
    }
    nodes[hole] = *event;
}

void heap_drop(struct heap *heap)
{
    heap->n--;
    if (heap->n > 0) sift_down(heap, 0, &heap->nodes[heap->n]);
}

void heap_order(struct heap *heap)
{
    for (size_t i = heap->n / HEAP_ARITY + 1; i-- > 0;) {
        if (i >= heap->n) continue;
        struct event event = heap->nodes[i];
        sift_down(heap, i, &event);
    }
}

size_t heap_compact(struct heap *heap)
{
    size_t before = heap->n;
    heap->n = 0;
    for (size_t i = 0; i < before; i++)
        if (!event_is_dead(&heap->nodes[i])) heap->nodes[heap->n++] = heap->nodes[i];
    heap_order(heap);
    return before - heap->n;
}

size_t heap_bytes(const struct heap *heap)
{
    return heap->capacity == 0 ? 0 : (heap->capacity + HEAP_ARITY - 1) * sizeof(struct event) + GROUP_BYTES;
}
