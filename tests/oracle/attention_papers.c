/* Fu, "Challenges in Deploying Long-Context Transformers" (arXiv 2405.08944): Yi-34B on an A100 at the peaks of its
 * data sheet. The paper takes 34e9 parameters, 2 TB/s, and half of the operations that causal attention has. */
#include "models/kernel.h"
#include "tests/support/cost_fixture.h"
#include "tests/support/harness.h"

static const double layers = 60.0;

/* Shares of the peaks are 1, overheads 0. */
static const char peak[] =
    "{'cost': {'kind': 'roofline', 'projection_compute_efficiency': 1, 'projection_bandwidth_efficiency': 1,"
    " 'attention_compute_efficiency': 1, 'attention_bandwidth_efficiency': 1, 'elementwise_bandwidth_efficiency': 1,"
    " 'layer_overhead': '0s', 'iteration_overhead': '0s', 'sequence_overhead': '0s'}}";

/* A prompt of `tokens` whose queries see `share` of all its keys: 0.5 is causal attention, 0 none. */
static double prompt_s(const struct cost_fixture *fixture, int64_t tokens, double share)
{
    const double n = (double)tokens;
    return cost_fixture_s(fixture, (struct iteration_work){.prefill_sequences = 1,
                                                           .prefill_tokens = tokens,
                                                           .prefill_pairs = 2.0 * share * n * n});
}

static double answer_s(const struct cost_fixture *fixture, int64_t context)
{
    double sum_s = 0.0;
    for (int64_t i = 0; i < 250; i++)
        sum_s += cost_fixture_s(
            fixture, (struct iteration_work){.decode_sequences = 1, .decode_context_tokens = context + i});
    return sum_s;
}

static bool start(struct cost_fixture *fixture)
{
    const int code = cost_fixture_init(fixture, peak, "a100-80-sxm", "yi-34b", 1, 1);
    CHECK_EQ_STR(fixture->message, "");
    return code == 0;
}

/* YF-1, first part: 2 operations per parameter and token. */
TEST(prompts_without_attention)
{
    SCOPED(cost_fixture) fixture;
    MUST(start(&fixture));
    CHECK_NEAR(prompt_s(&fixture, 4096, 0.0), 0.89, 0.05 * 0.89);
    CHECK_NEAR(prompt_s(&fixture, 50000, 0.0), 10.9, 0.05 * 10.9);
}

/* YF-1: 14.1 s for 50K tokens is what half of causal attention takes; all of it takes 17.8 s. */
TEST(long_prompts_by_both_counts)
{
    SCOPED(cost_fixture) fixture;
    MUST(start(&fixture));
    CHECK_NEAR(prompt_s(&fixture, 50000, 0.25), 14.1, 0.05 * 14.1);
    CHECK_NEAR(prompt_s(&fixture, 50000, 0.5), 17.8, 0.02 * 17.8);
}

/* YF-2: 250 tokens, each of which reads all weights and the cache. */
TEST(answers_at_the_memory_bandwidth)
{
    SCOPED(cost_fixture) fixture;
    MUST(start(&fixture));
    CHECK_NEAR(answer_s(&fixture, 50000), 9.8, 0.05 * 9.8);
    CHECK_NEAR(answer_s(&fixture, 4096), 8.5, 0.05 * 8.5);
}

/* The kernels' laws at the same peaks are the closed forms: what tiles compute beyond the mask is little at 50K. */
TEST(kernels_at_the_peak_are_the_closed_forms)
{
    static const union kernel_params prefill = {.prefill = {0.0, 1.0, 1.0, 0.0, 20.0, 1.0, 0.0, .flash3 = 0.0}};
    static const union kernel_params decode = {.decode = {0.0, 1.0, 1e3, 0.0, 0.0, 0.0, 0.0, .flash3 = 1.0}};
    SCOPED(cost_fixture) fixture;
    MUST(start(&fixture));
    const double n = 50000.0;
    const struct prefill_shape prompt = {.sequences = 1.0, .tokens = n, .pairs = n * n, .q_heads = 56.0,
                                         .kv_heads = 8.0, .key_dim = 128.0, .value_dim = 128.0,
                                         .kv = FORMAT_BF16, .compute = FORMAT_BF16};
    const struct decode_shape token = {.sequences = 1.0, .context = n, .q_heads = 56.0, .kv_heads = 8.0,
                                       .key_dim = 128.0, .value_dim = 128.0, .kv = FORMAT_BF16,
                                       .compute = FORMAT_BF16};
    const double prompt_attention_s = prefill_attention_time(&prefill.prefill, &fixture.gpu, &prompt).seconds;
    const double token_attention_s = decode_attention_time(&decode.decode, &fixture.gpu, &token).seconds;
    const double causal_s = 2.0 * n * n * 56.0 * 128.0 * layers / 312e12;
    CHECK_NEAR(layers * prompt_attention_s, causal_s, 0.01 * causal_s);
    CHECK_NEAR(layers * token_attention_s, 50000.0 * 245760.0 / 2.039e12, 1e-4);
}
