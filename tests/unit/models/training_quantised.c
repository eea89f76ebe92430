/* A second copy of weights, and messages in few bits: bytes by level as ZeRO++ counts them, a twin that sends every
 * number, memory, kernels, and optimizer states that CPUs update beside the next step. */
#include "models/training/phases.h"
#include "models/training/quantised.h"
#include "models/training/traffic.h"
#include "tests/support/harness.h"
#include "tests/support/plan_bed.h"

#include <math.h>
#include <string.h>

/* Four nodes of eight ranks that share all states; one micro-batch. */
static double bed_init(struct plan_bed *bed)
{
    plan_bed_init(bed, &plan_bed_gpt);
    bed->plan.data = 32;
    bed->plan.zero = 3;
    bed->plan.micro_batches = 1;
    return (double)llm_parameters(&bed->llm);
}

static struct training_levels levels_of(const struct plan_bed *bed)
{
    struct training_exchanges stage;
    struct training_levels levels;
    double room[4 * 64] = {0.0};
    training_exchanges_of(&bed->parts, &stage);
    training_levels_of(&bed->plan, &stage, 0, room, &levels);
    return levels;
}

/* Wang et al. 2023, section 3: of M bytes in 16 bits, a node sends 3 M with ZeRO 3, 2 M if the backward pass gathers
 * inside nodes, M/2 + M if weights also have 8 bits, and M/2 + M/4 if gradients have 4: a fourth. A ring leaves one of
 * 32 parts at home, an all-to-all of four nodes one of four. */
TEST(nodes_send_a_fourth)
{
    struct plan_bed bed;
    const double m = 2.0 * bed_init(&bed), nodes = 4.0, ring = 31.0 / 32.0, apart = 3.0 / 4.0;
    const double full = levels_of(&bed).rack_bytes;
    CHECK_NEAR(full / (nodes * 3.0 * ring * m), 1.0, 1e-12);
    bed.plan.shard_secondary = 8;
    CHECK_NEAR(levels_of(&bed).rack_bytes / (nodes * 2.0 * ring * m), 1.0, 1e-12);
    bed.plan.weight_message = MESSAGE_INT8;
    CHECK_NEAR(levels_of(&bed).rack_bytes / (nodes * ring * (0.5 + 1.0) * m), 1.0, 1e-12);
    bed.plan.gradient_message = MESSAGE_INT8;
    CHECK_NEAR(levels_of(&bed).rack_bytes / (nodes * (ring * 0.5 + apart * 0.5) * m), 1.0, 1e-12);
    bed.plan.gradient_message = MESSAGE_INT4;
    CHECK_NEAR(levels_of(&bed).rack_bytes / (nodes * (ring * 0.5 + apart * 0.25) * m), 1.0, 1e-12);
    CHECK(full / levels_of(&bed).rack_bytes >= 4.0);
    /* Inside a node seven members pass on the ring of 32, and eight the ring of 8; eight send 7/8 of the gradients. */
    const double inside = 7.0 * ring * 0.5 * m + 8.0 * 7.0 / 8.0 * 0.5 * m + 8.0 * 7.0 / 8.0 * 0.25 * m;
    CHECK_NEAR(levels_of(&bed).node_bytes / (nodes * inside), 1.0, 1e-12);
}

/* Weights on pairs, gradients on nodes, optimizer states on all ranks: the three levels of Frontier. Nodes send a part
 * of the sums of gradients once, and what pairs lack of the weights. */
TEST(three_levels_keep_passes_inside_nodes)
{
    struct plan_bed bed;
    const double n = bed_init(&bed), nodes = 4.0;
    bed.plan.zero = 0;
    bed.plan.shard_weights = 2;
    bed.plan.shard_gradients = 8;
    bed.plan.shard_optimizer = 32;
    bed.plan.weight_message = MESSAGE_INT8;
    bed.plan.gradient_message = MESSAGE_INT4;
    /* gathers of 16 ranks, two apart, of n/2 weights in two rings of a node; all-to-alls of four nodes */
    const double gathered = 15.0 / 16.0 * 0.5 * n, scattered = 8.0 * 3.0 / 4.0 * n / 8.0 * 0.5;
    CHECK_NEAR(levels_of(&bed).rack_bytes / (nodes * (2.0 * gathered + scattered)), 1.0, 1e-12);
    const double once = levels_of(&bed).rack_bytes;
    bed.plan.micro_batches = 8; /* sends as much between nodes */
    CHECK_NEAR(levels_of(&bed).rack_bytes / once, 1.0, 1e-12);
}

