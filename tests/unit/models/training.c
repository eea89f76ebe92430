/* A training step: closed forms of papers for FLOP, memory and traffic, and laws of plans. */
#include "models/training/phases.h"
#include "models/training/step.h"
#include "tests/support/harness.h"

#include <math.h>

/* An A100 SXM as its data sheet says; kernels at their initial parameters. */
static const struct gpu_spec a100 = {
    .name = "a100", .peak_flop_per_s = {[FORMAT_FP32] = 19.5e12, [FORMAT_FP16] = 312e12, [FORMAT_BF16] = 312e12},
    .memory_bytes = 85.9e9, .memory_bytes_per_s = 2.039e12, .l2_bytes = 40e6, .sm_count = 108, .boost_hz = 1.41e9,
    .fabric = FABRIC_SWITCH, .nvlink_gpus = 8, .nvlink_bytes_per_s = 300e9, .pcie_bytes_per_s = 32e9,
    .peer_to_peer = true, .switches_per_socket = 1, .bridge_share = 1.0};

/* GPT: plain attention, feed-forward layer of four times the width. */
static const struct llm_spec gpt = {
    .name = "gpt", .layers = 8, .hidden = 4096, .q_heads = 32, .kv_heads = 32, .head_dim = 128, .ffn = 16384,
    .vocab = 51200, .max_context = 2048, .tied_embeddings = true, .layer_norms = 2, .position_embeddings = 2048,
    .weights = FORMAT_BF16, .compute = FORMAT_BF16, .kv = FORMAT_BF16};

static const struct llm_spec experts = {
    .name = "experts", .layers = 6, .hidden = 2048, .q_heads = 16, .kv_heads = 16, .head_dim = 128, .query_latent = 768,
    .kv_latent = 512, .rotary_dim = 64, .value_dim = 128, .ffn = 1024, .gated_ffn = true, .experts = 64,
    .experts_per_token = 6, .expert_ffn = 1024, .dense_layers = 1, .dense_ffn = 8192, .vocab = 32000,
    .max_context = 4096, .layer_norms = 2, .weights = FORMAT_BF16, .compute = FORMAT_BF16, .kv = FORMAT_BF16};

struct bed {
    struct kernel_set kernels;
    struct llm_spec llm;
    struct training_plan plan;
    struct training_trainer trainer;
    struct training_parts parts;
};

static void bed_init(struct bed *bed, const struct llm_spec *llm)
{
    kernel_set_init(&bed->kernels);
    bed->llm = *llm;
    bed->plan = (struct training_plan){
        .tensor = 1, .pipeline = 1, .chunks = 1, .context = 1, .data = 1, .expert = 1, .schedule = SCHEDULE_1F1B,
        .micro_batch = 1, .micro_batches = 4, .sequence_tokens = 2048, .zero = 0, .compute = FORMAT_BF16,
        .gpus_per_node = 8, .network_bytes_per_s = 25e9};
    bed->trainer = (struct training_trainer){
        .sustained_compute = 0.8, .attention_backward = 0.9, .overlap_frac = 1.0, .flash_attention = true, .weight_bytes = 2.0,
        .gradient_bytes = 2.0, .optimizer_bytes = 12.0, .update_bytes = 30.0, .loss_passes = 3.0};
    bed->parts = (struct training_parts){&a100, &bed->llm, &bed->kernels, &bed->plan, &bed->trainer};
}

static struct training_step step_of(struct bed *bed)
{
    CHECK(training_plan_problem(&bed->plan, &bed->llm) == NULL);
    return training_step_of(&bed->parts, 0.0);
}

/* --- Closed forms --- */

/* Narayanan et al. 2021, equation 3: 96 B s l h^2 (1 + s/(6h) + V/(16 l h)) with whole layers recomputed. */
TEST(flop_are_those_of_megatron)
{
    struct bed bed;
    bed_init(&bed, &gpt);
    const double s = 2048.0, h = 4096.0, l = 8.0, v = 51200.0, b = 4.0;
    bed.plan.recompute = RECOMPUTE_FULL;
    const struct training_step step = step_of(&bed);
    const double megatron = 96.0 * b * s * l * h * h * (1.0 + s / (6.0 * h) + v / (16.0 * l * h));
    CHECK_NEAR(step.hardware_flop / megatron, 1.0, 1e-12);
    CHECK_NEAR(step.model_flop / (megatron - 24.0 * b * s * l * h * h * (1.0 + s / (6.0 * h))), 1.0, 1e-12);
    CHECK_NEAR(step.hfu / step.mfu, step.hardware_flop / step.model_flop, 1e-12);
    CHECK_NEAR(step.mfu, step.model_flop / (312e12 * step.step_s), 1e-12);
}

