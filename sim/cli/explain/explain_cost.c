#include "sim/cli/explain/explain_cost.h"

#include "models/operators/operators.h"
#include "sim/catalog/cost.h"
#include "sim/catalog/cost_operators.h"
#include "sim/cli/explain/explain_sets.h"
#include "sim/cli/answer.h"
#include "sim/cli/explain/explain_traffic.h"
#include "sim/core/number.h"
#include "sim/world/service/service.h"

#include <math.h>
#include <string.h>

/* The place of a key of the pool, or of the service if it has no pools. */
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

int explain_model_pool(struct cli *cli, const struct setup *setup, const struct service_config *service, size_t index,
                       struct arena *arena, struct modelled_pool *modelled)
{
    const struct config *config = setup->config;
    const struct pool_config pool = service_pool(service, index);
    char llm_path[256];
    snprintf(llm_path, sizeof llm_path, "services.%s.llm", service->name);
    *modelled = (struct modelled_pool){.name = pool.name == NULL ? service->name
                                                        : arena_printf(arena, "%s/%s", service->name, pool.name),
                              .pool = pool,
                              .gpus = (double)(pool.tensor_parallel * pool.pipeline_parallel)};
    if (modelled->name == NULL) return SIM_E_NOMEM;
    const char *gpu = pool.gpu != NULL ? pool.gpu : setup->scenario.cluster.nodes.gpu;
    if (gpu == NULL)
        return diag_error(&cli->diag, SIM_E_CONFIG, config_where(config, "cluster"),
                          "add \"gpu\": see 'orrery list gpus'", "services need to know the cluster's 'gpu'");
    const char *gpu_place = pool.gpu != NULL ? place_of(config, service, &pool, "gpu")
                                             : config_where(config, "cluster.gpu");
    int code = catalog_gpu(&setup->catalog, gpu, gpu_place, arena, &modelled->gpu, &cli->diag);
    if (code == 0)
        code = service_llm(service, &setup->catalog, config_where(config, llm_path), arena, &modelled->llm, &cli->diag);
    if (code != 0) return code;
    const int64_t per_node = cluster_config_gpus_per_node(&setup->scenario.cluster.nodes, gpu);
    const struct cost_request request = {.catalog = &setup->catalog, .gpu = &modelled->gpu, .llm = &modelled->llm,
                                         .nodes = pool_nodes(&pool, per_node, &setup->scenario.cluster.links.network),
                                         .tensor_parallel = pool.tensor_parallel, .pipeline_parallel = pool.pipeline_parallel,
                                         .data_parallel = pool.data_parallel,
                                         .host_waits = pool_host_waits(service, &pool),
                                         .where = place_of(config, service, &pool, "cost"), .arena = arena,
                                         .diag = &cli->diag};
    code = cost_build(&pool.cost, &request, &modelled->model);
    return code != 0 ? code
                     : pool_check_width(&pool, per_node, &setup->scenario.cluster.links.network, service->name,
                                        place_of(config, service, &pool, "tensor_parallel"), &cli->diag);
}

/* A row of the table: `sequences` sequences, each with `tokens` tokens in its prompt or context. */
struct sample {
    const char *phase;
    int64_t sequences, tokens;
    struct iteration_work work;
    double pairs, seen_pairs;         /* (query, key) pairs: all, and within the window or an indexer's choice */
    double kv_tokens, seen_kv_tokens; /* tokens whose keys and values are read, in the same two ways */
};

static struct sample prefill_sample(const struct llm_spec *llm, int64_t tokens)
{
    const double n = (double)tokens, seen = llm_seen_tokens(llm), window = seen > 0.0 ? seen : n;
    return (struct sample){
        .phase = "prefill", .sequences = 1, .tokens = tokens,
        .work = {.prefill_sequences = 1, .prefill_tokens = tokens, .prefill_pairs = n * n},
        .pairs = n * n / 2,
        .seen_pairs = (llm->chunked ? llm_chunk_pairs(n, 0, window) : fmin(n * n, llm_window_pairs(n, 0, window))) / 2,
        .kv_tokens = n, .seen_kv_tokens = n};
}

static struct sample decode_sample(const struct llm_spec *llm, int64_t sequences, int64_t tokens)
{
    const double seen = llm_seen_tokens(llm), all = (double)(sequences * tokens);
    const double visible = llm->chunked ? llm_chunk_context((double)tokens, seen) : seen;
    const double seen_tokens = seen > 0.0 ? fmin(all, (double)sequences * visible) : all;
    return (struct sample){
        .phase = "decode", .sequences = sequences, .tokens = tokens,
        .work = {.decode_sequences = sequences, .decode_context_tokens = sequences * tokens},
        .pairs = all, .seen_pairs = seen_tokens, .kv_tokens = all, .seen_kv_tokens = seen_tokens};
}

