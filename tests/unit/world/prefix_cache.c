/* Prefix chains and the cache below them: who holds what, what is evicted, and what goes wrong. */
#include "policies/declared.h"
#include "policies/registry.h"
#include "sim/world/kv/prefix_cache.h"
#include "tests/support/harness.h"

/* A cache, its chains, and what it has evicted. */
struct bench {
    struct cache cache;
    struct prefix_pool pool;
    struct diag diag;
    uint64_t evicted[64];
    int n_evicted;
};

static int note_evicted(void *context, uint64_t key)
{
    struct bench *bench = context;
    bench->evicted[bench->n_evicted++] = key;
    return 0;
}

static int open_with(struct bench *bench, const struct policy *policy, int64_t capacity)
{
    memset(bench, 0, sizeof *bench);
    diag_init(&bench->diag);
    prefix_pool_init(&bench->pool);
    return cache_init(&bench->cache, &(struct cache_options){.evictor = policy,
                                                             .capacity = capacity,
                                                             .evicted = note_evicted,
                                                             .context = bench,
                                                             .diag = &bench->diag});
}

static void open_lru(struct bench *bench, int64_t capacity)
{
    CHECK_EQ_INT(open_with(bench, &eviction_lru.policy, capacity), 0);
}

static void close_bench(struct bench *bench)
{
    cache_fini(&bench->cache);
    prefix_pool_fini(&bench->pool);
}

#define KEYS(...) (const uint64_t[]){__VA_ARGS__}, (int32_t)(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static struct prefix_chain *admit(struct bench *bench, const uint64_t *keys, int32_t n, int32_t hits)
{
    struct prefix_chain *chain = prefix_chain_make(&bench->pool, keys, n);
    CHECK_EQ_INT(prefix_cache_match(&bench->cache, keys, n), hits);
    CHECK_EQ_INT(prefix_chain_acquire(chain, &bench->cache, n), hits);
    return chain;
}

static void finish(struct prefix_chain *chain)
{
    CHECK_EQ_INT(prefix_chain_release(chain), 0);
    prefix_chain_free(chain);
}

TEST(requests_share_what_they_begin_with)
{
    struct bench bench;
    open_lru(&bench, 8);
    struct prefix_chain *a = admit(&bench, KEYS(1, 2, 3), 0);
    CHECK_EQ_INT(prefix_chain_publish(a, &bench.cache, 2), 2);
    struct prefix_chain *b = admit(&bench, KEYS(1, 2, 4), 2);
    CHECK_EQ_INT(prefix_chain_publish(a, &bench.cache, 3), 1);
    CHECK_EQ_INT(prefix_chain_publish(b, &bench.cache, 3), 1);
    CHECK_EQ_INT(bench.cache.view.size, 4);
    CHECK_EQ_INT(cache_evictable(&bench.cache), 0);
    CHECK_EQ_INT(cache_evict(&bench.cache), 0);
    finish(a);
    CHECK_EQ_INT(cache_evictable(&bench.cache), 1); /* 3: the others are in use by b */
    finish(b);
    CHECK_EQ_INT(cache_evictable(&bench.cache), 4);
    struct prefix_chain *c = admit(&bench, KEYS(1, 9, 2), 1); /* 2 is behind a gap */
    CHECK_EQ_INT(c->n_shared, 1);
    finish(c);
    close_bench(&bench);
}

/* Both compute block 1; the second to publish keeps its own. */
TEST(twins_keep_a_block_of_their_own)
{
    struct bench bench;
    open_lru(&bench, 8);
    struct prefix_chain *a = admit(&bench, KEYS(1, 2), 0), *b = admit(&bench, KEYS(1, 3), 0);
    CHECK_EQ_INT(prefix_chain_publish(a, &bench.cache, 2), 2);
    CHECK_EQ_INT(prefix_chain_publish(b, &bench.cache, 2), 1);
    CHECK_EQ_INT(b->n_shared, 1);
    CHECK_EQ_INT(b->items[0], CACHE_NO_ITEM);
    finish(a);
    CHECK_EQ_INT(cache_evictable(&bench.cache), 2);
    finish(b);
    CHECK_EQ_INT(bench.cache.view.size, 3);
    close_bench(&bench);
}

