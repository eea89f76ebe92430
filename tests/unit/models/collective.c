/* Laws of collective operations: what they cost when latency or bandwidth is all there is, in which order they
 * stand. */
#include "models/kernel.h"
#include "tests/support/harness.h"

static const enum collective_op ops[] = {COLLECTIVE_ALL_REDUCE, COLLECTIVE_ALL_GATHER,        COLLECTIVE_REDUCE_SCATTER,
                                         COLLECTIVE_ALL_TO_ALL, COLLECTIVE_DIRECT_ALL_REDUCE, COLLECTIVE_SEND};

enum { OPS = sizeof ops / sizeof *ops };

static const struct collective_params params = {.start_s = 8e-6,
                                                .hop_s = 1e-6,
                                                .fast_frac = 0.3,
                                                .fill_s = 5e-6,
                                                .bandwidth_frac = 0.75,
                                                .switch_frac = 0.6,
                                                .network_hop_s = 1e-5,
                                                .network_frac = 0.8};

static struct collective_shape shape_of(double bytes, double gpus, double nodes)
{
    return (struct collective_shape){
        .bytes = bytes, .gpus = gpus, .nodes = nodes, .link_bytes_per_s = 300e9, .network_bytes_per_s = 25e9};
}

static double seconds(enum collective_op op, const struct collective_shape *shape)
{
    return collective_time(&params, op, shape).seconds;
}

TEST(one_gpu_costs_nothing)
{
    const struct collective_shape shape = shape_of(1e9, 1.0, 1.0);
    for (int i = 0; i < OPS; i++) CHECK(seconds(ops[i], &shape) == 0.0);
}

TEST(an_empty_message_costs_the_steps)
{
    const struct collective_shape shape = shape_of(0.0, 8.0, 1.0);
    const double start = params.start_s, hop = params.hop_s;
    CHECK_NEAR(seconds(COLLECTIVE_ALL_REDUCE, &shape), start + 14.0 * hop, 1e-12);
    CHECK_NEAR(seconds(COLLECTIVE_ALL_GATHER, &shape), start + 7.0 * hop, 1e-12);
    CHECK_NEAR(seconds(COLLECTIVE_SEND, &shape), start + hop, 1e-12);
    const struct collective_shape nodes = shape_of(0.0, 16.0, 2.0);
    CHECK_NEAR(seconds(COLLECTIVE_ALL_REDUCE, &nodes), start + 14.0 * hop + 2.0 * params.network_hop_s + params.fill_s,
               1e-12);
}

/* The time per byte of a huge message over that of the ring's traffic on its share of the link. */
static double share_of_bound(enum collective_op op, const struct collective_shape *shape, double bytes_per_s)
{
    return bytes_per_s * seconds(op, shape) / shape->bytes;
}

TEST(huge_messages_cost_the_rings_traffic)
{
    for (double n = 2.0; n <= 8.0; n *= 2.0) {
        const struct collective_shape shape = shape_of(1e14, n, 1.0);
        const double ring = params.bandwidth_frac * shape.link_bytes_per_s * n / (n - 1.0);
        CHECK_NEAR(share_of_bound(COLLECTIVE_ALL_REDUCE, &shape, ring / 2.0), 1.0, 1e-3);
        CHECK_NEAR(share_of_bound(COLLECTIVE_ALL_GATHER, &shape, ring), 1.0, 1e-3);
        CHECK_NEAR(share_of_bound(COLLECTIVE_REDUCE_SCATTER, &shape, ring), 1.0, 1e-3);
        CHECK_NEAR(share_of_bound(COLLECTIVE_ALL_TO_ALL, &shape, ring), 1.0, 1e-3);
        CHECK_NEAR(share_of_bound(COLLECTIVE_DIRECT_ALL_REDUCE, &shape, ring / 2.0), 1.0, 1e-3);
        CHECK_NEAR(share_of_bound(COLLECTIVE_SEND, &shape, params.bandwidth_frac * 300e9), 1.0, 1e-3);
    }
}

