/* Laws of LLMs with a sliding window in some of their layers, and with experts in a format of their own: both are
 * means between LLMs whose layers are alike. */
#include "models/operators/layer.h"
#include "models/roofline.h"
#include "tests/support/harness.h"

#include <math.h>

enum { CASES = 2000 };

static const struct gpu_spec gpu = {
    .peak_flop_per_s = {[FORMAT_FP32] = 20e12, [FORMAT_FP16] = 300e12}, .memory_bytes_per_s = 2e12, .sm_count = 108,
    .boost_hz = 1.41e9, .l2_bytes = 40e6,
};

static int64_t up_to(struct rng *rng, int64_t most)
{
    return 1 + (int64_t)rng_below(rng, (uint64_t)most);
}

static struct llm_spec random_llm(struct rng *rng)
{
    const int64_t kv_heads = (int64_t)1 << rng_below(rng, 4);
    struct llm_spec llm = {
        .layers = 1 + up_to(rng, 80), .hidden = 128 * up_to(rng, 60), .kv_heads = kv_heads,
        .q_heads = kv_heads * up_to(rng, 16), .head_dim = 64 * up_to(rng, 2), .ffn = 512 * up_to(rng, 40),
        .vocab = 32000, .max_context = 1 << 17, .layer_norms = 2, .gated_ffn = true,
        .sliding_window = up_to(rng, 4000), .weights = FORMAT_FP16, .compute = FORMAT_FP16, .kv = FORMAT_FP16,
    };
    llm.full_layers = up_to(rng, llm.layers - 1);
    if (rng_below(rng, 2) == 1) {
        llm.experts = 8 * up_to(rng, 16);
        llm.experts_per_token = up_to(rng, 8);
        llm.expert_ffn = 64 * up_to(rng, 32);
    }
    CHECK(llm_problem(&llm) == NULL);
    return llm;
}

static struct iteration_work random_work(struct rng *rng)
{
    const int64_t n = up_to(rng, 4000), p = up_to(rng, 8000), sequences = up_to(rng, 200);
    struct iteration_work work = {.decode_sequences = sequences, .decode_context_tokens = sequences * up_to(rng, 9000)};
    if (rng_below(rng, 2) == 1) return work;
    work.prefill_sequences = 1;
    work.prefill_tokens = n;
    work.prefill_context_tokens = p;
    work.prefill_pairs = (double)n * (double)n + 2.0 * (double)n * (double)p;
    return work;
}

struct sums {
    double seconds, flop, bytes;
};

static struct sums sum_of(const struct llm_spec *llm, const struct iteration_work *work, bool mixed_attention)
{
    const struct llm_split split = {.tensor = 1, .pipeline = 1, .expert = 1, .gpus_per_node = 8,
                                    .mixed_attention = mixed_attention};
    struct kernel_set set;
    struct kernel_use uses[LLM_MAX_USES];
    struct sums sums = {0.0, 0.0, 0.0};
    kernel_set_init(&set);
    const size_t n = llm_iteration_kernels(llm, &split, &gpu, work, uses);
    for (size_t i = 0; i < n; i++) {
        CHECK(uses[i].count > 0.0);
        const struct kernel_time time = kernel_call_time(&set.params[uses[i].call.class], &gpu, &uses[i].call);
        sums.seconds += uses[i].count * time.seconds;
        sums.flop += uses[i].count * time.flop;
        sums.bytes += uses[i].count * time.bytes;
    }
    return sums;
}

static double roofline_s(const struct llm_spec *llm, const struct iteration_work *work)
{
    const struct roofline_params params = {0.7, 0.8, 0.5, 0.7, 0.6, 0.5, 1e-6, 1e-6, 1e-5, 0.0, 1e-3, 1e-5};
    const struct gpu_nodes one_node = {0};
    struct roofline model;
    struct iteration_cost cost;
    roofline_init(&model, &gpu, llm, 1, 1, &one_node, &params);
    roofline_cost(&model, work, &cost);
    return cost.first_s;
}

/* The same LLM without windows, and with the window in all layers. */
static struct llm_spec without_windows(struct llm_spec llm)
{
    llm.sliding_window = llm.full_layers = 0;
    return llm;
}

static struct llm_spec with_windows_only(struct llm_spec llm)
{
    llm.full_layers = 0;
    return llm;
}

