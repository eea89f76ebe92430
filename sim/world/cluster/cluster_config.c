#include "sim/world/cluster/cluster_config.h"

#include "sim/catalog/mig.h"
#include "sim/core/csv.h"
#include "sim/core/err.h"
#include "sim/core/number.h"
#include "sim/world/cluster/node_resources.h"

#include <float.h>
#include <string.h>

#define ROW_OF struct node_type_config
const struct config_field node_type_config_fields[] = {
    ROW_INT("nodes", nodes, DEFAULT("1"), WITHIN(1, 1e7), "number of nodes of this type"),
    ROW_INT("gpus_per_node", gpus_per_node, DEFAULT("8"), WITHIN(1, 1024), "GPUs of each node"),
    ROW_NAME_OR_PATH("gpu", gpu, REQUIRED, ANY, "GPU type: a name of the hardware catalog, or the path of such a file"),
    ROW_TEXT("mig", mig, OPTIONAL, WITHIN(1, 64),
             "MIG profile that cuts each GPU into as many equal slices as it allows; jobs and services count slices as GPUs; default: GPUs are whole"),
    ROW_QUANTITY("gpu_price", gpu_usd_per_h, UNIT_MONEY_PER_H, OPTIONAL, WITHIN(1e-6, 1e6),
                 "price of renting one GPU, as \"$2.49/h\", for cost.*; a price of 'market' goes before; default: the list price"),
    ROW_REAL("cpus_per_node", cpus_per_node, OPTIONAL, WITHIN(DBL_MIN, 1e6), "CPU cores of each node that jobs share; default: CPU is not counted"),
    ROW_QUANTITY("memory_per_node", memory_per_node_bytes, UNIT_BYTES, OPTIONAL, WITHIN(DBL_MIN, 1e15), "memory of each node that jobs share; default: memory is not counted"),
    {0}};
#undef ROW_OF

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

/* --- The list of nodes --- */

static const char *const format_names[] = {"openb", NULL};

#define ROW_OF struct node_list_config
const struct config_field node_list_config_fields[] = {
    ROW_PATH("path", path, REQUIRED, "the file, plain or gzip-compressed"),
    ROW_CHOICE("format", format, DEFAULT("openb"), format_names,
               "openb: sn,cpu_milli,memory_mib,gpu,model, as of Alibaba's GPU cluster of 2023"),
    ROW_BOOL("cpu_nodes", cpu_nodes, DEFAULT("true"), "keep nodes without GPUs"),
    {0}};
#undef ROW_OF

enum { CPU_MILLI, MEMORY_MIB, GPUS, MODEL, N_COLUMNS };

static const struct csv_column columns[N_COLUMNS] = {
    {.name = "cpu_milli"}, {.name = "memory_mib"}, {.name = "gpu"}, {.name = "model", .optional = true}};

static const int64_t MOST[] = {[CPU_MILLI] = INT64_C(1) << 40, [MEMORY_MIB] = INT64_C(1) << 40, [GPUS] = NODE_LIST_MAX_GPUS};

/* The text of a column of the current row; empty if the column is missing. */
static struct csv_field field_of(const struct csv *csv, int position)
{
    const bool there = position >= 0 && (size_t)position < csv_n_fields(csv);
    return there ? csv_fields(csv)[position] : (struct csv_field){.chars = ""};
}

static int read_count(const struct csv *csv, const int *positions, int column, int64_t *value, struct diag *diag)
{
    const struct csv_field field = field_of(csv, positions[column]);
    if (number_i64(field.chars, field.n_chars, value) == NUMBER_OK && *value >= 0 && *value <= MOST[column]) return 0;
    char where[DIAG_WHERE_CHARS];
    csv_where(csv, (size_t)positions[column], 0, where);
    return diag_error(diag, SIM_E_DATA, where, NULL, "'%s' is a whole number from 0 to %lld, not '%.*s'",
                      columns[column].name, (long long)MOST[column], (int)field.n_chars, field.chars);
}

static int read_node(const struct csv *csv, const int *positions, struct arena *arena, struct node_spec *node,
                     struct diag *diag)
{
    int64_t values[MODEL];
    for (int i = 0; i < MODEL; i++) {
        const int code = read_count(csv, positions, i, &values[i], diag);
        if (code < 0) return code;
    }
    const struct csv_field model = field_of(csv, positions[MODEL]);
    *node = (struct node_spec){.gpus = (int32_t)values[GPUS],
                               .cpu_milli = values[CPU_MILLI],
                               .memory_bytes = values[MEMORY_MIB] << 20,
                               .gpu_model = arena_printf(arena, "%.*s", (int)model.n_chars, model.chars)};
    return node->gpu_model != NULL ? 0 : SIM_E_NOMEM;
}

static int read_rows(struct csv *csv, const struct node_list_config *config, struct arena *arena,
                     struct config_list *list, struct diag *diag)
{
    int positions[N_COLUMNS];
    int code = csv_read_header(csv, columns, N_COLUMNS, positions, diag);
    if (code < 0) return code;
    while ((code = csv_next(csv, diag)) == 1) {
        struct node_spec node;
        code = read_node(csv, positions, arena, &node, diag);
        if (code == 0 && (node.gpus > 0 || config->cpu_nodes))
            code = config_list_append(list, arena, &node, sizeof node);
        if (code < 0) return code;
    }
    if (code == 0 && list->n == 0) return diag_error(diag, SIM_E_DATA, config->path, NULL, "the list has no nodes");
    return code;
}

