/* The optimal widths of jobs on rented GPUs: the optimum of a linear program over tables, budgets that are spent, and
 * no deviation at equal mean bill that lowers the mean response time. */
#include "policies/lp.h"
#include "policies/rental/widths.h"
#include "tests/support/harness.h"

enum { CLASSES = 3, OPTIONS = 2, POINTS = 6, COLUMNS = CLASSES * OPTIONS * POINTS };

struct bed {
    struct speedup_point points[CLASSES][OPTIONS][POINTS];
    struct width_option options[CLASSES][OPTIONS];
    struct width_class classes[CLASSES];
    struct width_choice choices[CLASSES];
    struct widths_problem problem;
    struct widths_plan plan;
    struct rng rng;
};

static double between(struct rng *rng, double low, double high)
{
    return low + (high - low) * rng_uniform(rng);
}

/* Any rising table, concave or not. */
static void make_table(struct bed *bed, int i, int j)
{
    struct speedup_point *points = bed->points[i][j];
    points[0] = (struct speedup_point){1.0, 1.0};
    for (int k = 1; k < POINTS; k++) {
        points[k].gpus = points[k - 1].gpus + 1.0 + (double)rng_below(&bed->rng, 4);
        points[k].speed = points[k - 1].speed * between(&bed->rng, 1.0, points[k].gpus / points[k - 1].gpus);
    }
    bed->options[i][j].speedup = (struct speedup){.law = SPEEDUP_TABLE, .n_points = POINTS, .points = points};
}

static void make_law(struct bed *bed, int i, int j)
{
    struct speedup *speedup = &bed->options[i][j].speedup;
    *speedup = (struct speedup){.law = rng_below(&bed->rng, 2) == 0 ? SPEEDUP_POWER : SPEEDUP_AMDAHL,
                                .exponent = between(&bed->rng, 0.2, 0.9), .parallel_frac = between(&bed->rng, 0.3, 0.97)};
}

static void make(struct bed *bed, uint64_t round, bool tables)
{
    rng_init(&bed->rng, round, 0, "rental-widths", 0);
    for (int i = 0; i < CLASSES; i++) {
        for (int j = 0; j < OPTIONS; j++) {
            bed->options[i][j] = (struct width_option){.speed = between(&bed->rng, 0.5, 2.0), .pays_start_up = true,
                                                       .price = between(&bed->rng, 0.5, 4.0)};
            if (rng_below(&bed->rng, 2) == 0) bed->options[i][j].start_up_s = between(&bed->rng, 0.0, 0.5);
            if (tables)
                make_table(bed, i, j);
            else
                make_law(bed, i, j);
        }
        bed->classes[i] = (struct width_class){.rate_per_s = between(&bed->rng, 0.1, 1.0), .size = between(&bed->rng, 0.5, 5.0),
                                               .weight = between(&bed->rng, 0.5, 2.0), .most_gpus = 1e6,
                                               .n_options = OPTIONS, .options = bed->options[i]};
    }
    bed->problem = (struct widths_problem){.n = CLASSES, .classes = bed->classes};
    CHECK(!widths_solve(&bed->problem, bed->choices, &bed->plan)); /* with no budget */
    bed->problem.budget = bed->plan.least * between(&bed->rng, 1.001, 4.0);
}

/* Mean response time of the jobs of a class. */
static double mean_time_s(const struct width_class *of, const struct width_choice *choice)
{
    return (1.0 - choice->high_frac) * width_time_s(of, choice->low) +
           choice->high_frac * width_time_s(of, choice->high);
}

/* Weighted jobs in the system. */
static double value_of(const struct bed *bed, const struct width_choice *choices)
{
    double sum = 0.0;
    for (int i = 0; i < CLASSES; i++)
        sum += bed->classes[i].weight * bed->classes[i].rate_per_s * mean_time_s(&bed->classes[i], &choices[i]);
    return sum;
}

