/* Warnings at the end of a run about defaults of a service that decide its result, and that its user may not know of:
 * the time of a restart after a failure, the nodes of its replicas, KV reserved for outputs, limits of attention
 * groups, drafts. Also outputs that the batcher cuts, models of pools that do not fit them, and prompts that repeat
 * earlier ones. */
#include "sim/world/cluster/cluster.h"
#include "sim/world/service/scaling_state.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Restarts --- */

/* How a replica of the pool starts after a failure, and the key that says so. */
static const struct start_config *start_of(const struct service *service, const struct pool_config *pool, char *key,
                                           size_t bytes)
{
    const bool scales = pool->scaling.policy.entry != NULL;
    if (scales && pool->name != NULL)
        snprintf(key, bytes, "pools.%s.scaling.start_delay", pool->name);
    else
        snprintf(key, bytes, "%s", scales ? "scaling.start_delay" : "restart.delay");
    return scales ? &pool->scaling.start : &service->config->restart;
}

static int64_t failures_in(const struct service *service, const struct fleet_pool *pool)
{
    int64_t n = 0;
    if (service->scaling == NULL) return 0;
    for (int32_t i = pool->first; i < pool->first + pool->n; i++) n += service->scaling->tenures[i].n_failed;
    return n;
}

/* Replicas of the pool have failed, and their time to restart is an assumption. */
static int emit_restart_time(const struct service *service, const struct fleet_pool *pool)
{
    char text[512], key[128];
    const double bytes = pool_weight_bytes(&pool->config, &service->llm);
    const struct start_config *start = start_of(service, &pool->config, key, sizeof key);
    if (failures_in(service, pool) == 0 || start_config_is_stated(start)) return 0;
    snprintf(text, sizeof text,
             "service '%s': a replica that failed is up %.3g s after it gets GPUs, the time to load %.4g GB of weights "
             "at %.3g GB/s; starting an engine takes longer: set %s",
             service->config->name, bytes / START_LOAD_BYTES_PER_S, bytes / 1e9, START_LOAD_BYTES_PER_S / 1e9, key);
    return service_emit_warning(service, "restart-time", 1, text);
}

/* --- Nodes --- */

int32_t service_only_node(const struct service *service)
{
    const struct fleet *fleet = &service->fleet;
    int32_t only = -1, n_placed = 0;
    if (cluster_site_nodes(service->env.cluster) < 2) return -1;
    for (int32_t i = 0; i < fleet->n_replicas; i++) {
        const struct allocation *held = fleet->replicas[i].holder.held;
        n_placed += held != NULL;
        for (const struct allocation *part = held; part != NULL; part = part->next) {
            if (only >= 0 && part->node != only) return -1;
            only = part->node;
        }
    }
    return n_placed > 1 ? only : -1;
}

static int emit_only_node(const struct service *service)
{
    char text[512];
    if (service->scaling == NULL || service->scaling->only_node < 0 || service->scaling->n_failed == 0) return 0;
    int n = snprintf(text, sizeof text,
                     "service '%s': node %d held all its replicas at the start, so that one failure stops all of them",
                     service->config->name, service->scaling->only_node);
    if (n <= 0 || (size_t)n >= sizeof text) return 0;
    if (service->config->placement == SERVICE_PACKED)
        snprintf(text + n, sizeof text - (size_t)n, "; set services.%s.placement to spread", service->config->name);
    else
        snprintf(text + n, sizeof text - (size_t)n, "; no other node with its GPUs had room for one");
    return service_emit_warning(service, "one-node", 1, text);
}

/* --- Reservations --- */

enum { LARGE_RESERVATION = 10 }; /* times what a request comes to */

