/* Loads of experts: nothing is lost, and expected values are those of drawing at random. */
#include "models/operators/moe.h"
#include "tests/support/harness.h"

enum { MAX_EXPERTS = 256, DRAWS = 200 };

static const struct expert_load_shape deepseek = {.chosen = 8.0, .experts = 256.0, .held = 256.0};
static const struct expert_load_shape mixtral = {.chosen = 2.0, .experts = 8.0, .held = 8.0};

static struct expert_load_shape with_tokens(struct expert_load_shape shape, double tokens)
{
    shape.tokens = tokens;
    return shape;
}

static struct expert_load_shape on_gpus(struct expert_load_shape shape, double gpus)
{
    shape.held = shape.experts / gpus;
    return shape;
}

static struct expert_load_shape with_choice(struct expert_load_shape shape, int choice)
{
    shape.in_turn = choice == 1;
    shape.skew = choice == 2 ? 1.01 : choice >= 3 ? 1.2 : 0.0;
    shape.dealt = choice == 4;
    return shape;
}

static void check_bounds(const struct expert_load_shape *shape, double tile_rows)
{
    const struct expert_load load = expert_load_of(shape, tile_rows);
    const double choices = shape->tokens * shape->chosen, slack = 1.0 + 1e-9;
    CHECK(load.touched > 0.0 && load.touched <= fmin(shape->held, choices) * slack);
    CHECK(load.rows <= choices * slack && load.rows <= shape->held * shape->tokens * slack);
    CHECK(load.tiles >= load.touched / slack && load.tiles * tile_rows >= load.rows / slack);
    CHECK(load.tiles <= (load.touched + load.rows / tile_rows) * slack);
    if (shape->held == shape->experts) CHECK_NEAR(load.rows, choices, 1e-9 * choices);
    if (shape->skew > 0.0) CHECK(load.rows * slack >= fmin(1.0, choices * shape->held / shape->experts));
}

TEST(nothing_is_lost)
{
    for (int choice = 0; choice < 5; choice++) {
        for (double tokens = 1.0; tokens < 1e5; tokens *= 2.0) {
            for (double gpus = 1.0; gpus <= 256.0; gpus *= 4.0) {
                const struct expert_load_shape many = on_gpus(with_tokens(with_choice(deepseek, choice), tokens), gpus);
                check_bounds(&many, 16.0);
                check_bounds(&many, 64.0);
                if (gpus > 8.0) continue;
                const struct expert_load_shape few = on_gpus(with_tokens(with_choice(mixtral, choice), tokens), gpus);
                check_bounds(&few, 64.0);
            }
        }
    }
}

TEST(turns_touch_all_alike)
{
    const struct expert_load_shape shape = with_choice(deepseek, 1);
    const struct expert_load_shape few = with_tokens(shape, 16.0), many = with_tokens(shape, 4096.0);
    CHECK(expert_load_of(&few, 16.0).touched == 128.0);
    CHECK(expert_load_of(&few, 16.0).tiles == 128.0);
    CHECK(expert_load_of(&many, 64.0).touched == 256.0);
    CHECK(expert_load_of(&many, 64.0).tiles == 512.0);
}

/* At a skew of 2 and of 3 a moment of the law is a logarithm. */
TEST(load_is_continuous_in_the_skew)
{
    for (double skew = 2.0; skew <= 3.0; skew += 1.0) {
        for (double gpus = 1.0; gpus <= 16.0; gpus *= 4.0) {
            struct expert_load_shape shape = on_gpus(with_tokens(deepseek, 512.0), gpus);
            shape.skew = skew;
            const struct expert_load at = expert_load_of(&shape, 16.0);
            CHECK(at.touched > 0.0 && at.rows > 0.0);
            shape.skew = skew * (1.0 + 1e-7);
            const struct expert_load above = expert_load_of(&shape, 16.0);
            CHECK_NEAR(above.rows / at.rows, 1.0, 1e-4);
            CHECK_NEAR(above.touched / at.touched, 1.0, 1e-2);
        }
    }
}

/* Tiles of rows that the counts fill. */
static struct expert_load count(const double *rows, int n, double tile_rows)
{
    struct expert_load load = {0.0, 0.0, 0.0};
    for (int i = 0; i < n; i++) {
        load.touched += rows[i] > 0.0;
        load.rows += rows[i];
        load.tiles += ceil(rows[i] / tile_rows);
    }
    return load;
}

/* Each token draws distinct experts. */
static void draw_independently(struct rng *rng, const struct expert_load_shape *shape, double rows[MAX_EXPERTS])
{
    memset(rows, 0, MAX_EXPERTS * sizeof *rows);
    for (int token = 0; token < (int)shape->tokens; token++) {
        bool taken[MAX_EXPERTS] = {false};
        for (int chosen = 0; chosen < (int)shape->chosen;) {
            const size_t expert = (size_t)rng_below(rng, (uint64_t)shape->experts);
            if (taken[expert]) continue;
            taken[expert] = true;
            rows[expert] += 1.0;
            chosen++;
        }
    }
}

/* Adds `left` rows, each to the emptiest expert of the next GPU. */
static void deal(const struct expert_load_shape *shape, double left, double rows[MAX_EXPERTS])
{
    const int n = (int)shape->experts, held = (int)shape->held;
    for (int first = 0; left > 0.5; first = (first + held) % n, left -= 1.0) {
        int least = first;
        for (int i = first; i < first + held; i++)
            if (rows[i] < rows[least]) least = i;
        rows[least] += 1.0;
    }
}

/* Rows of a power law, rounded, none above the tokens; what is missing then goes to experts without rows, in order, and
 * then to those that have room; `dealt`, to one GPU after the other. */
