/* When flows have something due: a binary heap by (time, number of the flow), in which every flow knows its place. */
#ifndef ORRERY_WORLD_LINKS_LINK_TIMERS_H
#define ORRERY_WORLD_LINKS_LINK_TIMERS_H

#include "sim/world/links/link.h"

struct link_timer {
    sim_ns at_ns;
    struct link_flow *flow;
};

struct link_timers {
    struct link_timer *entries; /* room for all flows, which the network sees to */
    int32_t n;
};

/* Sets the flow's timer, instead of the one that it had, if any (timer_at >= 0). */
void link_timers_set(struct link_timers *timers, struct link_flow *flow, sim_ns at_ns);
void link_timers_drop(struct link_timers *timers, struct link_flow *flow); /* nothing without a timer */

#endif
