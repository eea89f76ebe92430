/* Time and memory of every call of a step of RLHF, on meshes of every size and by every split.
 *
 *     training     `updates` steps of models/training/step.h, each with an equal part of the sequences
 *     forward      S sequences of L tokens on a data rank, in micro-batches of c: (ceil(S/c) + p - 1) f(c)
 *     generation   prompts as forward; then for each further token p f(S/p): the sequences of a data rank are in p
 *                  groups, each on another stage. Waves of n sequences follow each other, the last one of the rest
 *
 * where f is the time of an iteration on the slowest of p stages, by the cost model of serving.
 *
 * Leaves out: heads that are one number wide (reward, values); the head for every token of the reference; CPU work
 * between calls; data that calls send to each other; sequences of unlike length. */
#include "sim/catalog/cost.h"
#include "sim/cli/plan/rlhf.h"
#include "sim/core/mem.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { PREFILL_TOKENS = 8192, WIDTHS = 64 };

/* --- Ways --- */

/* Keeps the ways that are faster, or need less memory, than all others. */
static void add_way(struct rlhf_option *option, struct rlhf_way way)
{
    int at = 0, kept;
    while (at < option->n_ways && option->ways[at].seconds <= way.seconds) {
        if (option->ways[at].active_bytes <= way.active_bytes) return;
        at++;
    }
    kept = at;
    for (int i = at; i < option->n_ways; i++)
        if (option->ways[i].active_bytes < way.active_bytes) option->ways[kept++] = option->ways[i];
    option->n_ways = kept;
    if (kept == RLHF_WAYS) return;
    for (int i = kept; i > at; i--) option->ways[i] = option->ways[i - 1];
    option->ways[at] = way;
    option->n_ways++;
}

/* --- Training --- */

/* Returns NULL, or why the model cannot be trained so, in micro-batches of one sequence. */
static const char *price_training(struct training_setup *setup, const struct rlhf_config *rlhf,
                                  struct rlhf_option *option)
{
    const char *first_problem = NULL;
    static const int recomputes[] = {RECOMPUTE_NONE, RECOMPUTE_FULL};
    const struct training_config *given = setup->config;
    const int64_t gpus = option->tensor * option->data * option->pipeline;
    for (int r = 0; r < 2; r++)
        for (int64_t micro_batch = 1; micro_batch <= 64; micro_batch *= 2) {
            struct training_config config = *given;
            struct training_step step;
            if (given->recompute != RECOMPUTE_NONE && r > 0) continue;
            config.tensor_parallel = option->tensor;
            config.pipeline_parallel = option->pipeline;
            config.micro_batch = micro_batch;
            config.global_batch = rlhf_sequences(rlhf) / rlhf->updates;
            config.sequence_tokens = rlhf->prompt_tokens + rlhf->output_tokens;
            config.reserve_frac = rlhf->reserve_frac;
            if (given->recompute == RECOMPUTE_NONE) config.recompute = recomputes[r];
            setup->config = &config;
            const char *problem = training_setup_price(setup, gpus, false, &step);
            setup->config = given;
            if (problem != NULL && first_problem == NULL) first_problem = problem;
            if (problem != NULL) continue;
            const struct training_memory *memory = &step.memory;
            option->home_bytes = memory->weight_bytes + memory->gradient_bytes + memory->optimizer_bytes +
                                 memory->buffer_bytes;
            add_way(option, (struct rlhf_way){.seconds = step.step_s * (double)rlhf->updates,
                                              .active_bytes = memory->activation_bytes + memory->working_bytes,
                                              .micro_batch = micro_batch, .waves = 1,
                                              .recompute = (enum training_recompute)config.recompute});
        }
    return option->n_ways > 0 ? NULL : first_problem;
}

/* --- Generation and forward passes --- */

/* What the calls of one model that do not train are priced with, for one split of the model. */
struct replica {
    const struct gpu_spec *gpu;
    const struct llm_spec *llm;
    int64_t tensor, pipeline;
    struct iteration_model model;
};

static double stage_s(const struct iteration_cost *cost)
{
    return fmax(cost->first_s, cost->first_s + cost->entry_s);
}

static double ceil_div(int64_t a, int64_t b)
{
    return (double)((a + b - 1) / b);
}

