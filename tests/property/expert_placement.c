/* Copies of experts and the GPUs that hold them (models/operators/expert_placement.h). */
#include "models/operators/expert_placement.h"

#include "tests/support/harness.h"

enum { MOST = 1024 };

struct placement {
    double loads[MOST];
    size_t experts, gpus, slots;
    struct expert_copy copies[MOST];
    struct expert_gpu held[MOST];
};

static double place(struct placement *placement)
{
    expert_place(placement->loads, placement->experts, placement->copies, placement->slots, placement->held,
                 placement->gpus);
    return expert_imbalance(placement->held, placement->gpus);
}

static void make_random(struct rng *rng, struct placement *placement)
{
    placement->gpus = 1 + (size_t)rng_below(rng, 16);
    const size_t each = 1 + (size_t)rng_below(rng, 6);
    placement->slots = placement->gpus * each;
    placement->experts = 1 + (size_t)rng_below(rng, placement->slots);
    for (size_t i = 0; i < placement->experts; i++) placement->loads[i] = (double)rng_below(rng, 1000);
    placement->loads[0] += 1.0;
    place(placement);
}

/* Each expert has a copy, its copies share its load, and each GPU has equally many. */
TEST(no_load_is_lost_and_gpus_have_equally_many)
{
    struct rng rng = test_rng(1, "placement", 0);
    for (int run = 0; run < 300; run++) {
        struct placement placement;
        make_random(&rng, &placement);
        double held[MOST] = {0.0};
        size_t on_gpu[MOST] = {0};
        for (size_t i = 0; i < placement.slots; i++) {
            const struct expert_copy *copy = &placement.copies[i];
            MUST(copy->expert < placement.experts && copy->gpu < placement.gpus);
            held[copy->expert] += copy->load;
            on_gpu[copy->gpu]++;
        }
        for (size_t i = 0; i < placement.experts; i++) CHECK_NEAR(held[i], placement.loads[i], 1e-9);
        for (size_t i = 0; i < placement.gpus; i++) CHECK_EQ_INT(on_gpu[i], placement.slots / placement.gpus);
        CHECK(expert_imbalance(placement.held, placement.gpus) >= 1.0);
        double sum = 0.0;
        for (size_t i = 0; i < placement.gpus; i++) sum += placement.held[i].load;
        for (size_t i = 0; i < placement.experts; i++) sum -= placement.loads[i];
        CHECK_NEAR(sum, 0.0, 1e-8);
    }
}

/* No further copy of another expert would have lowered the largest load of a copy. */
TEST(copies_go_to_the_busiest)
{
    struct rng rng = test_rng(1, "placement", 1);
    for (int run = 0; run < 300; run++) {
        struct placement placement;
        make_random(&rng, &placement);
        double largest = 0.0;
        size_t copies[MOST] = {0};
        for (size_t i = 0; i < placement.slots; i++) {
            largest = fmax(largest, placement.copies[i].load);
            copies[placement.copies[i].expert]++;
        }
        for (size_t i = 0; i < placement.experts; i++)
            if (copies[i] > 1) CHECK(placement.loads[i] / (double)(copies[i] - 1) >= largest * (1.0 - 1e-12));
    }
}

/* Each group of experts lies on one node, each node has equally many, and within a node the global rule holds: with one
 * node both policies are the same. */
TEST(groups_stay_on_one_node)
{
    struct rng rng = test_rng(1, "placement", 3);
    for (int run = 0; run < 100; run++) {
        const size_t nodes = 1 + (size_t)rng_below(&rng, 4), each = 1 + (size_t)rng_below(&rng, 4);
        const struct expert_groups split = {.groups = nodes * (1 + (size_t)rng_below(&rng, 3)), .nodes = nodes};
        struct placement placement = {.experts = split.groups * each, .gpus = nodes * 4};
        placement.slots = placement.gpus * (1 + (placement.experts + placement.gpus - 1) / placement.gpus);
        for (size_t i = 0; i < placement.experts; i++) placement.loads[i] = 1.0 + (double)rng_below(&rng, 1000);
        expert_place_in_groups(placement.loads, placement.experts, split, placement.copies, placement.slots,
                               placement.held, placement.gpus);
        size_t node_of[MOST], groups_on[MOST] = {0};
        double held[MOST] = {0.0};
        for (size_t i = 0; i < split.groups; i++) node_of[i] = MOST;
        for (size_t i = 0; i < placement.slots; i++) {
            const struct expert_copy *copy = &placement.copies[i];
            MUST(copy->expert < placement.experts && copy->gpu < placement.gpus);
            const size_t group = copy->expert / each, node = copy->gpu / 4;
            CHECK(node_of[group] == MOST || node_of[group] == node);
            if (node_of[group] == MOST) groups_on[node]++;
            node_of[group] = node;
            held[copy->expert] += copy->load;
        }
        for (size_t i = 0; i < placement.experts; i++) CHECK_NEAR(held[i], placement.loads[i], 1e-9);
        for (size_t i = 0; i < nodes; i++) CHECK_EQ_INT(groups_on[i], split.groups / nodes);
        const double grouped = expert_imbalance(placement.held, placement.gpus), global = place(&placement);
        if (nodes == 1) CHECK_NEAR(grouped, global, 1e-12);
    }
}

