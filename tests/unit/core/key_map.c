/* The map of keys against an array, through growth and removal. */
#include "sim/core/key_map.h"
#include "tests/support/harness.h"

enum { N_KEYS = 300 };

/* Keys that differ in a few bits anywhere. */
static uint64_t key_of(uint64_t i)
{
    return i % 3 == 0 ? i : i % 3 == 1 ? i << 55 : ~i;
}

TEST(agrees_with_an_array)
{
    struct key_map map = {0};
    int64_t values[N_KEYS];
    size_t n = 0;
    struct rng rng = test_rng(5, "keys", 0);
    for (int i = 0; i < N_KEYS; i++) values[i] = -1;
    key_map_remove(&map, 3);
    for (int step = 0; step < 20000; step++) {
        uint64_t i = rng_below(&rng, N_KEYS);
        bool remove = rng_below(&rng, 100) < (step / 2000 % 2 ? 70u : 40u);
        n -= values[i] >= 0;
        values[i] = remove ? -1 : step;
        n += values[i] >= 0;
        if (remove)
            key_map_remove(&map, key_of(i));
        else
            CHECK_EQ_INT(key_map_set(&map, key_of(i), step), 0);
        uint64_t k = rng_below(&rng, N_KEYS);
        CHECK_EQ_INT(key_map_find(&map, key_of(k)), values[k]);
        CHECK_EQ_INT(map.n, n);
    }
    for (uint64_t i = 0; i < N_KEYS; i++) CHECK_EQ_INT(key_map_find(&map, key_of(i)), values[i]);
    key_map_fini(&map);
}

TEST(stays_as_it_was_without_memory)
{
    struct key_map map = {0};
    mem_fail_after(0);
    CHECK_EQ_INT(key_map_set(&map, 1, 1), SIM_E_NOMEM);
    mem_fail_never();
    CHECK_EQ_INT(key_map_find(&map, 1), -1);
    uint64_t n = 0;
    mem_fail_after(1);
    while (key_map_set(&map, n, (int64_t)n) == 0) n++;
    mem_fail_never();
    CHECK(n >= 32);
    for (uint64_t i = 0; i < n; i++) CHECK_EQ_INT(key_map_find(&map, i), i);
    CHECK_EQ_INT(key_map_find(&map, n), -1);
    key_map_fini(&map);
}
