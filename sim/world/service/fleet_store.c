/* The prefix stores of a service's replicas: their tiers, and their metrics. */
#include "sim/core/mem.h"
#include "sim/core/vec.h"
#include "sim/world/rows/metric.h"
#include "sim/world/service/service_state.h"

#include <math.h>
#include <string.h>

/* --- Making and checking --- */

static int refuse(const struct fleet *fleet, const struct fleet_pool *pool, const char *hint, const char *problem)
{
    return diag_error(fleet->env->site->diag, SIM_E_CONFIG, fleet_place_of(fleet, pool, "kv.prefix_store"), hint,
                      "service '%s' has a prefix store, and %s", fleet->config->name, problem);
}

static int check_pool(const struct fleet *fleet, const struct fleet_pool *pool)
{
    const struct kv_config *kv = &pool->config.kv;
    if (kv->prefix_cache.entry == NULL)
        return refuse(fleet, pool, "add \"prefix_cache\": \"lru\" to 'kv'",
                      "its replicas cache no prefixes that could be stored");
    if (offload_in_use(&pool->offload))
        return refuse(fleet, pool, "take a kv.offload that leaves weights and cache on the GPU",
                      "its 'kv.offload' places weights or KV cache elsewhere");
    if (pool->config.pipeline_parallel > 1 && pool->env.batcher->compose_stage != NULL)
        return refuse(fleet, pool, "take another batcher, or pipeline_parallel 1",
                      "no batch waits for loads where stages batch for themselves");
    if (kv->prefix_store.waits == STORE_REQUEST_WAITS && !pool->env.batcher->loads)
        return refuse(fleet, pool, "take vllm-v1, or \"waits\": \"batch\"",
                      "its batching policy does not load requests while others run");
    return store_config_check(&kv->prefix_store, topology_config(fleet->env->topology),
                              fleet_place_of(fleet, pool, "kv.prefix_store"), fleet->env->site->diag);
}

static void on_fetched(void *replica, void *request, sim_ns now)
{
    replica_prefix_fetched(replica, request, now);
}

static int give_stores(struct fleet *fleet, const struct fleet_pool *pool)
{
    const char *where = fleet_place_of(fleet, pool, "kv.prefix_store");
    for (int32_t i = pool->first; i < pool->first + pool->n; i++) {
        struct prefix_store *store = arena_alloc(fleet->env->site->arena, sizeof *store);
        if (store == NULL) return SIM_E_NOMEM;
        *store = (struct prefix_store){.all = &fleet->stores,
                                       .config = &pool->config.kv.prefix_store,
                                       .where = where,
                                       .placement = &fleet->replicas[i].placement,
                                       .replica = i,
                                       .owner = &fleet->replicas[i],
                                       .fetched = on_fetched};
        fleet->replicas[i].store = store;
    }
    return 0;
}

int fleet_store_init(struct fleet *fleet)
{
    const struct site_env *site = fleet->env->site;
    int code = 0;
    fleet->stores = (struct prefix_stores){.engine = site->engine, .diag = site->diag, .seed = site->seed,
                                           .run = site->run, .token_bytes = llm_kv_bytes_per_token(fleet->llm)};
    for (size_t i = 0; i < fleet->n_pools && code == 0; i++) {
        if (fleet->pools[i].config.kv.prefix_store.tiers.n == 0) continue;
        code = check_pool(fleet, &fleet->pools[i]);
        if (code == 0) code = give_stores(fleet, &fleet->pools[i]);
    }
    return code;
}

void fleet_store_fini(struct fleet *fleet)
{
    for (int32_t i = 0; fleet->replicas != NULL && i < fleet->n_replicas; i++)
        if (fleet->replicas[i].store != NULL) prefix_store_fini(fleet->replicas[i].store);
    prefix_stores_fini(&fleet->stores);
}

/* --- Metrics --- */

struct tier_total {
    const char *name;
    struct store_counts counts;
    double mean_bytes, most_bytes;
};

static void add_tier(struct tier_total *total, const struct store_tier *tier, sim_ns now)
{
    total->counts.loaded_blocks += tier->counts.loaded_blocks;
    total->counts.loaded_bytes += tier->counts.loaded_bytes;
    total->counts.written_bytes += tier->counts.written_bytes;
    total->counts.fetched_blocks += tier->counts.fetched_blocks;
    total->counts.evictions += tier->counts.evictions;
    total->counts.refusals += tier->counts.refusals;
    total->mean_bytes += now > 0 ? level_integral_s(&tier->used, now) / sim_s_from_ns(now) : 0.0;
    total->most_bytes = fmax(total->most_bytes, (double)tier->used.max);
}

static int emit_tier(const struct tier_total *total, const struct sink *sink)
{
    const struct {
        const char *name;
        double value;
    } metrics[] = {{"store.loaded_blocks.sum", (double)total->counts.loaded_blocks},
                   {"store.loaded_bytes.sum", (double)total->counts.loaded_bytes},
                   {"store.written_bytes.sum", (double)total->counts.written_bytes},
                   {"store.fetched_blocks.sum", (double)total->counts.fetched_blocks},
                   {"store.evicted_blocks.sum", (double)total->counts.evictions},
                   {"store.refused_blocks.sum", (double)total->counts.refusals},
                   {"store.used_bytes.mean", total->mean_bytes},
                   {"store.used_bytes.max", total->most_bytes}};
    int code = 0;
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics && code == 0; i++)
        code = metric_emit_of(sink, metrics[i].name, total->name, metrics[i].value);
    return code;
}

/* Of the tiers of all services and replicas, by name. */
static int emit_tiers(struct service *const *services, size_t n, const struct sink *sink, sim_ns now)
{
    struct tier_total *totals = NULL;
    size_t n_totals = 0, capacity = 0;
    int code = 0;
    for (size_t i = 0; i < n && code == 0; i++)
        for (const struct store_tier *tier = services[i]->fleet.stores.tiers; tier != NULL && code == 0;
             tier = tier->next) {
            size_t k = 0;
            while (k < n_totals && strcmp(totals[k].name, tier->config->name) != 0) k++;
            if (k == n_totals)
                code = vec_push(&totals, &n_totals, &capacity, (struct tier_total){.name = tier->config->name});
            if (code == 0) add_tier(&totals[k], tier, now);
        }
    for (size_t k = 0; k < n_totals && code == 0; k++) code = emit_tier(&totals[k], sink);
    mem_free(totals);
    return code;
}

int services_emit_stores(struct service *const *services, size_t n, const struct sink *sink, sim_ns now)
{
    int64_t loaded = 0, computed = 0;
    bool has_any = false;
    for (size_t i = 0; i < n; i++) {
        const struct fleet *fleet = &services[i]->fleet;
        for (int32_t k = 0; k < fleet->n_replicas; k++) {
            if (fleet->replicas[k].store == NULL) continue;
            has_any = true;
            loaded += fleet->replicas[k].counts.loaded_tokens;
            computed += fleet->replicas[k].counts.computed_tokens;
        }
    }
    if (!has_any) return 0;
    int code = metric_emit(sink, "store.loaded_tokens.sum", (double)loaded);
    if (code == 0) code = metric_emit(sink, "store.computed_tokens.sum", (double)computed);
    return code == 0 ? emit_tiers(services, n, sink, now) : code;
}
