/* Layers of experts in parts: the schedule against all orders of a few parts, and laws of steps. */
#include "models/training/expert_pipeline.h"
#include "tests/support/harness.h"
#include "tests/support/plan_bed.h"

/* --- The schedule --- */

static struct expert_pipeline draw(struct rng *rng, int parts)
{
    static const enum expert_lane lanes[3][EXPERT_TASKS] = {
        {LANE_NETWORK, LANE_NODE, LANE_CORES, LANE_NODE, LANE_NETWORK},
        {LANE_NODE, LANE_NODE, LANE_CORES, LANE_NODE, LANE_NODE},
        {LANE_NETWORK, LANE_NETWORK, LANE_CORES, LANE_NETWORK, LANE_NETWORK}};
    const uint64_t kind = rng_below(rng, 3);
    struct expert_pipeline pipeline = {.parts = parts};
    for (int task = 0; task < EXPERT_TASKS; task++) {
        pipeline.seconds[task] = rng_below(rng, 5) == 0 ? 0.0 : rng_uniform(rng);
        pipeline.lane[task] = lanes[kind][task];
    }
    return pipeline;
}

/* Parts that are done of each kind, their ends, and when lanes are free. */
struct progress {
    int done[EXPERT_TASKS];
    double end_s[EXPERT_TASKS][EXPERT_PARTS], free_s[EXPERT_LANES], last_s;
};

/* Tries every order of tasks that keeps the order of equal parts. */
static void try_all(const struct expert_pipeline *pipeline, const struct progress *at, double *least_s)
{
    bool is_done = true;
    if (at->last_s >= *least_s) return;
    for (int task = 0; task < EXPERT_TASKS; task++) {
        const int part = at->done[task];
        if (part == pipeline->parts) continue;
        is_done = false;
        if (task > 0 && at->done[task - 1] <= part) continue;
        struct progress next = *at;
        const double ready_s = task > 0 ? at->end_s[task - 1][part] : 0.0;
        const double end_s = fmax(ready_s, at->free_s[pipeline->lane[task]]) + pipeline->seconds[task];
        next.done[task]++;
        next.end_s[task][part] = next.free_s[pipeline->lane[task]] = end_s;
        next.last_s = fmax(next.last_s, end_s);
        try_all(pipeline, &next, least_s);
    }
    if (is_done) *least_s = at->last_s;
}

static double brute_force_s(const struct expert_pipeline *pipeline)
{
    const struct progress start = {.last_s = 0.0};
    double least_s = (double)INFINITY;
    try_all(pipeline, &start, &least_s);
    return least_s;
}

/* Never below the best of all orders, nearly always equal to it, and at most a tenth above. */
TEST(the_order_is_nearly_the_best_of_all)
{
    struct rng rng;
    int n_equal = 0, n = 0;
    rng_init(&rng, 31, 0, "experts", 0);
    for (int i = 0; i < 120; i++) {
        const struct expert_pipeline pipeline = draw(&rng, i % 4 == 0 ? 3 : 2);
        const double seconds = expert_pipeline_s(&pipeline), least_s = brute_force_s(&pipeline);
        CHECK(seconds >= least_s * (1.0 - 1e-12));
        CHECK(seconds <= least_s * 1.1);
        if (seconds <= least_s * (1.0 + 1e-12)) n_equal++;
        n++;
        for (int combine = 0; combine < pipeline.parts; combine++)
            for (int scatter = 0; scatter <= combine; scatter++)
                CHECK(expert_pipeline_lagged_s(&pipeline, scatter, combine) >= seconds);
    }
    CHECK(10 * n_equal >= 9 * n);
}

TEST(one_part_takes_the_sum_of_its_tasks)
{
    struct rng rng;
    rng_init(&rng, 32, 0, "experts", 0);
    for (int i = 0; i < 50; i++) {
        const struct expert_pipeline pipeline = draw(&rng, 1);
        double sum_s = 0.0;
        for (int task = 0; task < EXPERT_TASKS; task++) sum_s += pipeline.seconds[task];
        CHECK_NEAR(expert_pipeline_s(&pipeline), sum_s, 1e-12);
    }
}

