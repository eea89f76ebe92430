/* The inside of a network of links. Only the link*.c files include this.
 *
 * Bytes are counted in grains of 2^-46, rates in grains per nanosecond: 1 GB/s is 7e13 of them. Rounding a rate to an
 * integer costs less than 1e-14 of 1 GB/s, and 1e-11 of 1 MB/s. 64 bits hold a flow's rate up to 65 TB/s; sums have
 * 128 bits. */
#ifndef ORRERY_WORLD_LINKS_LINK_STATE_H
#define ORRERY_WORLD_LINKS_LINK_STATE_H

#include "sim/core/key_map.h"
#include "sim/core/mem.h"
#include "sim/world/links/link.h"

/* A binary heap by (key, number). Each entry knows its place. */
struct link_timer {
    tally_int128 at; /* in the network's heap ns, in that of a class grains */
    struct link_timed *of;
};

struct link_timers {
    struct link_timer *entries; /* its owner reserves the room */
    int32_t n, capacity;
};

/* Sets or replaces an entry; timer_at >= 0: it has one in this heap. */
void link_timers_set(struct link_timers *timers, struct link_timed *of, tally_int128 at);
/* Does nothing without an entry. */
void link_timers_drop(struct link_timers *timers, struct link_timed *of);

struct link_hop {
    struct link *link;
    struct link_class *class;
    struct link_hop *before, *after; /* hops of other classes over the link */
};

/* Flows over one path with one bound, or one claim. All moving flows have the rate of the class, once shares are
 * computed. A flow that begins is loose: it has an anchor and an end of its own. When the rate of the class changes,
 * its loose flows settle: from then on all have the anchor of the class, and end in the order of the grains that they
 * still have to move. A flow is loose again from the moment at which it ends until it is notified. */
struct link_class {
    struct link_timed timed; /* the first end of a settled flow */
    int32_t index;           /* in net->classes */
    uint64_t key;            /* of path and bound */
    bool is_claim, is_found; /* is_found: by its key */
    bool senses;             /* a claim that carries nothing (link_claim_sense) */
    bool leaves_idle;        /* a claim that makes no link busy (link_claim_leave_idle) */
    int32_t n_users;         /* flows, also before their latency has passed */
    int64_t n_moving;
    int64_t weight;          /* of a claim, in 1 / LINK_WEIGHT_ONE; others: LINK_WEIGHT_ONE */
    int64_t bound, rate, filled; /* least of the ceiling and the links; present; result of the filling; grains per ns */
    sim_ns anchor_ns;
    tally_int128 served;        /* grains that a flow has moved that has always been in the class, up to the anchor */
    struct link_timers settled; /* by the value of `served` at which the flow ends */
    struct link_flow *loose;
    uint64_t mark;
    struct link_class *next_idle, *next_stop; /* next_stop: with its bound at the same level, in a filling */
    int32_t n_hops;
    struct link_hop hops[LINK_PATH_MAX];
};

enum { LINK_GRAIN_BITS = 46, LINK_WEIGHT_ONE = 1 << 24 };

struct link {
    const char *name;
    int32_t index;
    sim_ns latency_ns;
    double bytes_per_s;
    tally_int128 full, capacity, wanted; /* what it carries unless slow, and now; the bounds of all hops, added up */
    struct link_hop *first, *last; /* hops of classes with moving flows, in the order in which they came */
    sim_ns start_ns;               /* when it was added */
    int64_t n_hops;                /* hops of moving flows and claims */
    int64_t idle_hops;             /* of them, those of claims that leave it idle */
    int64_t weights;               /* of all hops, added up */
    sim_ns busy_ns, busy_since_ns; /* busy up to when the last hop left; since, while there are others */
    int64_t ended_bytes;           /* of flows that have left */
    const struct link *twin_of;    /* NULL: none; the link has the statistics of that one */
    bool dirty;                    /* shares on it are to be worked out anew */

    uint64_t mark; /* of the filling that it takes part in */
    tally_int128 left;
    int64_t open_weights; /* of hops whose flows have no rate yet */
};