/* `sequences` prompts of `tokens` tokens through all stages, `each` at a time. */
static double forward_s(const struct replica *replica, int64_t sequences, int64_t tokens, int64_t each)
{
    const double n = (double)tokens;
    const struct iteration_work work = {.prefill_sequences = each, .prefill_tokens = each * tokens,
                                        .prefill_pairs = (double)each * n * n};
    struct iteration_cost cost;
    replica->model.cost(replica->model.model, &work, &cost);
    return (ceil_div(sequences, each) + (double)(replica->pipeline - 1)) * stage_s(&cost);
}

/* `rounds` tokens of each of `sequences` sequences that have `context` tokens each, on one stage. */
static double decode_s(const struct replica *replica, int64_t sequences, int64_t context, int64_t rounds)
{
    double seconds = 0.0;
    while (rounds > 0) {
        const struct iteration_work work = {.decode_sequences = sequences, .decode_context_tokens = sequences * context,
                                            .decode_longest_tokens = context};
        struct iteration_cost cost;
        replica->model.cost(replica->model.model, &work, &cost);
        const int64_t n = cost.until < rounds ? cost.until : rounds;
        seconds += (double)n * (cost.first_s + 0.5 * (double)(n - 1) * cost.slope_s);
        if (cost.entry_s > 0.0) seconds += (double)n * cost.entry_s;
        context += n;
        rounds -= n;
    }
    return seconds;
}

static double activation_bytes(const struct replica *replica, int64_t tokens, int64_t sequences)
{
    const struct kv_params params = {.usable_frac = 1.0, .batch_tokens = tokens, .batch_sequences = sequences,
                                     .block_tokens = 16};
    return kv_capacity(replica->gpu, replica->llm, replica->tensor, replica->pipeline, &params).activation_bytes;
}

static void price_forward(const struct replica *replica, const struct rlhf_config *rlhf, bool every_head,
                          struct rlhf_option *option)
{
    const int64_t tokens = rlhf->prompt_tokens + rlhf->output_tokens;
    const int64_t sequences = (rlhf_sequences(rlhf) + option->data - 1) / option->data;
    for (int64_t each = 1; each <= sequences; each *= 2)
        add_way(option, (struct rlhf_way){.seconds = forward_s(replica, sequences, tokens, each),
                                          .active_bytes = activation_bytes(replica, each * tokens,
                                                                           every_head ? each * tokens : each),
                                          .micro_batch = each, .waves = 1});
}

/* Of `n` sequences, those that a stage decodes together. */
static int64_t group_of(const struct replica *replica, int64_t n)
{
    return (n + replica->pipeline - 1) / replica->pipeline;
}

/* Prompts of a forward pass. */
static int64_t prompts_of(const struct rlhf_config *rlhf, int64_t group)
{
    const int64_t most = PREFILL_TOKENS / rlhf->prompt_tokens;
    return most < 1 ? 1 : most < group ? most : group;
}

/* Generates for `n` sequences at once. The forward pass gives each its first token. */
static double wave_s(const struct replica *replica, const struct rlhf_config *rlhf, int64_t n)
{
    const int64_t group = group_of(replica, n);
    const double round_s = decode_s(replica, group, rlhf->prompt_tokens + 1, rlhf->output_tokens - 1);
    return forward_s(replica, n, rlhf->prompt_tokens, prompts_of(rlhf, group)) + (double)replica->pipeline * round_s;
}

static void price_generation(const struct replica *replica, const struct rlhf_config *rlhf, struct rlhf_option *option)
{
    const int64_t sequences = (rlhf_sequences(rlhf) + option->data - 1) / option->data;
    const double token_bytes = llm_shard(replica->llm, replica->tensor, replica->pipeline).kv_bytes_per_token;
    const double tokens = (double)(rlhf->prompt_tokens + rlhf->output_tokens);
    for (int64_t n = sequences; n >= 1; n = n > 1 ? (n + 1) / 2 : 0) {
        const int64_t full = sequences / n, rest = sequences % n, group = group_of(replica, n);
        const int64_t each = prompts_of(rlhf, group);
        const int64_t batch = each * rlhf->prompt_tokens > n ? each * rlhf->prompt_tokens : n;
        const double rest_s = rest > 0 ? wave_s(replica, rlhf, rest) : 0.0;
        add_way(option, (struct rlhf_way){.seconds = (double)full * wave_s(replica, rlhf, n) + rest_s,
                                          .active_bytes = token_bytes * tokens * (double)n +
                                                          activation_bytes(replica, batch, n),
                                          .micro_batch = group, .waves = full + (rest > 0 ? 1 : 0)});
    }
}

/* --- Splits --- */