int64_t cluster_config_gpus_per_node(const struct cluster_config *config, const char *gpu)
{
    const struct node_type_config *types = config->node_types.items;
    if (config->unlimited) return 0;
    int64_t most = config->gpu != NULL && strcmp(config->gpu, gpu) == 0 ? config->gpus_per_node : 0;
    for (size_t i = 0; i < config->node_types.n; i++)
        if (types[i].gpus_per_node > most && strcmp(types[i].gpu, gpu) == 0) most = types[i].gpus_per_node;
    return most;
}

static int node_list_read(const struct node_list_config *config, struct arena *arena, struct config_list *list,
                          struct diag *diag)
{
    struct input *input;
    struct csv *csv;
    *list = (struct config_list){0};
    int code = input_open(config->path, &input, diag);
    if (code == 0) code = csv_create(input, &(struct csv_options){0}, &csv, diag);
    if (code != 0) return code;
    code = read_rows(csv, config, arena, list, diag);
    csv_destroy(csv);
    return code == SIM_E_NOMEM ? diag_nomem(diag) : code;
}

/* --- Limits of tracked node resources --- */

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

/* If CPU or memory of any node type counts, the resources of all are tracked. */
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

/* --- MIG slices --- */

/* Takes "GPU:PROFILE" apart, which stands for `gpu` and `mig`. */
static int split_gpu(struct node_type_config *type, const char *where, struct arena *arena, struct diag *diag)
{
    struct mig_name name = {.profile = NULL};
    if (type->gpu == NULL && type->mig == NULL) return 0;
    if (type->gpu == NULL)
        return diag_error(diag, SIM_E_CONFIG, where, "add \"gpu\": see 'orrery list gpus'",
                          "'mig' cuts the GPU that 'gpu' names, and there is none");
    const int code = mig_name_split(type->gpu, arena, &name, diag);
    if (code != 0 || name.profile == NULL) return code;
    if (type->mig != NULL && strcmp(type->mig, name.profile) != 0)
        return diag_error(diag, SIM_E_CONFIG, where, "leave out one of the two",
                          "'gpu' names a slice '%s', and 'mig' is '%s'", name.profile, type->mig);
    type->gpu = name.board;
    type->mig = name.profile;
    return 0;
}

/* Cuts the GPUs of a node type. `key` is the path of its profile. */
static int cut_type(struct node_type_config *type, const char *key, const struct config *document,
                    const struct catalog *catalog, struct arena *arena, struct diag *diag)
{
    const char *where = config_where(document, key);
    struct gpu_spec gpu;
    int code = split_gpu(type, where, arena, diag);
    if (code != 0 || type->mig == NULL) return code;
    type->gpu = mig_name(type->gpu, type->mig, arena);
    if (type->gpu == NULL) return diag_nomem(diag);
    code = catalog_gpu(catalog, type->gpu, where, arena, &gpu, diag);
    if (code != 0) return code;
    type->slices = gpu.slices;
    type->gpus_per_node *= gpu.slices;
    type->gpu_usd_per_h /= (double)gpu.slices;
    return 0;
}

static int cut_own(struct cluster_config *config, const struct config *document, const struct catalog *catalog,
                   struct arena *arena, struct diag *diag)
{
    struct node_type_config own = {.gpus_per_node = config->gpus_per_node, .gpu = config->gpu, .mig = config->mig,
                                   .gpu_usd_per_h = config->gpu_usd_per_h};
    const char *key = config->mig != NULL ? "cluster.mig" : "cluster.gpu";
    const int code = cut_type(&own, key, document, catalog, arena, diag);
    if (code != 0) return code;
    if (own.slices > 0 && config->nodes_file.path != NULL)
        return diag_error(diag, SIM_E_CONFIG, config_where(document, key),
                          "leave out 'nodes_file', or name the GPU whole",
                          "MIG slices are of the GPUs of equal nodes, not of a 'nodes_file'");
    config->gpu = own.gpu;
    config->slices = own.slices;
    config->gpus_per_node = own.gpus_per_node;
    config->gpu_usd_per_h = own.gpu_usd_per_h;
    return 0;
}

static int cut_gpus(struct cluster_config *config, const struct config *document, const struct catalog *catalog,
                    struct arena *arena, struct diag *diag)
{
    struct node_type_config *types = config->node_types.items;
    int code = cut_own(config, document, catalog, arena, diag);
    for (size_t i = 0; i < config->node_types.n && code == 0; i++) {
        const char *key = arena_printf(arena, "cluster.node_types.%s.%s", types[i].name,
                                       types[i].mig != NULL ? "mig" : "gpu");
        code = key != NULL ? cut_type(&types[i], key, document, catalog, arena, diag) : diag_nomem(diag);
    }
    return code;
}

/* A whole GPU is one part, as its largest slice is. */
static int64_t parts_of(int64_t slices)
{
    return slices > 0 ? slices : 1;
}

int64_t cluster_config_slices(const struct cluster_config *config)
{
    const struct node_type_config *types = config->node_types.items;
    const int64_t slices = parts_of(config->slices);
    for (size_t i = 0; i < config->node_types.n; i++)
        if (parts_of(types[i].slices) != slices) return -1;
    return slices;
}

int cluster_config_load(struct cluster_config *config, const struct config *document, const struct catalog *catalog,
                        struct arena *arena, struct diag *diag)
{
    int code = load_nodes(config, arena, diag);
    if (code == 0) code = cut_gpus(config, document, catalog, arena, diag);
    return code < 0 ? code : check_nodes(config, document, diag);
}
