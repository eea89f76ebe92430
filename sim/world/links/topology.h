/* Topology of a site: the links between GPUs, and to the memory beyond them, and the transfers over these links.
 *
 *     GPU == NVLink == GPU                 where the fabric joins the two
 *     GPU -- PCIe -- [switch] -- host      each GPU has its link; a switch is shared by its GPUs
 *     host -- DRAM, drives, computational drives (tier.h)
 *     GPU -- PCIe -- NIC -- [fabric] -- NIC -- PCIe -- GPU     between nodes; a NIC per GPU or per node
 *     NIC -- leaf -- [pod switch -- [core -- pod switch] -- leaf] -- NIC     with "topology" (graph.h)
 *
 * Every link is a pair, one per direction, except DRAM, which reads and writes share. Rates come from the scenario's
 * "cluster", else from the host device's sustained ones, else from the GPU's data sheet. What is not given does not
 * limit: without "host", host memory is unlimited and as fast as PCIe. Without "network", nodes cannot reach each
 * other.
 *
 * A transfer between replicas consists of concurrent shards, one per GPU of the larger group, each over its own GPU's
 * links. It ends with its last shard. (One flow over a link as wide as the group would not know that two of its GPUs
 * share a switch.) Bytes are distributed evenly, the odd ones to the first shards, and rounded up to whole granules of
 * the tiers.
 *
 * Paths: a drive's data cross host memory twice, unless they go directly. GPUs of a node without NVLink between them
 * use PCIe, over the switch that they share or the host bridge, not through host memory. A NIC per GPU is attached to
 * that GPU's PCIe link, below a switch; a NIC per node is attached to the host. Links are created when a transfer first
 * needs them, so that a large site costs only what moves.
 *
 * With rails, what goes to another rail first crosses NVLink to the GPU of that rail in its own node, if the two are
 * joined (PXN). Remote memory is attached to the top switches.
 *
 * Leaves out: which GPUs of a node jobs hold, several sockets, NUMA, drives of other nodes. */
#ifndef ORRERY_WORLD_LINKS_TOPOLOGY_H
#define ORRERY_WORLD_LINKS_TOPOLOGY_H

#include "models/hardware.h"
#include "sim/catalog/storage.h"
#include "sim/world/cluster/cluster.h"
#include "sim/world/links/graph.h"
#include "sim/world/links/link.h"
#include "sim/world/links/tier.h"
#include "sim/world/rows/component.h"
#include "sim/world/rows/site_env.h"

struct topology;
struct topology_gpu;
struct transfer;

/* The placement of a replica: its GPUs. A zeroed one has none. */
struct topology_placement {
    struct topology *topology;
    int32_t n_gpus;
    struct topology_gpu **gpus;
    bool bundled; /* transfers between such placements are moved as one flow (bundle.c) */
};

/* What kind of link; rows and metrics are by kind. "uplink": between switches. "host": DRAM and its software. */
#define LINK_KINDS(X)                                                                                                  \
    X(LINK_PCIE, "pcie")                                                                                               \
    X(LINK_NVLINK, "nvlink")                                                                                           \
    X(LINK_NETWORK, "network")                                                                                         \
    X(LINK_UPLINK, "uplink")                                                                                           \
    X(LINK_HOST, "host")                                                                                               \
    X(LINK_STORAGE, "storage")                                                                                         \
    X(LINK_CSD, "csd")

enum link_kind {
#define LINK_KIND_ENUM(id, name) id,
    LINK_KINDS(LINK_KIND_ENUM)
#undef LINK_KIND_ENUM
    LINK_KIND_COUNT
};

struct topology_env {
    struct site_env *site;
    const struct cluster_config *cluster;
    const struct topology_config *links;
    bool slows_nics; /* topology_slow_nic may be called */
};

/* Reads the devices that the cluster names. The pointers of env outlive it; destroyed only after the engine. Returns 0
 * or a negative code with findings; topology_destroy also after failure. */
int topology_create(const struct topology_env *env, struct topology **topology);
void topology_destroy(struct topology *topology);

/* Adds n_gpus GPUs of a node, the lowest free ones, to a placement. node < 0: of a private node. May be called again
 * for stages on other nodes. `gpu` outlives the topology. Returns 0 or SIM_E_NOMEM. */
int topology_placement_add(struct topology *topology, struct topology_placement *placement, int32_t node,
                           int32_t n_gpus, const struct gpu_spec *gpu);

/* Frees the GPUs. No transfer of the placement is under way. */
void topology_placement_release(struct topology_placement *placement);

/* The links as the scenario describes them. */
const struct topology_config *topology_config(const struct topology *topology);

/* The switches between the NICs. */
const struct graph *topology_graph(const struct topology *topology);

/* Which of the equal paths: the given one, or (NULL) the network's own choice for a flow with this label. */
struct topology_route {
    uint64_t label;
    const struct graph_choice *choice;
};

