#include "sim/study/cache_stat.h"

#include "sim/core/key_map.h"
#include "sim/core/mem.h"
#include "sim/core/vec.h"
#include "sim/world/kv/prefix_cache.h"

#include <string.h>

/* --- Blocks --- */

void block_log_fini(struct block_log *log)
{
    mem_free(log->lengths);
    mem_free(log->keys);
    mem_free(log->next_uses);
    *log = (struct block_log){0};
}

int block_log_add(struct block_log *log, const uint64_t *keys, int32_t n)
{
    if (vec_reserve(&log->keys, &log->blocks_capacity, log->n_blocks + (size_t)n) != 0) return SIM_E_NOMEM;
    if (vec_push(&log->lengths, &log->n_requests, &log->requests_capacity, n) != 0) return SIM_E_NOMEM;
    if (n > 0) memcpy(log->keys + log->n_blocks, keys, (size_t)n * sizeof *keys);
    log->n_blocks += (size_t)n;
    return 0;
}

int block_log_future(struct block_log *log, struct cache_future *future)
{
    struct key_map last_seen = {0}; /* position of each block's next use, filled from the end */
    mem_free(log->next_uses);
    log->next_uses = mem_alloc((log->n_blocks + 1) * sizeof *log->next_uses);
    int code = log->next_uses != NULL ? 0 : SIM_E_NOMEM;
    for (size_t i = log->n_blocks; code == 0 && i-- > 0;) {
        int64_t next = key_map_find(&last_seen, log->keys[i]);
        log->next_uses[i] = next >= 0 ? next : INT64_MAX;
        code = key_map_set(&last_seen, log->keys[i], (int64_t)i);
    }
    key_map_fini(&last_seen);
    *future = (struct cache_future){.n = (int64_t)log->n_blocks, .next_uses = log->next_uses};
    return code;
}

/* --- A source that is logged --- */

static struct logging_source *logging_of(const struct request_source *source)
{
    return (struct logging_source *)(uintptr_t)source;
}

static int logging_next(struct request_source *source, struct request_record *record, struct diag *diag)
{
    struct logging_source *logging = logging_of(source);
    int code = logging->inner->next(logging->inner, record, diag);
    if (code != 1) return code;
    code = block_log_add(logging->log, record->prefix_blocks, record->n_prefix_blocks);
    return code == 0 ? 1 : diag_error(diag, code, NULL, NULL, "out of memory for the blocks of the trace");
}

static struct source_place logging_place(const struct request_source *source)
{
    const struct request_source *inner = logging_of(source)->inner;
    return inner->place(inner);
}

static bool logging_note(const struct request_source *source, size_t index, struct source_note *note)
{
    const struct request_source *inner = logging_of(source)->inner;
    return inner->note(inner, index, note);
}

static void logging_close(struct request_source *source)
{
    (void)source;
}

void logging_source_init(struct logging_source *logging, struct request_source *inner, struct block_log *log)
{
    *logging = (struct logging_source){.source = {
        .next = logging_next, .place = logging_place, .note = logging_note, .close = logging_close},
                                       .inner = inner,
                                       .log = log};
}

/* --- A cache of them --- */

int cache_stat_run(const struct block_log *log, const struct cache_future *future,
                   const struct cache_stat_setting *setting, struct cache_stat *stat, struct diag *diag)
{
    struct cache cache;
    const uint64_t *keys = log->keys;
    *stat = (struct cache_stat){.blocks = (int64_t)log->n_blocks};
    int code = cache_init(&cache, &(struct cache_options){.evictor = setting->evictor, .params = setting->params,
                                                          .capacity = setting->capacity_blocks, .seed = setting->seed,
                                                          .future = future, .diag = diag});
    for (size_t i = 0; i < log->n_requests && code >= 0; i++) {
        int32_t n_found;
        code = prefix_cache_access(&cache, keys, log->lengths[i], &n_found);
        stat->block_hits += code > 0 ? code : 0;
        stat->blocks_found += n_found;
        keys += log->lengths[i];
    }
    stat->evictions = cache.n_evictions;
    cache_fini(&cache);
    return code < 0 ? code : 0;
}
