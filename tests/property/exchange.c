/* Dispatch and combine between GPUs (models/operators/exchange.h): what is counted is exact, and times follow it. */
#include "models/operators/exchange.h"

#include "models/kernel.h"
#include "tests/support/harness.h"

#include <math.h>

static const struct gpu_spec gpu = {.memory_bytes_per_s = 3.35e12, .sm_count = 132};

static const struct exchange_params params = {
    .start_s = 2e-5, .expert_s = 1e-9, .token_s = 3e-7, .copy_s = 7e-8, .own_copies = 0.8, .sm_share = 1.2,
    .softness = 3.0, .link_frac = 0.8, .network_hop_s = 4e-6, .network_frac = 0.8};

static double at_most(struct rng *rng, uint64_t most)
{
    return 1.0 + (double)rng_below(rng, most);
}

/* Whole experts on each GPU, and at least as many as a token chooses on the nodes that it may choose. */
static struct exchange_shape random_shape(struct rng *rng)
{
    const double nodes = (double)((uint64_t)1 << rng_below(rng, 5)), gpus = 8.0 * nodes;
    const double groups = rng_below(rng, 2) == 0 ? 0.0 : at_most(rng, 8);
    return (struct exchange_shape){
        .tokens = at_most(rng, 8192),
        .hidden = 128.0 * at_most(rng, 64),
        .chosen = at_most(rng, 8),
        .experts = gpus * at_most(rng, 8),
        .groups = groups,
        .gpus = gpus,
        .nodes = nodes,
        .sms = 4.0 * at_most(rng, 8),
        .low_latency = rng_below(rng, 2) == 0,
        .combines = rng_below(rng, 2) == 0,
        .sent = rng_below(rng, 2) == 0 ? FORMAT_FP8 : FORMAT_BF16,
        .link_bytes_per_s = 1e9 * at_most(rng, 900),
        .network_bytes_per_s = 1e9 * at_most(rng, 100),
    };
}

static double seconds(const struct exchange_shape *shape)
{
    return exchange_time(&params, &gpu, shape).seconds;
}

/* The mean over every way to choose `chosen` of `experts` experts. */
static double counted_parts_met(uint32_t parts, uint32_t experts, int chosen)
{
    double ways = 0.0, met = 0.0;
    for (uint32_t choice = 0; choice < (uint32_t)1 << experts; choice++) {
        if (__builtin_popcount(choice) != chosen) continue;
        ways += 1.0;
        for (uint32_t part = 0; part < parts; part++) {
            const uint32_t held = experts / parts, mask = (((uint32_t)1 << held) - 1u) << (part * held);
            met += (choice & mask) != 0 ? 1.0 : 0.0;
        }
    }
    return met / ways;
}

