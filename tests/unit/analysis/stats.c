/* Closed forms and hand-worked examples of analysis/stats, and its bootstraps against the plain ones. How often its
 * intervals cover is for tests/property/stats_coverage.c. */
#include "analysis/stats/stats.h"
#include "tests/support/harness.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_sort.h>

enum { RESAMPLES = 4000 };

/* Student's own table: t(0.975, 4) = 2.776445; the values 1 ... 5 have the standard error sqrt(1/2). */
TEST(t_interval_is_the_tables)
{
    const double values[] = {5, 3, 1, 2, 4};
    const struct interval interval = stats_mean_interval(values, 5, 0.95);
    CHECK_NEAR(interval.mean, 3, 1e-15);
    CHECK_NEAR(interval.low, 3 - 2.7764451051977987 * sqrt(0.5), 1e-10);
    CHECK_NEAR(interval.high, 3 + 2.7764451051977987 * sqrt(0.5), 1e-10);
    /* one degree of freedom is Cauchy's law: t(0.975, 1) = tan(0.475 pi) */
    const double two[] = {1, 3};
    CHECK_NEAR(stats_mean_interval(two, 2, 0.95).high, 2 + tan(0.475 * 3.14159265358979323846), 1e-9);
}

TEST(paired_t_is_the_tables)
{
    const double two[] = {1, 3}; /* t = 2 at one degree: p = 1 - 2/pi atan(2) */
    CHECK_NEAR(stats_paired_t_p(two, 2), 1 - 2 / 3.14159265358979323846 * atan(2), 1e-12);
    const double zeros[] = {0, 0, 0}, same[] = {2, 2, 2}, balanced[] = {-1, 1, -3, 3};
    CHECK(stats_paired_t_p(zeros, 3) == 1);
    CHECK(stats_paired_t_p(same, 3) == 0);
    CHECK(stats_paired_t_p(balanced, 4) == 1);
}

/* Welch's formula by hand: means 2 and 5, squared errors 1/3 and 9/3, degrees (10/3)^2 / (1/18 + 9/2). */
TEST(welch_is_its_formula)
{
    const double base[] = {1, 2, 3}, changed[] = {2, 5, 8};
    double p;
    const struct interval interval = stats_welch_interval(base, 3, changed, 3, 0.95, &p);
    CHECK_NEAR(interval.mean, 3, 1e-15);
    const double degrees = (10.0 / 3) * (10.0 / 3) / (1.0 / 18 + 9.0 / 2);
    CHECK_NEAR(degrees, 2.4390243902439, 1e-10);
    CHECK(interval.high - 3 > 3.182 * sqrt(10.0 / 3) && interval.high - 3 < 4.303 * sqrt(10.0 / 3)); /* df 3, 2 */
    CHECK(p > 0.14 && p < 0.25);
    /* equal variances and sizes: Student's two samples, with all degrees of freedom */
    const double shifted[] = {4, 5, 6};
    CHECK_NEAR(stats_welch_interval(base, 3, shifted, 3, 0.95, NULL).high, 3 + 2.7764451051977987 * sqrt(2.0 / 3),
               1e-9);
}

TEST(too_few_values_say_nothing)
{
    const double one[] = {7};
    double p = 0, lag1 = 0;
    struct interval interval = stats_mean_interval(one, 1, 0.95);
    CHECK(interval.mean == 7 && isnan(interval.low) && isnan(interval.high));
    CHECK(isnan(stats_mean_interval(NULL, 0, 0.95).mean));
    CHECK(isnan(stats_paired_t_p(one, 1)) && isnan(stats_lag1(one, 1)) && isnan(stats_quantile(NULL, 0, 0.5)));
    CHECK(isnan(stats_welch_interval(one, 1, one, 1, 0.95, &p).low) && isnan(p));
    CHECK(stats_bootstrap_mean(one, 1, 0.95, 100, 1, &interval) == 0);
    CHECK(interval.mean == 7 && isnan(interval.low));
    CHECK(stats_bootstrap_quantile_difference(one, one, 1, 0.5, 0.95, 100, 1, &interval, &p) == 0);
    CHECK(interval.mean == 0 && isnan(interval.low) && isnan(p));
    CHECK(stats_batch_means(one, 1, 20, 0.95, &interval, &p, &lag1) == 0);
    CHECK(isnan(interval.mean) && isnan(p) && isnan(lag1));
    CHECK(stats_effective_n(one, 1) == 0);
}

