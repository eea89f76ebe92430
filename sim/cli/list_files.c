/* Listings of files: scenarios and studies with their first comment, clusters with their hardware. */
#include "sim/cli/listing.h"
#include "sim/cli/paths.h"
#include "sim/cli/plugins.h"
#include "sim/core/config/config.h"
#include "sim/world/links/graph.h"
#include "sim/world/scenario.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The first line of a file: a comment that describes it. */
static const char *first_comment(struct arena *arena, const char *path)
{
    char line[256];
    FILE *file = fopen(path, "r");
    if (file == NULL) return NULL;
    bool found = fgets(line, sizeof line, file) != NULL && strncmp(line, "//", 2) == 0;
    fclose(file);
    if (!found) return NULL;
    const char *text = line + 2 + strspn(line + 2, " ");
    return arena_printf(arena, "%.*s", (int)strcspn(text, "\r\n"), text);
}

/* Adds the cells of a file. Returns 0 or a negative code with findings. */
typedef int add_file_fn(struct listing *list, const char *name, const char *path);

/* Adds a row for each file of a folder of configs. */
static int add_files(struct listing *list, const char *folder, add_file_fn *add)
{
    static const char *const endings[] = {".json", NULL};
    struct file_names names;
    const char *directory = arena_printf(&list->arena, "%s/%s", list->catalog.root, folder);
    int code = directory != NULL ? paths_list_files(&list->arena, directory, endings, &names) : SIM_E_NOMEM;
    if (code == SIM_E_IO)
        return diag_error(&list->cli->diag, code, directory, CATALOG_ROOT_HINT, "cannot list the %s", folder);
    for (size_t i = 0; code == 0 && i < names.n; i++) {
        const char *path = arena_printf(&list->arena, "%s/%s", directory, names.names[i]);
        const char *name = arena_printf(&list->arena, "%.*s", (int)(strlen(names.names[i]) - strlen(endings[0])),
                                        names.names[i]);
        code = path != NULL && name != NULL ? add(list, name, path) : SIM_E_NOMEM;
    }
    return code;
}

static int add_described(struct listing *list, const char *name, const char *path)
{
    table_text(&list->table, name);
    table_text(&list->table, first_comment(&list->arena, path));
    table_text(&list->table, path);
    return 0;
}

int list_scenarios(struct listing *list)
{
    static const struct table_column columns[] = {LEFT("scenario"), LEFT("summary"), JSON_ONLY("path")};
    COLUMNS(list, columns);
    return add_files(list, "scenarios", add_described);
}

int list_studies(struct listing *list)
{
    static const struct table_column columns[] = {LEFT("study"), LEFT("summary"), JSON_ONLY("path")};
    COLUMNS(list, columns);
    return add_files(list, "studies", add_described);
}

/* --- Clusters --- */

static const char *no_place(void *context, const char *key)
{
    (void)context;
    return key;
}

/* Adds leaves and the ratios above them; blank without switches. */
static void add_switches(struct answer_table *table, const struct graph *graph, const struct network_config *network)
{
    const bool is_flat = graph_is_flat(graph);
    table_text(table, graph_topology_name(graph));
    table_number(table, is_flat ? (double)NAN : graph_leaf_nodes(graph));
    table_number(table, is_flat ? (double)NAN : graph->n_leaves);
    table_number(table, is_flat || !(network->oversubscription > 0) ? (double)NAN : network->oversubscription);
    table_number(table, is_flat || !(network->pod_oversubscription > 0) ? (double)NAN : network->pod_oversubscription);
}

static int add_bound(struct listing *list, const char *name, const char *path, const struct cluster_section *cluster)
{
    struct answer_table *table = &list->table;
    struct gpu_spec gpu;
    struct graph graph;
    const struct network_config *network = &cluster->links.network;
    int code = catalog_gpu(&list->catalog, cluster->nodes.gpu, path, &list->arena, &gpu, &list->cli->diag);
    if (code == 0) code = graph_init(&graph, network, &cluster->nodes, no_place, NULL, &list->cli->diag);
    if (code != 0) return code;
    table_text(table, name);
    table_text(table, cluster->nodes.gpu);
    table_number(table, (double)cluster->nodes.nodes);
    table_number(table, (double)cluster->nodes.gpus_per_node);
    table_number(table, gpu.nvlink_bytes_per_s / 1e9);
    table_number(table, network->bytes_per_s / 1e9);
    add_switches(table, &graph, network);
    table_text(table, first_comment(&list->arena, path));
    table_text(table, arena_printf(&list->arena, "configs/clusters/%s.json", name));
    table_text(table, path);
    return 0;
}

static int add_cluster(struct listing *list, const char *name, const char *path)
{
    struct config *config;
    struct scenario scenario;
    const struct config_families families = cli_families(list->cli->plugins);
    int code = config_load(path, &config, &list->cli->diag);
    if (code != 0) return code;
    code = config_bind(config, scenario_fields, &families, &list->arena, &scenario, sizeof scenario, &list->cli->diag);
    if (code == 0) code = add_bound(list, name, path, &scenario.cluster);
    config_destroy(config);
    return code;
}

/* NVLink and NICs: per GPU and direction. A node is what NVLink connects. */
int list_clusters(struct listing *list)
{
    static const struct table_column columns[] = {LEFT("cluster"),
                                                  LEFT("gpu"),
                                                  RIGHT("nodes"),
                                                  RIGHT("gpus_per_node"),
                                                  RIGHT("nvlink_gb_per_s"),
                                                  RIGHT("nic_gb_per_s"),
                                                  LEFT("topology"),
                                                  RIGHT("nodes_per_leaf"),
                                                  RIGHT("leaves"),
                                                  RIGHT("oversubscription"),
                                                  RIGHT("pod_oversubscription"),
                                                  JSON_ONLY("summary"),
                                                  JSON_ONLY("extends"),
                                                  JSON_ONLY("path")};
    COLUMNS(list, columns);
    return add_files(list, "clusters", add_cluster);
}
