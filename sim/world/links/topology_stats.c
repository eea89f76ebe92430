/* Statistics of links and tiers: metrics by kind, time series, and invariants. */
#include "sim/core/check.h"
#include "sim/world/links/topology_state.h"
#include "sim/world/rows/metric.h"

#include <math.h>
#include <stdio.h>

static const char *const kind_names[] = {
#define LINK_KIND_NAME(id, name) [id] = name,
    LINK_KINDS(LINK_KIND_NAME)
#undef LINK_KIND_NAME
};

/* --- Metrics --- */

static int emit_one(const struct sink *sink, const char *room, const char *kind, const char *what, double value)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s.%s", room, kind, what);
    return metric_emit(sink, name, value);
}

static int emit_links(const struct topology *topology, enum link_kind kind, sim_ns now, const struct sink *sink)
{
    double bytes = 0, used_sum = 0, used_max = 0, busy_max = 0, n_used = 0;
    for (int32_t i = 0; i < link_net_count(topology->net); i++) {
        if (topology->kinds[i] != kind) continue;
        struct link_stats stats = link_stats(link_net_at(topology->net, i), now);
        bytes += (double)stats.bytes;
        used_sum += stats.used_frac;
        used_max = fmax(used_max, stats.used_frac);
        busy_max = fmax(busy_max, stats.busy_frac);
        n_used += stats.busy_frac > 0 || stats.bytes > 0;
    }
    if (n_used == 0) return 0;
    const char *name = kind_names[kind];
    int code = emit_one(sink, "link", name, "bytes", bytes);
    if (code == 0) code = emit_one(sink, "link", name, "used_frac.mean", used_sum / n_used);
    if (code == 0) code = emit_one(sink, "link", name, "used_frac.max", used_max);
    return code != 0 ? code : emit_one(sink, "link", name, "busy_frac.max", busy_max);
}

static int emit_tiers(const struct topology *topology, enum tier_kind kind, sim_ns now, const struct sink *sink)
{
    double mean = 0, most = 0;
    for (int32_t i = 0; i < topology->n_tiers; i++) {
        const struct tier *tier = topology->tiers[i];
        if (tier->kind != kind) continue;
        mean += level_mean(&tier->used, now);
        most = fmax(most, (double)tier->used.max);
    }
    if (most == 0) return 0;
    int code = emit_one(sink, "tier", tier_kind_name(kind), "used_bytes.mean", mean);
    return code != 0 ? code : emit_one(sink, "tier", tier_kind_name(kind), "used_bytes.max", most);
}

int topology_emit(const struct topology *topology, sim_ns now, const struct sink *sink)
{
    int code = 0;
    for (int kind = 0; kind < LINK_KIND_COUNT && code == 0; kind++)
        code = emit_links(topology, (enum link_kind)kind, now, sink);
    for (int kind = 0; kind < TIER_KINDS && code == 0; kind++)
        code = emit_tiers(topology, (enum tier_kind)kind, now, sink);
    return code;
}

/* --- Time series --- */

/* The paths between placed GPUs and their tiers, in both directions, and between the GPUs. */
static int make_ways(struct topology *topology, int32_t at)
{
    struct topology_gpu *gpu = topology->placed_gpus[at],
                        *other = topology->placed_gpus[at > 0 ? at - 1 : topology->n_placed_gpus - 1];
    const struct topology_placement placement = {.topology = topology, .n_gpus = 1, .gpus = &gpu},
                                    beside = {.topology = topology, .n_gpus = 1, .gpus = &other};
    const struct topology_end memory = {&placement, NULL}, neighbour = {&beside, NULL};
    struct link_path path;
    double cap;
    int code = 0;
    for (int32_t device = 0; device < topology->n_devices && code == 0; device++) {
        struct topology_end end = {&placement, NULL};
        code = topology_make_tier(topology, gpu->node, device, &end.tier);
        if (code == 0) code = topology_path(topology, memory, end, 0, &path, &cap);
        if (code == 0) code = topology_path(topology, end, memory, 0, &path, &cap);
    }
    bool reach = gpu->node == other->node || topology_config(topology)->network.bytes_per_s > 0;
    if (code != 0 || gpu == other || !reach) return code;
    code = topology_path(topology, memory, neighbour, 0, &path, &cap);
    return code != 0 ? code : topology_path(topology, neighbour, memory, 0, &path, &cap);
}

static bool is_described(const struct topology *topology)
{
    const struct topology_config *config = topology_config(topology);
    return config->pcie_bytes_per_s > 0 || config->pcie_switch.gpus > 0 || config->network.bytes_per_s > 0 ||
           topology->devices[0].spec != NULL || config->host.memory_bytes > 0 || config->storage.n > 0;
}