/* Without scores and head a step has six FLOP per weight and token (Kaplan et al. 2020). */
TEST(flop_are_six_per_weight_and_token)
{
    struct bed bed;
    bed_init(&bed, &gpt);
    const double weights = 12.0 * 8.0 * 4096.0 * 4096.0, tokens = training_plan_tokens(&bed.plan);
    const double scores = 3.0 * tokens * 8.0 * 2.0 * 2.0 * 4096.0 * 2048.0, head = 6.0 * tokens * 51200.0 * 4096.0;
    CHECK_NEAR((training_model_flop(&bed.parts) - scores - head) / (6.0 * weights * tokens), 1.0, 1e-12);
}

/* All ranks of a stage hold all parameters together, whatever the split. */
TEST(parameters_are_those_of_the_llm)
{
    const struct llm_spec *const llms[] = {&gpt, &experts};
    for (int i = 0; i < 2; i++) {
        struct bed bed;
        bed_init(&bed, llms[i]);
        const struct training_parameters whole = training_stage_parameters(&bed.parts, 0);
        CHECK_NEAR((whole.dense + whole.expert) / (double)llm_parameters(&bed.llm), 1.0, 1e-12);
        bed.plan.data = bed.plan.expert = 8;
        if (llms[i]->experts == 0) bed.plan.expert = 1;
        const struct training_parameters dealt = training_stage_parameters(&bed.parts, 0);
        CHECK_NEAR(dealt.dense, whole.dense, 1e-6);
        CHECK_NEAR(dealt.expert * (double)bed.plan.expert, whole.expert, 1e-6);
        bed.plan.pipeline = 2;
        double sum = 0.0;
        for (int stage = 0; stage < 2; stage++) {
            const struct training_parameters part = training_stage_parameters(&bed.parts, stage);
            sum += part.dense + part.expert * (double)bed.plan.expert;
        }
        const double copy = llms[i]->tied_embeddings ? (double)(bed.llm.vocab * bed.llm.hidden) : 0.0;
        CHECK_NEAR((sum - copy) / (whole.dense + whole.expert), 1.0, 1e-12);
    }
}

/* Korthikanti et al. 2022: s b h (34 + 5 a s/h) bytes per layer; a tensor group leaves s b h (10 + 24/t + 5 a s/(h t)),
 * with sequence parallelism a t-th of the whole; selective recomputation leaves out the scores. */
TEST(activations_are_those_of_korthikanti)
{
    struct bed bed;
    bed_init(&bed, &gpt);
    bed.trainer.flash_attention = false;
    bed.trainer.dropout = true;
    const double sbh = 2048.0 * 4096.0, scores = 5.0 * 32.0 * 2048.0 / 4096.0;
    CHECK_NEAR(training_layer_bytes(&bed.parts, BLOCK_DENSE) / (sbh * (34.0 + scores)), 1.0, 1e-12);
    bed.plan.tensor = 4;
    CHECK_NEAR(training_layer_bytes(&bed.parts, BLOCK_DENSE) / (sbh * (10.0 + 24.0 / 4.0 + scores / 4.0)), 1.0, 1e-12);
    bed.plan.sequence = true;
    CHECK_NEAR(training_layer_bytes(&bed.parts, BLOCK_DENSE) / (sbh / 4.0 * (34.0 + scores)), 1.0, 1e-12);
    bed.plan.recompute = RECOMPUTE_SELECTIVE;
    CHECK_NEAR(training_layer_bytes(&bed.parts, BLOCK_DENSE) / (sbh / 4.0 * 34.0), 1.0, 1e-12);
}

/* Rajbhandari et al. 2020: 2P + 2P + 12P bytes, of which each stage shards one more term. */
TEST(model_states_are_those_of_zero)
{
    struct bed bed;
    bed_init(&bed, &gpt);
    bed.plan.data = 8;
    const double parameters = (double)llm_parameters(&bed.llm);
    for (int64_t zero = 0; zero <= 3; zero++) {
        bed.plan.zero = zero;
        const struct training_memory memory = training_memory_of(&bed.parts);
        const double shards = 8.0;
        CHECK_NEAR(memory.weight_bytes * (zero >= 3 ? shards : 1.0) / (2.0 * parameters), 1.0, 1e-12);
        CHECK_NEAR(memory.gradient_bytes * (zero >= 2 ? shards : 1.0) / (2.0 * parameters), 1.0, 1e-12);
        CHECK_NEAR(memory.optimizer_bytes * (zero >= 1 ? shards : 1.0) / (12.0 * parameters), 1.0, 1e-12);
    }
}

