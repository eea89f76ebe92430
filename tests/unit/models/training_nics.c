/* Clusters whose NICs differ: the split of layers against all splits, equal NICs against an ordinary plan. */
#include "models/training/step.h"
#include "tests/support/harness.h"
#include "tests/support/plan_bed.h"

#include <math.h>
#include <string.h>

/* Four stages of eight GPUs in two clusters of two nodes each. */
static void nics_init(struct plan_bed *bed, double first, double second, double between)
{
    plan_bed_init(bed, &plan_bed_gpt);
    bed->plan.tensor = 2;
    bed->plan.pipeline = 4;
    bed->plan.data = 8;
    bed->plan.zero = 1;
    bed->plan.sequence = true;
    bed->plan.nics = (struct training_nics){.n = 2, .stages = {2, 2}, .network_bytes_per_s = {first, second},
                                          .between_bytes_per_s = between};
}

/* J of a split: see models/training/nics.h. */
static double time_of(const struct training_plan *plan, const struct training_layer_cost *costs, const int64_t *layers)
{
    double most_s = 0.0, sum_s = 0.0, reduce_s = 0.0;
    for (int64_t i = 0; i < plan->pipeline; i++) {
        const struct training_layer_cost *cost = &costs[training_nics_cluster(plan, i)];
        most_s = fmax(most_s, (double)layers[i] * cost->pass_s);
        sum_s += (double)layers[i] * cost->pass_s;
        reduce_s = fmax(reduce_s, (double)layers[i] * cost->reduce_s);
    }
    return (double)(plan->micro_batches - 1) * most_s + sum_s + reduce_s;
}

/* The least J of all splits from a stage on, of which the earlier stages are set. */
static double least_of_all(const struct training_plan *plan, const struct training_layer_cost *costs, int64_t *layers,
                           int64_t stage, int64_t left)
{
    double best_s = (double)INFINITY;
    if (stage == plan->pipeline - 1) {
        layers[stage] = left;
        return time_of(plan, costs, layers);
    }
    for (int64_t n = 1; n <= left - (plan->pipeline - 1 - stage); n++) {
        layers[stage] = n;
        best_s = fmin(best_s, least_of_all(plan, costs, layers, stage + 1, left - n));
    }
    return best_s;
}

