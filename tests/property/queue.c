/* The calendar against the heap, and both against a sorted list: the same events in the same order, whatever the times.
 * The six pathologies that calendar queues are known for are tests of their own. */
#include "sim/core/eventq.h"
#include "tests/bench/increments.h"
#include "tests/support/harness.h"

enum { MAX_NAIVE = 600 };

/* Both queues get the same events; the payload, in the owner's place, numbers them. */
struct pair {
    struct eventq calendar, heap;
    struct rng rng;
    uint64_t now;
    uint64_t n_pushed, n_popped;
    bool ok;
};

static bool pair_init(struct pair *pair, const char *name, uint64_t index)
{
    *pair = (struct pair){.ok = true};
    rng_init(&pair->rng, 1, 0, name, index);
    return CHECK(eventq_init(&pair->calendar, QUEUE_CALENDAR) == 0 && eventq_init(&pair->heap, QUEUE_HEAP) == 0);
}

static void pair_fini(struct pair *pair)
{
    CHECK(pair->ok);
    eventq_fini(&pair->calendar);
    eventq_fini(&pair->heap);
}

/* Keys are unique, because the number of the event is their last part. */
static struct event push(struct pair *pair, uint64_t time, unsigned priority, uint64_t owner_id)
{
    uint64_t number = ++pair->n_pushed;
    struct event event = {
        .time = time,
        .order = (uint64_t)priority << (OWNER_ID_BITS + OWNER_COUNTER_BITS) | owner_id << OWNER_COUNTER_BITS | number,
        .owner = (uintptr_t)(2 * number),
    };
    pair->ok &= eventq_push(&pair->calendar, event) == 0 && eventq_push(&pair->heap, event) == 0;
    return event;
}

static struct event push_after(struct pair *pair, uint64_t delay, unsigned n_priorities)
{
    return push(pair, pair->now + delay, (unsigned)rng_below(&pair->rng, n_priorities), rng_below(&pair->rng, 1000));
}

/* False when both are empty, or different. */
static bool pop(struct pair *pair, struct event *event)
{
    const struct event *next, *expected;
    int found = eventq_peek(&pair->calendar, &next);
    if (found != eventq_peek(&pair->heap, &expected)) pair->ok = false;
    if (found != 1 || !pair->ok) return false;
    if (next->time != expected->time || next->order != expected->order || next->owner != expected->owner ||
        next->time < pair->now) {
        pair->ok = false;
        return false;
    }
    *event = *next;
    pair->now = event->time;
    pair->n_popped++;
    eventq_drop(&pair->calendar, next);
    eventq_drop(&pair->heap, expected);
    return true;
}

static void drain(struct pair *pair)
{
    struct event event;
    while (pop(pair, &event)) {
    }
    CHECK(pair->ok);
    CHECK_EQ_INT(pair->n_popped, pair->n_pushed);
    CHECK_EQ_INT(eventq_count(&pair->calendar), 0);
}

static void hold(struct pair *pair, const struct distribution *distribution, int n_pending, int n_holds,
                 unsigned n_priorities)
{
    struct event event;
    for (int i = 0; i < n_pending; i++)
        push_after(pair, (uint64_t)sim_ns_from_s(distribution->draw_s(&pair->rng)), n_priorities);
    for (int i = 0; i < n_holds && pop(pair, &event); i++)
        push_after(pair, (uint64_t)sim_ns_from_s(distribution->draw_s(&pair->rng)), n_priorities);
    drain(pair);
}

static const struct distribution *distribution_named(const char *name)
{
    for (int i = 0; i < N_DISTRIBUTIONS; i++)
        if (strcmp(distributions[i].name, name) == 0) return &distributions[i];
    return NULL;
}

TEST(nine_distributions_come_in_the_order_of_the_heap)
{
    static const int sizes[] = {3, 100, 3000};
    for (int i = 0; i < N_DISTRIBUTIONS; i++)
        for (int k = 0; k < 3; k++) {
            struct pair pair;
            MUST(pair_init(&pair, distributions[i].name, (uint64_t)k));
            hold(&pair, &distributions[i], sizes[k], 20000, k == 0 ? 1 : 3);
            pair_fini(&pair);
        }
}

/* The list from which the first event is taken is kept in order by insertion. */
TEST(random_operations_agree_with_a_sorted_list)
{
    static struct event list[MAX_NAIVE];
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct pair pair;
        MUST(pair_init(&pair, "list", seed));
        uint64_t span = UINT64_C(1) << (seed % 30 * 2), n = 0;
        for (int step = 0; step < 4000; step++) {
            bool grow = rng_below(&pair.rng, 100) < (n < MAX_NAIVE / 2 ? 55 : 45);
            struct event event;
            if (grow && n < MAX_NAIVE) {
                event = push_after(&pair, rng_below(&pair.rng, span), 1 + (unsigned)(seed % 3) * 100);
                uint64_t place = n++;
                for (; place > 0 && event_before(&event, &list[place - 1]); place--) list[place] = list[place - 1];
                list[place] = event;
            } else if (pop(&pair, &event)) {
                pair.ok &= event.owner == list[0].owner;
                memmove(list, list + 1, --n * sizeof *list);
            }
        }
        drain(&pair);
        pair_fini(&pair);
    }
}