/* Holm's example: with p = 0.01, 0.04, 0.03, 0.005 the factors are 3, 1, 2, 4, and no adjusted value is below the one
 * before it. */
TEST(holm_is_the_example)
{
    double p[] = {0.01, (double)NAN, 0.04, 0.03, 0.005};
    MUST(stats_holm(p, 5) == 0);
    CHECK_NEAR(p[0], 0.03, 1e-15);
    CHECK(isnan(p[1]));
    CHECK_NEAR(p[2], 0.06, 1e-15);
    CHECK_NEAR(p[3], 0.06, 1e-15);
    CHECK_NEAR(p[4], 0.02, 1e-15);
    double large[] = {0.5, 0.9};
    MUST(stats_holm(large, 2) == 0);
    CHECK(large[0] == 1 && large[1] == 1);
    CHECK(stats_holm(NULL, 0) == 0);
}

TEST(quantiles_are_type_7)
{
    const double sorted[] = {1, 2, 4, 8};
    CHECK(stats_quantile(sorted, 4, 0) == 1 && stats_quantile(sorted, 4, 1) == 8);
    CHECK_NEAR(stats_quantile(sorted, 4, 0.5), 3, 1e-15);
    CHECK_NEAR(stats_quantile(sorted, 4, 0.9), 4 + 0.7 * 4, 1e-14);
}

/* Against sorting: random sizes, ranks and numbers of ties; sorted input too. */
TEST(selection_is_that_of_sorting)
{
    enum { N = 200 };
    struct rng rng = test_rng(6, "select", 0);
    for (int trial = 0; trial < 3000; trial++) {
        double values[N], sorted[N];
        const size_t n = 1 + rng_below(&rng, N), k = rng_below(&rng, n);
        const uint64_t distinct = 1 + rng_below(&rng, trial % 2 ? 5 : 1000);
        for (size_t i = 0; i < n; i++) sorted[i] = values[i] = (double)rng_below(&rng, distinct);
        gsl_sort(sorted, 1, n);
        if (trial % 10 == 0) memcpy(values, sorted, n * sizeof *values);
        stats_select(values, n, k);
        bool parted = values[k] == sorted[k];
        for (size_t i = 0; i < n; i++) parted &= i < k ? values[i] <= values[k] : values[i] >= values[k];
        CHECK(parted);
        const double q = rng_uniform(&rng);
        CHECK(stats_select_quantile(values, n, q) == stats_quantile(sorted, n, q));
        gsl_sort(values, 1, n);
        CHECK(memcmp(values, sorted, n * sizeof *values) == 0);
    }
    CHECK(isnan(stats_select_quantile(NULL, 0, 0.5)));
}

/* Two batches of ten pairs: the medians of the batches differ by 1 and 3, that of all by 2. */
TEST(sectioning_is_by_hand)
{
    double base[20], changed[20], p;
    struct interval interval;
    for (int i = 0; i < 20; i++) {
        base[i] = i % 10;
        changed[i] = base[i] + (i < 10 ? 1 : 3);
    }
    MUST(stats_batch_quantile_difference(base, changed, 20, 2, 0.5, 0.95, &interval, &p) == 0);
    CHECK(interval.mean == 2);
    CHECK_NEAR(interval.high, 2 + tan(0.475 * 3.14159265358979323846), 1e-9); /* the error is sqrt(2 / 2 / 1) = 1 */
    CHECK_NEAR(p, 1 - 2 / 3.14159265358979323846 * atan(2), 1e-12);
    MUST(stats_batch_quantile_difference(base, changed, 20, 2, 0.9, 0.95, &interval, &p) == 0);
    CHECK(isnan(interval.low) && isnan(p)); /* one value beyond it in each batch */
}

TEST(lag1_is_the_formula)
{
    const double alternating[] = {1, -1, 1, -1}, constant[] = {3, 3, 3};
    CHECK_NEAR(stats_lag1(alternating, 4), -0.75, 1e-15);
    CHECK(stats_lag1(constant, 3) == 0);
}