static int emit_reservation(const struct service *service, const struct fleet_pool *pool)
{
    char text[512];
    double reserved = 0.0, tokens = 0.0, n = 0.0;
    for (int32_t i = pool->first; i < pool->first + pool->n; i++) {
        const struct replica_counts *counts = &service->fleet.replicas[i].counts;
        reserved += (double)counts->reserved_tokens;
        tokens += (double)counts->reserving_tokens;
        n += (double)counts->reserving;
    }
    if (!(reserved > LARGE_RESERVATION * tokens)) return 0;
    snprintf(
        text, sizeof text,
        "service '%s': batching policy '%s' reserves KV of %.0f tokens for a request, which comes to %.0f (means); "
        "set batching.max_tokens (longer requests are rejected), or take blocks as they are needed: "
        "vllm-v1, or trtllm with capacity=max-utilization",
        service->config->name, pool->env.batcher->policy.name, reserved / n, tokens / n);
    return service_emit_warning(service, "reservation", 1, text);
}

/* --- Attention groups --- */

/* An integer parameter of the pool's batching policy; -1: the policy has none of this name, or not its default. */
static int64_t default_of(const struct pool_config *pool, const char *name)
{
    const struct batcher *batcher = pool->batching.entry;
    if (batcher == NULL || batcher->policy.params == NULL) return -1;
    for (const struct config_field *field = batcher->policy.params; field->name != NULL; field++) {
        if (field->kind != CONFIG_INT || field->value == NULL || strcmp(field->name, name) != 0) continue;
        const int64_t value = *(const int64_t *)((const char *)pool->batching.params + field->offset);
        return value == strtoll(field->value, NULL, 10) ? value : -1;
    }
    return -1;
}

/* The limits of an iteration count all groups of data_parallel together, while those of engines hold for each. Each
 * limit that has the value of its default is told. */
static int emit_group_limits(const struct service *service, const struct fleet_pool *pool)
{
    const struct pool_config *config = &pool->config;
    const int64_t groups = config->data_parallel;
    const int64_t sequences = default_of(config, "max_sequences"), tokens = default_of(config, "token_budget");
    const bool counts_tokens = tokens >= 0 && config->role != POOL_DECODE;
    char text[512], most[64] = "", budget[64] = "", key[128] = "";
    if (groups <= 1 || (sequences < 0 && !counts_tokens)) return 0;
    if (sequences >= 0) snprintf(most, sizeof most, "max_sequences %lld", (long long)sequences);
    if (counts_tokens)
        snprintf(budget, sizeof budget, "%stoken_budget %lld", sequences >= 0 ? " and " : "", (long long)tokens);
    if (config->name != NULL) snprintf(key, sizeof key, "pools.%.64s.", config->name);
    snprintf(text, sizeof text,
             "service '%s': of %sbatching %s%s, as by default, counts for all %lld groups of data_parallel together, "
             "while an engine's counts for each: take as many times that of a group",
             service->config->name, key, most, budget, (long long)groups);
    return service_emit_warning(service, "group-limits", 1, text);
}

/* --- Limits of outputs --- */

/* Output tokens at which the pool's batcher ends a request; 0: at its own end. */
static int64_t most_output_tokens(const struct fleet_pool *pool)
{
    const struct batcher *batcher = pool->config.batching.entry;
    if (batcher == NULL || batcher->most_output_tokens == NULL) return 0;
    return batcher->most_output_tokens(pool->config.batching.params);
}

/* The first pool that may decode. All others have its limit (service_check_outputs). NULL: there is none. */
static const struct fleet_pool *first_decoder(const struct service *service)
{
    for (size_t i = 0; i < service->fleet.n_pools; i++)
        if (service->fleet.pools[i].config.role != POOL_PREFILL) return &service->fleet.pools[i];
    return NULL;
}

static void say_end(const struct fleet_pool *pool, char *text, size_t bytes)
{
    const long long most = most_output_tokens(pool);
    if (most > 0)
        snprintf(text, bytes, "after %lld tokens in pool '%.64s'", most, pool->config.name);
    else
        snprintf(text, bytes, "where the trace ends them in pool '%.64s'", pool->config.name);
}

int service_check_outputs(const struct service *service)
{
    const struct fleet *fleet = &service->fleet;
    const struct fleet_pool *first = first_decoder(service);
    char ends[2][128];
    for (size_t i = 0; i < fleet->n_pools; i++) {
        const struct fleet_pool *pool = &fleet->pools[i];
        if (pool->config.role == POOL_PREFILL || most_output_tokens(pool) == most_output_tokens(first)) continue;
        say_end(first, ends[0], sizeof ends[0]);
        say_end(pool, ends[1], sizeof ends[1]);
        return diag_error(service->env.site->diag, SIM_E_CONFIG, fleet_place_of(fleet, pool, "batching"),
                          "give their batching policies the same limit of outputs, or none",
                          "pools that may decode disagree: requests end %s, and %s", ends[0], ends[1]);
    }
    return 0;
}