/* Something that stops the level from rising: a link that is full, or a class at its bound. A level is a rate over a
 * weight. */
struct link_stop {
    int64_t level;
    uint64_t order; /* among equal levels: classes by number of one of them, then links by index */
    struct link *link;
    struct link_class *class; /* the first of those that stop; or NULL */
};

struct link_net {
    struct engine *engine;
    struct owner due, settle; /* the next end of a flow or of a latency; the end of a moment with changes */
    sim_ns due_ns;            /* for which `due` is armed */
    struct arena arena;       /* of the links */
    struct link **links, **dirty, **filling_links; /* room for all links in each */
    int32_t n_links, n_dirty, n_filling_links, links_capacity;
    struct link_class **filling; /* room for all classes, of which there are at most as many as flows */
    struct link_flow **changed;  /* claims to be notified, NULL where one has ended; room for all flows twice */
    int32_t n_filling, n_changed, n_flows, flows_capacity;
    struct link_stop *stops; /* room for all links and classes */
    struct link_timers timers; /* room for all flows and classes */
    struct link_class **classes, *idle; /* all, and those without users */
    int32_t n_classes, classes_capacity;
    struct key_map class_of_key;        /* indices of classes with users */
    uint64_t n_started, mark;
    struct link_net_work work;
};

/* Grains per ns that a link of so many bytes per second carries, at least one. */
#define LINK_RATE_OF_1_PER_S (0x1p46 / 1e9)
tally_int128 link_rate(double bytes_per_s);

/* Room in all lists for so many links and flows. Returns 0 or SIM_E_NOMEM. */
int link_net_reserve(struct link_net *net, int32_t n_links, int32_t n_flows);

/* The class of a flow that is prepared, with one more user. Returns 0 or SIM_E_NOMEM. */
int link_class_join(struct link_flow *flow, int64_t bound);
void link_class_quit(struct link_flow *flow); /* one user less */

/* A flow begins to move, at its bound; it no longer moves. */
void link_class_enter(struct link_flow *flow, sim_ns now);
void link_class_leave(struct link_flow *flow, sim_ns now);

/* Flows of the class that end now become loose, each with a timer in the network's heap. */
void link_class_expose(struct link_net *net, struct link_class *class, sim_ns now);

/* Gives all flows of the class its filled rate from now on. */
void link_class_share(struct link_net *net, struct link_class *class, sim_ns now);
/* Whole bytes that its moving flows have moved. */
int64_t link_class_bytes(const struct link_class *class, sim_ns at);
void link_classes_free(struct link_net *net);

/* Sets the rate of a loose flow from now on. A flow that is due to end now has ended, whatever the rate. */
void link_flow_set_rate(struct link_flow *flow, int64_t rate, sim_ns now);

/* Of a moving flow: grains moved by a time, and the present rate. */
tally_int128 link_flow_moved(const struct link_flow *flow, sim_ns at);
int64_t link_flow_rate(const struct link_flow *flow);

/* Computes the rates of all classes coupled to the dirty links, into `filled` of net->filling, and cleans the links. */
void link_fill(struct link_net *net);

static inline void link_mark_dirty(struct link_net *net, struct link *link)
{
    if (link->dirty) return;
    link->dirty = true;
    net->dirty[net->n_dirty++] = link;
}

/* Whether the users of a link could want more than it carries. */
static inline bool link_is_short(const struct link *link)
{
    return link->wanted > link->capacity;
}

#define LINK_GRAINS_PER_BYTE ((tally_int128)1 << LINK_GRAIN_BITS)

static inline tally_int128 link_flow_total(const struct link_flow *flow)
{
    return flow->bytes * LINK_GRAINS_PER_BYTE;
}

/* Adds to the sum of the bounds of a link's hops. A link that is short before or after becomes dirty. */
static inline void link_add_wanted(struct link_net *net, struct link *link, tally_int128 more)
{
    if (link_is_short(link)) link_mark_dirty(net, link);
    link->wanted += more;
    if (link_is_short(link)) link_mark_dirty(net, link);
}

#endif
