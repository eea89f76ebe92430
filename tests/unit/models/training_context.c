/* Ranks that share a sequence: queries that circulate (TokenRing), states that are gathered (LASP-2). Closed forms. */
#include "models/training/context.h"
#include "tests/support/harness.h"
#include "tests/support/plan_bed.h"

/* Messages take bytes/link and nothing else, and nothing hides them. */
static void send_plainly(struct plan_bed *bed)
{
    struct collective_params *params = &bed->kernels.params[KERNEL_SEND].collective;
    *params = (struct collective_params){.fast_frac = 1.0, .bandwidth_frac = 1.0, .network_frac = 1.0};
    bed->kernels.params[KERNEL_ALL_GATHER].collective = *params;
    bed->trainer.overlap_frac = 0.0;
}

static void long_bed(struct plan_bed *bed, int64_t context, int64_t tokens)
{
    plan_bed_init(bed, &plan_bed_gpt);
    bed->plan.context = context;
    bed->plan.sequence_tokens = tokens;
    bed->plan.micro_batches = 1;
    bed->plan.context_form = CONTEXT_TOKEN_RING;
    send_plainly(bed);
}

static double exchanged(const struct training_exchanges *stage, enum training_exchange_kind kind,
                        struct training_group group)
{
    for (int32_t i = 0; i < stage->n; i++)
        if (stage->of[i].kind == kind && training_groups_are_equal(stage->of[i].group, group))
            return stage->of[i].bytes;
    return 0.0;
}

/* --- TokenRing --- */

/* Of n tokens, 32 heads and 128 numbers in each: queries of 256 bytes on, results of 256 and a log-sum-exp of 4 back;
 * backward queries and gradients of results with two sums on, gradients of queries back. */
static const double on_bytes[] = {256.0, 520.0}, back_bytes[] = {260.0, 256.0};

TEST(queries_go_on_and_results_go_back)
{
    struct plan_bed bed;
    struct training_exchanges stage;
    long_bed(&bed, 8, 131072);
    const double rows = 16384.0 * 32.0, steps = 7.0, layers = 8.0;
    training_exchanges_of(&bed.parts, &stage);
    const struct training_group group = training_context_group(&bed.plan);
    CHECK_NEAR(exchanged(&stage, EXCHANGE_SHIFT, group) / (layers * steps * rows * (on_bytes[0] + on_bytes[1])), 1.0,
               1e-12);
    CHECK_NEAR(exchanged(&stage, EXCHANGE_ALL_TO_ALL, group) / (layers * steps * rows * (back_bytes[0] + back_bytes[1])),
               1.0, 1e-12);
    CHECK_NEAR(plan_bed_step(&bed).context_bytes / (layers * steps * rows * (520.0 + 260.0 + 256.0 + 256.0)), 1.0,
               1e-12);
}

/* Own results stay with their rank, so that the first queries go alone, and so do the next, whose results are not there
 * yet. The last two results go alone. In between both ways take the maximum, at best half of the sum. Through one port
 * they take the sum. Where each pair has a link, neighbours send over one of them. */
TEST(two_links_take_the_maximum_and_one_port_the_sum)
{
    struct gpu_spec mesh = plan_bed_a100, full = plan_bed_a100;
    mesh.fabric = FABRIC_MESH;
    full.fabric = FABRIC_FULL;
    for (int64_t ranks = 3; ranks <= 8; ranks++) {
        const double rows = 16384.0 * 32.0, layers = 8.0, both = (double)ranks - 3.0;
        double sum_s = 0.0, most_s = 0.0, seconds[3];
        for (int pass = 0; pass < 2; pass++) {
            const double on = on_bytes[pass], back = back_bytes[pass];
            sum_s += layers * rows * ((both + 2.0) * (on + back)) / gpu_link_bytes_per_s(&plan_bed_a100, ranks);
            most_s += layers * rows * (2.0 * (on + back) + both * fmax(on, back)) / gpu_link_bytes_per_s(&mesh, ranks);
        }
        for (int i = 0; i < 3; i++) {
            struct plan_bed bed;
            long_bed(&bed, ranks, 16384 * ranks);
            if (i > 0) bed.parts.gpu = i == 1 ? &mesh : &full;
            seconds[i] = plan_bed_step(&bed).context_s;
        }
        CHECK_NEAR(seconds[0] / sum_s, 1.0, 1e-12);
        CHECK_NEAR(seconds[1] / most_s, 1.0, 1e-12);
        const double pair_s = most_s * gpu_link_bytes_per_s(&mesh, ranks) / gpu_link_bytes_per_s(&full, 2);
        CHECK_NEAR(seconds[2] / pair_s, 1.0, 1e-12);
    }
    CHECK_NEAR((on_bytes[0] + back_bytes[0]) / fmax(on_bytes[0], back_bytes[0]), 2.0 * 258.0 / 260.0, 1e-12);
}

