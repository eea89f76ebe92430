#include "sim/study/conform_cache.h"

#include "sim/core/mem.h"
#include "sim/core/rng.h"
#include "sim/study/cache_stat.h"
#include "sim/world/kv/cache.h"

#include <inttypes.h>

/* --- Access patterns --- */

struct pattern {
    int64_t capacity;
    uint64_t (*key)(int64_t access);
    int64_t hold_every, hold_for; /* every hold_every-th item is in use for hold_for accesses; 0: none */
    int64_t drop_every;           /* before every drop_every-th access an unused item of its key is dropped; 0: never */
};

static uint64_t always_one(int64_t i)
{
    (void)i;
    return 7;
}

static uint64_t all_different(int64_t i)
{
    return (uint64_t)i;
}

static uint64_t two_in_turn(int64_t i)
{
    return (uint64_t)(i % 2);
}

/* A loop longer than the cache: LRU and FIFO never hit. */
static uint64_t loop_of_nine(int64_t i)
{
    return (uint64_t)(i % 9);
}

static uint64_t loop_of_eight(int64_t i)
{
    return (uint64_t)(i % 8);
}

static uint64_t up_and_down(int64_t i)
{
    int64_t at = i % 24;
    return (uint64_t)(at < 12 ? at : 23 - at);
}

static uint64_t hot_and_scan(int64_t i)
{
    return (uint64_t)(i % 3 == 0 ? i / 3 % 4 : 100 + i);
}

static uint64_t changing_set(int64_t i)
{
    return (uint64_t)(10 * (i / 40) + i * 5 % 7);
}

static uint64_t growing_steps(int64_t i)
{
    return (uint64_t)(i * i % 23);
}

static uint64_t draw(int64_t i, uint64_t n)
{
    struct rng rng;
    rng_init(&rng, 11, 0, "conformance", (uint64_t)i);
    return rng_below(&rng, n);
}

static uint64_t of_twelve(int64_t i)
{
    return draw(i, 12);
}

/* Few keys often, many keys seldom. */
static uint64_t skewed(int64_t i)
{
    uint64_t n = draw(i, 1 << 12);
    return n * n / 40000;
}

static uint64_t far_keys(int64_t i)
{
    return UINT64_MAX - draw(i, 20) * (UINT64_C(1) << 58);
}

#define CACHE(title, count, room, function, ...)                                                                       \
    {.name = title, .n = count, .details = &(const struct pattern){.capacity = room, .key = function, __VA_ARGS__}}

const struct conform_case conform_cache_cases[] = {
    CACHE("nothing asked for", 0, 4, always_one, .hold_for = 0),
    CACHE("one key", 20, 4, always_one, .hold_for = 0),
    CACHE("all different", 100, 8, all_different, .hold_for = 0),
    CACHE("room for one", 60, 1, two_in_turn, .hold_for = 0),
    CACHE("room for all", 60, 8, loop_of_eight, .hold_for = 0),
    CACHE("one too many", 120, 8, loop_of_nine, .hold_for = 0),
    CACHE("up and down", 200, 7, up_and_down, .hold_for = 0),
    CACHE("hot ones in a scan", 240, 8, hot_and_scan, .hold_for = 0),
    CACHE("another set now and then", 240, 6, changing_set, .hold_for = 0),
    CACHE("no limit", 200, INT64_MAX, skewed, .hold_for = 0),
    CACHE("some in use", 240, 8, of_twelve, .hold_every = 3, .hold_for = 7),
    CACHE("all but one in use", 240, 8, growing_steps, .hold_every = 1, .hold_for = 7),
    CACHE("all in use", 200, 4, all_different, .hold_every = 1, .hold_for = 9),
    CACHE("in use twice", 200, 4, two_in_turn, .hold_every = 1, .hold_for = 5),
    CACHE("room for one in use", 60, 1, all_different, .hold_every = 2, .hold_for = 1),
    CACHE("dropped", 240, 8, of_twelve, .drop_every = 5),
    CACHE("in use and dropped", 300, 8, skewed, .hold_every = 4, .hold_for = 6, .drop_every = 7),
    CACHE("keys far apart", 300, 8, far_keys, .hold_every = 5, .hold_for = 3),
    {.name = "ten thousand", .n = 10000, .large = true,
     .details = &(const struct pattern){.capacity = 64, .key = skewed, .hold_every = 3, .hold_for = 40, .drop_every = 50}},
};
const size_t conform_cache_n_cases = sizeof conform_cache_cases / sizeof *conform_cache_cases;

/* --- The document --- */

const struct config_field conform_cache_fields[] = {
    {.name = "eviction", .kind = CONFIG_VARIANT, .flags = CONFIG_SHORT, .offset = offsetof(struct conform_cache, evictor),
     .family = "eviction", .tag = "policy", .value = "lru", .help = "which block makes room"},
    {.name = "eviction_below", .kind = CONFIG_VARIANT, .flags = CONFIG_SHORT, .offset = offsetof(struct conform_cache, below),
     .family = "eviction", .tag = "policy", .value = "lru", .help = "evictor of the tier below"},
    {.name = "blocks", .kind = CONFIG_INT, .offset = offsetof(struct conform_cache, capacity), .value = "1", .min = 1,
     .max = -1, .help = "that have room"},
    {0}};

void conform_cache_json(const struct conform_case *wanted, const char *policy, const char *partner, struct text *json)
{
    const struct pattern *pattern = wanted->details;
    text_printf(json, "{\n  \"eviction\": \"%s\", \"eviction_below\": \"%s\"", policy, partner);
    if (pattern->capacity < INT64_MAX) text_printf(json, ", \"blocks\": %" PRId64, pattern->capacity);
    text_add(json, "\n}\n");
}

