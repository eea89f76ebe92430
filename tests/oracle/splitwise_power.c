/* Splitwise's measured shares of TDP on A100 (Patel et al., ISCA 2024; Mutinifni/splitwise-sim @ 8f99e7d), by prompt length, batch
 * and tensor parallelism: the mean over a request of 128 tokens and its peak, against the shipped law of the A100's power.
 *
 * Three watts of that law are fitted to these rows, both LLMs together; what each row draws is foretold from its measured times.
 * Known to miss 10 %, and told apart here: means with prompts that last longer than a second, where the law draws what their FLOP
 * say and the GPU did not; and peaks of prompts of less than 0.28 s, most of which telemetry has averaged away. */
#include "tests/harness.h"

#include "analysis/calibrate/power_data.h"
#include "sim/catalog/power.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct catalog catalog = {.root = "configs"};

struct bench {
    struct arena arena;
    struct diag diag;
    struct gpu_spec gpu;
    struct llm_spec llm;
    struct gpu_power power;
    int64_t means, means_missed, long_means, peaks, peaks_missed, short_peaks;
    double decode_share[9]; /* of TDP, measured means of prompts of 512 tokens, by tensor parallelism */
};

struct row {
    double prompt, batch, tokens, peak, mean, prompt_s, token_s;
    int gpus;
};

static double share_at(const struct bench *bench, const struct iteration_work *work, int gpus, double seconds)
{
    const struct power_load load = power_load_of(&bench->gpu, &bench->llm, gpus, work, seconds);
    return power_draw_w(&bench->power.law, &load) / bench->gpu.tdp_w;
}

static double prompt_share(const struct bench *bench, const struct row *row)
{
    const struct iteration_work work = {.prefill_sequences = (int64_t)row->batch,
                                        .prefill_tokens = (int64_t)(row->batch * row->prompt),
                                        .prefill_pairs = row->batch * row->prompt * row->prompt};
    return share_at(bench, &work, row->gpus, row->prompt_s);
}

static double token_share(const struct bench *bench, const struct row *row)
{
    const struct iteration_work work = {
        .decode_sequences = (int64_t)row->batch,
        .decode_context_tokens = (int64_t)(row->batch * (row->prompt + 0.5 * row->tokens))};
    return share_at(bench, &work, row->gpus, row->token_s);
}

static void check_row(struct bench *bench, const struct row *row)
{
    const double decode_s = (row->tokens - 1) * row->token_s, prompt = prompt_share(bench, row);
    const double mean = (prompt * row->prompt_s + token_share(bench, row) * decode_s) / (row->prompt_s + decode_s);
    const bool long_mean = row->prompt_s > 1.0, short_peak = row->prompt_s < 0.28;
    bench->means += !long_mean;
    bench->long_means += long_mean;
    bench->means_missed += !long_mean && fabs(mean / row->mean - 1.0) > 0.10;
    bench->peaks += !short_peak;
    bench->short_peaks += short_peak;
    bench->peaks_missed += !short_peak && fabs(prompt / row->peak - 1.0) > 0.10;
    if (row->prompt == 512 && row->batch == 1) bench->decode_share[row->gpus] = mean;
}

static void read_rows(struct bench *bench, FILE *file)
{
    char line[512], hardware[32];
    struct row row;
    while (fgets(line, sizeof line, file) != NULL) {
        const int n = sscanf(line, "%*[^,],%31[^,],%lf,%lf,%lf,%lf,%lf,%lf,%lf,%*f,%d", hardware, &row.prompt,
                             &row.batch, &row.tokens, &row.peak, &row.mean, &row.prompt_s, &row.token_s, &row.gpus);
        row.prompt_s *= 1e-3;
        row.token_s *= 1e-3;
        /* 0: not measured; below what an idle GPU draws: a measurement that failed */
        if (n == 9 && strcmp(hardware, "a100-80gb") == 0 && row.mean * bench->gpu.tdp_w > bench->gpu.context_w)
            check_row(bench, &row);
    }
}

static bool compare(struct bench *bench, const char *llm, const char *path)
{
    const char *shared = test_shared(path);
    *bench = (struct bench){0};
    arena_init(&bench->arena);
    diag_init(&bench->diag);
    FILE *file = shared != NULL ? fopen(shared, "r") : NULL;
    if (file == NULL) return false;
    const bool found =
        CHECK_EQ_INT(catalog_llm(&catalog, llm, NULL, &bench->arena, &bench->llm, &bench->diag), 0) &&
        CHECK_EQ_INT(catalog_gpu(&catalog, "a100-80-sxm", NULL, &bench->arena, &bench->gpu, &bench->diag), 0) &&
        CHECK_EQ_INT(catalog_gpu_power(&catalog, &bench->gpu, &bench->arena, &bench->power, &bench->diag), 0);
    if (found) read_rows(bench, file);
    fclose(file);
    return found;
}

static void bloom(void)
{
    struct bench bench;
    if (compare(&bench, "bloom-176b", "llm_end_to_end/splitwise__bloom-176b__latency_and_power.csv")) {
        CHECK_EQ_INT(bench.means, 45);
        CHECK_EQ_INT(bench.means_missed, 0);
        CHECK_EQ_INT(bench.peaks, 40);
        CHECK_EQ_INT(bench.peaks_missed, 0);
        CHECK_EQ_INT(bench.long_means, 20);
        CHECK_EQ_INT(bench.short_peaks, 25);
    }
    arena_fini(&bench.arena);
}

static void llama(void)
{
    struct bench bench;
    if (compare(&bench, "llama-2-70b", "llm_end_to_end/splitwise__llama2-70b__latency_and_power.csv")) {
        CHECK_EQ_INT(bench.means, 149);
        CHECK(bench.means_missed <= 14);
        CHECK_EQ_INT(bench.peaks, 80);
        CHECK(bench.peaks_missed <= 5);
        CHECK_EQ_INT(bench.long_means, 31);
        CHECK_EQ_INT(bench.short_peaks, 100);
        CHECK_NEAR(bench.decode_share[2] / 0.74, 1.0, 0.1);
        CHECK_NEAR(bench.decode_share[4] / 0.60, 1.0, 0.1);
        CHECK_NEAR(bench.decode_share[8] / 0.44, 1.0, 0.1);
    }
    arena_fini(&bench.arena);
}

TEST_SUITE(splitwise_power)
{
    TEST(bloom);
    TEST(llama);
}