TEST(the_end_of_a_prefix_goes_first)
{
    struct bench bench;
    open_lru(&bench, 4);
    struct prefix_chain *a = admit(&bench, KEYS(1, 2, 3), 0);
    prefix_chain_publish(a, &bench.cache, 3);
    finish(a);
    struct prefix_chain *b = admit(&bench, KEYS(4, 5), 0);
    CHECK_EQ_INT(prefix_chain_publish(b, &bench.cache, 2), 2);
    CHECK_EQ_INT(bench.n_evicted, 1);
    CHECK_EQ_INT(bench.evicted[0], 3);
    CHECK_EQ_INT(cache_evict(&bench.cache), 1);
    CHECK_EQ_INT(cache_evict(&bench.cache), 1);
    CHECK_EQ_INT(cache_evict(&bench.cache), 0);
    CHECK_EQ_INT(bench.evicted[1], 2);
    CHECK_EQ_INT(bench.evicted[2], 1);
    finish(b);
    close_bench(&bench);
}

/* A request that is preempted finds its own blocks again, but for what was evicted. */
TEST(chains_are_acquired_again)
{
    struct bench bench;
    open_lru(&bench, 8);
    struct prefix_chain *a = admit(&bench, KEYS(1, 2, 3, 4), 0);
    prefix_chain_publish(a, &bench.cache, 3);
    CHECK_EQ_INT(prefix_chain_release(a), 0);
    CHECK_EQ_INT(cache_evict(&bench.cache), 1);
    CHECK_EQ_INT(prefix_chain_acquire(a, &bench.cache, 1), 1); /* no more than the limit */
    CHECK_EQ_INT(prefix_chain_release(a), 0);
    CHECK_EQ_INT(prefix_chain_acquire(a, &bench.cache, 4), 2);
    CHECK_EQ_INT(prefix_chain_publish(a, &bench.cache, 4), 2);
    finish(a);
    close_bench(&bench);
}

TEST(without_room_blocks_stay_the_requests_own)
{
    struct bench bench;
    open_lru(&bench, 2);
    struct prefix_chain *a = admit(&bench, KEYS(1, 2, 3), 0);
    CHECK_EQ_INT(prefix_chain_publish(a, &bench.cache, 3), 2);
    CHECK_EQ_INT(a->n_shared, 2);
    CHECK_EQ_INT(bench.n_evicted, 0);
    finish(a);
    CHECK_EQ_INT(cache_evictable(&bench.cache), 2);
    close_bench(&bench);
}

TEST(only_full_blocks_are_shared)
{
    CHECK_EQ_INT(prefix_blocks_full(1023, 512, 2), 1);
    CHECK_EQ_INT(prefix_blocks_full(1024, 512, 2), 2);
    CHECK_EQ_INT(prefix_blocks_full(1024, 512, 1), 1);
    CHECK_EQ_INT(prefix_blocks_full(1024, 0, 0), 0);
}

TEST(chains_of_all_lengths)
{
    struct prefix_pool pool;
    uint64_t keys[1000];
    for (uint64_t i = 0; i < 1000; i++) keys[i] = i;
    prefix_pool_init(&pool);
    struct prefix_chain *chains[1001];
    for (int32_t n = 0; n <= 1000; n++) {
        chains[n] = prefix_chain_make(&pool, keys, n);
        MUST(chains[n] != NULL);
    }
    for (int32_t n = 0; n <= 1000; n++) {
        CHECK_EQ_INT(chains[n]->n, n);
        CHECK(n == 0 || (chains[n]->keys[n - 1] == (uint64_t)n - 1 && chains[n]->items[n - 1] == CACHE_NO_ITEM));
        prefix_chain_free(chains[n]);
    }
    prefix_chain_free(NULL);
    prefix_pool_fini(&pool);
}

/* --- Evictors that are wrong --- */

static int notify_nothing(void *state, const struct cache_view *view, int32_t item, enum cache_event event)
{
    (void)state, (void)view, (void)item, (void)event;
    return 0;
}

static int32_t victim_zero(void *state, const struct cache_view *view)
{
    (void)state, (void)view;
    return 0;
}

static int32_t victim_none(void *state, const struct cache_view *view)
{
    (void)state, (void)view;
    return CACHE_NO_ITEM;
}

static int32_t victim_beyond(void *state, const struct cache_view *view)
{
    (void)state;
    return (int32_t)view->size;
}

static int32_t victim_asks(void *state, const struct cache_view *view)
{
    (void)state;
    return cache_view_next_use(view, 0) == INT64_MAX && cache_view_future(view) == NULL ? 0 : 1;
}

static int32_t victim_fails(void *state, const struct cache_view *view)
{
    (void)state, (void)view;
    return SIM_E_STALLED;
}

static int notify_fails(void *state, const struct cache_view *view, int32_t item, enum cache_event event)
{
    (void)state, (void)view, (void)item;
    return event == CACHE_FORGET ? SIM_E_USAGE : 0;
}

