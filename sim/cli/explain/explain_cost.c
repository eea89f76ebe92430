#include "sim/cli/explain/explain_cost.h"

#include "sim/catalog/cost.h"
#include "sim/cli/table.h"
#include "sim/world/service/service.h"

#include <math.h>

/* One service with all that a cost needs. */
struct costed {
    const char *name; /* of the service, and its pool if it has any: "chat", "chat/prompts" */
    struct pool_config pool;
    struct gpu_spec gpu;
    struct llm_spec llm;
    struct iteration_model model;
    double gpus;
};

/* The place of a pool's key, or of the service's where it has no pools. */
static const char *place_of(const struct config *config, const struct service_config *service,
                            const struct pool_config *pool, const char *key)
{
    char path[384];
    if (pool->name != NULL)
        snprintf(path, sizeof path, "services.%s.pools.%s.%s", service->name, pool->name, key);
    else
        snprintf(path, sizeof path, "services.%s.%s", service->name, key);
    return config_where(config, path);
}

static int cost_pool(struct cli *cli, const struct setup *setup, const struct service_config *service, size_t index,
                     struct arena *arena, struct costed *costed)
{
    const struct config *config = setup->config;
    const struct pool_config pool = service_pool(service, index);
    char llm_path[256];
    snprintf(llm_path, sizeof llm_path, "services.%s.llm", service->name);
    *costed = (struct costed){.name = pool.name == NULL ? service->name
                                                        : arena_printf(arena, "%s/%s", service->name, pool.name),
                              .pool = pool,
                              .gpus = (double)(pool.tensor_parallel * pool.pipeline_parallel)};
    if (costed->name == NULL) return SIM_E_NOMEM;
    const char *gpu = pool.gpu != NULL ? pool.gpu : setup->scenario.cluster.nodes.gpu;
    if (gpu == NULL)
        return diag_error(&cli->diag, SIM_E_CONFIG, config_where(config, "cluster"),
                          "add \"gpu\": see 'orrery list gpus'", "services need to know the cluster's 'gpu'");
    const char *gpu_place = pool.gpu != NULL ? place_of(config, service, &pool, "gpu")
                                             : config_where(config, "cluster.gpu");
    int code = catalog_gpu(&setup->catalog, gpu, gpu_place, arena, &costed->gpu, &cli->diag);
    if (code == 0)
        code = catalog_llm(&setup->catalog, service->llm, config_where(config, llm_path), arena, &costed->llm,
                           &cli->diag);
    if (code != 0) return code;
    const struct cost_request request = {.catalog = &setup->catalog, .gpu = &costed->gpu, .llm = &costed->llm,
                                         .tensor_parallel = pool.tensor_parallel, .pipeline_parallel = pool.pipeline_parallel,
                                         .where = place_of(config, service, &pool, "cost"), .arena = arena,
                                         .diag = &cli->diag};
    return cost_build(&pool.cost, &request, &costed->model);
}

/* A row of the table: `sequences` alike, each with `tokens` tokens in its prompt or context. */
struct sample {
    const char *phase;
    int64_t sequences, tokens;
    struct iteration_work work;
    double pairs;     /* of a query and a key, within the sliding window */
    double kv_tokens; /* whose keys and values are read */
};

static struct sample prefill_sample(const struct llm_spec *llm, int64_t tokens)
{
    double n = (double)tokens, window = llm->sliding_window > 0 ? (double)llm->sliding_window : n;
    return (struct sample){
        .phase = "prefill", .sequences = 1, .tokens = tokens,
        .work = {.prefill_sequences = 1, .prefill_tokens = tokens, .prefill_pairs = n * n},
        .pairs = fmin(n * n, llm_window_pairs(n, 0, window)) / 2, .kv_tokens = n};
}