TEST(parts_met_are_counted_over_all_choices)
{
    static const struct {
        uint32_t parts, experts;
        int chosen;
    } cases[] = {{2, 8, 3}, {4, 8, 2}, {4, 16, 4}, {8, 16, 6}, {1, 8, 4}, {8, 8, 5}, {2, 8, 8}, {4, 12, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double met = exchange_parts_met(cases[i].parts, cases[i].experts, cases[i].chosen);
        CHECK_NEAR(met, counted_parts_met(cases[i].parts, cases[i].experts, cases[i].chosen), 1e-12);
    }
    CHECK(exchange_parts_met(4, 8, 9) == 4.0); /* more than there are: all */
}

/* Low-latency kernels send every choice apart; normal kernels one copy to each GPU, and one to each node. */
TEST(bytes_on_the_way_are_exact)
{
    struct rng rng = test_rng(1, "exchange", 0);
    for (int i = 0; i < 500; i++) {
        const struct exchange_shape shape = random_shape(&rng);
        const struct exchange_traffic traffic = exchange_traffic_of(&shape);
        const double narrow = shape.hidden + shape.hidden / 128.0 * 4.0 + (shape.low_latency ? 16.0 : 0.0);
        const double width = shape.sent == FORMAT_FP8 ? narrow : 2.0 * shape.hidden;
        CHECK_NEAR(traffic.moved_bytes, traffic.copies * width, 1e-9 * traffic.moved_bytes);
        if (shape.low_latency) {
            CHECK_NEAR(traffic.copies, shape.tokens * shape.chosen, 1e-9 * traffic.copies);
            const double kept = traffic.moved_bytes / shape.gpus;
            CHECK_NEAR(traffic.link_bytes + traffic.network_bytes + kept, traffic.moved_bytes,
                       1e-9 * traffic.moved_bytes);
            continue;
        }
        const double allowed = shape.groups > 0.0 ? fmin(shape.groups, shape.nodes) : shape.nodes;
        CHECK(traffic.copies <= shape.tokens * shape.chosen * (1.0 + 1e-12));
        CHECK(traffic.node_copies <= traffic.copies * (1.0 + 1e-12));
        CHECK(traffic.node_copies >= shape.tokens * (1.0 - 1e-12));
        CHECK(traffic.node_copies <= shape.tokens * allowed * (1.0 + 1e-12));
        CHECK_NEAR(traffic.network_bytes, (1.0 - 1.0 / shape.nodes) * traffic.node_copies * width,
                   1e-9 * traffic.moved_bytes);
        CHECK_NEAR(traffic.link_bytes, 7.0 / 8.0 * traffic.moved_bytes, 1e-9 * traffic.moved_bytes);
    }
}

/* However busy a GPU is, it gets a token once, and a node gets it once from each sender. Times lie between those of
 * GPUs that are alike and of one that gets everything. */
TEST(the_busiest_gpu_gets_no_more_than_all)
{
    struct rng rng = test_rng(1, "exchange", 5);
    for (int i = 0; i < 500; i++) {
        struct exchange_shape shape = random_shape(&rng), most = shape;
        most.imbalance = 1e9;
        const struct exchange_traffic even = exchange_traffic_of(&shape), all = exchange_traffic_of(&most);
        const double even_s = seconds(&shape), all_s = seconds(&most);
        shape.imbalance = 1.0 + 0.01 * at_most(&rng, 1000);
        const struct exchange_traffic traffic = exchange_traffic_of(&shape);
        CHECK(traffic.copies <= even.copies * shape.imbalance * (1.0 + 1e-12));
        CHECK(traffic.copies >= even.copies && traffic.copies <= all.copies);
        CHECK(seconds(&shape) >= even_s && seconds(&shape) <= all_s);
        const double held = shape.experts / shape.gpus, one = shape.low_latency ? fmin(shape.chosen, held) : 1.0;
        CHECK_NEAR(all.copies, shape.tokens * shape.gpus * one, 1e-9 * all.copies);
        if (!shape.low_latency) CHECK_NEAR(all.node_copies, shape.tokens * shape.nodes, 1e-9 * all.node_copies);
    }
}

/* DeepEP sends 8 bits with scales, or 16: narrower formats of weights do not travel. */
TEST(four_bits_travel_as_eight)
{
    static const enum number_format narrow[] = {FORMAT_NVFP4, FORMAT_MXFP4, FORMAT_INT4, FORMAT_FP8_BLOCK};
    struct exchange_shape shape = {.hidden = 7168.0, .sent = FORMAT_FP8};
    const double bytes = exchange_token_bytes(&shape);
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
        shape.sent = narrow[i];
        CHECK(exchange_token_bytes(&shape) == bytes);
    }
    CHECK_NEAR(bytes, 7168.0 + 224.0, 0);
}

/* Copies of all experts of a layer: every choice is a row of some expert, however the experts are dealt. */
TEST(loads_of_experts_sum_to_choices)
{
    struct rng rng = test_rng(1, "exchange", 1);
    for (int i = 0; i < 200; i++) {
        struct exchange_shape shape = random_shape(&rng);
        shape.low_latency = true;
        const double rows_of_gpu = exchange_traffic_of(&shape).copies;
        const double rows_of_expert = shape.gpus * rows_of_gpu / shape.experts;
        CHECK_NEAR(rows_of_expert * shape.experts, shape.gpus * shape.tokens * shape.chosen, 1e-6);
        shape.low_latency = false;
        shape.experts = shape.gpus; /* one each, so that every choice is another GPU */
        shape.groups = 0.0;
        CHECK_NEAR(exchange_traffic_of(&shape).copies, shape.tokens * fmin(shape.chosen, shape.gpus),
                   1e-9 * rows_of_gpu);
    }
}

