/* The index of a plan's blocks against a list that is searched from its beginning. */
#include "sim/core/rng.h"
#include "sim/world/replica/planned_blocks.h"
#include "tests/support/harness.h"

enum { KEYS = 400, PLANS = 60 };

/* Keys come again, within a plan and in later ones; plans grow and shrink. */
TEST(the_first_prefill_that_names_a_key_is_found)
{
    struct planned_blocks blocks = {0};
    struct rng rng;
    rng_init(&rng, 1, 0, "plans", 0);
    for (int plan = 0; plan < PLANS; plan++) {
        int32_t first[KEYS];
        for (int key = 0; key < KEYS; key++) first[key] = -1;
        const int n = (int)(rng_uniform(&rng) * rng_uniform(&rng) * KEYS);
        for (blocks.n_prefills = 0; blocks.n_prefills < n; blocks.n_prefills++) {
            const int key = (int)(rng_uniform(&rng) * KEYS);
            if (first[key] < 0) first[key] = blocks.n_prefills;
            CHECK_EQ_INT(planned_blocks_add(&blocks, (uint64_t)key << 40), 0);
        }
        int n_wrong = 0;
        for (int key = 0; key < KEYS; key++) n_wrong += planned_blocks_find(&blocks, (uint64_t)key << 40) != first[key];
        CHECK_EQ_INT(n_wrong, 0);
        planned_blocks_empty(&blocks);
        for (int key = 0; key < KEYS; key++) n_wrong += planned_blocks_find(&blocks, (uint64_t)key << 40) != -1;
        CHECK_EQ_INT(n_wrong, 0);
    }
    planned_blocks_fini(&blocks);
}

/* Its memory follows the largest plan, not their number. */
TEST(plans_of_one_size_take_no_more_memory)
{
    struct planned_blocks blocks = {0};
    size_t n_places = 0;
    for (int plan = 0; plan < PLANS; plan++) {
        for (uint64_t key = 0; key < KEYS; key++)
            CHECK_EQ_INT(planned_blocks_add(&blocks, key + KEYS * (uint64_t)plan), 0);
        CHECK(blocks.n_places <= 4 * KEYS && (plan == 0 || blocks.n_places == n_places));
        n_places = blocks.n_places;
        planned_blocks_empty(&blocks);
    }
    planned_blocks_fini(&blocks);
}
