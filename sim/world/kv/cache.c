#include "sim/world/kv/cache.h"

#include "sim/core/check.h"
#include "sim/core/mem.h"
#include "sim/core/rng.h"
#include "sim/world/policy/instance.h"

#include <inttypes.h>
#include <string.h>

enum { FIRST_PLACES = 64 };

/* --- The evictor's view --- */

uint64_t cache_view_key(const struct cache_view *view, int32_t item)
{
    return cache_item_at(view->cache, item)->key;
}

bool cache_view_held(const struct cache_view *view, int32_t item)
{
    return cache_item_at(view->cache, item)->holders > 0;
}

void *cache_view_slot(const struct cache_view *view, int32_t item)
{
    return view->slots + (size_t)item * view->slot_bytes;
}

void cache_view_stream(const struct cache_view *view, const char *name, struct rng *rng)
{
    const struct cache_options *options = &view->cache->options;
    rng_init(rng, options->seed, options->run, name, options->index);
}

const struct cache_future *cache_view_future(const struct cache_view *view)
{
    if (view->cache->evictor->policy.oracle & ORACLE_FUTURE) return view->cache->options.future;
    view->cache->asked_future = true;
    return NULL;
}

int64_t cache_view_next_use(const struct cache_view *view, int32_t item)
{
    const struct cache_future *future = cache_view_future(view);
    return future != NULL ? future->next_uses[view->cache->last_accesses[item]] : INT64_MAX;
}

/* --- Lifetime --- */

