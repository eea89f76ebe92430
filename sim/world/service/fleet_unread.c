/* Settings of a service that nothing reads: the run warns that a given one has no effect, and why. A value equal to the
 * default, as in every resolved scenario, does not count as given. */
#include "sim/world/policy/speculation.h"
#include "sim/world/service/fleet.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KEY_CHARS = 64 };

static const char *service_path(const struct fleet *fleet, const char *key)
{
    return arena_printf(fleet->env->site->arena, "services.%s.%s", fleet->config->name, key);
}

static bool is_given(const struct fleet *fleet, const char *path)
{
    return path != NULL && config_is_given(fleet->env->site->config, path);
}

static void warn(const struct fleet *fleet, const char *path, const char *key, const char *why)
{
    config_warn_idle(fleet->env->site->config, path, key, why, "leave it out", fleet->env->site->diag);
}

static void warn_if_given(const struct fleet *fleet, const char *key, const char *why)
{
    const char *path = service_path(fleet, key);
    if (path != NULL) warn(fleet, path, key, why);
}

const char *fleet_place_of_cost(const struct fleet *fleet, const struct fleet_pool *pool)
{
    const char *own = fleet_path_of(fleet, pool, "cost"), *shared = service_path(fleet, "cost");
    const char *path = is_given(fleet, own) ? own : shared;
    return path != NULL ? config_where(fleet->env->site->config, path) : "";
}

/* --- Settings that pools override --- */

static bool every_pool_gives(const struct fleet *fleet, const char *key)
{
    for (size_t i = 0; i < fleet->n_pools; i++)
        if (!is_given(fleet, fleet_path_of(fleet, &fleet->pools[i], key))) return false;
    return fleet->config->pools.n > 0;
}

static void warn_overridden(const struct fleet *fleet)
{
    const struct service_config *config = fleet->config;
    const struct {
        const char *name;
        bool is_set;
    } keys[] = {
        {"replicas", config->replicas > 1},
        {"tensor_parallel", config->tensor_parallel > 1},
        {"pipeline_parallel", config->pipeline_parallel > 1},
        {"data_parallel", config->data_parallel > 1},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].is_set && every_pool_gives(fleet, keys[i].name))
            warn_if_given(fleet, keys[i].name, "every pool has its own");
}

/* --- Settings that an offloading policy reads --- */

static bool has_tiers(const struct offload_config *config)
{
    return config->tiers.n > 0;
}

static bool has_bus(const struct offload_config *config)
{
    return !isnan(config->bus_bytes_per_s);
}

static bool has_bus_gpus(const struct offload_config *config)
{
    return config->bus_gpus > 1;
}

static bool has_workload(const struct offload_config *config)
{
    return config->workload.sequences != OFFLOAD_SEQUENCES || config->workload.prompt_tokens != OFFLOAD_PROMPT_TOKENS ||
           config->workload.output_tokens != OFFLOAD_OUTPUT_TOKENS;
}

static bool has_ttft(const struct offload_config *config)
{
    return !isnan(config->ttft_slo_s);
}

static bool has_tpot(const struct offload_config *config)
{
    return !isnan(config->tpot_slo_s);
}

/* A key of "kv" that only some kv_offload policies read. */
struct offload_key {
    const char *name;
    uint32_t reads; /* a bit of enum offload_reads; 0: every policy that places something */
    bool (*is_set)(const struct offload_config *config);
};

static const struct offload_key offload_keys[] = {
    {"tiers", 0, has_tiers},
    {"bus_bandwidth", 0, has_bus},
    {"bus_gpus", 0, has_bus_gpus},
    {"workload", OFFLOAD_READS_WORKLOAD, has_workload},
    {"slo_ttft", OFFLOAD_READS_TTFT, has_ttft},
    {"slo_tpot", OFFLOAD_READS_TPOT, has_tpot},
};

static bool pool_reads(const struct fleet_pool *pool, const struct offload_key *key)
{
    const struct kv_offloader *policy = pool->offload.policy;
    if (policy->place == NULL) return false;
    if (strcmp(key->name, "bus_gpus") == 0) return !isnan(pool->config.kv.offload.bus_bytes_per_s);
    return key->reads == 0 || (policy->reads != NULL && (policy->reads(pool->offload.state) & key->reads) != 0);
}

