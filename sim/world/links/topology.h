/* How the GPUs of a site reach each other and the memory beyond their own: the links of each node, and what moves over
 * them.
 *
 *     GPU == NVLink == GPU                 where the fabric joins the two
 *     GPU -- PCIe -- [switch] -- host      each GPU has its link; a switch is shared by its GPUs
 *     host -- DRAM, drives, computational drives (tier.h)
 *     GPU -- PCIe -- NIC -- [fabric] -- NIC -- PCIe -- GPU     between nodes; a NIC per GPU or per node
 *
 * Every link is a pair, one per direction, but for DRAM, which reads and writes share. Rates are those that the
 * scenario's "cluster" gives, else the host device's sustained ones, else the GPU's data sheet. What is not given does
 * not limit: without "host" its memory is endless and as fast as PCIe, without "network" nodes cannot reach each other.
 *
 * A transfer between replicas goes in shards, one for each GPU of the larger group, each over its own GPU's links, all
 * at once; it ends with its last shard. (One flow over a link as wide as the group would not know that two of its GPUs
 * share a switch.) Bytes are dealt out evenly, the odd ones to the first, and rounded up to whole granules of the
 * tiers.
 *
 * Ways: a drive's data pass through host memory, which they cross twice, unless they go directly. GPUs of a node
 * without NVLink between them use PCIe, by way of the switch that they share or of the host bridge, not through host
 * memory. A NIC beside each GPU hangs on that GPU's own PCIe link, below a switch; the one NIC of a node at the host.
 * Links are made when a transfer first needs them, so that a large site costs only what moves.
 *
 * Leaves out: which GPUs of a node jobs hold, several sockets, NUMA, topology of the network between NICs, drives of
 * other nodes. */
#ifndef ORRERY_WORLD_LINKS_TOPOLOGY_H
#define ORRERY_WORLD_LINKS_TOPOLOGY_H

#include "models/hardware.h"
#include "sim/catalog/storage.h"
#include "sim/world/cluster/cluster.h"
#include "sim/world/links/link.h"
#include "sim/world/links/tier.h"
#include "sim/world/rows/component.h"
#include "sim/world/rows/site_env.h"

struct topology;
struct topology_gpu;
struct transfer;

/* The GPUs of a replica. A zeroed one has none. */
struct topology_seat {
    struct topology *topology;
    int32_t n_gpus;
    struct topology_gpu **gpus;
};

/* What kind of link; rows and metrics are by kind. "host": DRAM and its software. */
#define LINK_KINDS(X)                                                                                                  \
    X(LINK_PCIE, "pcie")                                                                                               \
    X(LINK_NVLINK, "nvlink")                                                                                           \
    X(LINK_NETWORK, "network")                                                                                         \
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
};

/* Reads the devices that the cluster names. The pointers of env outlive it; destroyed only after the engine. Returns 0
 * or a negative code with findings; topology_destroy also after failure. */
int topology_create(const struct topology_env *env, struct topology **topology);
void topology_destroy(struct topology *topology);

/* Adds so many GPUs of a node, the lowest free ones, to a seat; node < 0: of a node of their own. May be called again,
 * for stages on other nodes. `gpu` outlives the topology. Returns 0 or SIM_E_NOMEM. */
int topology_sit(struct topology *topology, struct topology_seat *seat, int32_t node, int32_t n_gpus,
                 const struct gpu_spec *gpu);
void topology_rise(struct topology_seat *seat); /* the GPUs are free again; nothing of the seat is on its way */

/* The links as the scenario describes them. */
const struct topology_config *topology_config(const struct topology *topology);

/* What one GPU's PCIe link carries each way; 0: nobody says. */
double topology_port_bytes_per_s(const struct topology *topology, const struct gpu_spec *gpu);

/* Whether all GPUs of the seat's nodes that somebody has taken are its own. */
bool topology_is_alone(const struct topology_seat *seat);

/* The tier of a kind that the seat's first GPU can reach, the first one that the scenario lists, or by name; *tier is
 * NULL when there is none. Every seat has DRAM. Returns 0 or SIM_E_NOMEM. */
