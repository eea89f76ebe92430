#include "sim/cli/explain_cost.h"

#include "sim/catalog/cost.h"
#include "sim/cli/table.h"

#include <math.h>

/* One service with all that a cost needs. */
struct costed {
    const struct service_config *service;
    struct gpu_spec gpu;
    struct llm_spec llm;
    struct iteration_model model;
    double gpus;
};

static int cost_service(struct cli *cli, const struct setup *setup, const struct service_config *service,
                        struct arena *arena, struct costed *costed)
{
    const struct config *config = setup->config;
    char llm_path[256], cost_path[256];
    snprintf(llm_path, sizeof llm_path, "services.%s.llm", service->name);
    snprintf(cost_path, sizeof cost_path, "services.%s.cost", service->name);
    *costed = (struct costed){.service = service,
                              .gpus = (double)service->tensor_parallel};
    if (setup->scenario.cluster.gpu == NULL)
        return diag_error(&cli->diag, SIM_E_CONFIG, config_where(config, "cluster"),
                          "add \"gpu\": see 'orrery list gpus'", "services need to know the cluster's 'gpu'");
    int code = catalog_gpu(&setup->catalog, setup->scenario.cluster.gpu, config_where(config, "cluster.gpu"), arena,
                           &costed->gpu, &cli->diag);
    if (code == 0)
        code = catalog_llm(&setup->catalog, service->llm, config_where(config, llm_path), arena, &costed->llm,
                           &cli->diag);
    if (code == 0)
        code = cost_build(&service->cost, &costed->gpu, &costed->llm, service->tensor_parallel, 1,
                          config_where(config, cost_path), arena, &costed->model, &cli->diag);
    return code;
}

/* What a query attends to of a context: a sliding window sees no more. */
static double seen_tokens(const struct llm_spec *llm, int64_t context_tokens)
{
    return (double)(llm->sliding_window > 0 && llm->sliding_window < context_tokens ? llm->sliding_window
                                                                                    : context_tokens);
}

/* Floating-point operations of an iteration, over all GPUs of the replica. */
static double work_flop(const struct llm_spec *llm, const struct iteration_work *work, double context_tokens)
{
    double tokens = (double)(work->prefill_tokens + work->decode_sequences);
    double dense = llm_flop_per_token(llm, 0), per_context_token = llm_flop_per_token(llm, 1) - dense;
    return tokens * dense + per_context_token * (work->prefill_pairs / 2 + context_tokens);
}

/* Bytes of weights and of keys and values that an iteration reads, as if it needed every weight: a mixture of experts
 * reads fewer for small batches. */
static double work_bytes(const struct llm_spec *llm, double context_tokens)
{
    return llm_weight_bytes(llm) + llm_kv_bytes_per_token(llm) * context_tokens;
}

static void add_row(struct table *table, const struct costed *costed, const char *phase, int64_t sequences,
                    int64_t tokens, const struct iteration_work *work)
{
    struct iteration_cost cost;
    costed->model.cost(costed->model.model, work, &cost);
    double context_tokens = (double)work->decode_sequences * seen_tokens(&costed->llm, tokens);
    double flop = work_flop(&costed->llm, work, context_tokens), bytes = work_bytes(&costed->llm, context_tokens);
    double peak_flop = costed->gpus * gpu_peak_flop_per_s(&costed->gpu, costed->llm.compute) * cost.first_s;
    double peak_bytes = costed->gpus * costed->gpu.memory_bytes_per_s * cost.first_s;
    table_text(table, costed->service->name);
    table_text(table, phase);
    table_number(table, (double)sequences);
    table_number(table, (double)tokens);
    table_number(table, cost.first_s * 1e3);
    table_number(table, (double)(work->prefill_tokens + work->decode_sequences) / cost.first_s);
    table_number(table, flop / 1e12);
    table_number(table, bytes / 1e9);
    table_number(table, flop / peak_flop);
    table_number(table, bytes / peak_bytes);
    table_text(table, cost.extrapolated ? "extrapolated" : NULL);
}

static void add_rows(struct table *table, const struct costed *costed)
{
    static const int64_t lengths[] = {128, 512, 2048, 8192}, batches[] = {1, 8, 32, 128};
    enum { N_LENGTHS = sizeof lengths / sizeof *lengths, N_BATCHES = sizeof batches / sizeof *batches };
    for (int i = 0; i < N_LENGTHS && lengths[i] <= costed->llm.max_context; i++) {
        int64_t n = lengths[i];
        struct iteration_work work = {.prefill_sequences = 1, .prefill_tokens = n, .prefill_pairs = (double)(n * n)};
        add_row(table, costed, "prefill", 1, n, &work);
    }
    for (int i = 0; i < N_BATCHES; i++) {
        for (int j = 0; j < N_LENGTHS && lengths[j] <= costed->llm.max_context; j++) {
            struct iteration_work work = {.decode_sequences = batches[i],
                                          .decode_context_tokens = batches[i] * lengths[j]};
            add_row(table, costed, "decode", batches[i], lengths[j], &work);
        }
    }
}

static void print_notes(struct cli *cli, const struct costed *costed)
{
    fprintf(cli->out, "%s: %s on %g x %s, %s cost%s\n", costed->service->name, costed->llm.name, costed->gpus,
            costed->gpu.name, costed->model.kind, costed->model.calibrated ? "" : ", uncalibrated");
}

int explain_cost(struct cli *cli, const struct setup *setup, bool as_json)
{
    static const struct table_column columns[] = {
        {"service", COLUMN_LEFT, false},    {"phase", COLUMN_LEFT, false},       {"sequences", COLUMN_RIGHT, false},
        {"tokens_each", COLUMN_RIGHT, false}, {"ms", COLUMN_RIGHT, false},       {"tokens_per_s", COLUMN_RIGHT, false},
        {"tflop", COLUMN_RIGHT, false},     {"gb", COLUMN_RIGHT, false},         {"compute_frac", COLUMN_RIGHT, false},
        {"memory_frac", COLUMN_RIGHT, false},  {"note", COLUMN_LEFT, false}};
    struct table table;
    struct arena arena;
    int code = 0;
    arena_init(&arena);
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < setup->scenario.services.n && code == 0; i++) {
        struct costed costed;
        code = cost_service(cli, setup, scenario_service(&setup->scenario, i), &arena, &costed);
        if (code != 0) break;
        if (!as_json) print_notes(cli, &costed);
        add_rows(&table, &costed);
    }
    if (code == 0 && !as_json) fputc('\n', cli->out);
    if (code == 0) code = table_write(&table, as_json, cli->out);
    table_fini(&table);
    arena_fini(&arena);
    return code;
}
