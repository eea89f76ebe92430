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

/* GPUs of each type that jobs want: each its choice that is worth most beyond the price. With `left`, of what is left,
 * which a job gives back before it chooses; the choices go to `picked`. */
static void choose_by_price(const struct problem *problem, const double *price, int64_t *left, int32_t *picked,
                            int64_t *wanted)
{
    for (size_t i = 0; i < problem->knapsack.n; i++) {
        const struct knapsack_choice *own = &problem->choices[problem->starts[i]];
        double most = 0;
        int32_t best = -1;
        if (left != NULL && picked[i] >= 0) left[own[picked[i]].type] += own[picked[i]].gpus;
        for (int32_t c = 0; c < (int32_t)(problem->starts[i + 1] - problem->starts[i]); c++) {
            const double net = own[c].value - price[own[c].type] * own[c].gpus;
            const bool fits = left == NULL || own[c].gpus <= left[own[c].type];
            if (fits && net > most) most = net, best = c;
        }
        if (best >= 0 && left != NULL) left[own[best].type] -= own[best].gpus;
        if (best >= 0 && wanted != NULL) wanted[own[best].type] += own[best].gpus;
        if (picked != NULL) picked[i] = best;
    }
}

/* A naive twin. All prices begin at a quarter of the largest value per GPU. In step k of 100 each is multiplied by
 * (demand / supply)^(1 / (2 + k/4)), with half a GPU added to both, and the ratio between 1/4 and 4. */
TEST(prices_follow_demand_as_in_a_naive_twin)
{
    static const double parts[] = {1, 1, 0.9, 0.8, 0.65, 0.5, 0.3, 0.1, 0};
    for (uint64_t round = 0; round < 40; round++) {
        struct rng rng = test_rng(3, "knapsack", round);
        struct problem problem = {0};
        double price[3] = {0}, most = 0;
        int32_t picked[MOST_JOBS];
        draw(&problem, &rng, MOST_JOBS, 1 + (int)(round % 3), 100, true);
        const int types = problem.knapsack.types;
        for (size_t c = 0; c < problem.starts[MOST_JOBS]; c++)
            most = fmax(most, problem.choices[c].value / problem.choices[c].gpus);
        for (int j = 0; j < types; j++) price[j] = most / 4;
        for (int k = 0; k < 100; k++) {
            int64_t wanted[3] = {0};
            choose_by_price(&problem, price, NULL, NULL, wanted);
            for (int j = 0; j < types; j++) {
                const double ratio = ((double)wanted[j] + 0.5) / ((double)problem.gpus[j] + 0.5);
                price[j] *= pow(fmin(fmax(ratio, 0.25), 4), 1 / (2 + k / 4.0));
            }
        }
        int64_t left[3] = {problem.gpus[0], problem.gpus[1], problem.gpus[2]};
        for (size_t i = 0; i < MOST_JOBS; i++) picked[i] = -1;
        for (size_t part = 0; part < sizeof parts / sizeof *parts; part++) {
            double reduced[3];
            for (int j = 0; j < 3; j++) reduced[j] = price[j] * parts[part];
            choose_by_price(&problem, reduced, left, picked, NULL);
        }
        CHECK_EQ_INT(knapsack_solve_by_prices(&problem.knapsack, problem.picked), 0);
        CHECK_EQ_INT(memcmp(picked, problem.picked, sizeof picked), 0);
    }
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