/* The least load of the busiest of two GPUs, over all halves of the copies. */
static double best_of_two(const struct placement *placement)
{
    double best = (double)INFINITY, sum = 0.0;
    for (size_t i = 0; i < placement->slots; i++) sum += placement->copies[i].load;
    for (uint32_t half = 0; half < (uint32_t)1 << placement->slots; half++) {
        if ((size_t)__builtin_popcount(half) != placement->slots / 2) continue;
        double load = 0.0;
        for (size_t i = 0; i < placement->slots; i++) load += half >> i & 1 ? placement->copies[i].load : 0.0;
        best = fmin(best, fmax(load, sum - load));
    }
    return best / (0.5 * sum);
}

TEST(two_gpus_are_near_the_best_halves)
{
    struct rng rng = test_rng(1, "placement", 2);
    for (int run = 0; run < 100; run++) {
        struct placement placement = {.gpus = 2, .slots = 10, .experts = 6 + (size_t)rng_below(&rng, 5)};
        for (size_t i = 0; i < placement.experts; i++) placement.loads[i] = 1.0 + (double)rng_below(&rng, 100);
        const double found = place(&placement), best = best_of_two(&placement);
        CHECK(found >= best * (1.0 - 1e-12));
        CHECK(found <= best * 7.0 / 6.0); /* Graham's bound of the greedy rule for two machines */
    }
}

/* DeepSeek's decoding unit: 32 copies of 256 experts on 144 GPUs. */
TEST(copies_even_out_what_a_few_experts_would_decide)
{
    struct placement bare = {.experts = 256, .gpus = 128, .slots = 256};
    struct placement copied = {.experts = 256, .gpus = 144, .slots = 288};
    for (int tenths = 0; tenths <= 10; tenths += 5) {
        expert_zipf_loads(bare.loads, bare.experts, 8, 0.1 * tenths);
        expert_zipf_loads(copied.loads, copied.experts, 8, 0.1 * tenths);
        const double without = place(&bare), with = place(&copied);
        if (tenths == 0)
            CHECK_NEAR(without, 1.0, 1e-12);
        else
            CHECK(with < 0.7 * without);
    }
}

/* Tokens choose different experts: an expert gets at most every token. All choices are dealt, in the order of the law,
 * and by its ratios among those that do not get all. */
TEST(zipf_gives_no_expert_more_tokens_than_there_are)
{
    enum { EXPERTS = 64 };
    int n_full = 0;
    for (size_t chosen = 1; chosen <= 8; chosen++)
        for (int tenths = 0; tenths <= 40; tenths++) {
            double loads[EXPERTS], sum = 0;
            expert_zipf_loads(loads, EXPERTS, chosen, 0.1 * tenths);
            for (int i = 0; i < EXPERTS; i++) sum += loads[i];
            const double token = sum / (double)chosen;
            CHECK(loads[0] <= token * (1 + 1e-12));
            for (int i = 1; i < EXPERTS; i++) {
                const double law = pow((i + 1.0) / i, -0.1 * tenths);
                CHECK(loads[i] <= loads[i - 1]);
                if (loads[i - 1] < token * (1 - 1e-9)) CHECK_NEAR(loads[i] / loads[i - 1], law, 1e-12);
            }
            n_full += loads[0] > token * (1 - 1e-12);
        }
    CHECK(n_full > 100);
}

/* Two of three experts with weights 1, 1/4 and 1/9: the first gets every token, the others 9/13 and 4/13 of one. */
TEST(zipf_by_hand)
{
    double loads[3];
    expert_zipf_loads(loads, 3, 2, 2.0);
    CHECK_NEAR(loads[0], 1.0, 1e-15);
    CHECK_NEAR(loads[1], 9.0 / 13, 1e-15);
    CHECK_NEAR(loads[2], 4.0 / 13, 1e-15);
}
