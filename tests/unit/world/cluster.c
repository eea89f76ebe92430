#include "sim/world/cluster/cluster.h"
#include "tests/support/harness.h"

static struct cluster *make(int64_t nodes, int64_t gpus_per_node)
{
    struct cluster *cluster = NULL;
    CHECK_EQ_INT(cluster_create(&(struct cluster_config){.nodes = nodes, .gpus_per_node = gpus_per_node}, &cluster), 0);
    return cluster;
}

TEST(groups_go_to_the_fullest_node_that_has_room)
{
    struct cluster *cluster = make(3, 8);
    CHECK_EQ_INT(cluster_take_group(cluster, 0, 4), 0);
    CHECK_EQ_INT(cluster_take_group(cluster, 0, 6), 1);
    CHECK_EQ_INT(cluster_take_group(cluster, 0, 2), 1);
    CHECK_EQ_INT(cluster_take_group(cluster, 0, 4), 0);
    CHECK_EQ_INT(cluster_take_group(cluster, 0, 9), -1);
    CHECK_EQ_INT(cluster_take_group(cluster, 0, 8), 2);
    CHECK_EQ_INT(cluster_take_group(cluster, 0, 1), -1);
    CHECK_EQ_INT(cluster->free_gpus, 0);
    CHECK_EQ_INT(cluster->group_gpus.value, 24);
    cluster_release_group(cluster, 10, 1, 6);
    CHECK_EQ_INT(cluster_take_group(cluster, 10, 5), 1);
    CHECK_EQ_INT(cluster->free_gpus, 1);
    cluster_destroy(cluster);
}

/* What a service gives back on a node that is away comes back with the node; so do CPU and memory. */
TEST(gpus_released_on_a_failed_node_stay_down)
{
    for (int has_resources = 0; has_resources < 2; has_resources++) {
        struct cluster *cluster = NULL;
        const struct cluster_config config = {.nodes = 2, .gpus_per_node = 8, .cpus_per_node = has_resources ? 32 : 0};
        MUST(cluster_create(&config, &cluster) == 0);
        CHECK_EQ_INT(cluster_take_group(cluster, 0, 4), 0);
        cluster_remove_node(cluster, 0);
        CHECK_EQ_INT(cluster->free_gpus, 8);
        cluster_release_group(cluster, 1, 0, 4);
        CHECK_EQ_INT(cluster->free_gpus, 8);
        CHECK_EQ_INT(cluster->down_gpus, 8);
        CHECK_EQ_INT(cluster_take_group(cluster, 1, 4), 1);
        if (has_resources) CHECK(cluster->resources->nodes[0].cpu_left_milli == 0);
        cluster_return_node(cluster, 0);
        CHECK_EQ_INT(cluster->free_gpus, 12);
        CHECK_EQ_INT(cluster->node_free_gpus[0], 8);
        if (has_resources) CHECK(cluster->resources->nodes[0].cpu_left_milli == 32000);
        cluster_check(cluster);
        cluster_destroy(cluster);
    }
}

TEST(each_node_has_the_gpus_of_its_type)
{
    const struct node_type_config types[] = {{.nodes = 2, .gpus_per_node = 8}, {.nodes = 1, .gpus_per_node = 16},
                                             {.nodes = 3, .gpus_per_node = 1}};
    const struct cluster_config config = {.nodes = 2, .gpus_per_node = 4, .node_types = {.items = (void *)types, .n = 3}};
    static const int64_t gpus[] = {4, 4, 8, 8, 16, 1, 1, 1};
    CHECK_EQ_INT(cluster_config_nodes(&config), 8);
    for (int i = 0; i < 8; i++) CHECK_EQ_INT(cluster_config_node_gpus(&config, i), gpus[i]);
}

static int keep_max(void *context, const struct metric_row *row)
{
    if (strcmp(row->name, "cluster.gpus_in_use.max") == 0) *(double *)context = row->value;
    return 0;
}

/* Six GPUs of one node type, later seven of the other with one of the first: never more than eight. */
TEST(the_most_gpus_in_use_are_so_at_one_time)
{
    struct node_type_config more = {.name = "more", .nodes = 1, .gpus_per_node = 8, .gpu = "b"};
    const struct cluster_config config = {.nodes = 1, .gpus_per_node = 8, .gpu = "a", .node_types = {1, &more}};
    struct cluster *cluster = NULL;
    double max = 0;
    MUST(cluster_create(&config, &cluster) == 0);
    CHECK_EQ_INT(cluster_take_group_of(cluster, "a", 0, 6), 0);
    cluster_release_group_of(cluster, 10, 0, 6);
    CHECK_EQ_INT(cluster_take_group_of(cluster, "b", 20, 7), 1);
    CHECK_EQ_INT(cluster_take_group_of(cluster, "a", 20, 1), 0);
    CHECK_EQ_INT(cluster_emit(cluster, 30, &(struct sink){.context = &max, .metric = keep_max}), 0);
    CHECK(max == 8);
    cluster_destroy(cluster);
}