/* --- A twin that sends every number --- */

enum { RANKS = 12, NUMBERS = 24 };

struct twin {
    int64_t held[RANKS][NUMBERS]; /* sums so far */
    double inside, outside;       /* numbers sent */
};

/* Ranks of a hop exchange the parts of [from, from + n) of each: the rank at place k gets the k-th part of all. */
static void exchange(struct twin *twin, int first, int stride, int ranks, int on_node, int from, int n)
{
    int64_t sums[RANKS][NUMBERS] = {{0}};
    for (int to = 0; to < ranks; to++)
        for (int who = 0; who < ranks; who++)
            for (int i = from + to * n / ranks; i < from + (to + 1) * n / ranks; i++) {
                const int sender = first + who * stride, receiver = first + to * stride;
                sums[to][i] += twin->held[sender][i];
                if (sender / on_node == receiver / on_node)
                    twin->inside += sender != receiver ? 1.0 : 0.0;
                else
                    twin->outside += 1.0;
            }
    for (int k = 0; k < ranks; k++) memcpy(twin->held[first + k * stride], sums[k], sizeof sums[k]);
}

/* On nodes of p ranks, an exchange inside them and one among ranks of the same place leave each sum on one rank,
 * having sent as many numbers at each level as the plan's exchanges say. */
TEST(two_exchanges_add_up_all_gradients)
{
    for (int p = 1; p <= RANKS; p++) {
        struct twin twin = {.inside = 0.0};
        struct plan_bed bed;
        if (RANKS % p != 0) continue;
        for (int rank = 0; rank < RANKS; rank++)
            for (int i = 0; i < NUMBERS; i++) twin.held[rank][i] = (int64_t)rank * 100 + i;
        for (int node = 0; node < RANKS / p; node++) exchange(&twin, node * p, 1, p, p, 0, NUMBERS);
        for (int place = 0; place < p; place++)
            exchange(&twin, place, p, RANKS / p, p, place * NUMBERS / p, NUMBERS / p);
        for (int rank = 0; rank < RANKS; rank++) {
            const int part = (rank % p * NUMBERS / p) + rank / p * (NUMBERS / RANKS);
            for (int i = part; i < part + NUMBERS / RANKS; i++)
                CHECK_EQ_INT(twin.held[rank][i], 100 * (RANKS * (RANKS - 1) / 2) + RANKS * i);
        }
        bed_init(&bed);
        bed.plan.data = RANKS;
        bed.plan.gpus_per_node = p;
        bed.plan.zero = 2;
        bed.plan.gradient_message = MESSAGE_INT8;
        struct training_exchanges stage;
        double inside = 0.0, outside = 0.0;
        training_exchanges_of(&bed.parts, &stage);
        for (int32_t i = 0; i < stage.n; i++) {
            const struct training_exchange *of = &stage.of[i];
            const bool is_inside = of->group.stride * of->group.gpus <= p;
            if (of->kind == EXCHANGE_ALL_TO_ALL) *(is_inside ? &inside : &outside) += RANKS * of->bytes;
        }
        const double scale = (double)llm_parameters(&bed.llm) / NUMBERS;
        CHECK_NEAR(inside, scale * twin.inside, 1e-9 * scale * RANKS * NUMBERS);
        CHECK_NEAR(outside, scale * twin.outside, 1e-9 * scale * RANKS * NUMBERS);
    }
}

/* Whatever the sizes, both hops together are the group, the first one within a node. */
TEST(hops_are_the_group)
{
    struct plan_bed bed;
    bed_init(&bed);
    for (int64_t each = 1; each <= 9; each++)
        for (int64_t stride = 1; stride <= 9; stride++)
            for (int64_t gpus = 1; gpus <= 24; gpus++) {
                bed.plan.gpus_per_node = each;
                const struct training_hops hops = training_hops_of(&bed.plan, (struct training_group){gpus, stride});
                CHECK_EQ_INT(hops.within.gpus * hops.between.gpus, gpus);
                CHECK(hops.within.gpus == 1 || hops.within.gpus * stride <= each);
                CHECK_EQ_INT(hops.between.stride, hops.within.gpus * stride);
            }
}

/* --- Memory and time --- */

/* A second copy takes 2 P/s bytes and nothing else, and saves time; among as many ranks as the first copy it would
 * save none, and is refused. */
