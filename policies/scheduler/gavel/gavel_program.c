#include "policies/scheduler/gavel/gavel_program.h"

#include "policies/lp_columns.h"
#include "policies/scheduler/gavel/gavel_simplex.h"
#include "sim/core/mem.h"

#include <math.h>
#include <string.h>

/* How far values may be beyond their bounds, and below the bound of the dual, relative to the gains. */
static const double BEYOND = 1e-9, GAP_FRAC = 1e-10;

struct gavel_solver {
    struct gavel_simplex simplex;
};

struct gavel_solver *gavel_solver_create(const struct gavel_program *program)
{
    struct gavel_solver *solver = mem_zalloc(1, sizeof *solver);
    if (solver == NULL || gavel_simplex_init(&solver->simplex, program)) return solver;
    gavel_solver_destroy(solver);
    return NULL;
}

void gavel_solver_destroy(struct gavel_solver *solver)
{
    if (solver != NULL) gavel_simplex_fini(&solver->simplex);
    mem_free(solver);
}

/* --- The proof --- */

/* Whether x and t keep to all rows. */
static bool keeps_rows(const struct gavel_program *program, const double *x, double level)
{
    double used[GAVEL_PROGRAM_TYPES] = {0};
    for (int k = 0; k < program->kinds; k++) {
        double time = 0, rate = 0;
        for (int j = 0; j < program->types; j++) {
            const int column = k * program->types + j;
            time += x[column];
            rate += x[column] * program->speed[column];
            used[j] += x[column] * program->load[column];
        }
        if (!(time <= 1 + BEYOND && rate >= gavel_need(program, k) * level - BEYOND)) return false;
    }
    for (int j = 0; j < program->types; j++)
        if (!(used[j] <= 1 + BEYOND)) return false;
    return level >= 0 && level <= 1 + BEYOND;
}

/* The most that a kind can gain per time, less the prices of its GPUs, if each unit of its rate is worth `worth`. */
static double most_gain(const struct gavel_program *program, int kind, const double *price, double worth)
{
    double most = 0;
    for (int j = 0; j < program->types; j++) {
        const int column = kind * program->types + j;
        if (program->speed[column] <= 0) continue;
        most = fmax(most, program->gain[column] + worth * program->speed[column] - price[j] * program->load[column]);
    }
    return most;
}

/* Any prices of GPUs and worths of rates, none below 0, bound the objective (weak duality). Those of the basis must
 * bound it by what x and t reach. */
static bool is_optimal(const struct gavel_program *program, const struct gavel_basis *basis, const double *x,
                       double level)
{
    double price[GAVEL_PROGRAM_TYPES], bound = 0, value = program->level_gain * level, per_level = program->level_gain;
    double gains = fabs(value), largest = 0;
    for (int j = 0; j < program->types; j++) bound += price[j] = fmax(basis->price[j], 0);
    for (int k = 0; k < program->kinds; k++) {
        double dual[2];
        basis_duals(basis, k, dual);
        const double worth = fmax(-dual[1], 0);
        bound += most_gain(program, k, price, worth);
        per_level -= gavel_need(program, k) * worth;
        for (int j = k * program->types; j < (k + 1) * program->types; j++) {
            value += program->gain[j] * x[j];
            gains += fabs(program->gain[j] * x[j]);
            largest = fmax(largest, fabs(program->gain[j]));
        }
    }
    bound += program->level_gain > 0 ? fmax(per_level, 0) : per_level;
    return bound - value <= GAP_FRAC * (gains + largest) && keeps_rows(program, x, level);
}

/* --- GLPK --- */

/* Columns: x, then t. */
static void add_columns(struct lp_columns *lp, const struct gavel_program *program)
{
    const int kinds = program->kinds, types = program->types;
    for (int column = 0; column < kinds * types; column++) {
        const double speed = program->speed[column];
        lp_columns_add(lp, column / types, 1);
        lp_columns_add(lp, kinds + column / types, speed);
        lp_columns_add(lp, 2 * kinds + column % types, program->load[column]);
        lp_columns_end(lp, -program->gain[column], 0, speed > 0 ? 1 : 0);
    }
    for (int k = 0; k < kinds; k++) lp_columns_add(lp, kinds + k, -gavel_need(program, k));
    lp_columns_end(lp, -program->level_gain, program->level_gain > 0 ? 0 : 1, 1);
}

/* Rows: time and rate of each kind, then the GPUs. */
static void add_rows(struct lp_columns *lp, int kinds)
{
    for (int i = 0; i < lp->lp.rows; i++) {
        const bool is_rate = i >= kinds && i < 2 * kinds;
        lp->row_lower[i] = is_rate ? 0 : -(double)INFINITY;
        lp->row_upper[i] = is_rate ? (double)INFINITY : 1;
    }
}

enum lp_outcome gavel_solve_by_glpk(const struct gavel_program *program, double *x, double *level)
{
    const int n = program->kinds * program->types, rows = 2 * program->kinds + program->types;
    struct lp_columns lp;
    const bool has_room = lp_columns_init(&lp, n + 1, rows, 3 * n + program->kinds);
    unsigned char *states = has_room ? mem_zalloc((size_t)(n + 1 + rows), 1) : NULL;
    enum lp_outcome outcome = LP_NO_MEMORY;
    if (states != NULL) {
        add_columns(&lp, program);
        add_rows(&lp, program->kinds);
        outcome = lp_solve_from(&lp.lp, states, states + n + 1, lp.x);
    }
    if (outcome == LP_OPTIMAL) {
        memcpy(x, lp.x, (size_t)n * sizeof *x);
        *level = lp.x[n];
    }
    mem_free(states);
    lp_columns_fini(&lp);
    return outcome;
}

/* --- Both --- */

enum lp_outcome gavel_solve(struct gavel_solver *solver, double *x, double *level)
{
    struct gavel_simplex *simplex = &solver->simplex;
    const struct gavel_program *program = simplex->basis.program;
    enum lp_outcome outcome = gavel_simplex_start(simplex);
    if (outcome == LP_INFEASIBLE) return outcome;
    if (outcome == LP_OPTIMAL) outcome = gavel_simplex_maximise(simplex);
    if (outcome == LP_OPTIMAL) {
        gavel_simplex_shares(simplex, x);
        *level = basis_level(&simplex->basis);
        if (is_optimal(program, &simplex->basis, x, *level)) return outcome;
    }
    return gavel_solve_by_glpk(program, x, level);
}
