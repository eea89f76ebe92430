/* Eviction policies against caches written as their definitions read, in quadratic time: the same victims, in the same
 * order. */
#include "policies/registry.h"
#include "sim/world/kv/cache.h"
#include "tests/support/eviction_fixture.h"
#include "tests/support/harness.h"
#include "tests/support/policy_params.h"

/* A cached page of the naive cache. */
struct naive_page {
    uint64_t page;
    int64_t inserted, last_use, uses, next_use;
};

/* Whether `a` goes rather than `b`. */
typedef bool goes_fn(const struct naive_page *a, const struct naive_page *b);

static bool lru_goes(const struct naive_page *a, const struct naive_page *b)
{
    return a->last_use < b->last_use;
}

static bool fifo_goes(const struct naive_page *a, const struct naive_page *b)
{
    return a->inserted < b->inserted;
}

static bool lfu_goes(const struct naive_page *a, const struct naive_page *b)
{
    return a->uses < b->uses || (a->uses == b->uses && a->last_use < b->last_use);
}

static bool belady_goes(const struct naive_page *a, const struct naive_page *b)
{
    return a->next_use > b->next_use;
}

static int64_t find_next(const struct paging *paging, int from, uint64_t page)
{
    for (int i = from; i < paging->n; i++)
        if (paging->pages[i] == page) return i;
    return INT64_MAX;
}

static void naive_run(const struct paging *paging, goes_fn *goes, int capacity, struct paging_run *run)
{
    struct naive_page pages[64];
    int n = 0;
    run->misses = run->n_victims = 0;
    for (int i = 0; i < paging->n; i++) {
        int at = 0, victim = 0;
        while (at < n && pages[at].page != paging->pages[i]) at++;
        if (at == n) run->misses++;
        if (at == n && n == capacity) {
            for (int k = 1; k < n; k++)
                if (goes(&pages[k], &pages[victim])) victim = k;
            run->victims[run->n_victims++] = pages[victim].page;
            at = victim;
            pages[at] = (struct naive_page){.page = paging->pages[i], .inserted = i};
        } else if (at == n) {
            pages[n++] = (struct naive_page){.page = paging->pages[i], .inserted = i};
        }
        pages[at].last_use = i;
        pages[at].uses++;
        pages[at].next_use = find_next(paging, i + 1, paging->pages[i]);
    }
}

/* Ties among pages that never come back are Belady's only freedom: there the victims may differ, the misses do not. */
static void compare(const struct paging *paging, const char *policy, goes_fn *goes, int capacity)
{
    struct paging_run run, naive;
    paging_run(paging, policy, NULL, capacity, 1, &run);
    naive_run(paging, goes, capacity, &naive);
    CHECK_EQ_INT(run.misses, naive.misses);
    CHECK_EQ_INT(run.n_victims, naive.n_victims);
    if (goes != belady_goes)
        CHECK(memcmp(run.victims, naive.victims, (size_t)naive.n_victims * sizeof *naive.victims) == 0);
}

static void compare_all(const struct paging *paging, int capacity)
{
    compare(paging, "lru", lru_goes, capacity);
    compare(paging, "fifo", fifo_goes, capacity);
    compare(paging, "lfu", lfu_goes, capacity);
    compare(paging, "belady", belady_goes, capacity);
}

TEST(definitions_and_policies_agree)
{
    struct paging paging;
    for (uint64_t seed = 0; seed < 40; seed++) {
        int capacity = 1 + (int)(seed * 7 % 23);
        paging_uniform(&paging, seed, 400, capacity + 1 + (int)(seed % 30));
        compare_all(&paging, capacity);
        paging_local(&paging, seed, 400, 3 * capacity + 2, capacity + 1);
        compare_all(&paging, capacity);
    }
}

/* --- S3-FIFO --- */

enum { S3_ROOM = 64 };

struct s3_page {
    uint64_t page;
    int uses;
};

/* A queue, the oldest page first. */
struct s3_queue {
    int n;
    struct s3_page pages[S3_ROOM];
};

