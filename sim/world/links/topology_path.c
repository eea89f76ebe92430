/* Paths between GPUs and tiers, and the links of GPUs, switches and NICs, which are created as paths need them. */
#include "sim/core/check.h"
#include "sim/world/links/topology_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A path under construction. */
struct way {
    struct topology *topology;
    struct link_path *path;
    double cap_bytes_per_s;
    struct topology_route route; /* of the flow, over equal paths */
    int code; /* the first that went wrong */
};

static void add_link(struct way *way, struct link *link)
{
    if (link == NULL || way->code != 0) return;
    SIM_REQUIRE(way->path->n < LINK_PATH_MAX);
    link_path_add(way->path, link);
}

static void add_latency(struct way *way, sim_ns latency_ns)
{
    way->path->latency_ns = sim_ns_add(way->path->latency_ns, latency_ns);
}

static void fail(struct way *way, const char *where, const char *hint, const char *text)
{
    if (way->code == 0) way->code = diag_error(way->topology->env.site->diag, SIM_E_CONFIG, where, hint, "%s", text);
}

/* The links of a pair, named "node0/gpu1/pcie-in"; gpu < 0: of the node. */
static void make_pair(struct way *way, struct link_pair *pair, enum link_kind kind, double bytes_per_s,
                      const struct topology_node *node, int32_t gpu, const char *name)
{
    const char *place = node->own ? "own" : "node";
    char below[24] = "";
    if (way->code != 0 || pair->in != NULL) return;
    if (gpu >= 0) snprintf(below, sizeof below, "gpu%d/", gpu);
    way->code = topology_link(way->topology, &pair->in, kind, bytes_per_s, "%s%d/%s%s-in", place, node->index, below,
                              name);
    if (way->code == 0)
        way->code = topology_link(way->topology, &pair->out, kind, bytes_per_s, "%s%d/%s%s-out", place, node->index,
                                  below, name);
}

/* --- Parts of paths --- */

double topology_port_bytes_per_s(const struct topology *topology, const struct gpu_spec *gpu)
{
    const struct storage_spec *host = topology->devices[0].spec;
    double rate = topology_config(topology)->pcie_bytes_per_s;
    const double slices = gpu->slices > 0 ? (double)gpu->slices : 1.0; /* share the link of their GPU evenly */
    if (!(rate > 0) && host == NULL) return gpu->pcie_bytes_per_s > 0 ? gpu->pcie_bytes_per_s : 0;
    if (!(rate > 0)) rate = host->device.link.sustained_bytes_per_s;
    return rate > 0 ? rate / slices : 0;
}

static void pcie(struct way *way, struct topology_gpu *gpu, bool inwards)
{
    double rate = topology_port_bytes_per_s(way->topology, gpu->spec);
    if (rate == 0) {
        fail(way, config_where(way->topology->env.site->config, "cluster"), "add \"pcie\": \"24GB/s\" to the cluster",
             "the catalog does not say how fast the GPU's PCIe link is");
        return;
    }
    make_pair(way, &gpu->pcie, LINK_PCIE, rate, gpu->node, gpu->index, "pcie");
    add_link(way, inwards ? gpu->pcie.in : gpu->pcie.out);
}

static int32_t switch_of(const struct way *way, const struct topology_gpu *gpu)
{
    int64_t gpus = topology_config(way->topology)->pcie_switch.gpus;
    return gpus > 0 ? gpu->index / (int32_t)gpus : -1;
}

/* The link between a GPU's switch and the host. */
static void uplink(struct way *way, struct topology_gpu *gpu, bool inwards)
{
    int32_t at = switch_of(way, gpu);
    if (at < 0) return;
    struct link_pair *pair = &gpu->node->switches[at];
    char name[24];
    snprintf(name, sizeof name, "switch%d", at);
    make_pair(way, pair, LINK_PCIE, topology_config(way->topology)->pcie_switch.bytes_per_s, gpu->node, -1, name);
    add_link(way, inwards ? pair->in : pair->out);
}

/* Into host memory and out again. */
static void through_memory(struct way *way, const struct topology_gpu *gpu)
{
    struct tier *host = NULL;
    if (way->code == 0) way->code = topology_make_tier(way->topology, gpu->node, 0, &host);
    if (way->code != 0) return;
    add_latency(way, host->latency_ns[STORAGE_READ]);
    add_link(way, host->media[STORAGE_WRITE]);
    add_link(way, host->media[STORAGE_READ]);
}

