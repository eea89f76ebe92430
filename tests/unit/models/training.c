/* A training step: closed forms of papers for FLOP, memory and traffic, and laws of plans. */
#include "models/training/phases.h"
#include "tests/support/harness.h"
#include "tests/support/plan_bed.h"

#include <math.h>

/* --- Closed forms --- */

/* Narayanan et al. 2021, equation 3: 96 B s l h^2 (1 + s/(6h) + V/(16 l h)) with whole layers recomputed. */
TEST(flop_are_those_of_megatron)
{
    struct plan_bed bed;
    plan_bed_init(&bed, &plan_bed_gpt);
    const double s = 2048.0, h = 4096.0, l = 8.0, v = 51200.0, b = 4.0;
    bed.plan.recompute = RECOMPUTE_FULL;
    const struct training_step step = plan_bed_step(&bed);
    const double megatron = 96.0 * b * s * l * h * h * (1.0 + s / (6.0 * h) + v / (16.0 * l * h));
    CHECK_NEAR(step.hardware_flop / megatron, 1.0, 1e-12);
    CHECK_NEAR(step.model_flop / (megatron - 24.0 * b * s * l * h * h * (1.0 + s / (6.0 * h))), 1.0, 1e-12);
    CHECK_NEAR(step.hfu / step.mfu, step.hardware_flop / step.model_flop, 1e-12);
    CHECK_NEAR(step.mfu, step.model_flop / (312e12 * step.step_s), 1e-12);
}

/* Without scores and head a step has six FLOP per weight and token (Kaplan et al. 2020). */
TEST(flop_are_six_per_weight_and_token)
{
    struct plan_bed bed;
    plan_bed_init(&bed, &plan_bed_gpt);
    const double weights = 12.0 * 8.0 * 4096.0 * 4096.0, tokens = training_plan_tokens(&bed.plan);
    const double scores = 3.0 * tokens * 8.0 * 2.0 * 2.0 * 4096.0 * 2048.0, head = 6.0 * tokens * 51200.0 * 4096.0;
    CHECK_NEAR((training_model_flop(&bed.parts) - scores - head) / (6.0 * weights * tokens), 1.0, 1e-12);
}

