/* The replicas that a router asks: all, or a few drawn at random. */
#include "policies/routing/least.h"
#include "tests/support/harness.h"

TEST(all_are_asked_without_a_draw)
{
    struct rng rng = test_rng(1, "choices", 0), untouched = rng;
    const struct fleet_view view = {.n_replicas = 5, .random = &rng};
    for (int64_t most = 0; most < 9; most = most == 0 ? 5 : most + 1) {
        struct choices choices;
        choices_draw(&choices, &view, most);
        CHECK_EQ_INT(choices.n, 5);
        for (int32_t k = 0; k < choices.n; k++) CHECK_EQ_INT(choices_at(&choices, k), k);
    }
    CHECK_EQ_INT(rng_u32(&rng), rng_u32(&untouched));
}

/* Three of five: each of the ten sets has one tenth of the chances, and its numbers ascend. */
TEST(each_set_has_equal_chances)
{
    enum { N = 20000 };
    struct rng rng = test_rng(2, "choices", 0);
    const struct fleet_view view = {.n_replicas = 5, .random = &rng};
    int counts[32] = {0};
    for (int n = 0; n < N; n++) {
        struct choices choices;
        int set = 0;
        choices_draw(&choices, &view, 3);
        if (!CHECK_EQ_INT(choices.n, 3)) return;
        for (int32_t k = 0; k < 3; k++) {
            set |= 1 << choices_at(&choices, k);
            if (k > 0 && !CHECK(choices_at(&choices, k) > choices_at(&choices, k - 1))) return;
        }
        counts[set]++;
    }
    double chi2 = 0;
    int sets = 0;
    for (int set = 0; set < 32; set++) {
        if (__builtin_popcount((unsigned)set) != 3) continue;
        chi2 += pow(counts[set] - N / 10.0, 2) / (N / 10.0);
        sets++;
    }
    CHECK_EQ_INT(sets, 10);
    CHECK(chi2 < 27.9); /* 9 degrees of freedom, 99.9 % */
}

/* As many as may be asked, of many more. */
TEST(the_most_choices_fit)
{
    struct rng rng = test_rng(3, "choices", 0);
    const struct fleet_view view = {.n_replicas = MOST_CHOICES + 1, .random = &rng};
    struct choices choices;
    for (int n = 0; n < 100; n++) {
        choices_draw(&choices, &view, MOST_CHOICES);
        CHECK_EQ_INT(choices.n, MOST_CHOICES);
        for (int32_t k = 1; k < choices.n; k++) CHECK(choices.drawn[k] > choices.drawn[k - 1]);
        CHECK(choices.drawn[MOST_CHOICES - 1] <= MOST_CHOICES);
    }
}
