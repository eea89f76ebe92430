/* What the files of this room share. */
#ifndef ORRERY_WORLD_FAILURES_FAILURE_STATE_H
#define ORRERY_WORLD_FAILURES_FAILURE_STATE_H

#include "sim/core/mem.h"
#include "sim/core/rng.h"
#include "sim/core/tally.h"
#include "sim/world/cluster/nodeset.h"
#include "sim/world/failures/failure.h"

/* Coming failures or returns by time, then by number, which is unique at one time. A heap: O(log n) to add and to
 * take. */
struct failure_entry {
    sim_ns time_ns;
    int64_t number;
    sim_ns repair_ns, restart_ns; /* of a shock's later strike */
};

struct failure_queue {
    struct failure_entry *entries; /* the first is the next one */
    size_t n, capacity;
};

int failure_queue_add(struct failure_queue *queue, const struct failure_entry *entry); /* 0 or SIM_E_NOMEM */

/* A cause, or the shocks of a domain, lethal or not: components that fail repeatedly. */
struct failure_source {
    const char *name;
    char stream[96]; /* of its random numbers */
    int scope;       /* enum failure_scope; of shocks FAILURE_SWITCH */
    bool is_shock;
    struct lifetime lifetime, repair, restart;
    double visible_frac, hit_frac, spread_s;
    bool *slow;      /* [n_components]: slow now; NULL: components of this source fail at once */
    bool is_found;   /* slow components are found after `detection`; else they are as before after `repair` */
    double slow_frac;
    struct lifetime detection;
    int64_t n_components;
    int32_t nodes_each;    /* nodes of a switch or a group */
    uint32_t *n_failures;  /* [n_components]: failures so far */
    int32_t *n_held;       /* [n_components]: scratch: nodes of the holder in rate_of; else 0 */
    int32_t job_index;     /* among the sources of scope job */
    int64_t n_seen, n_unseen, n_interrupts;
    double lost_gpu_s;
};

/* A holder on a node. */
struct failure_occupant {
    struct failure_exposure *exposure;
    int32_t node;
    struct failure_occupant *before, *after; /* on the node */
    struct failure_occupant *next;           /* of the holder */
};

/* The next failure of a job from one source. */
struct job_strike {
    sim_ns at_ns; /* by the time for which the job has held GPUs */
    uint32_t n;   /* its number, from 1 on */
};

/* The exposure of a holder with failures of its own, a job, from its first start on. */
struct failure_exposure {
    struct owner strike;
    struct failures *failures;
    struct holder *holder;
    struct failure_occupant *occupants;
    bool holds_gpus; /* counted in `exposed` */
    struct job_strike next[]; /* [n_job_sources] */
};

enum failure_node_state { FAILURE_NODE_UP, FAILURE_NODE_DOWN, FAILURE_NODE_SPARE, FAILURE_NODE_STARTING };

struct failure_node {
    struct cluster *part; /* its node type */
    int32_t index;        /* in it */
    enum failure_node_state state;
    sim_ns down_since_ns;     /* the last time */
    sim_ns out_until_ns;      /* it does not return before: it has no power, or a planned outage */
    bool keeps_jobs;          /* it is down by a planned outage, and its jobs pause */
    double share_frac;        /* of its speed, while components of it are slow; else 1 */
    struct failure_occupant *occupants;
};

/* All GPUs of the node, free or not. */
static inline int32_t failure_node_gpus(const struct failure_node *node)
{
    return cluster_node_gpus(node->part, node->index);
}

/* GPUs of the node that fail one by one: a GPU fails with all of its MIG slices. */
static inline int32_t failure_node_boards(const struct failure_node *node)
{
    return failure_node_gpus(node) / node->part->slices;
}

/* The groups of a domain with `needed`. */
struct failure_quorum {
    const struct failure_domain_config *domain;
    int32_t n_groups;
    int32_t *n_down;        /* [n_groups]: nodes that are down */
    struct level available; /* groups */
};

struct failures {
    struct site_env *site;
    struct cluster *cluster;
    struct watcher watcher; /* keeps the exposure of a holder */
    const struct failures_config *config;
    struct failures_options options;
    struct owner due, awaited;
    struct failure_queue strikes, returns, found; /* found: slow components that are found or mended */
    sim_ns due_ns; /* time of the earliest background event; SIM_NS_MAX: none */
    struct failure_source *sources;
    int32_t n_sources, n_job_sources;
    struct failure_source *breaker; /* NULL: none leaves nodes without power */
    struct failure_source *outages; /* [config->outages.n], of `sources` */
    struct failure_node *nodes;
    int32_t n_nodes;
    int32_t *node_of_gpu;
    int64_t *first_gpu; /* [n_nodes + 1] */
    bool nic_per_gpu;   /* else one per node */
    int64_t n_gpus;
    struct nodeset spares; /* spare nodes that wait */
    int64_t n_uncovered;   /* the cluster's own nodes that are down without a spare node in their place */
    struct level missing_gpus;
    struct failure_quorum *quorums;
    size_t n_quorums;
    struct pool exposures, occupants;
    struct level exposed; /* jobs that hold GPUs */
    int64_t n_by_staff, n_recoveries; /* interrupted jobs that people bring back; all of them */
    double recovery_s;                /* of all of them, until their causes are found */
};

