#include "sim/world/cluster/node_resources.h"

#include "sim/core/err.h"
#include "tests/support/harness.h"

static const struct node_spec specs[] = {{2, "T4", 8000, 1 << 20}, {4, "A10", 16000, 1 << 20}, {0, "", 4000, 1 << 20}};

static struct gpu_models models;

static struct node_resources *make(void)
{
    struct node_resources *resources = NULL;
    models.n = 0;
    CHECK_EQ_INT(node_resources_create(specs, 3, &models, &resources), 0);
    return resources;
}

TEST(shares_add_up_to_a_gpu_and_no_more)
{
    struct node_resources *resources = make();
    struct node_allocation a = {.node = 0, .gpus = 1, .gpu_milli = 600, .gpu = 1, .cpu_milli = 1000};
    struct node_allocation b = {.node = 0, .gpus = 1, .gpu_milli = 400, .gpu = 1};
    struct node_allocation c = {.node = 0, .gpus = 1, .gpu_milli = 401, .gpu = 1};
    CHECK(node_resources_take(resources, &a));
    CHECK(!node_resources_take(resources, &c));
    CHECK(node_resources_take(resources, &b));
    CHECK_EQ_INT(resources->nodes[0].gpu_left_milli[1], 0);
    CHECK_EQ_INT(resources->nodes[0].free_gpus, 1);
    CHECK_EQ_INT(resources->nodes[0].left_milli, 1000);
    CHECK_EQ_INT(resources->nodes[0].jobs_by_gpus[0], 2);
    CHECK_EQ_INT(resources->nodes[0].n_kinds, 1);
    node_resources_release(resources, &a);
    node_resources_release(resources, &b);
    CHECK_EQ_INT(resources->nodes[0].free_gpus, 2);
    CHECK_EQ_INT(resources->nodes[0].cpu_left_milli, 8000);
    CHECK(node_resources_fault(resources) == NULL);
    node_resources_destroy(resources);
}

TEST(whole_gpus_are_the_lowest_free_ones)
{
    struct node_resources *resources = make();
    struct node_allocation share = {.node = 1, .gpus = 1, .gpu_milli = 1, .gpu = 0};
    struct node_allocation two = {.node = 1, .gpus = 2, .gpu_milli = 1000}, again = two, third = two;
    CHECK(node_resources_take(resources, &share));
    CHECK(node_resources_take(resources, &two));
    CHECK_EQ_INT((int64_t)two.gpu_set, 6);
    CHECK(!node_resources_take(resources, &again));
    node_resources_release(resources, &two);
    third.gpu_set = two.gpu_set; /* the very same ones */
    CHECK(node_resources_take(resources, &third));
    CHECK(!node_resources_take(resources, &two));
    node_resources_destroy(resources);
}

TEST(cpu_and_memory_are_limits)
{
    struct node_resources *resources = make();
    struct node_allocation cpu = {.node = 2, .gpu_milli = 1000, .cpu_milli = 4001},
                           memory = {.node = 2, .gpu_milli = 1000};
    memory.memory_bytes = (1 << 20) + 1;
    CHECK(!node_resources_take(resources, &cpu));
    CHECK(!node_resources_take(resources, &memory));
    cpu.cpu_milli = 4000;
    CHECK(node_resources_take(resources, &cpu));
    CHECK_EQ_INT(resources->nodes[2].cpu_left_milli, 0);
    CHECK_EQ_INT(resources->nodes[2].n_kinds, 0);
    node_resources_destroy(resources);
}

TEST(holdings_that_cannot_be_take_nothing)
{
    static const struct node_allocation wrong[] = {{.node = 3, .gpus = 1, .gpu_milli = 1000},
                                                   {.node = -1, .gpus = 1, .gpu_milli = 1000},
                                                   {.node = 0, .gpus = 3, .gpu_milli = 1000},
                                                   {.node = 0, .gpus = 2, .gpu_milli = 500, .gpu = 0},
                                                   {.node = 0, .gpus = 1, .gpu_milli = 500, .gpu = 2},
                                                   {.node = 0, .gpus = 1, .gpu_milli = 500, .gpu = -1},
                                                   {.node = 0, .gpus = -1, .gpu_milli = 1000}};
    struct node_resources *resources = make();
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct node_allocation allocation = wrong[i];
        CHECK(!node_resources_take(resources, &allocation));
    }
    CHECK_EQ_INT(resources->nodes[0].free_gpus, 2);
    CHECK_EQ_INT((int64_t)resources->nodes[0].changes, 1);
    node_resources_destroy(resources);
}

TEST(services_hold_whole_gpus)
{
    struct node_resources *resources = make();
    node_resources_take_group(resources, 1, 3);
    CHECK_EQ_INT(resources->nodes[1].free_gpus, 1);
    CHECK_EQ_INT(resources->nodes[1].n_kinds, 0);
    node_resources_release_group(resources, 1, 2);
    CHECK_EQ_INT(resources->nodes[1].free_gpus, 3);
    node_resources_release_group(resources, 1, 1);
    CHECK_EQ_INT(resources->nodes[1].left_milli, 4000);
    node_resources_destroy(resources);
}

TEST(models_have_bits)
{
    struct node_resources *resources = make();
    const uint64_t t4 = UINT64_C(1) << resources->nodes[0].gpu_model, a10 = UINT64_C(1)
                                                                            << resources->nodes[1].gpu_model;
    CHECK(gpu_models_of(&models, NULL) == UINT64_MAX && gpu_models_of(&models, "") == UINT64_MAX);
    CHECK(gpu_models_of(&models, "T4") == t4 && gpu_models_of(&models, "H100|T4|A10|T4") == (t4 | a10));
    CHECK(gpu_models_of(&models, "T") == 0 && gpu_models_of(&models, "H100") == 0);
    node_resources_destroy(resources);
}