static struct sample decode_sample(const struct llm_spec *llm, int64_t sequences, int64_t tokens)
{
    bool slides = llm->sliding_window > 0 && llm->sliding_window < tokens;
    double seen_tokens = (double)(sequences * (slides ? llm->sliding_window : tokens));
    return (struct sample){
        .phase = "decode", .sequences = sequences, .tokens = tokens,
        .work = {.decode_sequences = sequences, .decode_context_tokens = sequences * tokens},
        .pairs = seen_tokens, .kv_tokens = seen_tokens};
}

static int64_t sample_tokens(const struct sample *sample)
{
    return sample->work.prefill_tokens + sample->work.decode_sequences;
}

/* Floating-point operations of matrix products, over all GPUs of the replica; the head runs once per sequence. */
static double sample_flop(const struct llm_spec *llm, const struct sample *sample)
{
    double token = llm_flop_per_token(llm, 0), pair = llm_flop_per_token(llm, 1) - token;
    double head = llm_head_flop(llm);
    return (double)sample_tokens(sample) * (token - head) + (double)sample->sequences * head + pair * sample->pairs;
}

/* Bytes of weights and of keys and values that are read, once each. */
static double sample_bytes(const struct llm_spec *llm, const struct sample *sample)
{
    return llm_read_bytes(llm, sample_tokens(sample)) + llm_kv_bytes_per_token(llm) * sample->kv_tokens;
}

/* An amount per second, undefined where nothing takes any time. */
static void add_rate(struct table *table, double amount, double seconds)
{
    if (seconds > 0)
        table_number(table, amount / seconds);
    else
        table_undefined(table);
}

static void add_row(struct table *table, const struct costed *costed, const struct sample *sample)
{
    struct iteration_cost cost;
    costed->model.cost(costed->model.model, &sample->work, &cost);
    double flop = sample_flop(&costed->llm, sample), bytes = sample_bytes(&costed->llm, sample);
    double peak_flop_per_s = costed->gpus * gpu_peak_flop_per_s(&costed->gpu, costed->llm.compute);
    double peak_bytes_per_s = costed->gpus * costed->gpu.memory_bytes_per_s;
    table_text(table, costed->name);
    table_text(table, sample->phase);
    table_number(table, (double)sample->sequences);
    table_number(table, (double)sample->tokens);
    table_number(table, cost.first_s * 1e3);
    add_rate(table, (double)sample_tokens(sample), cost.first_s);
    table_number(table, flop / 1e12);
    table_number(table, bytes / 1e9);
    add_rate(table, flop / peak_flop_per_s, cost.first_s);
    add_rate(table, bytes / peak_bytes_per_s, cost.first_s);
    table_number(table, cost.extrapolated_frac);
}

static void add_rows(struct table *table, const struct costed *costed)
{
    static const int64_t lengths[] = {128, 512, 2048, 8192}, batches[] = {1, 8, 32, 128};
    enum { N_LENGTHS = sizeof lengths / sizeof *lengths, N_BATCHES = sizeof batches / sizeof *batches };
    for (int i = 0; i < N_LENGTHS && lengths[i] <= costed->llm.max_context; i++) {
        struct sample sample = prefill_sample(&costed->llm, lengths[i]);
        add_row(table, costed, &sample);
    }
    for (int i = 0; i < N_BATCHES; i++) {
        for (int j = 0; j < N_LENGTHS && lengths[j] <= costed->llm.max_context; j++) {
            struct sample sample = decode_sample(&costed->llm, batches[i], lengths[j]);
            add_row(table, costed, &sample);
        }
    }
}

/* What is said about all services. */
struct account {
    struct text notes, operator_notes;
    struct table iterations, operators;
    struct iteration_work work; /* the iteration that is taken apart */
};

