#include "sim/world/kv/prefix_store.h"

#include "sim/core/check.h"
#include "sim/core/mem.h"
#include "sim/core/vec.h"
#include "sim/world/kv/store_tiers.h"

#include <math.h>

enum { GPU_MEMORY = -1 };

static const struct store_tier_config *config_of(const struct prefix_store *store, int32_t place)
{
    return (const struct store_tier_config *)store->config->tiers.items + place;
}

static bool is_through(const struct prefix_store *store, int32_t place)
{
    return place < store->n && config_of(store, place)->write == STORE_THROUGH;
}

/* Where the blocks of a tier are written from. A tier with "through" below one with "back" is written from GPU memory,
 * because the one above does not have the block yet. */
static int32_t source_of(const struct prefix_store *store, int32_t place)
{
    return is_through(store, place) && place > 0 && !is_through(store, place - 1) ? GPU_MEMORY : place - 1;
}

/* Notes that a block is to be written in this event. */
static int want(struct prefix_store *store, int32_t place, uint64_t key)
{
    struct store_wants *wants = &store->wants[place];
    store->n_wants++;
    cache_prefetch(&store->tiers[place]->cache, key);
    return vec_push(&wants->keys, &wants->n, &wants->capacity, key);
}

/* --- Tiers --- */

static void count_used(struct store_tier *tier, sim_ns now)
{
    level_set(&tier->used, now, tier->cache.view.size * tier->block_bytes);
}

/* A tier has evicted a block to make room for another one. */
static int moves_down(void *context, uint64_t key)
{
    struct store_tier *tier = context;
    struct prefix_store *store = tier->mover;
    int32_t below = 1;
    while (store->tiers[below - 1] != tier) below++;
    tier->counts.evictions++;
    return below < store->n && !is_through(store, below) ? want(store, below, key) : 0;
}

/* The tier of this replica, or that it shares. */
static struct store_tier *find_tier(const struct prefix_stores *stores, const struct store_tier_config *config,
                                    const struct tier *device, int32_t replica)
{
    struct store_tier *tier = stores->tiers;
    while (tier != NULL && (tier->config != config || tier->device != device || tier->replica != replica))
        tier = tier->next;
    return tier;
}

static struct store_tier *make_tier(struct prefix_stores *stores, const struct store_tier_config *config,
                                    struct tier *device, int32_t replica, sim_ns now)
{
    struct store_tier *tier = mem_zalloc(1, sizeof *tier);
    if (tier == NULL) return NULL;
    *tier = (struct store_tier){.config = config, .device = device, .replica = replica,
                                .capacity_bytes = (int64_t)config->capacity_bytes,
                                .block_bytes = llround(stores->token_bytes * (double)stores->block_tokens)};
    level_init(&tier->used, now, 0);
    *(stores->last != NULL ? &stores->last->next : &stores->tiers) = tier;
    stores->last = tier;
    return tier;
}

static int open_tier(const struct prefix_store *store, struct store_tier *tier, sim_ns now)
{
    struct prefix_stores *stores = store->all;
    const struct store_tier_config *config = tier->config;
    if (tier->is_open) return 0;
    if (tier->capacity_bytes < tier->block_bytes)
        return diag_error(stores->diag, SIM_E_CONFIG, store->where, "raise its capacity",
                          "tier '%s' of %lld bytes holds no block of %d tokens, which has %lld bytes", config->name,
                          (long long)tier->capacity_bytes, stores->block_tokens, (long long)tier->block_bytes);
    if (!tier_take(tier->device, now, tier->capacity_bytes))
        return diag_error(stores->diag, SIM_E_CONFIG, store->where,
                          tier->replica >= 0
                              ? "each replica takes its capacity: lower it, or set its \"scope\" to \"shared\", or "
                                "raise the capacity of the device in 'cluster'"
                              : "lower its capacity, or raise that of the device in 'cluster'",
                          "tier '%s' takes %lld bytes of '%s', of which %lld of %lld are free", config->name,
                          (long long)tier->capacity_bytes, tier->device->name, (long long)tier_free_bytes(tier->device),
                          (long long)tier->device->capacity_bytes);
    tier->is_open = true;
    return cache_init(&tier->cache, &(struct cache_options){.evictor = config->eviction.entry,
                                                            .params = config->eviction.params,
                                                            .capacity = tier->capacity_bytes / tier->block_bytes,
                                                            .seed = stores->seed,
                                                            .run = stores->run,
                                                            .index = (UINT64_C(1) << 32) + stores->n_tiers++,
                                                            .evicted = moves_down,
                                                            .context = tier,
                                                            .diag = stores->diag});
}