/* Chen et al. 2023 (AMSP): 2P/s_p + 2P/s_g + 12P/s_os bytes; the stages of ZeRO are corners of that, also in what is
 * sent and in time. */
TEST(shards_are_those_of_amsp)
{
    static const int64_t corners[4][3] = {{1, 1, 1}, {1, 1, 8}, {1, 8, 8}, {8, 8, 8}};
    struct bed bed;
    bed_init(&bed, &gpt);
    bed.plan.data = 8;
    const double parameters = (double)llm_parameters(&bed.llm);
    for (int64_t zero = 0; zero <= 3; zero++) {
        bed.plan.shard_weights = bed.plan.shard_gradients = bed.plan.shard_optimizer = 0;
        bed.plan.zero = zero;
        const struct training_step by_zero = step_of(&bed);
        bed.plan.zero = 0;
        bed.plan.shard_weights = corners[zero][0];
        bed.plan.shard_gradients = corners[zero][1];
        bed.plan.shard_optimizer = corners[zero][2];
        const struct training_step by_shards = step_of(&bed);
        CHECK_NEAR(by_shards.step_s, by_zero.step_s, 0.0);
        CHECK_NEAR(by_shards.data_bytes, by_zero.data_bytes, 0.0);
        CHECK_NEAR(by_shards.memory.total_bytes, by_zero.memory.total_bytes, 0.0);
    }
    bed.plan.shard_weights = 2;
    bed.plan.shard_gradients = 4;
    bed.plan.shard_optimizer = 8;
    const struct training_step step = step_of(&bed);
    CHECK_NEAR((step.memory.weight_bytes + step.memory.gradient_bytes + step.memory.optimizer_bytes) /
                   (parameters * (2.0 / 2.0 + 2.0 / 4.0 + 12.0 / 8.0)),
               1.0, 1e-12);
    /* Per micro-batch: weights twice and gradients over 2 ranks, a half of these over 2 more; at the end a quarter of
     * the gradients over 2, and a half of the weights over 4. */
    const double each = 3.0 / 2.0 + 0.5 / 2.0, last = 0.25 / 2.0 + 0.5 * 3.0 / 4.0;
    CHECK_NEAR(step.data_bytes / (2.0 * parameters * (4.0 * each + last)), 1.0, 1e-12);
    bed.plan.shard_gradients = 3;
    CHECK(training_plan_problem(&bed.plan, &bed.llm) != NULL);
}

/* --- The pipeline --- */

/* An LLM whose stages are alike: neither embedding nor head to speak of. */
static void make_even(struct bed *bed)
{
    bed_init(bed, &gpt);
    bed->llm.vocab = 8;
    bed->llm.position_embeddings = 0;
    bed->plan.gpus_per_node = 1024;
    bed->plan.pipeline = 4;
    bed->plan.micro_batches = 16;
}

static double bubble_frac(struct bed *bed)
{
    const struct training_step step = step_of(bed);
    return step.bubble_s / (step.forward_s + step.backward_s + step.recompute_s + step.pipeline_s);
}

/* Narayanan et al. 2021, section 2.2: (p - 1)/m of the ideal time, and 1/v of that. Qi et al. 2024: zero-bubble waits
 * (p - 1) (f + b - w), where backward passes take b + w. */
TEST(bubbles_are_those_of_the_schedules)
{
    struct bed bed;
    make_even(&bed);
    CHECK_NEAR(bubble_frac(&bed), 3.0 / 16.0, 0.004);
    bed.plan.schedule = SCHEDULE_GPIPE;
    CHECK_NEAR(bubble_frac(&bed), 3.0 / 16.0, 0.004);
    bed.plan.schedule = SCHEDULE_INTERLEAVED;
    bed.plan.chunks = 2;
    CHECK_NEAR(bubble_frac(&bed), 1.5 / 16.0, 0.004);
    bed.plan.chunks = 1;
    bed.plan.schedule = SCHEDULE_ZERO_BUBBLE;
    const double layers = 2.0;
    const struct training_block layer = training_block_of(&bed.parts, BLOCK_DENSE);
    const double forward = training_time_s(&layer.forward), input = training_time_s(&layer.input);
    const double weight = training_time_s(&layer.weight);
    CHECK_NEAR(step_of(&bed).bubble_s / (3.0 * layers * (forward + input - weight)), 1.0, 0.03);
    bed.plan.pipeline = 1;
    bed.plan.schedule = SCHEDULE_1F1B;
    CHECK_NEAR(step_of(&bed).bubble_s, 0.0, 0.0);
    CHECK_NEAR(step_of(&bed).pipeline_s, 0.0, 0.0);
}

