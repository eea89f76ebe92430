/* The speculation of a pool: its policy, the acceptance of the workload, and the cost of drafts. */
#include "sim/catalog/cost.h"
#include "sim/core/rng.h"
#include "sim/world/service/acceptance_file.h"
#include "sim/world/service/fleet.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double assumed_rate = 0.7;

static const char *place_of(const struct fleet *fleet, const char *key)
{
    const char *path = arena_printf(fleet->env->site->arena, "services.%s.%s", fleet->config->name, key);
    return path != NULL ? config_where(fleet->env->site->config, path) : "";
}

static int refuse(const struct fleet *fleet, const char *hint, const char *why)
{
    return diag_error(fleet->env->site->diag, SIM_E_CONFIG, place_of(fleet, "speculation"), hint,
                      "service '%s' cannot speculate: %s", fleet->config->name, why);
}

/* What does not go together with drafts. */
static int check_pool(const struct fleet *fleet, const struct fleet_pool *pool)
{
    if (pool->config.pipeline_parallel > 1 && pool->env.batcher->compose_stage != NULL)
        return refuse(fleet, "take another batching policy, one stage, or leave speculation out",
                      "no rule says who drafts where stages batch for themselves");
    if (offload_in_use(&pool->offload))
        return refuse(fleet, "take another kv.offload, or leave speculation out",
                      "the cost of offloaded iterations knows no drafts");
    return 0;
}

/* --- Acceptance --- */

static int build_acceptance(const struct fleet *fleet, struct speculation_model *model)
{
    const struct site_env *site = fleet->env->site;
    struct acceptance_config config = fleet->config->acceptance;
    double assumed = assumed_rate;
    const char *path = arena_printf(site->arena, "services.%s.acceptance", fleet->config->name);
    if (path == NULL) return SIM_E_NOMEM;
    if (!config_is_given(site->config, path)) {
        config = (struct acceptance_config){.rates = {1, &assumed}};
        model->assumed_rate = assumed;
    }
    const int code = acceptance_build(&config, config_where(site->config, path), site->arena, &model->acceptance,
                                      site->diag);
    if (code != 0) return code;
    struct rng rng;
    rng_init(&rng, site->seed, site->run, path, 0);
    model->acceptance.key = rng_u64(&rng);
    return 0;
}

/* The collectives of a draft LLM, or of a layer that drafts, are on no link. */
static int check_sharing(const struct fleet *fleet, const struct fleet_pool *pool,
                         const struct speculation_model *model)
{
    if (model->draft.cost == NULL || !fleet_shares_links(fleet, pool)) return 0;
    return refuse(fleet,
                  "take a policy that drafts without a model, such as \"ngram\", or leave "
                  "cluster.network.collectives out",
                  "cluster.network.collectives 'shared' knows nothing of what draft models send between nodes");
}

/* --- A host that waits for drafts, or for the batcher --- */

bool pool_host_waits(const struct service_config *config, const struct pool_config *pool)
{
    const struct batcher *batcher = pool->batching.entry;
    const struct speculator *speculator = config->speculation.entry;
    const bool is_ahead = batcher != NULL && batcher->schedules_ahead != NULL &&
                          batcher->schedules_ahead(pool->batching.params);
    const bool is_drafted = speculator != NULL && speculator->plan != NULL;
    return !is_ahead ||
           (is_drafted && speculator->draft != SPECULATION_DRAFT_LAYERS && speculator->draft != SPECULATION_DRAFT_MTP);
}

/* --- The cost of drafts --- */

/* Whether a cost of this kind follows from the shape of an LLM, so that it prices others too. */
static bool is_of_shape(const struct iteration_model *model)
{
    return strcmp(model->kind, "operators") == 0 || strcmp(model->kind, "roofline") == 0;
}

static int build_cost(const struct fleet *fleet, const struct fleet_pool *pool, const struct config_variant *cost,
                      bool is_own, struct speculation_model *model)
{
    const struct service_env *env = fleet->env;
    const struct network_config *network = &topology_config(env->topology)->network;
    const struct cost_request request = {.catalog = env->site->catalog, .gpu = &pool->gpu, .llm = &model->draft_llm,
                                         .tensor_parallel = pool->config.tensor_parallel, .pipeline_parallel = 1,
                                         .data_parallel = pool->config.data_parallel,
                                         .nodes = pool_nodes(&pool->config, fleet_gpus_per_node(fleet, &pool->config),
                                                             network),
                                         .where = place_of(fleet, "draft"), .no_overhead = !is_own,
                                         .arena = env->site->arena, .diag = env->site->diag};
    return cost_build(cost, &request, &model->draft);
}

static int build_draft_llm(const struct fleet *fleet, const struct fleet_pool *pool, struct speculation_model *model)
{
    const struct service_env *env = fleet->env;
    const struct draft_config *draft = &fleet->config->draft;
    const bool is_own = draft->cost.entry != NULL;
    if (draft->llm == NULL) return 0;
    int code = catalog_llm(env->site->catalog, draft->llm, place_of(fleet, "draft.llm"), env->site->arena,
                           &model->draft_llm, env->site->diag);
    if (code != 0) return code;
    if (!is_own && !is_of_shape(&pool->env.model))
        return diag_error(env->site->diag, SIM_E_CONFIG, place_of(fleet, "draft"), "add draft.cost",
                          "service '%s': a cost of kind '%s' is of one LLM and prices no draft LLM",
                          fleet->config->name, pool->env.model.kind);
    if (model->draft_llm.vocab != fleet->llm->vocab)
        diag_warning(env->site->diag, place_of(fleet, "draft.llm"), "take one of the same family",
                     "the draft LLM %s has a vocabulary of %lld tokens, %s one of %lld", model->draft_llm.name,
                     (long long)model->draft_llm.vocab, fleet->llm->name, (long long)fleet->llm->vocab);
    return build_cost(fleet, pool, is_own ? &draft->cost : &pool->config.cost, is_own, model);
}

