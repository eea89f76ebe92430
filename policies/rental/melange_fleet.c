#include "policies/rental/melange_fleet.h"

#include "sim/core/mem.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Within them the program of 60 buckets and 4 kinds either ends or is within a GPU's price of its optimum. */
static const int64_t MOST_NODES = 20000;

/* Columns: the GPUs of each kind, then the slices of each bucket on each kind. Rows: no kind is overloaded; all
 * slices go somewhere. */
struct program {
    struct ilp ilp;
    double *columns, *rows; /* memory of bounds and costs */
    struct ilp_entry *entries;
    bool *integer;
    double *x;
};

static int slices_column(const struct melange_problem *problem, int bucket, int kind)
{
    return problem->kinds + bucket * problem->kinds + kind;
}

static bool program_alloc(struct program *program, const struct melange_problem *problem)
{
    const size_t kinds = (size_t)problem->kinds, buckets = (size_t)problem->buckets;
    const size_t columns = kinds + kinds * buckets, rows = kinds + buckets;
    program->columns = mem_zalloc(4 * columns, sizeof(double));
    program->rows = mem_zalloc(2 * rows, sizeof(double));
    program->entries = mem_zalloc(kinds + 2 * kinds * buckets, sizeof *program->entries);
    program->integer = mem_zalloc(columns, sizeof *program->integer);
    program->ilp = (struct ilp){.columns = (int)columns, .rows = (int)rows, .most_nodes = MOST_NODES,
                                .matrix = program->entries, .integer = program->integer};
    return program->columns != NULL && program->rows != NULL && program->entries != NULL && program->integer != NULL;
}

static void program_free(struct program *program)
{
    mem_free(program->columns);
    mem_free(program->rows);
    mem_free(program->entries);
    mem_free(program->integer);
}

static void add_entry(struct program *program, int row, int column, double value)
{
    program->entries[program->ilp.entries++] = (struct ilp_entry){row, column, value};
}

/* Of one bucket on one kind: as many slices as there are, or none where the kind cannot serve them. */
static void add_slices(struct program *program, const struct melange_problem *problem, int bucket, int kind,
                       double *upper)
{
    const int column = slices_column(problem, bucket, kind);
    const double max_per_s = problem->max_per_s[kind * problem->buckets + bucket];
    const double slice_per_s = problem->rate_per_s[bucket] / (double)problem->slices;
    program->integer[column] = true;
    add_entry(program, problem->kinds + bucket, column, 1.0);
    if (!(max_per_s > 0.0)) return;
    upper[column] = (double)problem->slices;
    add_entry(program, kind, column, slice_per_s / max_per_s);
}

static void program_fill(struct program *program, const struct melange_problem *problem)
{
    const int columns = program->ilp.columns, rows = program->ilp.rows;
    double *cost = program->columns, *lower = cost + columns, *upper = lower + columns;
    double *row_lower = program->rows, *row_upper = row_lower + rows;
    for (int j = 0; j < problem->kinds; j++) {
        cost[j] = problem->usd_per_h[j];
        upper[j] = problem->most_gpus[j];
        program->integer[j] = true;
        add_entry(program, j, j, -1.0);
        row_lower[j] = -(double)INFINITY;
    }
    for (int i = 0; i < problem->buckets; i++) {
        row_lower[problem->kinds + i] = row_upper[problem->kinds + i] = (double)problem->slices;
        for (int j = 0; j < problem->kinds; j++) add_slices(program, problem, i, j, upper);
    }
    program->ilp.cost = cost;
    program->ilp.lower = lower;
    program->ilp.upper = upper;
    program->ilp.row_lower = row_lower;
    program->ilp.row_upper = row_upper;
    program->x = upper + columns;
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

enum ilp_outcome melange_solve(const struct melange_problem *problem, struct melange_fleet *fleet)
{
    struct program program = {0};
    enum ilp_outcome outcome = ILP_FAILED;
    if (program_alloc(&program, problem)) {
        program_fill(&program, problem);
        outcome = ilp_solve(&program.ilp, program.x);
        if (outcome == ILP_OPTIMAL || outcome == ILP_FEASIBLE) read_fleet(&program, problem, fleet);
    }
    program_free(&program);
    return outcome;
}

/* GPUs of one kind that serve all buckets; INFINITY: it cannot. Slices do not matter here. */
static double gpus_of_kind(const struct melange_problem *problem, int kind)
{
    double load = 0.0;
    for (int i = 0; i < problem->buckets; i++)
        if (problem->rate_per_s[i] > 0.0)
            load += problem->rate_per_s[i] / problem->max_per_s[kind * problem->buckets + i];
    const double gpus = ceil(load * (1.0 - 1e-12));
    return gpus > problem->most_gpus[kind] ? (double)INFINITY : gpus;
}

enum ilp_outcome melange_single_kind(const struct melange_problem *problem, struct melange_fleet *fleet)
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
    if (best < 0) return ILP_INFEASIBLE;
    fleet->gpus[best] = (int64_t)gpus_of_kind(problem, best);
    for (int i = 0; fleet->shares != NULL && i < problem->buckets; i++)
        for (int j = 0; j < problem->kinds; j++) fleet->shares[i * problem->kinds + j] = j == best ? 1.0 : 0.0;
    return ILP_OPTIMAL;
}