/* Pathology 1: lists of equal times. Two hundred thousand at once would take hours in a queue that walks them. */
TEST(equal_times_cost_no_walk)
{
    struct pair pair;
    MUST(pair_init(&pair, "equal", 0));
    for (int i = 0; i < 200000; i++) push(&pair, 5000000000, 3, (uint64_t)i * 7919 % 200000);
    drain(&pair);
    pair_fini(&pair);
    MUST(pair_init(&pair, "equal", 1));
    hold(&pair, distribution_named("ties"), 10000, 100000, 4);
    pair_fini(&pair);
}

/* Pathology 2: a width taken from the next few events is wrong for most others. Here there is a dense cluster first,
 * then eight decades, then the cluster again. */
TEST(skewed_times_need_no_width)
{
    struct pair pair;
    MUST(pair_init(&pair, "skewed", 0));
    for (uint64_t i = 0; i < 5000; i++) push(&pair, 1000 + i % 50, 0, i);
    hold(&pair, distribution_named("log-uniform"), 10000, 50000, 2);
    for (uint64_t i = 0; i < 5000; i++) push(&pair, pair.now + i % 50, 0, i);
    hold(&pair, distribution_named("camel"), 10000, 50000, 2);
    pair_fini(&pair);
}

/* Pathology 3: rebuilding again and again while the number of events goes up and down over a power of two. */
TEST(growing_and_shrinking_rebuilds_nothing)
{
    struct pair pair;
    struct event event;
    MUST(pair_init(&pair, "thrash", 0));
    for (int i = 0; i < 65536; i++) push_after(&pair, rng_below(&pair.rng, 1000000000), 2);
    size_t bytes = eventq_bytes(&pair.calendar);
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 500; i++) push_after(&pair, rng_below(&pair.rng, 1000000000), 2);
        for (int i = 0; i < 500; i++) pop(&pair, &event);
    }
    CHECK(eventq_bytes(&pair.calendar) < bytes + 600 * 1024);
    drain(&pair);
    pair_fini(&pair);
}

/* Pathology 4: a wrong order that only long runs showed. */
TEST(a_long_run_of_the_llm_mix_stays_in_order)
{
    struct pair pair;
    MUST(pair_init(&pair, "long", 0));
    hold(&pair, distribution_named("llm-mix"), 10000, 600000, 2);
    pair_fini(&pair);
}

/* Pathology 5: events of years away beside iterations of 20 ms, and the end of time itself. */
TEST(the_far_future_is_not_scanned)
{
    const uint64_t day_ns = 86400 * (uint64_t)SIM_NS_PER_S;
    struct pair pair;
    struct event event;
    MUST(pair_init(&pair, "far", 0));
    for (uint64_t i = 0; i < 20000; i++) push(&pair, (1 + rng_below(&pair.rng, 3650)) * day_ns + i, 0, i);
    push(&pair, INT64_MAX, 255, 1);
    push(&pair, INT64_MAX, 0, 1);
    for (int i = 0; i < 100; i++) push_after(&pair, 20000000 + rng_below(&pair.rng, 1000), 2);
    for (int i = 0; i < 100000 && pop(&pair, &event); i++) push_after(&pair, 20000000 + rng_below(&pair.rng, 1000), 2);
    CHECK(pair.now < 30 * (uint64_t)SIM_NS_PER_S);
    drain(&pair);
    CHECK(pair.now == INT64_MAX);
    pair_fini(&pair);
}

/* Pathology 6: the end of a year. Times lie around every power of two, where a byte of the time and all below it
 * turn. */
TEST(years_end_without_a_rebase)
{
    struct pair pair;
    struct event event;
    MUST(pair_init(&pair, "years", 0));
    for (unsigned bit = 4; bit < 62; bit++)
        for (uint64_t i = 0; i < 100; i++) push(&pair, (UINT64_C(1) << bit) - 8 + rng_below(&pair.rng, 16), 0, i);
    for (int i = 0; i < 50000 && pop(&pair, &event); i++) push_after(&pair, rng_below(&pair.rng, 12), 2);
    drain(&pair);
    pair_fini(&pair);
}

/* Events that their predecessors schedule for the same moment or soon after it, with larger and with smaller priority
 * numbers than those of the running event: more than today has room for. */
