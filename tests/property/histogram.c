#include "sim/core/real_list.h"
#include "sim/core/tally.h"
#include "tests/support/harness.h"

enum { MAX_BUCKETS = 100 * 1024 + 1 };

struct bucket {
    double lower, upper;
    uint64_t count;
};

/* What histogram_each visits. */
struct listing {
    int n;
    uint64_t total;
    struct bucket buckets[MAX_BUCKETS];
};

static void list_bucket(void *context, double lower, double upper, uint64_t count)
{
    struct listing *listing = context;
    MUST(listing->n < MAX_BUCKETS && count > 0 && lower < upper);
    if (listing->n > 0) CHECK(listing->buckets[listing->n - 1].upper <= lower);
    listing->buckets[listing->n++] = (struct bucket){lower, upper, count};
    listing->total += count;
}

static void list(const struct histogram *histogram, struct listing *listing)
{
    listing->n = 0;
    listing->total = 0;
    histogram_each(histogram, list_bucket, listing);
    CHECK_EQ_INT(listing->total, histogram->count);
}

static bool same(const struct histogram *a, const struct histogram *b)
{
    static struct listing of_a, of_b;
    list(a, &of_a);
    list(b, &of_b);
    return of_a.n == of_b.n && memcmp(of_a.buckets, of_b.buckets, (size_t)of_a.n * sizeof of_a.buckets[0]) == 0;
}

static struct histogram fresh(void)
{
    struct histogram histogram;
    if (histogram_init(&histogram) != 0) abort();
    return histogram;
}

TEST(every_value_lies_in_its_bucket)
{
    static const double values[] = {0x1p-40, 0x1.fffffffffffffp-40, 0x1.00fp-3, 0.5,  0x1.fffffffffffffp-1,
                                    1,       0x1.0000000000001p0,   1.5,        1e-6, 12345.678,
                                    0x1p30,  0x1p59,                1e18,       2e-12, 0x1.fffffffffffffp59};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        static struct listing listing;
        struct histogram histogram = fresh();
        CHECK_EQ_INT(histogram_add(&histogram, values[i], 3), 0);
        list(&histogram, &listing);
        struct bucket b = listing.buckets[0];
        CHECK(listing.n == 1 && b.count == 3 && b.lower <= values[i] && values[i] < b.upper);
        CHECK((b.upper - b.lower) / b.lower <= 0x1p-10);
        histogram_fini(&histogram);
    }
}

TEST(values_off_the_scale_go_to_its_ends)
{
    static struct listing listing;
    struct histogram histogram = fresh();
    static const double small[] = {0, -0.0, 0x1p-1074, 0x1.fffffffffffffp-41};
    static const double large[] = {0x1p60, 1e300, (double)INFINITY};
    for (size_t i = 0; i < 4; i++) CHECK_EQ_INT(histogram_add(&histogram, small[i], 1), 0);
    for (size_t i = 0; i < 3; i++) CHECK_EQ_INT(histogram_add(&histogram, large[i], 1), 0);
    list(&histogram, &listing);
    CHECK(listing.n == 2 && histogram.zeros == 4);
    CHECK(listing.buckets[0].count == 4 && listing.buckets[0].upper == 0x1p-40);
    CHECK(listing.buckets[1].count == 3 && listing.buckets[1].upper == 0x1p60);
    CHECK(histogram_quantile(&histogram, 0.5) == 0);
    CHECK_NEAR(histogram_quantile(&histogram, 1) / 0x1p60, 1, 0.001);
    histogram_fini(&histogram);
}

TEST(a_weight_of_nothing_adds_nothing)
{
    struct histogram histogram = fresh();
    CHECK_EQ_INT(histogram_add(&histogram, 5, 0), 0);
    CHECK_EQ_INT(histogram_add_series(&histogram, 5, 1, 100, 0), 0);
    CHECK_EQ_INT(histogram_add_series(&histogram, 5, 1, 0, 7), 0);
    CHECK(histogram.count == 0 && histogram_quantile(&histogram, 0.99) == 0);
    histogram_fini(&histogram);
}

