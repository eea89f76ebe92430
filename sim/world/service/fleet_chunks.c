/* The chunk stores of a service's replicas (kv/chunk_store.h): making them, and their metrics. */
#include "sim/core/mem.h"
#include "sim/core/vec.h"
#include "sim/world/replica/replica_chunks.h"
#include "sim/world/rows/metric.h"
#include "sim/world/service/service_state.h"

#include <math.h>
#include <string.h>

/* --- Making and checking --- */

static int refuse(const struct fleet *fleet, const struct fleet_pool *pool, const char *hint, const char *problem)
{
    return diag_error(fleet->env->site->diag, SIM_E_CONFIG, fleet_place_of(fleet, pool, "kv.chunk_store"), hint,
                      "service '%s' has a chunk store, and %s", fleet->config->name, problem);
}

static int check_pool(const struct fleet *fleet, const struct fleet_pool *pool)
{
    if (pool->config.kv.prefix_cache.entry != NULL)
        return refuse(fleet, pool, "leave one of them out",
                      "a 'prefix_cache', which would keep the same KV a second time");
    if (fleet->llm->linear_layers > 0)
        return refuse(fleet, pool, "take an LLM without 'linear_layers'",
                      "the state of linear attention depends on all tokens before a chunk");
    if (offload_in_use(&pool->offload))
        return refuse(fleet, pool, "take a kv.offload that leaves weights and cache on the GPU",
                      "its 'kv.offload' places weights or KV cache elsewhere");
    if (pool->config.pipeline_parallel > 1 && pool->env.batcher->compose_stage != NULL)
        return refuse(fleet, pool, "take another batcher, or pipeline_parallel 1",
                      "no batch waits for transfers where stages batch for themselves");
    return chunk_store_config_check(&pool->config.kv.chunk_store, topology_config(fleet->env->topology),
                                    fleet_place_of(fleet, pool, "kv.chunk_store"), fleet->env->site->diag);
}

int64_t fleet_blocks_beside_chunks(const struct fleet_pool *pool)
{
    const double bytes = chunk_store_gpu_bytes(&pool->config.kv.chunk_store);
    if (pool->config.kv.blocks > 0) return pool->kv_blocks; /* given: what is left beside all else */
    const double blocks = ceil(bytes / (double)pool->env.kv_block_bytes);
    return blocks < (double)pool->kv_blocks ? pool->kv_blocks - (int64_t)blocks : 0;
}

int fleet_refuse_chunks(const struct fleet *fleet, const struct fleet_pool *pool)
{
    return refuse(fleet, pool, "lower the capacity of its tier in GPU memory",
                  "that leaves no GPU memory for KV blocks");
}

static int give_stores(struct fleet *fleet, const struct fleet_pool *pool)
{
    const struct site_env *site = fleet->env->site;
    const struct chunk_store_config *config = &pool->config.kv.chunk_store;
    const char *where = fleet_place_of(fleet, pool, "kv.chunk_store");
    for (int32_t i = pool->first; i < pool->first + pool->n; i++) {
        struct replica_chunks *chunks = arena_alloc(site->arena, sizeof *chunks);
        if (chunks == NULL) return SIM_E_NOMEM;
        *chunks = (struct replica_chunks){
            .config = config,
            .where = where,
            .options = {.config = config,
                        .attention = {config->alpha, config->inter, config->sigma, site->seed, site->run},
                        .token_bytes = llm_kv_bytes_per_token(fleet->llm),
                        .gpu_token_bytes = (double)pool->env.kv_block_bytes / (double)pool->config.kv.block_tokens,
                        .index = (uint64_t)i,
                        .diag = site->diag}};
        fleet->replicas[i].chunks = chunks;
    }
    return 0;
}

bool fleet_reuses_chunks(const struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->n_pools; i++)
        if (fleet->pools[i].config.kv.chunk_store.tiers.n > 0) return true;
    return false;
}

int fleet_chunks_init(struct fleet *fleet)
{
    int code = 0;
    for (size_t i = 0; i < fleet->n_pools && code == 0; i++) {
        if (fleet->pools[i].config.kv.chunk_store.tiers.n == 0) continue;
        code = check_pool(fleet, &fleet->pools[i]);
        if (code == 0) code = give_stores(fleet, &fleet->pools[i]);
    }
    return code;
}

void fleet_chunks_check(const struct fleet *fleet)
{
    for (int32_t i = 0; i < fleet->n_replicas; i++)
        if (fleet->replicas[i].chunks != NULL && fleet->replicas[i].chunks->is_open)
            chunk_store_check(&fleet->replicas[i].chunks->store);
}

/* --- The chunks of requests --- */

int service_keep_chunks(struct service *service, const struct request_record *record, struct chunk_prompt **chunks)
{
    *chunks = NULL;
    service->n_with_chunks += record->n_chunks > 0;
    if (record->n_chunks == 0 || !fleet_reuses_chunks(&service->fleet)) return 0;
    struct chunk_prompt *made = *chunks = chunk_prompt_make(record->chunks, record->n_chunks);
    if (made == NULL) return SIM_E_NOMEM;
    made->next = service->chunk_prompts;
    if (made->next != NULL) made->next->before = made;
    service->chunk_prompts = made;
    return 0;
}

