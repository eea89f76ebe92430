/* Arrivals over the span of a trace, in bins that widen. */
#include "tests/support/harness.h"
#include "traces/arrivals.h"

static void add_even(struct arrivals *arrivals, double from_s, double to_s, int n)
{
    for (int i = 0; i < n; i++) arrivals_add(arrivals, sim_ns_from_s(from_s + (to_s - from_s) * i / n));
}

/* Whatever the span, no arrival is lost, the bins reach to the last one, and at least half of them are in use. */
TEST(bins_widen_and_lose_nothing)
{
    static const double spans_s[] = {1e-3, 1, 59, 86400, 1e7};
    for (size_t i = 0; i < sizeof spans_s / sizeof *spans_s; i++) {
        struct arrivals arrivals;
        struct arrivals_found found;
        int64_t n = 0;
        arrivals_init(&arrivals);
        add_even(&arrivals, 0, spans_s[i], 5000);
        arrivals_add(&arrivals, sim_ns_from_s(spans_s[i]));
        CHECK(arrivals.n_bins > ARRIVALS_BINS / 2 && arrivals.n_bins <= ARRIVALS_BINS);
        CHECK_EQ_INT((int64_t)(arrivals.n_bins - 1), sim_ns_from_s(spans_s[i]) / arrivals.width_ns);
        arrivals_find(&arrivals, spans_s[i], &found);
        for (int part = 0; part < ARRIVALS_PARTS; part++) {
            CHECK(found.parts[part] > 450 && found.parts[part] < 550);
            n += found.parts[part];
        }
        CHECK_EQ_INT(n, 5001);
        CHECK(found.begin.length_s == 0 && found.end.length_s == 0);
    }
}

/* A fifth of the span with a hundredth of the arrivals, at either end, is found to a bin. */
TEST(a_sparse_end_is_found_where_it_ends)
{
    struct arrivals first, last;
    struct arrivals_found found;
    arrivals_init(&first);
    arrivals_init(&last);
    add_even(&first, 0, 200, 10);
    add_even(&first, 200, 1000, 1000);
    add_even(&last, 0, 800, 1000);
    add_even(&last, 800, 1000, 10);
    arrivals_find(&first, 1000, &found);
    CHECK(fabs(found.begin.length_s - 200) < 3 && found.end.length_s == 0);
    CHECK_EQ_INT(found.begin.n, 10);
    arrivals_find(&last, 1000, &found);
    CHECK(found.begin.length_s == 0 && fabs(found.end.length_s - 180) < 25);
    CHECK(found.end.n >= 9 && found.end.n <= 10);
}

/* Half of the mean rate is not sparse, nor is a gap shorter than a twentieth of the span. */
TEST(what_is_not_sparse_is_not_named)
{
    struct arrivals half, gap;
    struct arrivals_found found;
    arrivals_init(&half);
    arrivals_init(&gap);
    add_even(&half, 0, 500, 300);
    add_even(&half, 500, 1000, 700);
    arrivals_add(&gap, 0);
    add_even(&gap, 40, 1000, 1000);
    arrivals_find(&half, 1000, &found);
    CHECK(found.begin.length_s == 0 && found.end.length_s == 0);
    arrivals_find(&gap, 1000, &found);
    CHECK(found.begin.length_s == 0 && found.end.length_s == 0);
}
