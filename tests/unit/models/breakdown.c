#include "models/operators/operators.h"
#include "tests/support/harness.h"

static const struct gpu_spec gpu = {
    .peak_flop_per_s = {[FORMAT_FP32] = 20e12, [FORMAT_FP16] = 300e12}, .memory_bytes_per_s = 2e12, .sm_count = 108,
    .boost_hz = 1.41e9,
    .fabric = FABRIC_SWITCH, .nvlink_gpus = 8, .nvlink_bytes_per_s = 300e9, .pcie_bytes_per_s = 32e9,
};
static const struct llm_spec llama_3_70b = {
    .layers = 80, .hidden = 8192, .q_heads = 64, .kv_heads = 8, .head_dim = 128, .ffn = 28672, .vocab = 128256,
    .max_context = 8192, .gated_ffn = true, .layer_norms = 2,
    .weights = FORMAT_FP16, .compute = FORMAT_FP16, .kv = FORMAT_FP16,
};
static const struct llm_spec mixture = {
    .layers = 27, .hidden = 2048, .q_heads = 16, .kv_heads = 16, .head_dim = 128, .kv_latent = 512, .rotary_dim = 64,
    .value_dim = 128, .ffn = 2816, .experts = 64, .experts_per_token = 6, .expert_ffn = 1408, .dense_layers = 1,
    .dense_ffn = 10944, .vocab = 102400, .max_context = 16384, .gated_ffn = true, .layer_norms = 2,
    .weights = FORMAT_FP16, .compute = FORMAT_FP16, .kv = FORMAT_FP16,
};
static const struct llm_spec *const llms[] = {&llama_3_70b, &mixture};
static const struct iteration_work batches[] = {
    {.decode_sequences = 32, .decode_context_tokens = 32 * 1000},
    {.prefill_sequences = 1, .prefill_tokens = 2048, .prefill_pairs = 2048.0 * 2048.0},
    {.prefill_sequences = 1, .prefill_tokens = 500, .prefill_context_tokens = 700,
     .prefill_pairs = 500.0 * 500.0 + 2.0 * 500.0 * 700.0, .decode_sequences = 7, .decode_context_tokens = 900},
};

enum { N_LLMS = sizeof llms / sizeof *llms, N_BATCHES = sizeof batches / sizeof *batches };

static struct operators_parts parts_of(const struct llm_spec *llm, const struct kernel_set *set)
{
    return (struct operators_parts){
        .gpu = &gpu, .llm = llm, .kernels = set,
        .split = {.tensor = 4, .pipeline = 1, .expert = 1, .gpus_per_node = 4, .network_bytes_per_s = 50e9},
        .engine = {.layer_launch_s = 1e-6, .iteration_s = 3e-3, .sequence_s = 1e-5},
    };
}

/* Every kernel is in one row; a row's parts are its kernels'. */
TEST(rows_hold_every_kernel_once)
{
    struct kernel_set set;
    kernel_set_init(&set);
    for (int l = 0; l < N_LLMS; l++) {
        for (int b = 0; b < N_BATCHES; b++) {
            const struct operators_parts parts = parts_of(llms[l], &set);
            struct iteration_breakdown breakdown;
            struct kernel_use uses[LLM_MAX_USES];
            const size_t n = llm_iteration_kernels(llms[l], &parts.split, &gpu, &batches[b], uses);
            double launches = 0.0, seconds = 0.0, bytes = 0.0, rows = 0.0, row_bytes = 0.0;
            for (size_t i = 0; i < n; i++) {
                const struct kernel_call *call = &uses[i].call;
                const struct kernel_time time = kernel_call_time(&set.params[call->class], &gpu, call);
                launches += uses[i].count;
                seconds += uses[i].count * time.seconds;
                bytes += uses[i].count * time.bytes;
            }
            iteration_breakdown(&parts, &batches[b], &breakdown);
            for (size_t i = 0; i < breakdown.n; i++) {
                CHECK(i == 0 || breakdown.operators[i].op > breakdown.operators[i - 1].op);
                rows += breakdown.operators[i].launches;
                row_bytes += breakdown.operators[i].time.bytes;
            }
            CHECK_NEAR(rows, launches, 0.0);
            CHECK_NEAR(breakdown.gpu_s / seconds, 1.0, 1e-12);
            CHECK_NEAR(row_bytes / bytes, 1.0, 1e-12);
        }
    }
}