/* The same as a linear program: the share of each class's jobs on each point of each table. */
static double linear_optimum(const struct bed *bed)
{
    static double matrix[(CLASSES + 1) * COLUMNS];
    double cost[COLUMNS], lower[COLUMNS] = {0}, upper[COLUMNS], row_lower[CLASSES + 1], row_upper[CLASSES + 1],
                          x[COLUMNS];
    for (int c = 0; c < COLUMNS; c++) {
        const int i = c / (OPTIONS * POINTS), j = c / POINTS % OPTIONS;
        const struct width_class *of = &bed->classes[i];
        const struct width width = {j, bed->points[i][j][c % POINTS].gpus};
        const double jobs = of->rate_per_s * width_time_s(of, width);
        cost[c] = of->weight * jobs;
        upper[c] = 1.0;
        for (int row = 0; row < CLASSES; row++) matrix[row * COLUMNS + c] = row == i ? 1.0 : 0.0;
        matrix[CLASSES * COLUMNS + c] = jobs * of->options[j].price * width.gpus / bed->problem.budget;
    }
    for (int row = 0; row < CLASSES; row++) row_lower[row] = row_upper[row] = 1.0;
    row_lower[CLASSES] = -(double)INFINITY;
    row_upper[CLASSES] = 1.0;
    const struct lp lp = {.columns = COLUMNS, .rows = CLASSES + 1, .cost = cost, .lower = lower, .upper = upper,
                          .matrix = matrix, .row_lower = row_lower, .row_upper = row_upper};
    if (!CHECK(lp_solve(&lp, x) == LP_OPTIMAL)) return (double)NAN;
    double sum = 0.0;
    for (int c = 0; c < COLUMNS; c++) sum += cost[c] * x[c];
    return sum;
}

TEST(tables_as_a_linear_program)
{
    for (uint64_t round = 0; round < 300; round++) {
        struct bed bed = {0};
        make(&bed, round, true);
        MUST(widths_solve(&bed.problem, bed.choices, &bed.plan));
        int mixing = 0;
        for (int i = 0; i < CLASSES; i++) mixing += bed.choices[i].high_frac > 0.0;
        CHECK(mixing <= 1);
        CHECK(bed.plan.spent <= bed.problem.budget * (1.0 + 1e-9));
        const double optimum = linear_optimum(&bed);
        CHECK_NEAR(value_of(&bed, bed.choices), optimum, 1e-7 * optimum);
    }
}

/* Some mix of two widths on any GPUs, in every class. */
static void deviate(struct bed *bed, struct width_choice *choices)
{
    for (int i = 0; i < CLASSES; i++) {
        struct width *low = &choices[i].low, *high = &choices[i].high;
        *low = bed->choices[i].low;
        *high = (struct width){(int)rng_below(&bed->rng, OPTIONS), 0.0};
        if (rng_below(&bed->rng, 2) == 0) low->option = (int)rng_below(&bed->rng, OPTIONS);
        low->gpus = fmax(1.0, low->gpus * exp(between(&bed->rng, -1.0, 1.0)));
        high->gpus = fmax(1.0, bed->choices[i].low.gpus * exp(between(&bed->rng, -1.0, 1.0)));
        choices[i].high_frac = rng_uniform(&bed->rng);
    }
}

/* All widths scaled, down to 1, until the bill is the budget; false where they cannot. */
static bool scale_to_budget(const struct bed *bed, struct width_choice *choices)
{
    double low = 0.0, high = 1e4;
    struct width_choice scaled[CLASSES];
    for (int step = 0; step < 100; step++) {
        const double factor = 0.5 * (low + high);
        for (int i = 0; i < CLASSES; i++) {
            scaled[i] = choices[i];
            scaled[i].low.gpus = fmax(1.0, factor * choices[i].low.gpus);
            scaled[i].high.gpus = fmax(1.0, factor * choices[i].high.gpus);
        }
        *(widths_account(&bed->problem, scaled).spent < bed->problem.budget ? &low : &high) = factor;
    }
    const bool is_spent = fabs(widths_account(&bed->problem, scaled).spent - bed->problem.budget) <
                          1e-6 * bed->problem.budget;
    for (int i = 0; i < CLASSES; i++) choices[i] = scaled[i];
    return is_spent;
}

/* Two widths in a class stand for any rule that tells its jobs apart, also by their sizes: what counts of those that
 * get a width is their work. */
TEST(no_deviation_is_better)
{
    int tried = 0;
    for (uint64_t round = 0; round < 200; round++) {
        struct bed bed = {0};
        make(&bed, round, false);
        MUST(widths_solve(&bed.problem, bed.choices, &bed.plan));
        CHECK_NEAR(bed.plan.spent, bed.problem.budget, 1e-9 * bed.problem.budget);
        const double optimum = value_of(&bed, bed.choices);
        for (int i = 0; i < 20; i++) {
            struct width_choice choices[CLASSES];
            deviate(&bed, choices);
            if (!scale_to_budget(&bed, choices)) continue;
            tried++;
            CHECK(value_of(&bed, choices) >= optimum * (1.0 - 1e-6));
        }
    }
    CHECK(tried > 1000);
}