/* n independent values are worth n, those of an autoregressive series (1 - phi) / (1 + phi) of that, be there few or
 * many; the blocks' variance and correlation are known to 15 %. */
TEST(effective_n_is_that_of_an_autoregressive_series)
{
    enum { N = 40000 };
    static const double phis[] = {0, 0.5, 0.9, 0.98};
    double *values = mem_alloc(N * sizeof *values);
    MUST(values != NULL);
    for (size_t k = 0; k < 4; k++)
        for (size_t n = 1000; n <= N; n = 6 * n + 4000) {
            const double phi = phis[k], worth = (double)n * (1 - phi) / (1 + phi);
            struct rng rng = test_rng(1, "effective", n + k);
            const gsl_rng gsl = rng_gsl(&rng);
            double level = gsl_ran_gaussian(&gsl, 1 / sqrt(1 - phi * phi));
            for (size_t i = 0; i < n; i++) values[i] = level = phi * level + gsl_ran_ugaussian(&gsl);
            const double found = stats_effective_n(values, n);
            CHECK(found <= (double)n);
            if (worth > 50) CHECK(found > 0.5 * worth && found < 1.4 * worth);
            if (worth < 50) CHECK(found < 100);
        }
    for (size_t i = 0; i < 1000; i++) values[i] = i % 2 ? 1 : -1; /* the mean of these is known better than it may be */
    CHECK(stats_effective_n(values, 1000) == 1000);
    for (size_t i = 0; i < 1000; i++) values[i] = 3;
    CHECK(stats_effective_n(values, 1000) == 1000);
    mem_free(values);
}

/* A ramp that ends at value 200, then noise around zero: the cut is at the end of the ramp, but for noise. */
TEST(mser5_finds_the_end_of_a_transient)
{
    enum { N = 2000, RAMP = 200 };
    for (uint64_t seed = 1; seed <= 10; seed++) {
        double values[N];
        struct rng rng = test_rng(seed, "transient", 0);
        gsl_rng gsl = rng_gsl(&rng);
        for (int i = 0; i < N; i++) values[i] = gsl_ran_gaussian(&gsl, 1) + (i < RAMP ? 20.0 * (RAMP - i) / RAMP : 0);
        const size_t cut = stats_mser5(values, N);
        CHECK(cut >= RAMP - 30 && cut <= RAMP + 60 && cut % 5 == 0);
    }
}

TEST(mser5_cuts_nothing_where_nothing_is)
{
    double values[103];
    for (int i = 0; i < 103; i++) values[i] = 1;
    CHECK_EQ_INT(stats_mser5(values, 103), 0);
    CHECK_EQ_INT(stats_mser5(values, 4), 0);
    for (int i = 0; i < 103; i++) values[i] = i; /* never steady: the limit */
    CHECK_EQ_INT(stats_mser5(values, 103), 50);
    CHECK_EQ_INT(stats_mser5_limit(103), 50);
    for (int i = 0; i < 103; i++) values[i] = i < 5 ? 100 : i % 2; /* by hand: the first five, nothing else */
    CHECK_EQ_INT(stats_mser5(values, 103), 5);
}

/* The statistic of every cut, in two passes. */
static size_t naive_mser5(const double *values, size_t n)
{
    const size_t groups = n / 5;
    size_t best = 0;
    double least = HUGE_VAL;
    for (size_t d = 0; d < groups && d <= groups / 2; d++) {
        const double count = (double)(groups - d);
        double mean = 0, squares = 0;
        for (size_t i = 5 * d; i < 5 * groups; i++) mean += values[i] / (5 * count);
        for (size_t i = d; i < groups; i++) squares += pow(stats_mean(values + 5 * i, 5) - mean, 2);
        if (squares / (count * count) < least * (1 - 1e-12)) best = 5 * d;
        least = fmin(least, squares / (count * count));
    }
    return best;
}

TEST(mser5_is_the_least_of_all_cuts)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct rng rng = test_rng(seed, "cuts", 0);
        double values[64];
        for (size_t i = 0; i < 64; i++) values[i] = rng_exponential(&rng, 1) + (i < seed % 40 ? 2 : 0);
        CHECK_EQ_INT(stats_mser5(values, seed % 65), naive_mser5(values, seed % 65));
    }
}

