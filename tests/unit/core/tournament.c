/* The tournament and the counts against passes over all values, and the log of changes. */
#include "sim/core/change_log.h"
#include "sim/core/count_tree.h"
#include "sim/core/tournament.h"
#include "sim/core/rng.h"
#include "tests/support/harness.h"

static int32_t first_by_pass(const double *values, int32_t n)
{
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++)
        if (values[i] > values[best]) best = i;
    return best;
}

/* Few different values, so that there are ties. */
TEST(the_first_is_that_of_a_pass)
{
    struct rng rng;
    rng_init(&rng, 1, 0, "tournament", 0);
    for (int32_t n = 1; n <= 70; n++) {
        struct tournament tournament;
        double values[70] = {0};
        MUST(tournament_init(&tournament, n) == 0);
        CHECK_EQ_INT(tournament_first(&tournament), 0);
        for (int i = 0; i < 300; i++) {
            const int32_t index = (int32_t)rng_below(&rng, (uint64_t)n);
            values[index] = (double)rng_below(&rng, 5) - 2;
            tournament_set(&tournament, index, values[index]);
            CHECK_EQ_INT(tournament_first(&tournament), first_by_pass(values, n));
        }
        tournament_fini(&tournament);
    }
}

TEST(the_log_has_at_least_as_many_changes_as_things)
{
    for (int32_t n = 1; n <= 9; n++) {
        struct change_log log;
        MUST(change_log_init(&log, n) == 0);
        for (int32_t i = 0; i < 50; i++) {
            change_log_add(&log, i % n);
            const uint64_t from = log.n < (uint64_t)n ? 0 : log.n - (uint64_t)n;
            CHECK(change_log_reaches(&log, log.n) && change_log_reaches(&log, from));
            CHECK_EQ_INT(change_log_get(&log, from), (int32_t)from % n);
            CHECK_EQ_INT(change_log_get(&log, log.n - 1), i % n);
            if (log.n > log.capacity) CHECK(!change_log_reaches(&log, log.n - log.capacity - 1));
        }
        change_log_fini(&log);
    }
}

TEST(the_kth_that_counts_is_that_of_a_pass)
{
    struct rng rng;
    rng_init(&rng, 1, 0, "counts", 0);
    for (int32_t n = 1; n <= 70; n++) {
        struct count_tree tree;
        MUST(count_tree_init(&tree, n) == 0);
        for (int i = 0; i < 100; i++) {
            int32_t k = 0;
            count_tree_set(&tree, (int32_t)rng_below(&rng, (uint64_t)n), rng_below(&rng, 2) == 0);
            for (int32_t index = 0; index < n; index++)
                if (tree.counts[index]) CHECK_EQ_INT(count_tree_find(&tree, k++), index);
            CHECK_EQ_INT(tree.n_counted, k);
        }
        count_tree_fini(&tree);
    }
}