static int64_t sample_tokens(const struct sample *sample)
{
    return sample->work.prefill_tokens + sample->work.decode_sequences;
}

/* Floating-point operations of matrix products, over all GPUs of the replica; the head runs once per sequence. */
static double sample_flop(const struct llm_spec *llm, const struct sample *sample)
{
    const double token = llm_flop_per_token(llm, 0), head = llm_head_flop(llm),
                 near = llm_flop_per_token(llm, 1) - token;
    const int64_t seen = (int64_t)llm_seen_tokens(llm);
    const double further = seen > 0 ? llm_flop_per_token(llm, 2 * seen + 1) - llm_flop_per_token(llm, seen + 1) : near;
    const double far = seen > 0 ? further / (double)seen : near;
    return (double)sample_tokens(sample) * (token - head) + (double)sample->sequences * head + far * sample->pairs +
           (near - far) * sample->seen_pairs;
}

/* Bytes of weights, keys and values, each read once; by each attention group, where there are some. States of linear
 * attention are read and written. */
static double sample_bytes(const struct modelled_pool *modelled, const struct sample *sample)
{
    const struct llm_spec *llm = &modelled->llm;
    struct llm_reads reads = llm_reads(llm);
    reads.groups = (double)modelled->pool.data_parallel;
    const double index_bytes = (double)llm->index_layers * llm_index_key_bytes(llm);
    const struct llm_shard shard = llm_shard(llm, 1, 1);
    const double cut = llm->full_layers > 0                               ? shard.window_kv_bytes_per_token
                       : llm->index_tokens > 0 || llm->sliding_window > 0 ? shard.kv_bytes_per_token - index_bytes
                                                                          : 0.0;
    return llm_reads_bytes(&reads, sample_tokens(sample), sample->sequences) + index_bytes * sample->kv_tokens +
           cut * sample->seen_kv_tokens + (shard.kv_bytes_per_token - index_bytes - cut) * sample->kv_tokens +
           2.0 * (double)sample->sequences * llm_state_bytes(llm, 1);
}

/* An amount per second; undefined if no time passes. */
static void add_rate(struct answer_table *table, double amount, double seconds)
{
    if (seconds > 0)
        table_number(table, amount / seconds);
    else
        table_undefined(table);
}

