#include "models/fragmentation.h"
#include "tests/support/harness.h"

/* Figure 8 of the paper: GPUs with 0.5 and 1 left, CPU ample, tasks of 0.3, 0.5 and 0.7 GPUs equally likely. */
static struct frag_task tasks[] = {{1.0 / 3, 1, 300, 0, UINT64_MAX},
                                   {1.0 / 3, 1, 500, 0, UINT64_MAX},
                                   {1.0 / 3, 1, 700, 0, UINT64_MAX}};

static double of(int32_t a_milli, int32_t b_milli)
{
    const int32_t left_milli[] = {a_milli, b_milli};
    const struct frag_node node = {.left_milli = left_milli, .gpus = 2, .cpu_left_milli = 1000};
    return fragmentation_milli(&node, tasks, 3);
}

TEST(figure_8_by_hand)
{
    CHECK_NEAR(of(500, 1000), 1000.0 / 6, 1e-9);
    CHECK_NEAR(of(200, 1000), 200, 1e-9);        /* the task of 0.3 on the half GPU */
    CHECK_NEAR(of(500, 700), 1000.0 / 6, 1e-9);  /* on the whole one: nothing is lost */
    CHECK_NEAR(of(0, 700), 0, 1e-9);             /* then 0.5 on the half GPU */
    CHECK_NEAR(of(500, 200), 1100.0 / 3, 1e-9);  /* on the other: 200, 200 and, as no GPU has 0.7 left, all 700 */
    CHECK_NEAR(of(0, 0), 0, 1e-9);               /* 0.7 fits exactly */
}

TEST(what_does_not_fit_wastes_all)
{
    const int32_t left_milli[] = {1000, 400};
    struct frag_node node = {.left_milli = left_milli, .gpus = 2, .gpu_model = 3, .cpu_left_milli = 2000};
    struct frag_task task = {1, 1, 1000, 2000, UINT64_MAX};
    CHECK_NEAR(fragmentation_milli(&node, &task, 1), 400, 1e-9);
    node.cpu_left_milli = 1999;
    CHECK_NEAR(fragmentation_milli(&node, &task, 1), 1400, 1e-9);
    node.cpu_left_milli = 2000;
    task.gpu_models = UINT64_C(1) << 2;
    CHECK_NEAR(fragmentation_milli(&node, &task, 1), 1400, 1e-9);
    task.gpu_models = UINT64_C(1) << 3;
    task.gpus = 2;
    CHECK_NEAR(fragmentation_milli(&node, &task, 1), 1400, 1e-9);
    task.gpus = 0;
    CHECK_NEAR(fragmentation_milli(&node, &task, 1), 1400, 1e-9);
}

TEST(typical_tasks_are_the_most_popular)
{
    struct frag_task kinds[] = {{5, 1, 500, 1, 1}, {60, 1, 1000, 1, 1}, {30, 0, 0, 4, 1}, {5, 1, 500, 2, 1}};
    CHECK_EQ_INT(fragmentation_typical(kinds, 4, 0.95), 3);
    CHECK_EQ_INT(kinds[0].gpu_milli, 1000);
    CHECK_EQ_INT(kinds[1].gpus, 0);
    CHECK_EQ_INT(kinds[2].cpu_milli, 2); /* of two equally popular ones the one with more CPU */
    CHECK_NEAR(kinds[0].popularity_frac, 60.0 / 95, 1e-12);
}
