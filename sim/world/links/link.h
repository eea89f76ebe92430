/* Shared links: PCIe links and switches, NVLink, network, host memory, channels of drives.
 *
 * A link carries a number of bytes per second in one direction. A *flow* moves a number of bytes over a path of
 * links, over all of them at once (cut-through), and ends. A *claim* is a flow without end: it demands a rate for as
 * long as it lasts, and is notified when its grant changes. At every moment flows and claims share the links by
 * max-min fairness: no rate can be raised without lowering one that is not higher. Neither a flow's ceiling nor a
 * claim's demand is exceeded (progressive filling; Bertsekas and Gallager, Data Networks, 1992, section 6.5.2). A claim
 * may have a weight below 1: rates over weights are then max-min fair. Claims of one sender that take turns thus
 * count as one, if their weights add up to 1. A
 * PCIe switch, the ceiling of a file system and two GPUs on one bus need no rules of their own: they are links.
 *
 * A flow starts to move after the sum of the latencies of its path and its links, and then moves fluidly at its rate.
 * Rates change only when a flow begins or ends or a claim changes. In between, bytes moved are linear in time, in
 * integers of 2^-46 bytes per nanosecond, so reading them any number of times adds no error. The end is rounded once,
 * to the nearest nanosecond, half to even. All changes of one moment are seen together: rates are computed when they
 * are read, or else once, after all decisions of the moment.
 *
 * Flows over the same path with the same bound form a class. They have the same rate at every moment, so shares are
 * computed by class, and a class counts what each of its flows has moved. A change thus costs time in the number of
 * classes, not of flows.
 *
 * Rates are recomputed only for flows that share a link short of bandwidth with a changed flow, directly or over
 * other flows. A link that its users cannot fill together couples no flows. A flow alone on its links costs a few
 * hundred bytes and an entry in a heap.
 *
 * Leaves out: packets and their headers, slow start and losses of TCP, credits and head-of-line blocking, and bytes
 * that are on the wire when the last one leaves. */
#ifndef ORRERY_WORLD_LINKS_LINK_H
#define ORRERY_WORLD_LINKS_LINK_H

#include "sim/core/engine.h"
#include "sim/core/tally.h"

#include <stddef.h>

struct link;
struct link_class;
struct link_flow;
struct link_net;

enum { LINK_PATH_MAX = 12, LINK_NET_OWNERS = 2 };

/* A link that occurs twice in a path carries all bytes twice. */
struct link_path {
    int32_t n;
    struct link *links[LINK_PATH_MAX];
    sim_ns latency_ns; /* beyond those of the links */
};

/* The callee may begin, end and change flows and claims, including this one. */
typedef void (*link_fn)(struct link_net *net, struct link_flow *flow, sim_ns now);

/* What has a place in a heap of timers: a flow, or a class of flows with number 0. */
struct link_timed {
    uint64_t number;
    int32_t timer_at; /* -1: none */
};

enum link_flow_state { LINK_FLOW_IDLE, LINK_FLOW_LATENT, LINK_FLOW_MOVING };

/* A flow or a claim, embedded in the struct that uses it. A zeroed or ended one is idle: it may be started, or freed.
 * While it moves it must stay at its address. Only the network touches its members. */
struct link_flow {
    enum link_flow_state state;
    struct link_net *net;
    struct link_class *class;
    struct link_timed timed;        /* its number: order of the starts, and of ends at one moment */
    int64_t bytes;                  /* total; a claim: INT64_MAX */
    double cap_bytes_per_s;         /* own ceiling, or the claim's demand */
    int64_t cap, reported;          /* 2^-46 bytes per ns: the ceiling; the rate last reported to a claim */
    bool is_settled;                /* its class knows the following members */
    int64_t rate;                   /* present */
    tally_int128 moved;             /* 2^-46 bytes, up to the anchor */
    sim_ns anchor_ns, end_ns;
    struct link_flow *before, *after; /* in its class, while it is not settled */
    int32_t changed_at, n_hops;       /* changed_at: index in the network's list; -1: none */
    bool endless;
    bool counted;                     /* a claim whose holder counts what it moves */
    link_fn notify;
    struct link *links[LINK_PATH_MAX];
};

/* The entity in which a flow is embedded. */
#define LINK_FLOW_ENTITY(flow_pointer, type, member)                                                                   \
    ((type *)(void *)((char *)(flow_pointer) - offsetof(type, member)))

/* Statistics of a link from the start to a time. */
struct link_stats {
    int64_t bytes; /* of ended flows and claims, plus whole bytes of the others */
    double busy_frac;  /* share of the time with a flow or claim on it that does not leave it idle */
    double used_frac;  /* bytes over the capacity */
};

/* Cost of the model itself: fillings, and flows and classes in them. */
struct link_net_work {
    uint64_t fillings, filled_flows, filled_classes;
};

/* The network takes the owner ids from first_owner_id on, LINK_NET_OWNERS of them. Returns NULL when out of memory.
 * Destroyed only after the engine; flows under way need not be ended before. */
struct link_net *link_net_create(struct engine *engine, uint32_t first_owner_id);
void link_net_destroy(struct link_net *net);

