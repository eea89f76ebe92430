#include "sim/study/cache_stat.h"

#include "sim/world/kv/prefix_cache.h"

int cache_stat_run(const struct block_log *log, const struct cache_future *future,
                   const struct cache_stat_setting *setting, struct cache_stat *stat, struct diag *diag)
{
    struct cache cache;
    const uint64_t *keys = log->keys;
    *stat = (struct cache_stat){.blocks = (int64_t)log->n_blocks};
    int code = cache_init(&cache, &(struct cache_options){.evictor = setting->evictor,
                                                          .params = setting->params,
                                                          .capacity = setting->capacity_blocks,
                                                          .seed = setting->seed,
                                                          .future = future,
                                                          .diag = diag});
    for (size_t i = 0; i < log->n_requests && code >= 0; i++) {
        int32_t n_found;
        code = prefix_cache_pass(&cache, keys, log->lengths[i], &n_found);
        stat->block_hits += code > 0 ? code : 0;
        stat->blocks_found += n_found;
        keys += log->lengths[i];
    }
    stat->evictions = cache.n_evictions;
    cache_fini(&cache);
    return code < 0 ? code : 0;
}