TEST(micro_batches_in_flight)
{
    struct bed bed;
    make_even(&bed);
    for (int64_t stage = 0; stage < 4; stage++)
        CHECK_NEAR(training_in_flight(&bed.plan, stage), 4.0 - (double)stage, 0.0);
    bed.plan.micro_batches = 2;
    CHECK_NEAR(training_in_flight(&bed.plan, 0), 2.0, 0.0);
    bed.plan.micro_batches = 16;
    bed.plan.schedule = SCHEDULE_GPIPE;
    CHECK_NEAR(training_in_flight(&bed.plan, 3), 16.0, 0.0);
    bed.plan.schedule = SCHEDULE_INTERLEAVED;
    bed.plan.chunks = 2; /* p (1 + (p - 1)/(p v)) micro-batches on the first stage (Narayanan et al. 2021) */
    CHECK_NEAR(training_in_flight(&bed.plan, 0), 4.0 * (1.0 + 3.0 / 8.0), 1e-12);
}

/* --- Traffic --- */

/* Narayanan et al. 2021: 8 b s h (t - 1)/t numbers per layer, and half a layer's at both ends. Sequence parallelism
 * sends as much, and gathers two inputs again. */
TEST(tensor_groups_send_what_megatron_says)
{
    struct bed bed;
    bed_init(&bed, &gpt);
    bed.plan.tensor = 4;
    const double numbers = 2048.0 * 4096.0 * 3.0 / 4.0, batches = 4.0;
    CHECK_NEAR(step_of(&bed).tensor_bytes / (batches * 2.0 * numbers * (8.0 * 8.0 + 4.0)), 1.0, 1e-12);
    bed.plan.sequence = true;
    CHECK_NEAR(step_of(&bed).tensor_bytes / (batches * 2.0 * numbers * (8.0 * 10.0 + 5.0)), 1.0, 1e-12);
    bed.plan.tensor = 1;
    bed.plan.sequence = false;
    CHECK_NEAR(step_of(&bed).tensor_bytes, 0.0, 0.0);
    CHECK_NEAR(step_of(&bed).tensor_s, 0.0, 0.0);
}

/* A ring all-reduce of the gradients; with ZeRO a reduce-scatter of these and an all-gather of the weights. */
TEST(data_ranks_send_gradients_and_weights)
{
    struct bed bed;
    bed_init(&bed, &gpt);
    bed.plan.data = 8;
    bed.trainer.gradient_bytes = 4.0;
    const double parameters = (double)llm_parameters(&bed.llm), share = 7.0 / 8.0;
    CHECK_NEAR(step_of(&bed).data_bytes / (2.0 * share * 4.0 * parameters), 1.0, 1e-12);
    bed.plan.zero = 1;
    CHECK_NEAR(step_of(&bed).data_bytes / (share * 6.0 * parameters), 1.0, 1e-12);
    bed.plan.zero = 3; /* gathers weights forward and backward, and reduces, for each micro-batch */
    CHECK_NEAR(step_of(&bed).data_bytes / (4.0 * share * (4.0 + 2.0 * 2.0) * parameters), 1.0, 1e-12);
    bed.plan.data = 1;
    CHECK_NEAR(step_of(&bed).data_bytes, 0.0, 0.0);
}

/* With 131072 tokens of width 4096 on 8 ranks a ring brings each rank 1.879 GB of keys and values per layer, a quarter
 * of that with a quarter of the heads, and four all-to-alls 0.470 GB. Backward a ring also carries gradients. */
TEST(context_ranks_send_keys_and_values_or_heads)
{
    struct bed bed;
    bed_init(&bed, &gpt);
    bed.plan.context = 8;
    bed.plan.sequence_tokens = 131072;
    bed.plan.micro_batches = 1;
    bed.plan.context_form = CONTEXT_RING;
    const double ring = 7.0 * 2.0 * 16384.0 * 4096.0 * 2.0, exchange = 4.0 * 16384.0 * 4096.0 * 2.0 * 7.0 / 8.0;
    CHECK_NEAR(ring, 1.879e9, 1e6);
    CHECK_NEAR(exchange, 0.470e9, 1e6);
    CHECK_NEAR(step_of(&bed).context_bytes / (8.0 * 3.0 * ring), 1.0, 1e-12);
    bed.plan.context_form = CONTEXT_ALL_TO_ALL;
    CHECK_NEAR(step_of(&bed).context_bytes / (8.0 * 2.0 * exchange), 1.0, 1e-12);
    bed.llm.kv_heads = 8;
    bed.plan.context_form = CONTEXT_RING;
    CHECK_NEAR(step_of(&bed).context_bytes / (8.0 * 3.0 * ring / 4.0), 1.0, 1e-12);
}

