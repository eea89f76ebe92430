#include "sim/core/engine.h"

#include "sim/core/check.h"
#include "sim/core/eventq.h"
#include "sim/core/mem.h"

enum {
    LOOK_EVENTS = 65536,
    STALL_EVENTS = 50 * 1000 * 1000,
    SPARE_DEAD_RECORDS = 4096, /* dead records that are kept beside as many as live ones */
};

struct engine {
    sim_ns now;
    bool halted; /* engine_stop or engine_fail was called */
    int code;    /* the first code given to engine_fail */
    struct eventq queue;
    size_t n_dead;        /* records in the queue whose event was armed anew or disarmed */
    size_t n_background;  /* scheduled events that keep no run going */
    size_t n_never;       /* events at the end of time, which the queue does not hold */
    uint64_t progress_at; /* events fired when work was last done */
    uint64_t check_at;    /* events fired when `check` is due */
    uint64_t watch_at;    /* the watcher is called before the first event after this time */
    uint64_t order;       /* of the event that fires; UINT64_MAX: between events */
    sim_ns (*watch)(void *context, sim_ns next_ns);
    struct engine_stats stats;
    struct engine_options options;
};

static const volatile sig_atomic_t never_interrupted = 0;

struct engine *engine_create(const struct engine_options *options)
{
    struct engine *engine = mem_zalloc(1, sizeof *engine);
    if (engine == NULL) return NULL;
    engine->options = *options;
    engine->watch_at = UINT64_MAX;
    if (engine->options.until == 0) engine->options.until = SIM_NS_MAX;
    if (engine->options.stall_events == 0) engine->options.stall_events = STALL_EVENTS;
    if (engine->options.look_every == 0) engine->options.look_every = LOOK_EVENTS;
    if (engine->options.interrupt == NULL) engine->options.interrupt = &never_interrupted;
    if (eventq_init(&engine->queue, options->queue) != 0) {
        engine_destroy(engine);
        return NULL;
    }
    return engine;
}

void engine_destroy(struct engine *engine)
{
    if (engine == NULL) return;
    eventq_fini(&engine->queue);
    mem_free(engine);
}

sim_ns engine_now(const struct engine *engine)
{
    return engine->now;
}

bool engine_is_past(const struct engine *engine, sim_ns time_ns, unsigned priority, const struct owner *owner)
{
    if (time_ns != engine->now) return time_ns < engine->now;
    const uint64_t first = (uint64_t)priority << (OWNER_ID_BITS + OWNER_COUNTER_BITS) | (uint64_t)owner->id
                                                                                            << OWNER_COUNTER_BITS;
    return engine->order >= first;
}

void engine_watch(struct engine *engine, sim_ns from_ns, sim_ns (*watch)(void *context, sim_ns next_ns))
{
    engine->watch_at = (uint64_t)from_ns;
    engine->watch = watch;
}

void engine_stop(struct engine *engine)
{
    engine->halted = true;
}

void engine_fail(struct engine *engine, int code)
{
    if (engine->code == 0) engine->code = code;
    engine->halted = true;
}

void engine_progress(struct engine *engine)
{
    engine->progress_at = engine->stats.fired;
}

struct engine_stats engine_stats(const struct engine *engine)
{
    struct engine_stats stats = engine->stats;
    stats.peak_queue_bytes = eventq_bytes(&engine->queue); /* queues only grow */
    return stats;
}

static void compact(struct engine *engine)
{
    size_t n = eventq_compact(&engine->queue);
    engine->n_dead -= n;
    engine->stats.dropped += n;
}

/* Numbers an event of the owner. No dead record of the last round of numbers may meet the ones of this round. */
static uint32_t next_counter(struct engine *engine, struct owner *owner)
{
    SIM_ASSERT(owner->span > 0); /* set by owner_init or owner_init_passing */
    if ((owner->issued & owner->span) == owner->span) {
        compact(engine);
        owner->issued &= ~owner->span;
    }
    return ++owner->issued;
}

/* Returns whether an event at this time never fires. Then it is counted, and an armed one marked, unless it is in the
 * background. */
static bool is_never(struct engine *engine, sim_ns time_ns, struct owner *owner, unsigned kind)
{
    if (time_ns < SIM_NS_MAX) return false;
    if (kind & EVENT_ARMED) owner->armed = OWNER_ARMED_NEVER;
    engine->n_never += !(kind & EVENT_BACKGROUND);
    return true;
}

static void push(struct engine *engine, sim_ns time_ns, unsigned priority, event_fn handler, struct owner *owner,
                 unsigned kind)
{
    SIM_REQUIRE(time_ns >= engine->now);
    SIM_REQUIRE((priority >> EVENT_PRIORITY_BITS | owner->id >> OWNER_ID_BITS) == 0);
    if (is_never(engine, time_ns, owner, kind)) return;
    uint32_t counter = next_counter(engine, owner);
    uint64_t order = (uint64_t)priority << (OWNER_ID_BITS + OWNER_COUNTER_BITS) |
                     (uint64_t)owner->id << OWNER_COUNTER_BITS | counter;
    if (kind & EVENT_ARMED) owner->armed = counter;
    engine->n_background += (kind & EVENT_BACKGROUND) != 0;
    struct event event = {(uint64_t)time_ns, order, handler, (uintptr_t)owner | kind};
    if (eventq_push(&engine->queue, event) != 0) engine_fail(engine, SIM_E_NOMEM);
    size_t n_records = eventq_count(&engine->queue);
    if (n_records > engine->stats.peak_records) engine->stats.peak_records = n_records;
}

