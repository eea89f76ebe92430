/* Kubernetes' rule for replicas, on the examples of its documentation ("Horizontal Pod Autoscaling", algorithm
 * details). */
#include "policies/autoscaling/hpa.h"
#include "tests/support/harness.h"

static const struct hpa_params defaults = {.tolerance = 0.1, .down_window_ns = 300 * SIM_NS_PER_S};

/* "if the current metric value is 200m, and the desired value is 100m, the number of replicas will be doubled ... if
 * 50m, halved"; "skips any scaling action if the ratio is sufficiently close to 1.0 (within a tolerance, by default
 * 0.1)". */
TEST(the_documentation_says)
{
    const struct hpa hpa = {.params = defaults};
    CHECK_EQ_INT(hpa_wanted(&hpa, 3, 200.0 / 100.0), 6);
    CHECK_EQ_INT(hpa_wanted(&hpa, 4, 50.0 / 100.0), 2);
    CHECK_EQ_INT(hpa_wanted(&hpa, 3, 0.5), 2); /* 1.5, upwards */
    CHECK_EQ_INT(hpa_wanted(&hpa, 10, 1.099), 10);
    CHECK_EQ_INT(hpa_wanted(&hpa, 10, 0.901), 10);
    CHECK_EQ_INT(hpa_wanted(&hpa, 10, 1.11), 12);
    CHECK_EQ_INT(hpa_wanted(&hpa, 10, 0.89), 9);
    CHECK_EQ_INT(hpa_wanted(&hpa, 10, 0.0), 0);
}

/* A ratio of exactly 1 plus or minus the tolerance changes nothing (Tolerances.isWithin of Kubernetes 1.33). In
 * floating point 1.1 - 1 exceeds 0.1. */
TEST(exactly_the_tolerance_changes_nothing)
{
    const struct hpa hpa = {.params = defaults};
    CHECK_EQ_INT(hpa_wanted(&hpa, 10, 1.1), 10);
    CHECK_EQ_INT(hpa_wanted(&hpa, 10, 110.0 / 100), 10);
    CHECK_EQ_INT(hpa_wanted(&hpa, 20, 0.9), 20);
    CHECK_EQ_INT(hpa_wanted(&hpa, 20, nextafter(1.1, 2)), 23);
    CHECK_EQ_INT(hpa_wanted(&hpa, 20, nextafter(0.9, 0)), 18);
}

static int64_t planned(struct hpa *hpa, double now_s, int64_t have, int64_t wanted)
{
    const struct autoscaling_view view = {.now_ns = sim_ns_from_s(now_s)};
    struct autoscaling_plan plan = {.replicas = have};
    CHECK_EQ_INT(hpa_plan(hpa, &view, wanted, &plan), 0);
    return plan.replicas;
}

/* More at once; fewer only when fewer have been wanted for five minutes, and then the most of these. */
TEST(a_lull_ends_nothing)
{
    struct hpa hpa = {.params = defaults};
    CHECK_EQ_INT(planned(&hpa, 0, 2, 6), 6);
    CHECK_EQ_INT(planned(&hpa, 60, 6, 1), 6);
    CHECK_EQ_INT(planned(&hpa, 120, 6, 4), 6);
    CHECK_EQ_INT(planned(&hpa, 299, 6, 2), 6);
    CHECK_EQ_INT(planned(&hpa, 300, 6, 2), 4);
    CHECK_EQ_INT(planned(&hpa, 430, 4, 3), 3);
    CHECK_EQ_INT(planned(&hpa, 431, 3, 9), 9);
    hpa_fini(&hpa);
}

/* What there is at the start has been wanted, too. */
TEST(nothing_ends_in_the_first_window)
{
    struct hpa hpa = {.params = defaults};
    CHECK_EQ_INT(planned(&hpa, 0, 4, 0), 4);
    CHECK_EQ_INT(planned(&hpa, 299, 4, 0), 4);
    CHECK_EQ_INT(planned(&hpa, 300, 4, 0), 0);
    hpa_fini(&hpa);
}

TEST(a_burst_starts_nothing_where_it_must_last)
{
    struct hpa hpa = {.params = {.up_window_ns = 60 * SIM_NS_PER_S}};
    CHECK_EQ_INT(planned(&hpa, 0, 2, 2), 2);
    CHECK_EQ_INT(planned(&hpa, 30, 2, 8), 2);
    CHECK_EQ_INT(planned(&hpa, 59, 2, 5), 2);
    CHECK_EQ_INT(planned(&hpa, 60, 2, 6), 5);
    CHECK_EQ_INT(planned(&hpa, 70, 5, 1), 1); /* fewer at once: its window is 0 */
    hpa_fini(&hpa);
}

/* A ratio at the very end of the tolerance is within it. A quarter has no rounding. */
TEST(the_tolerance_includes_its_ends)
{
    const struct hpa hpa = {.params = {.tolerance = 0.25}};
    CHECK_EQ_INT(hpa_wanted(&hpa, 100, 1.25), 100);
    CHECK_EQ_INT(hpa_wanted(&hpa, 100, 0.75), 100);
    CHECK_EQ_INT(hpa_wanted(&hpa, 100, nextafter(1.25, 2)), 126);
    CHECK_EQ_INT(hpa_wanted(&hpa, 100, nextafter(0.75, 0)), 75);
}

/* A wish is as old as its window when it no longer counts, and then its memory is given back. Of falling wishes each is
 * the largest of those after it. */
TEST(only_wishes_of_the_windows_are_kept)
{
    struct hpa hpa = {.params = {.up_window_ns = 20 * SIM_NS_PER_S, .down_window_ns = 10 * SIM_NS_PER_S}};
    for (int s = 0; s < 1000; s++) planned(&hpa, s, 2, 2000 - s);
    CHECK_EQ_INT(hpa.most.n - hpa.most.first, 10);
    CHECK_EQ_INT(hpa.least.n - hpa.least.first, 1);
    CHECK(hpa.most.n <= 20 && hpa.least.n <= 2);
    hpa_fini(&hpa);
}

/* Up to the smallest and down to the largest of all wishes within the windows, the present number at the start among
 * them. */
TEST(windows_are_searched_for_their_extremes)
{
    enum { STEPS = 400, UP_S = 7, DOWN_S = 13 };
    struct rng rng = test_rng(1, "hpa", 0);
    struct hpa hpa = {.params = {.up_window_ns = UP_S * SIM_NS_PER_S, .down_window_ns = DOWN_S * SIM_NS_PER_S}};
    int64_t at_s[STEPS + 1] = {0}, wishes[STEPS + 1] = {5}, replicas = 5;
    for (int n = 1; n <= STEPS; n++) {
        at_s[n] = n == 1 ? 0 : at_s[n - 1] + (int64_t)(4 * rng_uniform(&rng));
        wishes[n] = (int64_t)(9 * rng_uniform(&rng));
        int64_t up = wishes[n], down = wishes[n];
        for (int i = 0; i <= n; i++) {
            if (at_s[i] > at_s[n] - UP_S && wishes[i] < up) up = wishes[i];
            if (at_s[i] > at_s[n] - DOWN_S && wishes[i] > down) down = wishes[i];
        }
        const int64_t wanted = replicas < up ? up : replicas > down ? down : replicas;
        replicas = planned(&hpa, (int)at_s[n], replicas, wishes[n]);
        if (!CHECK_EQ_INT(replicas, wanted)) break;
    }
    hpa_fini(&hpa);
}
