/* Offloaded iterations against the formulas of their papers, worked out by hand. */
#include "models/offload.h"
#include "sim/catalog/catalog.h"
#include "tests/support/harness.h"

static const struct catalog catalog = {.root = "configs"};

static const double gib = 0x1p30;

/* FlexGen's constants of a T4 and its host (cost_model.py), with the rate of its disk left open. */
static struct offload_rates t4_rates(double disk_gib_per_s)
{
    return (struct offload_rates){
        .host_read = 12.89 * gib, .host_write_cache = 0.97 * gib, .host_write_hidden = 4.82 * gib,
        .disk_read = disk_gib_per_s * gib, .disk_read_weights = 0.95 * disk_gib_per_s * gib,
        .disk_write_cache = 0.746 * gib, .disk_write_hidden = 2.015 * gib, .disk_write_token = 2.015 * gib,
        .csd_write = (double)INFINITY, .csd_port = (double)INFINITY, .host_flop_per_s = 0.0123e12,
        .prompt_product_flop_per_s = 21.24e12, .prompt_attention_flop_per_s = 9.97e12,
        .token_product_flop_per_s = 4.3e12, .token_attention_flop_per_s = 0.079e12,
    };
}

static struct llm_spec llm_of(const char *name)
{
    SCOPED(arena) arena = {0};
    struct diag diag = {0};
    struct llm_spec llm;
    CHECK(catalog_llm(&catalog, name, "test", &arena, &llm, &diag) == 0);
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
TEST(flexgen_as_released)
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

/* --- The other schedules --- */

/* A base model of 2 ms per layer and iteration, and 1 us per layer and token of context. */
static void plain_cost(const void *model, const struct iteration_work *work, struct iteration_cost *cost)
{
    const double layers = *(const double *)model, context = (double)work->decode_context_tokens;
    *cost = (struct iteration_cost){.first_s = layers * (2e-3 + 1e-6 * context),
                                    .slope_s = layers * 1e-6 * (double)work->decode_sequences,
                                    .until = work->prefill_sequences > 0 ? 1 : INT64_MAX};
}

static const double four_layers = 4.0;
static const struct iteration_model plain_base = {.kind = "test", .model = &four_layers, .cost = plain_cost};

/* Four layers of 1 MB of weights and 100 bytes of cache per token, links of 1 GB/s down and 0.5 GB/s up. */
static struct offload plain_offload(enum offload_schedule schedule)
{
    const double none = (double)INFINITY, unknown = (double)NAN;
    struct offload offload = {
        .layer = {.layers = 4, .gpus = 1, .weight_bytes = 1e6, .kv_token_bytes = 100, .hidden_token_bytes = 50,
                  .token_flop = 1e6, .context_flop = 200, .heads = 4, .ffn = 64, .hidden = 16, .number_bytes = 2},
        .rates = {1e9, 0.5e9, 0.5e9, none, none, none, none, none, none, none, 1e9, unknown, unknown, unknown, unknown},
        .placement = offload_placement_none(), .base = &plain_base, .peak_flop_per_s = 1e12, .memory_bytes_per_s = 1e12};
    offload.placement.schedule = schedule;
    return offload;
}

static const struct iteration_work ten_tokens = {.decode_sequences = 10, .decode_context_tokens = 1000};

static double seconds_of(const struct offload *offload)
{
    struct offload_step step;
    offload_step(offload, &ten_tokens, &step);
    return step.seconds.now;
}

/* The GPU's time counts as computing for a long prompt, as reading for one token: 65 TFLOP/s against 320 GB/s. */
TEST(what_bounds_the_gpu)
{
    const struct offload_placement placement = flexgen(&(struct percents){100, 0, 100, 0, 100, 0}, 4, 1);
    const struct offload offload = offload_of("opt-6.7b", &placement, 2);
    const struct iteration_work prompts = {.prefill_sequences = 4, .prefill_tokens = 4 * 512,
                                           .prefill_pairs = 4.0 * 512 * 512};
    const struct iteration_work token = {.decode_sequences = 4, .decode_context_tokens = 4 * 512};
    struct offload_step step;
    offload_step(&offload, &prompts, &step);
    CHECK(step.busy_s[OFFLOAD_GPU_COMPUTE].now > 0 && step.busy_s[OFFLOAD_HBM].now == 0);
    offload_step(&offload, &token, &step);
    CHECK(step.busy_s[OFFLOAD_HBM].now > 0 && step.busy_s[OFFLOAD_GPU_COMPUTE].now == 0);
}

/* Nothing beyond the GPU: the base model as it is. */
TEST(nothing_offloaded)
{
    const struct offload offload = plain_offload(OFFLOAD_OVERLAPPED);
    struct iteration_cost own, base;
    offload_cost(&offload, &ten_tokens, &own);
    plain_cost(&four_layers, &ten_tokens, &base);
    CHECK(own.first_s == base.first_s && own.slope_s == base.slope_s && own.until == base.until);
}

/* All weights streamed: 1 ms of each layer's 3 ms are hidden, or are not; with a link of a tenth they set the pace. */
TEST(streamed_weights)
{
    struct offload offload = plain_offload(OFFLOAD_OVERLAPPED);
    offload.placement.shares.weights[OFFLOAD_GPU_MEMORY] = 0.0;
    offload.placement.shares.weights[OFFLOAD_HOST] = 1.0;
    CHECK_NEAR(seconds_of(&offload), 12e-3, 1e-12);
    offload.placement.schedule = OFFLOAD_SERIAL;
    CHECK_NEAR(seconds_of(&offload), 16e-3, 1e-12);
    offload.rates.host_read = 0.1e9;
    offload.placement.schedule = OFFLOAD_OVERLAPPED;
    CHECK_NEAR(seconds_of(&offload), 40e-3, 1e-12);
}

/* Select-N: L/i max(i t_c, t_x), and the layers that are in no whole group. */
TEST(grouped_weights)
{
    struct offload offload = plain_offload(OFFLOAD_GROUPED);
    offload.rates.host_read = 1e6 / 7e-3; /* 7 ms for a layer; computing takes 3 ms */
    static const double expected_s[] = {28e-3, 14e-3, 12e-3, 12e-3};
    for (int64_t interval = 1; interval <= 4; interval++) {
        const double away = floor(4.0 / (double)interval) / 4.0;
        offload.placement.interval = interval;
        offload.placement.shares.weights[OFFLOAD_HOST] = away;
        offload.placement.shares.weights[OFFLOAD_GPU_MEMORY] = 1.0 - away;
        CHECK_NEAR(seconds_of(&offload), expected_s[interval - 1], 1e-12);
    }
}

/* KV cache in host memory: 1000 tokens are 0.1 MB per layer. The GPU gets them all, or the CPU attends: 2e5 FLOP at
 * 1e9/s. */
TEST(cache_on_the_host)
{
    struct offload offload = plain_offload(OFFLOAD_SERIAL);
    offload.placement.shares.cache[OFFLOAD_GPU_MEMORY] = 0.0;
    offload.placement.shares.cache[OFFLOAD_HOST] = 1.0;
    const double up_s = 4.0 * 10.0 * 100.0 / 0.5e9;
    CHECK_NEAR(seconds_of(&offload), 12e-3 + 0.4e-3 + up_s, 1e-12);
    offload.placement.attention = OFFLOAD_ATTEND_HOST;
    CHECK_NEAR(seconds_of(&offload), 4.0 * (2e-3 + 10e-6 + 0.2e-3) + up_s, 1e-12);
}

/* InstInfer: a layer of 64 sequences of OPT-13B after 1536 tokens, 4 b s h bytes of flash at 11.2 GB/s. */
TEST(attention_in_storage)
{
    const struct csd_spec csd = {.channels = 8, .channel_bytes_per_s = 1.4e9, .read_frac = 1, .page_bytes = 4096,
                                 .stream_bytes_per_s = 12.7e9, .flop_per_s = 650e9, .page_channels = 4, .token_run = 1};
    const struct storage_device device = {.link = {7e9, 7e9}, .latency_s = {50e-6, 20e-6}};
    const struct llm_spec llm = llm_of("opt-13b");
    const double layers = 40.0, bytes = layers * 4.0 * 64.0 * (1536.0 + 7.5) * 5120.0;
    struct offload offload = plain_offload(OFFLOAD_OVERLAPPED);
    offload.layer = offload_layer(&llm, 1);
    offload.csd = (struct offload_csd){&csd, &device, 1};
    offload.placement.shares.cache[OFFLOAD_GPU_MEMORY] = 0.0;
    offload.placement.shares.cache[OFFLOAD_CSD] = 1.0;
    const struct iteration_work work = {.decode_sequences = 64, .decode_context_tokens = 64 * 1536};
    struct offload_step one, two;
    offload_step(&offload, &work, &one);
    offload.csd.count = 2;
    offload_step(&offload, &work, &two);
    CHECK_NEAR(one.bytes[OFFLOAD_FLASH].now / bytes, 1.0, 1e-12);
    CHECK_NEAR(one.busy_s[OFFLOAD_FLASH].now, bytes / 11.2e9, 1e-9);
    CHECK_NEAR(two.bytes[OFFLOAD_FLASH].now / bytes, 1.0, 1e-12);
    CHECK_NEAR(two.busy_s[OFFLOAD_FLASH].now, 0.5 * bytes / 11.2e9, 1e-9);
    const double link_s = layers * (4.0 * 64.0 * 5120.0 * 2.0 / 7e9 + 50e-6);
    CHECK_NEAR(one.busy_s[OFFLOAD_CSD_LINK].now, link_s, 1e-12);
    CHECK_NEAR(one.seconds.now, 4.0 * (2e-3 + 64e-6) + link_s + bytes / 11.2e9, 1e-9);
}

/* --- Laws, on random placements --- */

static double share(struct rng *rng, double most)
{
    return most * rng_uniform(rng);
}

static void random_shares(struct rng *rng, double *shares)
{
    shares[OFFLOAD_GPU_MEMORY] = share(rng, 1.0);
    shares[OFFLOAD_HOST] = share(rng, 1.0 - shares[OFFLOAD_GPU_MEMORY]);
    shares[OFFLOAD_DISK] = 1.0 - shares[OFFLOAD_GPU_MEMORY] - shares[OFFLOAD_HOST];
}

static struct offload random_offload(struct rng *rng)
{
    struct offload offload = plain_offload((enum offload_schedule)rng_below(rng, OFFLOAD_GROUPED));
    offload.placement.attention = rng_below(rng, 2) ? OFFLOAD_ATTEND_GPU : OFFLOAD_ATTEND_HOST;
    random_shares(rng, offload.placement.shares.weights);
    random_shares(rng, offload.placement.shares.cache);
    random_shares(rng, offload.placement.shares.hidden);
    double *const rates[] = {
        &offload.rates.host_read,         &offload.rates.host_write_cache,  &offload.rates.host_write_hidden,
        &offload.rates.disk_read,         &offload.rates.disk_read_weights, &offload.rates.disk_write_cache,
        &offload.rates.disk_write_hidden, &offload.rates.disk_write_token,  &offload.rates.host_flop_per_s};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) *rates[i] = pow(10.0, 7.0 + 3.0 * rng_uniform(rng));
    return offload;
}

