#include "policies/scheduler/gavel_program.h"

#include "policies/scheduler/gavel_simplex.h"
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

/* Rows: time and rate of each kind, then the GPUs. Columns: x, then t. */
struct build {
    const struct gavel_program *program;
    struct lp lp;
    double *cost, *lower, *upper, *values, *row_lower, *row_upper, *x;
    int *starts, *row_of, entries;
};

static bool build_init(struct build *build, const struct gavel_program *program)
{
    const int rows = 2 * program->kinds + program->types, columns = program->kinds * program->types + 1;
    const int entries = 3 * columns + program->kinds;
    *build = (struct build){.program = program};
    build->cost = mem_zalloc((size_t)(4 * columns + entries + 2 * rows), sizeof *build->cost);
    build->starts = mem_zalloc((size_t)(columns + 1 + entries), sizeof *build->starts);
    if (build->cost == NULL || build->starts == NULL) return false;
    build->lower = build->cost + columns;
    build->upper = build->lower + columns;
    build->x = build->upper + columns;
    build->row_lower = build->x + columns;
    build->row_upper = build->row_lower + rows;
    build->values = build->row_upper + rows;
    build->row_of = build->starts + columns + 1;
    build->lp = (struct lp){.columns = columns, .rows = rows, .cost = build->cost, .lower = build->lower,
                            .upper = build->upper, .starts = build->starts, .row_of = build->row_of,
                            .values = build->values, .row_lower = build->row_lower, .row_upper = build->row_upper};
    return true;
}

static void build_fini(struct build *build)
{
    mem_free(build->cost);
    mem_free(build->starts);
}

static void add_entry(struct build *build, int row, double value)
{
    if (value == 0) return;
    build->row_of[build->entries] = row;
    build->values[build->entries++] = value;
}

static void end_column(struct build *build, int column, double gain, double lower, double upper)
{
    build->cost[column] = -gain;
    build->lower[column] = lower;
    build->upper[column] = upper;
    build->starts[column + 1] = build->entries;
}

static void add_columns(struct build *build)
{
    const struct gavel_program *program = build->program;
    const int kinds = program->kinds, types = program->types;
    for (int column = 0; column < kinds * types; column++) {
        const double speed = program->speed[column];
        add_entry(build, column / types, 1);
        add_entry(build, kinds + column / types, speed);
        add_entry(build, 2 * kinds + column % types, program->load[column]);
        end_column(build, column, program->gain[column], 0, speed > 0 ? 1 : 0);
    }
    for (int k = 0; k < kinds; k++) add_entry(build, kinds + k, -gavel_need(program, k));
    end_column(build, kinds * types, program->level_gain, program->level_gain > 0 ? 0 : 1, 1);
}

static void add_rows(struct build *build)
{
    const int kinds = build->program->kinds;
    for (int i = 0; i < build->lp.rows; i++) {
        const bool is_rate = i >= kinds && i < 2 * kinds;
        build->row_lower[i] = is_rate ? 0 : -(double)INFINITY;
        build->row_upper[i] = is_rate ? (double)INFINITY : 1;
    }
}

enum lp_outcome gavel_solve_by_glpk(const struct gavel_program *program, double *x, double *level)
{
    struct build build;
    const bool has_room = build_init(&build, program);
    unsigned char *states = has_room ? mem_zalloc((size_t)(build.lp.columns + build.lp.rows), 1) : NULL;
    enum lp_outcome outcome = LP_NO_MEMORY;
    if (states != NULL) {
        add_columns(&build);
        add_rows(&build);
        outcome = lp_solve_from(&build.lp, states, states + build.lp.columns, build.x);
    }
    if (outcome == LP_OPTIMAL) {
        const int n = build.lp.columns - 1;
        memcpy(x, build.x, (size_t)n * sizeof *x);
        *level = build.x[n];
    }
    mem_free(states);
    build_fini(&build);
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
