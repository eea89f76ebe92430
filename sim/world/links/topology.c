#include "sim/world/links/topology.h"

#include "sim/core/check.h"
#include "sim/core/vec.h"
#include "sim/world/links/topology_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- Devices --- */

static const char *place_of(const struct topology *topology, const struct topology_device *device, const char *key)
{
    struct arena *arena = topology->env.site->arena;
    const char *path = device->config == NULL ? arena_printf(arena, "cluster.host.%s", key)
                                              : arena_printf(arena, "cluster.storage.%s.%s", device->config->name, key);
    return path != NULL ? config_where(topology->env.site->config, path) : "";
}

/* "flexgen", "flexgen-gds": what may be named. */
static const char *list_software(struct topology *topology, const struct storage_spec *spec)
{
    const struct storage_stack *stacks = spec->software.items;
    const char *list = NULL;
    for (size_t i = 0; i < spec->software.n; i++) {
        list = i == 0 ? arena_printf(&topology->arena, "'%s' lists \"%s\"", spec->name, stacks[i].name)
                      : arena_printf(&topology->arena, "%s, \"%s\"", list, stacks[i].name);
        if (list == NULL) return NULL;
    }
    return list != NULL ? list : "it lists none; give a \"ceiling\", or leave it out";
}

static int find_software(struct topology *topology, struct topology_device *device, const char *name)
{
    if (name == NULL) return 0;
    device->software = storage_spec_software(device->spec, name);
    if (device->software != NULL) return 0;
    return diag_error(topology->env.site->diag, SIM_E_CONFIG, place_of(topology, device, "software"),
                      list_software(topology, device->spec), "storage device '%s' has no software '%s'",
                      device->spec->name, name);
}

static int read_device(struct topology *topology, struct topology_device *device, const char *name)
{
    device->spec = arena_alloc(&topology->arena, sizeof *device->spec);
    if (device->spec == NULL) return SIM_E_NOMEM;
    return catalog_storage(topology->env.site->catalog, name, place_of(topology, device, "device"),
                           topology->env.site->arena, device->spec, topology->env.site->diag);
}

static int read_host(struct topology *topology)
{
    const struct host_config *config = &topology_config(topology)->host;
    struct topology_device *device = &topology->devices[HOST_DEVICE];
    *device = (struct topology_device){.kind = TIER_DRAM};
    if (config->device == NULL && config->software == NULL) return 0;
    if (config->device == NULL)
        return diag_error(topology->env.site->diag, SIM_E_CONFIG, place_of(topology, device, "software"),
                          "add \"device\": a storage device of kind 'dram' (orrery list storage)",
                          "the host's software is one of its device's, and 'device' is missing");
    int code = read_device(topology, device, config->device);
    if (code == 0 && device->spec->kind != STORAGE_DRAM)
        return diag_error(topology->env.site->diag, SIM_E_CONFIG, place_of(topology, device, "device"),
                          "it belongs into cluster.storage; the host has one of kind 'dram' (orrery list storage)",
                          "'%s' is of kind '%s'", device->spec->name, storage_kind_name(device->spec->kind));
    return code != 0 ? code : find_software(topology, device, config->software);
}

static int read_storage(struct topology *topology, struct topology_device *device, const struct storage_config *config)
{
    static const enum tier_kind kinds[] = {
        [STORAGE_DRAM] = TIER_DRAM, [STORAGE_SSD] = TIER_SSD, [STORAGE_CSD] = TIER_CSD, [STORAGE_REMOTE] = TIER_REMOTE};
    *device = (struct topology_device){.config = config};
    int code = read_device(topology, device, config->device);
    if (code != 0) return code;
    device->kind = kinds[device->spec->kind];
    if (device->kind == TIER_DRAM)
        return diag_error(topology->env.site->diag, SIM_E_CONFIG, place_of(topology, device, "device"),
                          "write it as \"host\": {\"device\": ...}",
                          "'%s' is memory of the host, which is not in 'storage'", device->spec->name);
    return find_software(topology, device, config->software);
}