/* Class i gets `factor` times its widths, and class j as many as leave the bill where it was; false where it cannot. */
static bool shift(const struct bed *bed, int i, int j, double factor, struct width_choice *choices)
{
    double low = 1e-3, high = 1e3;
    for (int step = 0; step < 100; step++) {
        const double other = sqrt(low * high);
        for (int k = 0; k < CLASSES; k++) {
            const double scale = k == i ? factor : k == j ? other : 1.0;
            choices[k] = bed->choices[k];
            choices[k].low.gpus = fmax(1.0, scale * choices[k].low.gpus);
            choices[k].high.gpus = fmax(1.0, scale * choices[k].high.gpus);
        }
        *(widths_account(&bed->problem, choices).spent < bed->problem.budget ? &low : &high) = other;
    }
    return fabs(widths_account(&bed->problem, choices).spent - bed->problem.budget) < 1e-9 * bed->problem.budget;
}

static int shift_all(const struct bed *bed)
{
    static const double factors[] = {0.5, 0.8, 0.95, 1.05, 1.25, 2.0};
    const double optimum = value_of(bed, bed->choices);
    int tried = 0;
    for (int pair = 0; pair < CLASSES * CLASSES; pair++) {
        const int i = pair / CLASSES, j = pair % CLASSES;
        for (int f = 0; f < 6 && i != j; f++) {
            struct width_choice choices[CLASSES];
            if (!shift(bed, i, j, factors[f], choices)) continue;
            tried++;
            CHECK(value_of(bed, choices) >= optimum * (1.0 - 1e-9));
        }
    }
    return tried;
}

/* GPUs moved from one class to another at an equal mean, under each law of speedup for all classes. As in the theorem
 * nothing starts up: with that, a width between two points of a table can be better than both by some 1e-4. */
TEST_OPTIMISED(no_shift_between_classes_is_better)
{
    static const enum speedup_law laws[] = {SPEEDUP_POWER, SPEEDUP_AMDAHL, SPEEDUP_TABLE};
    for (int law = 0; law < 3; law++) {
        int tried = 0;
        for (uint64_t round = 0; round < 100; round++) {
            struct bed bed = {0};
            make(&bed, round, laws[law] == SPEEDUP_TABLE);
            for (int i = 0; i < CLASSES; i++)
                for (int j = 0; j < OPTIONS; j++) {
                    bed.options[i][j].speedup.law = laws[law];
                    bed.options[i][j].start_up_s = 0.0;
                }
            bed.problem.budget = 0.0;
            CHECK(!widths_solve(&bed.problem, bed.choices, &bed.plan));
            bed.problem.budget = bed.plan.least * between(&bed.rng, 1.001, 4.0);
            MUST(widths_solve(&bed.problem, bed.choices, &bed.plan));
            tried += shift_all(&bed);
        }
        CHECK(tried > 500);
    }
}

/* Whole GPUs cost a little, and never less than real-valued ones. */
TEST(whole_gpus_cost_little)
{
    for (uint64_t round = 0; round < 100; round++) {
        struct bed bed = {0};
        make(&bed, round, false);
        MUST(widths_solve(&bed.problem, bed.choices, &bed.plan));
        const double real = value_of(&bed, bed.choices);
        bed.problem.whole = true;
        MUST(widths_solve(&bed.problem, bed.choices, &bed.plan));
        CHECK(value_of(&bed, bed.choices) >= real * (1.0 - 1e-9));
        CHECK(value_of(&bed, bed.choices) <= real * 1.1);
        for (int i = 0; i < CLASSES; i++)
            CHECK(bed.choices[i].low.gpus == floor(bed.choices[i].low.gpus) &&
                  bed.choices[i].high.gpus == floor(bed.choices[i].high.gpus));
    }
}

TEST(too_small_a_budget)
{
    struct bed bed = {0};
    make(&bed, 1, false);
    bed.problem.budget = 0.99 * bed.plan.least;
    CHECK(!widths_solve(&bed.problem, bed.choices, &bed.plan));
    CHECK(bed.plan.least > bed.problem.budget);
}
