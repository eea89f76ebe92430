/* Laws of the bases of Gavel's programs. An optimal basis keeps to the conditions of Karush, Kuhn and Tucker by exact
 * values, and few steps lead to it. GLPK takes part in the last test alone. */
#include "policies/scheduler/gavel/gavel_crash.h"
#include "tests/support/gavel_fixture.h"
#include "tests/support/harness.h"

static bool is_basic(const struct gavel_basis *basis, int block, int id)
{
    if (block != BASIS_COMMON && (basis->key[2 * block] == id || basis->key[2 * block + 1] == id)) return true;
    for (int i = 0; i < basis->rows; i++)
        if (basis->working[i].block == block && basis->working[i].id == id) return true;
    return false;
}

/* Adds a column times its value to the rows: time and rate of its block, GPUs of its type. */
static void add_column(const struct gavel_basis *basis, struct basis_column column, double value, double *time,
                       double *rate, double *used)
{
    const struct gavel_program *program = basis->program;
    const int types = program->types, at = column.block * types + column.id;
    if (column.block == BASIS_COMMON) {
        if (column.id < types) used[column.id] += value;
        return;
    }
    if (column.id <= types) time[column.block] += value;
    if (column.id < types) rate[column.block] += value * program->speed[at];
    if (column.id < types) used[column.id] += value * program->load[at];
    if (column.id == types + 1) rate[column.block] -= value;
}

/* All rows hold as equations with idle times, excesses and free GPUs, and no value is below 0. */
static void check_values(const struct gavel_basis *basis)
{
    const struct gavel_program *program = basis->program;
    double time[GAVEL_MOST_KINDS] = {0}, rate[GAVEL_MOST_KINDS] = {0}, used[BASIS_ROWS] = {0};
    for (int i = 0; i < 2 * program->kinds; i++) {
        const struct basis_column column = {i / 2, basis->key[i]};
        CHECK(basis->value[i] >= -1e-9);
        add_column(basis, column, basis->value[i], time, rate, used);
    }
    for (int i = 0; i < basis->rows; i++) {
        CHECK(basis->working_value[i] >= -1e-9);
        add_column(basis, basis->working[i], basis->working_value[i], time, rate, used);
    }
    for (int k = 0; k < program->kinds; k++) {
        CHECK_NEAR(time[k], 1, 1e-9);
        CHECK_NEAR(rate[k], gavel_need(program, k) * basis_level(basis), 1e-9);
    }
    for (int j = 0; j < program->types; j++) CHECK_NEAR(used[j], 1, 1e-9);
    CHECK(basis_level(basis) >= -1e-9 && basis_level(basis) <= 1 + 1e-9);
    if (basis->held_block >= 0) CHECK_NEAR(basis->value[2 * basis->held_block + basis->held_at], 0, 1e-9);
}

/* No column gains more than its rows cost, and those of the basis gain as much. */
static void check_prices(const struct gavel_basis *basis)
{
    const struct gavel_program *program = basis->program;
    const int types = program->types;
    double level = basis->level_gain, terms = level;
    for (int k = 0; k < program->kinds; k++) {
        double dual[2];
        basis_duals(basis, k, dual);
        for (int id = 0; id < types + 2; id++) {
            const double speed = id < types ? program->speed[k * types + id] : id == types ? 0 : -1;
            const double time_cost = id <= types ? dual[0] : 0,
                         gain = basis_net_gain(basis, k, id) - time_cost - dual[1] * speed;
            const double most = 1e-9 * (1 + fabs(dual[0]) + fabs(dual[1]));
            const bool is_held = k == basis->held_block && id == basis->key[2 * k + basis->held_at];
            if (id < types && speed <= 0) continue;
            CHECK(gain <= most);
            if (is_basic(basis, k, id) && !is_held) CHECK(gain >= -most);
        }
        level += dual[1] * gavel_need(program, k);
        terms += fabs(dual[1]) * gavel_need(program, k);
    }
    for (int j = 0; j < types; j++) {
        CHECK(basis->price[j] >= -1e-9 * terms);
        if (is_basic(basis, BASIS_COMMON, j)) CHECK_NEAR(basis->price[j], 0, 1e-9 * terms);
    }
    if (program->level_gain <= 0) return;
    if (basis->level_at >= 0) CHECK_NEAR(level, 0, 1e-9 * terms);
    if (basis->level_at < 0) CHECK(basis->level > 0 ? level >= -1e-9 * terms : level <= 1e-9 * terms);
}

