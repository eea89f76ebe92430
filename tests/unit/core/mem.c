#include "tests/support/harness.h"

TEST(records_of_lines_begin_at_a_line)
{
    struct pool pool;
    pool_init_lines(&pool, CACHE_LINE_BYTES + 1);
    for (int i = 0; i < 1000; i++) {
        void *record = pool_take(&pool);
        CHECK_EQ_INT((uintptr_t)record % CACHE_LINE_BYTES, 0);
        memset(record, 1, CACHE_LINE_BYTES + 1);
    }
    pool_fini(&pool);
    CHECK_EQ_INT(pool.n_live, 0);
}

TEST(pool_reuses_records)
{
    struct pool pool;
    pool_init(&pool, 40);
    void *a = pool_take(&pool), *b = pool_take(&pool);
    CHECK(a != b);
    CHECK_EQ_INT((uintptr_t)a % 16, 0);
    CHECK_EQ_INT(pool.n_live, 2);
    pool_give(&pool, a);
    CHECK(pool_take(&pool) == a);
    for (int i = 0; i < 100000; i++) memset(pool_take(&pool), 1, 40);
    CHECK_EQ_INT(pool.n_live, 100002);
    pool_fini(&pool);
    CHECK_EQ_INT(pool.n_live, 0);
}

TEST(arena_blocks_are_zeroed_and_apart)
{
    SCOPED(arena) arena = {0};
    char *blocks[100];
    for (int i = 0; i < 100; i++) {
        blocks[i] = arena_alloc(&arena, (size_t)(i * 37 + 1));
        MUST(blocks[i] != NULL);
        for (int k = 0; k <= i * 37; k++) CHECK(blocks[i][k] == 0);
        memset(blocks[i], i + 1, (size_t)(i * 37 + 1));
    }
    for (int i = 0; i < 100; i++) CHECK(blocks[i][i * 37] == i + 1);
    CHECK_EQ_STR(arena_printf(&arena, "%s-%d", "gpu", 7), "gpu-7");
    CHECK_EQ_STR(arena_strdup(&arena, "h100"), "h100");
}

TEST(injected_faults_come_back_as_null)
{
    SCOPED(arena) arena = {0};
    struct pool pool;
    pool_init(&pool, 64);
    mem_fail_after(1);
    CHECK(arena_alloc(&arena, 100000) != NULL);
    CHECK(arena_alloc(&arena, 100000) == NULL);
    CHECK(pool_take(&pool) == NULL);
    CHECK(mem_strdup("x") == NULL);
    mem_fail_never();
    CHECK(pool_take(&pool) != NULL);
    pool_fini(&pool);
}

#ifdef __SANITIZE_ADDRESS__
int __asan_address_is_poisoned(const volatile void *address); /* from the sanitizer's interface */

TEST(a_record_given_back_is_read_no_more)
{
    struct pool pool;
    pool_init(&pool, 40);
    char *record = pool_take(&pool), *next = pool_take(&pool);
    MUST(record != NULL && next != NULL);
    pool_give(&pool, record);
    for (int i = 0; i < 40; i++) CHECK(__asan_address_is_poisoned(record + i) && !__asan_address_is_poisoned(next + i));
    CHECK(pool_take(&pool) == record);
    for (int i = 0; i < 40; i++) CHECK(!__asan_address_is_poisoned(record + i));
    pool_fini(&pool);
}
#endif