/* GPUs on nodes of their own, with adapters like links, are the GPUs of one node. */
TEST(a_network_like_nvlink_makes_one_node)
{
    struct rng rng = test_rng(1, "exchange", 2);
    struct exchange_params alike = params;
    alike.network_hop_s = 0.0;
    alike.network_frac = alike.link_frac;
    for (int i = 0; i < 200; i++) {
        struct exchange_shape one = random_shape(&rng);
        one.groups = 0.0;
        one.network_bytes_per_s = one.link_bytes_per_s;
        struct exchange_shape apart = one;
        one.nodes = 1.0;
        apart.nodes = apart.gpus;
        const double one_s = exchange_time(&alike, &gpu, &one).seconds;
        CHECK_NEAR(exchange_time(&alike, &gpu, &apart).seconds, one_s, 1e-9 * one_s);
    }
}

/* Without end of bandwidth the network adds its latency alone. */
TEST(an_endless_network_adds_its_latency)
{
    struct rng rng = test_rng(1, "exchange", 3);
    for (int i = 0; i < 200; i++) {
        struct exchange_shape shape = random_shape(&rng);
        if (shape.nodes == 1.0) continue;
        shape.network_bytes_per_s = 1e30;
        struct exchange_params without = params;
        without.network_hop_s = 0.0;
        const double more_s = seconds(&shape) - exchange_time(&without, &gpu, &shape).seconds;
        CHECK_NEAR(more_s, params.network_hop_s, 1e-12);
        CHECK(exchange_time(&params, &gpu, &shape).network_s <=
              exchange_traffic_of(&shape).link_bytes / (params.link_frac * shape.link_bytes_per_s) * (1.0 + 1e-9));
    }
}

TEST(times_grow_with_tokens_and_shrink_with_bandwidths)
{
    struct rng rng = test_rng(1, "exchange", 4);
    for (int i = 0; i < 500; i++) {
        const struct exchange_shape shape = random_shape(&rng);
        struct exchange_shape other = shape;
        other.tokens *= 1.5;
        CHECK(seconds(&other) > seconds(&shape));
        other = shape;
        other.link_bytes_per_s *= 2.0;
        CHECK(seconds(&other) <= seconds(&shape));
        other = shape;
        other.network_bytes_per_s *= 2.0;
        CHECK(seconds(&other) <= seconds(&shape));
        other = shape;
        other.sms *= 2.0;
        CHECK(seconds(&other) <= seconds(&shape));
        other = shape;
        other.sent = FORMAT_FP8;
        CHECK(seconds(&other) <= seconds(&shape));
    }
}

TEST(one_gpu_sends_nothing)
{
    struct exchange_shape shape = {.tokens = 8.0, .hidden = 128.0, .chosen = 2.0, .experts = 8.0, .gpus = 1.0,
                                   .nodes = 1.0, .sms = 8.0, .sent = FORMAT_FP8};
    CHECK(seconds(&shape) == 0.0);
}

/* By version 2's own rates: writing a copy of a token takes an SM four times as long as reading one. Links that are
 * slow enough have the rest of the time for themselves. */
TEST(stated_rates_are_those_of_the_sms_and_links)
{
    struct rng rng = test_rng(1, "exchange", 7);
    struct exchange_params hard = params;
    hard.softness = 1e3; /* the slower part alone */
    for (int i = 0; i < 300; i++) {
        struct exchange_shape shape = random_shape(&rng);
        shape.low_latency = false;
        const struct exchange_traffic traffic = exchange_traffic_of(&shape);
        const double overhead_s = hard.start_s + shape.experts * hard.expert_s, bytes = exchange_token_bytes(&shape);
        struct exchange_shape wide = shape;
        wide.link_bytes_per_s = wide.network_bytes_per_s = 1e30;
        double written = traffic.copies;
        if (shape.nodes > 1.0) written += shape.tokens + traffic.node_copies / shape.nodes;
        const double read = shape.tokens + (shape.nodes > 1.0 ? traffic.node_copies : 0.0);
        const double sms_s = bytes * fmax(read / 200e9, written / 50e9) / shape.sms;
        CHECK_NEAR(exchange_stated_time(&hard, &wide).seconds, overhead_s + sms_s, 1e-6 * (overhead_s + sms_s));
        shape.sms = 1e9;
        double wire_s = traffic.link_bytes / (0.9 * shape.link_bytes_per_s);
        if (shape.nodes > 1.0) wire_s = fmax(wire_s, traffic.network_bytes / shape.network_bytes_per_s);
        CHECK_NEAR(exchange_stated_time(&hard, &shape).seconds, overhead_s + wire_s, 1e-6 * (overhead_s + wire_s));
    }
}