/* Four batches of two, one value left over. */
TEST(batch_means_are_those_of_the_batches)
{
    const double values[] = {1, 3, 2, 4, 3, 5, 4, 6, 1000}, means[] = {2, 3, 4, 5};
    struct interval interval;
    double p, lag1;
    MUST(stats_batch_means(values, 9, 4, 0.9, &interval, &p, &lag1) == 0);
    const struct interval expected = stats_mean_interval(means, 4, 0.9);
    CHECK(interval.mean == expected.mean && interval.low == expected.low && interval.high == expected.high);
    CHECK_NEAR(p, stats_paired_t_p(means, 4), 1e-15);
    CHECK_NEAR(lag1, 0.25, 1e-15);
}

/* --- Against the plain bootstraps --- */

static double mean_of(const double *values, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += values[i];
    return sum / (double)n;
}

static double error_of(const double *values, size_t n, double mean)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++) squares += (values[i] - mean) * (values[i] - mean);
    return sqrt(squares) / (double)n;
}

/* The textbook's bootstrap-t: draw n of n, again and again. */
static struct interval plain_bootstrap_t(const double *values, size_t n)
{
    double *drawn = mem_alloc(n * sizeof *drawn), *errors = mem_alloc(RESAMPLES * sizeof *errors);
    const double mean = mean_of(values, n), error = error_of(values, n, mean);
    struct rng rng = test_rng(1, "plain", 0);
    for (int i = 0; i < RESAMPLES; i++) {
        for (size_t k = 0; k < n; k++) drawn[k] = values[rng_below(&rng, n)];
        const double again = mean_of(drawn, n);
        errors[i] = (again - mean) / error_of(drawn, n, again);
    }
    gsl_sort(errors, 1, RESAMPLES);
    const struct interval interval = {mean, mean - stats_quantile(errors, RESAMPLES, 0.975) * error,
                                      mean - stats_quantile(errors, RESAMPLES, 0.025) * error};
    mem_free(drawn);
    mem_free(errors);
    return interval;
}

/* Few values, all of them drawn; and many, of which most are not. Ends differ by the noise of RESAMPLES resamples,
 * which for a tail quantile of a unit normal is 0.04 standard errors. */
TEST(mean_is_that_of_the_plain_bootstrap)
{
    static const size_t sizes[] = {30, 200, 2000};
    for (size_t i = 0; i < 3; i++) {
        const size_t n = sizes[i];
        double *values = mem_alloc(n * sizeof *values);
        struct rng rng = test_rng(3, "skewed", i);
        gsl_rng gsl = rng_gsl(&rng);
        for (size_t k = 0; k < n; k++) values[k] = gsl_ran_lognormal(&gsl, 0, 1);
        struct interval interval;
        MUST(stats_bootstrap_mean(values, n, 0.95, RESAMPLES, 1, &interval) == 0);
        const struct interval plain = plain_bootstrap_t(values, n);
        const double error = error_of(values, n, plain.mean);
        CHECK_NEAR(interval.mean, plain.mean, 1e-12);
        CHECK_NEAR((interval.low - plain.low) / error, 0, 0.12);
        CHECK_NEAR((interval.high - plain.high) / error, 0, i == 0 ? 0.35 : 0.2); /* the long tail is noisier */
        mem_free(values);
    }
}

static struct interval plain_quantile_difference(const double *base, const double *changed, size_t n, double q)
{
    double *drawn[2] = {mem_alloc(n * sizeof(double)), mem_alloc(n * sizeof(double))};
    double *differences = mem_alloc(RESAMPLES * sizeof *differences);
    struct rng rng = test_rng(2, "plain", 0);
    for (int i = 0; i < RESAMPLES; i++) {
        for (size_t k = 0; k < n; k++) {
            const size_t pair = rng_below(&rng, n);
            drawn[0][k] = base[pair];
            drawn[1][k] = changed[pair];
        }
        gsl_sort(drawn[0], 1, n);
        gsl_sort(drawn[1], 1, n);
        differences[i] = stats_quantile(drawn[1], n, q) - stats_quantile(drawn[0], n, q);
    }
    gsl_sort(differences, 1, RESAMPLES);
    const struct interval interval = {mean_of(differences, RESAMPLES), stats_quantile(differences, RESAMPLES, 0.025),
                                      stats_quantile(differences, RESAMPLES, 0.975)};
    mem_free(drawn[0]);
    mem_free(drawn[1]);
    mem_free(differences);
    return interval;
}