/* Drops all blocks that nobody copies. */
static int empty_tier(struct store_tier *tier, sim_ns now)
{
    int code = 0;
    for (int32_t i = 0; i < tier->cache.n_items && code == 0; i++)
        if (cache_item_at(&tier->cache, i)->holders == 0) code = cache_drop(&tier->cache, i);
    count_used(tier, now);
    return code;
}

int prefix_stores_lose_host(struct prefix_stores *stores, int32_t node, sim_ns now)
{
    int code = 0;
    for (struct store_tier *tier = stores->tiers; tier != NULL && code == 0; tier = tier->next)
        if (tier->is_open && tier->device->kind == TIER_DRAM && tier->device->node == node)
            code = empty_tier(tier, now);
    return code;
}

/* --- Copies --- */

static struct store_copy *take_copy(struct prefix_store *store, int32_t from, int32_t to)
{
    struct prefix_stores *all = store->all;
    struct store_copy *copy = all->spares;
    if (copy != NULL) {
        all->spares = copy->next;
    } else {
        copy = mem_zalloc(1, sizeof *copy);
        if (copy == NULL) return NULL;
        copy->made = all->made;
        all->made = copy;
    }
    copy->store = store;
    copy->from = from;
    copy->to = to;
    copy->n = copy->n_from = 0;
    copy->waiter = NULL;
    copy->before = copy->next = NULL;
    return copy;
}

static void give_copy(struct store_copy *copy)
{
    copy->n = copy->n_from = 0;
    copy->next = copy->store->all->spares;
    copy->store->all->spares = copy;
}

static void enlist(struct store_copy *copy)
{
    struct prefix_store *store = copy->store;
    copy->before = NULL;
    copy->next = store->writes;
    if (store->writes != NULL) store->writes->before = copy;
    store->writes = copy;
}

static void delist(struct store_copy *copy)
{
    *(copy->before != NULL ? &copy->before->next : &copy->store->writes) = copy->next;
    if (copy->next != NULL) copy->next->before = copy->before;
}

int64_t store_copy_bytes(const struct store_copy *copy)
{
    return copy->n * copy->store->tiers[copy->to != GPU_MEMORY ? copy->to : copy->from]->block_bytes;
}

/* Counts an access to a block, which is held until the copy ends. */
static int hold_source(struct store_copy *copy, struct store_tier *tier, int32_t item)
{
    int code = cache_acquire(&tier->cache, item);
    if (code == 0) code = cache_hit(&tier->cache, item);
    if (code != 0) return code;
    return vec_push(&copy->from_items, &copy->n_from, &copy->from_capacity, item);
}

/* Releases the last block first, so that among equals the end of a prefix is evicted before its beginning. */
static int release_sources(struct store_copy *copy)
{
    int code = 0;
    for (int32_t i = copy->n_from - 1; i >= 0 && code == 0; i--)
        code = cache_release(&copy->store->tiers[copy->from]->cache, copy->from_items[i]);
    copy->n_from = 0;
    return code;
}

static bool is_ready(const struct store_tier *tier, int32_t item)
{
    return item != CACHE_NO_ITEM && !cache_is_marked(&tier->cache, item);
}

/* Takes room for an absent block, which comes with the copy. */
static int hold_target(struct store_copy *copy, struct store_tier *tier, uint64_t key)
{
    int32_t item = 0;
    tier->mover = copy->store;
    const int code = cache_insert_held(&tier->cache, key, &item);
    if (code <= 0) {
        tier->counts.refusals += code == 0;
        return code;
    }
    cache_set_mark(&tier->cache, item, true);
    return vec_push(&copy->to_items, &copy->n, &copy->to_capacity, item);
}

/* The blocks of the copy have come, or (`is_done` false) will not come. */
static int release_targets(struct store_copy *copy, bool is_done)
{
    struct store_tier *tier = copy->store->tiers[copy->to];
    int code = 0;
    for (int32_t i = copy->n - 1; i >= 0 && code == 0; i--) {
        const int32_t item = copy->to_items[i];
        cache_set_mark(&tier->cache, item, false);
        code = cache_release(&tier->cache, item);
        if (code == 0 && !is_done) code = cache_drop(&tier->cache, item);
    }
    return code;
}