static void nic(struct way *way, struct topology_gpu *gpu, bool inwards)
{
    const struct network_config *network = &topology_config(way->topology)->network;
    bool each = network->per == NETWORK_PER_GPU;
    struct link_pair *pair = each ? &gpu->nic : &gpu->node->nic;
    make_pair(way, pair, LINK_NETWORK, network->bytes_per_s, gpu->node, each ? gpu->index : -1, "nic");
    add_link(way, inwards ? pair->in : pair->out);
}

static struct graph_nic nic_of(const struct topology *topology, const struct topology_gpu *gpu)
{
    const bool each = topology_config(topology)->network.per == NETWORK_PER_GPU;
    SIM_REQUIRE(!gpu->node->own);
    return (struct graph_nic){gpu->node->index, each ? gpu->index : 0};
}

/* Between the NICs of two GPUs; NULL: memory of the site. */
static void fabric(struct way *way, const struct topology_gpu *from, const struct topology_gpu *to)
{
    struct topology *topology = way->topology;
    const struct network_config *network = &topology_config(topology)->network;
    add_latency(way, network->latency_ns);
    if (way->code == 0 && !graph_is_flat(&topology->graph)) {
        struct graph_nic from_nic, to_nic;
        if (from != NULL) from_nic = nic_of(topology, from);
        if (to != NULL) to_nic = nic_of(topology, to);
        way->code = topology_climb(topology, from != NULL ? &from_nic : NULL, to != NULL ? &to_nic : NULL, way->route,
                                   way->path);
    }
    if (!(network->fabric_bytes_per_s > 0) || way->code != 0) return;
    way->code = topology_link(topology, &topology->fabric, LINK_NETWORK, network->fabric_bytes_per_s, "fabric");
    add_link(way, topology->fabric);
}

static bool has_network(const struct way *way)
{
    return topology_config(way->topology)->network.bytes_per_s > 0;
}

/* From a GPU, or from the host by that GPU's NIC, to the fabric. */
static void leave_node(struct way *way, struct topology_gpu *gpu, bool from_gpu)
{
    bool each = topology_config(way->topology)->network.per == NETWORK_PER_GPU;
    if (from_gpu) pcie(way, gpu, false);
    if (from_gpu != each) uplink(way, gpu, each); /* to the host and its NIC; or from the host to the one below */
    nic(way, gpu, false);
}

static void enter_node(struct way *way, struct topology_gpu *gpu, bool to_gpu)
{
    bool each = topology_config(way->topology)->network.per == NETWORK_PER_GPU;
    nic(way, gpu, true);
    if (to_gpu != each) uplink(way, gpu, !each);
    if (to_gpu) pcie(way, gpu, true);
}

static void read_tier(struct way *way, const struct tier *tier)
{
    add_latency(way, tier->latency_ns[STORAGE_READ]);
    add_link(way, tier->media[STORAGE_READ]);
    add_link(way, tier->port[STORAGE_READ]);
    add_link(way, tier->ceiling[STORAGE_READ]);
}

/* Read for attention that is computed there. */
static void read_inside(struct way *way, const struct tier *tier)
{
    add_latency(way, tier->latency_ns[STORAGE_READ]);
    add_link(way, tier->media[STORAGE_READ]);
}

static void write_tier(struct way *way, const struct tier *tier)
{
    add_latency(way, tier->latency_ns[STORAGE_WRITE]);
    add_link(way, tier->ceiling[STORAGE_WRITE]);
    add_link(way, tier->port[STORAGE_WRITE]);
    add_link(way, tier->media[STORAGE_WRITE]);
}

/* --- Paths --- */

static bool is_joined(const struct topology_gpu *a, const struct topology_gpu *b)
{
    int64_t group = a->spec->nvlink_gpus;
    return a->node == b->node && group > 1 && b->spec->nvlink_gpus == group && a->index / group == b->index / group;
}

static void over_nvlink(struct way *way, struct topology_gpu *from, struct topology_gpu *to)
{
    make_pair(way, &from->nvlink, LINK_NVLINK, from->spec->nvlink_bytes_per_s, from->node, from->index, "nvlink");
    make_pair(way, &to->nvlink, LINK_NVLINK, to->spec->nvlink_bytes_per_s, to->node, to->index, "nvlink");
    add_link(way, from->nvlink.out);
    add_link(way, to->nvlink.in);
    way->cap_bytes_per_s = fmin(gpu_pair_bytes_per_s(from->spec, 2), gpu_pair_bytes_per_s(to->spec, 2));
}