/* The middle of a bucket that is at most 2^-10 of its lower edge wide is off by at most 2^-11. */
TEST(quantiles_are_within_a_thousandth)
{
    enum { N = 5000 };
    static double values[N];
    struct rng rng;
    for (uint64_t stream = 0; stream < 8; stream++) {
        struct histogram histogram = fresh();
        rng_init(&rng, 1, 0, "quantiles", stream);
        for (int i = 0; i < N; i++) {
            values[i] = exp(6 * (rng_uniform(&rng) + rng_uniform(&rng)) - 6) * pow(10, (double)stream - 4);
            CHECK_EQ_INT(histogram_add(&histogram, values[i], 1), 0);
        }
        qsort(values, N, sizeof values[0], real_compare);
        for (int q = 0; q <= 1000; q++) {
            double rank = fmax(ceil(q / 1000.0 * N), 1);
            CHECK_NEAR(histogram_quantile(&histogram, q / 1000.0) / values[(int)rank - 1], 1, 0x1p-11);
        }
        histogram_fini(&histogram);
    }
}

TEST(quantiles_count_weights_and_zeros)
{
    struct histogram histogram = fresh();
    CHECK_EQ_INT(histogram_add(&histogram, 0, 50), 0);
    CHECK_EQ_INT(histogram_add(&histogram, 1, 49), 0);
    CHECK_EQ_INT(histogram_add(&histogram, 100, 1), 0);
    CHECK(histogram_quantile(&histogram, 0) == 0 && histogram_quantile(&histogram, 0.5) == 0);
    CHECK_NEAR(histogram_quantile(&histogram, 0.50001), 1, 0x1p-11);
    CHECK_NEAR(histogram_quantile(&histogram, 0.99), 1, 0x1p-11);
    CHECK_NEAR(histogram_quantile(&histogram, 0.99001) / 100, 1, 0x1p-11);
    CHECK_NEAR(histogram_quantile(&histogram, 1) / 100, 1, 0x1p-11);
    histogram_fini(&histogram);
}

/* The value times a power of two, from 2^lowest to below 2^(lowest + n). */
static double draw_scaled(struct rng *rng, double value, unsigned n, int lowest)
{
    return ldexp(value, (int)rng_below(rng, n) + lowest);
}

TEST(merging_is_the_union_in_any_order)
{
    struct rng rng = test_rng(2, "merge", 0);
    for (int round = 0; round < 20; round++) {
        struct histogram all = fresh(), left = fresh(), right = fresh();
        for (int i = 0; i < 500; i++) {
            double value = draw_scaled(&rng, rng_uniform(&rng), 120, -50);
            uint64_t weight = rng_below(&rng, 5);
            if (rng_below(&rng, 10) == 0) value = 0;
            CHECK_EQ_INT(histogram_add(&all, value, weight), 0);
            CHECK_EQ_INT(histogram_add(rng_below(&rng, 2) ? &left : &right, value, weight), 0);
        }
        struct histogram left_right = fresh(), right_left = fresh();
        CHECK_EQ_INT(histogram_merge(&left_right, &left) | histogram_merge(&left_right, &right), 0);
        CHECK_EQ_INT(histogram_merge(&right_left, &right) | histogram_merge(&right_left, &left), 0);
        CHECK(same(&left_right, &all) && same(&right_left, &all));
        struct histogram *made[] = {&all, &left, &right, &left_right, &right_left};
        for (int i = 0; i < 5; i++) histogram_fini(made[i]);
    }
}

static void check_series(double first, double step, uint64_t n)
{
    struct histogram bulk = fresh(), single = fresh();
    CHECK_EQ_INT(histogram_add_series(&bulk, first, step, n, 3), 0);
    for (uint64_t i = 0; i < n; i++) CHECK_EQ_INT(histogram_add(&single, first + (double)i * step, 3), 0);
    if (!CHECK(same(&bulk, &single))) {
        CHECK_NEAR(first, (double)NAN, 0); /* names the series that failed */
        CHECK_NEAR(step, (double)NAN, 0);
    }
    histogram_fini(&bulk);
    histogram_fini(&single);
}

/* A falling series must end at or above zero. */
static void check_series_both_ways(double first, double step, uint64_t n)
{
    check_series(first, step, n);
    check_series(first, fmax(-step, -first / (double)n), n);
}