/* Each choice of a token leaves its rank with the share of the other ranks, four times. */
TEST(expert_ranks_send_choices)
{
    struct bed bed;
    bed_init(&bed, &experts);
    bed.plan.data = bed.plan.expert = 8;
    const double bytes = 2048.0 * 6.0 * 2048.0 * 2.0 * 7.0 / 8.0;
    CHECK_NEAR(step_of(&bed).expert_bytes / (4.0 * 5.0 * 4.0 * bytes), 1.0, 1e-12);
    bed.plan.expert = 1;
    CHECK_NEAR(step_of(&bed).expert_s, 0.0, 0.0);
}

/* --- Laws --- */

TEST(parts_add_up)
{
    struct bed bed;
    bed_init(&bed, &experts);
    bed.plan.data = bed.plan.expert = 4;
    bed.plan.pipeline = 2;
    bed.plan.tensor = 2;
    bed.plan.zero = 1;
    bed.plan.recompute = RECOMPUTE_FULL;
    bed.trainer.step_s = 0.01;
    const struct training_step step = step_of(&bed);
    const double sum = step.forward_s + step.backward_s + step.recompute_s + step.bubble_s + step.tensor_s +
                       step.context_s + step.expert_s + step.pipeline_s + step.data_s + step.flush_s +
                       step.optimizer_s + step.host_s;
    CHECK_NEAR(sum / step.step_s, 1.0, 1e-12);
    const struct training_memory *memory = &step.memory;
    CHECK_NEAR((memory->weight_bytes + memory->gradient_bytes + memory->optimizer_bytes + memory->activation_bytes +
                memory->working_bytes + memory->buffer_bytes) /
                   memory->total_bytes,
               1.0, 1e-12);
    CHECK(step.outside_frac >= 0.0 && step.outside_frac <= 1.0);
}

TEST(more_work_takes_longer_and_more_memory)
{
    struct bed bed;
    bed_init(&bed, &gpt);
    double before_s = 0.0, before_bytes = 0.0;
    for (int64_t n = 1; n <= 16; n *= 2) {
        bed.plan.micro_batch = n;
        const struct training_step step = step_of(&bed);
        CHECK(step.step_s > before_s && step.memory.total_bytes > before_bytes);
        before_s = step.step_s;
        before_bytes = step.memory.total_bytes;
    }
    const struct training_step whole = step_of(&bed);
    bed.plan.recompute = RECOMPUTE_FULL;
    const struct training_step repeated = step_of(&bed);
    CHECK(repeated.step_s > whole.step_s && repeated.memory.total_bytes < whole.memory.total_bytes);
    CHECK_NEAR(repeated.model_flop, whole.model_flop, 0.0);
    bed.plan.recompute_layers = 4;
    const struct training_step half = step_of(&bed);
    CHECK(half.step_s < repeated.step_s && half.memory.activation_bytes > repeated.memory.activation_bytes);
    bed.trainer.sustained_compute = 0.4;
    CHECK(step_of(&bed).step_s > half.step_s);
}

/* CPUs update n parameters at their rate; of every second group the GPU moves 12 bytes of a parameter either way,
 * beside the CPUs. A flush of 4 bytes blocks, or hides behind the backward pass. The states leave the GPU. */