TEST(counted_gpus_leave_groups_no_room)
{
    struct cluster *cluster = make(2, 4);
    struct allocation *none;
    CHECK_EQ_INT(cluster_take(cluster, 0, 6 * (int64_t)GPU_MICRO, NULL, &none), 0);
    CHECK(none == NULL);
    CHECK_EQ_INT(cluster_take_group(cluster, 0, 4), -1);
    CHECK_EQ_INT(cluster_take_group(cluster, 0, 2), 0);
    CHECK_EQ_INT(cluster_take(cluster, 0, 1 * (int64_t)GPU_MICRO, NULL, &none), SIM_E_POLICY);
    cluster_release(cluster, 0, 6 * (int64_t)GPU_MICRO, NULL);
    CHECK_EQ_INT(cluster->free_gpus, 6);
    cluster_destroy(cluster);
}

TEST(wrong_placements_take_nothing)
{
    struct cluster *cluster = make(2, 4);
    static const struct {
        int32_t nodes[3], gpus[3], n;
    } wrong[] = {{{0}, {3}, 1},          {{0, 1}, {4, 2}, 2}, {{0, 2}, {4, 1}, 2}, {{-1, 0}, {1, 4}, 2},
                 {{0, 0}, {3, 2}, 2}, {{0, 1}, {5, 0}, 2}, {{0, 1, 0}, {4, 2, -1}, 3}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int32_t nodes[3], gpus[3];
        memcpy(nodes, wrong[i].nodes, sizeof nodes);
        memcpy(gpus, wrong[i].gpus, sizeof gpus);
        struct placement placement = {.nodes = nodes, .gpus = gpus, .n = wrong[i].n, .capacity = 3};
        struct allocation *allocation;
        CHECK_EQ_INT(cluster_take(cluster, 0, 5 * (int64_t)GPU_MICRO, &placement, &allocation), SIM_E_POLICY);
        CHECK(allocation == NULL);
        CHECK_EQ_INT(cluster->free_gpus, 8);
        CHECK(cluster->node_free_gpus[0] == 4 && cluster->node_free_gpus[1] == 4);
    }
    cluster_destroy(cluster);
}

TEST(the_same_gpus_can_be_taken_again)
{
    struct cluster *cluster = make(3, 4);
    int32_t nodes[] = {0, 2}, gpus[] = {3, 2};
    struct placement placement = {.nodes = nodes, .gpus = gpus, .n = 2, .capacity = 2};
    struct allocation *allocation;
    MUST(cluster_take(cluster, 0, 5 * (int64_t)GPU_MICRO, &placement, &allocation) == 0);
    cluster_release(cluster, 0, 5 * (int64_t)GPU_MICRO, allocation);
    CHECK_EQ_INT(cluster_take_group(cluster, 0, 1), 0);
    CHECK(cluster_retake(cluster, 0, 5 * (int64_t)GPU_MICRO, allocation));
    CHECK_EQ_INT(cluster->node_free_gpus[0], 0);
    CHECK_EQ_INT(cluster->node_free_gpus[2], 2);
    cluster_release(cluster, 0, 5 * (int64_t)GPU_MICRO, allocation);
    int32_t rival = cluster_take_group(cluster, 0, 3);
    CHECK_EQ_INT(rival, 0);
    CHECK(!cluster_retake(cluster, 0, 5 * (int64_t)GPU_MICRO, allocation));
    CHECK_EQ_INT(cluster->node_free_gpus[2], 4);
    CHECK_EQ_INT(cluster->free_gpus, 8);
    cluster_forget(cluster, allocation);
    cluster_destroy(cluster);
}

TEST(nodes_are_found_by_their_free_gpus)
{
    struct cluster *cluster = make(130, 2);
    for (int i = 0; i < 129; i++) cluster_take_group(cluster, 0, 2);
    CHECK_EQ_INT(cluster_next_node(cluster, 1, 2, 0), 129);
    cluster_release_group(cluster, 0, 70, 1);
    CHECK_EQ_INT(cluster_next_node(cluster, 1, 2, 0), 70);
    CHECK_EQ_INT(cluster_next_node(cluster, 2, 2, 0), 129);
    CHECK_EQ_INT(cluster_next_node(cluster, 1, 1, 71), -1);
    cluster_destroy(cluster);
}

TEST(unlimited_clusters_only_count)
{
    struct cluster *cluster = NULL;
    struct allocation *none;
    MUST(cluster_create(&(struct cluster_config){.unlimited = true, .nodes = 1, .gpus_per_node = 8}, &cluster) == 0);
    CHECK_EQ_INT(cluster_take(cluster, 0, (INT64_C(1) << 40) * GPU_MICRO, NULL, &none), 0);
    CHECK_EQ_INT(cluster->free_gpus, INT64_MAX);
    cluster_release(cluster, 2 * SIM_NS_PER_S, (INT64_C(1) << 40) * GPU_MICRO, none);
    CHECK(level_integral_s_in(&cluster->ugpus_in_use, 5 * SIM_NS_PER_S, GPU_MICRO) == 0x1p41);
    cluster_destroy(cluster);
}
