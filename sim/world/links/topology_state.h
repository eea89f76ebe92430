/* The inside of a topology. Only files of this room include it. */
#ifndef ORRERY_WORLD_LINKS_TOPOLOGY_STATE_H
#define ORRERY_WORLD_LINKS_TOPOLOGY_STATE_H

#include "sim/core/mem.h"
#include "sim/world/links/topology.h"

#include <stdio.h>

enum { HOST_DEVICE = 0 }; /* index of the host among the devices */

/* A link for each direction; in: towards the GPU, or into the node. NULL until a transfer needs them. */
struct link_pair {
    struct link *in, *out;
};

struct topology_node {
    int32_t index;  /* as the cluster counts them; from cluster.nodes on: of a replica's own */
    bool own;
    int32_t n_gpus;
    struct topology_gpu *gpus;
    struct link_pair *switches; /* [n_gpus]: those of the first GPUs below them; NULL without */
    struct link_pair nic;       /* when there is one for all GPUs */
    /* [n_devices + 1], the host first; NULL until asked for; those of the site are shared */
    struct tier **tiers;
};

struct topology_gpu {
    struct topology_node *node;
    int32_t index;
    bool taken;
    const struct gpu_spec *spec; /* of the latest placement */
    struct link_pair pcie, nvlink, nic;
};

/* What the scenario calls a tier, and what the catalog says of its devices. */
struct topology_device {
    const struct storage_config *config; /* NULL: the host */
    enum tier_kind kind;
    struct storage_spec *spec; /* NULL: a host of which nothing is known */
    const struct storage_software *software;
};

struct topology {
    struct topology_env env;
    struct arena arena;
    struct link_net *net;
    int32_t n_devices; /* the host and cluster.storage */
    struct topology_device *devices;
    struct topology_node **nodes; /* [cluster.nodes], NULL before the first placement there */
    int32_t n_own_nodes;
    struct tier **site_tiers; /* [n_devices]: remote memory */
    struct link *fabric;
    struct graph graph;
    struct link_pair **leaf_ports, **pod_ports; /* [leaves], [pods]: ports of their switches, NULL before the first */
    int32_t *load;                              /* by link: flows and claims over it, where paths are planned */
    int32_t load_capacity;
    unsigned char *kinds; /* enum link_kind of each link of the network */
    int32_t kinds_capacity;
    struct pool shards;
    struct tier **tiers; /* all that were made, in order */
    int32_t n_tiers, tiers_capacity;
    int64_t moved_bytes[LINK_KIND_COUNT]; /* of ended shards, over each of their links: counted apart from these */
    struct transfer *moving;              /* transfers that move */
    struct topology_flow *flows;          /* flows of their own that move */
    struct topology_gpu *placed_gpus[TOPOLOGY_SAMPLED_GPUS]; /* the first GPUs of placements */
    int32_t n_placed_gpus;                                   /* all of them */
    bool sampled[LINK_KIND_COUNT];                           /* kinds with a series */
    int32_t n_sampled_links;
};

/* Creates a link, unless *link exists. Returns 0 or SIM_E_NOMEM. */
int topology_link(struct topology *topology, struct link **link, enum link_kind kind, double bytes_per_s,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));

/* A node of the cluster; index < 0: a new private one with n_gpus. NULL: out of memory. */
struct topology_node *topology_node(struct topology *topology, int32_t index, int32_t n_gpus);

/* The tier of a device that a node reaches; created if missing. Returns 0 or SIM_E_NOMEM. */
int topology_make_tier(struct topology *topology, struct topology_node *node, int32_t index, struct tier **tier);

/* --- topology_graph.c --- */

int topology_graph_create(struct topology *topology);
int topology_reserve_load(struct topology *topology, int32_t n_links); /* 0 or SIM_E_NOMEM */

/* Adds the ports between the leaves of two NICs, by one of the equal paths; NULL: memory of the site, at the top
 * switches. Returns 0 or SIM_E_NOMEM. */
int topology_climb(struct topology *topology, const struct graph_nic *from, const struct graph_nic *to,
                   struct topology_route route, struct link_path *path);

/* --- bundle.c --- */

/* Whether a transfer is moved as one flow; its path, as topology_path; the hops of that path at the sender. */
bool topology_is_bundle(struct topology_end from, struct topology_end to);
int topology_bundle_path(struct topology *topology, struct topology_end from, struct topology_end to,
                         struct link_path *path, double *cap_bytes_per_s);
int32_t topology_bundle_out_links(struct topology_end from, struct topology_end to);

/* GPUs whose links carry what the flow carries over hop k. */
static inline int32_t transfer_copies(const struct transfer *transfer, int32_t k)
{
    return transfer->n_out_hops == 0 ? 1 : transfer->gpus[k >= transfer->n_out_hops];
}

#endif