/* Two queues, and every page that ever left the small one. A page is remembered from its last departure until it
 * returns, or until as many pages as the main queue holds have departed after it. */
struct naive_s3 {
    int small_room, main_room, promote, n_left;
    struct s3_queue small, main;
    struct {
        uint64_t page;
        bool has_returned;
    } left[PAGING_MAX];
};

static struct s3_page s3_take(struct s3_queue *queue, int at)
{
    const struct s3_page page = queue->pages[at];
    for (queue->n--; at < queue->n; at++) queue->pages[at] = queue->pages[at + 1];
    return page;
}

static bool s3_hits(struct s3_queue *queue, uint64_t page)
{
    for (int i = 0; i < queue->n; i++) {
        if (queue->pages[i].page != page) continue;
        if (queue->pages[i].uses < 3) queue->pages[i].uses++;
        return true;
    }
    return false;
}

static uint64_t s3_evict(struct naive_s3 *s3)
{
    while (s3->small.n > 0 && (s3->small.n >= s3->small_room || s3->main.n == 0)) {
        const struct s3_page oldest = s3_take(&s3->small, 0);
        if (oldest.uses < s3->promote) {
            s3->left[s3->n_left].has_returned = false;
            s3->left[s3->n_left++].page = oldest.page;
            return oldest.page;
        }
        s3->main.pages[s3->main.n++] = (struct s3_page){oldest.page, 0};
        if (s3->main.n > s3->main_room) break;
    }
    for (;;) {
        const struct s3_page oldest = s3_take(&s3->main, 0);
        if (oldest.uses == 0) return oldest.page;
        s3->main.pages[s3->main.n++] = (struct s3_page){oldest.page, oldest.uses - 1};
    }
}

static bool s3_remembers(struct naive_s3 *s3, uint64_t page)
{
    for (int i = s3->n_left - 1; i >= 0 && i >= s3->n_left - s3->main_room; i--) {
        if (s3->left[i].page != page) continue;
        const bool is_ghost = !s3->left[i].has_returned;
        s3->left[i].has_returned = true;
        return is_ghost;
    }
    return false;
}

static void compare_s3(const struct paging *paging, int capacity, double small_frac, int promote)
{
    struct naive_s3 s3 = {.small_room = (int)fmax(floor(small_frac * capacity), 1), .promote = promote};
    s3.main_room = s3.small_room < capacity ? capacity - s3.small_room : 1;
    struct paging_run run;
    char params[64];
    int n_victims = 0;
    snprintf(params, sizeof params, "{\"small\": %g, \"promote\": %d}", small_frac, promote);
    paging_run(paging, "s3-fifo", params, capacity, 1, &run);
    for (int i = 0; i < paging->n; i++) {
        const uint64_t page = paging->pages[i];
        if (s3_hits(&s3.small, page) || s3_hits(&s3.main, page)) continue;
        if (s3.small.n + s3.main.n == capacity) {
            const uint64_t victim = s3_evict(&s3);
            CHECK(n_victims < run.n_victims && run.victims[n_victims] == victim);
            n_victims++;
        }
        struct s3_queue *queue = s3_remembers(&s3, page) ? &s3.main : &s3.small;
        queue->pages[queue->n++] = (struct s3_page){page, 0};
    }
    CHECK_EQ_INT(run.n_victims, n_victims);
}

TEST(s3_fifo_is_two_queues_and_a_memory)
{
    static const double fracs[] = {0, 0.1, 0.25, 0.5, 1};
    struct paging paging;
    for (int round = 0; round < 60; round++) {
        const int capacity = 1 + round % 12 * (1 + round / 12), promote = 1 + round % 3;
        paging_local(&paging, (uint64_t)round, 500, 3 * capacity + 2, capacity + 1);
        for (size_t i = 0; i < sizeof fracs / sizeof *fracs; i++) compare_s3(&paging, capacity, fracs[i], promote);
    }
}

/* --- Items in use --- */

enum { N_KEYS = 40 };

/* A cache and what it should hold, by key. */
struct model {
    struct cache cache;
    struct diag diag;
    int64_t capacity, size, held;
    bool is_cached[N_KEYS];
    int holders[N_KEYS];
};