/* The random numbers of the n-th strike of a component or a job: its time first. */
void failure_stream(const struct failures *failures, const struct failure_source *source, uint64_t component,
                    uint32_t n, struct rng *rng);
sim_ns failure_draw_ns(const struct lifetime *lifetime, struct rng *rng);

/* A time to failure: at least 1 ns, so that the clock moves between two failures of a component or a job. */
sim_ns failure_draw_life_ns(const struct lifetime *lifetime, struct rng *rng);

/* The effect of a strike. */
struct failure_effect {
    struct failure_source *source;
    sim_ns repair_ns, restart_ns;
};

/* Nodes of a component, from *first on. Returns their number. */
int32_t failure_nodes_of(const struct failures *failures, const struct failure_source *source, int64_t component,
                         int32_t *first);

/* --- failure_slow.c --- */

enum { FAILURE_COMPONENT_BITS = 40, FAILURE_SOURCE_BITS = 20 };

/* A component becomes slow, and an entry of `found` says until when. Returns how many of its nodes were up, or a
 * negative code; 0: nothing has happened. */
int failure_slow_begin(struct failures *failures, const struct failure_effect *effect, int64_t component,
                       struct rng *rng);
int failure_slow_end(struct failures *failures, struct failure_source *source, int64_t component);

/* Brings jobs on a node up to date with the share of its speed that it now has. */
void failure_refresh_node(struct failures *failures, int32_t node, sim_ns now);

/* The share of its speed that a holder keeps: that of its slowest node. */
double failure_holder_share(const struct failure_exposure *exposure);

/* Whether a node whose jobs pause stops the holder. */
bool failure_holder_pauses(const struct failure_exposure *exposure);

extern const struct watcher_ops failure_watcher_ops; /* failure_jobs.c */
int failures_black_out(struct watcher *watcher, int32_t first_node, int32_t n_nodes, sim_ns until_ns);
void failures_none_awaited(struct watcher *watcher);

/* Strikes all replicas on a node. Returns 0 or a negative code. */
int failure_clear_replicas(struct failures *failures, const struct failure_effect *effect, int32_t node);

/* Strikes all jobs and replicas on a node. Returns 0 or a negative code. */
int failure_clear_node(struct failures *failures, const struct failure_effect *effect, int32_t node);

int failure_nodes_init(struct failures *failures); /* 0 or SIM_E_NOMEM */
void failure_nodes_fini(struct failures *failures);
void failure_set_spares_aside(struct failures *failures);

/* Adds a source of which `source` has the description. `kind` is a part of the name of its stream. Returns 0 or
 * SIM_E_NOMEM. */
int failure_source_add(struct failures *failures, const struct failure_source *source, const char *kind);

/* --- failure_recovery.c --- */

/* When a job that fails now may restart, and whether people find the cause. */
struct failure_recovery {
    sim_ns ready_ns;
    bool by_staff;
};

struct failure_recovery failure_recovery(const struct failures *failures, const struct failure_source *source,
                                         sim_ns now);

/* The mean time until the cause of a failure is found, at a random time of the day. */
double failure_recovery_mean_s(const struct failures *failures);

int failure_recovery_emit(const struct failures *failures); /* 0 or the sink's code */

/* --- failure_outages.c --- */

/* Marks the numbers of queue entries that are outages; the rest of the number is the outage's. */
#define FAILURE_OUTAGE (INT64_C(1) << (FAILURE_COMPONENT_BITS + FAILURE_SOURCE_BITS + 1))

/* Fills the sources of the planned outages, which strike at their times only. */
int failure_outages_add(struct failures *failures); /* 0 or SIM_E_NOMEM */

/* Checks that their nodes exist. Returns 0, or SIM_E_CONFIG with a finding. */
int failure_outages_check(const struct failures *failures, struct diag *diag);

/* Queues their begins. Returns 0 or SIM_E_NOMEM. */
int failure_outages_start(struct failures *failures);

/* Warns of those that the run ended before. Returns 0 or the sink's code. */
int failure_outages_finish(const struct failures *failures, sim_ns now);

/* The entry of an outage begins (of `strikes`) or ends (of `found`). */
int failure_outage_begin(struct failures *failures, const struct failure_entry *entry);
int failure_outage_end(struct failures *failures);

/* --- failure_never.c --- */

/* Warns if the causes and domains, if there are any, struck nothing. Returns 0 or the sink's code. */
int failure_never_finish(const struct failures *failures, sim_ns now);

/* --- failure_nodes.c --- */

/* Starts spare nodes for the nodes that are missing. Returns 0 or SIM_E_NOMEM. */
int failure_nodes_cover(struct failures *failures);

/* A node in service goes down. Returns 0 or SIM_E_NOMEM. */
int failure_node_goes_down(struct failures *failures, const struct failure_effect *effect, int32_t node);

/* The jobs of a node that is down do not pause on it any longer: a spare node may serve for it. Returns 0 or
 * SIM_E_NOMEM. */
int failure_node_keeps_none(struct failures *failures, int32_t node);

/* A node is repaired, or a spare node is ready to serve, as soon as it has power. Returns 0 or SIM_E_NOMEM. */
int failure_node_returns(struct failures *failures, int32_t node);

#endif
