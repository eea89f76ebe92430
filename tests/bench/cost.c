/* Speed of a cost model: nanoseconds of one call, over decode batches of changing size. A serving run calls it a few
 * times per request. One JSON line per model. */
#include "models/affine.h"
#include "models/roofline.h"
#include "models/table.h"
#include "sim/catalog/catalog.h"
#include "sim/catalog/cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALLS = 4000000, REPETITIONS = 5, TABLE_POINTS = 12 };

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Median of the repetitions. The sum keeps the calls from being optimised away. */
static void measure(const char *name, const struct iteration_model *model)
{
    double ns[REPETITIONS], sum_s = 0.0;
    for (int repetition = 0; repetition < REPETITIONS; repetition++) {
        const double start_s = cpu_s();
        for (int64_t i = 0; i < CALLS; i++) {
            const struct iteration_work work = {.decode_sequences = 1 + (i & 127), .decode_context_tokens = i & 65535};
            struct iteration_cost cost;
            model->cost(model->model, &work, &cost);
            sum_s += cost.first_s;
        }
        ns[repetition] = 1e9 * (cpu_s() - start_s) / CALLS;
    }
    qsort(ns, REPETITIONS, sizeof *ns, compare_doubles);
    printf("{\"bench\":\"cost\",\"model\":\"%s\",\"ns_per_call\":%.1f,\"mean_s\":%.6f}\n", name, ns[REPETITIONS / 2],
           sum_s / CALLS / REPETITIONS);
}

static void measure_roofline(const char *name, const char *llm_name, int64_t tensor_parallel, struct arena *arena)
{
    static const struct catalog catalog = {"configs"};
    struct diag diag;
    struct gpu_spec gpu;
    struct llm_spec llm;
    struct config *config;
    struct roofline_params params;
    struct config_alternative kind;
    struct iteration_model model;
    diag_init(&diag);
    int code = config_parse("bench", ".", "{}", 2, &config, &diag);
    if (code == 0 && cost_alternative(0, &kind))
        code = config_bind(config, kind.fields, NULL, arena, &params, sizeof params, &diag);
    config_destroy(config);
    if (code == 0) code = catalog_gpu(&catalog, "h100-sxm", "bench", arena, &gpu, &diag);
    if (code == 0) code = catalog_llm(&catalog, llm_name, "bench", arena, &llm, &diag);
    const struct config_variant cost = {.name = kind.name, .entry = kind.entry, .params = &params};
    const struct cost_request request = {.catalog = &catalog, .gpu = &gpu, .llm = &llm,
                                         .tensor_parallel = tensor_parallel, .pipeline_parallel = 1, .where = "bench",
                                         .arena = arena, .diag = &diag};
    if (code == 0) code = cost_build(&cost, &request, &model);
    if (code == 0)
        measure(name, &model);
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
    measure_roofline("roofline, dense", "llama-2-70b", 8, &arena);
    measure_roofline("roofline, experts", "qwen3-30b-a3b", 1, &arena);
    measure("affine", &(struct iteration_model){.model = &affine, .cost = affine_cost});
    measure("table", &(struct iteration_model){.model = &table, .cost = table_cost});
    arena_fini(&arena);
    return 0;
}
