/* The queue of pending events: either kind behind the same five calls. Both give the same order. */
#ifndef ORRERY_CORE_EVENTQ_H
#define ORRERY_CORE_EVENTQ_H

#include "sim/core/calendar.h"
#include "sim/core/heap.h"

struct eventq {
    enum queue_kind kind;
    struct calendar *calendar;
    struct heap heap;
};

/* 0 or SIM_E_NOMEM; eventq_fini may be called in either case. */
static inline int eventq_init(struct eventq *queue, enum queue_kind kind)
{
    *queue = (struct eventq){.kind = kind};
    heap_init(&queue->heap);
    if (kind == QUEUE_CALENDAR && (queue->calendar = calendar_create()) == NULL) return SIM_E_NOMEM;
    return 0;
}

static inline void eventq_fini(struct eventq *queue)
{
    calendar_destroy(queue->calendar);
    heap_fini(&queue->heap);
}

/* 0 or SIM_E_NOMEM. */
static inline int eventq_push(struct eventq *queue, struct event event)
{
    return queue->kind == QUEUE_CALENDAR ? calendar_push(queue->calendar, event) : heap_push(&queue->heap, event);
}

/* Points `next` at the earliest event, valid until the next push. 1, 0 when there is none, or SIM_E_NOMEM. After
 * SIM_E_NOMEM from here or from eventq_push the order is lost, and the queue good only for eventq_fini. */
static inline int eventq_peek(struct eventq *queue, const struct event **next)
{
    if (queue->kind == QUEUE_CALENDAR) return calendar_peek(queue->calendar, next);
    *next = queue->heap.nodes;
    return queue->heap.n > 0;
}

/* Removes the event `next` that eventq_peek has just found. */
static inline void eventq_drop(struct eventq *queue, const struct event *next)
{
    if (queue->kind == QUEUE_CALENDAR)
        calendar_drop(queue->calendar, next);
    else
        heap_drop(&queue->heap);
}

/* Removes every dead record and returns how many there were. */
static inline size_t eventq_compact(struct eventq *queue)
{
    return queue->kind == QUEUE_CALENDAR ? calendar_compact(queue->calendar) : heap_compact(&queue->heap);
}

/* Records in the queue, dead ones included. */
static inline size_t eventq_count(const struct eventq *queue)
{
    return queue->kind == QUEUE_CALENDAR ? queue->calendar->n_records : queue->heap.n;
}

/* Memory held, in use or not. */
static inline size_t eventq_bytes(const struct eventq *queue)
{
    return queue->kind == QUEUE_CALENDAR ? calendar_bytes(queue->calendar) : heap_bytes(&queue->heap);
}

#endif