TEST(offloaded_states_are_updated_by_the_host)
{
    struct bed bed;
    bed_init(&bed, &gpt);
    bed.plan.data = 4;
    bed.plan.zero = 3;
    const struct training_step kept = step_of(&bed);
    const double parameters = (double)llm_parameters(&bed.llm);
    bed.plan.offload = (struct training_offload){.optimizer_frac = 1.0, .blocks_flush = true, .cpu_update_per_s = 5e9,
                                                 .flush_bytes_per_s = 5e9, .link_bytes_per_s = 25e9};
    const struct training_step host = step_of(&bed);
    CHECK_NEAR(host.memory.optimizer_bytes, 0.0, 0.0);
    CHECK_NEAR(host.flush_s / (parameters / 4.0 * 4.0 / 5e9), 1.0, 1e-12);
    CHECK(host.optimizer_s > parameters / 5e9 && host.optimizer_s < parameters / 5e9 + kept.optimizer_s);
    bed.plan.offload.gpu_stride = 2;
    CHECK_NEAR((host.optimizer_s - step_of(&bed).optimizer_s) / (0.5 * parameters / 5e9), 1.0, 1e-9);
    bed.plan.offload.link_bytes_per_s = 1e9; /* now the link is slower than the CPUs */
    const double moved_s = 0.5 * parameters / 4.0 * 12.0 / 1e9;
    CHECK_NEAR((step_of(&bed).optimizer_s - host.optimizer_s) / (moved_s - parameters / 5e9), 1.0, 1e-9);
    bed.plan.offload.link_bytes_per_s = 1e12;
    bed.plan.offload.blocks_flush = false;
    CHECK_NEAR(step_of(&bed).flush_s, 0.0, 0.0);
    bed.plan.offload.cpu_update_per_s = 0.0;
    CHECK(training_plan_problem(&bed.plan, &bed.llm) != NULL);
}

/* Overlap hides messages and nothing else. */
TEST(overlap_hides_messages)
{
    struct bed bed;
    bed_init(&bed, &gpt);
    bed.plan.tensor = 4;
    bed.plan.data = 2;
    bed.plan.zero = 1;
    bed.plan.sequence = true;
    const struct training_step open = step_of(&bed);
    bed.plan.overlap_tensor = bed.plan.overlap_gradients = bed.plan.overlap_weights = true;
    const struct training_step hidden = step_of(&bed);
    CHECK(hidden.tensor_s < open.tensor_s && hidden.data_s < open.data_s && hidden.data_s > 0.0);
    CHECK_NEAR(hidden.forward_s + hidden.backward_s, open.forward_s + open.backward_s, 1e-12);
    CHECK_NEAR(hidden.tensor_bytes + hidden.data_bytes, open.tensor_bytes + open.data_bytes, 0.0);
}

TEST(impossible_plans_have_reasons)
{
    struct bed bed;
    bed_init(&bed, &gpt);
    bed.plan.pipeline = 3;
    CHECK(training_plan_problem(&bed.plan, &bed.llm) != NULL);
    bed.plan.pipeline = 2;
    bed.plan.schedule = SCHEDULE_INTERLEAVED;
    CHECK(training_plan_problem(&bed.plan, &bed.llm) != NULL);
    bed.plan.chunks = 2;
    CHECK(training_plan_problem(&bed.plan, &bed.llm) == NULL);
    bed.plan.micro_batches = 3;
    CHECK(training_plan_problem(&bed.plan, &bed.llm) != NULL);
    bed_init(&bed, &gpt);
    bed.plan.expert = 2;
    CHECK(training_plan_problem(&bed.plan, &bed.llm) != NULL);
    bed_init(&bed, &gpt);
    bed.plan.data = 16;
    bed.plan.network_bytes_per_s = 0.0;
    CHECK(training_plan_problem(&bed.plan, &bed.llm) != NULL);
}

/* A tensor group fills a node before others begin; data ranks lie apart by it. */
TEST(groups_lie_on_nodes)
{
    struct bed bed;
    bed_init(&bed, &gpt);
    bed.plan.tensor = 4;
    bed.plan.data = 8;
    CHECK_EQ_INT(training_group_nodes(&bed.plan, training_tensor_group(&bed.plan)), 1);
    CHECK_EQ_INT(training_group_nodes(&bed.plan, training_replica_group(&bed.plan)), 4);
    bed.plan.tensor = 16;
    CHECK_EQ_INT(training_group_nodes(&bed.plan, training_tensor_group(&bed.plan)), 2);
    CHECK_EQ_INT(training_group_nodes(&bed.plan, training_replica_group(&bed.plan)), 8);
}

/* --- Exchanges --- */

static double exchanged(const struct training_exchanges *stage, enum training_exchange_kind kind,
                        struct training_group group)
{
    for (int32_t i = 0; i < stage->n; i++)
        if (stage->of[i].kind == kind && training_groups_are_equal(stage->of[i].group, group))
            return stage->of[i].bytes;
    return 0.0;
}

/* Narayanan et al. 2021: 8 b s h (t-1)/t numbers of each layer and micro-batch leave a rank, whatever is split by
 * tokens; a repeated forward pass adds half of that. Embedding and head have two more collectives. */
