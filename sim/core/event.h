/* The record of one event: 32 bytes, all that ordering and dispatch need.
 *
 * Its key is 128 bits long: the time, then priority, owner id and owner's counter, so that a comparison of two keys is
 * the total order of the simulation and no two pending events are equal. */
#ifndef ORRERY_CORE_EVENT_H
#define ORRERY_CORE_EVENT_H

#include "sim/core/engine.h"

/* Bits of an address that an owner's alignment leaves free. */
enum event_kind {
    EVENT_ARMED = 1,      /* it may be dead */
    EVENT_BACKGROUND = 2, /* it keeps no run going */
    EVENT_KINDS = 3
};

struct event {
    uint64_t time;  /* ns, never negative */
    uint64_t order; /* priority, owner id, owner's counter: 8 + 28 + 28 bits */
    event_fn handler;
    uintptr_t owner; /* address; the lowest bits: enum event_kind */
};

_Static_assert(sizeof(struct event) == 32, "an event record is half a cache line");

__extension__ typedef unsigned __int128 event_key;

static inline event_key event_key_of(const struct event *event)
{
    return (event_key)event->time << 64 | event->order;
}

static inline bool event_before(const struct event *a, const struct event *b)
{
    return event_key_of(a) < event_key_of(b);
}

/* Writes a record that is at hand in registers, word by word: a copy by way of the stack would be read with wider loads
 * than it was just stored with, and these have to wait for the stores. */
static inline void event_write(struct event *place, struct event event)
{
    place->time = event.time;
    place->order = event.order;
    place->handler = event.handler;
    place->owner = event.owner;
}

static inline struct owner *event_owner(const struct event *event)
{
    return (struct owner *)(event->owner & ~(uintptr_t)EVENT_KINDS);
}

static inline uint32_t event_owner_id(const struct event *event)
{
    return (uint32_t)(event->order >> OWNER_COUNTER_BITS) & ((UINT32_C(1) << OWNER_ID_BITS) - 1);
}

static inline bool event_is_armed(const struct event *event)
{
    return event->owner & EVENT_ARMED;
}

static inline bool event_is_background(const struct event *event)
{
    return event->owner & EVENT_BACKGROUND;
}

/* Reads records that have been given back, which sanitizers report elsewhere. */
#ifdef __SANITIZE_ADDRESS__
#define EVENT_UNCHECKED __attribute__((no_sanitize_address, unused))
#else
#define EVENT_UNCHECKED inline
#endif

/* Whether an armed event was armed anew or disarmed since. The id is compared as well, because the memory of an entity
 * that is gone may belong to another one by now (engine.h). */
static EVENT_UNCHECKED bool event_is_dead(const struct event *event)
{
    if (!event_is_armed(event)) return false;
    const struct owner *owner = event_owner(event);
    uint64_t identity = (uint64_t)owner->id << OWNER_COUNTER_BITS | owner->armed;
    return (event->order & ((UINT64_C(1) << (OWNER_ID_BITS + OWNER_COUNTER_BITS)) - 1)) != identity;
}

#endif