/* The path between the NICs of two nodes, from the port of the one to the port of the other. Returns 0 or SIM_E_NOMEM.
 * Where paths are planned, a flow or claim over the path counts as load from topology_note_path(..., 1) to
 * topology_note_path(..., -1). */
int topology_nic_path(struct topology *topology, struct graph_nic from, struct graph_nic to,
                      struct topology_route route, struct link_path *path);
void topology_note_path(struct topology *topology, const struct link_flow *flow, int32_t more);

/* The NIC of a GPU of a placement, on a node of the site. */
struct graph_nic topology_placement_nic(const struct topology_placement *placement, int32_t gpu);

/* Whether this is the name of memory behind the network. */
bool topology_has_remote(const struct topology *topology, const char *name);

/* The path between that memory and a NIC. Returns 0 or SIM_E_NOMEM. */
int topology_storage_path(struct topology *topology, struct graph_nic nic, const char *name, bool writes,
                          struct link_path *path);

/* The path between the memory of a node's host and one of its GPUs, to the GPU or from it; and that between the first
 * kind of drives that the scenario lists and that memory, which reads or writes the drives. A path without links:
 * nothing is known that could limit it. Returns 0 or SIM_E_NOMEM. */
int topology_host_path(struct topology *topology, int32_t node, int32_t gpu, const struct gpu_spec *spec, bool to_gpu,
                       struct link_path *path);
int topology_drive_path(struct topology *topology, int32_t node, bool reads, struct link_path *path);

/* Adds the way between host memory and a NIC to a path that begins (`leaves`) or ends there. 0 or SIM_E_NOMEM. */
int topology_add_host(struct topology *topology, struct graph_nic nic, bool leaves, struct link_path *path);

/* Whether the scenario describes the links of hosts: PCIe, its switches, host memory, drives; and those drives. */
bool topology_has_host_links(const struct topology *topology);
bool topology_has_drives(const struct topology *topology);

/* Whether a link is one of the site that all nodes share: of memory behind the network, or the fabric. */
bool topology_is_shared(const struct topology *topology, const struct link *link);

/* From now on a NIC has this share of its bandwidth, above 0 and at most 1, in both directions. Returns 0 or
 * SIM_E_NOMEM. */
int topology_slow_nic(struct topology *topology, struct graph_nic nic, double share_frac);

/* Whether a replica holds the GPU of this NIC. */
bool topology_nic_is_taken(const struct topology *topology, struct graph_nic nic);

/* Paths for flows that begin together: graph_plan, with the ports shifted to those that carry least. Writes choices
 * [n]. Returns 0 or SIM_E_NOMEM. */
int topology_plan(struct topology *topology, const struct graph_flow *flows, int32_t n, struct graph_choice *choices);

/* The network in which the paths are, and that so many bytes have moved over each hop of a path of it. */
struct link_net *topology_net(struct topology *topology);
void topology_count_moved(struct topology *topology, const struct link_flow *flow, int64_t bytes);

/* Rate of one GPU's PCIe link per direction; 0: unknown. */
double topology_port_bytes_per_s(const struct topology *topology, const struct gpu_spec *gpu);

/* Whether all taken GPUs on the placement's nodes are its own. */
bool topology_is_alone(const struct topology_placement *placement);

/* Whether the placement has all GPUs of its nodes, in order. */
bool topology_owns_nodes(const struct topology_placement *placement);

/* Whether transfers between groups of so many GPUs, which own their nodes, have equal shards over links of their own,
 * if each moves a whole multiple of token_bytes. Called when all placements are taken; sites that sample single links
 * have none. Then all placements of both groups may be `bundled`, as long as
 * nothing else moves over their links. */
bool topology_bundles(const struct topology *topology, int32_t from_gpus, int32_t to_gpus, double token_bytes);

/* The tier that the placement's first GPU can reach: the first of a kind that the scenario lists, or by name. *tier is
 * NULL if there is none. Every placement has DRAM. Returns 0 or SIM_E_NOMEM. */
int topology_tier(const struct topology_placement *placement, enum tier_kind kind, struct tier **tier);
int topology_tier_named(const struct topology_placement *placement, const char *name, struct tier **tier);

/* Whether some GPU of one placement can reach some GPU of the other: on one node, or over the network. */
bool topology_reaches(const struct topology_placement *from, const struct topology_placement *to);

/* One end of a path: the memory of a placement's GPUs (tier NULL), or a tier that they reach. If the stages of a
 * replica are on several nodes, each shard uses the tier of that name on its own node, but its bytes count in the given
 * tier. */
struct topology_end {
    const struct topology_placement *placement;
    struct tier *tier; /* device < 0: of the placement alone, without links of its own */
};

/* The path of one of topology_shards shards. Writes the lowest rate along it that is not a link's (a pair of GPUs in a
 * mesh) to *cap_bytes_per_s, or HUGE_VAL. If both ends are one tier, the path reads inside it, for attention computed
 * there. The ends are not one GPU. Returns 0, SIM_E_NOMEM, or SIM_E_CONFIG with a finding if there is no path. */