/* --- A run --- */

/* The two caches while they run. */
struct caches {
    const struct pattern *pattern;
    struct sink *sink;
    struct diag *diag;
    struct cache upper, lower;
    int64_t access;
    int32_t *held; /* [hold_for]: the item in use since the access of this number modulo hold_for; or CACHE_NO_ITEM */
};

static int emit(struct caches *caches, const char *action, uint64_t key, const char *reason)
{
    return caches->sink->decision(caches->sink->context, &(struct decision_row){.t_s = (double)caches->access,
                                                                                .service = "", .policy = "",
                                                                                .action = action,
                                                                                .subject = (int64_t)key,
                                                                                .reason = reason});
}

static int leave_lower(void *context, uint64_t key)
{
    return emit(context, "evict", key, "below");
}

/* Items evicted from the upper cache enter the lower one. */
static int leave_upper(void *context, uint64_t key)
{
    struct caches *caches = context;
    int32_t item;
    int code = emit(caches, "evict", key, "");
    if (code != 0 || cache_find(&caches->lower, key) != CACHE_NO_ITEM) return code;
    code = cache_insert(&caches->lower, key, &item);
    return code < 0 ? code : 0;
}

static int release_due(struct caches *caches)
{
    const struct pattern *pattern = caches->pattern;
    if (pattern->hold_for == 0) return 0;
    int32_t *held = &caches->held[caches->access % pattern->hold_for];
    int32_t item = *held;
    *held = CACHE_NO_ITEM;
    return item != CACHE_NO_ITEM ? cache_release(&caches->upper, item) : 0;
}

static int hold_due(struct caches *caches, int32_t item)
{
    const struct pattern *pattern = caches->pattern;
    if (item == CACHE_NO_ITEM || pattern->hold_every == 0 || caches->access % pattern->hold_every != 0) return 0;
    caches->held[caches->access % pattern->hold_for] = item;
    return cache_acquire(&caches->upper, item);
}

static int drop_due(struct caches *caches, uint64_t key)
{
    int64_t every = caches->pattern->drop_every;
    int32_t item = every > 0 && caches->access % every == 0 ? cache_find(&caches->upper, key) : CACHE_NO_ITEM;
    return item != CACHE_NO_ITEM && !cache_view_held(&caches->upper.view, item) ? cache_drop(&caches->upper, item) : 0;
}

static int ask(struct caches *caches)
{
    uint64_t key = caches->pattern->key(caches->access);
    int code = release_due(caches);
    if (code == 0) code = drop_due(caches, key);
    if (code != 0) return code;
    int32_t item = cache_find(&caches->upper, key), below = cache_find(&caches->lower, key);
    bool hit = item != CACHE_NO_ITEM;
    if (below != CACHE_NO_ITEM) code = cache_drop(&caches->lower, below);
    if (code == 0) code = hit ? cache_hit(&caches->upper, item) : cache_insert(&caches->upper, key, &item);
    if (code >= 0) code = emit(caches, hit ? "hit" : "miss", key, "");
    return code == 0 ? hold_due(caches, item) : code;
}

static int log_accesses(const struct conform_case *wanted, struct block_log *log, struct cache_future *future)
{
    const struct pattern *pattern = wanted->details;
    int code = 0;
    for (size_t i = 0; i < wanted->n && code == 0; i++)
        code = block_log_add(log, &(uint64_t){pattern->key((int64_t)i)}, 1);
    return code == 0 ? block_log_future(log, future) : code;
}

static int start(struct caches *caches, const struct conform_cache *bound, const struct cache_future *future)
{
    size_t n = (size_t)caches->pattern->hold_for;
    int64_t below = caches->pattern->capacity < INT64_MAX ? 2 * caches->pattern->capacity : INT64_MAX;
    caches->held = mem_alloc((n + 1) * sizeof *caches->held);
    for (size_t i = 0; i < n && caches->held != NULL; i++) caches->held[i] = CACHE_NO_ITEM;
    struct cache_options options = {.evictor = bound->below.entry, .params = bound->below.params, .capacity = below,
                                    .seed = 3, .index = 1, .evicted = leave_lower, .context = caches,
                                    .diag = caches->diag};
    int code = cache_init(&caches->lower, &options);
    options.evictor = bound->evictor.entry;
    options.params = bound->evictor.params;
    options.capacity = caches->pattern->capacity;
    options.index = 0;
    options.evicted = leave_upper;
    options.future = future;
    int upper_code = cache_init(&caches->upper, &options);
    if (caches->held == NULL) return SIM_E_NOMEM;
    return code != 0 ? code : upper_code;
}

int conform_cache_run(const struct conform_case *wanted, const struct conform_cache *bound, struct sink *sink,
                      struct diag *diag)
{
    struct caches caches = {.pattern = wanted->details, .sink = sink, .diag = diag};
    struct block_log log = {0};
    struct cache_future future;
    int code = log_accesses(wanted, &log, &future);
    int start_code = start(&caches, bound, code == 0 ? &future : NULL);
    if (code == 0) code = start_code;
    for (; caches.access < (int64_t)wanted->n && code == 0; caches.access++) code = ask(&caches);
    cache_fini(&caches.upper);
    cache_fini(&caches.lower);
    mem_free(caches.held);
    block_log_fini(&log);
    return code;
}
