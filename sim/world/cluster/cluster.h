/* The GPUs of a site: nodes with equal numbers of GPUs of one type, and how many of them are in use.
 *
 * GPUs are held in one of two ways. A tensor-parallel group of a service, or a job that a placer gave nodes, holds GPUs
 * of particular nodes. A job under counted placement holds a number of GPUs on no node in particular. An unlimited
 * cluster has no nodes and grants every request.
 *
 * If nodes differ (nodes_file), have CPU or memory that counts, or are chosen one by one by a placer, their free
 * resources are tracked beside the counts (node_resources.h). Jobs then hold shares of GPUs, CPU and memory.
 *
 * A site may have further node types beside its own nodes. Each is a cluster of its own in a list behind the first,
 * for services that want its GPUs. Jobs run on the first one's nodes, unless their scheduler uses node types.
 *
 * Not modelled: more than one site. */
#ifndef ORRERY_WORLD_CLUSTER_CLUSTER_H
#define ORRERY_WORLD_CLUSTER_CLUSTER_H

#include "sim/core/mem.h"
#include "sim/core/tally.h"
#include "sim/world/cluster/cluster_config.h"
#include "sim/world/cluster/holder.h"
#include "sim/world/cluster/node_resources.h"
#include "sim/world/cluster/nodeset.h"
#include "sim/world/policy/placement.h"
#include "sim/world/rows/sink.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* Amounts of GPUs are counted in millionths: on a cluster of counted GPUs a job may hold any part of one. */
enum { GPU_MICRO = 1000000 };

static inline int64_t ugpus_of(double gpus)
{
    return (int64_t)(gpus * GPU_MICRO + 0.5);
}

static inline double gpus_of(int64_t ugpus)
{
    return (double)ugpus / GPU_MICRO;
}

/* GPUs held on one node; a list when they are on several. */
struct allocation {
    struct allocation *next;
    int32_t node, gpus;
    struct node_allocation details; /* set if node resources are tracked */
    bool is_withdrawn;              /* in cluster_retake */
};

/* Fragmentation of the GPUs of a cluster for given tasks (models/fragmentation.h), summed over its nodes. */
struct fragmentation {
    const struct frag_task *tasks; /* NULL: not measured */
    int32_t n_tasks;
    double *milli; /* [n_nodes] */
    double sum_milli;
    struct level ugpus;
};

struct cluster {
    int64_t total_gpus, free_gpus; /* INT64_MAX when unlimited; free: GPUs of which no part is held */
    int64_t returnable_gpus;       /* GPUs of services that these may release before the end of the run */
    struct level group_gpus;       /* GPUs in use by services */
    struct level late_group_gpus;  /* the same, with an integral from its start_ns on: the end of the warm-up */
    int64_t claimed_gpus;          /* GPUs that services lost to failures, and will take again to hold them */
    int64_t down_gpus;             /* neither free nor in use: their nodes are down or spare */
    int64_t spare_gpus;            /* of spare nodes */
    int32_t n_spare_nodes;         /* so many of the nodes do not serve while all are up */
    int32_t n_nodes, gpus_per_node;
    int32_t slices; /* MIG slices of each GPU, which count as GPUs; 1: GPUs are whole */
    int32_t *node_free_gpus;       /* [n_nodes]; GPUs held on no node are not taken off; NULL: unlimited */
    int32_t *node_down_gpus;       /* [n_nodes] GPUs withdrawn while the node is down, also those released
                                    * meanwhile; -1: the node is up */
    struct nodeset *nodes_by_free;    /* [gpus_per_node + 1]: the nodes with exactly so many free GPUs */
    struct node_resources *resources; /* NULL: whole GPUs of equal nodes; all node types have one, or none has */
    struct gpu_models *models;        /* of all node types: the first one's own */
    struct gpu_models own_models;
    struct fragmentation fragmentation;
    struct pool allocations;
    struct level ugpus_in_use;
    struct level site_ugpus;       /* of the first node type: in use at the site */
    int64_t unplaced_ugpus;        /* of ugpus_in_use, on no node in particular */
    int64_t kept_ugpus;            /* of ugpus_in_use, which jobs keep after their work: schedulers see them no more */
    int32_t nodes_per_rack;        /* 0: all in one */
    int32_t nodes_per_pod;         /* of the network; 0: all in one */
    uint64_t capacity_epoch; /* counts changes of the GPUs that jobs can use */
    const char *gpu;      /* as the scenario names it; NULL: it does not */
    const char *type_name; /* key in cluster.node_types; NULL: the cluster's own nodes */
    double gpu_usd_per_h; /* NAN: the price of the hardware catalog */
    int32_t node_type;    /* 0: the first */
    int32_t first_node;   /* number of its first node in the site */
    bool is_placed;       /* all jobs are on particular nodes */
    struct holders holders; /* of the first node type: those of the whole site */
    struct cluster *first, *next; /* of the site's node types; next: NULL behind the last */
};

