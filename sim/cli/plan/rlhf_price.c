/* Time and memory of every call of a step of RLHF, on meshes of every size and by every split.
 *
 *     training     `updates` steps of models/training/step.h, each with an equal part of the sequences
 *     forward      S sequences of L tokens on a data rank, in micro-batches of c: (ceil(S/c) + p - 1) f(c)
 *     generation   prompts as forward; then for each further token p f(S/p): the sequences of a data rank are in p
 *                  groups, each on another stage. In w waves, S is a w-th, and all is done w times
 *
 * where f is the time of an iteration on the slowest of p stages, by the cost model of serving.
 *
 * Leaves out: heads that are one number wide (reward, values); the head for every token of the reference; CPU work
 * between calls; data that calls send to each other; sequences of unlike length. */
#include "sim/catalog/cost.h"
#include "sim/cli/plan/rlhf.h"
#include "sim/core/mem.h"

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

static void price_training(struct training_setup *setup, const struct rlhf_config *rlhf, struct rlhf_option *option)
{
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
            if (problem != NULL) continue;
            const struct training_memory *memory = &step.memory;
            option->home_bytes = memory->weight_bytes + memory->gradient_bytes + memory->optimizer_bytes +
                                 memory->buffer_bytes;
            add_way(option, (struct rlhf_way){.seconds = step.step_s * (double)rlhf->updates,
                                              .active_bytes = memory->activation_bytes + memory->working_bytes,
                                              .micro_batch = micro_batch, .waves = 1,
                                              .recomputes = config.recompute == RECOMPUTE_FULL});
        }
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

static void price_generation(const struct replica *replica, const struct rlhf_config *rlhf, struct rlhf_option *option)
{
    const int64_t sequences = (rlhf_sequences(rlhf) + option->data - 1) / option->data, stages = replica->pipeline;
    const int64_t most = PREFILL_TOKENS / rlhf->prompt_tokens;
    const double token_bytes = llm_shard(replica->llm, replica->tensor, stages).kv_bytes_per_token;
    const double tokens = (double)(rlhf->prompt_tokens + rlhf->output_tokens);
    for (int64_t waves = 1; waves <= sequences; waves *= 2) {
        const int64_t n = (sequences + waves - 1) / waves, group = (n + stages - 1) / stages;
        const int64_t each = most < 1 ? 1 : most < group ? most : group;
        const double round_s = decode_s(replica, group, rlhf->prompt_tokens + 1, rlhf->output_tokens - 1);
        const double wave_s = forward_s(replica, n, rlhf->prompt_tokens, each) + (double)stages * round_s;
        const int64_t batch = each * rlhf->prompt_tokens > n ? each * rlhf->prompt_tokens : n;
        add_way(option, (struct rlhf_way){.seconds = (double)waves * wave_s,
                                          .active_bytes = token_bytes * tokens * (double)n +
                                                          activation_bytes(replica, batch, n),
                                          .micro_batch = group, .waves = waves});
    }
}

/* --- Splits --- */

/* Bytes of the parameters of a part: a group of two leaves half of what is split. */
static struct reallocation_part part_of(const struct training_parts *parts, struct training_plan *plan,
                                        enum training_block_kind kind, double weight_bytes)
{
    plan->tensor = 1;
    const double whole = training_block_parameters(parts, kind).dense;
    plan->tensor = 2;
    const bool splits = parts->llm->q_heads % 2 == 0 && parts->llm->kv_heads % 2 == 0;
    const double split = splits ? 2.0 * (whole - training_block_parameters(parts, kind).dense) : whole;
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
    const bool is_wide = option->tensor * option->pipeline > space->links.gpus_per_node;
    const struct cost_request request = {
        .catalog = setup->catalog, .gpu = replica->gpu, .llm = replica->llm, .tensor_parallel = option->tensor,
        .pipeline_parallel = option->pipeline, .where = "cost", .arena = arena, .diag = diag,
        .nodes = is_wide ? (struct gpu_nodes){space->links.gpus_per_node, space->links.network_bytes_per_s}
                         : (struct gpu_nodes){0}};
    return cost_build(&setup->config->cost, &request, &replica->model) == 0 ? replica : NULL;
}

/* Returns 0, or the code of a cost model that cannot be made. An option without ways cannot be. */
static int price_option(struct rlhf_setup *setup, const struct rlhf_space *space, enum rlhf_call call,
                        struct replicas *replicas, struct rlhf_option *option, struct arena *arena, struct diag *diag)
{
    const enum rlhf_model model = rlhf_model_of(call);
    const struct reallocation_layout layout = {0, option->tensor, option->data, option->pipeline};
    option->weight_bytes = reallocation_rank_bytes(&space->models[model], &layout);
    if (call == RLHF_TRAIN_ACTOR || call == RLHF_TRAIN_CRITIC) {
        price_training(call == RLHF_TRAIN_ACTOR ? &setup->actor : &setup->critic, setup->config, option);
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

static int price_size(struct rlhf_setup *setup, struct rlhf_space *space, enum rlhf_call call, int32_t size,
                      struct replicas *replicas, struct arena *arena, struct diag *diag)
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
            code = price_option(setup, space, call, replicas, &items[n], arena, diag);
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
    static const char *const names[RLHF_MODELS] = {"actor", "critic", "reference", "reward"};
    const char *const other[RLHF_MODELS] = {NULL, NULL, setup->config->reference, setup->config->reward};
    for (int model = 0; model < RLHF_MODELS; model++) {
        struct llm_spec *llm = &setup->llms[model];
        *llm = model == RLHF_ACTOR_MODEL || model == RLHF_REFERENCE_MODEL ? setup->actor.llm : setup->critic.llm;
        if (other[model] != NULL) {
            const int code = catalog_llm(setup->catalog, other[model], names[model], arena, llm, diag);
            if (code != 0) return code;
            llm_set_weights(llm, FORMAT_BF16);
            llm->compute = llm->kv = FORMAT_BF16;
        }
        if (llm->experts > 0 || llm->kv_latent > 0)
            return diag_error(diag, SIM_E_CONFIG, names[model], "name an LLM without experts, such as llama-3.1-8b",
                              "plans of RLHF know neither experts nor latent attention, as %s has them", llm->name);
    }
    return 0;
}

int rlhf_price(struct rlhf_setup *setup, struct rlhf_space *space, struct arena *arena, struct diag *diag)
{
    const struct rlhf_config *config = setup->config;
    int code = make_training(setup, &config->actor, "actor", arena, &setup->actor, diag);
    if (code == 0) code = make_training(setup, &config->critic, "critic", arena, &setup->critic, diag);
    if (code == 0) code = read_llms(setup, arena, diag);
    if (code != 0) return code;
    const struct gpu_spec *gpu = &setup->actor.gpu;
    space->usable_bytes = gpu->memory_bytes * (1.0 - config->reserve_frac);
    space->links.node_bytes_per_s = gpu_link_bytes_per_s(gpu, config->gpus_per_node);
    space->links.network_bytes_per_s = isnan(config->network_bytes_per_s) ? 0.0 : config->network_bytes_per_s;
    for (int model = 0; model < RLHF_MODELS; model++) space->models[model] = model_of(&setup->llms[model]);
    for (int call = 0; code == 0 && call < RLHF_CALLS; call++) {
        struct replicas replicas = {.n = 0};
        for (int32_t size = 0; code == 0 && size < space->n_sizes; size++)
            code = price_size(setup, space, (enum rlhf_call)call, size, &replicas, arena, diag);
    }
    return code;
}