enum { TRIALS = 500 };

/* What sets the pace adds up to the iteration, nothing is busy for longer than a serial iteration, weights on every
 * tier add up, and a faster link makes nothing slower. */
TEST(laws_of_a_step)
{
    struct rng rng = test_rng(1, "offload", 0);
    for (int trial = 0; trial < TRIALS; trial++) {
        struct offload offload = random_offload(&rng);
        struct offload_step step, faster;
        double critical_s = 0.0;
        offload_step(&offload, &ten_tokens, &step);
        for (int i = 0; i < OFFLOAD_RESOURCES; i++) {
            critical_s += step.critical_s[i].now;
            CHECK(step.critical_s[i].now <= step.busy_s[i].now + 1e-15);
            CHECK(step.busy_s[i].now <= step.seconds.now + 1e-15);
        }
        CHECK_NEAR(critical_s, step.seconds.now, 1e-12);
        const struct offload_shares *shares = &offload.placement.shares;
        const double beyond = 4.0 * (1e6 * (1.0 - shares->weights[OFFLOAD_GPU_MEMORY]) +
                                     500.0 * (1.0 - shares->hidden[OFFLOAD_GPU_MEMORY]));
        const double cache = offload.placement.attention == OFFLOAD_ATTEND_GPU
                                 ? 4.0 * 1e5 * (1.0 - shares->cache[OFFLOAD_GPU_MEMORY])
                                 : 0.0;
        CHECK_NEAR(step.bytes[OFFLOAD_TO_GPU].now, beyond + cache, 1e-6);
        offload.rates.host_read *= 2.0;
        offload.rates.disk_read *= 2.0;
        offload_step(&offload, &ten_tokens, &faster);
        CHECK(faster.seconds.now <= step.seconds.now);
    }
}