int topology_prepare_series(struct topology *topology)
{
    static const enum link_kind kinds[TIER_KINDS] = {
        [TIER_DRAM] = LINK_HOST, [TIER_SSD] = LINK_STORAGE, [TIER_CSD] = LINK_CSD, [TIER_REMOTE] = LINK_NETWORK};
    if (topology->n_placed_gpus == 0 || !is_described(topology)) return 0;
    topology->sampled[LINK_PCIE] = true;
    topology->sampled[LINK_NVLINK] = topology->placed_gpus[0]->spec->nvlink_gpus > 1;
    topology->sampled[LINK_NETWORK] = topology_config(topology)->network.bytes_per_s > 0;
    topology->sampled[LINK_UPLINK] = topology->graph.uplinks > 0;
    for (int32_t i = 0; i < topology->n_devices; i++)
        if (topology->devices[i].spec != NULL) topology->sampled[kinds[topology->devices[i].kind]] = true;
    if (topology->n_placed_gpus > TOPOLOGY_SAMPLED_GPUS) return 0;
    int code = 0;
    for (int32_t i = 0; i < topology->n_placed_gpus && code == 0; i++) code = make_ways(topology, i);
    topology->n_sampled_links = link_net_count(topology->net);
    return code;
}

int32_t topology_n_series(const struct topology *topology)
{
    int32_t n = topology->n_sampled_links;
    for (int kind = 0; kind < LINK_KIND_COUNT; kind++) n += topology->sampled[kind];
    return n;
}

void topology_series(const struct topology *topology, struct sampler_series *series)
{
    for (int kind = 0; kind < LINK_KIND_COUNT; kind++)
        if (topology->sampled[kind]) *series++ = (struct sampler_series){"link.bytes_per_s", kind_names[kind]};
    for (int32_t i = 0; i < topology->n_sampled_links; i++)
        *series++ = (struct sampler_series){"link.bytes_per_s", link_name(link_net_at(topology->net, i))};
}

void topology_sample(const struct topology *topology, double *values)
{
    double of_kind[LINK_KIND_COUNT] = {0};
    for (int32_t i = 0; i < link_net_count(topology->net); i++)
        of_kind[topology->kinds[i]] += link_used_bytes_per_s(link_net_at(topology->net, i));
    for (int kind = 0; kind < LINK_KIND_COUNT; kind++)
        if (topology->sampled[kind]) *values++ = of_kind[kind];
    for (int32_t i = 0; i < topology->n_sampled_links; i++)
        *values++ = link_used_bytes_per_s(link_net_at(topology->net, i));
}

/* --- INV-8 and INV-9 --- */

static void check_tier(const struct tier *tier)
{
    if (tier->used.value < 0 || tier->used.value > tier->capacity_bytes)
        SIM_BUG("INV-9 (tiers hold what they can) is violated: '%s' holds %lld of %lld bytes", tier->name,
                (long long)tier->used.value, (long long)tier->capacity_bytes);
}

static void add_moving(const struct transfer *transfer, const struct link_flow *flow, sim_ns now, int64_t *bytes)
{
    if (flow->state != LINK_FLOW_MOVING) return; /* an ended flow is already counted */
    for (int32_t k = 0; k < flow->n_hops; k++)
        bytes[transfer->topology->kinds[link_index(flow->links[k])]] += link_flow_moved_bytes(flow, now) *
                                                                        transfer_copies(transfer, k);
}

void topology_check(const struct topology *topology, sim_ns now)
{
    int64_t carried[LINK_KIND_COUNT] = {0}, moved[LINK_KIND_COUNT];
    for (int32_t i = 0; i < link_net_count(topology->net); i++)
        carried[topology->kinds[i]] += link_bytes(link_net_at(topology->net, i), now);
    for (int kind = 0; kind < LINK_KIND_COUNT; kind++) moved[kind] = topology->moved_bytes[kind];
    for (const struct transfer *transfer = topology->moving; transfer != NULL; transfer = transfer->after) {
        add_moving(transfer, &transfer->first.flow, now, moved);
        for (const struct transfer_shard *shard = transfer->more; shard != NULL; shard = shard->next)
            add_moving(transfer, &shard->flow, now, moved);
    }
    for (const struct topology_flow *flow = topology->flows; flow != NULL; flow = flow->after)
        for (int32_t k = 0; k < flow->flow.n_hops && flow->flow.state == LINK_FLOW_MOVING; k++)
            moved[topology->kinds[link_index(flow->flow.links[k])]] += link_flow_moved_bytes(&flow->flow, now);
    for (int kind = 0; kind < LINK_KIND_COUNT; kind++)
        SIM_LAW("INV-8 (links carry what transfers move)", carried[kind], moved[kind]);
    for (int32_t i = 0; i < topology->n_tiers; i++) check_tier(topology->tiers[i]);
}

/* --- As a component --- */

static void check(void *self, sim_ns now)
{
    topology_check(self, now);
}

static int series(void *self, struct sampler_series *out)
{
    const int code = out == NULL ? topology_prepare_series(self) : 0;
    if (out != NULL) topology_series(self, out);
    return code != 0 ? code : topology_n_series(self);
}

static void sample(void *self, sim_ns at, double *values)
{
    (void)at;
    topology_sample(self, values);
}

static int finish(void *self, sim_ns now)
{
    const struct topology *topology = self;
    return topology_emit(topology, now, topology->env.site->sink);
}

static void destroy(void *self)
{
    topology_destroy(self);
}

const struct component topology_component = {
    .name = "links", .check = check, .series = series, .sample = sample, .finish = finish, .destroy = destroy};
