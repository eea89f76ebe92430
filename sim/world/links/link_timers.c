#include "sim/world/links/link_timers.h"

static bool is_before(const struct link_timer *a, const struct link_timer *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->flow->number < b->flow->number;
}

static void put(struct link_timers *timers, int32_t at, struct link_timer timer)
{
    timers->entries[at] = timer;
    timer.flow->timer_at = at;
}

/* Finds a place for the timer, up or down from `at`. */
static void settle(struct link_timers *timers, int32_t at, struct link_timer timer)
{
    for (int32_t parent; at > 0 && is_before(&timer, &timers->entries[parent = (at - 1) / 2]); at = parent)
        put(timers, at, timers->entries[parent]);
    for (int32_t child; (child = 2 * at + 1) < timers->n; at = child) {
        if (child + 1 < timers->n && is_before(&timers->entries[child + 1], &timers->entries[child])) child++;
        if (!is_before(&timers->entries[child], &timer)) break;
        put(timers, at, timers->entries[child]);
    }
    put(timers, at, timer);
}

void link_timers_set(struct link_timers *timers, struct link_flow *flow, sim_ns at_ns)
{
    int32_t at = flow->timer_at >= 0 ? flow->timer_at : timers->n++;
    settle(timers, at, (struct link_timer){at_ns, flow});
}

void link_timers_drop(struct link_timers *timers, struct link_flow *flow)
{
    int32_t at = flow->timer_at;
    if (at < 0) return;
    flow->timer_at = -1;
    struct link_timer last = timers->entries[--timers->n];
    if (at < timers->n) settle(timers, at, last);
}