static int add_pool(struct cli *cli, const struct setup *setup, const struct service_config *service, size_t index,
                    struct arena *arena, struct account *account)
{
    struct costed costed;
    const int code = cost_pool(cli, setup, service, index, arena, &costed);
    if (code != 0) return code;
    text_printf(&account->notes, "%s: %s on %g x %s, %s cost%s\n", costed.name, costed.llm.name, costed.gpus,
                costed.gpu.name, costed.model.kind, costed.model.calibrated ? "" : ", uncalibrated");
    if (costed.model.caveat) text_printf(&account->notes, "%s: %s\n", costed.name, costed.model.caveat);
    const struct kv_offloader *offloader = costed.pool.kv.offload.policy.entry;
    if (offloader != NULL && offloader->place != NULL)
        text_printf(&account->notes, "%s: these are times with all on the GPU: kv.offload '%s' is not in them\n",
                    costed.name, offloader->policy.name);
    if (pool_kv_blocks(&costed.pool, &costed.gpu, &costed.llm) == 0)
        text_printf(&account->notes, "%s: %s does not fit into this memory: no run will start\n", costed.name,
                    costed.llm.name);
    add_rows(&account->iterations, &costed);
    const struct cost_operators *cost = cost_operators_of(&costed.model);
    if (!cost) return 0;
    explain_iteration(costed.name, cost, &account->work, &account->operator_notes);
    explain_add_operators(&account->operators, costed.name, cost, &account->work);
    return 0;
}

static int add_service(struct cli *cli, const struct setup *setup, const struct service_config *service,
                       struct arena *arena, struct account *account)
{
    int code = 0;
    for (size_t i = 0; i < service_n_pools(service) && code == 0; i++)
        code = add_pool(cli, setup, service, i, arena, account);
    return code;
}

static int write_tables(const struct account *account, const struct explain_cost_options *options, FILE *out)
{
    const bool both = !options->json && !options->operators;
    if (options->json) return table_write(options->operators ? &account->operators : &account->iterations, true, out);
    fprintf(out, "%s\n", account->notes.chars ? account->notes.chars : "");
    int code = both ? table_write(&account->iterations, false, out) : 0;
    if (account->operators.n_cells == 0 || code != 0) return code;
    fprintf(out, "%s%s\n", both ? "\n" : "", account->operator_notes.chars);
    return table_write(&account->operators, false, out);
}

static int check_options(const struct explain_cost_options *options, const struct account *account, struct diag *diag)
{
    const bool wanted = options->operators || explain_batch_is_given(&options->batch);
    if (account->notes.failed || account->operator_notes.failed || account->operators.failed) return SIM_E_NOMEM;
    if (!wanted || account->operators.n_cells > 0) return 0;
    return diag_error(diag, SIM_E_CONFIG, NULL, "set services.NAME.cost to \"operators\"",
                      "no service has a cost model that knows operators");
}

int explain_cost(struct cli *cli, const struct setup *setup, const struct explain_cost_options *options)
{
    static const struct table_column columns[] = {
        {"service", COLUMN_LEFT, false},    {"phase", COLUMN_LEFT, false},       {"sequences", COLUMN_RIGHT, false},
        {"tokens_each", COLUMN_RIGHT, false}, {"ms", COLUMN_RIGHT, false},       {"tokens_per_s", COLUMN_RIGHT, false},
        {"tflop", COLUMN_RIGHT, false},     {"gb", COLUMN_RIGHT, false},         {"compute_frac", COLUMN_RIGHT, false},
        {"memory_frac", COLUMN_RIGHT, false},  {"outside_frac", COLUMN_RIGHT, false}};
    struct account account;
    struct arena arena;
    arena_init(&arena);
    text_init(&account.notes);
    text_init(&account.operator_notes);
    table_init(&account.iterations, columns, sizeof columns / sizeof *columns);
    table_init(&account.operators, explain_operator_columns, explain_n_operator_columns);
    int code = explain_batch_work(&options->batch, &account.work, &cli->diag);
    for (size_t i = 0; i < setup->scenario.services.n && code == 0; i++)
        code = add_service(cli, setup, scenario_service(&setup->scenario, i), &arena, &account);
    if (code == 0) code = check_options(options, &account, &cli->diag);
    if (code == 0) code = write_tables(&account, options, cli->out);
    table_fini(&account.operators);
    table_fini(&account.iterations);
    text_fini(&account.operator_notes);
    text_fini(&account.notes);
    arena_fini(&arena);
    return code;
}