/* Along a run the pieces are what the model gives at every single iteration. */
TEST(pieces_are_exact)
{
    struct rng rng = test_rng(2, "offload", 0);
    for (int trial = 0; trial < TRIALS; trial++) {
        const struct offload offload = random_offload(&rng);
        struct iteration_work work = {.decode_sequences = 1 + (int64_t)rng_below(&rng, 64)};
        work.decode_context_tokens = work.decode_sequences * (1 + (int64_t)rng_below(&rng, 4000));
        struct iteration_cost run, one;
        offload_cost(&offload, &work, &run);
        CHECK(run.until >= 1);
        const int64_t steps[] = {1, 7, run.until / 2, run.until - 1};
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            if (steps[i] >= run.until || steps[i] > 1000000) continue;
            struct iteration_work later = work;
            later.decode_context_tokens += steps[i] * work.decode_sequences;
            offload_cost(&offload, &later, &one);
            CHECK_NEAR(one.first_s / (run.first_s + (double)steps[i] * run.slope_s), 1.0, 1e-9);
        }
    }
}

/* FlexGen's memory of OPT-13B on an A6000 with the cache on disk: 64 prompts of 1024 tokens at once fit, 128 do not. */
TEST(memory_of_prompts)
{
    const struct llm_spec llm = llm_of("opt-13b");
    const struct offload_layer layer = offload_layer(&llm, 1);
    const struct percents on_disk = {100, 0, 0, 0, 100, 0};
    const double gpu_bytes = 49140.0 * 0x1p20;
    for (int64_t batch = 64; batch <= 128; batch += 64) {
        const struct offload_placement placement = flexgen(&on_disk, batch, 1);
        const struct offload_block block = {(double)batch, (double)batch, 1024, 1024};
        const struct offload_memory memory = offload_memory(&layer, &placement, &block, 1.0);
        const double b = (double)batch, s = 1024.0, h = 5120.0, nh = 40.0;
        const double working = b * (18.0 * s * h + 2.0 * nh * s * s + 2.0 * s * 4.0 * h), hidden = 2.0 * s * h * b;
        CHECK_NEAR(memory.prefill[OFFLOAD_GPU_MEMORY] / (llm_weight_bytes(&llm) + working + hidden), 1.0, 1e-9);
        CHECK_NEAR(memory.decode[OFFLOAD_DISK] / (b * 2048.0 * 819200.0), 1.0, 1e-9);
        CHECK_EQ_INT(memory.prefill[OFFLOAD_GPU_MEMORY] <= gpu_bytes, batch == 64);
    }
}