static uint32_t next_of(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

/* No split of the layers takes less, over clusters of one to three stages, with costs of any ratio. */
TEST(split_is_the_best_of_all_splits)
{
    uint32_t state = 7;
    int64_t uneven = 0;
    for (int i = 0; i < 400; i++) {
        struct training_plan plan = {.tensor = 1, .context = 1, .data = 1, .nics = {.n = 1 + next_of(&state) % 3}};
        struct training_layer_cost costs[TRAINING_CLUSTERS];
        int64_t layers[TRAINING_NICS_STAGES], sum = 0;
        for (int64_t c = 0; c < plan.nics.n; c++) {
            plan.nics.stages[c] = 1 + next_of(&state) % (plan.nics.n == 3 ? 2 : 3);
            plan.pipeline += plan.nics.stages[c];
            costs[c] = (struct training_layer_cost){1.0 + 0.1 * (next_of(&state) % 4), 0.5 * (next_of(&state) % 12)};
        }
        plan.micro_batches = 1 + next_of(&state) % 6;
        const int64_t all = plan.pipeline + next_of(&state) % 7;
        training_nics_split(&plan, costs, all);
        for (int64_t s = 0; s < plan.pipeline; s++) {
            sum += plan.nics.layers[s];
            uneven += plan.nics.layers[s] != plan.nics.layers[0];
            CHECK(plan.nics.layers[s] >= 1);
            if (s > 0 && training_nics_cluster(&plan, s) == training_nics_cluster(&plan, s - 1))
                CHECK(plan.nics.layers[s] <= plan.nics.layers[s - 1]);
        }
        CHECK_EQ_INT(sum, all);
        const double found_s = time_of(&plan, costs, plan.nics.layers);
        CHECK_NEAR(found_s / least_of_all(&plan, costs, layers, 0, all), 1.0, 1e-9);
    }
    CHECK(uneven > 100);
}

/* Slow NICs get fewer layers if a step has few micro-batches to hide their reductions behind. */
TEST(slow_clusters_get_fewer_layers)
{
    struct plan_bed bed;
    struct training_layer_cost costs[TRAINING_CLUSTERS];
    nics_init(&bed, 25e9, 1e9, 1e9);
    bed.plan.nics.is_uneven = true;
    bed.plan.micro_batches = 1;
    training_layer_costs_of(&bed.parts, costs);
    CHECK_NEAR(costs[0].pass_s, costs[1].pass_s, 0.0);
    CHECK(costs[1].reduce_s > costs[0].reduce_s);
    const double even_s = plan_bed_step(&bed).step_s, flop = training_model_flop(&bed.parts);
    training_nics_split(&bed.plan, costs, bed.llm.layers);
    CHECK(bed.plan.nics.layers[0] > bed.plan.nics.layers[2]);
    CHECK(plan_bed_step(&bed).step_s < even_s);
    CHECK_NEAR(training_model_flop(&bed.parts), flop, 0.0);
}

/* Uneven stages hold all layers once, with experts too. */
TEST(uneven_stages_hold_the_model)
{
    const struct llm_spec *const llms[] = {&plan_bed_gpt, &plan_bed_experts};
    for (int i = 0; i < 2; i++) {
        struct plan_bed bed;
        struct training_parameters sum = {0.0, 0.0}, even = {0.0, 0.0};
        plan_bed_init(&bed, llms[i]);
        bed.plan.pipeline = 2;
        for (int64_t s = 0; s < 2; s++) {
            const struct training_parameters stage = training_stage_parameters(&bed.parts, s);
            even.dense += stage.dense;
            even.expert += stage.expert;
        }
        bed.plan.nics = (struct training_nics){.n = 2, .stages = {1, 1}, .layers = {1, bed.llm.layers - 1}};
        for (int64_t s = 0; s < 2; s++) {
            const struct training_parameters stage = training_stage_parameters(&bed.parts, s);
            sum.dense += stage.dense;
            sum.expert += stage.expert;
        }
        CHECK_NEAR(sum.dense, even.dense, 0.0);
        CHECK_NEAR(sum.expert, even.expert, 0.0);
    }
}

/* What layers reduce is a mean over the layers, so it is halfway between where the dense ones are halfway. What passes
 * hide of it differs a little. */
TEST(reductions_are_nearly_linear_in_the_dense_layers)
{
    double reduce_s[3];
    for (int i = 0; i < 3; i++) {
        struct plan_bed bed;
        struct training_layer_cost costs[TRAINING_CLUSTERS];
        nics_init(&bed, 25e9, 1e9, 1e9);
        plan_bed_init(&bed, &plan_bed_experts);
        bed.plan.pipeline = 4;
        bed.plan.data = 8;
        bed.plan.nics = (struct training_nics){.n = 2, .stages = {2, 2}, .network_bytes_per_s = {25e9, 1e9},
                                              .between_bytes_per_s = 1e9};
        bed.llm.dense_layers = i;
        training_layer_costs_of(&bed.parts, costs);
        reduce_s[i] = costs[1].reduce_s;
    }
    CHECK(reduce_s[0] > 1.01 * reduce_s[2]);
    CHECK_NEAR(reduce_s[1] / (0.5 * (reduce_s[0] + reduce_s[2])), 1.0, 1e-3);
}

/* With equal NICs the step is that of the ordinary plan in every part, and the split is even. */
TEST(equal_nics_are_one_network)
{
    const enum training_schedule schedules[] = {SCHEDULE_GPIPE, SCHEDULE_1F1B, SCHEDULE_ZERO_BUBBLE};
    for (int i = 0; i < 3; i++)
        for (int zero = 0; zero < 2; zero++) {
            struct plan_bed bed;
            struct training_layer_cost costs[TRAINING_CLUSTERS];
            nics_init(&bed, 25e9, 25e9, 25e9);
            bed.plan.schedule = schedules[i];
            bed.plan.zero = zero;
            training_layer_costs_of(&bed.parts, costs);
            training_nics_split(&bed.plan, costs, bed.llm.layers);
            for (int64_t s = 0; s < 4; s++) CHECK_EQ_INT(bed.plan.nics.layers[s], 2);
            const struct training_step apart = plan_bed_step(&bed);
            bed.plan.nics.n = 0;
            const struct training_step ordinary = plan_bed_step(&bed);
            CHECK(memcmp(&apart, &ordinary, sizeof apart) == 0);
            CHECK(apart.step_s > 0.0 && apart.data_s > 0.0);
        }
}

/* The same of rings of queries over nodes, linear layers and gradients in parts. All send over the network of their
 * cluster. */
TEST(equal_nics_are_one_network_to_rings)
{
    struct plan_bed bed;
    nics_init(&bed, 25e9, 25e9, 25e9);
    bed.plan.context = 8;
    bed.plan.data = 1;
    bed.plan.context_form = CONTEXT_TOKEN_RING;
    bed.plan.linear_layers = 3;
    bed.plan.gradient_parts = 2;
    const struct training_step apart = plan_bed_step(&bed);
    bed.plan.nics.network_bytes_per_s[1] = 2e9;
    CHECK(plan_bed_step(&bed).context_s > apart.context_s);
    bed.plan.nics.n = 0;
    const struct training_step ordinary = plan_bed_step(&bed);
    CHECK(memcmp(&apart, &ordinary, sizeof apart) == 0);
    CHECK(apart.context_s > 0.0);
}

/* Ethernet between clusters slows one border, and nothing else; mixed, it slows the data ranks. */
TEST(only_borders_cross_clusters)
{
    struct plan_bed bed;
    nics_init(&bed, 25e9, 25e9, 25e9);
    const struct training_step equal = plan_bed_step(&bed);
    bed.plan.nics.between_bytes_per_s = 20e9; /* the last stage, which has the head, is still the slowest */
    const struct training_step apart = plan_bed_step(&bed);
    CHECK(apart.bubble_s > equal.bubble_s && apart.slowest == equal.slowest);
    CHECK_NEAR(apart.step_s - apart.bubble_s, equal.step_s - equal.bubble_s, 1e-12);
    bed.plan.nics.is_mixed = true;
    const struct training_step mixed = plan_bed_step(&bed);
    CHECK_NEAR(mixed.bubble_s, equal.bubble_s, 0.0);
    CHECK(mixed.data_s > equal.data_s);
    CHECK_NEAR(mixed.step_s - mixed.data_s, equal.step_s - equal.data_s, 1e-12);
    bed.plan.nics.between_bytes_per_s = 25e9; /* each stage has two nodes, one in each cluster */
    CHECK_NEAR(plan_bed_step(&bed).step_s, equal.step_s, 0.0);
}

/* Ranks that exchange have the slowest network on their way: apart their own; mixed, whatever lies between clusters. */
TEST(ranks_have_the_slowest_network_between_them)
{
    struct plan_bed bed;
    nics_init(&bed, 25e9, 10e9, 8e9);
    struct training_plan *plan = &bed.plan;
    plan->nics.n = 3;
    plan->nics.network_bytes_per_s[2] = 5e9;
    for (int64_t c = 0; c < 3; c++) {
        CHECK_NEAR(training_nics_network(plan, c), plan->nics.network_bytes_per_s[c], 0.0);
        CHECK_NEAR(training_nics_data_network(plan, c), plan->nics.network_bytes_per_s[c], 0.0);
    }
    plan->nics.is_mixed = true;
    CHECK_NEAR(training_nics_network(plan, 0), 5e9, 0.0);
    CHECK_NEAR(training_nics_data_network(plan, 0), 5e9, 0.0);
    plan->nics.between_bytes_per_s = 1e9;
    CHECK_NEAR(training_nics_network(plan, 0), 5e9, 0.0);
    CHECK_NEAR(training_nics_data_network(plan, 0), 1e9, 0.0);
    plan->nics.n = 1; /* nothing is between */
    CHECK_NEAR(training_nics_data_network(plan, 0), 25e9, 0.0);
    plan->nics.n = 0;
    CHECK_NEAR(training_nics_data_network(plan, 0), plan->network_bytes_per_s, 0.0);
}

/* A stage of 16 GPUs over two clusters has a node in each; of 8 GPUs, half a node in each. */
TEST(a_mixed_stage_has_as_many_gpus_in_each_cluster)
{
    struct plan_bed bed;
    nics_init(&bed, 25e9, 10e9, 8e9);
    bed.plan.data = 4;
    CHECK_EQ_INT(training_nics_node_gpus(&bed.plan), 8);
    bed.plan.nics.is_mixed = true;
    CHECK_EQ_INT(training_nics_node_gpus(&bed.plan), 4);
    bed.plan.data = 8;
    CHECK_EQ_INT(training_nics_node_gpus(&bed.plan), 8);
    bed.plan.data = 64;
    CHECK_EQ_INT(training_nics_node_gpus(&bed.plan), 8);
    bed.plan.nics.n = 1;
    bed.plan.data = 2;
    CHECK_EQ_INT(training_nics_node_gpus(&bed.plan), 8);
}

/* A tensor group over nodes gathers what another stage sent over the network of its own cluster. Two stages send over
 * Ethernet alone. */
TEST(tensor_groups_gather_within_clusters)
{
    for (int64_t on_node = 1; on_node <= 2; on_node++) {
        double pipeline_s[2];
        for (int i = 0; i < 2; i++) {
            struct plan_bed bed;
            nics_init(&bed, i == 0 ? 25e9 : 1e9, i == 0 ? 25e9 : 1e9, 5e9);
            bed.plan.gpus_per_node = on_node;
            bed.plan.pipeline = 2;
            bed.plan.nics.stages[0] = bed.plan.nics.stages[1] = 1;
            bed.plan.sequence = false;
            bed.plan.scatter_gather = true;
            pipeline_s[i] = plan_bed_step(&bed).pipeline_s;
        }
        if (on_node == 1) CHECK(pipeline_s[1] > 2.0 * pipeline_s[0]);
        if (on_node == 2) CHECK_NEAR(pipeline_s[1], pipeline_s[0], 0.0);
    }
}

/* Mixed, a cluster with three of four stages holds three of four data ranks of each. */
TEST(large_clusters_hold_more_of_each_stage)
{
    struct plan_bed bed;
    nics_init(&bed, 25e9, 25e9, 1e9);
    bed.plan.nics.is_mixed = true;
    CHECK_EQ_INT(training_nics_node_gpus(&bed.plan), 8); /* each stage has 16 */
    bed.plan.nics.stages[0] = 3;
    bed.plan.nics.stages[1] = 1;
    CHECK_EQ_INT(training_nics_node_gpus(&bed.plan), 4);
    const double unequal_s = plan_bed_step(&bed).data_s;
    bed.plan.nics.stages[0] = bed.plan.nics.stages[1] = 2;
    CHECK(unequal_s > plan_bed_step(&bed).data_s); /* rings leave a node over as many GPUs as the smallest part has */
    bed.plan.nics.n = 1;
    bed.plan.nics.stages[0] = 4;
    CHECK_EQ_INT(training_nics_node_gpus(&bed.plan), 8);
}

/* A slower NIC never makes a step shorter. */
TEST(slower_nics_take_longer)
{
    double before_s = 0.0;
    for (double network = 50e9; network > 0.5e9; network *= 0.5) {
        struct plan_bed bed;
        nics_init(&bed, 25e9, network, 10e9);
        const double step_s = plan_bed_step(&bed).step_s;
        CHECK(step_s >= before_s);
        before_s = step_s;
    }
}

static const char *problem_with(void (*change)(struct training_plan *plan))
{
    struct plan_bed bed;
    nics_init(&bed, 25e9, 10e9, 1e9);
    change(&bed.plan);
    const char *problem = training_plan_problem(&bed.plan, &bed.llm);
    return problem != NULL ? problem : "";
}

static void no_between(struct training_plan *plan) { plan->nics.between_bytes_per_s = 0.0; }
static void no_network(struct training_plan *plan) { plan->nics.network_bytes_per_s[1] = 0.0; }
static void too_few(struct training_plan *plan) { plan->nics.stages[1] = 1; }
static void half_nodes(struct training_plan *plan) { plan->data = 1; }
static void one_node_and_a_half(struct training_plan *plan) { plan->data = 3; }
static void too_many(struct training_plan *plan) { plan->nics.stages[1] = 3; }
static void no_stage(struct training_plan *plan) { plan->nics.stages[0] = 0; }
static void odd_data(struct training_plan *plan)
{
    plan->nics.is_mixed = true;
    plan->tensor = 8;
    plan->data = 3;
}
static void odd_share(struct training_plan *plan)
{
    plan->nics = (struct training_nics){.n = 2, .stages = {3, 1}, .network_bytes_per_s = {25e9, 10e9},
                                        .between_bytes_per_s = 1e9, .is_mixed = true};
    plan->tensor = 8;
    plan->data = 2; /* three of four stages would have one and a half */
}
static void far_experts(struct training_plan *plan)
{
    plan->nics.is_mixed = true;
    plan->expert = 8; /* of eight data ranks, four lie in each cluster */
}
static void interleaves(struct training_plan *plan)
{
    plan->schedule = SCHEDULE_INTERLEAVED;
    plan->chunks = 2;
}
static void seven_layers(struct training_plan *plan)
{
    plan->pipeline = 3;
    plan->nics.stages[1] = 1;
}

TEST(impossible_clusters_have_reasons)
{
    CHECK(strstr(problem_with(no_between), "nics.between") != NULL);
    CHECK(strstr(problem_with(no_network), "network") != NULL);
    CHECK(strstr(problem_with(too_few), "pipeline_parallel") != NULL);
    CHECK(strstr(problem_with(half_nodes), "whole nodes") != NULL);
    CHECK(strstr(problem_with(one_node_and_a_half), "whole nodes") != NULL);
    CHECK(strstr(problem_with(too_many), "pipeline_parallel") != NULL);
    CHECK(strstr(problem_with(no_stage), "each cluster needs stages") != NULL);
    CHECK(strstr(problem_with(odd_data), "data ranks") != NULL);
    CHECK(strstr(problem_with(odd_share), "data ranks") != NULL);
    CHECK(strstr(problem_with(far_experts), "'expert_parallel' ranks would lie in two clusters") != NULL);
    CHECK(strstr(problem_with(interleaves), "interleaved") != NULL);
    CHECK(strstr(problem_with(seven_layers), "layers are not a multiple") != NULL);
}

/* Two stages of 24 GPUs on nodes of 8, half of each in either cluster: 12 there, 8 on a node and 4 on the next. */
TEST(a_node_that_is_filled_in_part_holds_the_rest)
{
    struct training_plan plan = {.tensor = 4, .context = 1, .data = 6, .chunks = 1, .pipeline = 2, .gpus_per_node = 8,
                                 .nics = {.n = 2, .stages = {1, 1}, .network_bytes_per_s = {1e9, 1e9},
                                          .between_bytes_per_s = 1e9, .is_mixed = true}};
    CHECK_EQ_INT(training_nics_node_gpus(&plan), 4);
    plan.data = 8;
    CHECK_EQ_INT(training_nics_node_gpus(&plan), 8);
    plan.data = 2;
    CHECK_EQ_INT(training_nics_node_gpus(&plan), 4);
}

/* 64 stages of a layer each are possible; of one cluster on half nodes, without a bandwidth between clusters. */
TEST(one_cluster_may_have_as_many_stages_as_layers)
{
    struct training_plan plan = {.tensor = 4, .context = 1, .data = 1, .chunks = 1, .pipeline = 64, .gpus_per_node = 8,
                                 .nics = {.n = 1, .stages = {64}, .network_bytes_per_s = {1e9}}};
    CHECK(training_nics_problem(&plan, 64) == NULL);
    CHECK(strstr(training_nics_problem(&plan, 63), "more stages than layers") != NULL);
    plan.pipeline = plan.nics.stages[0] = 65;
    CHECK(strstr(training_nics_problem(&plan, 65), "at most 64 stages") != NULL);
    plan = (struct training_plan){.tensor = 4, .context = 1, .data = 1, .chunks = 1, .pipeline = 1, .gpus_per_node = 8,
                                  .nics = {.n = 1, .stages = {1}, .network_bytes_per_s = {1e9}}};
    CHECK(training_nics_problem(&plan, 1) == NULL);
}
