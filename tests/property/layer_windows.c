/* Laws of LLMs with a sliding window in some of their layers, and with experts in a format of their own: both are
 * means between LLMs whose layers are alike. */
#include "models/operators/layer.h"
#include "models/roofline.h"
#include "tests/support/harness.h"

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
}