static void warn_offload(const struct fleet *fleet, const struct fleet_pool *pool, const char *path,
                         const struct offload_key *key)
{
    const struct kv_offloader *policy = pool->offload.policy;
    char name[KEY_CHARS], why[4 * KEY_CHARS];
    snprintf(name, sizeof name, "kv.%s", key->name);
    if (policy->place == NULL)
        snprintf(why, sizeof why, "kv.offload '%s' places nothing beyond the GPU", policy->policy.name);
    else if (strcmp(key->name, "bus_gpus") == 0)
        snprintf(why, sizeof why, "there is no 'kv.bus_bandwidth' to share");
    else
        snprintf(why, sizeof why, "kv.offload '%s' does not read it with these settings", policy->policy.name);
    warn(fleet, path, name, why);
}

static bool has_own_kv(const struct fleet *fleet, const struct fleet_pool *pool)
{
    return pool->config.name != NULL && is_given(fleet, fleet_path_of(fleet, pool, "kv"));
}

/* A key of the service's "kv" counts as read if a pool without its own "kv" reads it. */
static void check_offload_key(const struct fleet *fleet, const struct offload_key *key)
{
    const char *name = arena_printf(fleet->env->site->arena, "kv.%s", key->name);
    const char *shared = name != NULL ? service_path(fleet, name) : NULL;
    const struct fleet_pool *heir = NULL;
    bool read = false;
    if (shared == NULL) return;
    for (size_t i = 0; i < fleet->n_pools; i++) {
        const struct fleet_pool *pool = &fleet->pools[i];
        const bool own = has_own_kv(fleet, pool);
        const char *path = fleet_path_of(fleet, pool, name);
        const bool set = key->is_set(&pool->config.kv.offload) && is_given(fleet, path);
        if (own && set && !pool_reads(pool, key)) warn_offload(fleet, pool, path, key);
        if (own) continue;
        heir = pool;
        read = read || pool_reads(pool, key);
    }
    if (heir != NULL && !read && key->is_set(&heir->config.kv.offload) && is_given(fleet, shared))
        warn_offload(fleet, heir, shared, key);
}

/* --- Tiers that hold nothing --- */

/* Whether a placement moves something to or from the tier. What lies on a drive is read through the host. */
static bool uses_tier(const struct offload_service *offload, enum offload_tier tier)
{
    const struct offload_shares *shares = &offload->plan.placement.shares;
    const bool is_host = tier == OFFLOAD_HOST;
    if (is_host && offload_evicted(offload, &(struct request_view){0}) == OFFLOAD_HOST) return true;
    for (int i = (int)tier; i <= (is_host ? (int)OFFLOAD_DISK : (int)tier); i++)
        if (shares->weights[i] > 0.0 || shares->cache[i] > 0.0 || shares->hidden[i] > 0.0) return true;
    return false;
}

/* Whether a pool has a placement that can run, without the tier of this name. */
static bool leaves_tier(const struct fleet_pool *pool, const char *name)
{
    const struct offload_service *offload = &pool->offload;
    if (offload->policy->place == NULL || offload->problem[0] != '\0') return false;
    for (int tier = OFFLOAD_HOST; tier < OFFLOAD_TIERS; tier++)
        if (offload->tier_names[tier] != NULL && strcmp(offload->tier_names[tier], name) == 0)
            return !uses_tier(offload, (enum offload_tier)tier);
    return false;
}

static void warn_tier(const struct fleet *fleet, const struct fleet_pool *pool, const char *path, const char *name)
{
    struct arena *arena = fleet->env->site->arena;
    const char *key = arena_printf(arena, "kv.tiers.%s", name);
    const char *why = arena_printf(arena, "kv.offload '%s' places nothing there", pool->offload.policy->policy.name);
    if (path == NULL || key == NULL || why == NULL) return;
    config_warn_idle(fleet->env->site->config, path, key, why,
                     "let the policy place something there, or leave the tier out", fleet->env->site->diag);
}

/* A tier of the service's "kv" is left if all pools without their own "kv" leave it. */
static bool all_leave_tier(const struct fleet *fleet, const char *name)
{
    for (size_t i = 0; i < fleet->n_pools; i++)
        if (!has_own_kv(fleet, &fleet->pools[i]) && !leaves_tier(&fleet->pools[i], name)) return false;
    return true;
}