TEST(tensor_groups_exchange_eight_hidden_states)
{
    for (int t = 2; t <= 8; t *= 2)
        for (int full = 0; full <= 1; full++) {
            struct bed bed;
            struct training_exchanges stage;
            bed_init(&bed, &gpt);
            bed.plan.tensor = t;
            bed.plan.recompute = full ? RECOMPUTE_FULL : RECOMPUTE_NONE;
            training_exchanges_of(&bed.parts, &stage);
            const double bsh = 2048.0 * 4096.0 * 2.0 * (t - 1) / t, layers = 8.0, batches = 4.0;
            CHECK_NEAR(exchanged(&stage, EXCHANGE_RING, training_tensor_group(&bed.plan)) /
                           (batches * bsh * (layers * (full ? 12.0 : 8.0) + 2.0 + 2.0)),
                       1.0, 1e-12);
            bed.plan.sequence = true; /* the input is gathered once more for its gradient, in each half and the head */
            training_exchanges_of(&bed.parts, &stage);
            CHECK_NEAR(exchanged(&stage, EXCHANGE_RING, training_tensor_group(&bed.plan)) /
                           (batches * bsh * (layers * (10.0 + (full ? 4.0 : 0.0)) + 2.0 + 3.0)),
                       1.0, 1e-12);
        }
}

/* Rajbhandari et al. 2020: gradients and weights once, of ZeRO 3 the weights twice in every micro-batch. */
TEST(replicas_exchange_gradients_and_weights)
{
    for (int64_t zero = 0; zero <= 3; zero++) {
        struct bed bed;
        struct training_exchanges stage;
        bed_init(&bed, &gpt);
        bed.plan.data = 16;
        bed.plan.zero = zero;
        training_exchanges_of(&bed.parts, &stage);
        const double weights = 2.0 * (double)llm_parameters(&bed.llm) * 15.0 / 16.0, m = 4.0;
        const double gradients = weights;
        const double expected[] = {2.0 * gradients, gradients + weights, m * gradients + weights,
                                   m * gradients + 2.0 * m * weights};
        CHECK_EQ_INT(stage.n, 1);
        CHECK_NEAR(stage.of[0].bytes / expected[zero], 1.0, 1e-12);
    }
}

/* Neighbouring stages send b s h numbers each way for every micro-batch and chunk, or a t-th of them. */
TEST(stages_exchange_hidden_states)
{
    for (int64_t chunks = 1; chunks <= 2; chunks++) {
        struct bed bed;
        struct training_exchanges stages[4];
        bed_init(&bed, &gpt);
        bed.plan.pipeline = 4;
        bed.plan.chunks = chunks;
        bed.plan.schedule = chunks > 1 ? SCHEDULE_INTERLEAVED : SCHEDULE_1F1B;
        bed.plan.tensor = 2;
        const struct training_group group = {2, 2};
        training_exchanges_of(&bed.parts, stages);
        const double message = 2.0 * 2048.0 * 4096.0, m = 4.0;
        for (int i = 0; i < 4; i++)
            CHECK_NEAR(exchanged(&stages[i], EXCHANGE_STAGES, group) / (m * (double)chunks * message), 1.0, 1e-12);
        CHECK_NEAR(stages[3].of[stages[3].n - 1].wrap_bytes, m * (double)(chunks - 1) * message, 1.0);
        bed.plan.scatter_gather = true;
        training_exchanges_of(&bed.parts, stages);
        CHECK_NEAR(exchanged(&stages[1], EXCHANGE_STAGES, group) / (m * (double)chunks * message / 2.0), 1.0, 1e-12);
    }
}

/* Li et al. 2021: keys and values circulate once forward, and twice as much backward. */
TEST(context_ranks_pass_on_keys_and_values)
{
    struct bed bed;
    struct training_exchanges stage;
    bed_init(&bed, &gpt);
    bed.plan.context = 4;
    training_exchanges_of(&bed.parts, &stage);
    const double kv = 2.0 * (2048.0 / 4.0) * 32.0 * 256.0, layers = 8.0, m = 4.0;
    CHECK_NEAR(exchanged(&stage, EXCHANGE_SHIFT, training_context_group(&bed.plan)) / (m * layers * 3.0 * 3.0 * kv), 1.0,
               1e-12);
    bed.plan.context_form = CONTEXT_ALL_TO_ALL;
    training_exchanges_of(&bed.parts, &stage);
    CHECK_NEAR(exchanged(&stage, EXCHANGE_ALL_TO_ALL, training_context_group(&bed.plan)) /
                   (m * layers * 2.0 * 2.0 * kv * 3.0 / 4.0),
               1.0, 1e-12);
}