/* The fewest tensor ranks that split the LLM; 1: none do. */
static int64_t least_split(const struct llm_spec *llm)
{
    for (int64_t tensor = 2; tensor <= llm->kv_heads; tensor++)
        if (llm->kv_heads % tensor == 0 && llm_parallel_problem(llm, tensor, 1) == NULL) return tensor;
    return 1;
}

/* Bytes of the parameters of a part: a group of t ranks leaves a t-th of what is split. Without any such group, only
 * layouts of whole weights meet, and the kind does not matter. */
static struct reallocation_part part_of(const struct training_parts *parts, struct training_plan *plan,
                                        enum training_block_kind kind, double weight_bytes)
{
    plan->tensor = 1;
    const double whole = training_block_parameters(parts, kind).dense;
    plan->tensor = least_split(parts->llm);
    const double ranks = (double)plan->tensor, part = training_block_parameters(parts, kind).dense;
    const double split = ranks > 1.0 ? (whole - part) * ranks / (ranks - 1.0) : whole;
    return (struct reallocation_part){weight_bytes * split, weight_bytes * (whole - split)};
}

static struct reallocation_model model_of(const struct llm_spec *llm)
{
    struct training_plan plan = {.pipeline = 2, .chunks = 1, .context = 1, .data = 1, .expert = 1};
    const struct training_parts parts = {.llm = llm, .plan = &plan};
    const double weight_bytes = number_format_bytes(llm->weights);
    return (struct reallocation_model){.layers = llm->layers,
                                       .layer = part_of(&parts, &plan, BLOCK_DENSE, weight_bytes),
                                       .embedding = part_of(&parts, &plan, BLOCK_EMBEDDING, weight_bytes),
                                       .head = part_of(&parts, &plan, BLOCK_HEAD, weight_bytes)};
}

/* What prices the calls of a model, by split; made when first needed. */
struct replicas {
    struct replica of[WIDTHS];
    int n;
};

/* A cost model whose iterations take no time has no coefficients. */
static int check_cost(const struct replica *replica, const struct rlhf_setup *setup, struct diag *diag)
{
    const bool decodes = setup->config->output_tokens > 1;
    if (forward_s(replica, 1, setup->config->prompt_tokens, 1) > 0.0 &&
        (!decodes || decode_s(replica, 1, setup->config->prompt_tokens + 1, 1) > 0.0))
        return 0;
    return diag_error(diag, SIM_E_CONFIG, config_where(setup->document, "cost"),
                      "give the coefficients of 'prefill' and 'decode', or \"cost\": \"operators\"",
                      "iterations of 'cost' take no time");
}

static const struct replica *replica_of(struct rlhf_setup *setup, const struct rlhf_space *space, enum rlhf_model model,
                                        const struct rlhf_option *option, struct replicas *replicas,
                                        struct arena *arena, struct diag *diag)
{
    for (int i = 0; i < replicas->n; i++)
        if (replicas->of[i].tensor == option->tensor && replicas->of[i].pipeline == option->pipeline)
            return &replicas->of[i];
    if (replicas->n == WIDTHS) replicas->n = 0;
    struct replica *replica = &replicas->of[replicas->n++];
    *replica = (struct replica){.gpu = &setup->actor.gpu, .llm = &setup->llms[model], .tensor = option->tensor,
                                .pipeline = option->pipeline};
    const char *where = config_where(setup->document, "cost");
    const bool is_wide = option->tensor * option->pipeline > space->links.gpus_per_node;
    const struct cost_request request = {
        .catalog = setup->catalog, .gpu = replica->gpu, .llm = replica->llm, .tensor_parallel = option->tensor,
        .pipeline_parallel = option->pipeline, .where = where, .arena = arena, .diag = diag,
        .nodes = is_wide ? (struct gpu_nodes){space->links.gpus_per_node, space->links.network_bytes_per_s}
                         : (struct gpu_nodes){0}};
    if (cost_build(&setup->config->cost, &request, &replica->model) != 0) return NULL;
    return check_cost(replica, setup, diag) == 0 ? replica : NULL;
}

/* Returns 0, or the code of a cost model that cannot be made. An option without ways cannot be; *problem says why a
 * model cannot be trained so. */
