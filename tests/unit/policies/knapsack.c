/* The choice of allocations against all combinations of small problems; and by prices, which is never infeasible and
 * not far from the optimum. */
#include "policies/scheduler/goodput/knapsack.h"
#include "tests/support/harness.h"

#include <math.h>

enum { MOST_JOBS = 40, MOST_CHOICES = 12 };

struct problem {
    struct knapsack knapsack;
    size_t starts[MOST_JOBS + 1];
    struct knapsack_choice choices[MOST_JOBS * MOST_CHOICES];
    int64_t gpus[3];
    int32_t picked[MOST_JOBS];
};

/* Concave values, as of goodput, or any. */
static void draw(struct problem *problem, struct rng *rng, size_t n, int types, int64_t most_gpus, bool is_concave)
{
    size_t end = 0;
    problem->knapsack = (struct knapsack){.n = n, .starts = problem->starts, .choices = problem->choices, .types = types,
                                          .gpus = problem->gpus};
    for (int j = 0; j < types; j++) problem->gpus[j] = 1 + (int64_t)rng_below(rng, (uint64_t)most_gpus);
    for (size_t i = 0; i < n; i++) {
        const double weight = 0.1 + rng_uniform(rng);
        problem->starts[i] = end;
        for (int32_t c = 0, m = (int32_t)rng_below(rng, MOST_CHOICES); c < m; c++) {
            const int32_t gpus = 1 + (int32_t)rng_below(rng, 8);
            const double value = is_concave ? weight * sqrt(gpus) : rng_uniform(rng);
            problem->choices[end++] = (struct knapsack_choice){value, gpus, (int32_t)rng_below(rng, (uint64_t)types)};
        }
    }
    problem->starts[n] = end;
}

/* The sum of values; checks the GPUs. */
static double worth(const struct problem *problem)
{
    int64_t left[3] = {problem->gpus[0], problem->gpus[1], problem->gpus[2]};
    double sum = 0;
    for (size_t i = 0; i < problem->knapsack.n; i++) {
        if (problem->picked[i] < 0) continue;
        const struct knapsack_choice *choice = &problem->choices[problem->starts[i] + (size_t)problem->picked[i]];
        CHECK(problem->starts[i] + (size_t)problem->picked[i] < problem->starts[i + 1]);
        left[choice->type] -= choice->gpus;
        sum += choice->value;
    }
    for (int j = 0; j < problem->knapsack.types; j++) CHECK(left[j] >= 0);
    return sum;
}

/* All combinations, job by job. */
static double best_from(const struct problem *problem, size_t job, int64_t left[3])
{
    if (job == problem->knapsack.n) return 0;
    double best = best_from(problem, job + 1, left);
    for (size_t c = problem->starts[job]; c < problem->starts[job + 1]; c++) {
        const struct knapsack_choice *choice = &problem->choices[c];
        if (choice->gpus > left[choice->type]) continue;
        left[choice->type] -= choice->gpus;
        best = fmax(best, choice->value + best_from(problem, job + 1, left));
        left[choice->type] += choice->gpus;
    }
    return best;
}

TEST(exact_solution_is_the_best_of_all)
{
    for (uint64_t round = 0; round < 300; round++) {
        struct rng rng = test_rng(1, "knapsack", round);
        struct problem problem = {0};
        draw(&problem, &rng, 1 + rng_below(&rng, 5), 1 + (int)(round % 3), 12, round % 2 == 0);
        CHECK_EQ_INT(knapsack_solve(&problem.knapsack, problem.picked), 1);
        int64_t left[3] = {problem.gpus[0], problem.gpus[1], problem.gpus[2]};
        CHECK_NEAR(worth(&problem), best_from(&problem, 0, left), 1e-9);
    }
}

TEST(prices_come_near)
{
    double exact = 0, priced = 0;
    for (uint64_t round = 0; round < 60; round++) {
        struct rng rng = test_rng(2, "knapsack", round);
        struct problem problem = {0};
        draw(&problem, &rng, MOST_JOBS, 1 + (int)(round % 3), 40, true);
        CHECK(knapsack_solve(&problem.knapsack, problem.picked) >= 0);
        const double best = worth(&problem);
        CHECK_EQ_INT(knapsack_solve_by_prices(&problem.knapsack, problem.picked), 0);
        const double found = worth(&problem);
        CHECK(found <= best + 1e-9);
        CHECK(found >= 0.85 * best);
        exact += best;
        priced += found;
    }
    CHECK(priced >= 0.97 * exact);
}

/* Of equal values the earlier choice, and none rather than a choice that is worth nothing. */
TEST(ties_go_to_the_first)
{
    struct problem problem = {.starts = {0, 3}, .choices = {{0, 1, 0}, {2, 3, 0}, {2, 1, 0}}, .gpus = {4}};
    problem.knapsack = (struct knapsack){.n = 1, .starts = problem.starts, .choices = problem.choices, .types = 1,
                                         .gpus = problem.gpus};
    CHECK_EQ_INT(knapsack_solve(&problem.knapsack, problem.picked), 1);
    CHECK_EQ_INT(problem.picked[0], 1);
    problem.gpus[0] = 0;
    CHECK_EQ_INT(knapsack_solve(&problem.knapsack, problem.picked), 1);
    CHECK_EQ_INT(problem.picked[0], -1);
}

/* A thousand jobs on 64 GPUs are solved exactly; on thousands of GPUs by prices. */
TEST_OPTIMISED(large_problems_take_prices)
{
    enum { JOBS = 1000, EACH = 16 };
    static struct knapsack_choice choices[JOBS * EACH];
    static size_t starts[JOBS + 1];
    static int32_t picked[JOBS];
    for (size_t i = 0; i < JOBS; i++) {
        starts[i] = i * EACH;
        for (int c = 0; c < EACH; c++)
            choices[i * EACH + (size_t)c] = (struct knapsack_choice){sqrt(1.0 + c), 1 + c, 0};
    }
    starts[JOBS] = JOBS * EACH;
    const int64_t few = 64, many = 100000;
    struct knapsack knapsack = {.n = JOBS, .starts = starts, .choices = choices, .types = 1, .gpus = &few};
    CHECK_EQ_INT(knapsack_solve(&knapsack, picked), 1);
    knapsack.gpus = &many;
    CHECK_EQ_INT(knapsack_solve(&knapsack, picked), 0);
    for (size_t i = 0; i < JOBS; i++) CHECK_EQ_INT(picked[i], EACH - 1);
}