/* The evictor's part of an item, in whole words. */
static size_t whole_words(size_t bytes)
{
    return (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
}

int cache_init(struct cache *cache, const struct cache_options *options)
{
    const struct policy *policy = options->evictor;
    *cache = (struct cache){.options = *options, .evictor = (const void *)policy, .first_free = CACHE_NO_ITEM};
    cache->view = (struct cache_view){.capacity = options->capacity, .access = -1, .cache = cache,
                                      .slot_bytes = sizeof(struct cache_item) + whole_words(cache->evictor->item_bytes)};
    SIM_REQUIRE(options->capacity >= 1);
    if ((policy->oracle & ORACLE_FUTURE) && options->future == NULL)
        return diag_error(options->diag, SIM_E_CONFIG, NULL, "only 'orrery trace stat' knows it",
                          "eviction policy '%s' asks for the accesses that are still to come", policy->name);
    return policy_state_create(policy, POLICY_EVICTION, sizeof(struct evictor), options->params, &cache->state,
                               options->diag);
}

void cache_fini(struct cache *cache)
{
    policy_state_destroy(cache->options.evictor, cache->state);
    mem_free(cache->index.places);
    mem_free(cache->items);
    mem_free(cache->last_accesses);
    *cache = (struct cache){.options = cache->options, .evictor = cache->evictor};
}

/* --- Errors --- */

__attribute__((format(printf, 2, 3))) static int fault(const struct cache *cache, const char *format, ...)
{
    char text[120];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return diag_error(cache->options.diag, SIM_E_POLICY, NULL, NULL, "eviction policy '%s' %s",
                      cache->evictor->policy.name, text);
}

/* The result of `call`, a function of the evictor. */
static int check_call(const struct cache *cache, const char *call, int code)
{
    if (cache->asked_future) return fault(cache, "asked for the future, which it does not declare");
    if (code == SIM_E_NOMEM) return diag_nomem(cache->options.diag);
    if (code >= 0) return 0;
    return fault(cache, "failed: %s returned %d at access %" PRId64, call, code, cache->view.access);
}

static inline int notify(struct cache *cache, int32_t item, enum cache_event event)
{
    const int code = cache->evictor->notify(cache->state, &cache->view, item, event);
    return code >= 0 && !cache->asked_future ? 0 : check_call(cache, "notify", code);
}

/* --- Places --- */

static bool grow_array(void *array, size_t n, size_t bytes_each)
{
    void **block = array;
    if (bytes_each == 0) return true;
    void *larger = mem_realloc(*block, n * bytes_each);
    if (larger != NULL) *block = larger;
    return larger != NULL;
}

static int grow(struct cache *cache)
{
    size_t n = cache->n_places == 0 ? FIRST_PLACES : 2 * (size_t)cache->n_places;
    if (cache->n_places > INT32_MAX / 2) return diag_nomem(cache->options.diag);
    if ((uint64_t)cache->view.capacity < n) n = (size_t)cache->view.capacity;
    if (!grow_array(&cache->items, n, cache->view.slot_bytes) ||
        !grow_array(&cache->last_accesses, n, cache->options.future != NULL ? sizeof *cache->last_accesses : 0))
        return diag_nomem(cache->options.diag);
    cache->view.slots = cache->items + sizeof(struct cache_item);
    cache->n_places = (int32_t)n;
    return 0;
}

/* A free place, reused or new. Returns it, or an error. */
static int32_t take_place(struct cache *cache)
{
    int32_t item = cache->first_free;
    if (item != CACHE_NO_ITEM) {
        cache->first_free = cache_item_at(cache, item)->next_free;
        return item;
    }
    int code = cache->n_items == cache->n_places ? grow(cache) : 0;
    return code == 0 ? cache->n_items++ : code;
}

static void give_place(struct cache *cache, int32_t item)
{
    *cache_item_at(cache, item) = (struct cache_item){.holders = -1, .next_free = cache->first_free};
    cache->first_free = item;
}

/* --- The index --- */

/* The upper half of a product by 2^64 over the golden ratio (Knuth, TAOCP 3, 6.4). */
static uint32_t hash_of(uint64_t key)
{
    return (uint32_t)((key ^ key >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* Where the search for a hash begins. */
static size_t home_of(const struct cache_index *index, uint32_t hash)
{
    return hash >> index->shift;
}

static size_t place_after(const struct cache_index *index, size_t place)
{
    return (place + 1) & (index->n_places - 1);
}

int32_t cache_find(const struct cache *cache, uint64_t key)
{
    const struct cache_index *index = &cache->index;
    const uint32_t hash = hash_of(key);
    if (index->n == 0) return CACHE_NO_ITEM;
    size_t place = home_of(index, hash);
    for (; index->places[place].item_1 != 0; place = place_after(index, place))
        if (index->places[place].hash == hash && cache_item_at(cache, index->places[place].item_1 - 1)->key == key)
            return index->places[place].item_1 - 1;
    return CACHE_NO_ITEM;
}

void cache_prefetch(const struct cache *cache, uint64_t key)
{
    const struct cache_index *index = &cache->index;
    if (index->n > 0) __builtin_prefetch(&index->places[home_of(index, hash_of(key))]);
}

static void index_put(struct cache_index *index, struct cache_place entry)
{
    size_t place = home_of(index, entry.hash);
    while (index->places[place].item_1 != 0) place = place_after(index, place);
    index->places[place] = entry;
}

static int index_grow(struct cache_index *index)
{
    struct cache_index larger = {.n = index->n, .n_places = index->n_places == 0 ? FIRST_PLACES : 2 * index->n_places};
    larger.shift = 32 - __builtin_ctzll(larger.n_places);
    larger.places = mem_zalloc(larger.n_places, sizeof *larger.places);
    if (larger.places == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < index->n_places; i++)
        if (index->places[i].item_1 != 0) index_put(&larger, index->places[i]);
    mem_free(index->places);
    *index = larger;
    return 0;
}

/* At most half of the places are taken, so that a search ends soon. */
static int index_add(struct cache_index *index, uint32_t hash, int32_t item)
{
    if (2 * (index->n + 1) > index->n_places && index_grow(index) != 0) return SIM_E_NOMEM;
    index_put(index, (struct cache_place){hash, item + 1});
    index->n++;
    return 0;
}

/* Moves back what lies behind the gap, where its search would otherwise end too early (Knuth, TAOCP 3, 6.4 R). */
static void index_remove(struct cache *cache, int32_t item)
{
    struct cache_index *index = &cache->index;
    const size_t mask = index->n_places - 1;
    size_t gap = home_of(index, hash_of(cache_item_at(cache, item)->key));
    while (index->places[gap].item_1 != item + 1) gap = place_after(index, gap);
    for (size_t place = place_after(index, gap); index->places[place].item_1 != 0; place = place_after(index, place)) {
        const size_t from_home = (place - home_of(index, index->places[place].hash)) & mask;
        if (from_home < ((place - gap) & mask)) continue;
        index->places[gap] = index->places[place];
        gap = place;
    }
    index->places[gap].item_1 = 0;
    index->n--;
}

/* --- Operations --- */

static void note_access(struct cache *cache, int32_t item)
{
    if (cache->options.future != NULL) cache->last_accesses[item] = cache->view.access;
}

/* Accesses beyond the predicted ones would find no entry there. */
static void count_access(struct cache *cache)
{
    cache->view.access++;
    SIM_REQUIRE(cache->options.future == NULL || cache->view.access < cache->options.future->n);
}

int cache_hit(struct cache *cache, int32_t item)
{
    count_access(cache);
    note_access(cache, item);
    if (cache->evictor->skips_held && cache_item_at(cache, item)->holders > 0) return 0;
    return notify(cache, item, CACHE_HIT);
}

static int forget(struct cache *cache, int32_t item)
{
    int code = notify(cache, item, CACHE_FORGET);
    index_remove(cache, item);
    cache->n_changes++;
    give_place(cache, item);
    cache->view.size--;
    return code;
}

int cache_drop(struct cache *cache, int32_t item)
{
    SIM_REQUIRE(cache_item_at(cache, item)->holders == 0);
    return forget(cache, item);
}

int cache_evict(struct cache *cache)
{
    if (cache_evictable(cache) == 0) return 0;
    int32_t item = cache->evictor->victim(cache->state, &cache->view);
    int code = check_call(cache, "victim", item < 0 && item != CACHE_NO_ITEM ? item : 0);
    if (code != 0) return code;
    if (item < 0 || item >= cache->n_items || cache_item_at(cache, item)->holders < 0)
        return fault(cache, "names item %" PRId32 " as the victim, which is not cached", item);
    if (cache_item_at(cache, item)->holders > 0)
        return fault(cache, "names item %" PRId32 " as the victim, which is in use", item);
    const uint64_t key = cache_item_at(cache, item)->key;
    code = forget(cache, item);
    cache->n_evictions++;
    if (code == 0 && cache->options.evicted != NULL) code = cache->options.evicted(cache->options.context, key);
    return code == 0 ? 1 : code;
}

/* A slot is of whole words, mostly of one. */
static void clear_slot(const struct cache_view *view, int32_t item)
{
    uint64_t *words = cache_view_slot(view, item);
    const size_t n = (view->slot_bytes - sizeof(struct cache_item)) / sizeof *words;
    if (n > 0) words[0] = 0;
    if (n > 1) memset(words + 1, 0, (n - 1) * sizeof *words);
}

/* Caches the key; the evictor has still to be told. Returns as cache_insert. */
static inline int place_key(struct cache *cache, uint64_t key, int32_t *item)
{
    SIM_ASSERT(cache_find(cache, key) == CACHE_NO_ITEM);
    *item = CACHE_NO_ITEM;
    count_access(cache);
    int code = cache->view.size < cache->view.capacity ? 1 : cache_evict(cache);
    if (code != 1) return code;
    int32_t place = take_place(cache);
    if (place < 0) return place;
    if (index_add(&cache->index, hash_of(key), place) != 0) {
        give_place(cache, place);
        return diag_nomem(cache->options.diag);
    }
    *cache_item_at(cache, place) = (struct cache_item){.key = key};
    clear_slot(&cache->view, place);
    note_access(cache, place);
    cache->view.size++;
    cache->n_changes++;
    *item = place;
    return 1;
}

/* The result of an insertion whose notification had this result. */
static inline int end_insertion(const struct cache *cache, uint64_t key, int code)
{
    if (code == 0 && cache->options.inserted != NULL) code = cache->options.inserted(cache->options.context, key);
    return code == 0 ? 1 : code;
}

int cache_insert(struct cache *cache, uint64_t key, int32_t *item)
{
    const int code = place_key(cache, key, item);
    return code == 1 ? end_insertion(cache, key, notify(cache, *item, CACHE_INSERT)) : code;
}

int cache_insert_held(struct cache *cache, uint64_t key, int32_t *item)
{
    if (!cache->evictor->skips_held) {
        int code = cache_insert(cache, key, item);
        if (code == 1 && (code = cache_acquire(cache, *item)) == 0) code = 1;
        return code;
    }
    const int code = place_key(cache, key, item);
    if (code != 1) return code;
    cache_item_at(cache, *item)->holders = 1;
    cache->view.held++;
    return end_insertion(cache, key, 0);
}

int cache_acquire(struct cache *cache, int32_t item)
{
    struct cache_item *at = cache_item_at(cache, item);
    SIM_REQUIRE(at->holders >= 0);
    if (at->holders++ > 0) return 0;
    cache->view.held++;
    return notify(cache, item, CACHE_ACQUIRE);
}

int cache_release(struct cache *cache, int32_t item)
{
    struct cache_item *at = cache_item_at(cache, item);
    SIM_REQUIRE(at->holders > 0);
    if (--at->holders > 0) return 0;
    cache->view.held--;
    return notify(cache, item, CACHE_RELEASE);
}
