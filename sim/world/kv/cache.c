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
    return view->cache->items[item].key;
}

bool cache_view_held(const struct cache_view *view, int32_t item)
{
    return view->cache->items[item].holders > 0;
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

int cache_init(struct cache *cache, const struct cache_options *options)
{
    const struct policy *policy = options->evictor;
    *cache = (struct cache){.options = *options, .evictor = (const void *)policy, .first_free = CACHE_NO_ITEM};
    cache->view = (struct cache_view){.capacity = options->capacity, .access = -1, .cache = cache,
                                      .slot_bytes = cache->evictor->item_bytes};
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
    key_map_fini(&cache->index);
    mem_free(cache->items);
    mem_free(cache->view.slots);
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

/* The result of a call of the evictor. */
static int check_call(const struct cache *cache, int code)
{
    if (cache->asked_future) return fault(cache, "asked for the future, which it does not declare");
    if (code == SIM_E_NOMEM) return diag_nomem(cache->options.diag);
    if (code >= 0) return 0;
    return fault(cache, "failed with %d (%s) at access %" PRId64, code, sim_err_text(code), cache->view.access);
}

static inline int notify(struct cache *cache, int32_t item, enum cache_event event)
{
    const int code = cache->evictor->notify(cache->state, &cache->view, item, event);
    return code >= 0 && !cache->asked_future ? 0 : check_call(cache, code);
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
    if (!grow_array(&cache->items, n, sizeof *cache->items) ||
        !grow_array(&cache->view.slots, n, cache->evictor->item_bytes) ||
        !grow_array(&cache->last_accesses, n, cache->options.future != NULL ? sizeof *cache->last_accesses : 0))
        return diag_nomem(cache->options.diag);
    cache->n_places = (int32_t)n;
    return 0;
}

/* A free place, reused or new. Returns it, or an error. */
static int32_t take_place(struct cache *cache)
{
    int32_t item = cache->first_free;
    if (item != CACHE_NO_ITEM) {
        cache->first_free = cache->items[item].next_free;
        return item;
    }
    int code = cache->n_items == cache->n_places ? grow(cache) : 0;
    return code == 0 ? cache->n_items++ : code;
}

static void give_place(struct cache *cache, int32_t item)
{
    cache->items[item] = (struct cache_item){.holders = -1, .next_free = cache->first_free};
    cache->first_free = item;
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
    return notify(cache, item, CACHE_HIT);
}

static int forget(struct cache *cache, int32_t item)
{
    int code = notify(cache, item, CACHE_FORGET);
    key_map_remove(&cache->index, cache->items[item].key);
    cache->n_changes++;
    give_place(cache, item);
    cache->view.size--;
    return code;
}

int cache_drop(struct cache *cache, int32_t item)
{
    SIM_REQUIRE(cache->items[item].holders == 0);
    return forget(cache, item);
}

int cache_evict(struct cache *cache)
{
    if (cache_evictable(cache) == 0) return 0;
    int32_t item = cache->evictor->victim(cache->state, &cache->view);
    int code = check_call(cache, item < 0 && item != CACHE_NO_ITEM ? item : 0);
    if (code != 0) return code;
    if (item < 0 || item >= cache->n_items || cache->items[item].holders < 0)
        return fault(cache, "names item %" PRId32 " as the victim, which is not cached", item);
    if (cache->items[item].holders > 0)
        return fault(cache, "names item %" PRId32 " as the victim, which is in use", item);
    uint64_t key = cache->items[item].key;
    code = forget(cache, item);
    cache->n_evictions++;
    if (code == 0 && cache->options.evicted != NULL) code = cache->options.evicted(cache->options.context, key);
    return code == 0 ? 1 : code;
}

int cache_insert(struct cache *cache, uint64_t key, int32_t *item)
{
    SIM_ASSERT(cache_find(cache, key) == CACHE_NO_ITEM);
    *item = CACHE_NO_ITEM;
    count_access(cache);
    int code = cache->view.size < cache->view.capacity ? 1 : cache_evict(cache);
    if (code != 1) return code;
    int32_t place = take_place(cache);
    if (place < 0) return place;
    cache->items[place] = (struct cache_item){.key = key};
    if (key_map_set(&cache->index, key, place) != 0) {
        give_place(cache, place);
        return diag_nomem(cache->options.diag);
    }
    if (cache->evictor->item_bytes > 0) memset(cache_view_slot(&cache->view, place), 0, cache->evictor->item_bytes);
    note_access(cache, place);
    cache->view.size++;
    cache->n_changes++;
    *item = place;
    code = notify(cache, place, CACHE_INSERT);
    if (code == 0 && cache->options.inserted != NULL) code = cache->options.inserted(cache->options.context, key);
    return code == 0 ? 1 : code;
}

int cache_acquire(struct cache *cache, int32_t item)
{
    SIM_REQUIRE(cache->items[item].holders >= 0);
    if (cache->items[item].holders++ > 0) return 0;
    cache->view.held++;
    return notify(cache, item, CACHE_ACQUIRE);
}

int cache_release(struct cache *cache, int32_t item)
{
    SIM_REQUIRE(cache->items[item].holders > 0);
    if (--cache->items[item].holders > 0) return 0;
    cache->view.held--;
    return notify(cache, item, CACHE_RELEASE);
}
