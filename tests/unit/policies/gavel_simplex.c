/* The simplex method for Gavel's programs against GLPK on random programs, many of them degenerate. */
#include "policies/scheduler/gavel/gavel_lp.h"
#include "tests/support/gavel_fixture.h"
#include "tests/support/harness.h"

/* GLPK may stop up to 2 parts in 1e8 below the optimum, at its tolerance of reduced costs. */
TEST(optimum_is_that_of_glpk)
{
    struct rng rng = test_rng(11, "gavel", 0);
    int infeasible = 0;
    for (int i = 0; i < 900; i++) {
        struct gavel_fixture f;
        double x[GAVEL_MOST_X], by_glpk[GAVEL_MOST_X], level, glpk_level;
        gavel_draw(&f, (enum gavel_level)(i % GAVEL_LEVELS), &rng);
        const enum lp_outcome outcome = gavel_solve_alone(&f.program, x, &level);
        CHECK_EQ_INT(outcome, gavel_solve_by_glpk(&f.program, by_glpk, &glpk_level));
        infeasible += outcome == LP_INFEASIBLE;
        if (outcome != LP_OPTIMAL) continue;
        const double expected = gavel_value_of(&f, by_glpk, glpk_level);
        CHECK(gavel_value_of(&f, x, level) >= expected * (1 - 1e-9));
        CHECK(gavel_value_of(&f, x, level) <= expected * (1 + 2e-8));
        CHECK_NEAR(level, glpk_level, 1e-9);
        gavel_check_rows(&f, x, level);
    }
    CHECK(infeasible > 50 && infeasible < 200);
}

/* The rate is out of reach by 3e-9, which the simplex method does not judge. */
TEST(glpk_solves_what_the_simplex_method_gives_up)
{
    struct gavel_fixture f = {.speed = {1 - 6e-9, 1}, .load = {1, 2}, .need = {1}, .gain = {0.4, 0.5}};
    double x[2], level;
    f.program = (struct gavel_program){.kinds = 1, .types = 2, .speed = f.speed, .load = f.load, .need = f.need,
                                       .gain = f.gain};
    CHECK_EQ_INT(gavel_solve_alone(&f.program, x, &level), LP_GAVE_UP);
    struct gavel_solver *solver = gavel_solver_create(&f.program);
    MUST(solver != NULL);
    CHECK_EQ_INT(gavel_solve(solver, x, &level), LP_OPTIMAL);
    CHECK_NEAR(x[0], 0.5, 1e-6);
    CHECK_NEAR(x[1], 0.5, 1e-6);
    CHECK_NEAR(level, 1, 1e-9);
    gavel_solver_destroy(solver);
}

/* From the basis where another program of the same kinds ended. */
TEST(numbers_may_change_between_calls)
{
    struct rng rng = test_rng(12, "gavel", 0);
    for (int i = 0; i < 60; i++) {
        struct gavel_fixture f;
        double x[GAVEL_MOST_X], again[GAVEL_MOST_X], level, level_again;
        gavel_draw(&f, (enum gavel_level)(i % 2), &rng);
        struct gavel_solver *solver = gavel_solver_create(&f.program);
        for (int step = 0; solver != NULL && step < 4; step++) {
            CHECK_EQ_INT(gavel_solve(solver, x, &level), LP_OPTIMAL);
            CHECK_EQ_INT(gavel_solve_alone(&f.program, again, &level_again), LP_OPTIMAL);
            const double expected = gavel_value_of(&f, again, level_again);
            CHECK_NEAR(gavel_value_of(&f, x, level), expected, 1e-10 * expected);
            for (int k = 1; k < f.program.kinds; k++) f.need[k] *= 0.8 + 0.2 * rng_uniform(&rng);
            for (int k = 0; k < f.program.kinds * f.program.types; k++) f.gain[k] *= 0.9 + 0.2 * rng_uniform(&rng);
        }
        gavel_solver_destroy(solver);
    }
}

/* Work, less `least`, per cost as one linear program, whose columns are X u and u with u = 1 / cost (Charnes and
 * Cooper 1962). Rows: times, rates, GPUs, cost. Returns the ratio; NaN: infeasible. */
static double ratio_by_charnes_cooper(const struct gavel_fixture *f, const double *price, const double *at_least,
                                      double least)
{
    enum { ROWS = 2 * GAVEL_MOST_KINDS + GAVEL_PROGRAM_TYPES + 1, COLUMNS = GAVEL_MOST_X + 1 };
    static double matrix[ROWS * COLUMNS], zeros[COLUMNS], cost[COLUMNS], upper[COLUMNS], low[ROWS], high[ROWS],
        x[COLUMNS];
    static unsigned char states[ROWS + COLUMNS];
    const int kinds = f->program.kinds, types = f->program.types, n = kinds * types + 1, m = 2 * kinds + types + 1;
    memset(matrix, 0, sizeof matrix);
    memset(states, LP_NEW, sizeof states);
    for (int i = 0; i < m; i++) {
        const bool is_rate = i >= kinds && i < 2 * kinds;
        low[i] = is_rate ? 0 : i == m - 1 ? 1 : -(double)INFINITY;
        high[i] = is_rate ? (double)INFINITY : i == m - 1 ? 1 : 0;
        if (i < m - 1) matrix[i * n + n - 1] = is_rate ? -at_least[i - kinds] : -1;
    }
    for (int c = 0; c < n - 1; c++) {
        matrix[c / types * n + c] = 1;
        matrix[(kinds + c / types) * n + c] = f->speed[c];
        matrix[(2 * kinds + c % types) * n + c] = f->load[c];
        matrix[(m - 1) * n + c] = f->load[c] * price[c % types];
        cost[c] = -f->gain[c];
        upper[c] = f->speed[c] > 0 ? (double)INFINITY : 0;
    }
    cost[n - 1] = least;
    upper[n - 1] = (double)INFINITY;
    const struct lp lp = {.columns = n, .rows = m, .cost = cost, .lower = zeros, .upper = upper, .matrix = matrix,
                          .row_lower = low, .row_upper = high};
    if (lp_solve_from(&lp, states, states + n, x) != LP_OPTIMAL) return (double)NAN;
    double gain = 0;
    for (int c = 0; c < n; c++) gain -= cost[c] * x[c];
    return gain;
}