static void warn_tiers(const struct fleet *fleet)
{
    bool is_told = false; /* of the tiers of the service */
    for (size_t i = 0; i < fleet->n_pools; i++) {
        const struct fleet_pool *pool = &fleet->pools[i];
        const struct config_list *tiers = &pool->config.kv.offload.tiers;
        const struct offload_tier_config *items = tiers->items;
        const bool own = has_own_kv(fleet, pool);
        for (size_t k = 0; k < tiers->n && (own || !is_told); k++) {
            const char *key = arena_printf(fleet->env->site->arena, "kv.tiers.%s", items[k].name);
            if (key != NULL && (own ? leaves_tier(pool, items[k].name) : all_leave_tier(fleet, items[k].name)))
                warn_tier(fleet, pool, own ? fleet_path_of(fleet, pool, key) : service_path(fleet, key), items[k].name);
        }
        is_told = is_told || !own;
    }
}

/* --- Hand-over --- */

static void warn_handovers(const struct fleet *fleet)
{
    const struct kv_transfer_config *transfer = &fleet->config->kv_transfer;
    const bool by_pairs = fleet->routing.router->route_pair != NULL;
    const bool none = fleet->first_decode == 0 && !by_pairs;
    if (by_pairs) warn_if_given(fleet, "decode_routing", "the 'routing' chooses both replicas on arrival");
    if (none) {
        warn_if_given(fleet, "decode_routing", "no pool has role prefill");
        warn_if_given(fleet, "kv_transfer", "no pool has role prefill");
    } else if (transfer->mode == KV_TRANSFER_SERIAL && transfer->layer_wise_from_tokens > 0) {
        warn_if_given(fleet, "kv_transfer.layer_wise_from", "mode 'serial' transfers every prompt whole");
    } else if (transfer->mode == KV_TRANSFER_LAYER_WISE && transfer->layer_wise_from_tokens == 0 &&
               transfer->start == KV_TRANSFER_PUSH) {
        warn_if_given(fleet, "kv_transfer.start", "all transfers are layer-wise, which are pushed");
    }
}

/* --- Routing --- */

static void warn_routing(const struct fleet *fleet)
{
    const struct router *router = fleet->routing.router;
    const bool decodes = fleet->first_decode > 0 && router->route_pair == NULL;
    if (fleet->config->information_delay_ns > 0 && router->ignores_loads &&
        !(decodes && !fleet->decode_routing.router->ignores_loads))
        warn_if_given(fleet, "information_delay", "the router asks nothing about replicas");
    if (router->follows_prefixes && !fleet_caches_prefixes(fleet))
        diag_warning(fleet->env->site->diag, config_where(fleet->env->site->config, service_path(fleet, "routing")),
                     "add a 'kv.prefix_cache', such as \"lru\"",
                     "'%s' goes by loads alone: the service caches no prefixes", router->policy.name);
}

/* --- Speculation --- */

static void warn_speculation(const struct fleet *fleet)
{
    const struct speculator *policy = fleet->config->speculation.entry;
    const struct draft_config *draft = &fleet->config->draft;
    if (policy == NULL || policy->plan == NULL) {
        warn_if_given(fleet, "acceptance", "the service has no speculation");
        warn_if_given(fleet, "draft", "the service has no speculation");
    } else if (draft->cost.entry != NULL && draft->llm == NULL) {
        warn_if_given(fleet, "draft.cost", "there is no draft.llm");
    }
}

/* --- Restarts after failures --- */

bool fleet_sets_restart(const struct fleet *fleet)
{
    const struct start_config *restart = &fleet->config->restart;
    return start_config_is_stated(restart) && is_given(fleet, service_path(fleet, "restart"));
}

static void warn_restart(const struct fleet *fleet)
{
    const bool is_idle = !fleet->env->nodes_fail && !service_config_scales(fleet->config);
    if (is_idle && fleet_sets_restart(fleet)) warn_if_given(fleet, "restart", "no node fails");
}

void fleet_warn_unread(const struct fleet *fleet)
{
    fleet_warn_scarce(fleet);
    warn_overridden(fleet);
    for (size_t i = 0; i < sizeof offload_keys / sizeof *offload_keys; i++) check_offload_key(fleet, &offload_keys[i]);
    warn_tiers(fleet);
    warn_handovers(fleet);
    warn_routing(fleet);
    warn_speculation(fleet);
    warn_restart(fleet);
}
