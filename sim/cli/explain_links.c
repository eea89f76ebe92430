#include "sim/cli/explain_links.h"

#include "sim/cli/table.h"
#include "sim/world/topology.h"

#include <stdio.h>

static const double everything_bytes_per_s = 1e15; /* more than any way gives */

/* The GPUs of a node, the first of them, all of them one place further, and those of the next node. */
struct ways {
    struct cli *cli;
    struct topology *topology;
    struct gpu_spec gpu;
    struct topology_seat all, one, next_all, next, far_all, far;
    struct table table;
};

static void ignore(struct transfer *transfer, sim_ns now)
{
    (void)transfer;
    (void)now;
}

/* What a transfer is granted that wants everything and is alone. */
static int measure(struct ways *ways, struct topology_end from, struct topology_end to, double *bytes_per_s)
{
    struct transfer transfer = {0};
    int code = topology_claim(ways->topology, from, to, everything_bytes_per_s, &transfer, ignore);
    *bytes_per_s = transfer.granted_bytes_per_s;
    transfer_cancel(&transfer);
    return code;
}

static void add_way(struct ways *ways, const struct link_path *path)
{
    struct text way;
    text_init(&way);
    for (int32_t i = 0; i < path->n; i++) text_printf(&way, "%s%s", i > 0 ? " " : "", link_name(path->links[i]));
    ways->table.failed |= way.failed;
    table_text(&ways->table, way.chars);
    text_fini(&way);
}

static int add_row(struct ways *ways, const char *from_name, const char *to_name, struct topology_end from,
                   struct topology_end to, struct topology_end from_all, struct topology_end to_all)
{
    struct link_path path;
    double cap, one = 0, all = 0;
    int code = topology_path(ways->topology, from, to, 0, &path, &cap);
    if (code == 0) code = measure(ways, from, to, &one);
    if (code == 0) code = measure(ways, from_all, to_all, &all);
    if (code != 0) return code;
    table_text(&ways->table, from_name);
    table_text(&ways->table, to_name);
    table_number(&ways->table, one / 1e9);
    table_number(&ways->table, all / 1e9);
    table_number(&ways->table, sim_s_from_ns(path.latency_ns) * 1e6);
    add_way(ways, &path);
    return 0;
}

static int add_tier(struct ways *ways, struct tier *tier)
{
    const struct topology_end memory = {&ways->one, NULL}, all = {&ways->all, NULL};
    const struct topology_end end = {&ways->one, tier}, all_end = {&ways->all, tier};
    int code = add_row(ways, "gpu", tier->name, memory, end, all, all_end);
    if (code == 0) code = add_row(ways, tier->name, "gpu", end, memory, all_end, all);
    if (code != 0 || !tier->attention_here || tier->spec == NULL) return code;
    return add_row(ways, tier->name, "attention there", end, end, all_end, all_end);
}

static int add_gpus(struct ways *ways, const char *name, const struct topology_seat *seat,
                    const struct topology_seat *all)
{
    const struct topology_end from = {&ways->one, NULL}, from_all = {&ways->all, NULL};
    return add_row(ways, "gpu", name, from, (struct topology_end){seat, NULL}, from_all,
                   (struct topology_end){all, NULL});
}

static int add_tiers(struct ways *ways, const struct topology_config *config)
{
    struct tier *tier;
    int code = topology_tier_named(&ways->one, "host", &tier);
    if (code == 0) code = add_tier(ways, tier);
    for (size_t i = 0; i < config->storage.n && code == 0; i++) {
        const struct storage_config *storage = (const struct storage_config *)config->storage.items + i;
        code = topology_tier_named(&ways->one, storage->name, &tier);
        if (code == 0) code = add_tier(ways, tier);
    }
    return code;
}

static int fill(struct ways *ways, const struct cluster_config *cluster, struct arena *arena)
{
    int32_t n = (int32_t)cluster->gpus_per_node;
    bool far = (cluster->nodes > 1 || cluster->unlimited) && cluster->topology.network.bytes_per_s > 0;
    int code = topology_sit(ways->topology, &ways->all, cluster->unlimited ? -1 : 0, n, &ways->gpu);
    if (code == 0 && far)
        code = topology_sit(ways->topology, &ways->far_all, cluster->unlimited ? -1 : 1, n, &ways->gpu);
    struct topology_gpu **turned = arena_alloc(arena, (size_t)n * sizeof(*turned));
    if (turned == NULL) code = SIM_E_NOMEM;
    if (code != 0) return code;
    for (int32_t i = 0; i < n; i++) turned[i] = ways->all.gpus[(i + 1) % n];
    ways->next_all = (struct topology_seat){ways->topology, n, turned};
    ways->next = (struct topology_seat){ways->topology, 1, turned};
    ways->one = (struct topology_seat){ways->topology, 1, ways->all.gpus};
    ways->far = (struct topology_seat){ways->topology, 1, ways->far_all.gpus};
    code = add_tiers(ways, &cluster->topology);
    if (code == 0 && n > 1) code = add_gpus(ways, "next gpu", &ways->next, &ways->next_all);
    return code != 0 || !far ? code : add_gpus(ways, "gpu of another node", &ways->far, &ways->far_all);
}

static int measure_ways(struct ways *ways, const struct setup *setup, struct engine *engine, struct arena *arena)
{
    const struct cluster_config *cluster = &setup->scenario.cluster;
    uint32_t next_owner_id = 0;
    const struct topology_env env = {.engine = engine, .cluster = cluster, .catalog = &setup->catalog,
                                     .config = setup->config, .next_owner_id = &next_owner_id, .arena = arena,
                                     .diag = &ways->cli->diag};
    if (cluster->gpu == NULL)
        return diag_error(env.diag, SIM_E_CONFIG, config_where(setup->config, "cluster"),
                          "add \"gpu\": see 'orrery list gpus'", "links depend on the cluster's 'gpu'");
    int code = catalog_gpu(&setup->catalog, cluster->gpu, config_where(setup->config, "cluster.gpu"), arena, &ways->gpu,
                           env.diag);
    if (code == 0) code = topology_create(&env, &ways->topology);
    return code != 0 ? code : fill(ways, cluster, arena);
}

int explain_links(struct cli *cli, const struct setup *setup, bool json)
{
    static const struct table_column columns[] = {
        {"from", COLUMN_LEFT, false},          {"to", COLUMN_LEFT, false},          {"gpu_gb_per_s", COLUMN_RIGHT, false},
        {"node_gb_per_s", COLUMN_RIGHT, false}, {"latency_us", COLUMN_RIGHT, false}, {"way", COLUMN_LEFT, false}};
    struct ways ways = {.cli = cli};
    struct arena arena;
    arena_init(&arena);
    table_init(&ways.table, columns, sizeof columns / sizeof *columns);
    struct engine *engine = engine_create(&(struct engine_options){.queue = QUEUE_CALENDAR});
    int code = engine != NULL ? measure_ways(&ways, setup, engine, &arena) : SIM_E_NOMEM;
    if (code == 0) code = table_write(&ways.table, json, cli->out);
    engine_destroy(engine);
    topology_destroy(ways.topology);
    table_fini(&ways.table);
    arena_fini(&arena);
    return code;
}