void service_free_chunks(struct service *service, struct chunk_prompt *chunks)
{
    if (chunks == NULL) return;
    if (chunks->before != NULL)
        chunks->before->next = chunks->next;
    else
        service->chunk_prompts = chunks->next;
    if (chunks->next != NULL) chunks->next->before = chunks->before;
    mem_free(chunks);
}

/* --- Metrics --- */

struct tier_total {
    const char *name;
    int64_t loaded_bytes, written_bytes, evictions, most_bytes, most_writing_bytes;
};

struct total {
    struct chunk_counts counts;
    int64_t kept;
    struct tier_total *tiers;
    size_t n_tiers, capacity;
};

static int add_tier(struct total *total, const char *name, const struct chunk_store_tier *tier)
{
    size_t k = 0;
    while (k < total->n_tiers && strcmp(total->tiers[k].name, name) != 0) k++;
    if (k == total->n_tiers &&
        vec_push(&total->tiers, &total->n_tiers, &total->capacity, (struct tier_total){.name = name}) != 0)
        return SIM_E_NOMEM;
    struct tier_total *to = &total->tiers[k];
    to->loaded_bytes += tier->loaded_bytes;
    to->written_bytes += tier->written_bytes;
    to->evictions += tier->evictions;
    if (tier->most_bytes > to->most_bytes) to->most_bytes = tier->most_bytes;
    if (tier->most_writing_bytes > to->most_writing_bytes) to->most_writing_bytes = tier->most_writing_bytes;
    return 0;
}

static int add_replica(struct total *total, const struct replica_chunks *chunks)
{
    const struct chunk_tier_config *tiers = chunks->config->tiers.items;
    const struct chunk_counts *counts = &chunks->counts;
    int code = 0;
    total->counts.tokens.hit += counts->tokens.hit;
    total->counts.tokens.transferred += counts->tokens.transferred;
    total->counts.tokens.recomputed += counts->tokens.recomputed;
    total->counts.tokens.fresh += counts->tokens.fresh;
    total->counts.chunks += counts->chunks;
    total->counts.found_chunks += counts->found_chunks;
    total->counts.cfo_sum += counts->cfo_sum;
    total->kept += chunks->store.n_kept;
    for (size_t i = 0; i < chunks->config->tiers.n && code == 0; i++)
        code = add_tier(total, tiers[i].name, &chunks->store.tiers[i]);
    return code;
}

static int emit_tier(const struct tier_total *tier, const struct sink *sink)
{
    int code = metric_emit_of(sink, "chunk.loaded_bytes.sum", tier->name, (double)tier->loaded_bytes);
    if (code == 0) code = metric_emit_of(sink, "chunk.written_bytes.sum", tier->name, (double)tier->written_bytes);
    if (code == 0) code = metric_emit_of(sink, "chunk.evicted_variants.sum", tier->name, (double)tier->evictions);
    if (code == 0) code = metric_emit_of(sink, "chunk.used_bytes.max", tier->name, (double)tier->most_bytes);
    if (code != 0) return code;
    return metric_emit_of(sink, "chunk.writing_bytes.max", tier->name, (double)tier->most_writing_bytes);
}

static int emit(const struct total *total, const struct sink *sink)
{
    const struct chunk_tokens *tokens = &total->counts.tokens;
    const double found = (double)total->counts.found_chunks, chunks = (double)total->counts.chunks;
    const double computed = (double)(tokens->recomputed + tokens->fresh);
    const double all = computed + (double)(tokens->hit + tokens->transferred);
    const struct {
        const char *name;
        double value;
    } metrics[] = {{"chunk.hit_tokens.sum", (double)tokens->hit},
                   {"chunk.transferred_tokens.sum", (double)tokens->transferred},
                   {"chunk.recomputed_tokens.sum", (double)tokens->recomputed},
                   {"chunk.new_tokens.sum", (double)tokens->fresh},
                   {"chunk.computed_frac", all > 0.0 ? computed / all : (double)NAN},
                   {"chunk.found_frac", chunks > 0.0 ? found / chunks : (double)NAN},
                   {"chunk.cfo.mean", found > 0.0 ? total->counts.cfo_sum / found : (double)NAN},
                   {"chunk.kept_variants.sum", (double)total->kept}};
    int code = 0;
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics && code == 0; i++)
        code = metric_emit(sink, metrics[i].name, metrics[i].value);
    for (size_t k = 0; k < total->n_tiers && code == 0; k++) code = emit_tier(&total->tiers[k], sink);
    return code;
}

int services_emit_chunks(struct service *const *services, size_t n, const struct sink *sink)
{
    struct total total = {0};
    bool has_any = false;
    int code = 0;
    for (size_t i = 0; i < n; i++) {
        const struct fleet *fleet = &services[i]->fleet;
        for (int32_t k = 0; k < fleet->n_replicas && code == 0; k++) {
            if (fleet->replicas[k].chunks == NULL) continue;
            has_any = true;
            code = add_replica(&total, fleet->replicas[k].chunks);
        }
    }
    if (code == 0 && has_any) code = emit(&total, sink);
    mem_free(total.tiers);
    return code;
}
