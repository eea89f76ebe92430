#include "tests/support/plan_bed.h"

#include "tests/support/harness.h"

/* An A100 SXM as its data sheet says; kernels at their initial parameters. */
const struct gpu_spec plan_bed_a100 = {
    .name = "a100", .peak_flop_per_s = {[FORMAT_FP32] = 19.5e12, [FORMAT_FP16] = 312e12, [FORMAT_BF16] = 312e12},
    .memory_bytes = 85.9e9, .memory_bytes_per_s = 2.039e12, .l2_bytes = 40e6, .sm_count = 108, .boost_hz = 1.41e9,
    .fabric = FABRIC_SWITCH, .nvlink_gpus = 8, .nvlink_bytes_per_s = 300e9, .pcie_bytes_per_s = 32e9,
    .peer_to_peer = true, .switches_per_socket = 1, .bridge_share = 1.0};

/* GPT: plain attention, feed-forward layer of four times the width. */
const struct llm_spec plan_bed_gpt = {
    .name = "gpt", .layers = 8, .hidden = 4096, .q_heads = 32, .kv_heads = 32, .head_dim = 128, .ffn = 16384,
    .vocab = 51200, .max_context = 2048, .tied_embeddings = true, .layer_norms = 2, .position_embeddings = 2048,
    .weights = FORMAT_BF16, .compute = FORMAT_BF16, .kv = FORMAT_BF16};

const struct llm_spec plan_bed_experts = {
    .name = "experts", .layers = 6, .hidden = 2048, .q_heads = 16, .kv_heads = 16, .head_dim = 128, .query_latent = 768,
    .kv_latent = 512, .rotary_dim = 64, .value_dim = 128, .ffn = 1024, .gated_ffn = true, .experts = 64,
    .experts_per_token = 6, .expert_ffn = 1024, .dense_layers = 1, .dense_ffn = 8192, .vocab = 32000,
    .max_context = 4096, .layer_norms = 2, .weights = FORMAT_BF16, .compute = FORMAT_BF16, .kv = FORMAT_BF16};

void plan_bed_init(struct plan_bed *bed, const struct llm_spec *llm)
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
    bed->parts = (struct training_parts){&plan_bed_a100, &bed->llm, &bed->kernels, &bed->plan, &bed->trainer};
}

struct training_step plan_bed_step(struct plan_bed *bed)
{
    CHECK(training_plan_problem(&bed->plan, &bed->llm) == NULL);
    return training_step_of(&bed->parts, 0.0);
}