int32_t service_output_of(struct service *service, int32_t output_tokens)
{
    const struct fleet_pool *pool = first_decoder(service);
    const int64_t most = pool != NULL ? most_output_tokens(pool) : 0;
    if (most == 0 || output_tokens <= most) return output_tokens;
    service->n_cut++;
    return (int32_t)most;
}

/* The key that holds the pool's batching policy: its own one, or that of the service. NULL when out of memory. */
static const char *batching_key(const struct service *service, const struct fleet_pool *pool)
{
    const char *key = fleet_path_of(&service->fleet, pool, "batching");
    if (key == NULL || config_is_given(service->env.site->config, key)) return key;
    return arena_printf(service->env.site->arena, "services.%s.batching", service->config->name);
}

/* Only SGLang's parameter has a known name; another policy's limit may stand in any. */
static int emit_cut_outputs(const struct service *service)
{
    char text[512];
    const struct fleet_pool *pool = first_decoder(service);
    if (pool == NULL || service->n_cut == 0) return 0;
    const char *key = batching_key(service, pool);
    if (key == NULL) return SIM_E_NOMEM;
    snprintf(
        text, sizeof text,
        "service '%s': requests with longer outputs end after %lld tokens, the limit that batching policy '%s' has "
        "them state (%s)",
        service->config->name, (long long)most_output_tokens(pool), pool->env.batcher->policy.name, key);
    return service_emit_warning(service, "clipped", service->n_cut, text);
}

int service_emit_hints(const struct service *service)
{
    int code = emit_only_node(service);
    if (code == 0) code = emit_cut_outputs(service);
    for (size_t i = 0; i < service->fleet.n_pools && code == 0; i++) {
        code = emit_restart_time(service, &service->fleet.pools[i]);
        if (code == 0) code = emit_reservation(service, &service->fleet.pools[i]);
        if (code == 0) code = emit_group_limits(service, &service->fleet.pools[i]);
    }
    return code;
}

/* --- Drafts --- */

/* Without rates of candidates a tree gives the tokens of a chain of its depth. */
static const char NO_BRANCH_HELPS[] =
    ", and of a tree only the drafts of one chain: its other drafts cost time and are "
    "never right; set acceptance.rates and acceptance.rank_power";

/* Whether a replica's latest drafts were a tree without rates of candidates. */
static bool verifies_trees(const struct service *service)
{
    for (int32_t i = 0; i < service->fleet.n_replicas; i++) {
        const struct speculating *speculating = service->fleet.replicas[i].speculating;
        if (speculating == NULL) continue;
        const struct drafting *drafting = &speculating->now;
        if (!drafting->of_trees && drafting->plan.depth > 0 && drafting->plan.tokens > drafting->plan.depth)
            return true;
    }
    return false;
}

int service_emit_assumed_drafts(const struct service *service)
{
    char text[512];
    const char *name = service->config->name;
    const struct speculation_model *model = NULL;
    for (size_t i = 0; i < service->fleet.n_pools && model == NULL; i++)
        model = service->fleet.pools[i].env.speculation;
    if (model == NULL || service->stats.work.drafted_tokens == 0) return 0;
    snprintf(text, sizeof text,
             "service '%s': no 'acceptance' is given, so each draft is assumed to be right with probability %g%s", name,
             model->assumed_rate, verifies_trees(service) ? NO_BRANCH_HELPS : "");
    int code = service_emit_warning(service, "acceptance", model->assumed_rate > 0.0, text);
    if (code != 0) return code;
    snprintf(text, sizeof text,
             "service '%s': speculation policy '%s' drafts with an LLM, and no 'draft.llm' is given: drafts cost no "
             "GPU time and no memory; a 'draft.pass_overhead' that is written, if only \"0s\", silences this",
             name, model->policy->policy.name);
    code = service_emit_warning(service, "free-drafts", model->drafts_for_free, text);
    if (code != 0) return code;
    snprintf(text, sizeof text,
             "service '%s': speculation policy '%s' drafts with layers for multi-token prediction, and %s has none "
             "('mtp_layers'): the drafts are those of a made-up layer like its others",
             name, model->policy->policy.name, service->llm.name);
    return service_emit_warning(service, "made-up-layer", model->layer_is_made_up, text);
}