/* Steps from far below the spacing of doubles around `first` to far above the width of its bucket. */
TEST(series_are_their_single_values)
{
    struct rng rng = test_rng(3, "series", 0);
    for (int round = 0; round < 3000; round++) {
        uint64_t n = 1 + rng_below(&rng, 300);
        double first = draw_scaled(&rng, 1 + rng_uniform(&rng), 104, -42);
        double step = draw_scaled(&rng, first * rng_uniform(&rng), 70, -69);
        check_series_both_ways(first, step, n);
    }
}

/* Values on the very edges of buckets, and next to them on either side. */
TEST(series_on_edges_are_their_single_values)
{
    static const double nudges[] = {0, 0x1p-43, -0x1p-43, 0x1p-52, -0x1p-52};
    struct rng rng = test_rng(4, "series", 0);
    for (int round = 0; round < 2000; round++) {
        double unit = draw_scaled(&rng, 1, 80, -52);
        double first = unit * (double)(1024 + rng_below(&rng, 2048));
        double step = unit * (double)(1 + rng_below(&rng, 8));
        step /= (double)(1 + rng_below(&rng, 8));
        first += first * nudges[rng_below(&rng, 5)];
        check_series_both_ways(first, step, 1 + rng_below(&rng, 300));
    }
}

TEST(series_across_the_ends_of_the_scale)
{
    check_series(0, 0, 10);
    check_series(5, 0, 10);
    check_series(0, 0x1p-1074, 100);
    check_series(0, 0x1p-42, 100);
    check_series(99 * 0x1p-42, -0x1p-42, 100);
    check_series(0, 1, 1000);
    check_series(0, 1e17, 30);
    check_series(29e17, -1e17, 30);
    check_series(1e300, 1e307, 30);
    check_series(1, 0x1p-53, 1000);
    check_series(1, -0x1p-54, 1000);
    check_series(0.1, 0.1, 5000);
}

/* A series never turns back, so its counts are right when the first and the last value of every bucket lie in it. This
 * would not end in our days if the work grew with n. */
TEST(huge_series_are_exact)
{
    static const struct {
        double first, step;
        uint64_t n;
    } known[] = {
        {0.02, 1e-9, 10000000},
        {1, 1e-17, INT64_C(1) << 62},
        {1e6, -1e-12, INT64_C(1) << 59},
        {0, 0x1p-50, INT64_C(1) << 62},
        {3e-3, 7.7e-19, INT64_MAX},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        static struct listing listing;
        double first = known[i].first, step = known[i].step;
        struct histogram histogram = fresh();
        CHECK_EQ_INT(histogram_add_series(&histogram, first, step, known[i].n, 1), 0);
        list(&histogram, &listing);
        CHECK_EQ_INT(listing.total, known[i].n);
        uint64_t begin = 0;
        for (int k = 0; k < listing.n; k++) {
            struct bucket b = listing.buckets[step < 0 ? listing.n - 1 - k : k];
            double one_end = first + (double)begin * step;
            double other_end = first + (double)(begin + b.count - 1) * step;
            CHECK(one_end >= b.lower && one_end < b.upper && other_end >= b.lower && other_end < b.upper);
            begin += b.count;
        }
        histogram_fini(&histogram);
    }
}

TEST(running_out_of_memory_is_reported)
{
    static struct listing listing;
    struct histogram histogram;
    mem_fail_after(0);
    CHECK_EQ_INT(histogram_init(&histogram), SIM_E_NOMEM);
    mem_fail_never();
    histogram_fini(&histogram);
    struct histogram other = fresh();
    CHECK_EQ_INT(histogram_add_series(&other, 1, 1, 100, 1), 0); /* seven octaves */
    for (long n = 0; n < 7; n++) {
        histogram = fresh();
        mem_fail_after(n);
        CHECK_EQ_INT(histogram_add_series(&histogram, 1, 1, 100, 1), SIM_E_NOMEM);
        CHECK_EQ_INT(histogram_merge(&histogram, &other), SIM_E_NOMEM);
        CHECK_EQ_INT(histogram_add(&histogram, 1000, 1), SIM_E_NOMEM);
        mem_fail_never();
        list(&histogram, &listing); /* checks that the counts still add up */
        CHECK_EQ_INT(histogram_add(&histogram, 1000, 1), 0);
        histogram_fini(&histogram);
    }
    histogram_fini(&other);
}
