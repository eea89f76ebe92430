/* Laws of collective operations: what they cost when latency or bandwidth is all there is, in which order they
 * stand. */
#include "models/kernel.h"
#include "tests/support/harness.h"

#include <math.h>

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

/* --- A network as fast as the links of a node --- */

/* Steps between nodes, and what they reach of the network, as inside a node; there messages go in chunks, as they
 * always do between nodes. */
static struct collective_params alike_params(void)
{
    struct collective_params alike = params;
    alike.network_hop_s = alike.hop_s;
    alike.network_frac = alike.bandwidth_frac;
    alike.fast_frac = 1e-12;
    return alike;
}

static struct collective_shape alike_shape(struct rng *rng, double per_node, double nodes)
{
    struct collective_shape shape = shape_of(exp(24.0 * rng_uniform(rng)), per_node * nodes, nodes);
    shape.network_bytes_per_s = shape.link_bytes_per_s;
    return shape;
}

/* Messages that an engine's own all-reduce sends never leave a node. */
static const enum collective_op leaving[] = {COLLECTIVE_ALL_REDUCE, COLLECTIVE_ALL_GATHER, COLLECTIVE_REDUCE_SCATTER,
                                             COLLECTIVE_ALL_TO_ALL, COLLECTIVE_SEND};
enum { LEAVING = sizeof leaving / sizeof *leaving };

/* GPUs on nodes of their own take as long as those of one node in chunks; words and a switch that adds are faster. */
TEST(a_network_like_the_links_makes_one_node)
{
    struct rng rng = test_rng(5, "one node", 0);
    const struct collective_params alike = alike_params();
    struct collective_params with_words = alike;
    with_words.fast_frac = params.fast_frac;
    for (int i = 0; i < 2000; i++) {
        const enum collective_op op = leaving[rng_below(&rng, LEAVING)];
        const double n = 2.0 + (double)rng_below(&rng, 71);
        const struct collective_shape apart = alike_shape(&rng, 1.0, n);
        struct collective_shape one = apart;
        one.nodes = 1.0;
        const double apart_s = collective_time(&alike, op, &apart).seconds;
        CHECK_NEAR(collective_time(&alike, op, &one).seconds, apart_s, 1e-12 * apart_s);
        CHECK(collective_time(&with_words, op, &one).seconds <= apart_s * (1.0 + 1e-12));
        one.switch_adds = true;
        CHECK(collective_time(&alike, op, &one).seconds <= apart_s * (1.0 + 1e-12));
    }
}

/* Several GPUs on each node: rings inside the nodes and one among them have (g-1) (nodes-1) steps fewer than one ring
 * of all GPUs, an all-reduce twice as many. The GPUs of a node share their adapters, so links stay the slowest
 * part. */
TEST(nodes_spare_the_steps_of_a_longer_ring)
{
    struct rng rng = test_rng(5, "one node", 1);
    const struct collective_params alike = alike_params();
    for (int i = 0; i < 2000; i++) {
        const enum collective_op op = leaving[rng_below(&rng, LEAVING - 1)];
        const double g = 2.0 + (double)rng_below(&rng, 7), nodes = 2.0 + (double)rng_below(&rng, 8);
        const struct collective_shape apart = alike_shape(&rng, g, nodes);
        struct collective_shape one = apart;
        one.nodes = 1.0;
        const double spared_s = (op == COLLECTIVE_ALL_REDUCE ? 2.0 : 1.0) * (g - 1.0) * (nodes - 1.0) * alike.hop_s;
        const double one_s = collective_time(&alike, op, &one).seconds;
        CHECK_NEAR(collective_time(&alike, op, &apart).seconds, one_s - spared_s, 1e-12 * one_s);
    }
}

/* A slower step counts once for each other node, in an all-reduce twice. A narrower network is never faster. */
TEST(a_slower_network_is_never_faster)
{
    struct rng rng = test_rng(5, "one node", 2);
    const struct collective_params alike = alike_params();
    for (int i = 0; i < 2000; i++) {
        const enum collective_op op = leaving[rng_below(&rng, LEAVING)];
        const double g = 1.0 + (double)rng_below(&rng, 8), nodes = 2.0 + (double)rng_below(&rng, 8);
        struct collective_shape shape = alike_shape(&rng, g, nodes);
        struct collective_params slower = alike;
        slower.network_hop_s += 1e-5;
        double before_s = collective_time(&alike, op, &shape).seconds;
        const double steps = op == COLLECTIVE_SEND ? 1.0 : (op == COLLECTIVE_ALL_REDUCE ? 2.0 : 1.0) * (nodes - 1.0);
        CHECK_NEAR(collective_time(&slower, op, &shape).seconds, before_s + 1e-5 * steps, 1e-12 * (1.0 + before_s));
        for (int halvings = 0; halvings < 12; halvings++) {
            shape.network_bytes_per_s *= 0.5;
            const double now_s = collective_time(&alike, op, &shape).seconds;
            CHECK(now_s >= before_s);
            before_s = now_s;
        }
        CHECK(before_s > collective_network_bytes(op, &shape) / shape.network_bytes_per_s);
    }
}

/* --- Over PCIe --- */

/* Two sockets with two switches of two GPUs each. */
static const struct gpu_spec pcie_gpu = {.name = "pcie", .pcie_bytes_per_s = 32e9, .peer_to_peer = true,
                                         .gpus_per_switch = 2, .switches_per_socket = 2, .bridge_share = 0.25};

