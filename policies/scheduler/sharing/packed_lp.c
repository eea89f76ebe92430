#include "policies/scheduler/sharing/packed_lp.h"

#include "policies/lp_columns.h"
#include "sim/core/mem.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Weight of the least rate against the mean of all relative rates. */
static const double LEVEL_PER_RATE = 1e4;

/* Rows: GPUs of the types, time of the kinds, rates of the kinds. Columns: y, then the level. */
struct program {
    const struct packed_problem *problem;
    struct lp_columns columns;
    double *fastest; /* [kinds]: highest speed alone or shared */
    double scale;    /* of needs: a level of 1 is the most that the kind with the largest need could reach */
};

static void program_fini(struct program *program)
{
    lp_columns_fini(&program->columns);
    mem_free(program->fastest);
}

static bool program_init(struct program *program, const struct packed_problem *problem)
{
    const int columns = problem->combinations * problem->types + 1, rows = problem->types + 2 * problem->kinds;
    *program = (struct program){.problem = problem,
                                .fastest = mem_zalloc((size_t)problem->kinds + 1, sizeof *program->fastest)};
    return lp_columns_init(&program->columns, columns, rows, 5 * columns + problem->kinds) && program->fastest != NULL;
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

/* Coefficients of the two kinds in rising order of rows; one for two jobs of one kind. */
static void add_kinds(struct program *program, int row, const struct combination *of, double first, double second)
{
    if (of->second == of->first)
        lp_columns_add(&program->columns, row + of->first, first + second);
    else if (of->second >= 0 && of->second < of->first) {
        lp_columns_add(&program->columns, row + of->second, second);
        lp_columns_add(&program->columns, row + of->first, first);
    } else {
        lp_columns_add(&program->columns, row + of->first, first);
        if (of->second >= 0) lp_columns_add(&program->columns, row + of->second, second);
    }
}

static double relative(const struct program *program, int kind, double speed)
{
    return kind < 0 ? 0 : speed / program->fastest[kind] / program->problem->count[kind];
}

static void add_column(struct program *program, const struct combination *of, int type)
{
    const struct packed_problem *problem = program->problem;
    const int kinds = problem->kinds, types = problem->types;
    const bool runs = of->gpus <= problem->gpus[type] && of->speed_first[type] > 0 &&
                      (of->second < 0 || of->speed_second[type] > 0);
    const double first = relative(program, of->first, of->speed_first[type]);
    const double second = relative(program, of->second, of->speed_second[type]);
    lp_columns_add(&program->columns, type, of->gpus / fmax(problem->gpus[type], 1));
    add_kinds(program, types, of, 1 / problem->count[of->first], of->second >= 0 ? 1 / problem->count[of->second] : 0);
    add_kinds(program, types + kinds, of, first, second);
    const double gain = first * problem->count[of->first] + (of->second >= 0 ? second * problem->count[of->second] : 0);
    /* Of equal sums the earlier combination, on the earlier type. */
    const double first_frac = 1 - (double)program->columns.n / program->columns.lp.columns;
    lp_columns_end(&program->columns, -gain * (1 + 1e-4 * first_frac), 0, runs ? (double)INFINITY : 0);
}

static void add_rows(const struct program *program)
{
    const struct packed_problem *problem = program->problem;
    for (int i = 0; i < program->columns.lp.rows; i++) {
        const bool is_rate = i >= problem->types + problem->kinds;
        program->columns.row_lower[i] = is_rate ? 0 : -(double)INFINITY;
        program->columns.row_upper[i] = is_rate ? (double)INFINITY : 1;
    }
}

/* The level is at most 2: sharing may do more than the fastest type alone. */
static void add_level(struct program *program)
{
    const struct packed_problem *problem = program->problem;
    double n = 0;
    for (int k = 0; k < problem->kinds; k++) {
        n += problem->count[k];
        if (program->fastest[k] > 0)
            lp_columns_add(&program->columns, problem->types + problem->kinds + k,
                           -problem->need[k] * program->scale / program->fastest[k]);
    }
    lp_columns_end(&program->columns, -LEVEL_PER_RATE * n, 0, 2);
}

enum lp_outcome packed_solve(const struct packed_problem *problem, struct packed_basis *basis, double *y, double *level)
{
    struct program program;
    enum lp_outcome outcome = LP_NO_MEMORY;
    if (program_init(&program, problem)) {
        measure(&program);
        for (int c = 0; c < problem->combinations; c++)
            for (int j = 0; j < problem->types; j++) add_column(&program, &problem->of[c], j);
        add_level(&program);
        add_rows(&program);
        outcome = lp_solve_from(&program.columns.lp, basis->columns, basis->rows, program.columns.x);
    }
    if (outcome == LP_OPTIMAL) {
        const int last = program.columns.lp.columns - 1;
        memcpy(y, program.columns.x, (size_t)last * sizeof *y);
        *level = program.columns.x[last] * program.scale;
    }
    program_fini(&program);
    return outcome;
}