/* Between the busiest lane, with what is before and after it, and everything in turn. */
TEST(parts_take_at_least_the_busiest_lane_and_at_most_all_in_turn)
{
    struct rng rng;
    rng_init(&rng, 33, 0, "experts", 0);
    for (int i = 0; i < 200; i++) {
        const struct expert_pipeline pipeline = draw(&rng, 1 + (int)rng_below(&rng, EXPERT_PARTS));
        double busy_s[EXPERT_LANES] = {0.0}, sum_s = 0.0;
        for (int task = 0; task < EXPERT_TASKS; task++) {
            busy_s[pipeline.lane[task]] += (double)pipeline.parts * pipeline.seconds[task];
            sum_s += pipeline.seconds[task];
        }
        const double seconds = expert_pipeline_s(&pipeline), most = (double)pipeline.parts * sum_s;
        for (int lane = 0; lane < EXPERT_LANES; lane++) CHECK(seconds >= busy_s[lane] * (1.0 - 1e-12));
        CHECK(seconds >= sum_s + (double)(pipeline.parts - 1) * pipeline.seconds[EXPERT_COMPUTE] - 1e-12);
        CHECK(seconds <= most * (1.0 + 1e-12));
    }
}

/* --- Steps --- */

/* Experts on eight ranks of a tensor group of two: two nodes, or one. */
static void init_step(struct plan_bed *bed, int64_t gpus_per_node, enum training_schedule schedule)
{
    plan_bed_init(bed, &plan_bed_experts);
    bed->plan.tensor = 2;
    bed->plan.sequence = true;
    bed->plan.data = bed->plan.expert = 8;
    bed->plan.gpus_per_node = gpus_per_node;
    bed->plan.network_bytes_per_s = 25e9;
    bed->plan.schedule = schedule;
    if (schedule == SCHEDULE_ZERO_BUBBLE) bed->plan.pipeline = 2;
}

TEST(one_part_is_the_step_of_all_tokens_at_once)
{
    struct plan_bed bed;
    init_step(&bed, 8, SCHEDULE_1F1B);
    const struct training_step at_once = plan_bed_step(&bed);
    bed.plan.expert_parts = 1;
    const struct training_step one = plan_bed_step(&bed);
    CHECK_NEAR(one.step_s, at_once.step_s, 0.0);
    CHECK_NEAR(one.expert_s, at_once.expert_s, 0.0);
    CHECK_EQ_INT(one.forward_parts, 0);
}

/* The fastest number of parts is never slower than any number for both passes, nor than none. It moves as many bytes,
 * and computes as much. */
TEST(the_fastest_number_of_parts_is_never_slower)
{
    const enum training_schedule schedules[] = {SCHEDULE_1F1B, SCHEDULE_ZERO_BUBBLE};
    bool gains = false;
    for (int i = 0; i < 4; i++) {
        struct plan_bed bed;
        init_step(&bed, i / 2 == 0 ? 8 : 64, schedules[i % 2]);
        const struct training_step at_once = plan_bed_step(&bed);
        bed.plan.expert_parts = -1;
        const struct training_step best = plan_bed_step(&bed);
        gains = gains || best.step_s < 0.98 * at_once.step_s;
        CHECK(best.step_s <= at_once.step_s * (1.0 + 1e-12));
        CHECK_NEAR(best.expert_bytes / at_once.expert_bytes, 1.0, 1e-12);
        CHECK_NEAR(best.tensor_bytes / at_once.tensor_bytes, 1.0, 1e-12);
        CHECK_NEAR(best.flop / at_once.flop, 1.0, 1e-12);
        CHECK_NEAR(best.memory.total_bytes, at_once.memory.total_bytes, 0.0);
        for (bed.plan.expert_parts = 2; bed.plan.expert_parts <= EXPERT_PARTS; bed.plan.expert_parts++) {
            const struct training_step parts = plan_bed_step(&bed);
            CHECK(best.step_s <= parts.step_s * (1.0 + 1e-12));
            CHECK_EQ_INT(parts.forward_parts, bed.plan.expert_parts);
            CHECK_NEAR(parts.forward_s + parts.backward_s + parts.recompute_s + parts.bubble_s + parts.tensor_s +
                           parts.context_s + parts.expert_s + parts.pipeline_s + parts.data_s + parts.flush_s +
                           parts.optimizer_s + parts.host_s,
                       parts.step_s, 1e-9 * parts.step_s);
        }
    }
    CHECK(gains);
}

