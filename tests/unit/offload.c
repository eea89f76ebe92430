/* Offloaded iterations against the formulas of their papers, worked out by hand. */
#include "models/offload.h"

#include "sim/catalog/catalog.h"
#include "tests/harness.h"

#include <math.h>
#include <string.h>

static const struct catalog catalog = {.root = "configs"};

static const double gib = 0x1p30;

/* FlexGen's constants of a T4 and its host (cost_model.py), with the rate of its disk left open. */
static struct offload_rates t4_rates(double disk_gib_per_s)
{
    return (struct offload_rates){
        .host_read = 12.89 * gib, .host_write_cache = 0.97 * gib, .host_write_hidden = 4.82 * gib,
        .disk_read = disk_gib_per_s * gib, .disk_read_weights = 0.95 * disk_gib_per_s * gib,
        .disk_write_cache = 0.746 * gib, .disk_write_hidden = 2.015 * gib, .disk_write_token = 2.015 * gib,
        .csd_write = (double)INFINITY, .host_flop_per_s = 0.0123e12,
        .prompt_product_flop_per_s = 21.24e12, .prompt_attention_flop_per_s = 9.97e12,
        .token_product_flop_per_s = 4.3e12, .token_attention_flop_per_s = 0.079e12,
    };
}

static struct llm_spec llm_of(const char *name)
{
    struct arena arena;
    struct diag diag;
    struct llm_spec llm;
    arena_init(&arena);
    diag_init(&diag);
    CHECK(catalog_llm(&catalog, name, "test", &arena, &llm, &diag) == 0);
    arena_fini(&arena);
    return llm;
}

/* A policy of FlexGen, in percent: weights on GPU and CPU, cache on GPU and CPU, hidden states on GPU and CPU. */
struct percents {
    double wg, wc, cg, cc, hg, hc;
};

static struct offload_placement flexgen(const struct percents *percents, int64_t gpu_batch, int64_t batches)
{
    const struct percents *p = percents;
    return (struct offload_placement){
        .shares = {.weights = {0.01 * p->wg, 0.01 * p->wc, 1.0 - 0.01 * (p->wg + p->wc), 0.0},
                   .cache = {0.01 * p->cg, 0.01 * p->cc, 1.0 - 0.01 * (p->cg + p->cc), 0.0},
                   .hidden = {0.01 * p->hg, 0.01 * p->hc, 1.0 - 0.01 * (p->hg + p->hc), 0.0}},
        .attention = OFFLOAD_ATTEND_HOST, .schedule = OFFLOAD_RELEASED, .interval = 1,
        .gpu_batch = gpu_batch, .batches = batches, .kept_frac = 1.0,
    };
}

static struct offload offload_of(const char *llm_name, const struct offload_placement *placement, double disk_gib_per_s)
{
    const struct llm_spec llm = llm_of(llm_name);
    struct offload offload = {.layer = offload_layer(&llm, 1), .rates = t4_rates(disk_gib_per_s),
                              .placement = *placement, .peak_flop_per_s = 65e12, .memory_bytes_per_s = 320e9};
    offload.rates.host_flop_per_s *= offload_host_frac((double)placement->gpu_batch, offload.layer.hidden);
    return offload;
}

/* Tokens per second of one block: a prompt each, then `outputs` tokens of which the prompt gives the first. */
static double block_tokens_per_s(const struct offload *offload, int64_t prompt, int64_t outputs)
{
    const int64_t n = offload->placement.gpu_batch * offload->placement.batches;
    const struct iteration_work prompts = {.prefill_sequences = n, .prefill_tokens = n * prompt,
                                           .prefill_pairs = (double)n * (double)prompt * (double)prompt};
    struct offload_step step;
    offload_step(offload, &prompts, &step);
    double total_s = step.seconds.now;
    for (int64_t k = 1; k < outputs; k++) {
        const struct iteration_work token = {.decode_sequences = n, .decode_context_tokens = n * (prompt + k)};
        offload_step(offload, &token, &step);
        total_s += step.seconds.now;
    }
    return (double)(n * outputs) / total_s;
}

/* What the formulas of cost_model.py give for the policies of the paper's tables. */
static void flexgen_as_released(void)
{
    static const struct {
        const char *llm;
        struct percents percents;
        int64_t gpu_batch, batches, prompt;
        double disk_gib_per_s, tokens_per_s, within;
    } rows[] = {
        {"opt-30b", {20, 80, 0, 100, 0, 100}, 48, 3, 512, 0.473, 7.14, 0.005},
        {"opt-30b", {4, 96, 0, 100, 0, 100}, 20, 4, 1024, 0.473, 3.62, 0.005},
        {"opt-30b", {10, 90, 0, 100, 0, 100}, 160, 2, 256, 0.473, 12.97, 0.005},
        {"opt-175b", {0, 50, 0, 0, 0, 100}, 32, 8, 512, 0.473, 0.154, 0.0005},
        {"opt-175b", {0, 50, 0, 0, 0, 100}, 32, 8, 512, 2.0, 0.55, 0.005},
        {"opt-175b", {0, 50, 0, 0, 0, 100}, 12, 12, 1024, 2.0, 0.29, 0.005},
        {"opt-175b", {0, 50, 0, 0, 0, 100}, 64, 8, 256, 2.0, 1.09, 0.005},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct offload_placement placement = flexgen(&rows[i].percents, rows[i].gpu_batch, rows[i].batches);
        const struct offload offload = offload_of(rows[i].llm, &placement, rows[i].disk_gib_per_s);
        if (!CHECK_NEAR(block_tokens_per_s(&offload, rows[i].prompt, 32), rows[i].tokens_per_s, rows[i].within))
            printf("\n  %s, prompts of %d", rows[i].llm, (int)rows[i].prompt);
    }
}

TEST_SUITE(offload)
{
    TEST(flexgen_as_released);
}