static void draw_power_law(struct rng *rng, const struct expert_load_shape *shape, double rows[MAX_EXPERTS])
{
    const int n = (int)shape->experts;
    const double choices = shape->tokens * shape->chosen, power = 1.0 - shape->skew;
    const bool many = choices > shape->experts;
    const double low = pow(many ? 1.0 : 0.01, power), high = pow(many ? 0.8 * shape->tokens : 2.0, power);
    double sum = 0.0, left = choices;
    for (int i = 0; i < n; i++) sum += rows[i] = pow(low + (high - low) * rng_uniform(rng), 1.0 / power);
    for (int i = 0; i < n; i++) left -= rows[i] = fmin(round(rows[i] / sum * choices), shape->tokens);
    if (shape->dealt) {
        deal(shape, left, rows);
        return;
    }
    for (int i = 0; i < n && left > 0.0; i++) {
        if (rows[i] > 0.0) continue;
        rows[i] = 1.0;
        left -= 1.0;
    }
    for (int i = 0; i < n && left > 0.0; i++) {
        const double more = fmin(left, shape->tokens - rows[i]);
        rows[i] += more;
        left -= more;
    }
}

/* The first expert of the GPU with the most rows. */
static int busiest(const struct expert_load_shape *shape, const double rows[MAX_EXPERTS])
{
    const int held = (int)shape->held;
    int best = 0;
    double most = -1.0;
    for (int first = 0; first < (int)shape->experts; first += held) {
        const double sum = count(rows + first, held, 1.0).rows;
        if (sum <= most) continue;
        most = sum;
        best = first;
    }
    return best;
}

static struct expert_load mean_of_draws(const struct expert_load_shape *shape, double tile_rows)
{
    struct expert_load mean = {0.0, 0.0, 0.0};
    struct rng rng = test_rng(3, "experts", 0);
    for (int i = 0; i < DRAWS; i++) {
        double rows[MAX_EXPERTS];
        if (shape->skew > 0.0)
            draw_power_law(&rng, shape, rows);
        else
            draw_independently(&rng, shape, rows);
        const int first = shape->skew > 0.0 ? busiest(shape, rows) : 0;
        const struct expert_load load = count(rows + first, (int)shape->held, tile_rows);
        mean.touched += load.touched / DRAWS;
        mean.rows += load.rows / DRAWS;
        mean.tiles += load.tiles / DRAWS;
    }
    return mean;
}

static void check_draws(struct expert_load_shape shape, double tokens, double gpus, double tile_rows, double tolerance)
{
    shape = on_gpus(with_tokens(shape, tokens), gpus);
    const struct expert_load expected = expert_load_of(&shape, tile_rows), drawn = mean_of_draws(&shape, tile_rows);
    CHECK_NEAR(expected.touched / drawn.touched, 1.0, tolerance);
    CHECK_NEAR(expected.rows / drawn.rows, 1.0, tolerance);
    CHECK_NEAR(expected.tiles / drawn.tiles, 1.0, tolerance);
}

TEST(independent_choices_as_drawn)
{
    for (double tokens = 1.0; tokens <= 512.0; tokens *= 8.0) {
        check_draws(deepseek, tokens, 1.0, 16.0, 0.06);
        check_draws(mixtral, tokens, 1.0, 64.0, 0.06);
    }
}

TEST(power_laws_as_drawn)
{
    for (int choice = 2; choice < 4; choice++) {
        for (double tokens = 64.0; tokens <= 4096.0; tokens *= 8.0) {
            for (double gpus = 1.0; gpus <= 64.0; gpus *= 8.0)
                check_draws(with_choice(deepseek, choice), tokens, gpus, 64.0, tokens < 512.0 ? 0.2 : 0.12);
            check_draws(with_choice(mixtral, choice), tokens, 1.0, 64.0, 0.1);
        }
    }
}

/* Of few choices nearly all are dealt: each GPU gets its share, the busiest one no more than its neighbours. */
TEST(dealt_rests_as_drawn)
{
    for (double tokens = 1.0; tokens <= 16.0; tokens *= 4.0)
        for (double gpus = 1.0; gpus <= 64.0; gpus *= 8.0)
            check_draws(with_choice(deepseek, 4), tokens, gpus, 64.0, 0.35);
    check_draws(with_choice(deepseek, 4), 1.0, 8.0, 64.0, 1e-9);
}

TEST(skew_makes_one_gpu_busier)
{
    for (double gpus = 2.0; gpus <= 256.0; gpus *= 2.0) {
        struct expert_load_shape shape = on_gpus(with_tokens(deepseek, 2048.0), gpus);
        const double fair = expert_load_of(&shape, 64.0).rows;
        shape.skew = 1.01;
        const double busy = expert_load_of(&shape, 64.0).rows;
        shape.skew = 1.2;
        const double busier = expert_load_of(&shape, 64.0).rows;
        CHECK(fair < busy && busy < busier);
    }
}

/* At an exponent of 1 the law has another formula, and the same values as its neighbours. */
TEST(an_exponent_of_one_is_no_gap)
{
    struct expert_load_shape shape = on_gpus(with_tokens(deepseek, 777.0), 8.0);
    shape.skew = 1.0;
    const struct expert_load at_one = expert_load_of(&shape, 64.0);
    shape.skew = 0.998;
    CHECK_NEAR(expert_load_of(&shape, 64.0).rows / at_one.rows, 1.0, 0.01);
    shape.skew = 1.002;
    CHECK_NEAR(expert_load_of(&shape, 64.0).rows / at_one.rows, 1.0, 0.01);
}
