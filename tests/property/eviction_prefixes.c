/* Prefix caches against exhaustive search and against lists that are gone through from end to end: where Belady's
 * policy is optimal and where it is not, and what LRU finds. */
#include "policies/registry.h"
#include "sim/study/cache_stat.h"
#include "tests/support/eviction_fixture.h"
#include "tests/support/harness.h"
#include "tests/support/policy_params.h"

enum { MAX_BLOCKS = 7, MAX_REQUESTS = 400, MAX_LENGTH = 12 };

/* Requests as rows of block numbers. */
struct prompts {
    int n;
    int lengths[MAX_REQUESTS];
    uint64_t blocks[MAX_REQUESTS][MAX_LENGTH];
};

static void make_log(const struct prompts *prompts, struct block_log *log, struct cache_future *future)
{
    *log = (struct block_log){0};
    for (int i = 0; i < prompts->n; i++) CHECK_EQ_INT(block_log_add(log, prompts->blocks[i], prompts->lengths[i]), 0);
    CHECK_EQ_INT(block_log_future(log, future), 0);
}

static struct cache_stat run(const struct prompts *prompts, const char *name, int64_t capacity)
{
    const struct policy *policy = policy_find(POLICY_EVICTION, name);
    struct block_log log;
    struct cache_future future;
    struct cache_stat stat;
    SCOPED(arena) arena = {0};
    struct diag diag = {0};
    make_log(prompts, &log, &future);
    struct cache_stat_setting setting = {
        .evictor = policy, .params = policy_params(policy, NULL, &arena), .capacity_blocks = capacity, .seed = 1};
    CHECK_EQ_INT(cache_stat_run(&log, &future, &setting, &stat, &diag), 0);
    block_log_fini(&log);
    return stat;
}

/* --- Exhaustive search --- */

/* The most hits, with each set of cached blocks that can be there. */
struct search {
    int capacity;
    bool prefixes; /* whether hits count along unbroken prefixes only */
    int best[1 << MAX_BLOCKS]; /* -1: such a set cannot be */
};

static int size_of(unsigned set)
{
    return __builtin_popcount(set);
}

static void keep_better(int *best, int hits)
{
    if (*best < hits) *best = hits;
}

/* One access: the block is there, has room, or takes the place of any other. */
static void search_access(struct search *search, unsigned block)
{
    int after[1 << MAX_BLOCKS];
    for (unsigned set = 0; set < 1u << MAX_BLOCKS; set++) after[set] = -1;
    for (unsigned set = 0; set < 1u << MAX_BLOCKS; set++) {
        if (search->best[set] < 0) continue;
        unsigned with = set | 1u << block;
        if (size_of(with) <= search->capacity) keep_better(&after[with], search->best[set]);
        for (unsigned victim = 0; victim < MAX_BLOCKS && size_of(with) > search->capacity; victim++)
            if (victim != block && (set & 1u << victim)) keep_better(&after[with & ~(1u << victim)], search->best[set]);
    }
    memcpy(search->best, after, sizeof after);
}

static void count_prefix(struct search *search, const uint64_t *blocks, int n)
{
    for (unsigned set = 0; set < 1u << MAX_BLOCKS; set++) {
        int hits = 0;
        while (hits < n && (set & 1u << blocks[hits])) hits++;
        if (search->best[set] >= 0) search->best[set] += hits;
    }
}

static int search_best(const struct prompts *prompts, int capacity, bool prefixes)
{
    struct search search = {.capacity = capacity, .prefixes = prefixes};
    int best = 0;
    for (unsigned set = 1; set < 1u << MAX_BLOCKS; set++) search.best[set] = -1;
    for (int i = 0; i < prompts->n; i++) {
        if (prefixes) count_prefix(&search, prompts->blocks[i], prompts->lengths[i]);
        for (int k = 0; k < prompts->lengths[i]; k++) {
            if (!prefixes) count_prefix(&search, &prompts->blocks[i][k], 1);
            search_access(&search, (unsigned)prompts->blocks[i][k]);
        }
    }
    for (unsigned set = 0; set < 1u << MAX_BLOCKS; set++) keep_better(&best, search.best[set]);
    return best;
}

/* --- Prompts --- */

/* Any blocks in any order: no key stands for what goes before it. */
static void unchained(struct prompts *prompts, uint64_t seed, int n)
{
    struct rng rng = test_rng(seed, "unchained", 0);
    prompts->n = n;
    for (int i = 0; i < n; i++) {
        uint64_t at = rng_below(&rng, MAX_BLOCKS), step = 1 + rng_below(&rng, MAX_BLOCKS - 1);
        prompts->lengths[i] = 1 + (int)rng_below(&rng, 3);
        for (int k = 0; k < prompts->lengths[i]; k++) prompts->blocks[i][k] = (at + (uint64_t)k * step) % MAX_BLOCKS;
    }
}

/* Ways down a tree whose nodes are numbered like a heap's, from 0: each block is always behind the same one. */
static void chained(struct prompts *prompts, uint64_t seed, int n, int max_length, uint64_t ways)
{
    struct rng rng = test_rng(seed, "chained", 0);
    prompts->n = n;
    for (int i = 0; i < n; i++) {
        uint64_t node = 0;
        prompts->lengths[i] = 1 + (int)rng_below(&rng, (uint64_t)max_length);
        for (int k = 0; k < prompts->lengths[i]; k++) {
            prompts->blocks[i][k] = node;
            node = ways * node + 1 + rng_below(&rng, ways);
        }
    }
}