/* A limit below what the iteration moves in its time makes it last as long as the bytes take; any other changes
 * nothing. */
TEST(a_limit_holds_back)
{
    static const enum offload_schedule schedules[] = {OFFLOAD_SERIAL, OFFLOAD_OVERLAPPED, OFFLOAD_RELEASED};
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) {
        struct offload offload = plain_offload(schedules[i]);
        struct offload_limits limits;
        struct offload_step alone, limited;
        offload.placement.shares.weights[OFFLOAD_GPU_MEMORY] = 0.5;
        offload.placement.shares.weights[OFFLOAD_HOST] = 0.5;
        for (int lane = 0; lane < OFFLOAD_LANES; lane++) limits.bytes_per_s[lane] = (double)INFINITY;
        offload_step(&offload, &ten_tokens, &alone);
        CHECK_NEAR(alone.lanes[OFFLOAD_HOST_TO_GPU].now, 2e6, 1e-6);
        const double demand = 2e6 / alone.seconds.now;
        for (int percent = 25; percent <= 200; percent *= 2) {
            limits.bytes_per_s[OFFLOAD_HOST_TO_GPU] = 0.01 * percent * demand;
            limited = alone;
            offload_limit(&limits, &limited);
            CHECK_NEAR(limited.seconds.now, alone.seconds.now * fmax(1.0, 100.0 / percent), 1e-15);
            double critical_s = 0.0;
            for (int k = 0; k < OFFLOAD_RESOURCES; k++) critical_s += limited.critical_s[k].now;
            CHECK_NEAR(critical_s, limited.seconds.now, 1e-15);
        }
        CHECK(limited.seconds.until == alone.seconds.until && limited.seconds.slope == alone.seconds.slope);
    }
}