/* All ranks of a stage hold all parameters together, whatever the split. */
TEST(parameters_are_those_of_the_llm)
{
    const struct llm_spec *const llms[] = {&plan_bed_gpt, &plan_bed_experts};
    for (int i = 0; i < 2; i++) {
        struct plan_bed bed;
        plan_bed_init(&bed, llms[i]);
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
    struct plan_bed bed;
    plan_bed_init(&bed, &plan_bed_gpt);
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
    struct plan_bed bed;
    plan_bed_init(&bed, &plan_bed_gpt);
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
    struct plan_bed bed;
    plan_bed_init(&bed, &plan_bed_gpt);
    bed.plan.data = 8;
    const double parameters = (double)llm_parameters(&bed.llm);
    for (int64_t zero = 0; zero <= 3; zero++) {
        bed.plan.shard_weights = bed.plan.shard_gradients = bed.plan.shard_optimizer = 0;
        bed.plan.zero = zero;
        const struct training_step by_zero = plan_bed_step(&bed);
        bed.plan.zero = 0;
        bed.plan.shard_weights = corners[zero][0];
        bed.plan.shard_gradients = corners[zero][1];
        bed.plan.shard_optimizer = corners[zero][2];
        const struct training_step by_shards = plan_bed_step(&bed);
        CHECK_NEAR(by_shards.step_s, by_zero.step_s, 0.0);
        CHECK_NEAR(by_shards.data_bytes, by_zero.data_bytes, 0.0);
        CHECK_NEAR(by_shards.memory.total_bytes, by_zero.memory.total_bytes, 0.0);
    }
    bed.plan.shard_weights = 2;
    bed.plan.shard_gradients = 4;
    bed.plan.shard_optimizer = 8;
    const struct training_step step = plan_bed_step(&bed);
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
static void make_even(struct plan_bed *bed)
{
    plan_bed_init(bed, &plan_bed_gpt);
    bed->llm.vocab = 8;
    bed->llm.position_embeddings = 0;
    bed->plan.gpus_per_node = 1024;
    bed->plan.pipeline = 4;
    bed->plan.micro_batches = 16;
}

static double bubble_frac(struct plan_bed *bed)
{
    const struct training_step step = plan_bed_step(bed);
    return step.bubble_s / (step.forward_s + step.backward_s + step.recompute_s + step.pipeline_s);
}

/* Narayanan et al. 2021, section 2.2: (p - 1)/m of the ideal time, and 1/v of that. Qi et al. 2024: zero-bubble waits
 * (p - 1) (f + b - w), where backward passes take b + w. */
TEST(bubbles_are_those_of_the_schedules)
{
    struct plan_bed bed;
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
    CHECK_NEAR(plan_bed_step(&bed).bubble_s / (3.0 * layers * (forward + input - weight)), 1.0, 0.03);
    bed.plan.pipeline = 1;
    bed.plan.schedule = SCHEDULE_1F1B;
    CHECK_NEAR(plan_bed_step(&bed).bubble_s, 0.0, 0.0);
    CHECK_NEAR(plan_bed_step(&bed).pipeline_s, 0.0, 0.0);
}

TEST(micro_batches_in_flight)
{
    struct plan_bed bed;
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
    struct plan_bed bed;
    plan_bed_init(&bed, &plan_bed_gpt);
    bed.plan.tensor = 4;
    const double numbers = 2048.0 * 4096.0 * 3.0 / 4.0, batches = 4.0;
    CHECK_NEAR(plan_bed_step(&bed).tensor_bytes / (batches * 2.0 * numbers * (8.0 * 8.0 + 4.0)), 1.0, 1e-12);
    bed.plan.sequence = true;
    CHECK_NEAR(plan_bed_step(&bed).tensor_bytes / (batches * 2.0 * numbers * (8.0 * 10.0 + 5.0)), 1.0, 1e-12);
    bed.plan.tensor = 1;
    bed.plan.sequence = false;
    CHECK_NEAR(plan_bed_step(&bed).tensor_bytes, 0.0, 0.0);
    CHECK_NEAR(plan_bed_step(&bed).tensor_s, 0.0, 0.0);
}

/* A ring all-reduce of the gradients; with ZeRO a reduce-scatter of these and an all-gather of the weights. */
TEST(data_ranks_send_gradients_and_weights)
{
    struct plan_bed bed;
    plan_bed_init(&bed, &plan_bed_gpt);
    bed.plan.data = 8;
    bed.trainer.gradient_bytes = 4.0;
    const double parameters = (double)llm_parameters(&bed.llm), share = 7.0 / 8.0;
    CHECK_NEAR(plan_bed_step(&bed).data_bytes / (2.0 * share * 4.0 * parameters), 1.0, 1e-12);
    bed.plan.zero = 1;
    CHECK_NEAR(plan_bed_step(&bed).data_bytes / (share * 6.0 * parameters), 1.0, 1e-12);
    bed.plan.zero = 3; /* gathers weights forward and backward, and reduces, for each micro-batch */
    CHECK_NEAR(plan_bed_step(&bed).data_bytes / (4.0 * share * (4.0 + 2.0 * 2.0) * parameters), 1.0, 1e-12);
    bed.plan.data = 1;
    CHECK_NEAR(plan_bed_step(&bed).data_bytes, 0.0, 0.0);
}

/* Two ranks with a link of their own take as long for a byte wherever they lie on the node, but for
 * latencies. Eight use all links. */
TEST(a_pair_has_one_link_of_eight)
{
    struct plan_bed bed;
    double byte_s[3];
    for (int i = 0; i < 3; i++) {
        plan_bed_init(&bed, &plan_bed_gpt);
        struct gpu_spec full = *bed.parts.gpu;
        full.fabric = FABRIC_FULL;
        bed.parts.gpu = &full;
        bed.plan.tensor = i == 1 ? 4 : 1;
        bed.plan.data = i == 2 ? 8 : 2;
        const struct training_step step = plan_bed_step(&bed);
        byte_s[i] = step.data_s / step.data_bytes;
    }
    CHECK_NEAR(byte_s[1] / byte_s[0], 1.0, 0.02);
    CHECK_NEAR(byte_s[0] / byte_s[2], 7.0, 0.15);
}

/* AMSP's cost of optimizer states: gradients are summed on all ranks, and each of the ranks that share optimizer states
 * broadcasts the weights that it has updated. Every further rank adds the steps of a broadcast. */
TEST(ranks_broadcast_what_they_update)
{
    struct plan_bed bed;
    plan_bed_init(&bed, &plan_bed_gpt);
    const double parameters = (double)llm_parameters(&bed.llm);
    const struct training_step scattered = plan_bed_step(&bed);
    bed.trainer.broadcasts = true;
    CHECK_NEAR(plan_bed_step(&bed).step_s, scattered.step_s, 0.0); /* one rank */
    bed.plan.data = 8;
    CHECK_NEAR(plan_bed_step(&bed).data_bytes / (2.0 * 7.0 / 8.0 * 2.0 * parameters), 1.0, 1e-12);
    bed.plan.zero = 1;
    CHECK_NEAR(plan_bed_step(&bed).data_bytes / ((2.0 * 7.0 / 8.0 * 2.0 + 2.0) * parameters), 1.0, 1e-12);
    bed.plan.zero = 3; /* nothing is left for the end */
    const double whole = plan_bed_step(&bed).data_bytes;
    bed.trainer.broadcasts = false;
    CHECK_NEAR(plan_bed_step(&bed).data_bytes, whole, 0.0);
    bed.trainer.broadcasts = true;
    bed.plan.zero = 0;
    bed.plan.shard_weights = bed.plan.shard_gradients = 1;
    double seconds[3];
    for (int i = 0; i < 3; i++) {
        bed.plan.data = 256;
        bed.plan.shard_optimizer = i == 0 ? 8 : i == 1 ? 64 : 256;
        seconds[i] = plan_bed_step(&bed).data_s;
    }
    CHECK(seconds[1] > seconds[0] && seconds[2] - seconds[1] > 3.0 * (seconds[1] - seconds[0]));
}

/* With 131072 tokens of width 4096 on 8 ranks a ring brings each rank 1.879 GB of keys and values per layer, a quarter
 * of that with a quarter of the heads, and four all-to-alls 0.470 GB. Backward a ring also carries gradients. */
TEST(context_ranks_send_keys_and_values_or_heads)
{
    struct plan_bed bed;
    plan_bed_init(&bed, &plan_bed_gpt);
    bed.plan.context = 8;
    bed.plan.sequence_tokens = 131072;
    bed.plan.micro_batches = 1;
    bed.plan.context_form = CONTEXT_RING;
    const double ring = 7.0 * 2.0 * 16384.0 * 4096.0 * 2.0, exchange = 4.0 * 16384.0 * 4096.0 * 2.0 * 7.0 / 8.0;
    CHECK_NEAR(ring, 1.879e9, 1e6);
    CHECK_NEAR(exchange, 0.470e9, 1e6);
    CHECK_NEAR(plan_bed_step(&bed).context_bytes / (8.0 * 3.0 * ring), 1.0, 1e-12);
    bed.plan.context_form = CONTEXT_ALL_TO_ALL;
    CHECK_NEAR(plan_bed_step(&bed).context_bytes / (8.0 * 2.0 * exchange), 1.0, 1e-12);
    bed.llm.kv_heads = 8;
    bed.plan.context_form = CONTEXT_RING;
    CHECK_NEAR(plan_bed_step(&bed).context_bytes / (8.0 * 3.0 * ring / 4.0), 1.0, 1e-12);
}

/* Each choice of a token leaves its rank with the share of the other ranks, four times. */
TEST(expert_ranks_send_choices)
{
    struct plan_bed bed;
    plan_bed_init(&bed, &plan_bed_experts);
    bed.plan.data = bed.plan.expert = 8;
    const double bytes = 2048.0 * 6.0 * 2048.0 * 2.0 * 7.0 / 8.0;
    CHECK_NEAR(plan_bed_step(&bed).expert_bytes / (4.0 * 5.0 * 4.0 * bytes), 1.0, 1e-12);
    bed.plan.expert = 1;
    CHECK_NEAR(plan_bed_step(&bed).expert_s, 0.0, 0.0);
}

/* --- Laws --- */

TEST(parts_add_up)
{
    struct plan_bed bed;
    plan_bed_init(&bed, &plan_bed_experts);
    bed.plan.data = bed.plan.expert = 4;
    bed.plan.pipeline = 2;
    bed.plan.tensor = 2;
    bed.plan.zero = 1;
    bed.plan.recompute = RECOMPUTE_FULL;
    bed.trainer.step_s = 0.01;
    const struct training_step step = plan_bed_step(&bed);
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
    struct plan_bed bed;
    plan_bed_init(&bed, &plan_bed_gpt);
    double before_s = 0.0, before_bytes = 0.0;
    for (int64_t n = 1; n <= 16; n *= 2) {
        bed.plan.micro_batch = n;
        const struct training_step step = plan_bed_step(&bed);
        CHECK(step.step_s > before_s && step.memory.total_bytes > before_bytes);
        before_s = step.step_s;
        before_bytes = step.memory.total_bytes;
    }
    const struct training_step whole = plan_bed_step(&bed);
    bed.plan.recompute = RECOMPUTE_FULL;
    const struct training_step repeated = plan_bed_step(&bed);
    CHECK(repeated.step_s > whole.step_s && repeated.memory.total_bytes < whole.memory.total_bytes);
    CHECK_NEAR(repeated.model_flop, whole.model_flop, 0.0);
    bed.plan.recompute_layers = 4;
    const struct training_step half = plan_bed_step(&bed);
    CHECK(half.step_s < repeated.step_s && half.memory.activation_bytes > repeated.memory.activation_bytes);
    bed.trainer.sustained_compute = 0.4;
    CHECK(plan_bed_step(&bed).step_s > half.step_s);
}

/* CPUs update n parameters at their rate; of every second group the GPU moves 12 bytes of a parameter either way,
 * beside the CPUs. A flush of 4 bytes blocks, or hides behind the backward pass. The states leave the GPU. */
TEST(offloaded_states_are_updated_by_the_host)
{
    struct plan_bed bed;
    plan_bed_init(&bed, &plan_bed_gpt);
    bed.plan.data = 4;
    bed.plan.zero = 3;
    const struct training_step kept = plan_bed_step(&bed);
    const double parameters = (double)llm_parameters(&bed.llm);
    bed.plan.offload = (struct training_offload){.optimizer_frac = 1.0, .blocks_flush = true, .cpu_update_per_s = 5e9,
                                                 .flush_bytes_per_s = 5e9, .link_bytes_per_s = 25e9};
    const struct training_step host = plan_bed_step(&bed);
    CHECK_NEAR(host.memory.optimizer_bytes, 0.0, 0.0);
    CHECK_NEAR(host.flush_s / (parameters / 4.0 * 4.0 / 5e9), 1.0, 1e-12);
    CHECK(host.optimizer_s > parameters / 5e9 && host.optimizer_s < parameters / 5e9 + kept.optimizer_s);
    bed.plan.offload.gpu_stride = 2;
    CHECK_NEAR((host.optimizer_s - plan_bed_step(&bed).optimizer_s) / (0.5 * parameters / 5e9), 1.0, 1e-9);
    bed.plan.offload.link_bytes_per_s = 1e9; /* now the link is slower than the CPUs */
    const double moved_s = 0.5 * parameters / 4.0 * 12.0 / 1e9;
    CHECK_NEAR((plan_bed_step(&bed).optimizer_s - host.optimizer_s) / (moved_s - parameters / 5e9), 1.0, 1e-9);
    bed.plan.offload.link_bytes_per_s = 1e12;
    bed.plan.offload.blocks_flush = false;
    CHECK_NEAR(plan_bed_step(&bed).flush_s, 0.0, 0.0);
    bed.plan.offload.cpu_update_per_s = 0.0;
    CHECK(training_plan_problem(&bed.plan, &bed.llm) != NULL);
}

/* Overlap hides messages and nothing else. */
TEST(overlap_hides_messages)
{
    struct plan_bed bed;
    plan_bed_init(&bed, &plan_bed_gpt);
    bed.plan.tensor = 4;
    bed.plan.data = 2;
    bed.plan.zero = 1;
    bed.plan.sequence = true;
    const struct training_step open = plan_bed_step(&bed);
    bed.plan.overlap_tensor = bed.plan.overlap_gradients = bed.plan.overlap_weights = true;
    const struct training_step hidden = plan_bed_step(&bed);
    CHECK(hidden.tensor_s < open.tensor_s && hidden.data_s < open.data_s && hidden.data_s > 0.0);
    CHECK_NEAR(hidden.forward_s + hidden.backward_s, open.forward_s + open.backward_s, 1e-12);
    CHECK_NEAR(hidden.tensor_bytes + hidden.data_bytes, open.tensor_bytes + open.data_bytes, 0.0);
}

TEST(impossible_plans_have_reasons)
{
    struct plan_bed bed;
    plan_bed_init(&bed, &plan_bed_gpt);
    bed.plan.pipeline = 3;
    CHECK(training_plan_problem(&bed.plan, &bed.llm) != NULL);
    bed.plan.pipeline = 2;
    bed.plan.schedule = SCHEDULE_INTERLEAVED;
    CHECK(training_plan_problem(&bed.plan, &bed.llm) != NULL);
    bed.plan.chunks = 2;
    CHECK(training_plan_problem(&bed.plan, &bed.llm) == NULL);
    bed.plan.micro_batches = 3;
    CHECK(training_plan_problem(&bed.plan, &bed.llm) != NULL);
    plan_bed_init(&bed, &plan_bed_gpt);
    bed.plan.expert = 2;
    CHECK(training_plan_problem(&bed.plan, &bed.llm) != NULL);
    plan_bed_init(&bed, &plan_bed_gpt);
    bed.plan.data = 16;
    bed.plan.network_bytes_per_s = 0.0;
    CHECK(training_plan_problem(&bed.plan, &bed.llm) != NULL);
}

/* A tensor group fills a node before others begin; data ranks lie apart by it. */
TEST(groups_lie_on_nodes)
{
    struct plan_bed bed;
    plan_bed_init(&bed, &plan_bed_gpt);
    bed.plan.tensor = 4;
    bed.plan.data = 8;
    CHECK_EQ_INT(training_group_nodes(&bed.plan, training_tensor_group(&bed.plan)), 1);
    CHECK_EQ_INT(training_group_nodes(&bed.plan, training_replica_group(&bed.plan)), 4);
    bed.plan.tensor = 16;
    CHECK_EQ_INT(training_group_nodes(&bed.plan, training_tensor_group(&bed.plan)), 2);
    CHECK_EQ_INT(training_group_nodes(&bed.plan, training_replica_group(&bed.plan)), 8);
}

/* The same rank of the next stage is as many ranks away as a stage has: some rank crosses the end of a node if the two
 * stages together do. */
TEST(stages_lie_on_nodes)
{
    static const int64_t data[] = {1, 2, 3, 8, 12};
    for (int i = 0; i < 5; i++) {
        struct plan_bed bed;
        plan_bed_init(&bed, &plan_bed_gpt);
        bed.plan.pipeline = 8;
        bed.plan.data = data[i];
        for (int64_t stage = 0; stage < 8; stage++) {
            bool is_far = false;
            for (int64_t rank = 0; rank < data[i]; rank++)
                is_far = is_far || (stage * data[i] + rank) / 8 != ((stage + 1) % 8 * data[i] + rank) / 8;
            CHECK_EQ_INT(training_stage_is_far(&bed.plan, stage), is_far);
        }
    }
}

/* Sending over a slow network delays the stages at the end of a node alone: the last of four on it, and the next. */
TEST(far_stages_wait_for_the_network)
{
    double seconds[3];
    for (int i = 0; i < 3; i++) {
        struct plan_bed bed;
        plan_bed_init(&bed, &plan_bed_gpt);
        bed.plan.pipeline = 8;
        bed.plan.data = 1 << i; /* one node; four stages on a node; two */
        bed.plan.network_bytes_per_s = 1e9;
        seconds[i] = plan_bed_step(&bed).pipeline_s;
    }
    CHECK(seconds[1] > 2.0 * seconds[0]);
    CHECK_NEAR(seconds[2], seconds[1], 1e-12);
}

/* In fp8, products with weights run on 8-bit units at twice the peak. Scores and the head keep 16 bits. */
TEST(flop_load_the_units_of_their_format)
{
    struct gpu_spec gpu = plan_bed_a100;
    struct power_stage phases[2][TRAINING_PHASES];
    double flop[2], narrow_flop = 0.0;
    gpu.peak_flop_per_s[FORMAT_FP8] = 2.0 * gpu.peak_flop_per_s[FORMAT_BF16];
    for (int i = 0; i < 2; i++) {
        struct plan_bed bed;
        plan_bed_init(&bed, &plan_bed_gpt);
        bed.parts.gpu = &gpu;
        bed.plan.compute = i == 0 ? FORMAT_BF16 : FORMAT_FP8;
        const struct training_step step = plan_bed_step(&bed);
        training_phases_of(&bed.parts, &step, phases[i]);
        flop[i] = step.flop;
        narrow_flop = 3.0 * training_plan_tokens(&bed.plan) *
                      (llm_flop_per_token(&bed.llm, 0) - llm_head_flop(&bed.llm));
    }
    CHECK_NEAR(flop[1] / flop[0], 1.0, 1e-12);
    CHECK_NEAR(phases[0][PHASE_COMPUTE].load.compute_frac * phases[0][PHASE_COMPUTE].time_s * 312e12 / flop[0], 1.0,
               1e-12);
    const double busy_s = (flop[1] - narrow_flop) / 312e12 + narrow_flop / 624e12;
    CHECK_NEAR(phases[1][PHASE_COMPUTE].load.compute_frac * phases[1][PHASE_COMPUTE].time_s / busy_s, 1.0, 1e-12);
}