/* Ranks of one node by their numbers, which a job has on two: both messages leave by the adapter, at the share of its
 * bandwidth that each kind gets. */
TEST(where_the_ranks_are_decides_about_links)
{
    struct gpu_spec mesh = plan_bed_a100;
    mesh.fabric = FABRIC_MESH;
    struct plan_bed bed;
    long_bed(&bed, 4, 131072);
    bed.parts.gpu = &mesh;
    const struct training_group group = training_context_group(&bed.plan);
    const struct training_spread spread = {
        .n = 2, .of = {{EXCHANGE_SHIFT, group, 2.0, 0.5}, {EXCHANGE_ALL_TO_ALL, group, 2.0, 0.25}}};
    bed.plan.spread = &spread;
    bed.plan.network_bytes_per_s = 25e9;
    const double steps = 8.0 * 3.0 * 32768.0 * 32.0;
    const double seconds = steps * ((256.0 + 520.0) / (0.5 * 25e9) + (260.0 + 256.0) / (0.25 * 25e9));
    CHECK_NEAR(plan_bed_step(&bed).context_s / seconds, 1.0, 1e-12);
}

/* Messages of a ring are those of the network if its ranks are on several nodes. */
TEST(a_ring_over_nodes_uses_the_network)
{
    struct plan_bed bed;
    long_bed(&bed, 4, 131072);
    bed.plan.context_form = CONTEXT_RING;
    CHECK_NEAR(training_block_of(&bed.parts, BLOCK_DENSE).forward.network_s, 0.0, 0.0);
    const struct training_spread spread = {
        .n = 1, .of = {{EXCHANGE_SHIFT, training_context_group(&bed.plan), 2.0, 1.0}}};
    bed.plan.spread = &spread;
    bed.plan.network_bytes_per_s = 25e9;
    CHECK_NEAR(training_block_of(&bed.parts, BLOCK_DENSE).forward.network_s / (3.0 * 32768.0 * 32.0 * 512.0 / 25e9),
               1.0, 1e-12);
}

/* Two ranks have one link, which both messages take in the same direction; so has a group over nodes. */
TEST(two_ranks_and_nodes_have_one_port)
{
    struct gpu_spec mesh = plan_bed_a100;
    mesh.fabric = FABRIC_MESH;
    struct plan_bed bed;
    long_bed(&bed, 2, 131072);
    bed.parts.gpu = &mesh;
    double bytes = 8.0 * 65536.0 * 32.0 * (256.0 + 260.0 + 520.0 + 256.0);
    CHECK_NEAR(plan_bed_step(&bed).context_s / (bytes / gpu_link_bytes_per_s(&mesh, 2)), 1.0, 1e-12);
    long_bed(&bed, 16, 131072);
    bed.parts.gpu = &mesh;
    bytes = 8.0 * 15.0 * 8192.0 * 32.0 * (256.0 + 260.0 + 520.0 + 256.0);
    CHECK_NEAR(plan_bed_step(&bed).context_s / (bytes / 25e9), 1.0, 1e-12);
}