static int read_devices(struct topology *topology)
{
    const struct config_list *storage = &topology_config(topology)->storage;
    topology->n_devices = 1 + (int32_t)storage->n;
    topology->devices = arena_alloc(&topology->arena, (size_t)topology->n_devices * sizeof *topology->devices);
    topology->site_tiers = arena_alloc(&topology->arena, (size_t)topology->n_devices * sizeof *topology->site_tiers);
    if (topology->devices == NULL || topology->site_tiers == NULL) return SIM_E_NOMEM;
    int code = read_host(topology);
    for (size_t i = 0; i < storage->n; i++) {
        const struct storage_config *config = (const struct storage_config *)storage->items + i;
        int device_code = read_storage(topology, &topology->devices[1 + i], config);
        if (code == 0) code = device_code;
    }
    return code;
}

static int check_switches(const struct topology *topology)
{
    const struct cluster_config *cluster = topology->env.cluster;
    const int64_t parts = cluster->slices > 0 ? cluster->slices : 1; /* of a GPU; switches and nodes count them */
    if (cluster->unlimited || topology->env.links->pcie_switch.gpus <= cluster->gpus_per_node) return 0;
    return diag_error(
        topology->env.site->diag, SIM_E_CONFIG, config_where(topology->env.site->config, "cluster.pcie_switch.gpus"),
        "lower it, or raise cluster.gpus_per_node", "a PCIe switch for %lld GPUs, of which a node has %lld",
        (long long)(topology->env.links->pcie_switch.gpus / parts), (long long)(cluster->gpus_per_node / parts));
}

int topology_create(const struct topology_env *env, struct topology **out)
{
    struct topology *topology = mem_zalloc(1, sizeof *topology);
    *out = topology;
    if (topology == NULL) return SIM_E_NOMEM;
    topology->env = *env;
    arena_init(&topology->arena);
    pool_init(&topology->shards, sizeof(struct transfer_shard));
    topology->net = link_net_create(env->site->engine, site_env_owner_ids(env->site, LINK_NET_OWNERS));
    if (topology->net == NULL) return SIM_E_NOMEM;
    int code = check_switches(topology), device_code = read_devices(topology);
    if (code == 0) code = device_code;
    device_code = topology_graph_create(topology);
    if (code == 0) code = device_code;
    if (code != 0 || env->cluster->unlimited) return code;
    topology->nodes = mem_zalloc((size_t)cluster_config_nodes(env->cluster), sizeof *topology->nodes);
    return topology->nodes != NULL ? 0 : SIM_E_NOMEM;
}

const struct topology_config *topology_config(const struct topology *topology)
{
    return topology->env.links;
}

struct link_net *topology_net(struct topology *topology)
{
    return topology->net;
}

void topology_destroy(struct topology *topology)
{
    if (topology == NULL) return;
    link_net_destroy(topology->net);
    pool_fini(&topology->shards);
    mem_free(topology->nodes);
    mem_free(topology->kinds);
    mem_free(topology->load);
    mem_free(topology->tiers);
    arena_fini(&topology->arena);
    mem_free(topology);
}

/* --- Links --- */

static int note_kind(struct topology *topology, int32_t index, enum link_kind kind)
{
    if (vec_reserve(&topology->kinds, &topology->kinds_capacity, index + 1) != 0) return SIM_E_NOMEM;
    topology->kinds[index] = (unsigned char)kind;
    return topology_reserve_load(topology, index + 1);
}