void engine_schedule(struct engine *engine, sim_ns time_ns, unsigned priority, event_fn handler, struct owner *owner)
{
    push(engine, time_ns, priority, handler, owner, 0);
}

void engine_schedule_background(struct engine *engine, sim_ns time_ns, unsigned priority, event_fn handler,
                                struct owner *owner)
{
    push(engine, time_ns, priority, handler, owner, EVENT_BACKGROUND);
}

void engine_arm(struct engine *engine, sim_ns time_ns, unsigned priority, event_fn handler, struct owner *owner)
{
    if (owner->armed != 0) engine_disarm(engine, owner);
    push(engine, time_ns, priority, handler, owner, EVENT_ARMED);
}

/* A record armed in the last round of numbers must not stay as a dead one until its number comes again. */
void engine_disarm(struct engine *engine, struct owner *owner)
{
    if (owner->armed == 0) return;
    const bool was_never = owner->armed == OWNER_ARMED_NEVER, last_round = owner->armed > owner->issued;
    owner->armed = 0;
    if (was_never) {
        engine->n_never--;
        return;
    }
    engine->n_dead++;
    size_t n_live = eventq_count(&engine->queue) - engine->n_dead;
    if (last_round || engine->n_dead > n_live + SPARE_DEAD_RECORDS) compact(engine);
}

/* What is due now and then: a look from outside, and the watchdog. */
static int check(struct engine *engine, uint32_t last_id, struct diag *diag)
{
    const struct engine_options *options = &engine->options;
    uint64_t fired = engine->stats.fired, idle = fired - engine->progress_at;
    if (idle >= options->stall_events)
        return diag_error(diag, SIM_E_STALLED, NULL,
                          "a policy or a retry goes round in circles, or failures undo what jobs do",
                          "no progress in %llu events up to %.15g s; the last one was of owner %u",
                          (unsigned long long)idle, sim_s_from_ns(engine->now), last_id);
    if (fired % options->look_every == 0 && options->look != NULL) options->look(options->context, engine->now, fired);
    uint64_t to_look = options->look_every - fired % options->look_every, to_stall = options->stall_events - idle;
    engine->check_at = fired + (to_look < to_stall ? to_look : to_stall);
    return 0;
}

/* Points `next` at the earliest event and drops the dead records before it. 1, 0 when there is none, or SIM_E_NOMEM. */
static inline int find_next(struct engine *engine, const struct event **next)
{
    int found;
    while ((found = eventq_peek(&engine->queue, next)) > 0 && event_is_dead(*next)) {
        eventq_drop(&engine->queue, *next);
        engine->n_dead--;
        engine->stats.dropped++;
    }
    return found;
}

/* Returns the id of the owner, which may be gone after its event. */
static inline uint32_t fire(struct engine *engine, const struct event *next)
{
    struct event event = *next;
    struct owner *owner = event_owner(&event);
    eventq_drop(&engine->queue, next);
    if (event_is_armed(&event)) owner->armed = 0;
    if (event_is_background(&event)) engine->n_background--;
    engine->now = (sim_ns)event.time;
    engine->order = event.order;
    engine->stats.fired++;
    event.handler(engine, owner, engine->now);
    return event_owner_id(&event);
}

static int end_run(struct engine *engine, int code, struct diag *diag)
{
    engine->order = UINT64_MAX;
    if (code == SIM_E_INTERRUPTED)
        return diag_error(diag, code, NULL, NULL, "interrupted at %.15g s", sim_s_from_ns(engine->now));
    if (code == SIM_E_NOMEM)
        return diag_error(diag, code, NULL, NULL, "out of memory at %.15g s with %zu events pending",
                          sim_s_from_ns(engine->now), eventq_count(&engine->queue) - engine->n_dead);
    return code;
}

bool engine_goes_on(const struct engine *engine)
{
    if (eventq_count(&engine->queue) - engine->n_dead > engine->n_background) return true;
    return engine->n_never > 0 && engine->options.until < SIM_NS_MAX;
}

int engine_run(struct engine *engine, struct diag *diag)
{
    uint64_t until = (uint64_t)engine->options.until;
    engine->halted = engine->code != 0;
    while (!engine->halted) {
        if (*engine->options.interrupt) return end_run(engine, SIM_E_INTERRUPTED, diag);
        const struct event *next;
        int found = find_next(engine, &next);
        if (found < 0) engine_fail(engine, found);
        if (found < 0 || !engine_goes_on(engine)) break;
        if (found == 0 || next->time > until) {
            engine->now = engine->options.until;
            break;
        }
        if (next->time > engine->watch_at) {
            engine->order = UINT64_MAX;
            engine->watch_at = (uint64_t)engine->watch(engine->options.context, (sim_ns)next->time);
        }
        uint32_t id = fire(engine, next);
        if (engine->code == 0 && engine->stats.fired >= engine->check_at) { /* what failed left its work half done */
            int code = check(engine, id, diag);
            if (code != 0) return code;
        }
    }
    return end_run(engine, engine->code, diag);
}