/* Blocks that a tier with "through" has got go on to the next one with "through". */
static int pass_on(const struct store_copy *copy)
{
    struct prefix_store *store = copy->store;
    int code = 0;
    if (!is_through(store, copy->to) || !is_through(store, copy->to + 1)) return 0;
    for (int32_t i = 0; i < copy->n && code == 0; i++)
        code = want(store, copy->to + 1, cache_item_at(&store->tiers[copy->to]->cache, copy->to_items[i])->key);
    return code;
}

static int end_write(struct store_copy *copy)
{
    struct prefix_store *store = copy->store;
    struct store_tier *tier = store->tiers[copy->to];
    void *waiter = copy->waiter;
    const bool is_fetch = copy->from > copy->to;
    delist(copy);
    tier->counts.written_bytes += store_copy_bytes(copy);
    tier->counts.fetched_blocks += is_fetch ? copy->n : 0;
    int code = release_sources(copy);
    if (code == 0) code = release_targets(copy, true);
    if (code == 0 && !is_fetch) code = pass_on(copy);
    give_copy(copy);
    if (code == 0) code = prefix_store_flush(store);
    engine_progress(store->all->engine);
    if (code == 0 && waiter != NULL) store->fetched(store->owner, waiter, engine_now(store->all->engine));
    return code;
}

static void on_written(struct transfer *transfer, sim_ns now)
{
    struct store_copy *copy = TRANSFER_ENTITY(transfer, struct store_copy, transfer);
    struct engine *engine = copy->store->all->engine;
    const int code = end_write(copy);
    (void)now;
    if (code != 0) engine_fail(engine, code);
}

static struct topology_end end_at(const struct prefix_store *store, int32_t place)
{
    return (struct topology_end){store->placement, place == GPU_MEMORY ? NULL : store->tiers[place]->device};
}

static int begin_write(struct store_copy *copy)
{
    struct prefix_store *store = copy->store;
    enlist(copy);
    return topology_move(store->placement->topology, end_at(store, copy->from), end_at(store, copy->to),
                         store_copy_bytes(copy), &copy->transfer, on_written);
}

/* --- Writing down --- */

int prefix_store_published(struct prefix_store *store, uint64_t key)
{
    int code = 0;
    for (int32_t place = 0; place < store->n && code == 0; place++)
        if (is_through(store, place) && source_of(store, place) == GPU_MEMORY) code = want(store, place, key);
    return code;
}

int prefix_store_evicted(struct prefix_store *store, uint64_t key)
{
    return store->n > 0 && !is_through(store, 0) ? want(store, 0, key) : 0;
}

/* Writes a block unless the tier has it. Then it goes no further down; being evicted above counts as its use here. */
static int write_one(struct store_copy *copy, int32_t place, uint64_t key)
{
    struct prefix_store *store = copy->store;
    struct store_tier *tier = store->tiers[place];
    const int32_t item = cache_find(&tier->cache, key);
    if (item == CACHE_NO_ITEM) return hold_target(copy, tier, key);
    return is_through(store, place) ? 0 : cache_hit(&tier->cache, item);
}

/* Blocks that were evicted come last block first, those that were published first block first. */
static int write_wanted(struct prefix_store *store, int32_t place)
{
    struct store_wants *wants = &store->wants[place];
    const int32_t n = wants->n;
    const bool is_reversed = !is_through(store, place);
    struct store_copy *copy = take_copy(store, source_of(store, place), place);
    int code = copy != NULL ? 0 : SIM_E_NOMEM;
    for (int32_t i = 0; i < n && code == 0; i++)
        code = write_one(copy, place, wants->keys[is_reversed ? n - 1 - i : i]);
    wants->n = 0;
    store->n_wants -= n;
    if (code != 0) return code;
    if (copy->n == 0) {
        give_copy(copy);
        return 0;
    }
    count_used(store->tiers[place], engine_now(store->all->engine));
    return begin_write(copy);
}

int prefix_store_flush(struct prefix_store *store)
{
    int code = 0;
    for (int32_t place = 0; place < store->n && store->n_wants > 0 && code == 0; place++)
        if (store->wants[place].n > 0) code = write_wanted(store, place);
    return code;
}

/* --- Finding and loading --- */

/* The highest tier that has the block, or `store->n`. */
static int32_t find(const struct prefix_store *store, uint64_t key, int32_t *item)
{
    int32_t place = 0;
    for (; place < store->n; place++) {
        *item = cache_find(&store->tiers[place]->cache, key);
        if (is_ready(store->tiers[place], *item)) break;
    }
    return place;
}

int32_t prefix_store_match(const struct prefix_store *store, const uint64_t *keys, int32_t n)
{
    int32_t i = 0, item;
    while (i < n && find(store, keys[i], &item) < store->n) i++;
    return i;
}