/* Sets values and sums to nonsense and computes them anew: they are as before, to the last bit. */
static void check_exact(struct gavel_basis *basis)
{
    const size_t n = (size_t)(2 * basis->program->kinds);
    double value[2 * GAVEL_MOST_KINDS], working[BASIS_ROWS], price[BASIS_ROWS];
    memcpy(value, basis->value, n * sizeof *value);
    memcpy(working, basis->working_value, sizeof working);
    memcpy(price, basis->price, sizeof price);
    for (size_t i = 0; i < n; i++) basis->value[i] = (double)NAN;
    for (int i = 0; i < basis->rows; i++) basis->working_value[i] = (double)NAN;
    CHECK(basis_refresh(basis));
    CHECK(memcmp(value, basis->value, n * sizeof *value) == 0);
    CHECK(memcmp(working, basis->working_value, (size_t)basis->rows * sizeof *working) == 0);
    CHECK(memcmp(price, basis->price, sizeof price) == 0);
}

/* gavel_solve gives the very answer of the simplex method: it trusts the proof, and GLPK is not called. */
static void check_solver(const struct gavel_fixture *f, const struct gavel_simplex *simplex)
{
    double x[GAVEL_MOST_X], by_solver[GAVEL_MOST_X], level = (double)NAN;
    struct gavel_solver *solver = gavel_solver_create(&f->program);
    MUST(solver != NULL);
    CHECK_EQ_INT(gavel_solve(solver, by_solver, &level), LP_OPTIMAL);
    gavel_simplex_shares(simplex, x);
    CHECK(memcmp(x, by_solver, (size_t)(f->program.kinds * f->program.types) * sizeof *x) == 0);
    CHECK(level == basis_level(&simplex->basis));
    gavel_solver_destroy(solver);
}

TEST(an_optimal_basis_proves_itself)
{
    struct rng rng = test_rng(21, "gavel", 0);
    int64_t steps = 0, kinds = 0, n_between = 0;
    for (int i = 0; i < 600; i++) {
        struct gavel_fixture f;
        struct gavel_simplex simplex;
        gavel_draw(&f, (enum gavel_level)(i % GAVEL_LEVELS), &rng);
        MUST(gavel_simplex_init(&simplex, &f.program));
        const enum lp_outcome outcome = gavel_simplex_start(&simplex);
        CHECK(outcome == LP_OPTIMAL || (outcome == LP_INFEASIBLE && i % GAVEL_LEVELS == GAVEL_WITH_RATES));
        if (outcome == LP_OPTIMAL && CHECK_EQ_INT(gavel_simplex_maximise(&simplex), LP_OPTIMAL)) {
            check_solver(&f, &simplex);
            check_exact(&simplex.basis);
            check_values(&simplex.basis);
            check_prices(&simplex.basis);
            CHECK(simplex.steps <= 2 * (f.program.kinds + f.program.types));
            n_between += simplex.basis.level_at >= 0;
            steps += simplex.steps;
            kinds += f.program.kinds;
        }
        gavel_simplex_fini(&simplex);
    }
    CHECK(n_between > 100);
    CHECK((double)steps <= 0.85 * (double)kinds);
}

/* At the optimum of the same numbers no step remains, and few do with other needs. Where these are out of reach of the
 * basis by little, it is not taken for feasible. */
TEST(an_optimum_is_where_the_next_call_starts)
{
    static const double change[] = {0, 0, 0.1, 1e-5, 1e-7};
    enum { CALLS = sizeof change / sizeof *change };
    struct rng rng = test_rng(25, "gavel", 0);
    int64_t steps[CALLS] = {0};
    for (int i = 0; i < 150; i++) {
        struct gavel_fixture f;
        struct gavel_simplex simplex;
        gavel_draw(&f, (enum gavel_level)(i % 2), &rng);
        MUST(gavel_simplex_init(&simplex, &f.program));
        for (int call = 0; call < CALLS; call++) {
            const int64_t before = simplex.steps;
            for (int k = 1; k < f.program.kinds; k++)
                f.need[k] = fmin(1, f.need[k] * (1 + change[call] * (rng_uniform(&rng) - 0.5)));
            CHECK_EQ_INT(gavel_simplex_start(&simplex), LP_OPTIMAL);
            CHECK_EQ_INT(gavel_simplex_maximise(&simplex), LP_OPTIMAL);
            check_values(&simplex.basis);
            check_prices(&simplex.basis);
            steps[call] += simplex.steps - before;
        }
        gavel_simplex_fini(&simplex);
    }
    CHECK_EQ_INT(steps[1], 0);
    CHECK(steps[2] > 0 && steps[2] < steps[0] / 4);
}

