/* All seeds are fixed, and none was picked. A statistical law is checked on many streams, with the two-sided 1e-5
 * quantile of the statistic as its threshold: that a right generator fails one of these few hundred checks has a chance
 * below one percent; a wrong one fails by far. */
#include "sim/core/real_list.h"
#include "tests/support/harness.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_statistics_double.h>

enum { STREAMS = 20, DRAWS = 20000 };

static const double RARE = 1e-5;

/* Known answers published with Random123 (kat_vectors, philox4x32 with 10 rounds): zeros, ones, digits of pi. */
TEST(philox_gives_the_published_answers)
{
    static const struct {
        uint32_t counter[4], key[2], block[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t block[4];
        philox4x32_10(known[i].counter, known[i].key, block);
        for (int k = 0; k < 4; k++) CHECK_EQ_INT(block[k], known[i].block[k]);
    }
}

TEST(a_stream_is_the_blocks_of_its_counter_in_order)
{
    struct rng rng;
    rng_init(&rng, 42, 7, "arrivals", 3);
    rng.counter[0] = 0xfffffffe; /* so that the count carries into the next word */
    uint32_t counter[4];
    memcpy(counter, rng.counter, sizeof counter);
    for (int block = 0; block < 4; block++) {
        uint32_t expected[4];
        philox4x32_10(counter, rng.key, expected);
        for (int k = 0; k < 4; k++) CHECK_EQ_INT(rng_u32(&rng), expected[k]);
        if (++counter[0] == 0) counter[1]++;
    }
    CHECK_EQ_INT(rng.counter[1], 1);
}

/* Results in the field are repeated by seed and stream name: these numbers may never change. */
TEST(streams_keep_their_numbers_for_ever)
{
    struct rng rng;
    rng_init(&rng, 1, 2, "arrivals", 3);
    CHECK_EQ_INT(rng_u32(&rng), 564679819);
    CHECK_EQ_INT(rng_u64(&rng), INT64_C(463539060297073872));
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

TEST(every_part_of_the_identity_makes_another_stream)
{
    static const char *const names[] = {"", "a", "b", "arrivals", "arrivals2", "lengths", "failures", "policy"};
    enum { NAMES = sizeof names / sizeof names[0], SIDE = 8, ALL = NAMES * SIDE * SIDE * SIDE };
    static uint64_t first[ALL];
    size_t n = 0;
    for (uint64_t seed = 0; seed < SIDE; seed++) {
        for (uint32_t run = 0; run < SIDE; run++) {
            for (size_t name = 0; name < NAMES; name++) {
                for (uint64_t index = 0; index < SIDE; index++) {
                    struct rng rng;
                    rng_init(&rng, seed, run, names[name], index);
                    first[n++] = rng_u64(&rng);
                }
            }
        }
    }
    qsort(first, n, sizeof first[0], compare_u64);
    for (size_t i = 1; i < n; i++) CHECK(first[i] != first[i - 1]);
}

TEST(uniform_stays_inside_the_open_interval)
{
    struct rng rng = {.left = 2};
    CHECK(rng_uniform(&rng) == 0x1p-53);
    rng = (struct rng){.left = 2, .block = {0, 0, UINT32_MAX, UINT32_MAX}};
    CHECK(rng_uniform(&rng) == 1 - 0x1p-53);
}

/* Chance that a right generator gives a chi-square at least this large, or at least this small. */
static double chi_square_p(const int *counts, int cells, double expected)
{
    double chi2 = 0;
    for (int i = 0; i < cells; i++) chi2 += (counts[i] - expected) * (counts[i] - expected) / expected;
    return fmin(gsl_cdf_chisq_Q(chi2, cells - 1), gsl_cdf_chisq_P(chi2, cells - 1));
}

TEST(uniform_fills_its_cells_evenly)
{
    enum { CELLS = 500 };
    for (uint64_t stream = 0; stream < STREAMS; stream++) {
        int upper[CELLS] = {0}, lower[CELLS] = {0};
        struct rng rng = test_rng(1, "chi-square", stream);
        for (int i = 0; i < DRAWS; i++) {
            double u = rng_uniform(&rng) * CELLS;
            upper[(int)u]++;
            lower[(int)((u - floor(u)) * CELLS)]++;
        }
        CHECK(chi_square_p(upper, CELLS, (double)DRAWS / CELLS) > RARE);
        CHECK(chi_square_p(lower, CELLS, (double)DRAWS / CELLS) > RARE);
    }
}

static bool uncorrelated(const double *x, const double *y, size_t n)
{
    double z = gsl_stats_correlation(x, 1, y, 1, n) * sqrt((double)n);
    return 2 * gsl_cdf_ugaussian_Q(fabs(z)) > RARE;
}

static void draw(double *x, size_t n, uint64_t seed, uint32_t run, const char *name, uint64_t index)
{
    struct rng rng;
    rng_init(&rng, seed, run, name, index);
    for (size_t i = 0; i < n; i++) x[i] = rng_uniform(&rng);
}

TEST(draws_of_a_stream_are_serially_uncorrelated)
{
    static double x[DRAWS];
    for (uint64_t stream = 0; stream < STREAMS; stream++) {
        draw(x, DRAWS, 2, 0, "serial", stream);
        for (size_t lag = 1; lag <= 5; lag++) CHECK(uncorrelated(x, x + lag, DRAWS - lag));
    }
}

TEST(neighbouring_streams_are_uncorrelated)
{
    static double x[DRAWS], y[DRAWS];
    for (uint32_t i = 0; i < STREAMS; i++) {
        draw(x, DRAWS, 3 + i, i, "n", i);
        draw(y, DRAWS, 4 + i, i, "n", i);
        CHECK(uncorrelated(x, y, DRAWS));
        draw(y, DRAWS, 3 + i, i + 1, "n", i);
        CHECK(uncorrelated(x, y, DRAWS));
        draw(y, DRAWS, 3 + i, i, "n", i + 1);
        CHECK(uncorrelated(x, y, DRAWS));
        draw(y, DRAWS, 3 + i, i, "o", i);
        CHECK(uncorrelated(x, y, DRAWS));
    }
}

TEST(below_is_even_and_in_range)
{
    static const uint64_t sizes[] = {1, 2, 3, 7, 10, 64, 100};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        int counts[100] = {0};
        struct rng rng = test_rng(5, "below", s);
        for (int i = 0; i < DRAWS; i++) {
            uint64_t value = rng_below(&rng, sizes[s]);
            MUST(value < sizes[s]);
            counts[value]++;
        }
        if (sizes[s] > 1) CHECK(chi_square_p(counts, (int)sizes[s], DRAWS / (double)sizes[s]) > RARE);
    }
}

/* Of 3 * 2^62 values, a product without rejection draws every third one twice as often as the others. */
TEST(below_has_no_bias_where_it_would_be_largest)
{
    uint64_t n = UINT64_C(3) << 62;
    int counts[3] = {0};
    struct rng rng = test_rng(6, "below", 0);
    for (int i = 0; i < DRAWS; i++) counts[rng_below(&rng, n) % 3]++;
    CHECK(chi_square_p(counts, 3, DRAWS / 3.0) > RARE);
}

/* Kolmogorov-Smirnov: sqrt(n) times the largest gap to the distribution exceeds 2.47 with a chance of 1e-5. */
TEST(exponential_has_its_distribution)
{
    static double x[DRAWS];
    const double mean_s = 2.5;
    for (uint64_t stream = 0; stream < STREAMS; stream++) {
        struct rng rng = test_rng(7, "exponential", stream);
        for (int i = 0; i < DRAWS; i++) x[i] = rng_exponential(&rng, mean_s);
        qsort(x, DRAWS, sizeof x[0], real_compare);
        double gap = 0;
        for (int i = 0; i < DRAWS; i++) {
            double p = -expm1(-x[i] / mean_s);
            gap = fmax(gap, fmax(p - i / (double)DRAWS, (i + 1) / (double)DRAWS - p));
        }
        CHECK(x[0] > 0 && gap * sqrt(DRAWS) < 2.47);
    }
}

TEST(gsl_draws_from_the_stream_itself)
{
    struct rng a, b;
    rng_init(&a, 8, 0, "gsl", 0);
    b = a;
    gsl_rng gsl = rng_gsl(&a);
    CHECK_EQ_INT(gsl_rng_get(&gsl), rng_u32(&b));
    CHECK(gsl_rng_uniform(&gsl) == rng_uniform(&b));
    CHECK_EQ_INT(rng_u64(&a), rng_u64(&b));
}

TEST(gsl_distributions_repeat)
{
    struct rng a, b;
    rng_init(&a, 9, 1, "lengths", 0);
    rng_init(&b, 9, 1, "lengths", 0);
    gsl_rng gsl_a = rng_gsl(&a), gsl_b = rng_gsl(&b);
    double sum = 0;
    for (int i = 0; i < DRAWS; i++) {
        double x = gsl_ran_gamma(&gsl_a, 4, 0.5);
        CHECK(x == gsl_ran_gamma(&gsl_b, 4, 0.5));
        sum += x;
    }
    CHECK_NEAR(sum / DRAWS, 2, 4.4 / sqrt(DRAWS)); /* the standard deviation is 1 */
}

TEST(gsl_can_own_the_generator)
{
    gsl_rng *gsl = gsl_rng_alloc(rng_gsl_type);
    MUST(gsl != NULL);
    gsl_rng_set(gsl, 11);
    unsigned long first = gsl_rng_get(gsl);
    gsl_rng *clone = gsl_rng_clone(gsl);
    CHECK_EQ_INT(gsl_rng_get(gsl), gsl_rng_get(clone));
    gsl_rng_set(gsl, 11);
    CHECK_EQ_INT(gsl_rng_get(gsl), first);
    gsl_rng_free(clone);
    gsl_rng_free(gsl);
}
