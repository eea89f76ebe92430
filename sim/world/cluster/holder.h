/* Holders of GPUs, the watchers of holders, and the messages between them.
 *
 * A holder is a job or a replica. Its tenant (all jobs together, or a service) reports each change of its GPUs:
 * `given` after it took them, `taken` before it releases them. Watchers (failures, power, market) are notified in the
 * order in which they joined. They keep their state of a holder in holder.watcher_state and act on it by holder.ops.
 * Tenants are notified when GPUs become free, and may be asked to make room. Tenants and watchers do not include each
 * other's headers. */
#ifndef ORRERY_WORLD_CLUSTER_HOLDER_H
#define ORRERY_WORLD_CLUSTER_HOLDER_H

#include "models/power.h"
#include "sim/core/units.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct allocation;
struct cluster;
struct holder;
struct holder_strike;
struct clock_order;

enum { HOLDER_WATCHERS = 3, HOLDER_STAGES = 4 };

/* Inputs for the power of a holder's GPUs. A steady holder (a job) draws the mean power of its stages, or mean_w, on
 * each GPU while it holds them; others (replicas) report their energy and power by drawn_j and draws_w. */
struct holder_draw {
    int group;          /* enum power_group */
    int64_t gpus;       /* others: at most */
    double mean_w;      /* steady, at the highest clock; not above 0: unknown */
    double clock_share; /* steady with mean_w: share of its time that scales with the SM clock */
    int n_stages;       /* steady: of the work that it repeats; 0: mean_w says what it draws */
    const struct power_stage *stages; /* of its tenant's, which lasts as long as the holder */
    double used_frac;   /* steady with stages: share of its GPUs that work so; the others idle with a process */
    double idle_w, highest_hz, limit_w; /* others: of its GPU */
    bool varies_between_events;     /* others: its power changes between events, too */
};

/* NULL: not supported by the holder. */
struct holder_ops {
    /* A failure takes its GPUs. Returns 0 or a negative code. */
    int (*strike)(struct holder *holder, struct holder_strike *strike, sim_ns now);
    /* Time for which it has held GPUs: the clock of failures of its own software. */
    sim_ns (*held_ns)(const struct holder *holder, sim_ns now);
    /* Steady: its speed_frac has changed while it holds GPUs. */
    void (*speed_changed)(struct holder *holder, sim_ns now);
    /* Steady: another command sets its clock, at the same speed_frac below 1. */
    void (*command_changed)(struct holder *holder, sim_ns now);
    /* Steady: its slow_frac or is_paused has changed while it holds GPUs. Of holders with held_ns. */
    void (*slowed)(struct holder *holder, sim_ns now);
    /* Others: applies a clock or cap from its next boundary on; energy and power of its GPUs. */
    void (*set_clock)(struct holder *holder, const struct clock_order *order, sim_ns now);
    double (*drawn_j)(const struct holder *holder, sim_ns at);
    double (*draws_w)(const struct holder *holder, sim_ns at);
};

struct holder {
    double speed_frac;              /* steady: speed at the present clock; a watcher of power sets it */
    double slow_frac;               /* steady: share of its speed on its slowest node; a watcher of failures sets it */
    bool is_paused;                 /* steady: a planned outage of a node stops it; slow_frac is 0. Set as slow_frac */
    int64_t ugpus;                  /* GPUs held, in 1e-6 */
    struct allocation *held;        /* NULL: nothing, or GPUs on no node in particular */
    struct cluster *cluster;        /* the node type whose nodes `held` names; of a replica the first, whose nodes
                                     * and all after them are numbered in the site */
    struct tenant *tenant;
    const struct holder_ops *ops;
    uint64_t number;                /* among its tenant's */
    void *watcher_state[HOLDER_WATCHERS]; /* by slot of the watcher: its state of the holder */
    const struct holder_draw *draw; /* holders that draw alike may share it */
    double drawn_j;                 /* steady: energy before it was given its present GPUs; a watcher sets it */
    int32_t bears_slow;             /* steady: slow nodes that it does without; set before it is given GPUs */
    struct holder *next;                     /* in holders.first */
};

struct holder_strike {
    const char *cause;
    int32_t node;        /* number in the site; -1: the holder's software fails */
    sim_ns restart_ns;   /* wait of the holder's next start */
    sim_ns ready_ns;     /* when that wait may begin, not before now */
    int64_t n_interrupts; /* out: jobs interrupted, and the GPU time of their lost work */
    double lost_gpu_s;
};

/* Expected losses of unsaved work of a holder on its GPUs: INFINITY and 0 if none comes. */
struct holder_risk {
    double mtbf_s, restart_s; /* mean time between failures; mean wait after one before it works again */
};

/* The command that sets the clock of a steady holder. */
struct holder_command {
    const char *domain, *target; /* NULL: none is in force */
    sim_ns given_ns, since_ns;   /* when it was given, and took effect */
};

enum site_change { SITE_NODE_RETURNED, SITE_NODE_FAILED, SITE_JOBS_RELEASED, SITE_SERVICE_CHANGED };