/* Creates a cluster and its further node types. The configuration, checked by cluster_config_load, outlives it.
 * Returns 0 or SIM_E_NOMEM. */
int cluster_create(const struct cluster_config *config, struct cluster **cluster);
void cluster_destroy(struct cluster *cluster);

/* Tracks the node resources of the cluster and its further node types, unless it already does: each held GPU is known
 * from now on. Only services may hold GPUs before. Returns 0, SIM_E_NOMEM, or SIM_E_CONFIG: nodes have more than
 * NODE_LIST_MAX_GPUS. */
int cluster_track_resources(struct cluster *cluster);

/* Measures fragmentation from now on, by `tasks`, which outlive the cluster. Returns 0 or SIM_E_NOMEM. */
int cluster_measure(struct cluster *cluster, sim_ns now, const struct frag_task *tasks, int32_t n_tasks);

/* Takes the GPUs of a tensor-parallel group on one node: the lowest of the nodes with the fewest free GPUs that
 * suffice. Returns the node, or -1 when no node has so many free. Not for unlimited clusters. */
int32_t cluster_take_group(struct cluster *cluster, sim_ns now, int32_t gpus);
void cluster_release_group(struct cluster *cluster, sim_ns now, int32_t node, int32_t gpus);

/* The first node type from `cluster` on with this type of GPU; NULL: none. An unlimited cluster has all types. */
struct cluster *cluster_with_gpu(struct cluster *cluster, const char *gpu);

/* The scenario's rental price of one GPU of this type, for the first node type with a price; NAN: none. */
double cluster_gpu_usd_per_h(const struct cluster *cluster, const char *gpu);

/* Takes a group on the first node type with this GPU that has room. Returns the number of the node in the site, or
 * -1. */
int32_t cluster_take_group_of(struct cluster *cluster, const char *gpu, sim_ns now, int32_t gpus);

/* Takes a group on this node, by its number in the site. So many of its GPUs must be free. */
void cluster_take_group_on(struct cluster *cluster, sim_ns now, int32_t node, int32_t gpus);

/* Whether `groups` groups of `gpus` GPUs can be taken. */
bool cluster_has_groups_of(struct cluster *cluster, const char *gpu, int32_t gpus, int64_t groups);

/* Releases a group; `node` is its number in the site. */
void cluster_release_group_of(struct cluster *cluster, sim_ns now, int32_t node, int32_t gpus);

/* `gpus` GPUs of a group may be released before the end of the run; below 0: no longer. */
void cluster_note_returnable(struct cluster *cluster, int32_t node, int32_t gpus);

/* A service has lost `gpus` GPUs of a group to a failure, and will take as many again; below 0: it has, or will
 * not. */
void cluster_note_claimed(struct cluster *cluster, int32_t node, int32_t gpus);

/* GPUs in use at the site, all node types together. */
double cluster_gpus_in_use(const struct cluster *cluster);