/* --- Belady --- */

TEST(belady_is_optimal_in_paging)
{
    static struct prompts prompts;
    for (uint64_t seed = 0; seed < 60; seed++) {
        int capacity = 1 + (int)(seed % 5);
        unchained(&prompts, seed, 12);
        CHECK_EQ_INT(run(&prompts, "belady", capacity).blocks_found, search_best(&prompts, capacity, false));
    }
}

/* Hits along unbroken prefixes are fewer than the blocks that Belady's policy finds, whoever's they are. Its own are
 * not always the most: what is asked for last must be inserted, so that its parent may have to go, and the block lies
 * behind a gap when both are asked for again. */
static void compare_prefixes(const struct prompts *prompts, int capacity, int *n_worse)
{
    struct cache_stat stat = run(prompts, "belady", capacity);
    int best = search_best(prompts, capacity, true);
    CHECK(stat.block_hits <= best);
    CHECK(best <= stat.blocks_found);
    *n_worse += stat.block_hits < best;
}

TEST(belady_bounds_prefix_hits_but_need_not_reach_them)
{
    static struct prompts prompts;
    int n_chained = 0, n_unchained = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        int capacity = 1 + (int)(seed % 5);
        chained(&prompts, seed, 20, 3, 2); /* seven nodes */
        compare_prefixes(&prompts, capacity, &n_chained);
        unchained(&prompts, seed, 12);
        compare_prefixes(&prompts, capacity, &n_unchained);
    }
    CHECK(n_chained > 0 && n_chained < n_unchained && n_unchained < 60);
}

/* Room for two; "0 1 3" leaves 3 without its parent 1, or without 0. */
TEST(the_last_block_may_cost_its_parent)
{
    static struct prompts prompts = {.n = 4, .lengths = {3, 3, 3, 3}, .blocks = {{0, 1, 3}, {0, 1, 3}, {0, 1, 3}, {0, 1, 3}}};
    struct cache_stat stat = run(&prompts, "belady", 2);
    CHECK_EQ_INT(stat.blocks_found, search_best(&prompts, 2, false));
    CHECK(stat.block_hits < search_best(&prompts, 2, true));
}

/* --- LRU --- */

/* Blocks in the order of their last use, the longest ago first. */
static struct cache_stat naive_lru(const struct prompts *prompts, int capacity)
{
    static uint64_t order[MAX_REQUESTS * MAX_LENGTH];
    struct cache_stat stat = {0};
    int n = 0;
    for (int i = 0; i < prompts->n; i++) {
        bool unbroken = true;
        for (int k = 0; k < prompts->lengths[i]; k++) {
            uint64_t block = prompts->blocks[i][k];
            int at = 0;
            while (at < n && order[at] != block) at++;
            unbroken = unbroken && at < n;
            stat.blocks++;
            stat.blocks_found += at < n;
            stat.block_hits += unbroken;
            bool evicts = at == n && n == capacity;
            stat.evictions += evicts;
            if (evicts) at = 0;
            if (at < n) memmove(&order[at], &order[at + 1], (size_t)(n-- - at - 1) * sizeof *order);
            order[n++] = block;
        }
    }
    return stat;
}

TEST(lru_agrees_with_a_list)
{
    static struct prompts prompts;
    for (uint64_t seed = 0; seed < 20; seed++) {
        int capacity = 1 + (int)(seed * 13 % 97);
        if (seed % 2 == 0)
            chained(&prompts, seed, MAX_REQUESTS, MAX_LENGTH, 3);
        else
            unchained(&prompts, seed, MAX_REQUESTS);
        struct cache_stat stat = run(&prompts, "lru", capacity), naive = naive_lru(&prompts, capacity);
        CHECK(memcmp(&stat, &naive, sizeof stat) == 0);
        if (seed % 2 == 0 && capacity >= MAX_LENGTH) CHECK_EQ_INT(stat.block_hits, stat.blocks_found);
    }
}

/* --- All --- */

TEST(chained_prefixes_are_bounded_by_belady)
{
    static struct prompts prompts;
    struct policy_table table = policy_registry();
    for (uint64_t seed = 0; seed < 8; seed++) {
        int64_t capacity = 5 + (int64_t)(seed * 29 % 200);
        chained(&prompts, seed, MAX_REQUESTS, MAX_LENGTH, 3);
        struct cache_stat best = run(&prompts, "belady", capacity);
        for (size_t i = 0; i < table.n; i++) {
            if (table.policies[i]->family != POLICY_EVICTION) continue;
            struct cache_stat stat = run(&prompts, table.policies[i]->name, capacity);
            CHECK(stat.blocks_found <= best.blocks_found);
            CHECK(stat.block_hits <= stat.blocks_found);
            int64_t cached = stat.blocks - stat.blocks_found - stat.evictions;
            CHECK(cached <= capacity && (stat.evictions == 0 || cached == capacity));
        }
    }
}
