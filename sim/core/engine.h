/* The clock and the dispatch loop of one simulation.
 *
 * An event is a 32-byte record: time, order, handler, owner. Events fire in the total order (time, priority, owner id,
 * owner's own counter), which does not depend on how many events anybody else has fired. The handler gets the owner, a
 * small struct embedded in the entity that the event belongs to (replica, job, source ...), so firing touches no memory
 * but the entity's own.
 *
 * An owner has at most one *armed* event: arming again replaces it, disarming drops it, both in O(1). A plain scheduled
 * event always fires. An entity with several independent timers embeds several owners.
 *
 * Where owners live: a replaced or disarmed event leaves a dead record, which is looked at when its time comes. So an
 * owner that was ever armed stays readable until engine_destroy: it lies in an arena or in a `struct pool`, not in a
 * block of its own that is freed. Its entity may be given back to the pool as soon as no event of it is pending (it
 * has fired, or was disarmed), and taken again for an entity of the same type; an id that no owner had before, or
 * a serial number of its kind's (owner_init_passing), keeps the dead records of the old entity dead.
 *
 * The time SIM_NS_MAX means never: an event at it does not fire. With `until` it keeps the run going up to there;
 * without, the run ends when only such events, and those in the background, are left.
 *
 * Handlers run to completion, may schedule at any time >= now, and report failure by engine_fail. */
#ifndef ORRERY_CORE_ENGINE_H
#define ORRERY_CORE_ENGINE_H

#include "sim/core/err.h"
#include "sim/core/units.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine;

enum { OWNER_ID_BITS = 28, OWNER_COUNTER_BITS = 28, EVENT_PRIORITY_BITS = 8 };

/* An owner that lasts has an id of its own, all counters included. Those that come and go (jobs, transfers) are
 * numbered by kind without an end in sight, and share ids: each has 2^8 of the counters. A kind has 2^26 ids, so 2^46
 * owners. */
enum { PASSING_COUNTER_BITS = 8, PASSING_ID_BITS = 26 };
enum { OWNERS_PER_ID_BITS = OWNER_COUNTER_BITS - PASSING_COUNTER_BITS };

/* Armed for SIM_NS_MAX. No event has this counter. */
#define OWNER_ARMED_NEVER (UINT32_C(1) << OWNER_COUNTER_BITS)

struct owner {
    uint32_t id;     /* < 2^28; breaks ties. Id and counters together are unique and never used again */
    uint32_t issued; /* counter of the latest event; its low bits, those of `span`, start over at 1 */
    uint32_t armed;  /* counter of the armed event; 0: none is; OWNER_ARMED_NEVER */
    uint32_t span;   /* the largest value of these bits */
};

/* For an owner that lasts, of which no event is pending. */
static inline void owner_init(struct owner *owner, uint32_t id)
{
    *owner = (struct owner){.id = id, .span = (UINT32_C(1) << OWNER_COUNTER_BITS) - 1};
}

/* For number `serial` (0, 1, ... < 2^46) of a kind that has the 2^26 ids from first_id on: these owners break ties in
 * the order of their numbers. At most 255 events of such an owner may be pending. */
static inline void owner_init_passing(struct owner *owner, uint32_t first_id, uint64_t serial)
{
    uint32_t place = (uint32_t)serial & ((UINT32_C(1) << OWNERS_PER_ID_BITS) - 1);
    *owner = (struct owner){.id = first_id + (uint32_t)(serial >> OWNERS_PER_ID_BITS),
                            .issued = place << PASSING_COUNTER_BITS,
                            .span = (UINT32_C(1) << PASSING_COUNTER_BITS) - 1};
}

/* The entity in which an owner is embedded. */
#define OWNER_ENTITY(owner_pointer, type, member) ((type *)(void *)((char *)(owner_pointer) - offsetof(type, member)))

typedef void (*event_fn)(struct engine *engine, struct owner *owner, sim_ns now);

enum queue_kind { QUEUE_CALENDAR, QUEUE_HEAP };

struct engine_options {
    enum queue_kind queue;
    sim_ns until;                       /* events after this time do not fire; 0: no limit */
    uint64_t stall_events;              /* watchdog: events in a row without engine_progress; 0: 50 million */
    const volatile sig_atomic_t *interrupt; /* the loop stops soon after this becomes non-zero; may be NULL */
    void *context;                      /* first argument of `look` and of the function of engine_watch */
    void (*look)(void *context, sim_ns now, uint64_t events); /* called between events; may be NULL */
    uint64_t look_every;                /* events from look to look; 0: 65,536 */
};

struct engine_stats {
    uint64_t fired;    /* events dispatched */
    uint64_t dropped;  /* records whose event was re-armed or disarmed before its time */
    uint64_t peak_records, peak_queue_bytes;
};

struct engine *engine_create(const struct engine_options *options); /* NULL when out of memory */
void engine_destroy(struct engine *engine);

sim_ns engine_now(const struct engine *engine);

/* Whether an event of the owner at this time would have fired by now: events of the present moment that come before it
 * have. Between events, all events up to the present moment have fired. */
bool engine_is_past(const struct engine *engine, sim_ns time_ns, unsigned priority, const struct owner *owner);

/* Schedules an event that will fire at time_ns >= now. Priorities are 0 to 255; lower ones fire first among equal
 * times. Like engine_arm, it fails the engine with SIM_E_NOMEM when memory runs out. */
void engine_schedule(struct engine *engine, sim_ns time_ns, unsigned priority, event_fn handler, struct owner *owner);

/* Like engine_schedule, but what it schedules keeps no run going: what is periodic, or fails some day. When nothing
 * else is pending, the run ends. */
void engine_schedule_background(struct engine *engine, sim_ns time_ns, unsigned priority, event_fn handler,
                                struct owner *owner);

/* Arms the owner's one cancellable event, instead of the one that is armed, if any. When it fires, the owner is no
 * longer armed. */
void engine_arm(struct engine *engine, sim_ns time_ns, unsigned priority, event_fn handler, struct owner *owner);
void engine_disarm(struct engine *engine, struct owner *owner);

/* Dispatches until the queue is empty but for events in the background, `until` is reached (the clock then shows
 * `until`), engine_stop or engine_fail is called, the interrupt flag is set, or the watchdog finds no progress.
 * Returns 0, the code given to engine_fail, SIM_E_INTERRUPTED, SIM_E_STALLED (with the time and the owner that fired
 * last in `diag`), or SIM_E_NOMEM. May be called again, and then goes on where it ended; but after engine_fail it
 * only returns the code. */
int engine_run(struct engine *engine, struct diag *diag);

/* Whether anything is pending that keeps the run going. */
bool engine_goes_on(const struct engine *engine);

/* A watcher sees the state between events without being one: before the first event later than `from_ns` fires,
 * `watch` is called with that event's time, and again before the first one later than the time it returns. So it
 * keeps no run alive, counts as no event, and what it sees at any moment is what all events up to and at that moment
 * have left. */
void engine_watch(struct engine *engine, sim_ns from_ns, sim_ns (*watch)(void *context, sim_ns next_ns));

void engine_stop(struct engine *engine); /* ends the engine_run in progress after this event */
void engine_fail(struct engine *engine, int code) __attribute__((cold)); /* the first code is kept */
void engine_progress(struct engine *engine);       /* work was done: the watchdog starts again */

struct engine_stats engine_stats(const struct engine *engine);

#endif