/* Adds a link; bytes_per_s > 0. `name` must outlive the network. Returns NULL when out of memory. */
struct link *link_net_add(struct link_net *net, const char *name, double bytes_per_s, sim_ns latency_ns);

/* From now on the link carries what `of` carries: its statistics are those of `of`, and no flow may use it. Both have
 * been created at one moment, and `of` has no twin. */
void link_make_twin(struct link *link, struct link *of);
bool link_is_twin(const struct link *link);

/* From now on the link carries this share of its bandwidth, above 0 and at most 1. It has no twin. */
void link_net_slow(struct link_net *net, struct link *link, double share_frac);

static inline void link_path_add(struct link_path *path, struct link *link)
{
    path->links[path->n++] = link;
}

/* Starts an idle flow of `bytes` (0 or more) over 1 to LINK_PATH_MAX links, at most cap_bytes_per_s fast (HUGE_VAL: as
 * fast as the links). `done` is called when the last byte has moved, in an event of its own even if that is now; then
 * the flow is idle again. Returns 0 or SIM_E_NOMEM, and then the flow stays idle. */
int link_flow_start(struct link_net *net, struct link_flow *flow, const struct link_path *path, int64_t bytes,
                    double cap_bytes_per_s, link_fn done);

/* Ends a flow or claim at once, without a callback. Returns the whole bytes that it moved; 0 for an idle one. */
int64_t link_flow_cancel(struct link_flow *flow);

/* Whole bytes moved by `at`, which is not before the latest event; for an idle flow: the total it moved. */
int64_t link_flow_moved_bytes(const struct link_flow *flow, sim_ns at);

/* The present rate; 0 before the path's latency has passed, and when idle. */
double link_flow_bytes_per_s(struct link_flow *flow);

/* Whether a link of a moving flow's path is short of bandwidth: its flows and claims together want more. */
bool link_flow_is_squeezed(const struct link_flow *flow);

/* Of a flow that has just started: when its path's latency has passed. */
sim_ns link_flow_begin_ns(const struct link_flow *flow);

/* What the narrowest link of the flow's path can carry. */
double link_flow_path_bytes_per_s(const struct link_flow *flow);

/* Starts an idle flow as a claim to demand_bytes_per_s > 0, at once: the caller adds the path's latency. Writes the
 * grant to *granted_bytes_per_s. `changed` is called, after all other events of the moment, when the grant differs from
 * the last reported one. With granted_bytes_per_s NULL no shares are computed, and the bound of the claim, its demand
 * or the slowest link, counts as reported: for claims that start together. Returns 0 or SIM_E_NOMEM. */
int link_claim_start(struct link_net *net, struct link_flow *claim, const struct link_path *path,
                     double demand_bytes_per_s, link_fn changed, double *granted_bytes_per_s);

/* Changes the demand of a claim. Returns its grant: exactly the demand if that is met. */
double link_claim_demand(struct link_flow *claim, double demand_bytes_per_s);

/* Changes the demand of a claim, like link_claim_demand, but computes no shares: for claims that change together. */
void link_claim_ask(struct link_flow *claim, double demand_bytes_per_s);

/* Tries demands, while nothing else changes. First claims of a settled network, one whose shares are all worked out,
 * try theirs. Then each reads what it would be granted. At last each ends its trial: demands and grants are those from
 * before. */
bool link_net_is_settled(const struct link_net *net);
void link_claim_try(struct link_flow *claim, double demand_bytes_per_s);
double link_claim_tried(struct link_flow *claim, double demand_bytes_per_s);
void link_claim_end_try(struct link_flow *claim);

/* Makes a new claim a sensor. It has the least of all weights, 2^-24, and its grant is on top of that what all others
 * leave, other sensors aside. So the grant changes with every change of the share that its path has for one claim more.
 * A sensor carries nothing: link_used_bytes_per_s leaves it out. */
void link_claim_sense(struct link_flow *claim);

/* Sets the weight of a claim, above 0 and at most 1; 1 until then. It is kept in steps of 2^-24. */
void link_claim_weigh(struct link_flow *claim, double weight);

/* The present grant, which counts as reported. */
double link_claim_grant(struct link_flow *claim);

/* For a holder that moves less than its grant, or unsteadily: from now on the bytes of the claim are those reported by
 * link_claim_count. */
void link_claim_hold(struct link_flow *claim);
void link_claim_count(struct link_flow *claim, int64_t bytes);

/* For a holder that sends in a part of the time only: the claim makes no link busy (link_stats). */
void link_claim_leave_idle(struct link_flow *claim);

const char *link_name(const struct link *link);
int32_t link_index(const struct link *link); /* in its network */
double link_bytes_per_s(const struct link *link); /* that it can carry */
double link_used_bytes_per_s(const struct link *link); /* sum of the rates, with no event of the moment pending */
int64_t link_bytes(const struct link *link, sim_ns at);
struct link_stats link_stats(const struct link *link, sim_ns at);

int32_t link_net_count(const struct link_net *net);
struct link *link_net_at(const struct link_net *net, int32_t index); /* in the order in which they were added */
struct link_net_work link_net_work(const struct link_net *net);

#endif