/* Where every share of a peak is below one, nothing is faster than the data sheet allows. */
TEST(no_operator_beats_the_data_sheet)
{
    struct kernel_set set;
    kernel_set_init(&set);
    for (int l = 0; l < N_LLMS; l++) {
        for (int b = 0; b < N_BATCHES; b++) {
            struct operators_parts parts = parts_of(llms[l], &set);
            for (; parts.split.tensor <= 16; parts.split.tensor *= 2) {
                struct iteration_breakdown breakdown;
                iteration_breakdown(&parts, &batches[b], &breakdown);
                for (size_t i = 0; i < breakdown.n; i++) {
                    const struct operator_share *row = &breakdown.operators[i];
                    CHECK(row->ideal_s > 0.0 && row->ideal_s <= row->time.seconds);
                }
            }
        }
    }
}

/* A large prompt's product computes 2 m n k operations at the peak; a lone token's reads its weights at the
 * bandwidth. */
TEST(ideals_are_those_of_the_roofline)
{
    struct kernel_set set;
    struct iteration_breakdown breakdown;
    kernel_set_init(&set);
    struct operators_parts parts = parts_of(&llama_3_70b, &set);
    parts.split.tensor = 1;
    iteration_breakdown(&parts, &batches[1], &breakdown);
    for (size_t i = 0; i < breakdown.n; i++)
        if (breakdown.operators[i].op == OP_DOWN)
            CHECK_NEAR(breakdown.operators[i].ideal_s / (80.0 * 2.0 * 2048.0 * 8192.0 * 28672.0 / 300e12), 1.0, 1e-12);
    const struct iteration_work one = {.decode_sequences = 1, .decode_context_tokens = 10};
    iteration_breakdown(&parts, &one, &breakdown);
    for (size_t i = 0; i < breakdown.n; i++)
        if (breakdown.operators[i].op == OP_DOWN)
            CHECK_NEAR(breakdown.operators[i].ideal_s / (80.0 * 2.0 * 8192.0 * 28672.0 / 2e12), 1.0, 1e-3);
}

/* Without a range all is outside; in a range around everything nothing is. */
TEST(ranges_are_felt)
{
    struct kernel_set set;
    struct iteration_breakdown breakdown;
    kernel_set_init(&set);
    const struct operators_parts parts = parts_of(&llama_3_70b, &set);
    iteration_breakdown(&parts, &batches[0], &breakdown);
    CHECK_NEAR(breakdown.outside_s / breakdown.gpu_s, 1.0, 1e-12);
    for (int class = 0; class < KERNEL_CLASS_COUNT; class ++) {
        set.ranges[class].fitted = true;
        for (size_t i = 0; i < KERNEL_MAX_AXES; i++) set.ranges[class].high[i] = 1e12;
        kernel_range_add_formats(&set.ranges[class], (struct kernel_formats){FORMAT_FP16, FORMAT_BF16});
    }
    iteration_breakdown(&parts, &batches[0], &breakdown);
    CHECK_NEAR(breakdown.outside_s, 0.0, 0.0);
    set.ranges[KERNEL_ALL_REDUCE].fitted = false;
    iteration_breakdown(&parts, &batches[0], &breakdown);
    for (size_t i = 0; i < breakdown.n; i++)
        if (breakdown.operators[i].op == OP_ALL_REDUCE)
            CHECK_NEAR(breakdown.outside_s, breakdown.operators[i].time.seconds, 0.0);
}

/* The host adds its time per iteration and sequence, and what launching takes beyond the GPU. */
TEST(the_host_comes_on_top)
{
    struct kernel_set set;
    struct iteration_breakdown breakdown;
    kernel_set_init(&set);
    struct operators_parts parts = parts_of(&llama_3_70b, &set);
    iteration_breakdown(&parts, &batches[0], &breakdown);
    CHECK_NEAR(breakdown.host_s, 3e-3 + 32.0 * 1e-5, 1e-12);
    parts.engine.layer_launch_s = 1.0;
    iteration_breakdown(&parts, &batches[0], &breakdown);
    CHECK_NEAR(breakdown.gpu_s + breakdown.host_s, 80.0 + 3e-3 + 32.0 * 1e-5, 1e-9);
}

/* At knots the tables of the serving clock hold what the rows add up to: 32 sequences in the middle of a block. */
TEST(the_tables_stand_for_the_rows)
{
    static struct operators operators;
    struct kernel_set set;
    kernel_set_init(&set);
    for (int l = 0; l < N_LLMS; l++) {
        const struct operators_parts parts = parts_of(llms[l], &set);
        const struct iteration_work work = {.decode_sequences = 32, .decode_context_tokens = 32 * 64};
        struct iteration_breakdown breakdown;
        struct iteration_cost cost;
        operators_init(&operators, &parts);
        operators_cost(&operators, &work, &cost);
        iteration_breakdown(&parts, &work, &breakdown);
        CHECK_NEAR(cost.first_s / (breakdown.gpu_s + breakdown.host_s), 1.0, 1e-12);
    }
}
