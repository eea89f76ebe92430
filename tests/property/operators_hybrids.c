/* The tables of a cost model against its kernels, for LLMs whose layers differ: linear and sparse attention, chunks. A
 * batch of prompts and decoding sequences costs what the kernels of an iteration take one by one, whether one launch
 * of attention serves both or each has its own. */
#include "models/operators/operators.h"
#include "sim/catalog/catalog.h"
#include "tests/support/harness.h"

static const struct catalog catalog = {.root = "configs"};

static double all_seconds(const struct operators_parts *parts, const struct iteration_work *work)
{
    struct kernel_use uses[LLM_MAX_USES];
    const size_t n = llm_iteration_kernels(parts->llm, &parts->split, parts->gpu, work, uses);
    double seconds = 0.0;
    for (size_t i = 0; i < n; i++) seconds += operators_use_time(parts, &uses[i]).seconds;
    return seconds;
}

/* Half prompts, half decoding, or only one of both; with drafts where there are no prompts. */
static struct iteration_work random_work(struct rng *rng)
{
    struct iteration_work work = {.prefill_sequences = 0};
    const uint64_t kind = rng_below(rng, 3);
    if (kind != 0) {
        const int64_t n = 1 + (int64_t)rng_below(rng, 6000), p = (int64_t)rng_below(rng, 3) * 5000;
        iteration_add_prompt(&work, n, p);
    }
    if (kind != 1) {
        work.decode_sequences = 1 + (int64_t)rng_below(rng, 300);
        work.decode_context_tokens = work.decode_sequences * (1 + (int64_t)rng_below(rng, 30000));
        if (kind == 0 && rng_below(rng, 3) == 0) work.decode_drafts = 1 + (int64_t)rng_below(rng, 4);
    }
    return work;
}

TEST(batches_cost_what_their_kernels_take)
{
    static const char *const llms[] = {"qwen3.5-122b-a10b", "qwen3.5-27b", "deepseek-v3.2",   "glm-5.2-fp8",
                                       "llama-4-scout",     "gemma-4-31b", "gemma-4-26b-a4b", "mimo-v2-flash"};
    static struct operators operators;
    SCOPED(arena) arena = {0};
    struct diag diag = {0};
    struct kernel_set set;
    struct gpu_spec gpu;
    kernel_set_init(&set);
    MUST(catalog_gpu(&catalog, "h200-sxm", "test", &arena, &gpu, &diag) == 0);
    for (size_t i = 0; i < sizeof llms / sizeof *llms; i++) {
        for (int mixes = 0; mixes <= 1; mixes++) {
            struct llm_spec llm;
            MUST(catalog_llm(&catalog, llms[i], "test", &arena, &llm, &diag) == 0);
            const struct operators_parts parts = {
                .gpu = &gpu, .llm = &llm, .kernels = &set,
                .split = {.tensor = 8, .pipeline = 1, .expert = 1, .mixed_attention = mixes == 1, .gpus_per_node = 8}};
            operators_init(&operators, &parts);
            CHECK(operators.prompts.mix == (mixes == 1 && llm.kv_latent == 0));
            for (uint64_t n = 0; n < 100; n++) {
                struct rng rng = test_rng(1 + i, "batches", n);
                const struct iteration_work work = random_work(&rng);
                struct iteration_cost cost;
                operators_cost(&operators, &work, &cost);
                const double ratio = cost.first_s / all_seconds(&parts, &work);
                if (!CHECK(fabs(ratio - 1.0) <= 0.02)) printf("%s %g\n", llms[i], ratio);
            }
        }
    }
}