static int note_evicted(void *context, uint64_t key)
{
    struct model *model = context;
    CHECK(model->is_cached[key] && model->holders[key] == 0);
    model->is_cached[key] = false;
    model->size--;
    return 0;
}

static void access_key(struct model *model, uint64_t key)
{
    int32_t item = cache_find(&model->cache, key);
    CHECK_EQ_INT(item != CACHE_NO_ITEM, model->is_cached[key]);
    if (item != CACHE_NO_ITEM) {
        CHECK_EQ_INT(cache_hit(&model->cache, item), 0);
        return;
    }
    bool room = model->held < model->capacity;
    item = 0; /* an item of another key, perhaps: it is set in any case */
    CHECK_EQ_INT(cache_insert(&model->cache, key, &item), room);
    CHECK_EQ_INT(item != CACHE_NO_ITEM, room);
    model->is_cached[key] = room;
    model->size += room;
}

static void change_use(struct model *model, struct rng *rng, uint64_t key)
{
    int32_t item = cache_find(&model->cache, key);
    if (item == CACHE_NO_ITEM) return;
    uint64_t what = rng_below(rng, 10);
    if (what < 4) {
        model->held += model->holders[key]++ == 0;
        CHECK_EQ_INT(cache_acquire(&model->cache, item), 0);
    } else if (model->holders[key] > 0) {
        model->held -= --model->holders[key] == 0;
        CHECK_EQ_INT(cache_release(&model->cache, item), 0);
    } else if (what < 5) {
        model->is_cached[key] = false;
        model->size--;
        CHECK_EQ_INT(cache_drop(&model->cache, item), 0);
    } else if (what < 6) {
        CHECK_EQ_INT(cache_evict(&model->cache), 1);
    }
}

/* Every item is in the cache or not as it should be, and what is in use stays. */
static void storm(const struct policy *policy, uint64_t seed)
{
    enum { N = 1500 };
    static struct paging paging;
    static int64_t next_uses[PAGING_MAX];
    struct model model = {.capacity = 1 + (int64_t)(seed * 5 % 17)};
    struct cache_future future = {N, next_uses};
    SCOPED(arena) arena = {0};
    struct rng rng = test_rng(seed, "storm", 0);
    diag_init(&model.diag);
    paging_local(&paging, seed, N, N_KEYS, 9);
    paging_next_uses(&paging, next_uses);
    struct cache_options options = {.evictor = policy, .params = policy_params(policy, NULL, &arena),
                                    .capacity = model.capacity, .seed = seed, .future = &future,
                                    .evicted = note_evicted, .context = &model, .diag = &model.diag};
    CHECK_EQ_INT(cache_init(&model.cache, &options), 0);
    for (int i = 0; i < N && model.diag.n_errors == 0; i++) {
        access_key(&model, paging.pages[i]);
        for (int k = 0; k < 2; k++) change_use(&model, &rng, rng_below(&rng, N_KEYS));
        CHECK_EQ_INT(model.cache.view.size, model.size);
        CHECK_EQ_INT(model.cache.view.held, model.held);
    }
    for (uint64_t key = 0; key < N_KEYS; key++)
        CHECK_EQ_INT(cache_find(&model.cache, key) != CACHE_NO_ITEM, model.is_cached[key]);
    CHECK_EQ_INT(model.diag.n_errors, 0);
    cache_fini(&model.cache);
}

TEST(items_are_conserved_and_those_in_use_stay)
{
    struct policy_table table = policy_registry();
    for (size_t i = 0; i < table.n; i++)
        for (uint64_t seed = 0; seed < 12 && table.policies[i]->family == POLICY_EVICTION; seed++)
            storm(table.policies[i], seed);
}

/* --- What an evictor skips --- */