int topology_path(struct topology *topology, struct topology_end from, struct topology_end to, int32_t shard,
                  struct link_path *path, double *cap_bytes_per_s);

/* Shards of a transfer between two ends. */
int32_t topology_shards(struct topology_end from, struct topology_end to);

typedef void (*transfer_fn)(struct transfer *transfer, sim_ns now);

struct transfer_shard {
    struct link_flow flow;
    struct transfer *transfer;
    struct transfer_shard *next;
};

/* A transfer, embedded in the struct that uses it. A zeroed or ended one is idle. */
struct transfer {
    struct topology *topology;
    int64_t bytes; /* as requested; links carry whole granules */
    double demand_bytes_per_s;  /* of a claim; 0: no claim, the transfer ends */
    double granted_bytes_per_s; /* of a claim: last reported to its holder */
    int32_t n_left;             /* moving shards; 0: idle */
    int32_t n_out_hops;         /* of a bundle: hops of its flow at the sender; 0: separate shards */
    int32_t gpus[2];            /* of a bundle: at the sender, at the receiver */
    transfer_fn notify;
    void *holder;               /* of a claim, for `notify`; the caller sets it after the start */
    struct transfer *before, *after; /* in the list of moving transfers */
    struct transfer_shard first, *more;
};

#define TRANSFER_ENTITY(transfer_pointer, type, member)                                                                \
    ((type *)(void *)((char *)(transfer_pointer)-offsetof(type, member)))

/* Starts an idle transfer; see topology_path for its ends. `done` is called when its last byte has arrived, never
 * within this call. Returns 0, SIM_E_NOMEM, or SIM_E_CONFIG with a finding if there is no path; then it stays idle. */
int topology_move(struct topology *topology, struct topology_end from, struct topology_end to, int64_t bytes,
                  struct transfer *transfer, transfer_fn done);

/* Of a transfer that has just started: its time on otherwise unused links, and which links its shards fill longest. */
struct transfer_alone {
    double seconds;          /* latency included; at least that, if its shards share links unevenly */
    const char *link, *last; /* names of the first and the last of them on the way of a shard; NULL: the speed between
                                two GPUs of a mesh limits the transfer */
    double link_bytes_per_s; /* of each of them; without one, of the two GPUs */
};
struct transfer_alone transfer_alone(const struct transfer *transfer);

/* Starts an idle transfer as a claim to demand_bytes_per_s. granted_bytes_per_s is the lowest grant of its shards,
 * times their number. `changed` is called when it changes. Returns like topology_move. */
int topology_claim(struct topology *topology, struct topology_end from, struct topology_end to,
                   double demand_bytes_per_s, struct transfer *transfer, transfer_fn changed);
double transfer_demand(struct transfer *transfer, double demand_bytes_per_s); /* changes it; returns the grant */
double transfer_grant(struct transfer *transfer); /* the present grant, which counts as reported */

/* From now on the holder of a claim counts its bytes itself: they are distributed evenly to the shards, the odd ones to
 * the first. */
void transfer_hold(struct transfer *transfer);
void transfer_count(struct transfer *transfer, int64_t bytes);

/* A flow of bytes over a path of topology_nic_path or topology_storage_path, embedded in the struct that uses it. Its
 * `done` calls topology_flow_ended first. */
struct topology_flow {
    struct link_flow flow;
    struct topology_flow *before, *after; /* in the list of moving ones */
};

int topology_flow_start(struct topology *topology, struct topology_flow *flow, const struct link_path *path,
                        int64_t bytes, link_fn done); /* 0 or SIM_E_NOMEM */
void topology_flow_ended(struct topology *topology, struct topology_flow *flow);
void topology_flow_cancel(struct topology *topology, struct topology_flow *flow); /* does nothing for an idle one */

/* Ends a transfer or claim at once, without a callback. Does nothing for an idle one. */
void transfer_cancel(struct transfer *transfer);

/* Emits metrics of links and tiers by kind, without those that never moved or held anything. Returns 0 or the sink's
 * code. */
int topology_emit(const struct topology *topology, sim_ns now, const struct sink *sink);

/* Time series, in bytes per second: of all links of a kind, and of each link if the replicas have at most
 * TOPOLOGY_SAMPLED_GPUS. None if the scenario describes no links. Call topology_prepare_series, which creates the
 * links, before anything moves. Returns 0 or a negative code with a finding. */
enum { TOPOLOGY_SAMPLED_GPUS = 8 };
int topology_prepare_series(struct topology *topology);
int32_t topology_n_series(const struct topology *topology);
void topology_series(const struct topology *topology, struct sampler_series *series);
void topology_sample(const struct topology *topology, double *values);

/* Checks the invariants of links and tiers (INV-8, INV-9). */
void topology_check(const struct topology *topology, sim_ns now);

extern const struct component topology_component;

#endif
