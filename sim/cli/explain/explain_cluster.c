#include "sim/cli/explain/explain_cluster.h"

#include "sim/cli/answer.h"
#include "sim/world/links/graph.h"

/* Rows of one cluster. A row that no key gives is derived from others. */
struct described {
    const struct setup *setup;
    struct arena *arena;
    struct answer_table *table;
    const struct cluster_config *nodes;
    const struct network_config *network;
    struct gpu_spec gpu;
    struct graph graph;
};

/* Place, source and certainty of a key of "cluster" that a file gives; NULL: of a number that follows from others. */
static void add_origin(struct described *described, const char *key)
{
    const struct config *config = described->setup->config;
    struct config_origin origin = {0};
    const char *path = key != NULL ? arena_printf(described->arena, "cluster.%s", key) : NULL;
    const char *where = path == NULL                    ? "derived"
                        : config_is_given(config, path) ? config_where(config, path)
                                                        : "default";
    described->table->failed |= key != NULL && path == NULL;
    if (path != NULL && !config_origin(config, path, &origin)) origin = (struct config_origin){0};
    table_text(described->table, where);
    table_text(described->table, origin.sure);
    table_text(described->table, origin.source);
}

static void add_number(struct described *described, const char *what, double value, const char *unit, const char *key)
{
    table_text(described->table, what);
    table_number(described->table, value);
    table_text(described->table, unit);
    add_origin(described, key);
}

static void add_word(struct described *described, const char *what, const char *value, const char *key)
{
    table_text(described->table, what);
    table_text(described->table, value);
    table_text(described->table, NULL);
    add_origin(described, key);
}

static void add_nodes(struct described *described)
{
    const struct cluster_config *nodes = described->nodes;
    const struct network_config *network = described->network;
    const struct node_type_config *types = nodes->node_types.items;
    int64_t gpus = nodes->nodes * nodes->gpus_per_node;
    for (size_t i = 0; i < nodes->node_types.n; i++) gpus += types[i].nodes * types[i].gpus_per_node;
    add_word(described, "gpu", nodes->gpu, "gpu");
    add_number(described, "nodes", (double)nodes->nodes, NULL, "nodes");
    add_number(described, "gpus of a node", (double)nodes->gpus_per_node, NULL, "gpus_per_node");
    add_number(described, "gpus", (double)gpus, NULL, NULL);
    table_text(described->table, "nvlink of a gpu");
    table_number(described->table, described->gpu.nvlink_bytes_per_s / 1e9);
    table_text(described->table, "GB/s");
    table_text(described->table, "file of the gpu");
    table_text(described->table, NULL);
    table_text(described->table, NULL);
    for (size_t i = 0; i < nodes->node_types.n; i++) {
        const char *what = arena_printf(described->arena, "nodes of type %s, of %lld %s", types[i].name,
                                        (long long)types[i].gpus_per_node, types[i].gpu);
        const char *key = arena_printf(described->arena, "node_types.%s.nodes", types[i].name);
        add_number(described, what, (double)types[i].nodes, NULL, key);
    }
    if (!(network->bytes_per_s > 0)) return;
    const bool per_gpu = network->per == NETWORK_PER_GPU;
    add_number(described, per_gpu ? "nic of a gpu" : "nic of a node", network->bytes_per_s / 1e9, "GB/s",
               "network.bandwidth");
    add_number(described, "nics of a node", per_gpu ? (double)nodes->gpus_per_node : 1.0, NULL, NULL);
}

static void add_leaves(struct described *described)
{
    const struct graph *graph = &described->graph;
    const bool is_tree = graph->topology == NETWORK_FAT_TREE;
    add_number(described, "nodes below a leaf", graph_leaf_nodes(graph), NULL,
               is_tree ? NULL : "network.nodes_per_leaf");
    add_number(described, "leaves", graph->n_leaves, NULL, NULL);
    add_number(described, "nics below a leaf", graph->leaf_nics, NULL, NULL);
    add_number(described, "ports above a leaf", graph->uplinks, NULL, NULL);
    if (graph->uplinks > 0) add_number(described, "a port above a leaf", graph->uplink_bytes_per_s / 1e9, "GB/s", NULL);
    add_number(described, "oversubscription of leaves",
               described->network->oversubscription > 0 ? described->network->oversubscription : 1.0, NULL,
               "network.oversubscription");
}

static void add_pods(struct described *described)
{
    const struct graph *graph = &described->graph;
    if (graph->pod_uplinks == 0) return;
    add_number(described, "leaves of a pod", graph->leaves_per_pod, NULL,
               graph->topology == NETWORK_FAT_TREE ? NULL : "network.leaves_per_pod");
    add_number(described, "pods", graph_pod_of(graph, graph->n_leaves - 1) + 1, NULL, NULL);
    add_number(described, "ports above a switch of a pod", graph->pod_uplinks, NULL, NULL);
    add_number(described, "a port above a switch of a pod", graph->pod_uplink_bytes_per_s / 1e9, "GB/s", NULL);
    add_number(described, "oversubscription of pods",
               described->network->pod_oversubscription > 0 ? described->network->pod_oversubscription : 1.0, NULL,
               "network.pod_oversubscription");
}

static const char *where_of(void *context, const char *key)
{
    const struct described *described = context;
    const char *path = arena_printf(described->arena, "cluster.network.%s", key);
    return path != NULL ? config_where(described->setup->config, path) : "";
}

static int describe(struct cli *cli, struct described *described)
{
    const struct setup *setup = described->setup;
    const char *where = config_where(setup->config, described->nodes->gpu != NULL ? "cluster.gpu" : "cluster");
    if (described->nodes->gpu == NULL)
        return diag_error(&cli->diag, SIM_E_CONFIG, where, "add \"gpu\": see 'orrery list gpus'",
                          "a cluster is described by its 'gpu'");
    int code = catalog_gpu(&setup->catalog, described->nodes->gpu, where, described->arena, &described->gpu,
                           &cli->diag);
    if (code == 0)
        code = graph_init(&described->graph, described->network, described->nodes, where_of, described, &cli->diag);
    if (code != 0) return code;
    add_nodes(described);
    if (!(described->network->bytes_per_s > 0)) return 0;
    add_word(described, "topology", graph_topology_name(&described->graph), "network.topology");
    if (graph_is_flat(&described->graph)) return 0;
    add_leaves(described);
    add_pods(described);
    return 0;
}

int explain_cluster(struct cli *cli, const struct setup *setup, int form)
{
    static const struct table_column columns[] = {LEFT("what"),  RIGHT("value"), LEFT("unit"),
                                                  LEFT("where"), LEFT("sure"),   LEFT("source")};
    struct arena arena;
    struct answer_table table;
    struct described described = {.setup = setup,
                                  .arena = &arena,
                                  .table = &table,
                                  .nodes = &setup->scenario.cluster.nodes,
                                  .network = &setup->scenario.cluster.links.network};
    arena_init(&arena);
    TABLE_INIT(&table, columns);
    int code = describe(cli, &described);
    code = table_print(&table, code, (enum answer_form)form, cli->out, &cli->diag);
    arena_fini(&arena);
    return code;
}