/* Continuous values, and values in steps with many ties: these are crowded cells. */
TEST(quantile_difference_is_that_of_the_plain_bootstrap)
{
    enum { N = 400 };
    static const double qs[] = {0.5, 0.9};
    for (int i = 0; i < 4; i++) {
        double base[N], changed[N];
        struct rng rng = test_rng(4, "pairs", (uint64_t)i);
        gsl_rng gsl = rng_gsl(&rng);
        for (int k = 0; k < N; k++) {
            base[k] = gsl_ran_lognormal(&gsl, 0, 1);
            changed[k] = base[k] * 1.1 + gsl_ran_gaussian(&gsl, 0.5);
            if (i >= 2) base[k] = rint(4 * base[k]), changed[k] = rint(4 * changed[k]);
        }
        struct interval interval;
        MUST(stats_bootstrap_quantile_difference(base, changed, N, qs[i % 2], 0.95, RESAMPLES, 1, &interval, NULL) ==
             0);
        const struct interval plain = plain_quantile_difference(base, changed, N, qs[i % 2]);
        const double reach = plain.high - plain.low;
        CHECK_NEAR((interval.low - plain.low) / reach, 0, 0.05);
        CHECK_NEAR((interval.high - plain.high) / reach, 0, 0.05);
        gsl_sort(base, 1, N);
        gsl_sort(changed, 1, N);
        CHECK(interval.mean == stats_quantile(changed, N, qs[i % 2]) - stats_quantile(base, N, qs[i % 2]));
    }
}

/* One is read off the other: shifts from none to many, skewed values, and ties. */
TEST(p_of_a_quantile_agrees_with_its_interval)
{
    enum { N = 100, TRIALS = 120 };
    int n_found = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        double base[N], changed[N], p;
        struct interval interval;
        struct rng rng = test_rng(5, "agreement", (uint64_t)trial);
        gsl_rng gsl = rng_gsl(&rng);
        for (int i = 0; i < N; i++) {
            base[i] = gsl_ran_lognormal(&gsl, 0, 1);
            changed[i] = base[i] * gsl_ran_lognormal(&gsl, 0.01 * (trial % 30), 0.5);
            if (trial % 3 == 0) base[i] = rint(4 * base[i]), changed[i] = rint(4 * changed[i]);
        }
        MUST(stats_bootstrap_quantile_difference(base, changed, N, 0.75, 0.95, 300, 1, &interval, &p) == 0);
        const bool found = interval.low > 0 || interval.high < 0;
        CHECK(found == (p < 0.05));
        CHECK(p >= 2.0 / 301 && p <= 1);
        n_found += found;
    }
    CHECK(n_found > TRIALS / 10 && n_found < TRIALS * 9 / 10);
}

/* What cannot vary has no width; where only one value in many differs, nothing can be said. */
TEST(bootstraps_of_ties)
{
    double zeros[500] = {0}, rare[500] = {0};
    struct interval interval;
    MUST(stats_bootstrap_mean(zeros, 500, 0.95, 500, 1, &interval) == 0);
    CHECK(interval.mean == 0 && interval.low == 0 && interval.high == 0);
    double p;
    MUST(stats_bootstrap_quantile_difference(zeros, zeros, 500, 0.9, 0.95, 500, 1, &interval, &p) == 0);
    CHECK(interval.mean == 0 && interval.low == 0 && interval.high == 0 && p == 1);
    rare[17] = 1;
    MUST(stats_bootstrap_mean(rare, 500, 0.95, 500, 1, &interval) == 0);
    CHECK_NEAR(interval.mean, 0.002, 1e-15);
    CHECK(isnan(interval.low) && isnan(interval.high));
}

/* Units do not matter: values times a power of 2 have an interval times it, to the bit. Some resamples miss the few
 * zeros, so that all their values are equal. */