/* One access or change of use, the same for both caches. Whether a key is cached must not differ. */
static void change_both(struct cache *const caches[2], struct rng *rng)
{
    const uint64_t key = rng_below(rng, N_KEYS), what = rng_below(rng, 6);
    int32_t items[2];
    for (int i = 0; i < 2; i++) {
        items[i] = cache_find(caches[i], key);
        const int64_t holders = items[i] != CACHE_NO_ITEM ? cache_item_at(caches[i], items[i])->holders : -1;
        int code = 0;
        if (holders < 0)
            code = what < 3 ? cache_insert_held(caches[i], key, &items[i]) : cache_insert(caches[i], key, &items[i]);
        else if (what < 2)
            code = cache_hit(caches[i], items[i]);
        else if (what < 3)
            code = cache_acquire(caches[i], items[i]);
        else if (holders > 0)
            code = cache_release(caches[i], items[i]);
        else if (what < 4)
            code = cache_drop(caches[i], items[i]);
        CHECK(code >= 0);
    }
    CHECK_EQ_INT(items[0], items[1]);
    CHECK_EQ_INT(caches[0]->view.held, caches[1]->view.held);
}

static void check_skips(const struct evictor *evictor, uint64_t seed)
{
    struct evictor told = *evictor;
    struct cache skips, hears, *const caches[] = {&skips, &hears};
    struct diag diag = {0};
    SCOPED(arena) arena = {0};
    struct rng rng = test_rng(seed, "skips", 0);
    struct cache_options options = {.evictor = &evictor->policy, .capacity = 1 + (int64_t)seed, .seed = seed,
                                    .params = policy_params(&evictor->policy, NULL, &arena), .diag = &diag};
    told.skips_held = false;
    MUST(cache_init(&skips, &options) == 0);
    options.evictor = &told.policy;
    MUST(cache_init(&hears, &options) == 0);
    for (int i = 0; i < 1500; i++) change_both(caches, &rng);
    for (uint64_t key = 0; key < N_KEYS; key++) CHECK_EQ_INT(cache_find(&skips, key), cache_find(&hears, key));
    CHECK(skips.n_evictions > 100 && skips.n_evictions == hears.n_evictions);
    cache_fini(&skips);
    cache_fini(&hears);
}

/* An evictor that is not told of held items evicts the same ones as when it is. */
TEST(what_an_evictor_skips_changes_no_victim)
{
    struct policy_table table = policy_registry();
    int n = 0;
    for (size_t i = 0; i < table.n; i++) {
        const struct evictor *evictor = (const void *)table.policies[i];
        if (table.policies[i]->family != POLICY_EVICTION || !evictor->skips_held) continue;
        for (uint64_t seed = 3; seed < 12; seed++) check_skips(evictor, seed);
        n++;
    }
    CHECK(n > 0);
}

/* --- Keys --- */

/* The i-th of keys with this hash in the index of cache.c: it multiplies by `factor` what it makes of a key, and takes
 * the upper half. */
static uint64_t alike(uint32_t hash, uint64_t i)
{
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t inverse = factor; /* modulo 2^64, by Newton's method */
    for (int k = 0; k < 6; k++) inverse *= 2 - factor * inverse;
    const uint64_t mixed = (((uint64_t)hash << 32) + i) * inverse;
    return mixed ^ mixed >> 32;
}

/* Of the first 40 keys every other one has a hash whose place is five before that of the others, in an index of 512
 * places: both groups then lie among each other. */
static uint64_t key_of(uint32_t hash, int i)
{
    enum { ALIKE = 40 };
    return i < ALIKE ? alike(i % 2 == 0 ? hash - (UINT32_C(5) << 23) : hash, (uint64_t)i) : (uint64_t)i;
}

static void check_alike(uint32_t hash)
{
    enum { N = 40, ALSO = 300 };
    struct cache cache;
    struct diag diag = {0};
    int32_t items[N + ALSO];
    SCOPED(arena) arena = {0};
    const struct policy *lru = policy_find(POLICY_EVICTION, "lru");
    MUST(cache_init(&cache, &(struct cache_options){.evictor = lru, .params = policy_params(lru, NULL, &arena),
                                                    .capacity = N + ALSO, .diag = &diag}) == 0);
    for (int i = 0; i < N + ALSO; i++)
        CHECK_EQ_INT(cache_insert(&cache, key_of(hash, i), &items[i]), 1);
    for (int i = 0; i < N; i += 3) CHECK_EQ_INT(cache_drop(&cache, items[i]), 0);
    for (int i = 0; i < N + ALSO; i++)
        CHECK_EQ_INT(cache_find(&cache, key_of(hash, i)), i < N && i % 3 == 0 ? CACHE_NO_ITEM : items[i]);
    CHECK_EQ_INT(cache_find(&cache, alike(hash, N)), CACHE_NO_ITEM);
    cache_fini(&cache);
}