TEST(work_per_cost_is_that_of_one_linear_program)
{
    struct rng rng = test_rng(13, "gavel", 0);
    int solved = 0;
    for (int i = 0; i < 150; i++) {
        struct gavel_fixture f;
        double gpus[GAVEL_PROGRAM_TYPES], price[GAVEL_PROGRAM_TYPES], count[GAVEL_MOST_KINDS], width[GAVEL_MOST_KINDS],
            x[GAVEL_MOST_X];
        double at_least[GAVEL_MOST_KINDS], ratio = 0;
        gavel_draw(&f, GAVEL_WITH_RATES, &rng);
        for (int j = 0; j < f.program.types; j++) {
            gpus[j] = (double)(1 + rng_below(&rng, 40));
            price[j] = 0.2 + rng_uniform(&rng);
        }
        const struct gavel_jobs jobs = {.types = f.program.types, .kinds = f.program.kinds, .gpus = gpus,
                                        .count = count, .width = width, .speed = f.speed};
        for (int k = 0; k < jobs.kinds; k++) {
            count[k] = (double)(1 + rng_below(&rng, 3));
            width[k] = (double)(1ULL << rng_below(&rng, 3));
            at_least[k] = i % 3 == 0 ? 0 : f.need[k];
            for (int j = 0; j < jobs.types; j++) {
                f.load[k * jobs.types + j] = count[k] * width[k] / gpus[j];
                f.gain[k * jobs.types + j] = count[k] * width[k] * f.speed[k * jobs.types + j];
            }
        }
        double by_type[GAVEL_PROGRAM_TYPES], all = 0, wanted = 0, work = 0, cost = 0;
        for (int j = 0; j < jobs.types; j++) {
            by_type[j] = price[j] * gpus[j];
            all += gpus[j];
        }
        for (int k = 0; k < jobs.kinds; k++) wanted += count[k] * width[k];
        const double expected = ratio_by_charnes_cooper(&f, by_type, at_least, 0);
        const enum lp_outcome outcome = gavel_max_per_cost(&jobs, price, at_least, x, &ratio);
        CHECK_EQ_INT(outcome, isnan(expected) ? LP_INFEASIBLE : LP_OPTIMAL);
        if (outcome != LP_OPTIMAL) continue;
        solved++;
        CHECK_NEAR(ratio, expected, 2e-4 * expected); /* a millionth of the GPUs counts as no work */
        CHECK(ratio <= expected * (1 + 1e-8));
        for (int c = 0; c < jobs.kinds * jobs.types; c++) {
            work += f.gain[c] * x[c];
            cost += f.load[c] * by_type[c % jobs.types] * x[c];
        }
        CHECK_NEAR(ratio, work / cost, 1e-12 * ratio);
        const double least = 1e-6 * fmin(all, wanted), most = ratio_by_charnes_cooper(&f, by_type, at_least, least);
        CHECK_NEAR((work - least) / cost, most, 2e-8 * most);
    }
    CHECK(solved > 100 && solved < 150);
}

/* Far more rows than a dense basis could have. All jobs compete for few GPUs. */
TEST(a_thousand_kinds)
{
    enum { KINDS = 1000, TYPES = 3 };
    static double speed[KINDS * TYPES], width[KINDS], count[KINDS], need[KINDS], x[KINDS * TYPES];
    static const double gpus[TYPES] = {256, 256, 256};
    struct rng rng = test_rng(14, "gavel", 0);
    for (int k = 0; k < KINDS; k++) {
        count[k] = 1;
        width[k] = (double)(1ULL << rng_below(&rng, 3));
        need[k] = pow(200, rng_uniform(&rng));
        for (int j = 0; j < TYPES; j++) speed[k * TYPES + j] = 1.0 / (1 + j) - 0.2 * rng_uniform(&rng);
    }
    const struct gavel_jobs jobs = {TYPES, KINDS, gpus, count, width, speed};
    double level, used[TYPES] = {0}, least = (double)INFINITY;
    MUST(gavel_max_min(&jobs, need, x, &level) == LP_OPTIMAL);
    for (int k = 0; k < KINDS; k++) {
        least = fmin(least, gavel_rate(&jobs, x, k) / need[k]);
        for (int j = 0; j < TYPES; j++) used[j] += width[k] * x[k * TYPES + j];
    }
    CHECK_NEAR(least, level, 1e-9 * level);
    for (int j = 0; j < TYPES; j++) CHECK_NEAR(used[j], gpus[j], 1e-6);
}