TEST(a_second_copy_takes_its_share)
{
    struct plan_bed bed;
    const double parameters = bed_init(&bed);
    const struct training_step one = plan_bed_step(&bed);
    for (int64_t s = 2; s <= 16; s *= 2) {
        bed.plan.shard_secondary = s;
        CHECK(training_plan_problem(&bed.plan, &bed.llm) == NULL);
        const struct training_step two = plan_bed_step(&bed);
        CHECK_NEAR((two.memory.total_bytes - one.memory.total_bytes) / (2.0 * parameters / (double)s), 1.0, 1e-9);
        CHECK(two.step_s < one.step_s);
    }
    bed.plan.shard_secondary = 32;
    CHECK_EQ_STR(training_plan_problem(&bed.plan, &bed.llm),
                 "'shard_secondary' is below the ranks that share weights");
}

/* The kernels move 3 bytes of each weight that is gathered, of a rank's own part too; of each gradient 2.5, and with
 * two hops 0.5 + 0.5/8 and (0.5 + 2/4)/8 more. */
TEST(kernels_narrow_and_widen)
{
    struct plan_bed bed;
    const double n = bed_init(&bed);
    const struct training_step stored = plan_bed_step(&bed);
    CHECK_NEAR(stored.quantise_s, 0.0, 0.0);
    bed.plan.weight_message = MESSAGE_INT8;
    const struct training_step weights = plan_bed_step(&bed);
    CHECK_NEAR((weights.bytes - stored.bytes) / (2.0 * 3.0 * n * (1.0 + 1.0 / 32.0)), 1.0, 1e-9);
    bed.plan.weight_message = MESSAGE_STORED;
    bed.plan.gradient_message = MESSAGE_INT4;
    const struct training_step gradients = plan_bed_step(&bed);
    const double each = 2.5 + 0.5 + 0.5 / 8.0 + (0.5 + 2.0 / 4.0) / 8.0;
    CHECK_NEAR((gradients.bytes - stored.bytes) / (each * n), 1.0, 1e-9);
    bed.plan.weight_message = MESSAGE_INT8;
    const struct training_step both = plan_bed_step(&bed);
    CHECK_NEAR(both.quantise_s, weights.quantise_s + gradients.quantise_s, 1e-9 * both.quantise_s);
    const double least_s = (both.bytes - stored.bytes) / plan_bed_a100.memory_bytes_per_s;
    CHECK(both.quantise_s > least_s && both.quantise_s < 3.0 * least_s);
    struct power_stage phases[TRAINING_PHASES];
    training_phases_of(&bed.parts, &both, phases);
    double sum_s = 0.0;
    for (int i = 0; i < TRAINING_PHASES; i++) sum_s += phases[i].time_s;
    CHECK_NEAR(sum_s / both.step_s, 1.0, 1e-12);
}

/* The less the network has, the more is gained; where kernels cost more than messages gain, a step is longer. */
TEST(few_bits_pay_on_slow_networks)
{
    double gain = 0.0;
    for (double network = 64e9; network > 0.5e9; network /= 2.0) {
        struct plan_bed bed;
        bed_init(&bed);
        bed.plan.network_bytes_per_s = network;
        const double stored_s = plan_bed_step(&bed).step_s;
        bed.plan.shard_secondary = 8;
        bed.plan.weight_message = MESSAGE_INT8;
        bed.plan.gradient_message = MESSAGE_INT4;
        const double narrow_s = plan_bed_step(&bed).step_s;
        CHECK(stored_s / narrow_s >= gain);
        gain = stored_s / narrow_s;
    }
    CHECK(gain > 1.5);
    struct plan_bed bed;
    bed_init(&bed);
    bed.plan.data = 2;
    bed.plan.overlap_weights = true; /* messages hide, kernels do not */
    const double stored_s = plan_bed_step(&bed).step_s;
    bed.plan.weight_message = MESSAGE_INT8;
    CHECK(plan_bed_step(&bed).step_s > stored_s);
}

