/* Switches and cables of the shipped pods against the tables of their vendor's reference architectures. The pods give
 * nodes of a leaf and oversubscription alone: leaves and ports above them follow from these.
 *
 * Sources: DGX SuperPOD with DGX H100, RA-11333-001 V11, table 4; with DGX B200, component counts; with DGX B300, XDR,
 * RA-11339-001, table 3. Cables below a leaf are left out for H100, where one node of each four units is a manager. */
#include "sim/world/cluster_section.h"
#include "sim/world/links/graph.h"
#include "tests/support/harness.h"

/* Of the vendor's table. */
struct row {
    const char *cluster;
    int64_t nodes;
    int32_t leaves;
    int64_t cables_above_leaves;
};

static const struct row rows[] = {
    {"superpod-h100", 31, 8, 256},       {"superpod-h100", 63, 16, 512},      {"superpod-h100", 95, 24, 768},
    {"superpod-h100", 127, 32, 1024},    {"superpod-b200", 64, 16, 512},      {"superpod-b200", 128, 32, 1024},
    {"superpod-b200", 256, 64, 2048},    {"superpod-b200", 512, 128, 4096},   {"superpod-b200", 1024, 256, 8192},
    {"superpod-b200", 2048, 512, 16384}, {"superpod-b300", 72, 8, 576},       {"superpod-b300", 144, 16, 1152},
    {"superpod-b300", 288, 32, 2304},    {"superpod-b300", 576, 64, 4608},    {"superpod-b300", 1296, 144, 10368},
};

static const char *where_of(void *context, const char *key)
{
    (void)context;
    return key;
}

/* The switches of a shipped cluster of so many nodes; 0: as many as its file has. */
static struct graph graph_of(const char *cluster, int64_t nodes, struct cluster_section *section)
{
    static const struct config_field fields[] = {
        {.name = "cluster", .kind = CONFIG_SECTION, .fields = cluster_section_fields, .help = "nodes"}, {0}};
    struct graph graph = {0};
    struct arena arena;
    struct diag diag;
    struct config *config;
    char path[128];
    arena_init(&arena);
    diag_init(&diag);
    snprintf(path, sizeof path, "configs/clusters/%s.json", cluster);
    CHECK_EQ_INT(config_load(path, &config, &diag), 0);
    CHECK_EQ_INT(config_bind(config, fields, NULL, &arena, section, sizeof *section, &diag), 0);
    if (nodes > 0) section->nodes.nodes = nodes;
    CHECK_EQ_INT(graph_init(&graph, &section->links.network, &section->nodes, where_of, NULL, &diag), 0);
    CHECK_EQ_INT(diag.n_errors, 0);
    config_destroy(config);
    arena_fini(&arena);
    return graph;
}

TEST(pods_have_the_switches_and_cables_of_their_reference_architecture)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cluster_section section;
        const struct graph graph = graph_of(rows[i].cluster, rows[i].nodes, &section);
        CHECK_EQ_INT(graph.n_leaves, rows[i].leaves);
        CHECK_EQ_INT((int64_t)graph.n_leaves * graph.uplinks, rows[i].cables_above_leaves);
    }
}

/* arXiv 2505.09343, 5.1: eight planes of two levels of 64-port switches connect 16,384 GPUs. */
TEST(planes_of_h800_fill_two_levels_of_64_port_switches_with_16384_gpus)
{
    struct cluster_section section;
    const struct graph graph = graph_of("deepseek-h800", 16384 / 8, &section);
    CHECK_EQ_INT(graph.leaf_nics + graph.uplinks, 64);
    CHECK_EQ_INT(graph.n_leaves / section.nodes.gpus_per_node, 64); /* of a plane: a port of each spine */
}

/* arXiv 2407.21783, 3.3.1: racks of 16 GPUs, pods of 3,072, eight of them, 1:7 above. */
TEST(llama_3s_pods_have_3072_gpus_and_a_seventh_of_their_bandwidth_above)
{
    struct cluster_section section;
    const struct graph graph = graph_of("llama3-h100", 0, &section);
    CHECK_EQ_INT(graph.leaf_nics, 16);
    CHECK_EQ_INT(graph_pod_nodes(&graph) * section.nodes.gpus_per_node, 3072);
    CHECK_EQ_INT(graph_pod_of(&graph, graph.n_leaves - 1) + 1, 8);
    const double below = 3072 * section.links.network.bytes_per_s;
    const double above = (double)graph.uplinks * graph.pod_uplinks * graph.pod_uplink_bytes_per_s;
    CHECK_NEAR(above, below / 7, 1e-9 * below);
}

/* Full bisection: what the NICs of a leaf could send, its ports carry. */
TEST(nvidias_pods_carry_above_each_leaf_what_its_nics_send)
{
    static const char *const pods[] = {"superpod-a100", "superpod-h100",  "superpod-h200", "superpod-b200",
                                       "superpod-b300", "superpod-gb200", "pod-gb300",     "deepseek-h800"};
    for (size_t i = 0; i < sizeof pods / sizeof *pods; i++) {
        struct cluster_section section;
        const struct graph graph = graph_of(pods[i], 0, &section);
        const double below = graph.leaf_nics * section.links.network.bytes_per_s;
        CHECK_NEAR(graph.uplinks * graph.uplink_bytes_per_s, below, 1e-9 * below);
        CHECK(graph.n_leaves > 1); /* one leaf has no ports above */
    }
}