TEST(bootstrap_of_a_mean_knows_no_unit)
{
    enum { N = 500, RARE = 5 };
    double values[N], scaled[N];
    struct interval interval, other;
    for (int round = 0; round < 24; round++) {
        const int unit = round % 2 == 0 ? -30 : 30;
        const double level = 0.90 + 0.0025 * (double)(round + 1);
        for (int i = 0; i < N; i++) {
            values[i] = i < RARE ? 0 : 1;
            scaled[i] = ldexp(values[i], unit);
        }
        MUST(stats_bootstrap_mean(values, N, level, 1000, 3, &interval) == 0);
        MUST(stats_bootstrap_mean(scaled, N, level, 1000, 3, &other) == 0);
        CHECK(interval.low < interval.mean && interval.mean < interval.high);
        CHECK(other.mean == ldexp(interval.mean, unit) && other.low == ldexp(interval.low, unit) &&
              other.high == ldexp(interval.high, unit));
    }
}

TEST(resampling_repeats_under_its_seed)
{
    double values[300];
    struct interval first, again, other;
    for (int i = 0; i < 300; i++) values[i] = sqrt(i);
    MUST(stats_bootstrap_mean(values, 300, 0.95, 200, 7, &first) == 0);
    MUST(stats_bootstrap_mean(values, 300, 0.95, 200, 7, &again) == 0);
    MUST(stats_bootstrap_mean(values, 300, 0.95, 200, 8, &other) == 0);
    CHECK(memcmp(&first, &again, sizeof first) == 0);
    CHECK(first.low != other.low);
}

TEST(memory_may_run_out)
{
    double values[40];
    for (int i = 0; i < 40; i++) values[i] = i * i;
    for (long n = 0; n < 12; n++) {
        struct interval interval;
        double p[] = {0.5, 0.1};
        mem_fail_after(n);
        const int mean = stats_bootstrap_mean(values, 40, 0.95, 10, 1, &interval);
        mem_fail_after(n);
        const int quantile = stats_bootstrap_quantile_difference(values, values, 40, 0.5, 0.95, 10, 1, &interval, NULL);
        mem_fail_after(n);
        const int batches = stats_batch_means(values, 40, 4, 0.95, &interval, NULL, NULL);
        mem_fail_after(n);
        const int holm = stats_holm(p, 2);
        mem_fail_never();
        CHECK_EQ_INT(mean, n < 2 ? SIM_E_NOMEM : 0);
        CHECK_EQ_INT(quantile, n < 9 ? SIM_E_NOMEM : 0);
        CHECK_EQ_INT(batches, n < 1 ? SIM_E_NOMEM : 0);
        CHECK_EQ_INT(holm, n < 3 ? SIM_E_NOMEM : 0);
    }
}

/* The interval of ratios is that of their values with many replicates, of their logarithms with few. Ends are unknown
 * where a pair has no such ratio: a changed value of zero has one, but no logarithm. */
TEST(ratios_of_replicates)
{
    enum { FEW = 10, MANY = 60 };
    double base[MANY], changed[MANY], ratios[MANY], scratch[MANY];
    for (size_t n = FEW; n <= MANY; n += MANY - FEW) {
        for (size_t i = 0; i < n; i++) {
            base[i] = 1 + 0.1 * (double)(i * 7 % n) / (double)n;
            ratios[i] = 2 + (double)i / (double)n;
            changed[i] = base[i] * ratios[i];
            if (n == FEW) ratios[i] = log(ratios[i]);
        }
        const struct interval found = stats_replicate_ratio(base, changed, n, 0.95, scratch);
        const struct interval of_ratios = stats_replicate_interval(ratios, n, 0.95, NULL);
        CHECK_NEAR(found.mean, stats_mean(changed, n) / stats_mean(base, n), 1e-12);
        CHECK_NEAR(found.low, n == FEW ? exp(of_ratios.low) : of_ratios.low, 1e-12);
        CHECK_NEAR(found.high, n == FEW ? exp(of_ratios.high) : of_ratios.high, 1e-12);
        changed[0] = 0;
        CHECK(isnan(stats_replicate_ratio(base, changed, n, 0.95, scratch).low) == (n == FEW));
        changed[0] = -1;
        CHECK(isnan(stats_replicate_ratio(base, changed, n, 0.95, scratch).low));
        changed[0] = 1, base[0] = 0;
        CHECK(isnan(stats_replicate_ratio(base, changed, n, 0.95, scratch).high));
    }
}