/* Each of a token's choices travels there and back, forward and backward, to others in (e-1)/e of the cases. */
TEST(experts_exchange_the_choices_of_tokens)
{
    for (int64_t tensor = 1; tensor <= 2; tensor++) {
        struct bed bed;
        struct training_exchanges stage;
        bed_init(&bed, &experts);
        bed.plan.data = bed.plan.expert = 8;
        bed.plan.tensor = tensor;
        training_exchanges_of(&bed.parts, &stage);
        const double choices = 2048.0 * 6.0 * 2048.0 * 2.0 / (double)tensor, sparse = 5.0, m = 4.0;
        CHECK_NEAR(exchanged(&stage, EXCHANGE_ALL_TO_ALL, training_expert_group(&bed.plan)) /
                       (m * sparse * 4.0 * choices * 7.0 / 8.0),
                   1.0, 1e-12);
    }
}

/* A spread that says what the plan says changes nothing; less bandwidth never makes a step shorter. */
TEST(a_spread_gives_nodes_and_bandwidth)
{
    struct bed bed;
    bed_init(&bed, &gpt);
    bed.plan.data = 16;
    bed.plan.zero = 1;
    const double step_s = step_of(&bed).step_s, gbytes = 25e9;
    struct training_spread spread = {1, {{EXCHANGE_RING, training_replica_group(&bed.plan), 2.0, 1.0}}};
    bed.plan.spread = &spread;
    CHECK_NEAR(step_of(&bed).step_s, step_s, 0.0);
    double before_s = step_s;
    for (double frac = 0.8; frac > 0.1; frac -= 0.2) {
        spread.of[0].network_frac = frac;
        bed.plan.spread = &spread;
        const double slowed_s = step_of(&bed).step_s;
        CHECK(slowed_s > before_s);
        before_s = slowed_s;
        bed.plan.spread = NULL;
        bed.plan.network_bytes_per_s = gbytes * frac;
        CHECK_NEAR(step_of(&bed).step_s, slowed_s, 1e-12 * slowed_s);
        bed.plan.network_bytes_per_s = gbytes;
    }
}

/* --- Phases --- */

/* The phases are the step; GPUs compute no longer than in kernels that the core bounds, and below their peaks. */
TEST(phases_are_the_step)
{
    for (int kind = 0; kind < 4; kind++) {
        struct bed bed;
        struct power_stage phases[TRAINING_PHASES];
        bed_init(&bed, kind == 3 ? &experts : &gpt);
        bed.plan.pipeline = kind == 1 ? 4 : 1;
        bed.plan.data = kind == 0 ? 1 : 8;
        bed.plan.expert = kind == 3 ? 8 : 1;
        bed.plan.tensor = kind == 2 ? 2 : 1;
        bed.plan.offload.optimizer_frac = kind == 2 ? 0.5 : 0.0;
        bed.plan.offload.cpu_update_per_s = 6e9;
        bed.plan.offload.link_bytes_per_s = 20e9;
        bed.trainer.step_s = 0.01;
        const struct training_step step = step_of(&bed);
        training_phases_of(&bed.parts, &step, phases);
        double sum_s = 0.0;
        for (int i = 0; i < TRAINING_PHASES; i++) sum_s += phases[i].time_s;
        CHECK_NEAR(sum_s / step.step_s, 1.0, 1e-12);
        CHECK(phases[PHASE_COMPUTE].load.compute_frac > 0.2 && phases[PHASE_COMPUTE].load.compute_frac < 1.0);
        CHECK(phases[PHASE_COMPUTE].load.memory_frac > 0.0 && phases[PHASE_COMPUTE].load.memory_frac < 1.0);
        CHECK(phases[PHASE_COMPUTE].clock_share > 0.3 && phases[PHASE_COMPUTE].clock_share < 1.0);
        CHECK((phases[PHASE_BUBBLE].time_s > 0.0) == (kind == 1));
        CHECK((phases[PHASE_MESSAGES].time_s > 0.0) == (kind > 0));
        CHECK(phases[PHASE_WAITING].time_s >= 0.01 * (1.0 - 1e-12));
    }
}

/* Without attention's own count, operations are those of the model: products thrice, those of attention three and a half
 * times, and half of its pairs are masked. */
TEST(kernels_do_the_operations_of_the_model)
{
    struct bed bed;
    bed_init(&bed, &gpt);
    const struct training_step step = step_of(&bed);
    const double tokens = training_plan_tokens(&bed.plan), scores = tokens * 8.0 * 2.0 * 2.0 * 4096.0 * 2048.0;
    CHECK_NEAR(step.flop / (step.model_flop - 3.0 * scores + 3.5 * 0.5 * scores), 1.0, 1e-3);
}
