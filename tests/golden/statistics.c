/* Statistics of recorded samples, to the last digit: what closed forms and intervals of a test's own would leave in
 * doubt. The samples have ties, long tails, a trend, few values and many. A new generator of random numbers moves the
 * bootstraps. */
#include "analysis/stats/stats.h"
#include "sim/core/hash.h"
#include "tests/support/harness.h"

enum { MOST = 700, SHAPES = 5 };

static const size_t sizes[] = {1, 2, 3, 7, 20, 41, 128, 300, MOST};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

/* Values of a shape: ties among few numbers, a long tail, a trend with noise, equal ones, signs that alternate. */
static double value_of(int shape, struct rng *rng, size_t i)
{
    const double u = rng_uniform(rng);
    switch (shape) {
    case 0: return floor(u * 6) - 2;
    case 1: return exp(4 * u * u * u) - 3;
    case 2: return 5 / (1 + (double)i) + u;
    case 3: return 2;
    default: return (i % 2 == 0 ? 1 : -1) * u + 0.01;
    }
}

static void draw(int shape, size_t n, uint64_t index, double values[MOST])
{
    struct rng rng = test_rng(4, "statistics", index);
    for (size_t i = 0; i < n; i++) values[i] = value_of(shape, &rng, i);
}

static void add(struct hash *hash, double value)
{
    char digits[40];
    snprintf(digits, sizeof digits, "%.13g", value);
    hash_text(hash, isnan(value) ? "nan" : digits);
}

static void add_interval(struct hash *hash, struct interval interval)
{
    add(hash, interval.mean);
    add(hash, interval.low);
    add(hash, interval.high);
}

struct pair {
    size_t n;
    double base[MOST], changed[MOST];
};

static void add_bootstraps(struct hash *hash, const struct pair *pair)
{
    struct interval interval;
    double p;
    CHECK_EQ_INT(stats_bootstrap_mean(pair->base, pair->n, 0.95, 99, 7, &interval), 0);
    add_interval(hash, interval);
    for (int q = 0; q < 3; q++) {
        const double quantiles[] = {0.5, 0.9, 0.01};
        CHECK_EQ_INT(stats_bootstrap_quantile_difference(pair->base, pair->changed, pair->n, quantiles[q], 0.9, 99, 3,
                                                         &interval, &p),
                     0);
        add_interval(hash, interval);
        add(hash, p);
    }
}

static void add_tests(struct hash *hash, const struct pair *pair)
{
    double p, sorted[MOST];
    add_interval(hash, stats_mean_interval(pair->base, pair->n, 0.9));
    add(hash, stats_paired_t_p(pair->base, pair->n));
    add_interval(hash, stats_welch_interval(pair->base, pair->n, pair->changed, (pair->n + 1) / 2, 0.95, &p));
    add(hash, p);
    memcpy(sorted, pair->changed, pair->n * sizeof *sorted);
    add(hash, stats_select_quantile(sorted, pair->n, 0.37));
    for (size_t i = 0; i < pair->n; i++) sorted[i] = fabs(sin(pair->base[i]) / 3);
    CHECK_EQ_INT(stats_holm(sorted, pair->n), 0);
    for (size_t i = 0; i < pair->n; i++) add(hash, sorted[i]);
}

static void add_series(struct hash *hash, const struct pair *pair)
{
    struct interval interval = {0};
    double p = 0, lag1 = 0;
    add(hash, (double)stats_mser5(pair->base, pair->n));
    add(hash, (double)stats_mser5_limit(pair->n));
    add(hash, stats_effective_n(pair->base, pair->n));
    add(hash, stats_lag1(pair->base, pair->n));
    for (size_t batches = 0; batches <= 20; batches += 4) {
        CHECK_EQ_INT(stats_batch_means(pair->base, pair->n, batches, 0.95, &interval, &p, &lag1), 0);
        add_interval(hash, interval);
        add(hash, p);
        add(hash, lag1);
        CHECK_EQ_INT(
            stats_batch_quantile_difference(pair->base, pair->changed, pair->n, batches, 0.8, 0.9, &interval, &p), 0);
        add_interval(hash, interval);
        add(hash, p);
    }
}

/* Replicates of a difference that is above 0 more or less often, for levels that have percentiles and that do not. */
static void add_replicates(struct hash *hash, const struct pair *pair)
{
    static const double levels[] = {0.5, 0.9, 0.95, 0.99};
    for (int i = 0; i < 8; i++) {
        double values[MOST], p;
        for (size_t j = 0; j < pair->n; j++) values[j] = pair->base[j] + (i % 2 == 0 ? 0 : 1.5);
        add_interval(hash, stats_replicate_interval(values, pair->n, levels[i / 2], &p));
        add(hash, p);
        add(hash, stats_replicate_least_p(pair->n, levels[i / 2]));
    }
}

/* The hash of what `each` adds for all shapes and sizes. */
static void check_hash(void (*each)(struct hash *hash, const struct pair *pair), const char *recorded)
{
    char hex[HASH_HEX_CHARS];
    static struct pair pair;
    struct hash *hash = hash_create();
    MUST(hash != NULL);
    for (int shape = 0; shape < SHAPES; shape++)
        for (int size = 0; size < N_SIZES; size++) {
            pair.n = sizes[size];
            draw(shape, pair.n, 1, pair.base);
            draw(shape, pair.n, 2, pair.changed);
            each(hash, &pair);
        }
    hash_hex(hash, hex);
    CHECK_EQ_STR(hex, recorded);
    hash_destroy(hash);
}

TEST_OPTIMISED(bootstraps_are_those_recorded)
{
    check_hash(add_bootstraps, "c1dbca0a622313563a0a120d6c029936");
}

TEST_OPTIMISED(tests_of_means_and_quantiles_are_those_recorded)
{
    check_hash(add_tests, "1d9cd79e548f8d89ff487ef6473ed220");
}

TEST_OPTIMISED(statistics_of_series_are_those_recorded)
{
    check_hash(add_series, "cd98da147bf98ffef691431939744342");
}

TEST_OPTIMISED(intervals_of_replicates_are_those_recorded)
{
    check_hash(add_replicates, "7070e594dafb96779d54963de83c445f");
}
