/* Where each placer puts a job, on clusters that are partly taken. */
#include "policies/registry.h"
#include "sim/world/cluster/cluster.h"
#include "tests/support/harness.h"

enum { NODES = 5, PER_NODE = 8 };

/* Free GPUs per node, the job, and the GPUs it must get on each node; all zero: no room. */
struct case_ {
    int32_t free[NODES];
    int32_t gpus, nodes;
    int32_t expected[NODES];
};

static void take_until_free(struct cluster *cluster, const int32_t *free)
{
    int32_t nodes[NODES], gpus[NODES], total = 0;
    struct placement placement = {.nodes = nodes, .gpus = gpus, .capacity = NODES};
    struct allocation *allocation;
    for (int32_t i = 0; i < NODES; i++) {
        if (free[i] == PER_NODE) continue;
        placement_add(&placement, i, PER_NODE - free[i]);
        total += PER_NODE - free[i];
    }
    CHECK_EQ_INT(cluster_take(cluster, 0, (int64_t)total * GPU_MICRO, &placement, &allocation), 0);
}

static void check_case(const char *name, const struct case_ *c)
{
    const struct placer *placer = (const void *)policy_find(POLICY_PLACEMENT, name);
    struct cluster *cluster;
    MUST(cluster_create(&(struct cluster_config){.nodes = NODES, .gpus_per_node = PER_NODE}, &cluster) == 0);
    take_until_free(cluster, c->free);
    struct cluster_view view = {.total_gpus = cluster->total_gpus,
                                .free_gpus = cluster->free_gpus,
                                .n_nodes = NODES,
                                .gpus_per_node = PER_NODE,
                                .node_free_gpus = cluster->node_free_gpus,
                                .cluster = cluster};
    struct job_view job = {.gpus = c->gpus, .nodes = c->nodes};
    int32_t nodes[NODES], gpus[NODES], got[NODES] = {0}, expected = 0;
    struct placement placement = {.nodes = nodes, .gpus = gpus, .capacity = NODES};
    int found = placer->place(NULL, &view, &job, &placement);
    for (int32_t i = 0; found == 1 && i < placement.n; i++) got[placement.nodes[i]] += placement.gpus[i];
    for (int32_t i = 0; i < NODES; i++) {
        CHECK_EQ_INT(got[i], c->expected[i]);
        expected += c->expected[i];
    }
    CHECK_EQ_INT(found, expected > 0);
    cluster_destroy(cluster);
}

TEST(first_fit_takes_the_lowest_nodes)
{
    static const struct case_ cases[] = {
        {{8, 8, 8, 8, 8}, 3, 0, {3, 0, 0, 0, 0}},  {{0, 1, 8, 8, 8}, 3, 0, {0, 1, 2, 0, 0}},
        {{2, 0, 3, 0, 1}, 6, 0, {2, 0, 3, 0, 1}},  {{2, 0, 3, 0, 0}, 6, 0, {0, 0, 0, 0, 0}},
        {{8, 8, 8, 8, 8}, 40, 0, {8, 8, 8, 8, 8}}, {{5, 5, 8, 8, 8}, 4, 2, {4, 0, 0, 0, 0}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) check_case("first-fit", &cases[i]);
}

TEST(consolidated_fills_best)
{
    static const struct case_ cases[] = {
        {{8, 3, 5, 3, 8}, 3, 0, {0, 3, 0, 0, 0}},  {{8, 3, 5, 3, 8}, 4, 0, {0, 0, 4, 0, 0}},
        {{8, 3, 5, 3, 7}, 8, 0, {8, 0, 0, 0, 0}},  {{7, 7, 7, 7, 7}, 8, 0, {0, 0, 0, 0, 0}},
        {{8, 1, 8, 2, 8}, 17, 0, {8, 1, 8, 0, 0}}, {{8, 0, 8, 0, 8}, 20, 0, {8, 0, 8, 0, 4}},
        {{8, 0, 8, 0, 3}, 20, 0, {0, 0, 0, 0, 0}}, {{8, 0, 8, 0, 8}, 24, 3, {8, 0, 8, 0, 8}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) check_case("consolidated", &cases[i]);
}

TEST(consolidated_gives_the_nodes_asked_for)
{
    static const struct case_ cases[] = {
        {{8, 8, 8, 8, 8}, 8, 2, {4, 4, 0, 0, 0}}, {{8, 4, 8, 5, 8}, 8, 2, {0, 4, 0, 4, 0}},
        {{8, 3, 8, 4, 8}, 7, 2, {0, 3, 0, 4, 0}}, {{4, 4, 4, 3, 3}, 11, 3, {4, 4, 0, 3, 0}},
        {{4, 3, 3, 3, 3}, 11, 3, {0, 0, 0, 0, 0}}, {{1, 1, 1, 0, 0}, 3, 5, {1, 1, 1, 0, 0}},
        {{8, 8, 8, 8, 8}, 16, 1, {8, 8, 0, 0, 0}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) check_case("consolidated", &cases[i]);
}

TEST(consolidated_knows_what_can_never_be)
{
    const struct placer *placer = (const void *)policy_find(POLICY_PLACEMENT, "consolidated");
    struct cluster_view view = {.total_gpus = 40, .n_nodes = NODES, .gpus_per_node = PER_NODE};
    CHECK(placer->possible(NULL, &view, &(struct job_view){.gpus = 40}));
    CHECK(placer->possible(NULL, &view, &(struct job_view){.gpus = 5, .nodes = 5}));
    CHECK(!placer->possible(NULL, &view, &(struct job_view){.gpus = 6, .nodes = 6}));
}