static struct evictor evictor_with(int (*notify)(void *, const struct cache_view *, int32_t, enum cache_event),
                                   int32_t (*victim)(void *, const struct cache_view *))
{
    return (struct evictor){.policy = {.abi = POLICY_ABI, .size = sizeof(struct evictor), .family = POLICY_EVICTION,
                                       .name = "bent", .summary = "", .source = ""},
                            .notify = notify, .victim = victim};
}

/* The first block is in use, the second is not, and room is needed for a third. */
static void check_fault(struct evictor evictor, const char *text)
{
    struct bench bench;
    CHECK_EQ_INT(open_with(&bench, &evictor.policy, 2), 0);
    struct prefix_chain *a = admit(&bench, KEYS(1), 0);
    CHECK_EQ_INT(prefix_chain_publish(a, &bench.cache, 1), 1);
    int32_t item;
    CHECK_EQ_INT(cache_insert(&bench.cache, 2, &item), 1);
    CHECK_EQ_INT(cache_insert(&bench.cache, 3, &item), SIM_E_POLICY);
    CHECK_EQ_INT(bench.diag.n_errors, 1);
    CHECK_EQ_STR(bench.diag.items[0].text, text);
    prefix_chain_release(a);
    prefix_chain_free(a);
    close_bench(&bench);
}

TEST(faults_of_evictors_are_named)
{
    check_fault(evictor_with(notify_nothing, victim_zero),
                "eviction policy 'bent' names item 0 as the victim, which is in use");
    check_fault(evictor_with(notify_nothing, victim_none),
                "eviction policy 'bent' names item -1 as the victim, which is not cached");
    check_fault(evictor_with(notify_nothing, victim_beyond),
                "eviction policy 'bent' names item 2 as the victim, which is not cached");
    check_fault(evictor_with(notify_nothing, victim_asks),
                "eviction policy 'bent' asked for the future, which it does not declare");
    check_fault(evictor_with(notify_nothing, victim_fails),
                "eviction policy 'bent' failed: victim returned -8 at access 2");
    struct bench bench;
    struct evictor evictor = evictor_with(notify_fails, victim_zero);
    int32_t item;
    CHECK_EQ_INT(open_with(&bench, &evictor.policy, 1), 0);
    CHECK_EQ_INT(cache_insert(&bench.cache, 2, &item), 1);
    CHECK_EQ_INT(cache_drop(&bench.cache, item), SIM_E_POLICY);
    CHECK_EQ_STR(bench.diag.items[0].text, "eviction policy 'bent' failed: notify returned -2 at access 0");
    close_bench(&bench);
}

/* Chains lie side by side in a pool: a search, and what is forgotten before the next one, change no other chain. */
TEST(searches_change_no_other_chain)
{
    enum { CHAINS = 8 };
    for (int32_t n = 1; n <= 16; n++) {
        struct bench bench;
        uint64_t keys[16];
        struct prefix_chain *chains[CHAINS];
        open_lru(&bench, 64);
        for (int32_t i = 0; i < n; i++) keys[i] = (uint64_t)i + 1;
        struct prefix_chain *first = admit(&bench, keys, n, 0);
        CHECK_EQ_INT(prefix_chain_publish(first, &bench.cache, n), n);
        for (int i = 0; i < CHAINS; i++) chains[i] = prefix_chain_make(&bench.pool, keys, n);
        for (int i = 0; i < CHAINS; i++) {
            CHECK_EQ_INT(prefix_chain_match(chains[i], &bench.cache, n), n);
            CHECK_EQ_INT(prefix_chain_match(chains[i], &bench.cache, n - 1), n - 1);
            for (int j = 0; j < CHAINS; j++) {
                CHECK(chains[j]->pool == &bench.pool);
                CHECK_EQ_INT(chains[j]->n, n);
                CHECK(memcmp(chains[j]->keys, keys, (size_t)n * sizeof *keys) == 0);
            }
        }
        for (int i = 0; i < CHAINS; i++) prefix_chain_free(chains[i]);
        finish(first);
        close_bench(&bench);
    }
}

TEST(the_future_must_be_known)
{
    struct bench bench;
    struct evictor evictor = evictor_with(notify_nothing, victim_zero);
    evictor.policy.oracle = ORACLE_FUTURE;
    CHECK_EQ_INT(open_with(&bench, &evictor.policy, 2), SIM_E_CONFIG);
    CHECK_EQ_STR(bench.diag.items[0].text, "eviction policy 'bent' asks for the accesses that are still to come");
    close_bench(&bench);
    evictor.policy.abi++;
    CHECK_EQ_INT(open_with(&bench, &evictor.policy, 2), SIM_E_CONFIG);
    close_bench(&bench);
    evictor.policy.oracle = 0;
    CHECK_EQ_INT(open_with(&bench, &evictor.policy, 2), SIM_E_POLICY);
    close_bench(&bench);
}