/* --- Remarks on the models of pools --- */

/* How iterations of pools are timed, what their GPUs hold, draw and cost. Pools often share one model, so a remark
 * that is true of several is told once, and names them: the service, if it is true of all. */

/* What is told of a pool. `say` adds a text without the names of service and pool, or nothing. */
struct remark {
    const char *code;
    void (*say)(const struct service *service, const struct fleet_pool *pool, struct text *text);
};

/* Whether the same is told of a pool. */
static bool is_true_of(const struct service *service, const struct remark *remark, const struct fleet_pool *pool,
                       const struct text *told)
{
    struct text text;
    text_init(&text);
    remark->say(service, pool, &text);
    const bool is_same = text.length == told->length && strcmp(text.chars, told->chars) == 0;
    text_fini(&text);
    return is_same;
}

/* "service 'chat'" if the text is true of all pools, else "service 'chat', pools 'decode', 'mixed'". */
static void name_pools(const struct service *service, const struct remark *remark, const struct text *told,
                       struct text *line)
{
    const struct fleet *fleet = &service->fleet;
    struct text names;
    size_t n = 0;
    text_init(&names);
    for (size_t i = 0; i < fleet->n_pools; i++) {
        if (!is_true_of(service, remark, &fleet->pools[i], told)) continue;
        if (fleet->pools[i].config.name != NULL)
            text_printf(&names, "%s'%s'", n > 0 ? ", " : "", fleet->pools[i].config.name);
        n++;
    }
    text_printf(line, "service '%s'", service->config->name);
    if (n < fleet->n_pools) text_printf(line, ", pool%s %s", n > 1 ? "s" : "", names.length > 0 ? names.chars : "");
    line->failed = line->failed || names.failed;
    text_fini(&names);
}

/* Names whom a remark on pool number `i` is about, in `line`, and writes the remark to `told`. Nothing if there is
 * none, or an earlier pool has it. */
static void begin_line(const struct service *service, const struct remark *remark, size_t i, struct text *told,
                       struct text *line)
{
    const struct fleet_pool *pools = service->fleet.pools;
    text_init(told);
    text_init(line);
    remark->say(service, &pools[i], told);
    bool is_new = told->length > 0;
    for (size_t k = 0; k < i && is_new; k++) is_new = !is_true_of(service, remark, &pools[k], told);
    if (is_new) name_pools(service, remark, told, line);
    line->failed = line->failed || told->failed;
}

static int emit_of(const struct service *service, const struct remark *remark, size_t i)
{
    struct text told, line;
    begin_line(service, remark, i, &told, &line);
    if (line.length > 0) text_printf(&line, ": %s", told.chars);
    int code = line.failed ? SIM_E_NOMEM : 0;
    if (code == 0 && line.length > 0) code = service_emit_warning(service, remark->code, 1, line.chars);
    text_fini(&told);
    text_fini(&line);
    return code;
}

static int emit(const struct service *service, const struct remark *remarks, size_t n)
{
    int code = 0;
    for (size_t i = 0; i < service->fleet.n_pools; i++)
        for (size_t k = 0; k < n && code == 0; k++) code = emit_of(service, &remarks[k], i);
    return code;
}

/* --- Time and price --- */

static void say_caveat(const struct service *service, const struct fleet_pool *pool, struct text *text)
{
    (void)service;
    if (pool->env.model.caveat != NULL) text_add(text, pool->env.model.caveat);
}

#define FORMAT_NAME(id, name, bytes) name,
static const char *const format_names[] = {NUMBER_FORMATS(FORMAT_NAME)};
#undef FORMAT_NAME