double prefix_store_load_s(const struct prefix_store *store, const uint64_t *keys, int32_t n)
{
    int32_t n_from[STORE_TIERS] = {0}, item;
    double seconds = 0.0;
    for (int32_t i = 0; i < n; i++) n_from[find(store, keys[i], &item)]++;
    for (int32_t place = 0; place < store->n; place++)
        if (n_from[place] > 0)
            seconds += store->load_latency_s[place] +
                       (double)(n_from[place] * store->tiers[place]->block_bytes) * store->load_s_per_byte[place];
    return seconds;
}

int prefix_store_pin(struct prefix_store *store, const uint64_t *keys, int32_t n, struct store_copy **copies)
{
    struct store_copy *from[STORE_TIERS] = {NULL};
    int code = 0;
    *copies = NULL;
    for (int32_t i = 0; i < n && code == 0; i++) {
        int32_t item = 0;
        const int32_t place = find(store, keys[i], &item);
        SIM_REQUIRE(place < store->n);
        if (from[place] == NULL && (from[place] = take_copy(store, place, GPU_MEMORY)) == NULL) return SIM_E_NOMEM;
        code = hold_source(from[place], store->tiers[place], item);
        from[place]->n = from[place]->n_from;
    }
    for (int32_t place = STORE_TIERS - 1; place >= 0; place--) {
        if (from[place] == NULL) continue;
        from[place]->next = *copies;
        *copies = from[place];
    }
    return code;
}

/* Notes loaded blocks that the first tier is to get: the first of them first, whatever the order of its writes. */
static int promote(const struct store_copy *copy)
{
    struct prefix_store *store = copy->store;
    const bool is_reversed = !is_through(store, 0);
    int code = 0;
    if (!store->tiers[copy->from]->promotes) return 0;
    for (int32_t i = 0; i < copy->n && code == 0; i++) {
        const int32_t item = copy->from_items[is_reversed ? copy->n - 1 - i : i];
        code = want(store, 0, cache_item_at(&store->tiers[copy->from]->cache, item)->key);
    }
    return code;
}

int prefix_store_unpin(struct store_copy *copy, bool is_done)
{
    struct store_counts *counts = &copy->store->tiers[copy->from]->counts;
    counts->loaded_blocks += is_done ? copy->n : 0;
    counts->loaded_bytes += is_done ? store_copy_bytes(copy) : 0;
    int code = is_done ? promote(copy) : 0;
    if (code == 0) code = release_sources(copy);
    give_copy(copy);
    return code;
}

/* --- Prefetching --- */

/* Begins the copies that have got room in the first tier, and drops the others. */
static int begin_fetches(struct prefix_store *store, struct store_copy *const *copies)
{
    int n = 0, code = 0;
    for (int32_t place = 1; place < store->n && code == 0; place++) {
        if (copies[place] == NULL) continue;
        if (copies[place]->n == 0) {
            code = release_sources(copies[place]);
            give_copy(copies[place]);
            continue;
        }
        code = begin_write(copies[place]);
        n++;
    }
    count_used(store->tiers[0], engine_now(store->all->engine));
    if (code == 0) code = prefix_store_flush(store);
    return code != 0 ? code : n;
}

int prefix_store_fetch(struct prefix_store *store, const uint64_t *keys, int32_t n, void *waiter)
{
    struct store_copy *copies[STORE_TIERS] = {NULL};
    int code = 0;
    int32_t item = 0;
    for (int32_t i = 0; i < n && code == 0; i++) { /* sources first, so that making room does not evict them */
        const int32_t place = find(store, keys[i], &item);
        if (place == store->n || !store_prefetches(store->config, (size_t)place) ||
            cache_find(&store->tiers[0]->cache, keys[i]) != CACHE_NO_ITEM)
            continue;
        if (copies[place] == NULL && (copies[place] = take_copy(store, place, 0)) == NULL) return SIM_E_NOMEM;
        copies[place]->waiter = waiter;
        code = hold_source(copies[place], store->tiers[place], item);
    }
    for (int32_t place = 1; place < store->n && code == 0; place++)
        for (int32_t i = 0; copies[place] != NULL && i < copies[place]->n_from && code == 0; i++)
            code = hold_target(copies[place], store->tiers[0],
                               cache_item_at(&store->tiers[place]->cache, copies[place]->from_items[i])->key);
    return code != 0 ? code : begin_fetches(store, copies);
}

/* --- Opening and closing --- */