/* The GPU of the destination's rail in the sender's node, if data can get there by NVLink; else the sender. */
static struct topology_gpu *on_rail(struct way *way, struct topology_gpu *from, const struct topology_gpu *to)
{
    if (way->topology->graph.topology != NETWORK_RAILS || from->index == to->index) return from;
    if (topology_config(way->topology)->network.per != NETWORK_PER_GPU) return from;
    if (to->index >= from->node->n_gpus) return from;
    struct topology_gpu *beside = &from->node->gpus[to->index];
    if (beside->spec == NULL) beside->spec = from->spec;
    if (!is_joined(from, beside)) return from;
    over_nvlink(way, from, beside);
    return beside;
}

static void between_gpus(struct way *way, struct topology_gpu *from, struct topology_gpu *to)
{
    if (from->node != to->node) {
        from = on_rail(way, from, to);
        leave_node(way, from, true);
        fabric(way, from, to);
        enter_node(way, to, true);
    } else if (is_joined(from, to)) {
        over_nvlink(way, from, to);
    } else {
        pcie(way, from, false);
        if (switch_of(way, from) != switch_of(way, to)) {
            uplink(way, from, false);
            uplink(way, to, true);
        }
        pcie(way, to, true);
    }
}

/* Between host and GPU, or host and host. A tier of the site is behind the network; without one, at every host. */
static void between_hosts(struct way *way, const struct topology_end *from, struct topology_gpu *from_gpu,
                          const struct topology_end *to, struct topology_gpu *to_gpu)
{
    bool far_from = from->tier != NULL && from->tier->kind == TIER_REMOTE;
    bool far_to = to->tier != NULL && to->tier->kind == TIER_REMOTE;
    bool crosses = far_from || far_to ? has_network(way) : from_gpu->node != to_gpu->node;
    if (crosses) {
        if (!far_from) leave_node(way, from_gpu, from->tier == NULL);
        fabric(way, far_from ? NULL : from_gpu, far_to ? NULL : to_gpu);
        if (!far_to) enter_node(way, to_gpu, to->tier == NULL);
        return;
    }
    if (from->tier == NULL) {
        pcie(way, from_gpu, false);
        uplink(way, from_gpu, false);
    }
    if (to->tier == NULL) {
        uplink(way, to_gpu, true);
        pcie(way, to_gpu, true);
    }
}

static bool bounces(const struct topology_end *end, const struct topology_end *other)
{
    return end->tier != NULL && end->tier->through_host && (other->tier == NULL || other->tier->kind != TIER_DRAM);
}

static void with_tiers(struct way *way, const struct topology_end *from, struct topology_gpu *from_gpu,
                       const struct topology_end *to, struct topology_gpu *to_gpu)
{
    bool in_between = bounces(from, to) || bounces(to, from);
    bool at_from = from->tier != NULL && from->tier->kind != TIER_REMOTE;
    if (from->tier != NULL) read_tier(way, from->tier);
    if (in_between && at_from) through_memory(way, from_gpu);
    between_hosts(way, from, from_gpu, to, to_gpu);
    if (in_between && !at_from) through_memory(way, to_gpu);
    if (to->tier != NULL) write_tier(way, to->tier);
}

static bool is_drive(const struct topology_end *end)
{
    return end->tier != NULL && (end->tier->kind == TIER_SSD || end->tier->kind == TIER_CSD);
}

static void check_way(struct way *way, const struct topology_end *from, const struct topology_gpu *from_gpu,
                      const struct topology_end *to, const struct topology_gpu *to_gpu)
{
    if (from_gpu->node == to_gpu->node) return;
    if (is_drive(from) || is_drive(to))
        fail(way, config_where(way->topology->env.site->config, "cluster.storage"),
             "move between the memories of the nodes", "drives are reached from their own node only");
    else if (!has_network(way))
        fail(way, config_where(way->topology->env.site->config, "cluster"),
             "add \"network\": {\"bandwidth\": \"50GB/s\"} to the cluster",
             "data moves between nodes, but there is no network");
}

bool topology_reaches(const struct topology_placement *from, const struct topology_placement *to)
{
    if (topology_config(from->topology)->network.bytes_per_s > 0) return true;
    for (int32_t i = 0; i < from->n_gpus; i++)
        for (int32_t k = 0; k < to->n_gpus; k++)
            if (from->gpus[i]->node == to->gpus[k]->node) return true;
    return false;
}