static void add_row(struct answer_table *table, const struct modelled_pool *modelled, const struct sample *sample)
{
    struct iteration_cost cost;
    modelled->model.cost(modelled->model.model, &sample->work, &cost);
    double flop = sample_flop(&modelled->llm, sample), bytes = sample_bytes(modelled, sample);
    double peak_flop_per_s = modelled->gpus * gpu_peak_flop_per_s(&modelled->gpu, modelled->llm.compute);
    double peak_bytes_per_s = modelled->gpus * modelled->gpu.memory_bytes_per_s;
    table_text(table, modelled->name);
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

static void add_rows(struct answer_table *table, const struct modelled_pool *modelled)
{
    static const int64_t lengths[] = {128, 512, 2048, 8192}, batches[] = {1, 8, 32, 128};
    enum { N_LENGTHS = sizeof lengths / sizeof *lengths, N_BATCHES = sizeof batches / sizeof *batches };
    for (int i = 0; i < N_LENGTHS && lengths[i] <= modelled->llm.max_context; i++) {
        struct sample sample = prefill_sample(&modelled->llm, lengths[i]);
        add_row(table, modelled, &sample);
    }
    for (int i = 0; i < N_BATCHES; i++) {
        for (int j = 0; j < N_LENGTHS && lengths[j] <= modelled->llm.max_context; j++) {
            struct sample sample = decode_sample(&modelled->llm, batches[i], lengths[j]);
            add_row(table, modelled, &sample);
        }
    }
}

/* --- One iteration by operator --- */

static const struct table_column operator_columns[] = {
    LEFT("service"),     LEFT("operator"),     RIGHT("launches"),         RIGHT("ms"),
    RIGHT("share_frac"), LEFT("bound"),        RIGHT("efficiency"),       JSON_ONLY("tflop"),
    JSON_ONLY("gb"),     JSON_ONLY("link_gb"), JSON_ONLY("outside_frac"), LEFT("domain"),
    LEFT("by"),          LEFT("kernel"),       LEFT("parameters"),
    RIGHT("least_ms"),   RIGHT("most_ms"),     LEFT("measured_with")};

bool explain_batch_is_given(const struct explain_batch *given)
{
    return given->batch || given->context || given->prompt;
}

/* Leaves `value` unchanged if `text` is NULL. */
static int read_count(const char *option, const char *text, int64_t least, int64_t *value, struct diag *diag)
{
    const int64_t most = LLM_MAX_CONTEXT;
    if (text == NULL) return 0;
    if (number_i64(text, strlen(text), value) == NUMBER_OK && *value >= least && *value <= most) return 0;
    return diag_error(diag, SIM_E_USAGE, NULL, NULL, "option '--%s' must be a whole number from %lld to %lld, got '%s'",
                      option, (long long)least, (long long)most, text);
}

/* The work of the iteration: `batch` sequences decoding at `context` tokens each, beside a prompt of `prompt`
 * tokens. Defaults: 32 at 1024 without a prompt, none beside a given prompt. Returns 0 or SIM_E_USAGE. */
static int read_batch(const struct explain_batch *given, struct iteration_work *work, struct diag *diag)
{
    int64_t batch = given->prompt ? 0 : 32, context = 1024, prompt = 0;
    int code = read_count("batch", given->batch, 0, &batch, diag);
    if (code == 0) code = read_count("context", given->context, 1, &context, diag);
    if (code == 0) code = read_count("prompt", given->prompt, 0, &prompt, diag);
    if (code != 0) return code;
    if (batch == 0 && prompt == 0)
        return diag_error(diag, SIM_E_USAGE, NULL, "give --batch or --prompt a number above 0",
                          "the iteration to explain has no batch and no prompt");
    *work = (struct iteration_work){
        .prefill_sequences = prompt > 0, .prefill_tokens = prompt, .prefill_pairs = (double)prompt * (double)prompt,
        .decode_sequences = batch, .decode_context_tokens = batch * context};
    return 0;
}

static void add_share(struct answer_table *table, double part, double whole)
{
    if (whole > 0.0)
        table_number(table, part / whole);
    else
        table_undefined(table);
}

static const char *domain_of(const struct operator_share *row)
{
    if (row->outside_s <= 0.0) return "in";
    return row->outside_s < row->time.seconds ? "partly out" : "out";
}

/* Whether the time comes from measured points, from the model, or both. */
static const char *basis_of(const struct operator_share *row)
{
    if (row->measured_s <= 0.0) return "fit";
    return row->measured_s < row->time.seconds ? "fit and table" : "table";
}

/* The libraries that a class's kernels were measured with: "vLLM 0.14.0 (2026)". */
static void add_libraries(struct answer_table *table, const struct config_list *measured_with)
{
    struct text text;
    text_init(&text);
    library_say_all(measured_with, &text);
    table->failed |= text.failed;
    table_text(table, text.chars);
    text_fini(&text);
}

/* Where several sets of the GPU measured the class, the shortest and the longest time by them. */
static void add_span(struct answer_table *table, const struct sets_span *span)
{
    if (span->n_sets > 1) {
        table_number(table, span->least_s * 1e3);
        table_number(table, span->most_s * 1e3);
    } else {
        table_undefined(table);
        table_undefined(table);
    }
}

static void add_operator(struct answer_table *table, const char *service, const struct cost_operators *cost,
                         const struct operator_share *row, const struct sets_span *span, double iteration_s)
{
    table_text(table, service);
    table_text(table, llm_operator_name(row->op));
    table_number(table, row->launches);
    table_number(table, row->time.seconds * 1e3);
    add_share(table, row->time.seconds, iteration_s);
    table_text(table, kernel_bound_name(kernel_time_bound(&row->time)));
    add_share(table, row->ideal_s, row->time.seconds);
    table_number(table, row->time.flop / 1e12);
    table_number(table, row->time.bytes / 1e9);
    table_number(table, row->time.link_bytes / 1e9);
    add_share(table, row->outside_s, row->time.seconds);
    table_text(table, domain_of(row));
    table_text(table, basis_of(row));
    table_text(table, kernel_class_info(row->class)->name);
    table_text(table, cost->calibration.origin[row->class]);
    add_span(table, span);
    add_libraries(table, cost->calibration.measured_with[row->class]);
}

/* The CPU overhead: no peak of the data sheet bounds it, and no kernel's range holds it. */
static void add_host(struct answer_table *table, const char *service, const struct cost_operators *cost,
                     const struct iteration_breakdown *breakdown)
{
    enum { AFTER_BOUND = 6 }; /* efficiency to domain */
    table_text(table, service);
    table_text(table, "host");
    table_undefined(table);
    table_number(table, breakdown->host_s * 1e3);
    add_share(table, breakdown->host_s, breakdown->gpu_s + breakdown->host_s);
    table_text(table, kernel_bound_name(BOUND_OVERHEAD));
    for (int i = 0; i < AFTER_BOUND; i++) table_undefined(table);
    table_text(table, NULL);
    table_text(table, NULL);
    table_text(table, cost->engine.name);
    add_span(table, &(struct sets_span){.n_sets = 0});
    table_text(table, NULL);
}

static int add_operators(struct answer_table *table, const char *service, const struct catalog *catalog,
                         const struct cost_operators *cost, const struct iteration_work *work, bool shows_operators,
                         struct arena *arena, struct diag *diag)
{
    struct iteration_breakdown breakdown;
    struct sets_span spans[LLM_OPERATOR_COUNT] = {{.n_sets = 0}};
    iteration_breakdown(&cost->operators.parts, work, &breakdown);
    const int code = shows_operators ? explain_sets_find(catalog, cost, work, &breakdown, arena, spans, diag) : 0;
    if (code != 0) return code;
    for (size_t i = 0; i < breakdown.n; i++)
        add_operator(table, service, cost, &breakdown.operators[i], &spans[i], breakdown.gpu_s + breakdown.host_s);
    add_host(table, service, cost, &breakdown);
    return 0;
}

static void say_iteration(const char *service, const struct cost_operators *cost, const struct iteration_work *work,
                          struct text *lines)
{
    struct iteration_breakdown breakdown;
    char seconds[32], outside[32];
    iteration_breakdown(&cost->operators.parts, work, &breakdown);
    text_printf(lines, "%s: one iteration over", service);
    if (work->prefill_tokens > 0) text_printf(lines, " a prompt of %lld tokens", (long long)work->prefill_tokens);
    if (work->decode_sequences > 0)
        text_printf(lines, "%s %lld sequences that decode at %lld tokens each", work->prefill_tokens > 0 ? " and" : "",
                    (long long)work->decode_sequences,
                    (long long)(work->decode_context_tokens / work->decode_sequences));
    text_printf(lines, " takes %s ms; %s %% of its kernels' time is outside the fitted range\n",
                text_show_number((breakdown.gpu_s + breakdown.host_s) * 1e3, seconds, sizeof seconds),
                text_show_number(100.0 * breakdown.outside_s / breakdown.gpu_s, outside, sizeof outside));
}

/* --- All services --- */

/* The tables and notes about all services. */
struct account {
    struct text notes, operator_notes;
    struct answer_table iterations, operators, traffic;
    struct iteration_work work; /* the iteration shown by operator */
    bool shows_notes, shows_operators;
};

/* Kernels that do not fit the engine: a note, or a warning where only data are printed. */
static void add_misfits(const struct modelled_pool *modelled, const char *where, struct account *account,
                        struct diag *diag)
{
    const char *misfits = modelled->model.other_kernels, *fitting = modelled->model.fitting_kernels;
    if (misfits == NULL) return;
    if (!account->shows_notes)
        diag_warning(diag, where, fitting, "%s: %s", modelled->name, misfits);
    else
        text_printf(&account->notes, "%s: %s%s%s\n", modelled->name, misfits, fitting != NULL ? "; " : "",
                    fitting != NULL ? fitting : "");
}

static int add_pool(struct cli *cli, const struct setup *setup, const struct service_config *service, size_t index,
                    struct arena *arena, struct account *account)
{
    struct modelled_pool modelled;
    int code = explain_model_pool(cli, setup, service, index, arena, &modelled);
    if (code != 0) return code;
    text_printf(&account->notes, "%s: %s on %g x %s, %s cost%s\n", modelled.name, modelled.llm.name, modelled.gpus,
                modelled.gpu.name, modelled.model.kind, modelled.model.calibrated ? "" : ", uncalibrated");
    add_misfits(&modelled, place_of(setup->config, service, &modelled.pool, "cost"), account, &cli->diag);
    if (modelled.model.caveat) text_printf(&account->notes, "%s: %s\n", modelled.name, modelled.model.caveat);
    const struct kv_offloader *offloader = modelled.pool.kv.offload.policy.entry;
    if (offloader != NULL && offloader->place != NULL)
        text_printf(&account->notes, "%s: times with all KV on the GPU, without kv.offload '%s'\n", modelled.name,
                    offloader->policy.name);
    if (pool_kv_blocks(&modelled.pool, &modelled.gpu, &modelled.llm) == 0)
        text_printf(&account->notes, "%s: %s does not fit into this memory: no run will start\n", modelled.name,
                    modelled.llm.name);
    add_rows(&account->iterations, &modelled);
    const struct cost_operators *cost = cost_operators_of(&modelled.model);
    if (!cost) return 0;
    say_iteration(modelled.name, cost, &account->work, &account->operator_notes);
    code = add_operators(&account->operators, modelled.name, &setup->catalog, cost, &account->work,
                         account->shows_operators, arena, &cli->diag);
    if (code != 0) return code;
    return explain_traffic_add(cli, setup, &modelled, &account->work, &account->traffic);
}

static int add_service(struct cli *cli, const struct setup *setup, const struct service_config *service,
                       struct arena *arena, struct account *account)
{
    int code = 0;
    for (size_t i = 0; i < service_n_pools(service) && code == 0; i++)
        code = add_pool(cli, setup, service, i, arena, account);
    return code;
}

static int print(struct account *account, const struct explain_cost_options *options, struct cli *cli)
{
    const enum answer_form form = (enum answer_form)options->form;
    if (answer_is_data(form))
        return table_print(options->traffic     ? &account->traffic
                           : options->operators ? &account->operators
                                                : &account->iterations,
                           0, form, cli->out, &cli->diag);
    struct answer answer;
    answer_init(&answer, form, NULL);
    answer_say(&answer, "%s", account->notes.chars != NULL ? account->notes.chars : "");
    if (!options->operators && !options->traffic) answer_add(&answer, NULL, NULL, &account->iterations);
    if (account->operators.n_cells > 0) answer_say(&answer, "\n%s", account->operator_notes.chars);
    if (!options->traffic) answer_add(&answer, NULL, NULL, &account->operators);
    if (account->traffic.n_cells > 0 && !options->traffic) answer_say(&answer, "\n");
    answer_add(&answer, NULL, NULL, &account->traffic);
    return answer_end(&answer, 0, cli->out, &cli->diag);
}

static int check_options(const struct explain_cost_options *options, const struct account *account, struct diag *diag)
{
    const bool wanted = options->operators || explain_batch_is_given(&options->batch);
    if (account->notes.failed || account->operator_notes.failed || account->operators.failed || account->traffic.failed)
        return SIM_E_NOMEM;
    if (options->traffic && account->traffic.n_cells == 0)
        return diag_error(diag, SIM_E_CONFIG, NULL,
                          "it takes a tensor_parallel above cluster.gpus_per_node, a cluster.network and the cost "
                          "\"operators\"",
                          "no service has replicas over nodes whose cost says what they send");
    if (!wanted || account->operators.n_cells > 0) return 0;
    return diag_error(diag, SIM_E_CONFIG, NULL, "set services.NAME.cost to \"operators\"",
                      "no service has a cost model with operators");
}

int explain_cost(struct cli *cli, const struct setup *setup, const struct explain_cost_options *options)
{
    static const struct table_column columns[] = {LEFT("service"),      LEFT("phase"),        RIGHT("sequences"),
                                                  RIGHT("tokens_each"), RIGHT("ms"),          RIGHT("tokens_per_s"),
                                                  RIGHT("tflop"),       RIGHT("gb"),          RIGHT("compute_frac"),
                                                  RIGHT("memory_frac"), RIGHT("outside_frac")};
    struct account account;
    struct arena arena;
    arena_init(&arena);
    text_init(&account.notes);
    text_init(&account.operator_notes);
    TABLE_INIT(&account.iterations, columns);
    TABLE_INIT(&account.operators, operator_columns);
    explain_traffic_init(&account.traffic);
    const bool is_data = answer_is_data((enum answer_form)options->form);
    account.shows_notes = !is_data;
    account.shows_operators = !options->traffic && (options->operators || !is_data);
    int code = read_batch(&options->batch, &account.work, &cli->diag);
    if (code == 0 && setup->scenario.services.n == 0)
        code = diag_error(&cli->diag, SIM_E_CONFIG, NULL, "for jobs with plans see 'orrery plan'",
                          "the scenario has no services, whose iterations have a cost");
    for (size_t i = 0; i < setup->scenario.services.n && code == 0; i++)
        code = add_service(cli, setup, scenario_service(&setup->scenario, i), &arena, &account);
    if (code == 0) code = check_options(options, &account, &cli->diag);
    if (code == 0) code = print(&account, options, cli);
    table_fini(&account.traffic);
    table_fini(&account.operators);
    table_fini(&account.iterations);
    text_fini(&account.operator_notes);
    text_fini(&account.notes);
    arena_fini(&arena);
    return code;
}
