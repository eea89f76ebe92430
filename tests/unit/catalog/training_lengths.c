/* Lengths that are drawn: the laws by their median, tail and mean; batches and seeds that differ. */
#include "sim/catalog/training_lengths.h"
#include "sim/core/mem.h"
#include "tests/support/harness.h"

#include <math.h>
#include <string.h>

enum { EQUAL, LOGNORMAL, PARETO, BATCHES = 64, SEQUENCES = 4096, DRAWS = BATCHES * SEQUENCES };

static struct training_config config_of(int law, double spread)
{
    return (struct training_config){.global_batch = SEQUENCES, .sequence_tokens = 1 << 26,
                                    .lengths = {.law = law, .median_tokens = 10000, .spread = spread,
                                                .batches = BATCHES, .seed = 1}};
}

static const struct training_lengths *draw(const struct training_config *config, struct arena *arena)
{
    struct training_lengths *lengths;
    struct diag diag;
    diag_init(&diag);
    CHECK_EQ_INT(training_lengths_draw(config, "plan", arena, &lengths, &diag), 0);
    return lengths;
}

/* Share of the draws that are longer. */
static double beyond(const struct training_lengths *lengths, double tokens)
{
    double n = 0.0;
    for (int64_t i = 0; i < DRAWS; i++) n += (double)lengths->tokens[i] > tokens;
    return n / DRAWS;
}

static double mean_of(const struct training_lengths *lengths)
{
    double sum = 0.0;
    for (int64_t i = 0; i < DRAWS; i++) sum += (double)lengths->tokens[i];
    return sum / DRAWS;
}

/* 262,144 draws: a share near a half has a standard deviation of 0.001, and each check allows four. */
TEST(lognormal_lengths_have_their_median_spread_and_mean)
{
    for (int i = 1; i <= 3; i++) {
        const double spread = 0.4 * i;
        struct arena arena;
        arena_init(&arena);
        const struct training_config config = config_of(LOGNORMAL, spread);
        const struct training_lengths *lengths = draw(&config, &arena);
        CHECK_NEAR(beyond(lengths, 10000.0), 0.5, 0.004);
        CHECK_NEAR(beyond(lengths, 10000.0 * exp(spread)), 0.158655, 0.003);
        CHECK_NEAR(beyond(lengths, 10000.0 * exp(-spread)), 1.0 - 0.158655, 0.003);
        CHECK_NEAR(beyond(lengths, 10000.0 * exp(2.0 * spread)), 0.022750, 0.0012);
        const double mean = 10000.0 * exp(0.5 * spread * spread);
        const double deviation = mean * sqrt(exp(spread * spread) - 1.0);
        CHECK_NEAR(mean_of(lengths), mean, 4.0 * deviation / sqrt(DRAWS));
        CHECK_NEAR(lengths->step_tokens / (mean_of(lengths) * SEQUENCES), 1.0, 1e-9);
        arena_fini(&arena);
    }
}

/* A share (x/median)^(-1/spread)/2 is longer than x, and none is shorter than median/2^spread. */
TEST(pareto_lengths_have_their_median_and_tail)
{
    for (int i = 1; i <= 3; i++) {
        const double spread = 0.25 * i;
        struct arena arena;
        arena_init(&arena);
        const struct training_config config = config_of(PARETO, spread);
        const struct training_lengths *lengths = draw(&config, &arena);
        for (double factor = 1.0; factor <= 8.0; factor *= 2.0) {
            const double share = 0.5 * pow(factor, -1.0 / spread);
            CHECK_NEAR(beyond(lengths, 10000.0 * factor), share, 4.0 * sqrt(share / DRAWS) + 1e-5);
        }
        const double least = 10000.0 * pow(2.0, -spread);
        CHECK_NEAR(beyond(lengths, least - 1.0), 1.0, 0.0);
        CHECK(beyond(lengths, least * 1.01) < 1.0);
        arena_fini(&arena);
    }
}

TEST(no_sequence_is_longer_than_the_plan_has_them)
{
    struct arena arena;
    arena_init(&arena);
    struct training_config config = config_of(LOGNORMAL, 2.0);
    config.sequence_tokens = 20000;
    const struct training_lengths *lengths = draw(&config, &arena);
    CHECK_NEAR(beyond(lengths, 20000.0), 0.0, 0.0);
    CHECK_NEAR(beyond(lengths, 19999.0), 0.364456, 0.004); /* of a normal law beyond half of ln 2 */
    int64_t n_rising = 0;
    for (int64_t i = 1; i < DRAWS; i++) n_rising += i % SEQUENCES != 0 && lengths->tokens[i] > lengths->tokens[i - 1];
    CHECK_EQ_INT(n_rising, 0); /* in each batch the longest is the first */
    arena_fini(&arena);
}

TEST(batches_and_seeds_differ)
{
    struct arena arena;
    arena_init(&arena);
    struct training_config config = config_of(LOGNORMAL, 1.0);
    const struct training_lengths *lengths = draw(&config, &arena), *again = draw(&config, &arena);
    const size_t bytes = SEQUENCES * sizeof *lengths->tokens;
    for (int64_t batch = 1; batch < BATCHES; batch++)
        CHECK(memcmp(lengths->tokens, lengths->tokens + batch * SEQUENCES, bytes) != 0);
    CHECK(memcmp(lengths->tokens, again->tokens, BATCHES * bytes) == 0);
    config.lengths.seed = 2;
    CHECK(memcmp(lengths->tokens, draw(&config, &arena)->tokens, bytes) != 0);
    arena_fini(&arena);
}
