/* The inside of a network of links. Only the link*.c files include this.
 *
 * Bytes are counted in grains of 2^-46, rates in grains per nanosecond: 1 GB/s is 7e13 of them. Rounding a rate to an
 * integer costs less than 1e-14 of it. 64 bits hold a flow's rate up to 65 TB/s; sums have 128 bits. */
#ifndef ORRERY_WORLD_LINKS_LINK_STATE_H
#define ORRERY_WORLD_LINKS_LINK_STATE_H

#include "sim/core/mem.h"
#include "sim/world/links/link.h"

/* When flows have something due: a binary heap by (time, number of the flow), in which every flow knows its place. */
struct link_timer {
    sim_ns at_ns;
    struct link_flow *flow;
};

struct link_timers {
    struct link_timer *entries; /* room for all flows, which the network sees to */
    int32_t n;
};

enum { LINK_GRAIN_BITS = 46 };

struct link {
    const char *name;
    int32_t index;
    sim_ns latency_ns;
    double bytes_per_s;
    tally_int128 capacity, wanted; /* what it carries; the bounds of all hops over it, added up */
    struct link_hop *first, *last; /* hops of moving flows and claims, in the order in which they came */
    struct level hops;             /* their number */
    sim_ns busy_ns, busy_since_ns; /* busy up to when the last hop left; since, while there are hops */
    int64_t ended_bytes;           /* of flows that have left */
    bool dirty;                    /* shares on it are to be worked out anew */

    uint64_t mark; /* of the filling that it takes part in */
    tally_int128 left;
    int64_t n_open; /* hops whose flows have no rate yet */
};

/* Something that stops the level from rising: a link that is full, or a flow at its bound. */
struct link_stop {
    int64_t level;
    uint64_t order; /* among equal levels: flows by number, then links by index */
    struct link *link;
    struct link_flow *flow; /* or NULL */
};

struct link_net {
    struct engine *engine;
    struct owner due, settle; /* the next end of a flow or of a latency; the end of a moment with changes */
    sim_ns due_ns;            /* for which `due` is armed */
    struct arena arena;       /* of the links */
    struct link **links, **dirty, **filling_links; /* room for all links in each */
    int32_t n_links, n_dirty, n_filling_links, links_capacity;
    struct link_flow **filling;  /* room for all flows */
    struct link_flow **changed;  /* claims to be notified, NULL where one has ended; room for all flows twice */
    int32_t n_filling, n_changed, n_flows, flows_capacity;
    struct link_stop *stops; /* room for all links and flows */
    struct link_timers timers;
    uint64_t n_started, mark;
    struct link_net_work work;
};

/* Grains per ns that a link of so many bytes per second carries, at least one. */
#define LINK_RATE_OF_1_PER_S (0x1p46 / 1e9)
tally_int128 link_rate(double bytes_per_s);

/* Room in all lists for so many links and flows. Returns 0 or SIM_E_NOMEM. */
int link_net_reserve(struct link_net *net, int32_t n_links, int32_t n_flows);

/* Whether the users of a link could want more than it carries. */
static inline bool link_is_short(const struct link *link)
{
    return link->wanted > link->capacity;
}

#endif
