/* Measures the cost models: nanoseconds per call, over batches of changing size, and milliseconds to build a model.
 * A serving run calls its model a few times per request. One JSON line per model and kind of batch. */
#include "models/stated.h"
#include "sim/catalog/catalog.h"
#include "sim/catalog/cost.h"
#include "tests/bench/bench.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MAX_CALLS = 1000000, TABLE_POINTS = 12, BATCHES = 4096 };

enum phase { DECODE, PREFILL, MIXED, PHASES };

/* Batches in no order: chunks of up to 2048 tokens, half of them with earlier context; up to 256 decoding sequences. */
static void make_batches(enum phase phase, struct iteration_work batches[BATCHES])
{
    uint32_t state = 1;
    for (int i = 0; i < BATCHES; i++) {
        struct iteration_work *work = &batches[i];
        const int64_t chance = (state = state * 1664525u + 1013904223u) >> 8;
        const int64_t n = 1 + chance % 2048, p = chance & 1 ? chance % 3000 : 0, sequences = 1 + chance % 256;
        *work = (struct iteration_work){.prefill_sequences = 0};
        if (phase != DECODE) {
            work->prefill_sequences = 1;
            work->prefill_tokens = n;
            work->prefill_context_tokens = p;
            work->prefill_pairs = (double)n * (double)n + 2.0 * (double)n * (double)p;
        }
        if (phase != PREFILL) {
            work->decode_sequences = sequences;
            work->decode_context_tokens = sequences * (16 + chance % 5000);
        }
    }
}

/* Median of the repetitions. The sum keeps the calls from being optimised away. */
static void measure(const char *name, const struct iteration_model *model, double build_ms)
{
    static const char *const phases[PHASES] = {"decode", "prefill", "mixed"};
    struct iteration_work batches[BATCHES];
    const int calls = bench_load(MAX_CALLS);
    for (int phase = 0; phase < PHASES; phase++) {
        double ns[BENCH_REPEATS], sum_s = 0.0;
        make_batches((enum phase)phase, batches);
        for (int repetition = 0; repetition < BENCH_REPEATS; repetition++) {
            const double start_s = bench_cpu_s();
            for (int64_t i = 0; i < calls; i++) {
                struct iteration_cost cost;
                model->cost(model->model, &batches[i % BATCHES], &cost);
                sum_s += cost.first_s;
            }
            ns[repetition] = 1e9 * (bench_cpu_s() - start_s) / calls;
        }
        printf("{\"bench\":\"cost\",\"model\":\"%s\",\"batches\":\"%s\",\"ns_per_call\":%.1f,\"mean_s\":%.6f,"
               "\"build_ms\":%.2f}\n",
               name, phases[phase], bench_median(ns), sum_s / calls / BENCH_REPEATS, build_ms);
    }
}

static bool find_kind(const char *name, struct config_alternative *kind)
{
    for (size_t i = 0; cost_alternative(i, kind); i++)
        if (strcmp(kind->name, name) == 0) return true;
    return false;
}

/* A kind of model with its defaults, on H100. */
static void measure_kind(const char *kind_name, const char *llm_name, int64_t tensor_parallel, struct arena *arena)
{
    static const struct catalog catalog = {.root = "configs"};
    char name[100];
    struct diag diag;
    struct gpu_spec gpu;
    struct llm_spec llm;
    struct config *config;
    struct config_alternative kind;
    struct iteration_model model;
    diag_init(&diag);
    if (!find_kind(kind_name, &kind)) return;
    void *params = arena_alloc(arena, kind.params_bytes);
    int code = config_parse("bench", ".", "{}", 2, &config, &diag);
    if (code == 0) code = config_bind(config, kind.fields, NULL, arena, params, kind.params_bytes, &diag);
    config_destroy(config);
    if (code == 0) code = catalog_gpu(&catalog, "h100-sxm", "bench", arena, &gpu, &diag);
    if (code == 0) code = catalog_llm(&catalog, llm_name, "bench", arena, &llm, &diag);
    const struct config_variant cost = {.name = kind.name, .entry = kind.entry, .params = params};
    const struct cost_request request = {.catalog = &catalog, .gpu = &gpu, .llm = &llm,
                                         .tensor_parallel = tensor_parallel, .pipeline_parallel = 1, .where = "bench",
                                         .arena = arena, .diag = &diag};
    const double start_s = bench_cpu_s();
    if (code == 0) code = cost_build(&cost, &request, &model);
    const double build_ms = 1e3 * (bench_cpu_s() - start_s);
    snprintf(name, sizeof name, "%s, %s", kind_name, llm_name);
    if (code == 0)
        measure(name, &model, build_ms);
    else
        fprintf(stderr, "%s\n", diag.items[0].text);
}

int main(void)
{
    static const struct affine affine = {.prefill.small = {.fixed_s = 5e-3, .token_s = 50e-6},
                                         .decode.small = {.fixed_s = 5e-3, .context_token_s = 1e-7}, .stages = 1.0};
    struct table_point points[TABLE_POINTS];
    for (int i = 0; i < TABLE_POINTS; i++) points[i] = (struct table_point){(double)(16 << i), 0.01 + 0.001 * i};
    const struct table table = {{points, TABLE_POINTS}, {points, TABLE_POINTS}, 1.1};
    struct arena arena;
    arena_init(&arena);
    measure_kind("operators", "llama-3.1-8b", 1, &arena);
    measure_kind("operators", "llama-2-70b", 8, &arena);
    measure_kind("operators", "qwen3-30b-a3b", 1, &arena);
    measure_kind("operators", "deepseek-v3", 8, &arena);
    measure_kind("roofline", "llama-2-70b", 8, &arena);
    measure_kind("roofline", "qwen3-30b-a3b", 1, &arena);
    measure("affine", &(struct iteration_model){.model = &affine, .cost = affine_cost}, 0.0);
    measure("table", &(struct iteration_model){.model = &table, .cost = table_cost}, 0.0);
    arena_fini(&arena);
    return 0;
}
