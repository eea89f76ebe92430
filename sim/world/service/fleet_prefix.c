/* Prefix caches of a fleet: one at each replica whose pool has a policy for it, once the length of the trace's blocks is known. */
#include "sim/world/service/fleet.h"

static int refuse_lengths(const struct fleet *fleet, int32_t block_tokens)
{
    return diag_error(fleet->env->site->diag, SIM_E_DATA, NULL, "take a trace in which all blocks have one length",
                      "service '%s' caches prefixes in blocks of %d tokens, and gets a request with blocks of %d",
                      fleet->config->name, fleet->prefix_block_tokens, block_tokens);
}

static int refuse_multiple(const struct fleet *fleet, const struct fleet_pool *pool, int32_t block_tokens)
{
    return diag_error(
        fleet->env->site->diag, SIM_E_CONFIG, NULL, "set kv.block_tokens to a divisor of it",
        "service '%s' is to cache prefixes in blocks of %d tokens, which is no multiple of the %lld of its "
        "KV blocks",
        fleet->config->name, block_tokens, (long long)pool->config.kv.block_tokens);
}

static struct cache_options cache_options(const struct fleet *fleet, const struct fleet_pool *pool)
{
    const struct config_variant *variant = &pool->config.kv.prefix_cache;
    return (struct cache_options){.evictor = variant->entry, .params = variant->params, .seed = fleet->env->site->seed,
                                  .run = fleet->env->site->run, .diag = fleet->env->site->diag};
}

static int share_in_pool(const struct fleet *fleet, const struct fleet_pool *pool, int32_t block_tokens)
{
    const struct cache_options options = cache_options(fleet, pool);
    int code = 0;
    if (options.evictor == NULL) return 0;
    if (block_tokens % pool->config.kv.block_tokens != 0) return refuse_multiple(fleet, pool, block_tokens);
    for (int32_t i = 0; i < pool->n && code == 0; i++)
        code = replica_share_prefixes(&fleet->replicas[pool->first + i], &options, block_tokens);
    return code;
}

int fleet_share_prefixes(struct fleet *fleet, int32_t block_tokens)
{
    int code = 0;
    if (block_tokens == fleet->prefix_block_tokens) return 0;
    if (fleet->prefix_block_tokens > 0) return refuse_lengths(fleet, block_tokens);
    fleet->prefix_block_tokens = block_tokens;
    for (size_t i = 0; i < fleet->n_pools && code == 0; i++)
        code = share_in_pool(fleet, &fleet->pools[i], block_tokens);
    return code;
}

int fleet_forget_prefixes(const struct fleet *fleet, const struct fleet_pool *pool, struct replica *replica)
{
    const struct cache_options options = cache_options(fleet, pool);
    return replica_forget_prefixes(replica, &options);
}

int32_t fleet_own_block_tokens(const struct fleet *fleet, int32_t trace_block_tokens)
{
    const int64_t given = fleet->prefix_block_tokens > 0 ? fleet->prefix_block_tokens : trace_block_tokens;
    int64_t longest = given;
    for (size_t i = 0; i < fleet->n_pools; i++) {
        const struct kv_config *kv = &fleet->pools[i].config.kv;
        if (given == 0 && kv->prefix_cache.entry != NULL && kv->block_tokens > longest) longest = kv->block_tokens;
    }
    for (size_t i = 0; i < fleet->n_pools && longest > 0; i++) {
        const struct kv_config *kv = &fleet->pools[i].config.kv;
        if (kv->prefix_cache.entry != NULL && longest % kv->block_tokens != 0) return 0;
    }
    return (int32_t)longest;
}

bool fleet_caches_prefixes(const struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->n_pools; i++)
        if (fleet->pools[i].config.kv.prefix_cache.entry != NULL) return true;
    return false;
}