TEST(bursts_at_the_current_time_tear_up_today)
{
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct pair pair;
        struct event event;
        MUST(pair_init(&pair, "burst", seed));
        for (int i = 0; i < 2000; i++) push_after(&pair, rng_below(&pair.rng, 1000) << (seed % 20), 8);
        for (int i = 0; i < 5000 && pop(&pair, &event); i++) {
            uint64_t n = rng_below(&pair.rng, 400) == 0 ? rng_below(&pair.rng, 3000) : rng_below(&pair.rng, 2);
            for (; n > 0; n--) push_after(&pair, rng_below(&pair.rng, 3) * rng_below(&pair.rng, 5), 8);
        }
        drain(&pair);
        pair_fini(&pair);
    }
}

/* Events for a day that has begun are kept apart, in memory that counts, too. */
TEST(memory_of_newcomers_counts)
{
    struct eventq queue;
    const struct event *next;
    MUST(eventq_init(&queue, QUEUE_CALENDAR) == 0);
    CHECK_EQ_INT(eventq_push(&queue, (struct event){.time = 1000, .order = 0}), 0);
    CHECK_EQ_INT(eventq_peek(&queue, &next), 1);
    size_t bytes = eventq_bytes(&queue);
    for (uint64_t i = 1; i < 100; i++) {
        CHECK_EQ_INT(eventq_push(&queue, (struct event){.time = 1000, .order = i}), 0);
        CHECK(eventq_bytes(&queue) >= bytes);
        CHECK(eventq_bytes(&queue) < bytes + 64 * 1024);
        bytes = eventq_bytes(&queue);
    }
    eventq_fini(&queue);
}

/* A day that begins while an earlier event can still come: the calendar looked ahead, and then the clock did not
 * move. */
TEST(events_before_the_day_that_was_looked_at_come_first)
{
    struct pair pair;
    const struct event *next;
    MUST(pair_init(&pair, "ahead", 0));
    for (uint64_t i = 0; i < 3000; i++) push(&pair, 1000000 + i * 1000, 1, i);
    CHECK_EQ_INT(eventq_peek(&pair.calendar, &next), 1);
    for (uint64_t i = 0; i < 3000; i++) push(&pair, rng_below(&pair.rng, 1000000), 1, i);
    drain(&pair);
    pair_fini(&pair);
}

static double draw_twelve_decades(struct rng *rng)
{
    return pow(10, 12 * rng_uniform(rng) - 8);
}

/* At most 36 bytes per record at the peak, and 1 MiB. */
static void check_memory(const struct distribution *distribution, size_t n_pending)
{
    struct eventq queue;
    struct rng rng;
    const struct event *next;
    uint64_t now = 0;
    MUST(eventq_init(&queue, QUEUE_CALENDAR) == 0);
    rng_init(&rng, 2, 0, "memory", 0);
    for (size_t i = 0; i < 2 * n_pending + 20000; i++) {
        struct event event = {.time = now + (uint64_t)sim_ns_from_s(distribution->draw_s(&rng)), .order = i + 1};
        if (eventq_push(&queue, event) != 0) break;
        if (i < n_pending || eventq_peek(&queue, &next) != 1) continue;
        now = next->time;
        eventq_drop(&queue, next);
    }
    CHECK_EQ_INT(eventq_count(&queue), n_pending);
    CHECK(eventq_bytes(&queue) <= 36 * (n_pending + 1) + 1024 * 1024);
    eventq_fini(&queue);
}

TEST(memory_stays_within_36_bytes_per_record)
{
    static const struct distribution twelve_decades = {"twelve decades", draw_twelve_decades};
    for (size_t n_pending = 100; n_pending <= 100000; n_pending *= 10) {
        for (int i = 0; i < N_DISTRIBUTIONS; i++) check_memory(&distributions[i], n_pending);
        check_memory(&twelve_decades, n_pending);
    }
}

/* 0 or what failed. */
static int fill_and_drain(enum queue_kind kind, uint64_t n)
{
    struct eventq queue;
    struct rng rng;
    const struct event *next;
    int code = eventq_init(&queue, kind);
    rng_init(&rng, 3, 0, "memory", 0);
    for (uint64_t i = 1; i <= n && code == 0; i++)
        code = eventq_push(&queue, (struct event){.time = rng_u64(&rng) >> (1 + rng_below(&rng, 40)), .order = i});
    while (code == 0 && (code = eventq_peek(&queue, &next)) == 1) {
        eventq_drop(&queue, next);
        code = 0;
    }
    eventq_fini(&queue);
    return code;
}

/* Whatever allocation fails, pushing or popping says so, and nothing leaks. */
TEST(running_out_of_memory_is_reported)
{
    for (int kind = QUEUE_CALENDAR; kind <= QUEUE_HEAP; kind++) {
        int code = SIM_E_NOMEM, n = 0;
        for (; n < 100 && code != 0; n++) {
            mem_fail_after(n);
            code = fill_and_drain((enum queue_kind)kind, 20000);
            mem_fail_never();
            CHECK(code == 0 || code == SIM_E_NOMEM);
        }
        CHECK_EQ_INT(code, 0);
        CHECK(n > 8);
    }
}