/* Eight drives with links of 7 GB/s and a port of 14: as two of them. */
TEST(drives_share_the_port)
{
    const struct csd_spec csd = {.channels = 8, .channel_bytes_per_s = 1.4e9, .read_frac = 1, .page_bytes = 4096,
                                 .stream_bytes_per_s = 1e15, .flop_per_s = 1e15, .page_channels = 1, .token_run = 1};
    const struct storage_device device = {.link = {7e9, 7e9}, .latency_s = {0, 0}};
    struct offload offload = plain_offload(OFFLOAD_OVERLAPPED);
    struct offload_step wide, narrow, two;
    offload.layer.attention = (struct csd_attention){.q_heads = 8, .kv_heads = 8, .head_dim = 2, .number_bytes = 2};
    offload.placement.shares.cache[OFFLOAD_GPU_MEMORY] = 0.0;
    offload.placement.shares.cache[OFFLOAD_CSD] = 1.0;
    offload.csd = (struct offload_csd){&csd, &device, 8};
    offload_step(&offload, &ten_tokens, &wide);
    offload.rates.csd_port = 14e9;
    offload_step(&offload, &ten_tokens, &narrow);
    offload.csd.count = 2;
    offload_step(&offload, &ten_tokens, &two);
    CHECK_NEAR(wide.busy_s[OFFLOAD_CSD_LINK].now / narrow.busy_s[OFFLOAD_CSD_LINK].now, 0.25, 1e-12);
    CHECK_NEAR(two.busy_s[OFFLOAD_CSD_LINK].now / narrow.busy_s[OFFLOAD_CSD_LINK].now, 1.0, 1e-12);
    CHECK_NEAR((wide.lanes[OFFLOAD_CSD_TO_GPU].now + wide.lanes[OFFLOAD_GPU_TO_CSD].now) /
                   wide.bytes[OFFLOAD_CSD_LINK].now,
               1.0, 1e-12);
}