/* Computing hides all but the results of the last step. */
TEST(nothing_hides_the_last_results)
{
    struct plan_bed bed;
    long_bed(&bed, 8, 1 << 20);
    bed.trainer.overlap_frac = 1.0;
    const double rows = 131072.0 * 32.0, last_bytes = back_bytes[0] + back_bytes[1];
    CHECK_NEAR(plan_bed_step(&bed).context_s / (8.0 * rows * last_bytes / 300e9), 1.0, 1e-9);
    bed.plan.context_form = CONTEXT_RING;
    CHECK_NEAR(plan_bed_step(&bed).context_s, 0.0, 1e-12);
}

/* Through one port a ring of keys and values is never slower, and with fewer key-value heads it is faster by them. */
TEST(keys_and_values_are_no_larger_than_queries_and_results)
{
    for (int64_t kv_heads = 32; kv_heads >= 4; kv_heads /= 2) {
        struct plan_bed bed;
        long_bed(&bed, 8, 131072);
        bed.llm.kv_heads = kv_heads;
        const double queries_s = plan_bed_step(&bed).context_s;
        bed.plan.context_form = CONTEXT_RING;
        const double keys_s = plan_bed_step(&bed).context_s;
        CHECK_NEAR(queries_s / keys_s, (256.0 + 260.0 + 520.0 + 256.0) / (3.0 * 512.0) * 32.0 / (double)kv_heads, 1e-9);
    }
}

/* --- When computing hides a ring --- */

/* A step computes 2 n^2 h FLOP of its n = N/P queries and keys, half of them masked, and receives 4 n h bytes: it hides
 * them where n exceeds F/b, the FLOP that the GPU does in the time of a byte; with the masks 2 F/b. */
TEST(long_parts_hide_keys_and_values)
{
    for (int side = 0; side < 2; side++) {
        struct plan_bed bed;
        long_bed(&bed, 8, 8 * 2048);
        bed.plan.context_form = CONTEXT_RING;
        bed.trainer.overlap_frac = 1.0;
        struct gpu_spec gpu = plan_bed_a100;
        bed.parts.gpu = &gpu;
        const struct training_block block = training_block_of(&bed.parts, BLOCK_DENSE);
        const double flop_per_s = block.attention.flop / block.attention.compute_s;
        gpu.nvlink_bytes_per_s = 2.0 * flop_per_s / 2048.0 * (side == 0 ? 0.99 : 1.01);
        const double shown_s = training_block_of(&bed.parts, BLOCK_DENSE).forward.context_s;
        const double all_s = 7.0 * 4.0 * 2048.0 * 4096.0 / gpu.nvlink_bytes_per_s;
        CHECK_NEAR(shown_s / all_s, side == 0 ? 0.01 : 0.0, 1e-9);
    }
}

/* --- LASP-2 --- */

/* A rank has 1.049 MB of states with 32 heads of 128 numbers and gets 7.340 MB of 7 others, forward and backward,
 * whatever the length. */
TEST(states_are_gathered_whatever_the_length)
{
    const double own_bytes = 2.0 * 32.0 * 128.0 * 128.0, layers = 8.0;
    CHECK_NEAR(own_bytes, 1.049e6, 500.0);
    CHECK_NEAR(7.0 * own_bytes, 7.340e6, 500.0);
    for (int64_t tokens = 8192; tokens <= 2097152; tokens *= 16) {
        struct plan_bed bed;
        struct training_exchanges stage;
        long_bed(&bed, 8, tokens);
        bed.plan.linear_layers = 8;
        training_exchanges_of(&bed.parts, &stage);
        const struct training_step step = plan_bed_step(&bed);
        /* the replicas of the weights are the same ranks: their gradients are in the same exchange */
        const double states = exchanged(&stage, EXCHANGE_RING, training_context_group(&bed.plan)) - step.data_bytes;
        CHECK_NEAR(step.context_bytes / (2.0 * layers * 7.0 * own_bytes), 1.0, 1e-12);
        CHECK_NEAR(states / (2.0 * layers * 7.0 * own_bytes), 1.0, 1e-6);
        CHECK_NEAR(step.context_s / (2.0 * layers * 7.0 * own_bytes / 300e9), 1.0, 1e-12);
        bed.plan.linear_layers = 2; /* of each 8 layers, as hybrids have it the other way round */
        CHECK_NEAR((plan_bed_step(&bed).context_bytes - 4.0 * 7.0 * own_bytes) /
                       (6.0 * 7.0 * (double)tokens / 8.0 * 32.0 * (520.0 + 260.0 + 256.0 + 256.0)),
                   1.0, 1e-9);
    }
}

