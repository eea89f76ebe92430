#include "policies/rental/melange_fleet.h"

#include "policies/lp_columns.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* With this limit the program of 60 buckets and 4 kinds either ends or is within a GPU's price of its optimum. */
static const int64_t MOST_NODES = 20000;

/* Columns: the GPUs of each kind, then the slices of each bucket on each kind. */
static int slices_column(const struct melange_problem *problem, int bucket, int kind)
{
    return problem->kinds + bucket * problem->kinds + kind;
}

/* A kind takes at most `slices` slices of a bucket, and none of a bucket that it cannot serve. */
static void add_slices(struct lp_columns *program, const struct melange_problem *problem, int bucket, int kind)
{
    const double max_per_s = problem->max_per_s[kind * problem->buckets + bucket];
    const double slice_per_s = problem->rate_per_s[bucket] / (double)problem->slices;
    if (max_per_s > 0.0) lp_columns_add(program, kind, slice_per_s / max_per_s);
    lp_columns_add(program, problem->kinds + bucket, 1.0);
    lp_columns_end(program, 0.0, 0.0, max_per_s > 0.0 ? (double)problem->slices : 0.0);
}

/* Rows: no kind is overloaded; all slices of a bucket are served. */
static void program_fill(struct lp_columns *program, const struct melange_problem *problem)
{
    for (int j = 0; j < program->lp.columns; j++) program->integer[j] = true;
    for (int j = 0; j < problem->kinds; j++) {
        program->row_lower[j] = -(double)INFINITY;
        lp_columns_add(program, j, -1.0);
        lp_columns_end(program, problem->usd_per_h[j], 0.0, problem->most_gpus[j]);
    }
    for (int i = 0; i < problem->buckets; i++) {
        const int row = problem->kinds + i;
        program->row_lower[row] = program->row_upper[row] = (double)problem->slices;
        for (int j = 0; j < problem->kinds; j++) add_slices(program, problem, i, j);
    }
}

static void read_fleet(const struct lp_columns *program, const struct melange_problem *problem,
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
    const int kinds = problem->kinds, slices = kinds * problem->buckets;
    struct lp_columns program;
    enum lp_outcome outcome = LP_NO_MEMORY;
    if (lp_columns_init(&program, kinds + slices, kinds + problem->buckets, kinds + 2 * slices)) {
        program_fill(&program, problem);
        outcome = lp_solve_integer(&program.lp, MOST_NODES, program.x);
        if (outcome == LP_OPTIMAL || outcome == LP_FEASIBLE) read_fleet(&program, problem, fleet);
    }
    lp_columns_fini(&program);
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