/* Two nodes of eight: their adapters carry the ring's traffic together, an all-to-all uses each for itself. */
TEST(the_network_bounds_what_leaves_a_node)
{
    const struct collective_shape shape = shape_of(1e14, 16.0, 2.0);
    const double network = params.network_frac * shape.network_bytes_per_s;
    CHECK_NEAR(share_of_bound(COLLECTIVE_ALL_REDUCE, &shape, 8.0 * network / (2.0 * 15.0 / 16.0)), 1.0, 1e-3);
    CHECK_NEAR(share_of_bound(COLLECTIVE_ALL_TO_ALL, &shape, 2.0 * network), 1.0, 1e-3);
    CHECK_NEAR(share_of_bound(COLLECTIVE_SEND, &shape, network), 1.0, 1e-3);
    struct collective_shape fast = shape;
    fast.network_bytes_per_s = 1e13;
    CHECK_NEAR(share_of_bound(COLLECTIVE_ALL_REDUCE, &fast, params.bandwidth_frac * 300e9 / (2.0 * 15.0 / 16.0)), 1.0,
               1e-3);
}

/* Adding in the switch halves what large all-reduces of many GPUs send, and nothing else changes. */
TEST(a_switch_that_adds_helps_large_all_reduces)
{
    for (double bytes = 256.0; bytes < 1e12; bytes *= 4.0) {
        struct collective_shape shape = shape_of(bytes, 8.0, 1.0);
        for (int i = 0; i < OPS; i++) {
            shape.switch_adds = false;
            const double without = seconds(ops[i], &shape);
            shape.switch_adds = true;
            const double with = seconds(ops[i], &shape);
            CHECK(ops[i] == COLLECTIVE_ALL_REDUCE ? with <= without : with == without);
        }
    }
    struct collective_shape shape = shape_of(1e14, 8.0, 1.0);
    shape.switch_adds = true;
    CHECK_NEAR(share_of_bound(COLLECTIVE_ALL_REDUCE, &shape, params.switch_frac * 300e9 / (1.0 + 1.0 / 8.0)), 1.0,
               1e-3);
}

/* A little more of anything never takes less; the parts are never longer than the whole. */
TEST(more_bytes_take_longer)
{
    for (int i = 0; i < OPS; i++) {
        for (int layout = 0; layout < 8; layout++) {
            double before = 0.0;
            for (double bytes = 1.0; bytes < 1e11; bytes *= 1.3) {
                struct collective_shape shape = shape_of(bytes, layout & 1 ? 8.0 : 2.0, layout & 2 ? 2.0 : 1.0);
                shape.switch_adds = layout & 4;
                const struct kernel_time time = collective_time(&params, ops[i], &shape);
                CHECK(time.seconds > before);
                CHECK(time.seconds >= time.network_s && time.seconds >= time.overhead_s && time.link_bytes > 0.0);
                before = time.seconds;
            }
        }
    }
}

TEST(more_gpus_take_longer)
{
    for (int i = 0; i < OPS; i++) {
        if (ops[i] == COLLECTIVE_SEND) continue;
        for (double bytes = 256.0; bytes < 1e11; bytes *= 16.0) {
            const struct collective_shape pair = shape_of(bytes, 2.0, 1.0), eight = shape_of(bytes, 8.0, 1.0);
            CHECK(seconds(ops[i], &eight) > seconds(ops[i], &pair));
        }
    }
}

/* An all-reduce is a reduce-scatter and an all-gather, which need two starts. */
TEST(halves_cost_more_than_the_whole)
{
    for (double bytes = 256.0; bytes < 1e11; bytes *= 4.0) {
        const struct collective_shape shape = shape_of(bytes, 8.0, 1.0);
        const double halves = seconds(COLLECTIVE_REDUCE_SCATTER, &shape) + seconds(COLLECTIVE_ALL_GATHER, &shape);
        const double whole = seconds(COLLECTIVE_ALL_REDUCE, &shape);
        CHECK(halves > whole && halves < 2.0 * whole);
    }
}

/* The classes of kernel.h reach the operations of their names. */
TEST(every_class_has_its_operation)
{
    static const enum kernel_class classes[OPS] = {KERNEL_ALL_REDUCE, KERNEL_ALL_GATHER,        KERNEL_REDUCE_SCATTER,
                                                   KERNEL_ALL_TO_ALL, KERNEL_DIRECT_ALL_REDUCE, KERNEL_SEND};
    const union kernel_params all = {.collective = params};
    const struct gpu_spec gpu = {.name = "any"};
    for (int i = 0; i < OPS; i++) {
        const struct kernel_call call = {.class = classes[i], .shape.collective = shape_of(3e6, 8.0, 1.0)};
        CHECK(kernel_call_time(&all, &gpu, &call).seconds == seconds(ops[i], &call.shape.collective));
    }
}
