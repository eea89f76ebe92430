#include "sim/world/cluster/cluster_config.h"

#include "sim/core/err.h"
#include "sim/world/cluster/stock.h"

#include <float.h>
#include <string.h>

#define CPU_AND_MEMORY                                                                                                 \
    {.name = "cpus_per_node", .kind = CONFIG_REAL, .flags = CONFIG_OPTIONAL, .offset = FIELD(cpus_per_node), .min = DBL_MIN, \
     .max = 1e6, .help = "CPU cores of each node that jobs share; else CPU is not counted"},                           \
    {.name = "memory_per_node", .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL, .dim = UNIT_BYTES,                  \
     .offset = FIELD(memory_per_node_bytes), .min = DBL_MIN, .max = 1e15,                                                    \
     .help = "memory of each node that jobs share; else memory is not counted"}

#define FIELD(name) offsetof(struct node_type_config, name)
const struct config_field node_type_config_fields[] = {
    {.name = "nodes", .kind = CONFIG_INT, .offset = FIELD(nodes), .value = "1", .min = 1, .max = 1e7,
     .help = "number of nodes of this type"},
    {.name = "gpus_per_node", .kind = CONFIG_INT, .offset = FIELD(gpus_per_node), .value = "8", .min = 1, .max = 1024,
     .help = "GPUs of each node"},
    {.name = "gpu", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED | CONFIG_NAME_OR_PATH, .offset = FIELD(gpu),
     .help = "type of the GPUs: a name of the hardware catalog, or path of such a file"},
    {.name = "gpu_price", .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL, .dim = UNIT_MONEY_PER_H,
     .offset = FIELD(gpu_usd_per_h), .min = DBL_MIN, .max = 0,
     .help = "of renting one of these GPUs, as \"$2.49/h\", for cost.*; else the GPU's list price, if it has one"},
    CPU_AND_MEMORY,
    {0}};
#undef FIELD

int64_t cluster_config_nodes(const struct cluster_config *config)
{
    const struct node_type_config *types = config->node_types.items;
    int64_t nodes = config->nodes;
    for (size_t i = 0; i < config->node_types.n; i++) nodes += types[i].nodes;
    return nodes;
}

int64_t cluster_config_node_gpus(const struct cluster_config *config, int64_t node)
{
    const struct node_type_config *type = config->node_types.items;
    const struct node_spec *list = config->node_list.items;
    if (node < config->nodes) return list != NULL ? list[node].gpus : config->gpus_per_node;
    for (node -= config->nodes; node >= type->nodes; type++) node -= type->nodes;
    return type->gpus_per_node;
}

/* --- What a stock can hold --- */

static void add_model(const char *names[], int *n, const char *model)
{
    for (int i = 0; i < *n; i++)
        if (strcmp(names[i], model) == 0) return;
    if (*n <= GPU_MODELS_MAX) names[(*n)++] = model;
}

static int check_models(const struct cluster_config *config, const struct config *document, struct diag *diag)
{
    const char *names[GPU_MODELS_MAX + 1];
    int n = 0;
    const struct node_spec *nodes = config->node_list.items;
    for (size_t i = 0; i < config->node_list.n; i++) add_model(names, &n, nodes[i].gpu_model);
    const struct node_type_config *types = config->node_types.items;
    for (size_t i = 0; i < config->node_types.n; i++) add_model(names, &n, types[i].gpu);
    if (n <= GPU_MODELS_MAX) return 0;
    const bool from_file = config->nodes_file.path != NULL;
    return diag_error(diag, SIM_E_CONFIG,
                      config_where(document, from_file ? "cluster.nodes_file" : "cluster.node_types"),
                      "give models that jobs need not tell apart one name",
                      "nodes have GPUs of more than %d models; '%s' is one too many", GPU_MODELS_MAX, names[n - 1]);
}

static int check_node_type(const struct node_type_config *type, const char *where, struct diag *diag)
{
    if (type->gpus_per_node <= NODE_LIST_MAX_GPUS) return 0;
    return diag_error(diag, SIM_E_CONFIG, where, "leave out 'cpus_per_node' and 'memory_per_node', of all node types",
                      "where CPU or memory counts, a node may have %d GPUs, not %lld", NODE_LIST_MAX_GPUS,
                      (long long)type->gpus_per_node);
}

/* Where CPU or memory of any node type counts, all have a stock. */
static int check_nodes(const struct cluster_config *config, const struct config *document, struct diag *diag)
{
    const struct node_type_config own = {.gpus_per_node = config->gpus_per_node}, *types = config->node_types.items;
    bool counts = config->nodes_file.path != NULL || config->cpus_per_node > 0 || config->memory_per_node_bytes > 0;
    int code = 0;
    for (size_t i = 0; i < config->node_types.n; i++)
        counts = counts || types[i].cpus_per_node > 0 || types[i].memory_per_node_bytes > 0;
    if (!counts || config->unlimited) return 0;
    code = check_node_type(&own, config_where(document, "cluster.gpus_per_node"), diag);
    for (size_t i = 0; i < config->node_types.n && code == 0; i++)
        code = check_node_type(&types[i], config_where(document, "cluster.node_types"), diag);
    return code != 0 ? code : check_models(config, document, diag);
}

static int load_nodes(struct cluster_config *config, struct arena *arena, struct diag *diag)
{
    if (config->nodes_file.path == NULL) return 0;
    const int code = node_list_read(&config->nodes_file, arena, &config->node_list, diag);
    if (code < 0) return code;
    const struct node_spec *nodes = config->node_list.items;
    config->nodes = (int64_t)config->node_list.n;
    config->gpus_per_node = 0;
    for (size_t i = 0; i < config->node_list.n; i++)
        if (nodes[i].gpus > config->gpus_per_node) config->gpus_per_node = nodes[i].gpus;
    return 0;
}

int cluster_config_load(struct cluster_config *config, const struct config *document, struct arena *arena,
                        struct diag *diag)
{
    const int code = load_nodes(config, arena, diag);
    return code < 0 ? code : check_nodes(config, document, diag);
}