static bool is_shared(const struct store_tier_config *config, const struct tier *device)
{
    return config->scope == STORE_SHARED || (config->scope == STORE_USUAL && device->kind == TIER_REMOTE);
}

static int reach_tier(struct prefix_store *store, int32_t place, sim_ns now)
{
    struct prefix_stores *all = store->all;
    const struct store_tier_config *config = config_of(store, place);
    struct tier *device;
    int code = topology_tier_named(store->placement, config->device != NULL ? config->device : "host", &device);
    if (code != 0) return code;
    SIM_REQUIRE(device != NULL);
    const int32_t replica = is_shared(config, device) ? -1 : store->replica;
    struct store_tier *tier = find_tier(all, config, device, replica);
    if (tier == NULL) tier = make_tier(all, config, device, replica, now);
    if (tier == NULL) return SIM_E_NOMEM;
    store->tiers[place] = tier;
    tier->promotes = store_promotes(store->config, (size_t)place);
    code = open_tier(store, tier, now);
    if (code != 0 || store->config->load != STORE_LOAD_WHEN_FASTER) return code;
    return store_load_rate(end_at(store, place), end_at(store, GPU_MEMORY), &store->load_s_per_byte[place],
                           &store->load_latency_s[place]);
}

int prefix_store_open(struct prefix_store *store, sim_ns now)
{
    int code = 0;
    if (store->n > 0) return 0;
    for (int32_t i = 0; i < (int32_t)store->config->tiers.n && code == 0; i++) code = reach_tier(store, i, now);
    if (code == 0) store->n = (int32_t)store->config->tiers.n;
    return code;
}

static int abandon(struct store_copy *copy, sim_ns now)
{
    struct store_tier *tier = copy->store->tiers[copy->to];
    transfer_cancel(&copy->transfer);
    delist(copy);
    int code = release_sources(copy);
    if (code == 0) code = release_targets(copy, false);
    count_used(tier, now);
    give_copy(copy);
    return code;
}

static void close_tier(struct store_tier *tier, sim_ns now)
{
    cache_fini(&tier->cache);
    tier_give(tier->device, now, tier->capacity_bytes);
    level_set(&tier->used, now, 0);
    tier->is_open = false;
}

int prefix_store_close(struct prefix_store *store, sim_ns now)
{
    int code = 0;
    while (store->writes != NULL && code == 0) code = abandon(store->writes, now);
    for (int32_t place = 0; place < store->n; place++) {
        store->wants[place].n = 0;
        if (store->tiers[place]->replica >= 0) close_tier(store->tiers[place], now);
    }
    store->n_wants = 0;
    store->n = 0;
    return code;
}

void prefix_stores_check(const struct prefix_stores *stores)
{
    int64_t holders = 0, coming = 0, sources = 0, targets = 0;
    for (const struct store_tier *tier = stores->tiers; tier != NULL; tier = tier->next) {
        for (int32_t i = 0; tier->is_open && i < tier->cache.n_items; i++) {
            if (cache_item_at(&tier->cache, i)->holders <= 0) continue;
            holders += cache_item_at(&tier->cache, i)->holders;
            coming += cache_is_marked(&tier->cache, i);
        }
        if (tier->is_open && tier->used.value > tier->capacity_bytes)
            SIM_BUG("INV-9: tier '%s' holds %lld of %lld bytes", tier->config->name, (long long)tier->used.value,
                    (long long)tier->capacity_bytes);
    }
    for (const struct store_copy *copy = stores->made; copy != NULL; copy = copy->made) {
        sources += copy->n_from;
        targets += copy->to != GPU_MEMORY ? copy->n : 0;
    }
    SIM_LAW("INV-9 (blocks that come to tiers)", coming, targets);
    SIM_LAW("INV-9 (holders of blocks in tiers)", holders, sources + targets);
}

void prefix_store_fini(struct prefix_store *store)
{
    for (int32_t place = 0; place < STORE_TIERS; place++) mem_free(store->wants[place].keys);
}

void prefix_stores_fini(struct prefix_stores *stores)
{
    for (struct store_tier *tier = stores->tiers, *next; tier != NULL; tier = next) {
        next = tier->next;
        if (tier->is_open) cache_fini(&tier->cache);
        mem_free(tier);
    }
    for (struct store_copy *copy = stores->made, *made; copy != NULL; copy = made) {
        made = copy->made;
        mem_free(copy->from_items);
        mem_free(copy->to_items);
        mem_free(copy);
    }
    *stores = (struct prefix_stores){0};
}
