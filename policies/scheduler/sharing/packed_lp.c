#include "policies/scheduler/sharing/packed_lp.h"

#include "sim/core/mem.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Weight of the least rate against the mean of all relative rates. */
static const double LEVEL_PER_RATE = 1e4;

/* Rows: GPUs of the types, time of the kinds, rates of the kinds. Columns: y, then the level. */
struct program {
    const struct packed_problem *problem;
    struct lp lp;
    double *cost, *lower, *upper, *values, *row_lower, *row_upper, *x;
    int *starts, *row_of;
    double *fastest; /* [kinds]: highest speed alone or shared */
    double scale;    /* of needs: a level of 1 is the most that the kind with the largest need could reach */
    int entries;
};

static void program_fini(struct program *program)
{
    mem_free(program->cost);
    mem_free(program->starts);
}

static bool program_init(struct program *program, const struct packed_problem *problem)
{
    const int columns = problem->combinations * problem->types + 1, rows = problem->types + 2 * problem->kinds;
    const int entries = 5 * columns + problem->kinds;
    *program = (struct program){.problem = problem};
    program->cost = mem_zalloc((size_t)(4 * columns + entries + 2 * rows + problem->kinds), sizeof(double));
    program->starts = mem_zalloc((size_t)(columns + 1 + entries), sizeof(int));
    if (program->cost == NULL || program->starts == NULL) return false;
    program->lower = program->cost + columns;
    program->upper = program->lower + columns;
    program->x = program->upper + columns;
    program->values = program->x + columns;
    program->row_lower = program->values + entries;
    program->row_upper = program->row_lower + rows;
    program->fastest = program->row_upper + rows;
    program->row_of = program->starts + columns + 1;
    program->lp = (struct lp){.columns = columns, .rows = rows, .cost = program->cost, .lower = program->lower,
                              .upper = program->upper, .row_lower = program->row_lower, .row_upper = program->row_upper,
                              .starts = program->starts, .row_of = program->row_of, .values = program->values};
    return true;
}

/* Scales speeds and needs to about 1. */
static void measure(struct program *program)
{
    const struct packed_problem *problem = program->problem;
    for (int c = 0; c < problem->combinations; c++) {
        const struct combination *of = &problem->of[c];
        for (int j = 0; j < problem->types; j++) {
            program->fastest[of->first] = fmax(program->fastest[of->first], of->speed_first[j]);
            if (of->second >= 0) program->fastest[of->second] = fmax(program->fastest[of->second], of->speed_second[j]);
        }
    }
    program->scale = (double)INFINITY;
    for (int k = 0; k < problem->kinds; k++)
        if (program->fastest[k] > 0) program->scale = fmin(program->scale, program->fastest[k] / problem->need[k]);
}

static void add_entry(struct program *program, int row, double value)
{
    if (value == 0) return;
    program->row_of[program->entries] = row;
    program->values[program->entries++] = value;
}

/* Entries of the two kinds in rising order of rows; one entry for two jobs of one kind. */
static void add_kinds(struct program *program, int row, const struct combination *of, double first, double second)
{
    if (of->second == of->first)
        add_entry(program, row + of->first, first + second);
    else if (of->second >= 0 && of->second < of->first) {
        add_entry(program, row + of->second, second);
        add_entry(program, row + of->first, first);
    } else {
        add_entry(program, row + of->first, first);
        if (of->second >= 0) add_entry(program, row + of->second, second);
    }
}

static double relative(const struct program *program, int kind, double speed)
{
    return kind < 0 ? 0 : speed / program->fastest[kind] / program->problem->count[kind];
}

static void add_column(struct program *program, const struct combination *of, int type, int column)
{
    const struct packed_problem *problem = program->problem;
    const int kinds = problem->kinds, types = problem->types;
    const bool runs = of->gpus <= problem->gpus[type] && of->speed_first[type] > 0 &&
                      (of->second < 0 || of->speed_second[type] > 0);
    const double first = relative(program, of->first, of->speed_first[type]);
    const double second = relative(program, of->second, of->speed_second[type]);
    add_entry(program, type, of->gpus / fmax(problem->gpus[type], 1));
    add_kinds(program, types, of, 1 / problem->count[of->first], of->second >= 0 ? 1 / problem->count[of->second] : 0);
    add_kinds(program, types + kinds, of, first, second);
    const double gain = first * problem->count[of->first] + (of->second >= 0 ? second * problem->count[of->second] : 0);
    /* Of equal sums the earlier combination, on the earlier type. */
    program->cost[column] = -gain * (1 + 1e-4 * (1 - (double)column / program->lp.columns));
    program->upper[column] = runs ? (double)INFINITY : 0;
    program->starts[column + 1] = program->entries;
}

static void add_rows(struct program *program)
{
    const struct packed_problem *problem = program->problem;
    double n = 0;
    const int column = program->lp.columns - 1;
    for (int i = 0; i < program->lp.rows; i++) {
        const bool is_rate = i >= problem->types + problem->kinds;
        program->row_lower[i] = is_rate ? 0 : -(double)INFINITY;
        program->row_upper[i] = is_rate ? (double)INFINITY : 1;
    }
    for (int k = 0; k < problem->kinds; k++) {
        n += problem->count[k];
        if (program->fastest[k] > 0)
            add_entry(program, problem->types + problem->kinds + k,
                      -problem->need[k] * program->scale / program->fastest[k]);
    }
    program->cost[column] = -LEVEL_PER_RATE * n;
    program->upper[column] = 2; /* sharing may do more than the fastest type alone */
    program->starts[column + 1] = program->entries;
}

enum lp_outcome packed_solve(const struct packed_problem *problem, struct packed_basis *basis, double *y, double *level)
{
    struct program program;
    enum lp_outcome outcome = LP_NO_MEMORY;
    if (program_init(&program, problem)) {
        measure(&program);
        for (int c = 0; c < problem->combinations; c++)
            for (int j = 0; j < problem->types; j++) add_column(&program, &problem->of[c], j, c * problem->types + j);
        add_rows(&program);
        outcome = lp_solve_from(&program.lp, basis->columns, basis->rows, program.x);
    }
    if (outcome == LP_OPTIMAL) {
        memcpy(y, program.x, (size_t)(program.lp.columns - 1) * sizeof *y);
        *level = program.x[program.lp.columns - 1] * program.scale;
    }
    program_fini(&program);
    return outcome;
}