static struct collective_shape pcie_shape(const struct gpu_spec *gpu, double bytes, double gpus)
{
    struct collective_shape shape = {.bytes = bytes, .gpus = gpus, .nodes = 1.0};
    collective_set_link(&shape, gpu, (int64_t)gpus);
    return shape;
}

TEST(each_bridge_leaves_its_share)
{
    static const double shares[] = {[2] = 1.0, [3] = 0.25, [4] = 0.25, [5] = 0.0625, [8] = 0.0625};
    for (int64_t n = 2; n <= 8; n++) {
        if (shares[n] == 0.0) continue;
        CHECK(gpu_link_bytes_per_s(&pcie_gpu, n) == 32e9 * shares[n]);
        CHECK(!gpu_host_staged(&pcie_gpu, n));
    }
    struct gpu_spec unknown = pcie_gpu;
    unknown.gpus_per_switch = 0;
    CHECK(gpu_link_bytes_per_s(&unknown, 8) == 32e9 && gpu_bridges(&unknown, 8) == 0);
}

/* A pair has one of the links, all GPUs have all of them: n GPUs have n - 1 each. */
TEST(a_link_for_each_pair)
{
    struct gpu_spec full = pcie_gpu;
    full.fabric = FABRIC_FULL;
    full.nvlink_gpus = 8;
    full.nvlink_bytes_per_s = 448e9;
    for (int64_t n = 2; n <= 8; n++) CHECK(gpu_link_bytes_per_s(&full, n) == 64e9 * (double)(n - 1));
    CHECK(gpu_link_bytes_per_s(&full, 1) == 64e9);
    CHECK(gpu_pair_bytes_per_s(&full, 8) == 64e9 &&
          gpu_link_bytes_per_s(&full, 9) == gpu_link_bytes_per_s(&pcie_gpu, 9));
}

/* Through host memory the GPUs behind a switch share its link; bridges that are slower still count. */
TEST(staged_messages_share_the_uplink)
{
    struct gpu_spec staged = pcie_gpu;
    staged.peer_to_peer = false;
    CHECK(gpu_host_staged(&staged, 2) && gpu_link_bytes_per_s(&staged, 2) == 16e9);
    CHECK(gpu_link_bytes_per_s(&staged, 4) == 8e9);
    staged.gpus_per_switch = 1;
    staged.bridge_share = 1.0;
    CHECK(gpu_link_bytes_per_s(&staged, 8) == 32e9);
    struct gpu_spec bridged = staged;
    bridged.nvlink_gpus = 2;
    bridged.nvlink_bytes_per_s = 56e9;
    CHECK(!gpu_host_staged(&bridged, 2) && gpu_bridges(&bridged, 2) == 0 && gpu_host_staged(&bridged, 4));
}

/* Two GPUs: a start, two steps, and the message once over the link, in words or through a pipeline of chunks. */
TEST(two_gpus_have_a_closed_form)
{
    for (double bytes = 1.0; bytes < 1e10; bytes *= 3.0) {
        const struct collective_shape shape = pcie_shape(&pcie_gpu, bytes, 2.0);
        const double latency = params.start_s + 2.0 * params.hop_s;
        const double chunk = sqrt(params.fill_s) + sqrt(bytes / (params.bandwidth_frac * 32e9));
        const double expected = latency + fmin(bytes / (params.fast_frac * 32e9), chunk * chunk);
        CHECK_NEAR(seconds(COLLECTIVE_ALL_REDUCE, &shape) / expected, 1.0, 1e-12);
    }
}

/* All-reduce is a reduce-scatter and an all-gather: it moves the bytes of both, whatever lies between. */
TEST(bytes_are_conserved_over_bridges)
{
    for (double n = 2.0; n <= 8.0; n *= 2.0) {
        const struct collective_shape shape = pcie_shape(&pcie_gpu, 1e6, n);
        const double all = collective_time(&params, COLLECTIVE_ALL_REDUCE, &shape).link_bytes;
        const double gather = collective_time(&params, COLLECTIVE_ALL_GATHER, &shape).link_bytes;
        const double scatter = collective_time(&params, COLLECTIVE_REDUCE_SCATTER, &shape).link_bytes;
        CHECK(gather == scatter);
        CHECK_NEAR(all, gather + scatter, 1e-6);
        CHECK_NEAR(gather, (n - 1.0) / n * 1e6, 1e-6);
    }
}

/* More bytes, more GPUs, a lower share and staging never make an operation faster. */
TEST(pcie_times_are_monotone)
{
    struct gpu_spec slower = pcie_gpu, staged = pcie_gpu;
    slower.bridge_share = 0.2;
    staged.peer_to_peer = false;
    for (int i = 0; i < OPS; i++) {
        for (double bytes = 64.0; bytes < 1e10; bytes *= 2.0) {
            double before_s = 0.0;
            for (double n = 2.0; n <= 8.0; n += 1.0) {
                const struct collective_shape shape = pcie_shape(&pcie_gpu, bytes, n);
                const struct collective_shape twice = pcie_shape(&pcie_gpu, 2.0 * bytes, n);
                const struct collective_shape late = pcie_shape(&slower, bytes, n),
                                              hosted = pcie_shape(&staged, bytes, n);
                const double now_s = seconds(ops[i], &shape);
                CHECK(now_s >= before_s && seconds(ops[i], &twice) >= now_s);
                CHECK(seconds(ops[i], &late) >= now_s && seconds(ops[i], &hosted) > now_s);
                before_s = now_s;
            }
        }
    }
}