static int price_option(struct rlhf_setup *setup, const struct rlhf_space *space, enum rlhf_call call,
                        struct replicas *replicas, struct rlhf_option *option, const char **problem,
                        struct arena *arena, struct diag *diag)
{
    const enum rlhf_model model = rlhf_model_of(call);
    const struct reallocation_layout layout = {0, option->tensor, option->data, option->pipeline};
    option->weight_bytes = reallocation_rank_bytes(&space->models[model], &layout);
    if (call == RLHF_TRAIN_ACTOR || call == RLHF_TRAIN_CRITIC) {
        struct training_setup *training = call == RLHF_TRAIN_ACTOR ? &setup->actor : &setup->critic;
        *problem = price_training(training, setup->config, option);
        return 0;
    }
    if (option->data > rlhf_sequences(setup->config)) return 0;
    const struct replica *replica = replica_of(setup, space, model, option, replicas, arena, diag);
    if (replica == NULL) return diag->code != 0 ? (int)diag->code : SIM_E_CONFIG;
    option->home_bytes = option->weight_bytes;
    if (call == RLHF_GENERATE)
        price_generation(replica, setup->config, option);
    else
        price_forward(replica, setup->config, call == RLHF_REFERENCE, option);
    return 0;
}

/* Whether the model divides so over `gpus` GPUs. Tensor ranks stay inside a node. */
static bool divides(const struct llm_spec *llm, int64_t gpus, int64_t per_node, int64_t tensor, int64_t pipeline)
{
    return gpus % (tensor * pipeline) == 0 && per_node % tensor == 0 && llm->layers % pipeline == 0 &&
           llm->kv_heads % tensor == 0 && llm_parallel_problem(llm, tensor, pipeline) == NULL;
}

static size_t count_splits(const struct llm_spec *llm, int64_t gpus, int64_t per_node)
{
    size_t n = 0;
    for (int64_t tensor = 1; tensor <= per_node; tensor++)
        for (int64_t pipeline = 1; pipeline <= llm->layers; pipeline++)
            if (divides(llm, gpus, per_node, tensor, pipeline)) n++;
    return n;
}

/* *problem stays that of the first split that has one. */
static int price_size(struct rlhf_setup *setup, struct rlhf_space *space, enum rlhf_call call, int32_t size,
                      struct replicas *replicas, const char **problem, struct arena *arena, struct diag *diag)
{
    const struct llm_spec *llm = &setup->llms[rlhf_model_of(call)];
    const int64_t gpus = space->sizes[size], per_node = space->links.gpus_per_node;
    struct rlhf_option *items = arena_alloc(arena, (count_splits(llm, gpus, per_node) + 1) * sizeof *items);
    int32_t n = 0;
    int code = items != NULL ? 0 : diag_nomem(diag);
    for (int64_t tensor = 1; code == 0 && tensor <= per_node; tensor++)
        for (int64_t pipeline = 1; code == 0 && pipeline <= llm->layers; pipeline++) {
            if (!divides(llm, gpus, per_node, tensor, pipeline)) continue;
            items[n] = (struct rlhf_option){.tensor = tensor, .data = gpus / (tensor * pipeline), .pipeline = pipeline};
            const char *why = NULL;
            code = price_option(setup, space, call, replicas, &items[n], &why, arena, diag);
            if (*problem == NULL) *problem = why;
            if (items[n].n_ways > 0) n++;
        }
    space->options[call][size] = (struct rlhf_options){items, n};
    return code;
}

/* --- All --- */

static int make_training(const struct rlhf_setup *setup, const struct training_config *training, const char *where,
                         struct arena *arena, struct training_setup *made, struct diag *diag)
{
    const struct rlhf_config *config = setup->config;
    struct training_request *request = arena_alloc(arena, sizeof *request);
    if (request == NULL) return diag_nomem(diag);
    *request = (struct training_request){.gpu = config->gpu, .gpus = config->gpus,
                                         .gpus_per_node = config->gpus_per_node,
                                         .network_bytes_per_s = config->network_bytes_per_s, .nvlink = true,
                                         .bridge_share = (double)NAN, .link_share = 1.0, .training = *training};
    return training_setup_make(setup->catalog, request, where, arena, made, diag);
}