int topology_tier(const struct topology_seat *seat, enum tier_kind kind, struct tier **tier);
int topology_tier_named(const struct topology_seat *seat, const char *name, struct tier **tier);

/* Whether anything can move from some GPU of one seat to some GPU of the other: on one node, or over the network. */
bool topology_reaches(const struct topology_seat *from, const struct topology_seat *to);

/* One end of a way: the memory of a seat's GPUs (tier NULL), or a tier that they reach. Where the stages of a replica
 * are on several nodes, each shard uses the tier of that name on its own node, but its bytes are counted in the one
 * given. */
struct topology_end {
    const struct topology_seat *seat;
    struct tier *tier; /* device < 0: of the seat alone, without links of its own */
};

/* The way of one shard, out of topology_shards. Writes the least of the rates along it that are no links (a pair of
 * GPUs in a mesh) to *cap_bytes_per_s, or HUGE_VAL. Two ends that are one tier: it is read inside, for attention that
 * is computed there. They are not one GPU. Returns 0, SIM_E_NOMEM, or SIM_E_CONFIG with a finding when there is no
 * way. */
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

/* A transfer, embedded in what it belongs to. A zeroed one is idle, and so is one that has ended. */
struct transfer {
    struct topology *topology;
    int64_t bytes;              /* asked for; links carry whole granules */
    double demand_bytes_per_s;  /* of a claim; 0: it has an end */
    double granted_bytes_per_s; /* of a claim: what its holder last learned */
    int32_t n_left;             /* shards that still move; 0: idle */
    transfer_fn notify;
    void *holder;               /* of a claim, for `notify`: whoever starts it sets it afterwards */
    struct transfer *before, *after; /* of those that move */
    struct transfer_shard first, *more;
};

#define TRANSFER_ENTITY(transfer_pointer, type, member)                                                                \
    ((type *)(void *)((char *)(transfer_pointer)-offsetof(type, member)))

/* Starts an idle transfer; see topology_path for its ends. `done` is called when its last byte has arrived, never from
 * within the call. Returns 0, SIM_E_NOMEM, or SIM_E_CONFIG with a finding when there is no way; then it stays idle. */
int topology_move(struct topology *topology, struct topology_end from, struct topology_end to, int64_t bytes,
                  struct transfer *transfer, transfer_fn done);

/* Starts an idle transfer as a claim to so many bytes per second, for as long as it lasts; see granted_bytes_per_s: the
 * least of the shards' grants, for all of them. `changed` is called when that has become another. Returns like
 * topology_move. */
int topology_claim(struct topology *topology, struct topology_end from, struct topology_end to,
                   double demand_bytes_per_s, struct transfer *transfer, transfer_fn changed);
double transfer_demand(struct transfer *transfer, double demand_bytes_per_s); /* changes it; returns what is granted */
double transfer_grant(struct transfer *transfer); /* what is granted now; its holder has learned of it */

/* From now on the holder of a claim counts its bytes itself: they are dealt out to the shards evenly, the odd ones to
 * the first. */
void transfer_hold(struct transfer *transfer);
void transfer_count(struct transfer *transfer, int64_t bytes);

/* Ends a transfer or claim at once, without a callback; nothing for an idle one. */
void transfer_cancel(struct transfer *transfer);

/* Emits what links and tiers did, by kind: nothing where nothing was ever moved or held. Returns 0 or the sink's
 * code. */
int topology_emit(const struct topology *topology, sim_ns now, const struct sink *sink);

/* Time series, in bytes per second: of all links of a kind, and of each link when the replicas have
 * TOPOLOGY_SAMPLED_GPUS or less. None where the scenario says nothing of links. To be prepared, which makes the links,
 * before anything moves. Returns 0 or a negative code with a finding. */
enum { TOPOLOGY_SAMPLED_GPUS = 8 };
int topology_prepare_series(struct topology *topology);
int32_t topology_n_series(const struct topology *topology);
void topology_series(const struct topology *topology, struct sampler_series *series);
void topology_sample(const struct topology *topology, double *values);

/* Checks the invariants of links and tiers (INV-8, INV-9). */
void topology_check(const struct topology *topology, sim_ns now);

extern const struct component topology_component;

#endif