/* Costs that know no layers charge one layer's share of an iteration, of which a stage takes its part. */
static int build_draft_layer(const struct fleet *fleet, const struct fleet_pool *pool, struct speculation_model *model)
{
    model->draft_llm = llm_further_layers(fleet->llm, 1);
    if (fleet->config->draft.llm != NULL)
        return diag_error(fleet->env->site->diag, SIM_E_CONFIG, place_of(fleet, "draft.llm"), "leave it out",
                          "speculation policy '%s' drafts with a layer of the LLM, not with another LLM",
                          model->policy->policy.name);
    if (is_of_shape(&pool->env.model)) return build_cost(fleet, pool, &pool->config.cost, false, model);
    model->draft = pool->env.model;
    model->draft_frac = (double)pool->config.pipeline_parallel / (double)fleet->llm->layers;
    return 0;
}

static int build_draft(const struct fleet *fleet, const struct fleet_pool *pool, struct speculation_model *model)
{
    model->draft_frac = 1.0;
    model->pass_s = fleet->config->draft.pass_s;
    model->sequence_s = fleet->config->draft.sequence_s;
    switch (model->policy->draft) {
    case SPECULATION_DRAFT_LLM: return build_draft_llm(fleet, pool, model);
    case SPECULATION_DRAFT_LAYERS:
    case SPECULATION_DRAFT_MTP: return build_draft_layer(fleet, pool, model);
    case SPECULATION_DRAFT_NONE: break;
    }
    if (fleet->config->draft.llm == NULL) return 0;
    return diag_error(fleet->env->site->diag, SIM_E_CONFIG, place_of(fleet, "draft.llm"), "leave it out",
                      "speculation policy '%s' drafts without an LLM", model->policy->policy.name);
}

/* A draft LLM would make the drafts, and no key of `draft` says which, or what its passes cost. */
static bool drafts_for_free(const struct fleet *fleet, const struct speculation_model *model)
{
    const char *path = arena_printf(fleet->env->site->arena, "services.%s.draft", fleet->config->name);
    return model->policy->draft == SPECULATION_DRAFT_LLM && path != NULL &&
           !config_is_given(fleet->env->site->config, path);
}

int fleet_build_speculation(const struct fleet *fleet, struct fleet_pool *pool)
{
    const struct config_variant *variant = &fleet->config->speculation;
    const struct speculator *policy = variant->entry;
    if (policy == NULL || policy->plan == NULL || pool->config.role == POOL_PREFILL) return 0;
    int code = check_pool(fleet, pool);
    if (code != 0) return code;
    struct speculation_model *model = arena_alloc(fleet->env->site->arena, sizeof *model);
    if (model == NULL) return SIM_E_NOMEM;
    *model = (struct speculation_model){.policy = policy, .params = variant->params};
    if (pool->env.model.cost_row != NULL) {
        model->memo = arena_alloc(fleet->env->site->arena, pool->env.model.memo_bytes);
        if (model->memo == NULL) return SIM_E_NOMEM;
    }
    if (policy->plans_alike) {
        model->shared = arena_alloc(fleet->env->site->arena, sizeof *model->shared);
        if (model->shared == NULL) return SIM_E_NOMEM;
    }
    code = build_acceptance(fleet, model);
    if (code == 0) code = build_draft(fleet, pool, model);
    if (code == 0) code = check_sharing(fleet, pool, model);
    if (code != 0) return code;
    model->drafts_for_free = drafts_for_free(fleet, model);
    model->layer_is_made_up = policy->draft == SPECULATION_DRAFT_MTP && fleet->llm->mtp_layers == 0;
    if (model->draft.cost != NULL) {
        model->draft_reads = llm_reads(&model->draft_llm);
        model->draft_reads.groups = (double)pool->config.data_parallel;
        if (pool->env.energy != NULL)
            model->draft_energy = energy_model_of(&pool->power.model, &pool->gpu, &model->draft_llm,
                                                  pool->config.tensor_parallel);
    }
    pool->env.speculation = model;
    return 0;
}

/* What drafts need on a GPU. */
static struct llm_shard draft_shard(const struct fleet *fleet, const struct speculation_model *model, int64_t tensor,
                                    int64_t groups)
{
    if (model->policy->draft == SPECULATION_DRAFT_MTP && fleet->llm->mtp_layers > 0)
        return llm_mtp_shard(fleet->llm, tensor, groups);
    return llm_data_shard(&model->draft_llm, tensor, 1, groups);
}

int64_t fleet_blocks_beside_draft(const struct fleet *fleet, const struct fleet_pool *pool)
{
    const struct speculation_model *model = pool->env.speculation;
    if (model == NULL || model->draft.cost == NULL || pool->config.kv.blocks > 0) return pool->kv_blocks;
    const struct kv_capacity memory = pool_kv_capacity(&pool->config, &pool->gpu, fleet->llm);
    const int64_t groups = llm_groups(pool->config.data_parallel);
    const struct llm_shard draft = draft_shard(fleet, model, pool->config.tensor_parallel, groups);
    const double left = memory.usable_bytes - memory.weight_bytes - memory.activation_bytes - memory.reserve_bytes -
                        memory.state_bytes - draft.weight_bytes;
    const double block = memory.block_bytes + draft.kv_bytes_per_token * (double)pool->config.kv.block_tokens;
    return left > 0.0 ? groups * (int64_t)(left / block) : 0;
}