/* Also where their places are the last ones of the index and the first ones. */
TEST(keys_of_equal_hashes_are_told_apart)
{
    static const uint32_t hashes[] = {UINT32_C(1) << 30, 12345, 0, UINT32_MAX, UINT32_MAX - (UINT32_C(3) << 23)};
    for (size_t i = 0; i < sizeof hashes / sizeof *hashes; i++) check_alike(hashes[i]);
}

/* --- Without memory --- */

/* Runs with the n-th allocation failing. Returns whether it came to that. */
static bool fails_cleanly(const struct policy *policy, const void *params, const struct paging *paging,
                          const int64_t *next_uses, long n)
{
    struct cache_future future = {paging->n, next_uses};
    struct cache cache;
    struct diag diag = {0};
    long blocks = mem_live_blocks();
    mem_fail_after(n);
    int code = cache_init(&cache, &(struct cache_options){.evictor = policy, .params = params, .capacity = 150,
                                                          .future = &future, .diag = &diag});
    for (int i = 0; i < paging->n && code >= 0; i++) {
        int32_t item = cache_find(&cache, paging->pages[i]);
        code = item == CACHE_NO_ITEM ? cache_insert(&cache, paging->pages[i], &item) : cache_hit(&cache, item);
    }
    mem_fail_never();
    cache_fini(&cache);
    CHECK_EQ_INT(mem_live_blocks(), blocks);
    if (code < 0) CHECK_EQ_INT(code, SIM_E_NOMEM);
    CHECK_EQ_INT(diag.n_errors, code < 0);
    return code < 0;
}

TEST(every_policy_survives_without_memory)
{
    static struct paging paging;
    static int64_t next_uses[PAGING_MAX];
    struct policy_table table = policy_registry();
    paging_uniform(&paging, 1, 900, 400);
    paging_next_uses(&paging, next_uses);
    for (size_t i = 0; i < table.n; i++) {
        const struct policy *policy = table.policies[i];
        SCOPED(arena) arena = {0};
        long n = 0;
        if (policy->family != POLICY_EVICTION) continue;
        const void *params = policy_params(policy, NULL, &arena);
        while (fails_cleanly(policy, params, &paging, next_uses, n)) n++;
        CHECK(n >= 8);
    }
}

/* --- Sizes --- */

/* Fifty thousand items, each access a draw of twice as many: a policy that went through its items would not come to an
 * end. */
TEST(large_caches_are_fast)
{
    enum { N = 300000, ROOM = 50000 };
    struct policy_table table = policy_registry();
    for (size_t i = 0; i < table.n; i++) {
        const struct policy *policy = table.policies[i];
        struct cache cache;
        struct diag diag = {0};
        SCOPED(arena) arena = {0};
        if (policy->family != POLICY_EVICTION || policy->oracle != 0) continue;
        struct rng rng = test_rng(1, "large", 0);
        int code = cache_init(&cache, &(struct cache_options){.evictor = policy,
                                                              .params = policy_params(policy, NULL, &arena),
                                                              .capacity = ROOM, .diag = &diag});
        for (int k = 0; k < N && code >= 0; k++) {
            uint64_t key = rng_below(&rng, 2 * ROOM);
            int32_t item = cache_find(&cache, key);
            code = item == CACHE_NO_ITEM ? cache_insert(&cache, key, &item) : cache_hit(&cache, item);
        }
        CHECK(code >= 0);
        CHECK_EQ_INT(cache.view.size, ROOM);
        cache_fini(&cache);
    }
}