/* GPUs of which jobs keep at least a part after their work: they give them back. */
static inline int64_t cluster_kept_gpus(const struct cluster *cluster)
{
    return (cluster->kept_ugpus + GPU_MICRO - 1) / GPU_MICRO;
}

/* Free GPUs, parts included; infinite when unlimited. */
static inline double cluster_free_amount(const struct cluster *cluster)
{
    if (cluster->total_gpus == INT64_MAX) return (double)INFINITY;
    return gpus_of((cluster->total_gpus - cluster->down_gpus) * GPU_MICRO - cluster->ugpus_in_use.value);
}

/* Whether `ugpus` are free, on any nodes. */
static inline bool cluster_has_free(const struct cluster *cluster, int64_t ugpus)
{
    if (cluster->total_gpus == INT64_MAX) return true;
    return ugpus <= (cluster->total_gpus - cluster->down_gpus) * GPU_MICRO - cluster->ugpus_in_use.value;
}

/* GPUs of nodes that are down, without spare nodes. */
static inline int64_t cluster_missing_gpus(const struct cluster *cluster)
{
    return cluster->down_gpus - cluster->spare_gpus;
}

/* Takes GPUs where a placement says, or (placement NULL) on no node in particular. Returns 0 with the allocation (NULL
 * without nodes), or SIM_E_NOMEM. Returns SIM_E_POLICY, taking nothing, if the placement does not add up to the amount
 * or names GPUs that do not exist or are not free. */
int cluster_take(struct cluster *cluster, sim_ns now, int64_t ugpus, const struct placement *placement,
                 struct allocation **allocation);

/* cluster_take for a job's request with CPU and memory: each node gives them in proportion to the job's GPUs on it,
 * rounded up. */
int cluster_take_request(struct cluster *cluster, sim_ns now, const struct resource_request *request,
                         const struct placement *placement, struct allocation **allocation);

/* Changes the CPU and memory of an allocation to those of `request`, in proportion to its GPUs on each node. Returns
 * false, changing nothing, if there is not as much. Where node resources are tracked. */
bool cluster_set_host(struct cluster *cluster, struct allocation *allocation, const struct resource_request *request);

/* Releases the GPUs; the allocation still names them until cluster_forget. */
void cluster_release(struct cluster *cluster, sim_ns now, int64_t ugpus, const struct allocation *allocation);

/* Takes the GPUs of a released allocation again, those of nodes that are down as well: paused jobs hold such GPUs.
 * Returns false and takes none if they are not all free. */
bool cluster_retake(struct cluster *cluster, sim_ns now, int64_t ugpus, struct allocation *allocation);
void cluster_forget(struct cluster *cluster, struct allocation *allocation);

/* Nodes of the site: of `first` and all further node types. */
static inline int64_t cluster_site_nodes(const struct cluster *first)
{
    int64_t n = 0;
    for (const struct cluster *cluster = first; cluster != NULL; cluster = cluster->next) n += cluster->n_nodes;
    return n;
}

/* The type of a node's GPUs: what a list of nodes calls them, else that of its node type; NULL: neither says. A node
 * below 0: none in particular. */
const char *cluster_gpu_of(const struct cluster *cluster, int64_t node);

/* All GPUs of a node, free or not. */
int32_t cluster_node_gpus(const struct cluster *cluster, int32_t node);

/* Withdraws the free GPUs of a node, and those released there until the node returns. */
void cluster_remove_node(struct cluster *cluster, int32_t node);
void cluster_return_node(struct cluster *cluster, int32_t node);

/* The lowest node >= `from` with `low` to `high` free GPUs, or -1. */
int32_t cluster_next_node(const struct cluster *cluster, int32_t low, int32_t high, int32_t from);

/* Checks INV-6 (world.h) of one node type. */
void cluster_check(const struct cluster *cluster);

/* Emits the cluster's metrics at the end of the run. Returns 0 or the sink's code. */
int cluster_emit(const struct cluster *cluster, sim_ns now, const struct sink *sink);

#endif
