/* Prefix caches on Mooncake's published conversation trace (FAST 2025): hits of an exact LRU cache, as counted by a
 * program that shares nothing with this one, and the order of the policies. */
#include "policies/registry.h"
#include "sim/study/cache_stat.h"
#include "tests/support/eviction_fixture.h"
#include "tests/support/harness.h"
#include "tests/support/policy_params.h"
#include "tests/support/trace_source.h"

enum { N_CAPACITIES = 6, N_BLOCKS = 288500 };

static const int64_t capacities[N_CAPACITIES] = {1000, 3000, 10000, 30000, 100000, INT64_MAX};

/* The blocks of the trace and their future; false where it is absent. */
static bool read_log(struct block_log *log, struct cache_future *future)
{
    const char *path = test_shared("request_traces/mooncake_fast25_conversation.jsonl");
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    *log = (struct block_log){0};
    if (path == NULL) return false;
    if (trace_source_requests(&trace, 1, "{'format': 'mooncake', 'path': '%s'}", path) != 0) return CHECK(false);
    int code;
    while ((code = trace.requests->next(trace.requests, &record, NULL)) == 1)
        CHECK_EQ_INT(block_log_add(log, record.prefix_blocks, record.n_prefix_blocks), 0);
    CHECK_EQ_INT(code, 0);
    CHECK_EQ_INT(log->n_blocks, N_BLOCKS);
    CHECK_EQ_INT(block_log_future(log, future), 0);
    return true;
}

static struct cache_stat run_with(const struct block_log *log, const struct cache_future *future, const char *name,
                                  const char *params, int64_t capacity)
{
    const struct policy *policy = policy_find(POLICY_EVICTION, name);
    struct cache_stat stat = {0};
    SCOPED(arena) arena = {0};
    struct diag diag = {0};
    if (CHECK(policy != NULL))
        CHECK_EQ_INT(cache_stat_run(log, future,
                                    &(struct cache_stat_setting){.evictor = policy,
                                                                 .params = policy_params(policy, params, &arena),
                                                                 .capacity_blocks = capacity,
                                                                 .seed = 1},
                                    &stat, &diag),
                     0);
    return stat;
}

static struct cache_stat run(const struct block_log *log, const struct cache_future *future, const char *name,
                             int64_t capacity)
{
    return run_with(log, future, name, NULL, capacity);
}

TEST(lru_hits_are_exact)
{
    static const int64_t hits[N_CAPACITIES] = {12831, 18761, 60921, 93967, 104924, 105710};
    struct block_log log;
    struct cache_future future;
    if (!read_log(&log, &future)) return;
    for (int i = 0; i < N_CAPACITIES; i++) {
        struct cache_stat stat = run(&log, NULL, "lru", capacities[i]);
        CHECK_EQ_INT(stat.blocks, N_BLOCKS);
        CHECK_EQ_INT(stat.block_hits, hits[i]);
        CHECK_EQ_INT(stat.blocks_found, hits[i]); /* LRU never keeps a block whose beginning is gone */
    }
    block_log_fini(&log);
}

/* Nobody finds more blocks than Belady's policy, along prefixes or not. That all of what it finds here lies along
 * unbroken prefixes is a property of this trace: a block's parent is asked for right before it, and so again no
 * later. */
TEST_OPTIMISED(belady_bounds_every_policy)
{
    struct block_log log;
    struct cache_future future;
    struct policy_table table = policy_registry();
    if (!read_log(&log, &future)) return;
    for (int c = 0; c < N_CAPACITIES; c += 2) {
        struct cache_stat best = run(&log, &future, "belady", capacities[c]);
        CHECK_EQ_INT(best.block_hits, best.blocks_found);
        for (size_t i = 0; i < table.n; i++) {
            if (table.policies[i]->family != POLICY_EVICTION) continue;
            struct cache_stat stat = run(&log, &future, table.policies[i]->name, capacities[c]);
            if (!CHECK(stat.blocks_found <= best.blocks_found)) CHECK_EQ_STR(table.policies[i]->name, "belady's bound");
            CHECK(stat.block_hits <= stat.blocks_found);
            CHECK(stat.evictions + capacities[c] >= N_BLOCKS - stat.blocks_found);
        }
    }
    block_log_fini(&log);
}

/* Rows of the table in policies/eviction/README.md, in tenths of a percent of all blocks. */
TEST(advice_is_as_published)
{
    static const struct {
        const char *policy, *params;
        int found, hits;
    } rows[] = {{"discard-bit", "{\"error\": 0.01}", 363, 301},
                {"discard-bit", "{\"error\": 0.1}", 316, 129},
                {"discard-bit", "{\"error\": 0.1, \"algorithm\": \"flush\"}", 297, 162},
                {"phase-bit", "{\"error\": 0.01}", 249, 233},
                {"phase-bit", "{\"error\": 0.1}", 240, 181}};
    struct block_log log;
    struct cache_future future;
    if (!read_log(&log, &future)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cache_stat stat = run_with(&log, &future, rows[i].policy, rows[i].params, 10000);
        CHECK_NEAR(1e3 * (double)stat.blocks_found / N_BLOCKS, rows[i].found, 0.5);
        CHECK_NEAR(1e3 * (double)stat.block_hits / N_BLOCKS, rows[i].hits, 0.5);
    }
    block_log_fini(&log);
}
