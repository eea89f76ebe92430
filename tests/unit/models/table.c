#include "models/stated.h"
#include "tests/support/harness.h"

TEST(duplicates_become_their_median)
{
    struct table_point points[] = {{512, 3.0}, {128, 1.5}, {512, 1.0}, {512, 2.0}, {128, 0.5}, {64, 7.0}};
    CHECK_EQ_INT(table_reduce(points, 6), 3);
    CHECK(points[0].tokens == 64 && points[0].seconds == 7.0);
    CHECK(points[1].tokens == 128 && points[1].seconds == 1.0);
    CHECK(points[2].tokens == 512 && points[2].seconds == 2.0);
}

/* The order of the measurements has no effect, and reducing twice changes nothing. */
TEST(reduction_forgets_the_order)
{
    enum { N = 200 };
    struct rng rng = test_rng(1, "table", 0);
    struct table_point points[N], shuffled[N];
    for (int i = 0; i < N; i++) points[i] = (struct table_point){(double)rng_below(&rng, 20), rng_uniform(&rng)};
    for (int i = 0; i < N; i++) shuffled[(i * 77) % N] = points[i];
    const size_t n = table_reduce(points, N), m = table_reduce(shuffled, N);
    MUST(n == m && n == 20);
    for (size_t i = 0; i < n; i++)
        CHECK(points[i].tokens == shuffled[i].tokens && points[i].seconds == shuffled[i].seconds);
    CHECK_EQ_INT(table_reduce(points, n), (int64_t)n);
}

static const struct table_point bent[] = {{100, 10.0}, {200, 12.0}, {400, 20.0}};
static const struct table_point flat[] = {{100, 5.0}, {300, 6.0}};
static const struct table model = {.prefill = {bent, 3}, .decode = {flat, 2}, .mixed_factor = 1.1};

TEST(curves_are_linear_between_and_beyond)
{
    static const struct {
        double tokens, seconds;
        bool extrapolated;
    } cases[] = {{100, 10, false}, {150, 11, false}, {200, 12, false}, {300, 16, false}, {400, 20, false},
                 {500, 24, true},  {50, 9, true},    {0, 8, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool extrapolated = !cases[i].extrapolated;
        CHECK_NEAR(table_curve_s(&model.prefill, cases[i].tokens, &extrapolated), cases[i].seconds, 1e-12);
        CHECK(extrapolated == cases[i].extrapolated);
    }
}

TEST(curves_never_go_below_zero)
{
    const struct table_point steep[] = {{100, 1.0}, {101, 2.0}};
    bool extrapolated;
    CHECK(table_curve_s(&(struct table_curve){steep, 2}, 0.0, &extrapolated) == 0.0);
    CHECK(table_curve_s(&(struct table_curve){steep, 1}, 5000.0, &extrapolated) == 1.0);
    CHECK(extrapolated);
}

TEST(batches_choose_their_curve)
{
    struct iteration_cost cost;
    table_cost(&model, &(struct iteration_work){.prefill_sequences = 2, .prefill_tokens = 300}, &cost);
    CHECK_NEAR(cost.first_s, 16.0, 1e-12);
    CHECK_EQ_INT(cost.until, 1);
    table_cost(&model, &(struct iteration_work){.decode_sequences = 200, .decode_context_tokens = 99}, &cost);
    CHECK_NEAR(cost.first_s, 5.5, 1e-12);
    CHECK(cost.slope_s == 0.0 && cost.until == INT64_MAX && cost.extrapolated_frac == 0.0);
    table_cost(&model, &(struct iteration_work){.prefill_sequences = 1, .prefill_tokens = 250, .decode_sequences = 50},
               &cost);
    CHECK_NEAR(cost.first_s, 1.1 * 16.0, 1e-12);
}
