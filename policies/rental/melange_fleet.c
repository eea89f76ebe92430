#include "policies/rental/melange_fleet.h"

#include "sim/core/mem.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* With this limit the program of 60 buckets and 4 kinds either ends or is within a GPU's price of its optimum. */
static const int64_t MOST_NODES = 20000;

/* Columns: the GPUs of each kind, then the slices of each bucket on each kind. Rows: no kind is overloaded; all
 * slices of a bucket are served. */
struct program {
    struct lp lp;
    double *cost, *lower, *upper, *x, *row_lower, *row_upper, *values;
    int *starts, *row_of;
    bool *integer;
};

static int slices_column(const struct melange_problem *problem, int bucket, int kind)
{
    return problem->kinds + bucket * problem->kinds + kind;
}

/* One block of each type of number. */
static bool program_alloc(struct program *program, const struct melange_problem *problem)
{
    const size_t kinds = (size_t)problem->kinds, buckets = (size_t)problem->buckets;
    const size_t columns = kinds + kinds * buckets, rows = kinds + buckets, entries = kinds + 2 * kinds * buckets;
    program->cost = mem_zalloc(4 * columns + 2 * rows + entries, sizeof(double));
    program->starts = mem_zalloc(columns + 1 + entries, sizeof(int));
    program->integer = mem_zalloc(columns, sizeof(bool));
    if (program->cost == NULL || program->starts == NULL || program->integer == NULL) return false;
    program->lower = program->cost + columns;
    program->upper = program->lower + columns;
    program->x = program->upper + columns;
    program->row_lower = program->x + columns;
    program->row_upper = program->row_lower + rows;
    program->values = program->row_upper + rows;
    program->row_of = program->starts + columns + 1;
    program->lp = (struct lp){.columns = (int)columns, .rows = (int)rows, .cost = program->cost,
                              .lower = program->lower, .upper = program->upper, .row_lower = program->row_lower,
                              .row_upper = program->row_upper, .starts = program->starts, .row_of = program->row_of,
                              .values = program->values, .integer = program->integer};
    return true;
}

static void program_free(struct program *program)
{
    mem_free(program->cost);
    mem_free(program->starts);
    mem_free(program->integer);
}

static void add_entry(struct program *program, int column, int row, double value)
{
    const int at = program->starts[column + 1]++;
    program->row_of[at] = row;
    program->values[at] = value;
}

static void begin_column(struct program *program, int column, double upper)
{
    program->starts[column + 1] = program->starts[column];
    program->integer[column] = true;
    program->upper[column] = upper;
}

/* A kind takes at most `slices` slices of a bucket, and none of a bucket that it cannot serve. */
static void add_slices(struct program *program, const struct melange_problem *problem, int bucket, int kind)
{
    const int column = slices_column(problem, bucket, kind);
    const double max_per_s = problem->max_per_s[kind * problem->buckets + bucket];
    const double slice_per_s = problem->rate_per_s[bucket] / (double)problem->slices;
    begin_column(program, column, max_per_s > 0.0 ? (double)problem->slices : 0.0);
    if (max_per_s > 0.0) add_entry(program, column, kind, slice_per_s / max_per_s);
    add_entry(program, column, problem->kinds + bucket, 1.0);
}

static void program_fill(struct program *program, const struct melange_problem *problem)
{
    for (int j = 0; j < problem->kinds; j++) {
        begin_column(program, j, problem->most_gpus[j]);
        program->cost[j] = problem->usd_per_h[j];
        program->row_lower[j] = -(double)INFINITY;
        add_entry(program, j, j, -1.0);
    }
    for (int i = 0; i < problem->buckets; i++) {
        const int row = problem->kinds + i;
        program->row_lower[row] = program->row_upper[row] = (double)problem->slices;
        for (int j = 0; j < problem->kinds; j++) add_slices(program, problem, i, j);
    }
}

static void read_fleet(const struct program *program, const struct melange_problem *problem,
                       struct melange_fleet *fleet)
{
    fleet->usd_per_h = 0.0;
    for (int j = 0; j < problem->kinds; j++) {
        fleet->gpus[j] = (int64_t)program->x[j];
        fleet->usd_per_h += program->x[j] * problem->usd_per_h[j];
    }
    for (int i = 0; fleet->shares != NULL && i < problem->buckets; i++)
        for (int j = 0; j < problem->kinds; j++)
            fleet->shares[i * problem->kinds + j] = program->x[slices_column(problem, i, j)] / (double)problem->slices;
}

enum lp_outcome melange_solve(const struct melange_problem *problem, struct melange_fleet *fleet)
{
    struct program program = {0};
    enum lp_outcome outcome = LP_NO_MEMORY;
    if (program_alloc(&program, problem)) {
        program_fill(&program, problem);
        outcome = lp_solve_integer(&program.lp, MOST_NODES, program.x);
        if (outcome == LP_OPTIMAL || outcome == LP_FEASIBLE) read_fleet(&program, problem, fleet);
    }
    program_free(&program);
    return outcome;
}

/* GPUs of one kind that serve all buckets; INFINITY: the kind cannot. Slices do not matter here. */
static double gpus_of_kind(const struct melange_problem *problem, int kind)
{
    double load = 0.0;
    for (int i = 0; i < problem->buckets; i++)
        if (problem->rate_per_s[i] > 0.0)
            load += problem->rate_per_s[i] / problem->max_per_s[kind * problem->buckets + i];
    const double gpus = ceil(load * (1.0 - 1e-12));
    return gpus > problem->most_gpus[kind] ? (double)INFINITY : gpus;
}

enum lp_outcome melange_single_kind(const struct melange_problem *problem, struct melange_fleet *fleet)
{
    int best = -1;
    fleet->usd_per_h = (double)INFINITY;
    for (int j = 0; j < problem->kinds; j++) {
        const double usd_per_h = gpus_of_kind(problem, j) * problem->usd_per_h[j];
        fleet->gpus[j] = 0;
        if (!(usd_per_h < fleet->usd_per_h)) continue;
        best = j;
        fleet->usd_per_h = usd_per_h;
    }
    if (best < 0) return LP_INFEASIBLE;
    fleet->gpus[best] = (int64_t)gpus_of_kind(problem, best);
    for (int i = 0; fleet->shares != NULL && i < problem->buckets; i++)
        for (int j = 0; j < problem->kinds; j++) fleet->shares[i * problem->kinds + j] = j == best ? 1.0 : 0.0;
    return LP_OPTIMAL;
}
