#include "sim/world/links/tier.h"

#include "sim/core/check.h"
#include "sim/core/vec.h"
#include "sim/world/links/topology_state.h"

#include <math.h>

bool tier_take(struct tier *tier, sim_ns now, int64_t bytes)
{
    SIM_REQUIRE(bytes >= 0);
    if (bytes > tier_free_bytes(tier)) return false;
    level_set(&tier->used, now, tier->used.value + bytes);
    return true;
}

void tier_give(struct tier *tier, sim_ns now, int64_t bytes)
{
    SIM_REQUIRE(bytes >= 0 && bytes <= tier->used.value);
    level_set(&tier->used, now, tier->used.value - bytes);
}

const char *tier_kind_name(enum tier_kind kind)
{
    static const char *const names[TIER_KINDS] = {
        [TIER_DRAM] = "dram", [TIER_SSD] = "ssd", [TIER_CSD] = "csd", [TIER_REMOTE] = "remote"};
    return names[kind];
}

/* --- Creating the tiers of a node: capacity, latencies and links, from the catalog and the scenario --- */

static int64_t whole_bytes(double bytes)
{
    return bytes < 0x1p62 ? (int64_t)bytes : INT64_MAX; /* NAN: without limit */
}

/* As given, else the sum over the devices, else unlimited. */
static int64_t capacity_of(const struct topology *topology, const struct topology_device *device)
{
    const struct storage_config *config = device->config;
    double said = config != NULL ? config->capacity_bytes : topology_config(topology)->host.memory_bytes;
    if (said > 0) return whole_bytes(said);
    if (device->spec == NULL) return INT64_MAX;
    return whole_bytes(device->spec->device.capacity_bytes * (double)(config != NULL ? config->count : 1));
}

static bool is_through_host(const struct topology_device *device)
{
    if (device->config == NULL) return false;
    if (device->config->way == STORAGE_WAY_USUAL) return device->kind == TIER_SSD;
    return device->config->way == STORAGE_WAY_HOST;
}

static enum link_kind links_of(enum tier_kind kind)
{
    static const enum link_kind kinds[TIER_KINDS] = {
        [TIER_DRAM] = LINK_HOST, [TIER_SSD] = LINK_STORAGE, [TIER_CSD] = LINK_CSD, [TIER_REMOTE] = LINK_NETWORK};
    return kinds[kind];
}

static double ceiling_of(const struct topology_device *device, enum storage_op op)
{
    if (device->config != NULL && device->config->ceiling_bytes_per_s > 0) return device->config->ceiling_bytes_per_s;
    return device->software != NULL ? device->software->bytes_per_s[op] : (double)NAN;
}

/* Creates the tier's links, named like "node0/kv/read". DRAM has one for both directions. */
static int make_links(struct topology *topology, const struct topology_device *device, const char *place,
                      struct tier *tier)
{
    static const char *const media[] = {"read", "write"}, *const ports[] = {"out", "in"};
    enum link_kind kind = links_of(device->kind);
    const struct storage_device *limits = &device->spec->device;
    double count = (double)tier->count;
    int code = 0;
    if (device->kind == TIER_DRAM) {
        double rate = fmax(limits->media[STORAGE_READ].sustained_bytes_per_s,
                           limits->media[STORAGE_WRITE].sustained_bytes_per_s);
        code = topology_link(topology, &tier->media[0], kind, rate, "%s/memory", place);
        tier->media[1] = tier->media[0];
    }
    for (int op = STORAGE_READ; op <= STORAGE_WRITE && code == 0; op++) {
        code = topology_link(topology, &tier->media[op], kind, count * limits->media[op].sustained_bytes_per_s, "%s/%s",
                             place, media[op]);
        if (code == 0 && device->kind != TIER_DRAM)
            code = topology_link(topology, &tier->port[op], kind, count * limits->link.sustained_bytes_per_s, "%s/%s",
                                 place, ports[op]);
        double ceiling = ceiling_of(device, (enum storage_op)op);
        if (code == 0 && ceiling > 0)
            code = topology_link(topology, &tier->ceiling[op], kind, ceiling, "%s/software-%s", place, media[op]);
    }
    return code;
}

static void set_latencies(const struct topology_device *device, struct tier *tier)
{
    double software_s = device->software != NULL ? device->software->latency_s : 0;
    for (int op = STORAGE_READ; op <= STORAGE_WRITE; op++)
        tier->latency_ns[op] = sim_ns_from_s(device->spec->device.latency_s[op] + software_s);
}

static int note_tier(struct topology *topology, struct tier *tier)
{
    return vec_push(&topology->tiers, &topology->n_tiers, &topology->tiers_capacity, tier);
}

static int make_tier(struct topology *topology, const struct topology_node *node, const struct topology_device *device,
                     struct tier **out)
{
    struct tier *tier = arena_alloc(&topology->arena, sizeof *tier);
    if (tier == NULL) return SIM_E_NOMEM;
    *tier = (struct tier){.name = device->config != NULL ? device->config->name : "host",
                          .kind = device->kind,
                          .node = device->kind == TIER_REMOTE || node->own ? -1 : node->index,
                          .device = (int32_t)(device - topology->devices),
                          .capacity_bytes = capacity_of(topology, device),
                          .granularity_bytes = 1,
                          .count = device->config != NULL ? device->config->count : 1,
                          .attention_here = device->kind == TIER_DRAM || device->kind == TIER_CSD,
                          .through_host = is_through_host(device),
                          .spec = device->spec,
                          .software = device->software};
    level_init(&tier->used, engine_now(topology->env.site->engine), 0);
    int code = 0;
    if (device->spec != NULL) {
        const char *place = device->kind == TIER_REMOTE
                                ? arena_printf(&topology->arena, "site/%s", tier->name)
                                : arena_printf(&topology->arena, "%s%d/%s", node->own ? "own" : "node", node->index,
                                               tier->name);
        tier->granularity_bytes = whole_bytes(ceil(device->spec->device.granularity_bytes));
        set_latencies(device, tier);
        code = place != NULL ? make_links(topology, device, place, tier) : SIM_E_NOMEM;
    }
    if (code == 0) code = note_tier(topology, tier);
    if (code == 0) *out = tier;
    return code;
}

int topology_make_tier(struct topology *topology, struct topology_node *node, int32_t index, struct tier **tier)
{
    const struct topology_device *device = &topology->devices[index];
    struct tier **kept = device->kind == TIER_REMOTE ? &topology->site_tiers[index] : &node->tiers[index];
    int code = *kept != NULL ? 0 : make_tier(topology, node, device, kept);
    *tier = *kept;
    return code;
}