struct tenant {
    const struct tenant_ops {
        /* Running holders yield until nodes with this GPU type have `groups` groups of `gpus` free GPUs. Returns how
         * many yielded, 0 where no room can be made, or a negative code. NULL: they never yield. */
        int (*make_room)(struct tenant *tenant, const char *gpu, int32_t gpus, int64_t groups, sim_ns now);
        void (*changed)(struct tenant *tenant, enum site_change change);
    } * ops;
    bool awaits_nodes; /* it may wait for nodes that are down */
    struct tenant *next;
};

struct watcher {
    const struct watcher_ops { /* NULL: not of interest. Codes: 0 or negative */
        /* A holder that lasts the whole run joins, before the run. Returns a code. */
        int (*joins)(struct watcher *watcher, struct holder *holder);
        /* The holder has taken GPUs, those of `held` and `ugpus`. Returns a code. */
        int (*given)(struct watcher *watcher, struct holder *holder, sim_ns now);
        /* The holder is about to release its GPUs, which `held` still names. */
        void (*taken)(struct watcher *watcher, struct holder *holder, sim_ns now);
        /* What a steady holder with GPUs draws has changed: its `draw` has other numbers. */
        void (*redrawn)(struct watcher *watcher, struct holder *holder, sim_ns now);
        /* A holder that does not last leaves the site for good; is_finished: its work is done. */
        void (*leaves)(struct watcher *watcher, struct holder *holder, bool is_finished);
        /* No tenant waits any more for nodes that are down. */
        void (*none_awaited)(struct watcher *watcher);
        /* Nodes, by their numbers in the site, lose their power from now until `until_ns`. Returns a code. */
        int (*black_out)(struct watcher *watcher, int32_t first_node, int32_t n_nodes, sim_ns until_ns);
        /* The failures that the watcher expects of a holder on the GPUs that it holds. */
        struct holder_risk (*risk)(const struct watcher *watcher, const struct holder *holder);
        /* Joules that the GPUs of a steady holder have drawn for it, over all its runs up to `now`; NAN: unknown. */
        double (*drawn_j)(const struct watcher *watcher, const struct holder *holder, sim_ns now);
        /* The command that sets the clock of a steady holder with GPUs now. */
        struct holder_command (*command)(const struct watcher *watcher, const struct holder *holder);
    } * ops;
    int slot; /* of its state in holder.watcher_state; holders_watch sets it */
    struct watcher *next;
};

/* The registry of a site, in its first cluster. */
struct holders {
    struct watcher *watchers;
    struct tenant *tenants;
    struct holder *first, *last; /* holders that last the whole run, in the order in which they joined */
    int n_watchers, n_awaiting;
};

#define EACH_WATCHER(watcher, holders, op)                                                                             \
    for (struct watcher *watcher = (holders)->watchers; watcher != NULL; watcher = watcher->next)                      \
        if (watcher->ops->op != NULL)

/* A watcher joins behind the others, before any holder. At most HOLDER_WATCHERS join. */
void holders_watch(struct holders *holders, struct watcher *watcher);

/* A tenant, with awaits_nodes set, enters. holders_end: it waits for nodes no longer. */
void holders_enter(struct holders *holders, struct tenant *tenant);
void holders_end(struct holders *holders, struct tenant *tenant);

/* A holder that lasts joins before the run, and is `given` what it holds. Both return 0 or a negative code. */
int holders_join(struct holders *holders, struct holder *holder);

static inline int holders_given(const struct holders *holders, struct holder *holder, sim_ns now)
{
    int code = 0;
    EACH_WATCHER(watcher, holders, given) if (code == 0) code = watcher->ops->given(watcher, holder, now);
    return code;
}

static inline void holders_taken(const struct holders *holders, struct holder *holder, sim_ns now)
{
    EACH_WATCHER(watcher, holders, taken) watcher->ops->taken(watcher, holder, now);
}

/* What a steady holder with GPUs draws has changed. */
void holders_redrawn(const struct holders *holders, struct holder *holder, sim_ns now);

/* A holder that does not last leaves the site. */
static inline void holders_leave(const struct holders *holders, struct holder *holder, bool is_finished)
{
    EACH_WATCHER(watcher, holders, leaves) watcher->ops->leaves(watcher, holder, is_finished);
}

/* The risks of all watchers together: their rates add up. */
struct holder_risk holders_risk(const struct holders *holders, const struct holder *holder);

/* Energy that a steady holder's GPUs have drawn for it, in joules; NAN if no watcher counts power. */
static inline double holders_drawn_j(const struct holders *holders, const struct holder *holder, sim_ns now)
{
    EACH_WATCHER(watcher, holders, drawn_j) return watcher->ops->drawn_j(watcher, holder, now);
    return (double)NAN;
}

/* The command in force for a steady holder with GPUs. */
struct holder_command holders_command(const struct holders *holders, const struct holder *holder);

/* Nodes are without power until a time. Returns 0 or a negative code. */
int holders_black_out(const struct holders *holders, int32_t first_node, int32_t n_nodes, sim_ns until_ns);

/* Asks the first tenant that can to make room (tenant_ops), and returns what it returns; 0: none can. holders_changed
 * tells all tenants what has changed. */
int holders_make_room(const struct holders *holders, const char *gpu, int32_t gpus, int64_t groups, sim_ns now);
void holders_changed(const struct holders *holders, enum site_change change);

#endif