/* The same with heads of their own in layers with the window. */
static struct llm_spec with_heads_apart(struct rng *rng, struct llm_spec llm)
{
    llm.window_kv_heads = (int64_t)1 << rng_below(rng, 4);
    llm.window_q_heads = llm.window_kv_heads * up_to(rng, 16);
    llm.window_head_dim = 64 * up_to(rng, 4);
    llm.window_value_dim = 64 * (int64_t)rng_below(rng, 5);
    llm.keys_as_values = rng_below(rng, 2) == 1;
    if (!llm.keys_as_values) llm.value_dim = (int64_t)rng_below(rng, 3) * 64;
    llm.qk_norm = rng_below(rng, 2) == 1;
    llm.qkv_bias = rng_below(rng, 2) == 1;
    llm.attention_gate = rng_below(rng, 2) == 1;
    CHECK(llm_problem(&llm) == NULL);
    return llm;
}

static void check_mean(double actual, double full_frac, double full, double windowed)
{
    CHECK_NEAR(actual / (full_frac * full + (1.0 - full_frac) * windowed), 1.0, 1e-12);
}

TEST(windows_in_some_layers_cost_the_mean)
{
    struct rng rng = test_rng(1, "windows", 0);
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec some = random_llm(&rng), none = without_windows(some), all = with_windows_only(some);
        const struct iteration_work work = random_work(&rng);
        const bool mixed = rng_below(&rng, 2) == 1;
        const double frac = (double)some.full_layers / (double)some.layers;
        const struct sums s = sum_of(&some, &work, mixed), n = sum_of(&none, &work, mixed),
                          a = sum_of(&all, &work, mixed);
        check_mean(s.seconds, frac, n.seconds, a.seconds);
        check_mean(s.flop, frac, n.flop, a.flop);
        check_mean(s.bytes, frac, n.bytes, a.bytes);
        check_mean(roofline_s(&some, &work), frac, roofline_s(&none, &work), roofline_s(&all, &work));
        const int64_t context = up_to(&rng, 9000);
        check_mean(llm_flop_per_token(&some, context), frac, llm_flop_per_token(&none, context),
                   llm_flop_per_token(&all, context));
        CHECK_EQ_INT(llm_parameters(&some), llm_parameters(&none));
        CHECK(llm_kv_bytes_per_token(&some) == llm_kv_bytes_per_token(&none));
    }
}

/* Layers with heads of their own are those of an LLM that has no others. */
TEST(heads_of_windows_cost_the_mean)
{
    struct rng rng = test_rng(5, "heads", 0);
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec some = with_heads_apart(&rng, random_llm(&rng)), all = llm_windowed(&some);
        struct llm_spec none = without_windows(some);
        none.window_q_heads = none.window_kv_heads = none.window_head_dim = none.window_value_dim = 0;
        const struct iteration_work work = random_work(&rng);
        const bool mixed = rng_below(&rng, 2) == 1;
        const double frac = (double)some.full_layers / (double)some.layers;
        const struct sums s = sum_of(&some, &work, mixed), n = sum_of(&none, &work, mixed),
                          a = sum_of(&all, &work, mixed);
        CHECK(all.window_kv_heads == 0);
        check_mean(s.seconds, frac, n.seconds, a.seconds);
        check_mean(s.flop, frac, n.flop, a.flop);
        check_mean(s.bytes, frac, n.bytes, a.bytes);
        const int64_t context = up_to(&rng, 9000), tensor = (int64_t)1 << rng_below(&rng, 3);
        check_mean(llm_flop_per_token(&some, context), frac, llm_flop_per_token(&none, context),
                   llm_flop_per_token(&all, context));
        check_mean((double)llm_parameters(&some), frac, (double)llm_parameters(&none), (double)llm_parameters(&all));
        const struct llm_shard shards[] = {llm_shard(&some, tensor, 1), llm_shard(&none, tensor, 1),
                                           llm_shard(&all, tensor, 1)};
        check_mean(shards[0].kv_bytes_per_token, frac, shards[1].kv_bytes_per_token, shards[2].kv_bytes_per_token);
        check_mean(shards[0].weight_bytes, frac, shards[1].weight_bytes, shards[2].weight_bytes);
    }
}

