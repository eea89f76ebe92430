/* Attention over prompts is priced without its kernels' lists: time, and what of it lies outside the fitted range, are
 * those of the kernels one by one. */
#include "models/operators/operators.h"
#include "tests/support/harness.h"

static const struct gpu_spec gpu = {
    .peak_flop_per_s = {[FORMAT_FP32] = 60e12, [FORMAT_FP16] = 900e12}, .memory_bytes_per_s = 3e12, .sm_count = 132,
    .boost_hz = 1.8e9, .l2_bytes = 50e6,
};

#define SIZES                                                                                                           \
    .layers = 8, .hidden = 4096, .q_heads = 32, .head_dim = 128, .ffn = 14336, .vocab = 32000, .max_context = 1 << 17,  \
    .layer_norms = 2, .gated_ffn = true, .weights = FORMAT_FP16, .compute = FORMAT_FP16, .kv = FORMAT_FP16

static const struct llm_spec plain = {SIZES, .kv_heads = 8}, windowed = {SIZES, .kv_heads = 8, .sliding_window = 1024, .full_layers = 3},
    latent = {SIZES, .kv_heads = 32, .kv_latent = 512, .rotary_dim = 64, .value_dim = 128};

static struct iteration_work random_work(struct rng *rng)
{
    struct iteration_work work = {.prefill_sequences = 0};
    const int n = 1 + (int)rng_below(rng, 3);
    const int64_t past = (int64_t)rng_below(rng, 2) * (int64_t)rng_below(rng, 4000);
    for (int i = 0; i < n; i++) iteration_add_prompt(&work, 1 + (int64_t)rng_below(rng, 3000), past);
    if (rng_below(rng, 2) == 0) return work;
    work.decode_sequences = 1 + (int64_t)rng_below(rng, 100);
    work.decode_context_tokens = work.decode_sequences * (1 + (int64_t)rng_below(rng, 4000));
    return work;
}

/* The kernels of attention over the prompts of a batch. */
static struct operators_uses prompts_of(const struct operators_parts *parts, const struct iteration_work *work)
{
    struct operators_uses all, list = {.n = 0};
    all.n = llm_iteration_kernels(parts->llm, &parts->split, parts->gpu, work, all.uses);
    for (size_t i = 0; i < all.n; i++) {
        const enum kernel_class class = all.uses[i].call.class;
        if (class == KERNEL_PREFILL_ATTENTION || class == KERNEL_LATENT_PREFILL) list.uses[list.n++] = all.uses[i];
    }
    return list;
}

/* A range around the kernels of two batches, which often begins beyond no past tokens and beyond one prompt. */
static void fit(struct kernel_set *set, const struct operators_parts *parts, struct rng *rng)
{
    for (int i = 0; i < 2; i++) {
        const struct iteration_work work = random_work(rng);
        const struct operators_uses list = prompts_of(parts, &work);
        for (size_t k = 0; k < list.n; k++) {
            struct kernel_range *range = &set->ranges[list.uses[k].call.class];
            kernel_range_add(range, &list.uses[k].call);
            kernel_range_add_formats(range, kernel_call_formats(&list.uses[k].call));
        }
    }
}

TEST(prompts_are_priced_as_their_kernels)
{
    static const struct llm_spec *const llms[] = {&plain, &windowed, &latent};
    struct rng rng = test_rng(1, "ranges", 0);
    int n_inside = 0, n_outside = 0;
    for (int i = 0; i < 600; i++) {
        struct kernel_set set;
        struct operators_prompts prompts;
        struct operators_parts parts = {
            .gpu = &gpu, .llm = llms[i % 3], .kernels = &set,
            .split = {.tensor = 1, .pipeline = 1, .expert = 1, .gpus_per_node = 8, .mixed_attention = i % 2 == 0}};
        kernel_set_init(&set);
        fit(&set, &parts, &rng);
        const struct iteration_work first = random_work(&rng);
        const struct operators_uses some = prompts_of(&parts, &first);
        operators_prompts_init(&prompts, &parts, &some);
        for (int k = 0; k < 20; k++) {
            const struct iteration_work work = random_work(&rng);
            struct operators_time expected = {0.0, 0.0};
            for (size_t u = 0; u < some.n; u++) {
                struct kernel_use use = some.uses[u];
                kernel_use_rebatch(&use, &work);
                expected = operators_add(expected, operators_use_time(&parts, &use));
            }
            const struct operators_time time = operators_prompts_time(&prompts, &parts, &work);
            CHECK_NEAR(time.seconds / expected.seconds, 1.0, 1e-9);
            CHECK_NEAR(time.outside_s, expected.outside_s, 1e-9 * expected.seconds);
            if (expected.outside_s > 0.0)
                n_outside++;
            else
                n_inside++;
        }
    }
    CHECK(n_inside > 500 && n_outside > 500);
}
