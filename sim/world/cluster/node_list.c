#include "sim/world/cluster/node_list.h"

#include "sim/core/csv.h"
#include "sim/core/number.h"

#include <string.h>

static const char *const format_names[] = {"openb", NULL};

const struct config_field node_list_config_fields[] = {
    {.name = "path", .kind = CONFIG_PATH, .flags = CONFIG_REQUIRED, .offset = offsetof(struct node_list_config, path),
     .help = "the file, plain or gzip-compressed"},
    {.name = "format", .kind = CONFIG_CHOICE, .offset = offsetof(struct node_list_config, format), .value = "openb",
     .choices = format_names, .help = "openb: sn,cpu_milli,memory_mib,gpu,model, as of Alibaba's GPU cluster of 2023"},
    {.name = "cpu_nodes", .kind = CONFIG_BOOL, .offset = offsetof(struct node_list_config, cpu_nodes), .value = "true",
     .help = "keep nodes without GPUs"},
    {0}};

enum { CPU_MILLI, MEMORY_MIB, GPUS, MODEL, N_COLUMNS };

static const struct csv_column columns[N_COLUMNS] = {
    {.name = "cpu_milli"}, {.name = "memory_mib"}, {.name = "gpu"}, {.name = "model", .optional = true}};

static const int64_t MOST[] = {[CPU_MILLI] = INT64_C(1) << 40, [MEMORY_MIB] = INT64_C(1) << 40, [GPUS] = NODE_LIST_MAX_GPUS};

/* The text of a column of the row in hand; empty where there is none. */
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

/* Appends to a list in the arena: its room doubles, and what it had before stays there unused. */
static int append(struct config_list *list, struct arena *arena, const struct node_spec *node)
{
    struct node_spec *nodes = list->items;
    if ((list->n & (list->n - 1)) == 0) {
        nodes = arena_alloc(arena, (list->n > 0 ? 2 * list->n : 1) * sizeof *nodes);
        if (nodes == NULL) return SIM_E_NOMEM;
        if (list->n > 0) memcpy(nodes, list->items, list->n * sizeof *nodes);
        list->items = nodes;
    }
    nodes[list->n++] = *node;
    return 0;
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
        if (code == 0 && (node.gpus > 0 || config->cpu_nodes)) code = append(list, arena, &node);
        if (code < 0) return code;
    }
    if (code == 0 && list->n == 0)
        return diag_error(diag, SIM_E_DATA, config->path, NULL, "there is no node in this list");
    return code;
}

int node_list_read(const struct node_list_config *config, struct arena *arena, struct config_list *list,
                   struct diag *diag)
{
    struct input *input;
    struct csv *csv;
    *list = (struct config_list){0};
    int code = input_open(config->path, &input, diag);
    if (code == 0) code = csv_create(input, &(struct csv_options){0}, &csv, diag);
    if (code < 0) return code;
    code = read_rows(csv, config, arena, list, diag);
    csv_destroy(csv);
    return code == SIM_E_NOMEM ? diag_error(diag, code, NULL, NULL, "out of memory") : code;
}