/* Whether products in this format of weights need units that the GPU lacks. Other narrow formats are always
 * widened. */
static bool lacks_units(const struct gpu_spec *gpu, enum number_format weights)
{
    if (weights == FORMAT_NVFP4) return !(gpu->peak_flop_per_s[FORMAT_NVFP4] > 0.0);
    return (weights == FORMAT_FP8 || weights == FORMAT_FP8_BLOCK) && !(gpu->peak_flop_per_s[FORMAT_FP8] > 0.0);
}

/* Weights in nvfp4 or fp8 on a GPU without units for it, such as those before Blackwell or before Ada: they are
 * widened before each product (weight_kernels). vLLM does so: vllm/model_executor/layers/quantization/utils/
 * marlin_utils_fp4.py and marlin_utils_fp8.py. */
static void say_emulation(const struct service *service, const struct fleet_pool *pool, struct text *text)
{
    if (!lacks_units(&pool->gpu, service->llm.weights)) return;
    text_printf(text, "%s has no units for products in %s: weights are widened first, which not every engine can do",
                pool->gpu.name, format_names[service->llm.weights]);
}

static void say_kernels(const struct service *service, const struct fleet_pool *pool, struct text *text)
{
    const struct iteration_model *model = &pool->env.model;
    (void)service;
    if (model->other_kernels == NULL) return;
    text_add(text, model->other_kernels);
    if (model->fitting_kernels != NULL) text_printf(text, "; %s", model->fitting_kernels);
}

static void say_uncalibrated(const struct service *service, const struct fleet_pool *pool, struct text *text)
{
    if (pool->env.model.calibrated) return;
    text_printf(text, "the %s cost of %s on %s is not calibrated%s", pool->env.model.kind, service->llm.name,
                pool->gpu.name, gpu_vendor_caveat(&pool->gpu));
}

static void say_unpriced(const struct service *service, const struct fleet_pool *pool, struct text *text)
{
    (void)service;
    if (isnan(pool->gpu.usd_per_h))
        text_printf(text, "the price of %s is unknown, so cost.* is absent; set cluster.gpu_price", pool->gpu.name);
}

static const struct remark kernels = {"kernels", say_kernels};

int service_emit_models(const struct service *service)
{
    const struct remark remarks[] = {{"engine", say_caveat},
                                     {"emulated", say_emulation},
                                     kernels,
                                     {"uncalibrated", say_uncalibrated},
                                     {"unpriced", say_unpriced}};
    return emit(service, remarks, sizeof remarks / sizeof *remarks);
}

int service_warn_kernels(const struct service *service, const char *where, struct diag *diag)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < service->fleet.n_pools; i++) {
        const struct iteration_model *model = &service->fleet.pools[i].env.model;
        const char *fitting = model->fitting_kernels;
        struct text told, line, hint;
        begin_line(service, &kernels, i, &told, &line);
        text_init(&hint);
        text_printf(&hint, "%s%s'orrery list kernels' shows what was measured", fitting != NULL ? fitting : "",
                    fitting != NULL ? "; " : "");
        if (line.failed || hint.failed)
            code = diag_nomem(diag);
        else if (line.length > 0)
            diag_warning(diag, where, hint.chars, "%s: %s", line.chars, model->other_kernels);
        text_fini(&hint);
        text_fini(&line);
        text_fini(&told);
    }
    return code;
}

/* --- Memory --- */

static void say_out_of_memory(const struct service *service, const struct fleet_pool *pool, struct text *text)
{
    (void)service;
    if (pool->offload.problem[0] != '\0')
        text_printf(text, "kv_offload policy '%s' serves no request: %s", pool->offload.policy->policy.name,
                    pool->offload.problem);
}