/* Rates of the mean program are within a fifth of the best, from where few steps remain. */
TEST(the_crash_basis_is_near_the_best_level)
{
    enum { PROGRAMS = 200 };
    struct rng rng = test_rng(22, "gavel", 0);
    double sum = 0;
    for (int i = 0; i < PROGRAMS; i++) {
        struct gavel_fixture f;
        struct gavel_basis basis;
        double x[GAVEL_MOST_X], best;
        gavel_draw(&f, GAVEL_FREE, &rng);
        MUST(basis_init(&basis, &f.program));
        CHECK_EQ_INT(gavel_solve_alone(&f.program, x, &best), LP_OPTIMAL);
        CHECK(gavel_crash(&basis));
        check_values(&basis);
        CHECK(basis_level(&basis) <= best + 1e-9);
        sum += basis_level(&basis) / best;
        basis_fini(&basis);
    }
    CHECK(sum / PROGRAMS > 0.8);
}

/* Far more steps than a small program takes, and fewer than one per kind. */
TEST(two_thousand_kinds_take_less_than_a_step_each)
{
    enum { KINDS = 2000, TYPES = 3 };
    static double speed[KINDS * TYPES], load[KINDS * TYPES], need[KINDS], gain[KINDS * TYPES];
    struct rng rng = test_rng(23, "gavel", 0);
    const struct gavel_program program = {.kinds = KINDS, .types = TYPES, .speed = speed, .load = load, .need = need,
                                          .gain = gain, .level_gain = 1e4 * KINDS};
    for (int i = 0; i < KINDS * TYPES; i++) {
        const double width = (double)(1 + i / TYPES % 4);
        speed[i] = i % TYPES == 0 ? 1 : 1.0 / (1 + i % TYPES) - 0.2 * rng_uniform(&rng);
        load[i] = width * 4 / KINDS;
        gain[i] = width * speed[i];
        need[i / TYPES] = i < TYPES ? 1 : pow(0.01, rng_uniform(&rng));
    }
    struct gavel_simplex simplex;
    MUST(gavel_simplex_init(&simplex, &program));
    CHECK_EQ_INT(gavel_simplex_start(&simplex), LP_OPTIMAL);
    const double crash_level = basis_level(&simplex.basis);
    CHECK_EQ_INT(gavel_simplex_maximise(&simplex), LP_OPTIMAL);
    CHECK(crash_level > 0.8 * basis_level(&simplex.basis));
    CHECK(simplex.steps > 1000 && simplex.steps < KINDS);
    gavel_simplex_fini(&simplex);
}

/* Widths, speeds and needs over ten orders of magnitude, where the simplex method may overlook a column. Then the
 * proof fails, and GLPK finds more, or as much to its own tolerance. */
TEST(what_is_not_proven_is_solved_by_glpk)
{
    struct rng rng = test_rng(24, "gavel", 0);
    int n_below[2] = {0};
    for (int i = 0; i < 4000; i++) {
        struct gavel_fixture f;
        double x[GAVEL_MOST_X], by_solver[GAVEL_MOST_X], level = 1, solver_level;
        gavel_draw_badly_scaled(&f, i % 2 == 0, &rng);
        if (gavel_solve_alone(&f.program, x, &level) != LP_OPTIMAL) continue;
        struct gavel_solver *solver = gavel_solver_create(&f.program);
        MUST(solver != NULL);
        CHECK_EQ_INT(gavel_solve(solver, by_solver, &solver_level), LP_OPTIMAL);
        const double most = gavel_value_of(&f, by_solver, solver_level);
        const double alone = gavel_value_of(&f, x, level);
        CHECK(most >= alone * (1 - 1e-5));
        n_below[i % 2] += alone < most * (1 - 1e-9);
        gavel_solver_destroy(solver);
    }
    CHECK(n_below[0] > 0 && n_below[1] > 0);
}