static int read_llms(struct rlhf_setup *setup, struct arena *arena, struct diag *diag)
{
    static const char *const paths[RLHF_MODELS] = {"actor.llm", "critic.llm", "reference", "reward"};
    const char *const other[RLHF_MODELS] = {NULL, NULL, setup->config->reference, setup->config->reward};
    for (int model = 0; model < RLHF_MODELS; model++) {
        struct llm_spec *llm = &setup->llms[model];
        const char *where = config_where(setup->document, paths[model]);
        *llm = model == RLHF_ACTOR_MODEL || model == RLHF_REFERENCE_MODEL ? setup->actor.llm : setup->critic.llm;
        if (other[model] != NULL) {
            const int code = catalog_llm(setup->catalog, other[model], where, arena, llm, diag);
            if (code != 0) return code;
            llm_set_weights(llm, FORMAT_BF16);
            llm->compute = llm->kv = FORMAT_BF16;
        }
        if (llm->experts > 0 || llm->kv_latent > 0 || llm->linear_layers > 0)
            return diag_error(diag, SIM_E_CONFIG, where, "name an LLM without experts, such as llama-3.1-8b",
                              "plans of RLHF know neither experts nor latent or linear attention, as %s has them",
                              llm->name);
    }
    return 0;
}

/* The longest context of every model holds a sequence. */
static int check_context(const struct rlhf_setup *setup, struct diag *diag)
{
    const int64_t tokens = setup->config->prompt_tokens + setup->config->output_tokens;
    for (int model = 0; model < RLHF_MODELS; model++) {
        const struct llm_spec *llm = &setup->llms[model];
        if (tokens > llm->max_context)
            return diag_error(diag, SIM_E_CONFIG, config_where(setup->document, "output_tokens"),
                              "give fewer tokens, or LLMs with a longer context",
                              "prompt and output have %" PRId64 " tokens, and the context of %s has at most %" PRId64,
                              tokens, llm->name, llm->max_context);
    }
    return 0;
}

/* No split trains the model: one GPU, one stage and one sequence a micro-batch do not either, so it is the keys. */
static int fail_training(const struct rlhf_setup *setup, enum rlhf_call call, const char *problem, struct diag *diag)
{
    const char *section = call == RLHF_TRAIN_ACTOR ? "actor" : "critic", *quote = strchr(problem, '\'');
    const bool is_fp8 = strstr(problem, "fp8") != NULL, is_exclusion = strstr(problem, "exclude each other") != NULL;
    char path[128];
    if (quote != NULL)
        snprintf(path, sizeof path, "%s.%.*s", section, (int)strcspn(quote + 1, "'."), quote + 1);
    else
        snprintf(path, sizeof path, "%s%s", section, is_fp8 ? ".precision" : "");
    return diag_error(diag, SIM_E_CONFIG, config_where(setup->document, path),
                      is_exclusion ? "leave one of the two out"
                      : is_fp8     ? "leave 'precision' out, or name a GPU with such units ('orrery list gpus')"
                                   : "see the keys of the section: they hold for every split",
                      "no split trains the %s: %s", section, problem);
}

/* All sizes of meshes. */
static int price_call(struct rlhf_setup *setup, struct rlhf_space *space, enum rlhf_call call, struct arena *arena,
                      struct diag *diag)
{
    struct replicas replicas = {.n = 0};
    const char *problem = NULL;
    int64_t n_options = 0;
    for (int32_t size = 0; size < space->n_sizes; size++) {
        const int code = price_size(setup, space, call, size, &replicas, &problem, arena, diag);
        if (code != 0) return code;
        n_options += space->options[call][size].n;
    }
    return n_options == 0 && problem != NULL ? fail_training(setup, call, problem, diag) : 0;
}

int rlhf_price(struct rlhf_setup *setup, struct rlhf_space *space, struct arena *arena, struct diag *diag)
{
    const struct rlhf_config *config = setup->config;
    int code = make_training(setup, &config->actor, config_where(setup->document, "actor.llm"), arena, &setup->actor,
                             diag);
    if (code == 0)
        code = make_training(setup, &config->critic, config_where(setup->document, "critic.llm"), arena, &setup->critic,
                             diag);
    if (code == 0) code = read_llms(setup, arena, diag);
    if (code == 0) code = check_context(setup, diag);
    if (code != 0) return code;
    const struct gpu_spec *gpu = &setup->actor.gpu;
    space->usable_bytes = gpu->memory_bytes * (1.0 - config->reserve_frac);
    space->links.node_bytes_per_s = gpu_link_bytes_per_s(gpu, config->gpus_per_node);
    space->links.network_bytes_per_s = isnan(config->network_bytes_per_s) ? 0.0 : config->network_bytes_per_s;
    for (int model = 0; model < RLHF_MODELS; model++) space->models[model] = model_of(&setup->llms[model]);
    for (int call = 0; code == 0 && call < RLHF_CALLS; call++)
        code = price_call(setup, space, (enum rlhf_call)call, arena, diag);
    return code;
}
