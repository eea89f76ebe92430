#include "sim/cli/explain/explain_traffic.h"

#include "models/operators/traffic.h"
#include "sim/world/links/graph.h"

#include <math.h>

static const struct table_column columns[] = {
    LEFT("service"),          LEFT("links"),      RIGHT("bytes_per_iteration"),
    RIGHT("bytes_per_token"), RIGHT("time_frac"), RIGHT("binds_at_oversubscription")};

void explain_traffic_init(struct answer_table *table)
{
    TABLE_INIT(table, columns);
}

/* A callback for graph_init. */
static const char *where_of(void *context, const char *key)
{
    (void)key;
    return config_where(context, "cluster.network");
}

/* Nodes below one leaf switch; without switches those of a rack. 0: all are in one. */
static int find_rack(struct cli *cli, const struct setup *setup, double *nodes)
{
    const struct cluster_config *cluster = &setup->scenario.cluster.nodes;
    const struct network_config *network = &setup->scenario.cluster.links.network;
    struct graph graph;
    const int code = graph_init(&graph, network, cluster, where_of, setup->config, &cli->diag);
    *nodes = (double)cluster->nodes_per_rack;
    if (code == 0 && !graph_is_flat(&graph)) *nodes = (double)graph_leaf_nodes(&graph);
    return code;
}

static void number_or_none(struct answer_table *table, double value)
{
    if (isfinite(value))
        table_number(table, value);
    else
        table_undefined(table);
}

static void add_level(struct answer_table *table, const char *service, const char *links, double bytes, double tokens,
                      double time_frac, double binds_at)
{
    table_text(table, service);
    table_text(table, links);
    table_number(table, bytes);
    table_number(table, bytes / tokens);
    number_or_none(table, time_frac);
    number_or_none(table, binds_at);
}

int explain_traffic_add(struct cli *cli, const struct setup *setup, const struct modelled_pool *modelled,
                        const struct iteration_work *work, struct answer_table *table)
{
    const struct network_config *network = &setup->scenario.cluster.links.network;
    const int64_t each = cluster_config_gpus_per_node(&setup->scenario.cluster.nodes,
                                                      modelled->pool.gpu != NULL ? modelled->pool.gpu
                                                                                 : setup->scenario.cluster.nodes.gpu);
    const int64_t gpus = modelled->pool.tensor_parallel;
    if (modelled->model.traffic == NULL || each == 0 || gpus <= each || !(network->bytes_per_s > 0)) return 0;
    struct traffic_place place = {.nodes = (double)(gpus / each), .gpus_per_node = (double)each,
                                  .network_bytes_per_s = pool_nodes(&modelled->pool, each, network).network_bytes_per_s};
    const int code = find_rack(cli, setup, &place.nodes_per_rack);
    if (code != 0) return code;
    struct iteration_traffic traffic;
    struct iteration_cost cost;
    modelled->model.traffic(modelled->model.model, work, 1.0, &traffic);
    modelled->model.cost(modelled->model.model, work, &cost);
    const struct traffic_levels levels = traffic_levels_of(&traffic, &place);
    const double tokens = (double)(work->prefill_tokens + iteration_decode_tokens(work));
    const double node_frac = traffic.node_seconds / cost.first_s, network_frac = traffic.seconds / cost.first_s;
    add_level(table, modelled->name, "within nodes", levels.node_bytes, tokens, node_frac, (double)NAN);
    const bool leaves_racks = levels.site_bytes > 0.0;
    add_level(table, modelled->name, "between nodes of a rack", levels.rack_bytes, tokens,
              leaves_racks ? (double)NAN : network_frac, (double)NAN);
    add_level(table, modelled->name, "between racks", levels.site_bytes, tokens,
              leaves_racks ? network_frac : (double)NAN, levels.binds_at);
    return 0;
}
