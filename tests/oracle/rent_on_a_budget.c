/* "How to Rent GPUs on a Budget" (arXiv 2406.15560): the optimum of its Fig. 1 as read off the plot, and worked cases
 * of the convex program it stands for, to four digits. */
#include "policies/rental/widths.h"
#include "tests/support/harness.h"

enum { MOST_CLASSES = 3 };

static const struct speedup root = {.law = SPEEDUP_POWER, .exponent = 0.5};
static const struct speedup mostly_parallel = {.law = SPEEDUP_AMDAHL, .parallel_frac = 0.8};

struct bed {
    struct width_class classes[MOST_CLASSES];
    struct width_option options[MOST_CLASSES];
    struct width_choice choices[MOST_CLASSES];
    struct widths_problem problem;
    struct widths_plan plan;
};

static void add(struct bed *bed, struct speedup speedup, double rate_per_s, double size)
{
    const int i = bed->problem.n++;
    bed->options[i] = (struct width_option){.speedup = speedup, .speed = 1.0, .price = 1.0};
    bed->classes[i] = (struct width_class){.rate_per_s = rate_per_s, .size = size, .weight = 1.0, .most_gpus = 1e9,
                                           .n_options = 1, .options = &bed->options[i]};
    bed->problem.classes = bed->classes;
}

static void figure_1(struct bed *bed)
{
    *bed = (struct bed){0};
    add(bed, mostly_parallel, 0.4, 1.0);
    add(bed, root, 0.4, 1.0);
}

static bool solve(struct bed *bed, double budget)
{
    bed->problem.budget = budget;
    return CHECK(widths_solve(&bed->problem, bed->choices, &bed->plan));
}

static double rate(const struct bed *bed)
{
    double sum = 0.0;
    for (int i = 0; i < bed->problem.n; i++) sum += bed->classes[i].rate_per_s;
    return sum;
}

static double response_s(const struct bed *bed)
{
    return bed->plan.jobs_in_system / rate(bed);
}

/* Half of the last digit that is given, or four digits. */
static bool near(double actual, double expected, double digit)
{
    return CHECK_NEAR(actual, expected, fmax(0.5 * digit, 5e-5 * fabs(expected)));
}

static void check_figure_1(double budget, double width_1, double width_2, double time_s)
{
    struct bed bed;
    figure_1(&bed);
    MUST(solve(&bed, budget));
    near(bed.choices[0].low.gpus, width_1, 1e-4);
    near(bed.choices[1].low.gpus, width_2, 1e-4);
    near(response_s(&bed), time_s, 1e-5);
    CHECK_NEAR(bed.plan.spent, budget, 1e-9);
    CHECK(bed.choices[0].high_frac == 0.0 && bed.choices[1].high_frac == 0.0);
}

TEST(as_read_off_the_plot) /* R1 */
{
    struct bed bed;
    figure_1(&bed);
    MUST(solve(&bed, 3.2));
    CHECK_NEAR(bed.choices[0].low.gpus, 10.28, 0.3);
    CHECK_NEAR(bed.choices[1].low.gpus, 26.44, 0.3);
}

TEST(two_classes) /* R2 to R9 */
{
    check_figure_1(3.2, 10.286, 26.449, 0.2361);
    check_figure_1(0.8, 1.0, 1.0, 1.0);
    check_figure_1(0.88, 2.0, 1.0, 0.8);
    check_figure_1(1.0, 2.4286, 1.4745, 0.67647);
    check_figure_1(1.5, 4.2143, 4.4401, 0.43220);
    check_figure_1(2.0, 6.0, 9.0, 1.0 / 3.0);
    check_figure_1(2.5, 7.7857, 15.1543, 0.27982);
    check_figure_1(3.0, 9.5714, 22.9031, 0.24627);
}

/* Mean response time of the jobs of a class. */
static double mean_time_s(const struct width_class *of, const struct width_choice *choice)
{
    return (1.0 - choice->high_frac) * width_time_s(of, choice->low) +
           choice->high_frac * width_time_s(of, choice->high);
}

TEST(response_of_each_class) /* R5 and R7 */
{
    struct bed bed;
    figure_1(&bed);
    MUST(solve(&bed, 1.0));
    near(mean_time_s(&bed.classes[0], &bed.choices[0]), 0.52941, 1e-5);
    near(mean_time_s(&bed.classes[1], &bed.choices[1]), 0.82353, 1e-5);
    MUST(solve(&bed, 2.0));
    near(mean_time_s(&bed.classes[0], &bed.choices[0]), 1.0 / 3.0, 1e-9);
    near(mean_time_s(&bed.classes[1], &bed.choices[1]), 1.0 / 3.0, 1e-9);
}

TEST(rented_gpus_vary) /* R3, R6 and R9 */
{
    static const double cases[][2] = {{0.8, 0.894}, {1.5, 2.552}, {3.0, 7.364}};
    for (int i = 0; i < 3; i++) {
        struct bed bed;
        figure_1(&bed);
        MUST(solve(&bed, cases[i][0]));
        near(sqrt(bed.plan.spent_variance), cases[i][1], 1e-3);
    }
}