int32_t topology_shards(struct topology_end from, struct topology_end to)
{
    return from.placement->n_gpus > to.placement->n_gpus ? from.placement->n_gpus : to.placement->n_gpus;
}

static struct topology_gpu *gpu_of_shard(const struct topology_placement *placement, int32_t shard, int32_t n)
{
    return placement->gpus[(int64_t)shard * placement->n_gpus / n];
}

/* The tier of the same name that the shard's own GPU reaches: stages of a replica may be on several nodes. */
static struct tier *tier_beside(struct way *way, struct tier *tier, const struct topology_gpu *gpu)
{
    if (tier == NULL || tier->device < 0 || tier->kind == TIER_REMOTE || way->code != 0) return tier;
    struct tier *beside = tier;
    way->code = topology_make_tier(way->topology, gpu->node, tier->device, &beside);
    return beside;
}

int topology_path(struct topology *topology, struct topology_end from, struct topology_end to, int32_t shard,
                  struct link_path *path, double *cap_bytes_per_s)
{
    int32_t n = topology_shards(from, to);
    struct topology_gpu *from_gpu = gpu_of_shard(from.placement, shard, n),
                        *to_gpu = gpu_of_shard(to.placement, shard, n);
    path->n = 0;
    path->latency_ns = 0;
    struct way way = {.topology = topology, .path = path, .cap_bytes_per_s = HUGE_VAL, .route = {.label = (uint64_t)shard}};
    from.tier = tier_beside(&way, from.tier, from_gpu);
    to.tier = tier_beside(&way, to.tier, to_gpu);
    SIM_REQUIRE(from.tier != NULL || to.tier != NULL || from_gpu != to_gpu);
    check_way(&way, &from, from_gpu, &to, to_gpu);
    if (from.tier == NULL && to.tier == NULL)
        between_gpus(&way, from_gpu, to_gpu);
    else if (from.tier == to.tier)
        read_inside(&way, from.tier);
    else
        with_tiers(&way, &from, from_gpu, &to, to_gpu);
    if (path->n == 0)
        fail(&way, config_where(topology->env.site->config, "cluster"),
             "add \"host\": {\"device\": ...} to the cluster (orrery list storage)",
             "the host's memory is read, but its bandwidth is unknown");
    *cap_bytes_per_s = way.cap_bytes_per_s;
    return way.code;
}

int topology_nic_path(struct topology *topology, struct graph_nic from, struct graph_nic to,
                      struct topology_route route, struct link_path *path)
{
    struct topology_node *from_node = topology_node(topology, from.node, 0),
                         *to_node = topology_node(topology, to.node, 0);
    *path = (struct link_path){0};
    if (from_node == NULL || to_node == NULL) return SIM_E_NOMEM;
    struct way way = {.topology = topology, .path = path, .route = route};
    struct topology_gpu *from_gpu = &from_node->gpus[from.nic], *to_gpu = &to_node->gpus[to.nic];
    nic(&way, from_gpu, false);
    fabric(&way, from_gpu, to_gpu);
    nic(&way, to_gpu, true);
    return way.code;
}

struct graph_nic topology_placement_nic(const struct topology_placement *placement, int32_t gpu)
{
    return nic_of(placement->topology, placement->gpus[gpu]);
}

int topology_slow_nic(struct topology *topology, struct graph_nic at, double share_frac)
{
    const bool each = topology_config(topology)->network.per == NETWORK_PER_GPU;
    struct topology_node *node = topology_node(topology, at.node, 0);
    struct link_path path = {0};
    if (node == NULL) return SIM_E_NOMEM;
    struct way way = {.topology = topology, .path = &path};
    struct topology_gpu *gpu = &node->gpus[at.nic];
    nic(&way, gpu, true);
    if (way.code != 0) return way.code;
    const struct link_pair *pair = each ? &gpu->nic : &node->nic;
    link_net_slow(topology->net, pair->in, share_frac);
    link_net_slow(topology->net, pair->out, share_frac);
    return 0;
}

/* --- The host of a node --- */

int topology_host_path(struct topology *topology, int32_t index, int32_t number, const struct gpu_spec *spec,
                       bool to_gpu, struct link_path *path)
{
    struct topology_node *node = topology_node(topology, index, 0);
    struct tier *host = NULL;
    *path = (struct link_path){0};
    if (node == NULL) return SIM_E_NOMEM;
    struct way way = {.topology = topology, .path = path};
    struct topology_gpu *gpu = &node->gpus[number];
    if (gpu->spec == NULL) gpu->spec = spec;
    const bool has_pcie = topology_port_bytes_per_s(topology, gpu->spec) > 0;
    way.code = topology_make_tier(topology, node, HOST_DEVICE, &host);
    if (way.code == 0 && to_gpu) read_tier(&way, host);
    if (!to_gpu && has_pcie) pcie(&way, gpu, false);
    uplink(&way, gpu, to_gpu);
    if (to_gpu && has_pcie) pcie(&way, gpu, true);
    if (way.code == 0 && !to_gpu) write_tier(&way, host);
    return way.code;
}