int topology_link(struct topology *topology, struct link **link, enum link_kind kind, double bytes_per_s,
                  const char *format, ...)
{
    if (*link != NULL) return 0;
    char name[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    const char *kept = arena_strdup(&topology->arena, name);
    int code = note_kind(topology, link_net_count(topology->net), kind);
    if (kept == NULL || code != 0) return SIM_E_NOMEM;
    *link = link_net_add(topology->net, kept, bytes_per_s, 0);
    return *link != NULL ? 0 : SIM_E_NOMEM;
}

/* --- Nodes and placements --- */

static struct topology_node *make_node(struct topology *topology, int32_t index, int32_t n_gpus)
{
    struct arena *arena = &topology->arena;
    struct topology_node *node = arena_alloc(arena, sizeof *node);
    if (node == NULL) return NULL;
    *node = (struct topology_node){.index = index, .n_gpus = n_gpus};
    node->gpus = arena_alloc(arena, (size_t)n_gpus * sizeof *node->gpus);
    node->tiers = arena_alloc(arena, (size_t)topology->n_devices * sizeof(*node->tiers));
    if (topology_config(topology)->pcie_switch.gpus > 0)
        node->switches = arena_alloc(arena, (size_t)n_gpus * sizeof *node->switches);
    if (node->gpus == NULL || node->tiers == NULL ||
        (topology_config(topology)->pcie_switch.gpus > 0 && node->switches == NULL))
        return NULL;
    for (int32_t i = 0; i < n_gpus; i++) node->gpus[i] = (struct topology_gpu){.node = node, .index = i};
    return node;
}

struct topology_node *topology_node(struct topology *topology, int32_t index, int32_t n_gpus)
{
    if (index < 0) {
        struct topology_node *node = make_node(topology, topology->n_own_nodes++, n_gpus);
        if (node != NULL) node->own = true;
        return node;
    }
    SIM_REQUIRE(topology->nodes != NULL && index < cluster_config_nodes(topology->env.cluster));
    if (topology->nodes[index] == NULL)
        topology->nodes[index] = make_node(topology, index,
                                           (int32_t)cluster_config_node_gpus(topology->env.cluster, index));
    return topology->nodes[index];
}

int topology_placement_add(struct topology *topology, struct topology_placement *placement, int32_t node_index,
                           int32_t n_gpus, const struct gpu_spec *gpu)
{
    struct topology_node *node = topology_node(topology, node_index, n_gpus);
    struct topology_gpu **gpus = arena_alloc(&topology->arena, (size_t)(placement->n_gpus + n_gpus) * sizeof(*gpus));
    if (node == NULL || gpus == NULL) return SIM_E_NOMEM;
    if (placement->n_gpus > 0) memcpy(gpus, placement->gpus, (size_t)placement->n_gpus * sizeof(*gpus));
    int32_t n = 0;
    for (int32_t i = 0; i < node->n_gpus && n < n_gpus; i++) {
        if (node->gpus[i].taken) continue;
        node->gpus[i].taken = true;
        node->gpus[i].spec = gpu;
        gpus[placement->n_gpus + n++] = &node->gpus[i];
        if (topology->n_placed_gpus < TOPOLOGY_SAMPLED_GPUS)
            topology->placed_gpus[topology->n_placed_gpus] = &node->gpus[i];
        topology->n_placed_gpus++;
    }
    SIM_REQUIRE(n == n_gpus);
    *placement = (struct topology_placement){.topology = topology, .n_gpus = placement->n_gpus + n, .gpus = gpus};
    return 0;
}

void topology_placement_release(struct topology_placement *placement)
{
    for (int32_t i = 0; i < placement->n_gpus; i++) placement->gpus[i]->taken = false;
    *placement = (struct topology_placement){0};
}

bool topology_is_alone(const struct topology_placement *placement)
{
    int32_t taken = 0;
    for (int32_t i = 0; i < placement->n_gpus; i++) {
        const struct topology_node *node = placement->gpus[i]->node;
        if (i > 0 && node == placement->gpus[i - 1]->node) continue;
        for (int32_t k = 0; k < node->n_gpus; k++) taken += node->gpus[k].taken;
    }
    return taken == placement->n_gpus;
}

/* --- Tiers --- */

static int tier_of_device(const struct topology_placement *placement, int32_t device, struct tier **tier)
{
    return topology_make_tier(placement->topology, placement->gpus[0]->node, device, tier);
}

int topology_tier(const struct topology_placement *placement, enum tier_kind kind, struct tier **tier)
{
    *tier = NULL;
    for (int32_t i = 0; i < placement->topology->n_devices; i++)
        if (placement->topology->devices[i].kind == kind) return tier_of_device(placement, i, tier);
    return 0;
}

int topology_tier_named(const struct topology_placement *placement, const char *name, struct tier **tier)
{
    *tier = NULL;
    if (strcmp(name, "host") == 0) return tier_of_device(placement, HOST_DEVICE, tier);
    for (int32_t i = 1; i < placement->topology->n_devices; i++)
        if (strcmp(placement->topology->devices[i].config->name, name) == 0) return tier_of_device(placement, i, tier);
    return 0;
}