/* Heads of their own that are as in the other layers change nothing. */
TEST(heads_of_windows_may_be_stated_alike)
{
    struct rng rng = test_rng(6, "alike", 0);
    for (int i = 0; i < CASES / 4; i++) {
        const struct llm_spec some = random_llm(&rng);
        struct llm_spec stated = some;
        stated.window_q_heads = some.q_heads;
        stated.window_kv_heads = some.kv_heads;
        stated.window_head_dim = stated.window_value_dim = stated.value_dim = some.head_dim;
        const struct iteration_work work = random_work(&rng);
        CHECK(llm_problem(&stated) == NULL && llm_heads_are_plain(&stated));
        CHECK_NEAR(sum_of(&stated, &work, false).seconds / sum_of(&some, &work, false).seconds, 1.0, 1e-12);
        CHECK_NEAR(sum_of(&stated, &work, false).bytes / sum_of(&some, &work, false).bytes, 1.0, 1e-12);
        CHECK_EQ_INT(llm_parameters(&stated), llm_parameters(&some));
        CHECK(llm_weight_bytes(&stated) == llm_weight_bytes(&some));
    }
}

/* A window that no context reaches is none. */
TEST(wide_windows_cut_nothing)
{
    struct rng rng = test_rng(2, "wide", 0);
    for (int i = 0; i < CASES / 4; i++) {
        struct llm_spec some = random_llm(&rng);
        const struct llm_spec none = without_windows(some);
        const struct iteration_work work = random_work(&rng);
        some.sliding_window = 1 << 20;
        CHECK_NEAR(roofline_s(&some, &work) / roofline_s(&none, &work), 1.0, 1e-12);
        CHECK_NEAR(sum_of(&some, &work, false).flop / sum_of(&none, &work, false).flop, 1.0, 1e-12);
        CHECK_NEAR(sum_of(&some, &work, false).bytes / sum_of(&none, &work, false).bytes, 1.0, 1e-12);
    }
}

/* Experts of 4 bits: their matrices weigh as many bytes as 4 bits say, all else stays. */
TEST(experts_have_a_format_of_their_own)
{
    struct rng rng = test_rng(3, "formats", 0);
    for (int i = 0; i < CASES; i++) {
        struct llm_spec own = random_llm(&rng);
        if (own.experts == 0) continue;
        const struct llm_spec alike = own;
        own.part_formats[LLM_PART_EXPERTS] = 1 + FORMAT_MXFP4;
        const double experts = 3.0 * (double)(own.layers * own.experts * own.hidden * own.expert_ffn);
        const double saved = experts * (number_format_bytes(FORMAT_FP16) - number_format_bytes(FORMAT_MXFP4));
        CHECK_NEAR((llm_weight_bytes(&alike) - llm_weight_bytes(&own)) / saved, 1.0, 1e-9);
        CHECK_NEAR((llm_read_bytes(&alike, 1 << 20) - llm_read_bytes(&own, 1 << 20)) / saved, 1.0, 1e-9);
        CHECK(llm_parameters(&own) == llm_parameters(&alike));
    }
}

TEST(impossible_windows_are_named)
{
    struct rng rng = test_rng(4, "problems", 0);
    struct llm_spec llm = random_llm(&rng);
    llm.full_layers = llm.layers;
    CHECK_EQ_STR(llm_problem(&llm), "none of its layers has the sliding window");
    llm.sliding_window = 0;
    CHECK_EQ_STR(llm_problem(&llm), "layers without a sliding window are counted, but no layer has one");
    llm.full_layers = 0;
    CHECK(llm_problem(&llm) == NULL);
    llm.window_kv_heads = 2 * llm.kv_heads;
    CHECK_EQ_STR(llm_problem(&llm), "layers with a window have heads of their own beside layers without one only");
    llm = random_llm(&rng);
    llm.window_q_heads = llm.kv_heads + 1;
    llm.window_kv_heads = llm.kv_heads + 2;
    CHECK_EQ_STR(llm_problem(&llm),
                 "the attention heads of layers with a window are not a multiple of their key-value heads");
    llm.window_q_heads = 3 * llm.window_kv_heads;
    CHECK(llm_problem(&llm) == NULL);
    llm.keys_as_values = true;
    llm.value_dim = llm.head_dim / 2;
    CHECK_EQ_STR(llm_problem(&llm), "'keys_as_values' needs values as wide as keys, and no latent attention");
    llm = random_llm(&rng);
    llm.keys_as_values = true;
    CHECK(llm_problem(&llm) == NULL);
    llm.full_layers = 0;
    CHECK_EQ_STR(llm_problem(&llm), "'keys_as_values' is of layers without a window, and it has none");
}