int topology_add_host(struct topology *topology, struct graph_nic at, bool leaves, struct link_path *path)
{
    struct topology_node *node = topology_node(topology, at.node, 0);
    struct tier *host = NULL;
    if (node == NULL) return SIM_E_NOMEM;
    struct way way = {.topology = topology, .path = path};
    way.code = topology_make_tier(topology, node, HOST_DEVICE, &host);
    if (topology_config(topology)->network.per == NETWORK_PER_GPU) uplink(&way, &node->gpus[at.nic], leaves);
    if (way.code == 0 && leaves) read_tier(&way, host);
    if (way.code == 0 && !leaves) write_tier(&way, host);
    return way.code;
}

/* The first drives among the devices; 0: there are none. */
static int32_t drives_of(const struct topology *topology)
{
    int32_t i = 1;
    while (i < topology->n_devices && topology->devices[i].kind != TIER_SSD) i++;
    return i < topology->n_devices ? i : HOST_DEVICE;
}

bool topology_has_drives(const struct topology *topology)
{
    return drives_of(topology) != HOST_DEVICE;
}

bool topology_has_host_links(const struct topology *topology)
{
    const struct topology_config *config = topology_config(topology);
    return config->pcie_bytes_per_s > 0 || config->pcie_switch.gpus > 0 ||
           topology->devices[HOST_DEVICE].spec != NULL || topology_has_drives(topology);
}

int topology_drive_path(struct topology *topology, int32_t index, bool reads, struct link_path *path)
{
    const int32_t device = drives_of(topology);
    struct topology_node *node = topology_node(topology, index, 0);
    struct tier *drives = NULL, *host = NULL;
    *path = (struct link_path){0};
    if (node == NULL) return SIM_E_NOMEM;
    struct way way = {.topology = topology, .path = path};
    if (device == HOST_DEVICE) return 0;
    way.code = topology_make_tier(topology, node, device, &drives);
    if (way.code == 0) way.code = topology_make_tier(topology, node, HOST_DEVICE, &host);
    if (way.code == 0 && reads) read_tier(&way, drives);
    if (way.code == 0) add_link(&way, host->media[reads ? STORAGE_WRITE : STORAGE_READ]);
    if (way.code == 0 && !reads) write_tier(&way, drives);
    return way.code;
}

/* --- Memory behind the network --- */

static int32_t remote_of(const struct topology *topology, const char *name)
{
    for (int32_t i = 1; i < topology->n_devices; i++)
        if (topology->devices[i].kind == TIER_REMOTE && strcmp(topology->devices[i].config->name, name) == 0) return i;
    return -1;
}

bool topology_has_remote(const struct topology *topology, const char *name)
{
    return remote_of(topology, name) >= 0;
}

int topology_storage_path(struct topology *topology, struct graph_nic at, const char *name, bool writes,
                          struct link_path *path)
{
    struct topology_node *node = topology_node(topology, at.node, 0);
    struct tier *tier = NULL;
    *path = (struct link_path){0};
    if (node == NULL) return SIM_E_NOMEM;
    struct way way = {.topology = topology, .path = path};
    struct topology_gpu *gpu = &node->gpus[at.nic];
    way.code = topology_make_tier(topology, node, remote_of(topology, name), &tier);
    if (way.code != 0) return way.code;
    if (!writes) read_tier(&way, tier);
    if (writes) nic(&way, gpu, false);
    fabric(&way, writes ? gpu : NULL, writes ? NULL : gpu);
    if (!writes) nic(&way, gpu, true);
    if (writes) write_tier(&way, tier);
    return way.code;
}

bool topology_is_shared(const struct topology *topology, const struct link *link)
{
    if (link == topology->fabric) return true;
    for (int32_t i = 1; i < topology->n_devices; i++) {
        const struct tier *tier = topology->site_tiers[i];
        for (int op = 0; op < 2 && tier != NULL; op++)
            if (link == tier->media[op] || link == tier->port[op] || link == tier->ceiling[op]) return true;
    }
    return false;
}