TEST(what_cannot_be_has_a_reason)
{
    struct plan_bed bed;
    bed_init(&bed);
    const struct training_plan plan = bed.plan;
#define REFUSED(change)                                                                                                \
    do {                                                                                                               \
        bed.plan = plan;                                                                                               \
        change;                                                                                                        \
        CHECK(training_plan_problem(&bed.plan, &bed.llm) != NULL);                                                     \
    } while (0)
    CHECK(training_plan_problem(&bed.plan, &bed.llm) == NULL);
    REFUSED(bed.plan.shard_secondary = 3);
    REFUSED(bed.plan.shard_secondary = 8; bed.plan.zero = 2);
    REFUSED(bed.plan.shard_secondary = 8; bed.plan.tiers.weights = HOME_HOST; bed.plan.tiers.link_bytes_per_s = 1e9);
    REFUSED(bed.plan.gradient_message = MESSAGE_INT8; bed.plan.zero = 0);
    REFUSED(bed.plan.gradient_message = MESSAGE_INT8; bed.plan.gradient_parts = 2);
    REFUSED(bed.plan.offload = ((struct training_offload){.optimizer_frac = 1.0, .cpu_update_per_s = 1e9,
                                                          .link_bytes_per_s = 1e9, .gpu_stride = 2,
                                                          .is_delayed = true}));
#undef REFUSED
}

/* Experts have ranks of their own: both kinds of parameters keep the law of their groups, and parts add up. */
TEST(experts_have_their_own_groups)
{
    struct plan_bed bed;
    plan_bed_init(&bed, &plan_bed_experts);
    bed.plan.data = 32;
    bed.plan.expert = 4;
    bed.plan.zero = 3;
    bed.plan.micro_batches = 1;
    bed.plan.shard_secondary = 8;
    bed.plan.weight_message = MESSAGE_INT8;
    bed.plan.gradient_message = MESSAGE_INT4;
    const struct training_parameters all = training_stage_parameters(&bed.parts, 0);
    struct training_exchanges stage;
    double rings = 0.0, within = 0.0, between = 0.0;
    training_exchanges_of(&bed.parts, &stage);
    for (int32_t i = 0; i < stage.n; i++) {
        const struct training_exchange *of = &stage.of[i];
        if (of->kind == EXCHANGE_RING) rings += of->bytes;
        if (of->kind == EXCHANGE_ALL_TO_ALL && of->group.gpus * of->group.stride == 8) within += of->bytes;
        if (of->kind == EXCHANGE_ALL_TO_ALL && of->group.stride == 8) between += of->bytes;
    }
    /* of experts eight ranks, four apart, two on a node: their second copy is the first */
    CHECK_NEAR(rings / (all.dense * (31.0 / 32.0 + 7.0 / 8.0) + all.expert * 2.0 * 7.0 / 8.0), 1.0, 1e-12);
    CHECK_NEAR(within / (0.5 * (all.dense * 7.0 / 8.0 + all.expert / 2.0)), 1.0, 1e-12);
    CHECK_NEAR(between / (0.5 * 0.75 * (all.dense / 8.0 + all.expert / 2.0)), 1.0, 1e-12);
}

/* --- Updates beside the next step --- */

/* With C the CPUs' update and G all else, a step takes G + C, or delayed max(G, C): Ren et al. 2021, ZeRO-Offload. It
 * gains at most a half, where both are equal. */
TEST(a_delayed_update_takes_the_longer_of_both)
{
    struct plan_bed bed;
    const double parameters = bed_init(&bed);
    double most = 0.0;
    bed.plan.data = 8;
    for (double rate = 1e8; rate < 1e12; rate *= 1.5)
        for (int blocks = 0; blocks <= 1; blocks++) {
            bed.plan.offload = (struct training_offload){.optimizer_frac = 0.75, .blocks_flush = blocks == 1,
                                                         .cpu_update_per_s = rate, .flush_bytes_per_s = 5e9,
                                                         .link_bytes_per_s = 25e9};
            const struct training_step at_end = plan_bed_step(&bed);
            bed.plan.offload.is_delayed = true;
            const struct training_step delayed = plan_bed_step(&bed);
            const double cpu_s = 0.75 * parameters / rate, others_s = at_end.step_s - cpu_s;
            CHECK_NEAR(delayed.step_s, fmax(others_s, cpu_s), 1e-9 * at_end.step_s);
            CHECK_NEAR(delayed.step_s - delayed.optimizer_s, at_end.step_s - at_end.optimizer_s, 1e-9 * at_end.step_s);
            CHECK_NEAR(delayed.memory.total_bytes, at_end.memory.total_bytes, 0.0);
            most = fmax(most, at_end.step_s / delayed.step_s);
        }
    CHECK(most > 1.7 && most <= 2.0 + 1e-9);
}