/* A GPU that frees what lies behind windows has blocks of the other layers alone. Those of a sequence for windows are
 * the bytes of its last tokens, rounded up to blocks. */
TEST(windows_take_blocks_of_the_other_layers)
{
    struct rng rng = test_rng(8, "blocks", 0);
    struct gpu_spec large = gpu;
    large.memory_bytes = 1e13;
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec llm = with_heads_apart(&rng, random_llm(&rng));
        const struct llm_shard shard = llm_shard(&llm, 1, 1);
        const double share = llm_window_share(&llm, 1), full_bytes = shard.kv_bytes_per_token / (1.0 + share);
        struct kv_params params = {.usable_frac = 0.9, .batch_tokens = 100, .batch_sequences = 1,
                                   .block_tokens = up_to(&rng, 64)};
        const struct kv_capacity keeps = kv_capacity(&large, &llm, 1, 1, &params);
        params.frees_windows = true;
        const struct kv_capacity frees = kv_capacity(&large, &llm, 1, 1, &params);
        CHECK_NEAR(frees.block_bytes / (full_bytes * (double)params.block_tokens), 1.0, 1e-12);
        CHECK_NEAR(keeps.block_bytes / frees.block_bytes, 1.0 + share, 1e-9);
        CHECK_NEAR((double)frees.blocks / (double)keeps.blocks / (1.0 + share), 1.0, 1e-3);
        const int64_t tokens = up_to(&rng, 9000), b = params.block_tokens;
        const int64_t seen = tokens < llm.sliding_window - 1 ? tokens : llm.sliding_window - 1;
        const double bytes = (double)llm_window_blocks(&llm, share, b, tokens, tokens) * frees.block_bytes;
        CHECK(bytes >= shard.window_kv_bytes_per_token * (double)seen * (1.0 - 1e-5));
        CHECK(bytes <= shard.window_kv_bytes_per_token * (double)(seen + 2 * b) + frees.block_bytes);
        /* Over all steps it is the mean of the steps, and never more than what keeping all tokens takes. */
        const int64_t first = up_to(&rng, 3000), last = first + (int64_t)rng_below(&rng, 2000);
        double sum = 0.0, kept = 0.0;
        for (int64_t t = first; t <= last; t++) {
            const double most = ceil((double)(llm.sliding_window - 1) / (double)b) + 1.0;
            sum += fmin(ceil((double)t / (double)b), most);
            kept += ceil((double)t / (double)b);
        }
        const double steps = (double)(last - first + 1),
                     blocks = (double)llm_window_blocks(&llm, share, b, first, last);
        CHECK(blocks >= share * sum / steps - 1e-5 && blocks < share * sum / steps + 1.0);
        CHECK(blocks < share * kept / steps + 1.0);
    }
    const struct llm_spec none = without_windows(random_llm(&rng));
    CHECK(llm_window_share(&none, 1) == 0.0 && llm_window_blocks(&none, 0.0, 16, 1000, 1000) == 0);
}

/* GPUs share the heads of both kinds of layers. */
TEST(heads_of_both_kinds_are_split)
{
    struct rng rng = test_rng(7, "split", 0);
    struct llm_spec llm = random_llm(&rng);
    llm.ffn = llm.expert_ffn = 4096;
    llm.q_heads = llm.kv_heads = 32;
    llm.window_q_heads = llm.window_kv_heads = 4;
    CHECK(llm_parallel_problem(&llm, 4, 1) == NULL);
    CHECK_EQ_STR(llm_parallel_problem(&llm, 8, 1),
                 "the number of attention heads is not a multiple of the tensor parallelism");
    llm.window_q_heads = 24;
    llm.window_kv_heads = 3;
    CHECK_EQ_STR(llm_parallel_problem(&llm, 8, 1),
                 "the number of key-value heads is neither a multiple nor a divisor of the tensor parallelism");
}
