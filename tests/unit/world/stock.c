#include "sim/world/cluster/stock.h"

#include "sim/core/err.h"
#include "tests/support/harness.h"

static const struct node_spec specs[] = {{2, "T4", 8000, 1 << 20}, {4, "A10", 16000, 1 << 20}, {0, "", 4000, 1 << 20}};

static struct gpu_models models;

static struct stock *make(void)
{
    struct stock *stock = NULL;
    models.n = 0;
    CHECK_EQ_INT(stock_create(specs, 3, &models, &stock), 0);
    return stock;
}

TEST(shares_add_up_to_a_gpu_and_no_more)
{
    struct stock *stock = make();
    struct holding a = {.node = 0, .gpus = 1, .gpu_milli = 600, .gpu = 1, .cpu_milli = 1000};
    struct holding b = {.node = 0, .gpus = 1, .gpu_milli = 400, .gpu = 1};
    struct holding c = {.node = 0, .gpus = 1, .gpu_milli = 401, .gpu = 1};
    CHECK(stock_take(stock, &a));
    CHECK(!stock_take(stock, &c));
    CHECK(stock_take(stock, &b));
    CHECK_EQ_INT(stock->nodes[0].gpu_left_milli[1], 0);
    CHECK_EQ_INT(stock->nodes[0].free_gpus, 1);
    CHECK_EQ_INT(stock->nodes[0].left_milli, 1000);
    CHECK_EQ_INT(stock->nodes[0].jobs_by_gpus[0], 2);
    CHECK_EQ_INT(stock->nodes[0].n_kinds, 1);
    stock_give(stock, &a);
    stock_give(stock, &b);
    CHECK_EQ_INT(stock->nodes[0].free_gpus, 2);
    CHECK_EQ_INT(stock->nodes[0].cpu_left_milli, 8000);
    CHECK(stock_fault(stock) == NULL);
    stock_destroy(stock);
}

TEST(whole_gpus_are_the_lowest_free_ones)
{
    struct stock *stock = make();
    struct holding share = {.node = 1, .gpus = 1, .gpu_milli = 1, .gpu = 0};
    struct holding two = {.node = 1, .gpus = 2, .gpu_milli = 1000}, again = two, third = two;
    CHECK(stock_take(stock, &share));
    CHECK(stock_take(stock, &two));
    CHECK_EQ_INT((int64_t)two.gpu_set, 6);
    CHECK(!stock_take(stock, &again));
    stock_give(stock, &two);
    third.gpu_set = two.gpu_set; /* the very same ones */
    CHECK(stock_take(stock, &third));
    CHECK(!stock_take(stock, &two));
    stock_destroy(stock);
}

TEST(cpu_and_memory_are_limits)
{
    struct stock *stock = make();
    struct holding cpu = {.node = 2, .gpu_milli = 1000, .cpu_milli = 4001}, memory = {.node = 2, .gpu_milli = 1000};
    memory.memory_bytes = (1 << 20) + 1;
    CHECK(!stock_take(stock, &cpu));
    CHECK(!stock_take(stock, &memory));
    cpu.cpu_milli = 4000;
    CHECK(stock_take(stock, &cpu));
    CHECK_EQ_INT(stock->nodes[2].cpu_left_milli, 0);
    CHECK_EQ_INT(stock->nodes[2].n_kinds, 0);
    stock_destroy(stock);
}

TEST(holdings_that_cannot_be_take_nothing)
{
    static const struct holding wrong[] = {{.node = 3, .gpus = 1, .gpu_milli = 1000},
                                           {.node = -1, .gpus = 1, .gpu_milli = 1000},
                                           {.node = 0, .gpus = 3, .gpu_milli = 1000},
                                           {.node = 0, .gpus = 2, .gpu_milli = 500, .gpu = 0},
                                           {.node = 0, .gpus = 1, .gpu_milli = 500, .gpu = 2},
                                           {.node = 0, .gpus = 1, .gpu_milli = 500, .gpu = -1},
                                           {.node = 0, .gpus = -1, .gpu_milli = 1000}};
    struct stock *stock = make();
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct holding holding = wrong[i];
        CHECK(!stock_take(stock, &holding));
    }
    CHECK_EQ_INT(stock->nodes[0].free_gpus, 2);
    CHECK_EQ_INT((int64_t)stock->nodes[0].changes, 1);
    stock_destroy(stock);
}

TEST(services_hold_whole_gpus)
{
    struct stock *stock = make();
    stock_take_group(stock, 1, 3);
    CHECK_EQ_INT(stock->nodes[1].free_gpus, 1);
    CHECK_EQ_INT(stock->nodes[1].n_kinds, 0);
    stock_give_group(stock, 1, 2);
    CHECK_EQ_INT(stock->nodes[1].free_gpus, 3);
    stock_give_group(stock, 1, 1);
    CHECK_EQ_INT(stock->nodes[1].left_milli, 4000);
    stock_destroy(stock);
}

TEST(models_have_bits)
{
    struct stock *stock = make();
    const uint64_t t4 = UINT64_C(1) << stock->nodes[0].gpu_model, a10 = UINT64_C(1) << stock->nodes[1].gpu_model;
    CHECK(gpu_models_of(&models, NULL) == UINT64_MAX && gpu_models_of(&models, "") == UINT64_MAX);
    CHECK(gpu_models_of(&models, "T4") == t4 && gpu_models_of(&models, "H100|T4|A10|T4") == (t4 | a10));
    CHECK(gpu_models_of(&models, "T") == 0 && gpu_models_of(&models, "H100") == 0);
    stock_destroy(stock);
}