/* The one width of all classes that spends the budget. */
TEST(same_width_costs_time) /* R11 */
{
    struct bed bed;
    figure_1(&bed);
    double low = 1.0, high = 100.0;
    for (int i = 0; i < 60; i++) {
        const double gpus = 0.5 * (low + high);
        for (int j = 0; j < 2; j++) bed.choices[j] = (struct width_choice){{0, gpus}, {0, gpus}, 0.0};
        bed.plan = widths_account(&bed.problem, bed.choices);
        *(bed.plan.spent < 3.0 ? &low : &high) = gpus;
    }
    near(low, 14.476, 1e-3);
    near(response_s(&bed), 0.25905, 1e-5);
}

TEST(one_class_of_a_power) /* R13 */
{
    static const double cases[][3] = {{0.3, 2.6918, 0.743}, {0.5, 4.0, 0.5}, {0.7, 10.0794, 0.19843}, {0.9, 1024.0, 0.00195}};
    static const double digits[] = {1e-3, 1e-3, 1e-5, 1e-5};
    for (int i = 0; i < 4; i++) {
        struct bed bed = {0};
        add(&bed, (struct speedup){.law = SPEEDUP_POWER, .exponent = cases[i][0]}, 0.5, 3.0);
        MUST(solve(&bed, 3.0));
        near(bed.choices[0].low.gpus, cases[i][1], 1e-4);
        near(response_s(&bed) / 3.0, cases[i][2], digits[i]);
    }
}

TEST(one_class_of_amdahl) /* R14 */
{
    static const double cases[][3] = {{0.5, 3.0, 0.66667}, {0.8, 6.0, 0.33333}, {0.9, 11.0, 0.18182}, {0.99, 101.0, 0.0198}};
    for (int i = 0; i < 4; i++) {
        struct bed bed = {0};
        add(&bed, (struct speedup){.law = SPEEDUP_AMDAHL, .parallel_frac = cases[i][0]}, 2.0, 0.25);
        MUST(solve(&bed, 1.0));
        near(bed.choices[0].low.gpus, cases[i][1], 1e-4);
        near(response_s(&bed) / 0.25, cases[i][2], i == 3 ? 1e-4 : 1e-5);
    }
}

TEST(three_classes) /* R15 and R16 */
{
    static const double cases[][5] = {{6.0, 2.3159, 9.2635, 4.5654, 0.75955},
                                      {8.0, 6.3624, 25.4496, 7.5671, 0.45031},
                                      {12.0, 22.5805, 90.3221, 14.2557, 0.25181}};
    struct bed bed = {0};
    add(&bed, root, 1.0, 1.0);
    add(&bed, (struct speedup){.law = SPEEDUP_POWER, .exponent = 0.8}, 0.2, 10.0);
    add(&bed, (struct speedup){.law = SPEEDUP_AMDAHL, .parallel_frac = 0.9}, 0.5, 2.0);
    for (int i = 0; i < 3; i++) {
        MUST(solve(&bed, cases[i][0]));
        for (int j = 0; j < 3; j++) near(bed.choices[j].low.gpus, cases[i][1 + j], 1e-4);
        near(response_s(&bed), cases[i][4], 1e-5);
        if (i == 0) near(bed.plan.price, 2.31588, 1e-5);
    }
}

static void check_mix(struct bed *bed, double budget, const double expected[4])
{
    bed->problem.whole = true;
    MUST(solve(bed, budget));
    const struct width_choice *choice = &bed->choices[0];
    CHECK(choice->low.gpus == expected[0] && choice->high.gpus == expected[0] + 1.0);
    near(choice->high_frac, expected[1], 1e-5);
    near(response_s(bed), expected[2], 1e-6);
    CHECK_NEAR(bed->plan.spent, budget, 1e-12);
    bed->problem.whole = false;
    MUST(solve(bed, budget));
    near(response_s(bed), expected[3], 1e-6);
}

TEST(whole_gpus_mix_neighbours) /* R17 and R18 */
{
    struct bed bed = {0}, other = {0};
    add(&bed, root, 1.0, 1.0);
    check_mix(&bed, 2.5, (const double[]){6.0, 0.25736, 0.400454, 0.4});
    add(&other, mostly_parallel, 0.4, 1.0);
    check_mix(&other, 1.0, (const double[]){8.0, 0.5, 0.294444, 0.294118});
}

/* With start-up that is paid, at price 4: jobs' sizes matter, short ones are narrower. */
TEST(start_up_narrows_short_jobs)
{
    static const double cases[][5] = {{0.0, 4.0, 4.0, 4.0}, {0.1, 2.9742, 3.8490, 3.9841}, {1.0, 1.2396, 2.9742, 3.8490}};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            struct bed bed = {0};
            add(&bed, root, 1.0, pow(10.0, j));
            bed.options[0].start_up_s = cases[i][0];
            bed.options[0].pays_start_up = true;
            near(width_at_price(bed.classes, 4.0, false).gpus, cases[i][1 + j], 1e-4);
        }
    }
}