/* Stated KV blocks that even all memory of the GPUs could not hold beside the weights. */
static void say_beyond_memory(const struct service *service, const struct fleet_pool *pool, struct text *text)
{
    struct pool_config most = pool->config;
    most.kv.usable_frac = 1;
    most.kv.reserve_bytes = 0;
    most.kv.activation_tokens = most.kv.activation_sequences = 0;
    const int64_t stated = pool->config.kv.blocks;
    const int64_t fit = most.data_parallel * pool_kv_capacity(&most, &pool->gpu, &service->llm).blocks;
    if (stated > fit && !offload_in_use(&pool->offload))
        text_printf(text, "kv.blocks is %lld, but beside the weights %lld fit in the memory of a replica (%s)",
                    (long long)stated, (long long)fit, pool->gpu.name);
}

int service_emit_memory(const struct service *service)
{
    static const struct remark remarks[] = {{"out-of-memory", say_out_of_memory}, {"kv-beyond-memory", say_beyond_memory}};
    return emit(service, remarks, sizeof remarks / sizeof *remarks);
}

/* --- Energy --- */

static void say_no_energy(const struct service *service, const struct fleet_pool *pool, struct text *text)
{
    char problem[512];
    if (service_energy_problem(pool, problem, sizeof problem) != NULL) text_add(text, problem);
    (void)service;
}

static void say_power(const struct service *service, const struct fleet_pool *pool, struct text *text)
{
    char caveat[512];
    if (service_energy_caveat(service, pool, caveat, sizeof caveat) != NULL) text_add(text, caveat);
}

int service_emit_power(const struct service *service)
{
    static const struct remark remarks[] = {{"no-energy", say_no_energy}, {"power", say_power}};
    return emit(service, remarks, sizeof remarks / sizeof *remarks);
}

/* --- Prompts that repeat earlier ones --- */

/* Engines cache prefixes, so a run without a cache computes tokens that a site would not. The run looks at the leading
 * blocks of each prompt, by the keys that the trace gives them. Turns of sessions are not looked at: the report tells
 * of them from metrics of their own, unless a log only names its sessions. Behind the first MOST_BLOCKS distinct
 * blocks nothing is looked at, so that memory stays small. */
enum { MOST_BLOCKS = 1 << 18 };

static const double least_repeated_frac = 0.05;

static bool is_looked_at(const struct service *service, const struct request_record *record)
{
    const bool is_turn = record->session_id > 0 && !record->session_is_logged;
    return record->n_prefix_blocks > 0 && !is_turn && !service->repeats.is_full &&
           !fleet_reuses_chunks(&service->fleet);
}

int service_see_prompt(struct service *service, const struct request_record *record)
{
    struct prompt_repeats *repeats = &service->repeats;
    if (!is_looked_at(service, record)) return 0;
    const int32_t n = prefix_blocks_full(record->prompt_tokens, record->prefix_block_tokens, record->n_prefix_blocks);
    int32_t n_repeated = 0;
    while (n_repeated < n && key_map_find(&repeats->blocks, record->prefix_blocks[n_repeated]) >= 0) n_repeated++;
    for (int32_t i = n_repeated; i < n; i++)
        if (key_map_set(&repeats->blocks, record->prefix_blocks[i], 0) != 0) return SIM_E_NOMEM;
    repeats->n_prompts++;
    repeats->tokens += record->prompt_tokens;
    repeats->repeated_tokens += (int64_t)n_repeated * record->prefix_block_tokens;
    repeats->is_full = repeats->blocks.n >= MOST_BLOCKS;
    return 0;
}

int service_emit_repeats(const struct service *service)
{
    char text[512], first[64] = "";
    const struct prompt_repeats *repeats = &service->repeats;
    const double repeated_frac = repeats->tokens > 0 ? (double)repeats->repeated_tokens / (double)repeats->tokens : 0.0;
    if (repeats->is_full) snprintf(first, sizeof first, " of the first %" PRId64 " prompts", repeats->n_prompts);
    snprintf(text, sizeof text,
             "service '%s': %.3g %% of the prompt tokens%s repeat the beginnings of earlier prompts and are computed "
             "again, for it has no prefix cache: \"kv\": {\"prefix_cache\": \"lru\"}%s keeps them",
             service->config->name, 100.0 * repeated_frac, first,
             service->fleet.pools[0].config.name != NULL ? ", of pools that have a kv of their own there," : "");
    return service_emit_warning(service, "no-prefix-cache", repeated_frac >= least_repeated_frac, text);
}