TEST(parts_change_nothing_without_experts)
{
    struct plan_bed bed;
    plan_bed_init(&bed, &plan_bed_gpt);
    const struct training_step at_once = plan_bed_step(&bed);
    bed.plan.expert_parts = -1;
    CHECK_NEAR(plan_bed_step(&bed).step_s, at_once.step_s, 0.0);
}

/* --- Gradients --- */

/* Without gaps all are left, with wide ones those of the last layer; never less, and the fewer the wider. */
TEST(gradients_fill_the_gaps_of_the_network)
{
    CHECK_NEAR(expert_gradients_s(6, 2, 0.5, 0.0), 6.0, 1e-12);
    CHECK_NEAR(expert_gradients_s(6, 2, 0.5, 0.49), 6.0, 1e-12);
    CHECK_NEAR(expert_gradients_s(6, 2, 0.5, 0.5), 3.5, 1e-12); /* one of two goes in each of five gaps */
    CHECK_NEAR(expert_gradients_s(6, 2, 0.5, 1.0), 1.0, 1e-12);
    CHECK_NEAR(expert_gradients_s(6, 2, 0.5, 9.0), 1.0, 1e-12);
    for (int i = 1; i < 100; i++)
        CHECK(expert_gradients_s(9, 3, 0.2, 0.01 * i) <= expert_gradients_s(9, 3, 0.2, 0.01 * (i - 1)));
}

/* More messages allowed are never slower, nor slower than all gradients at the end. The last layer's show. */
TEST(gradients_in_parts_are_never_slower)
{
    bool gains = false;
    for (int kind = 0; kind < 4; kind++) {
        struct plan_bed bed;
        init_step(&bed, kind / 2 == 0 ? 8 : 64, SCHEDULE_1F1B);
        bed.plan.expert = 4;
        bed.plan.expert_parts = kind % 2 == 0 ? 0 : -1;
        const struct training_step at_end = plan_bed_step(&bed);
        double before_s = at_end.step_s;
        for (bed.plan.gradient_parts = 1; bed.plan.gradient_parts <= EXPERT_PARTS; bed.plan.gradient_parts++) {
            const struct training_step parts = plan_bed_step(&bed);
            CHECK(parts.step_s <= before_s * (1.0 + 1e-12));
            CHECK(parts.data_s > 0.0);
            CHECK_NEAR(parts.data_bytes / at_end.data_bytes, 1.0, 1e-12);
            CHECK_NEAR(at_end.step_s - parts.step_s, at_end.data_s - parts.data_s, 1e-9);
            if (kind / 2 == 1) CHECK_NEAR(parts.step_s, at_end.step_s, 0.0); /* one node */
            gains = gains || parts.step_s < 0.99 * at_end.step_s;
            before_s = parts.step_s;
        }
    }
    CHECK(gains);
}

TEST(gradients_in_parts_and_an_overlap_by_share_exclude_each_other)
{
    struct plan_bed bed;
    init_step(&bed, 8, SCHEDULE_1F1B);
    bed.plan.gradient_parts = 4;
    CHECK(training_plan_problem(&bed.plan, &bed.llm) == NULL);
    bed.plan.overlap_gradients = true;
    CHECK(training_plan_problem(&bed.plan, &bed.llm) != NULL);
}