/* Two sequences have two states; a quarter of the key-value heads has a quarter of them. */
TEST(states_are_of_heads_and_sequences)
{
    struct plan_bed bed;
    long_bed(&bed, 8, 65536);
    bed.plan.linear_layers = 8;
    const double bytes = plan_bed_step(&bed).context_bytes;
    bed.plan.micro_batch = 2;
    CHECK_NEAR(plan_bed_step(&bed).context_bytes / bytes, 2.0, 1e-12);
    bed.llm.kv_heads = 8;
    CHECK_NEAR(plan_bed_step(&bed).context_bytes / bytes, 0.5, 1e-12);
}

/* Per head and token linear attention has 4 d^2 FLOP and 4 d for each token of its block: no term in the length. */
TEST(linear_attention_has_operations_of_states_and_blocks)
{
    double per_token[2];
    for (int i = 0; i < 2; i++) {
        struct plan_bed bed;
        plan_bed_init(&bed, &plan_bed_gpt);
        bed.plan.sequence_tokens = i == 0 ? 8192 : 262144;
        bed.plan.linear_layers = 8;
        const double tokens = training_plan_tokens(&bed.plan), heads = 8.0 * 32.0, d = 128.0, block = 64.0;
        const double weights = training_model_flop(&bed.parts) / tokens - 3.0 * heads * (4.0 * d * d + 4.0 * d * block);
        per_token[i] = weights;
        const struct training_step step = plan_bed_step(&bed);
        const double inside = tokens * heads * (4.0 * d * d + 4.0 * d * block / 2.0);
        CHECK_NEAR(step.flop / (weights * tokens + 3.5 * inside), 1.0, 1e-3);
        CHECK(step.outside_frac > 0.0); /* no such kernel was measured */
    }
    CHECK_NEAR(per_token[0] / per_token[1], 1.0, 1e-9);
    CHECK_NEAR(per_token[0] / (6.0 * (8.0 * 12.0 * 4096.0 * 4096.0 + 51200.0 * 4096.0)), 1.0, 1e-9);
}

/* In place of 4 bytes of each head and token a layer keeps one state of each sequence. */
TEST(a_linear_layer_keeps_a_state)
{
    struct plan_bed bed;
    long_bed(&bed, 8, 65536);
    const double softmax = training_layer_bytes(&bed.parts, BLOCK_DENSE);
    bed.plan.linear_layers = 8;
    const double linear = training_layer_bytes(&bed.parts, BLOCK_DENSE);
    CHECK_NEAR(softmax - linear, 4.0 * 32.0 * 8192.0 - 2.0 * 32.0 * 128.0 * 128.0, 1e-3);
}

/* Each further linear layer makes the step of a long sequence shorter. */
TEST(linear_layers_shorten_long_sequences)
{
    double before_s = INFINITY;
    for (int64_t layers = 0; layers <= 8; layers += 2) {
        struct plan_bed bed;
        long_bed(&bed, 8, 262144);
        bed.plan.linear_layers = layers;
        const double step_s = plan_bed_step(&bed).step_s;
        CHECK(step_s < before_s);
        before_s = step_s;
    }
}

TEST(what_has_no_linear_form_is_refused)
{
    struct plan_bed bed;
    plan_bed_init(&bed, &plan_bed_gpt);
    bed.plan.linear_layers = 9;
    CHECK(training_plan_problem(&bed.plan, &bed.llm) != NULL);
    bed.plan.linear_layers = 8;
    CHECK(training_plan_problem(&bed.plan, &bed.llm) == NULL);
    bed.llm.sliding_window = 1024;
    CHECK(training_plan_problem(&bed.plan, &bed.llm) != NULL);
    plan_bed_init(&bed, &plan_bed_experts);
    bed.plan.linear_layers = 1;
    CHECK(training_plan_problem(&bed.plan, &bed.llm) != NULL);
}
