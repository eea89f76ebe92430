/* Periods of interleaved jobs by hand, and laws: never below the busiest resource, never above one after another. */
#include "models/interleaving.h"
#include "tests/support/harness.h"

#include <math.h>

TEST(equal_phases_interleave_without_loss)
{
    const struct interleaving_job jobs[4] = {{{1, 1, 1, 1}}, {{1, 1, 1, 1}}, {{1, 1, 1, 1}}, {{1, 1, 1, 1}}};
    for (int32_t n = 1; n <= 4; n++) CHECK_NEAR(interleaving_period_s(jobs, n, 4), 4, 1e-12);
}

/* Muri's example: what one job uses long the other one uses briefly. */
TEST(complementary_phases)
{
    const struct interleaving_job jobs[2] = {{{2, 1}}, {{1, 2}}};
    CHECK_NEAR(interleaving_period_s(jobs, 2, 2), 3, 1e-12); /* max(2, 2) + max(1, 1) */
    const struct interleaving_job alike[2] = {{{2, 1}}, {{2, 1}}};
    CHECK_NEAR(interleaving_period_s(alike, 2, 2), 4, 1e-12);
    const struct interleaving_job three[2] = {{{3, 1, 1}}, {{1, 3, 1}}};
    CHECK_NEAR(interleaving_period_s(three, 2, 3), 5, 1e-12); /* shift 1: 3 with 3, 1 with 1, 1 with 1 */
}

TEST(periods_are_bounded)
{
    for (uint64_t round = 0; round < 200; round++) {
        struct rng rng = test_rng(1, "interleaving", round);
        const int32_t resources = 2 + (int32_t)rng_below(&rng, 3),
                      n = 1 + (int32_t)rng_below(&rng, (uint64_t)resources);
        struct interleaving_job jobs[4] = {{{0}}};
        double used[4] = {0}, sum = 0, longest = 0, busiest = 0;
        for (int32_t i = 0; i < n; i++) {
            for (int32_t r = 0; r < resources; r++) used[r] += jobs[i].phase_s[r] = rng_uniform(&rng);
            sum += interleaving_alone_s(&jobs[i], resources);
            longest = fmax(longest, interleaving_alone_s(&jobs[i], resources));
        }
        for (int32_t r = 0; r < resources; r++) busiest = fmax(busiest, used[r]);
        const double period_s = interleaving_period_s(jobs, n, resources);
        CHECK(period_s >= longest - 1e-12 && period_s >= busiest - 1e-12);
        CHECK(period_s <= sum + 1e-12);
        if (n == 1) CHECK_NEAR(period_s, sum, 1e-12);
    }
}
