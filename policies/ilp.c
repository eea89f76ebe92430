#include "policies/ilp.h"

#include "policies/glpk.h"
#include "sim/core/mem.h"

#include <glpk.h>
#include <math.h>
#include <stddef.h>

/* GLPK counts rows and columns from 1. */
static void fill(glp_prob *problem, const struct ilp *ilp)
{
    glp_set_obj_dir(problem, GLP_MIN);
    glp_add_cols(problem, ilp->columns);
    glp_add_rows(problem, ilp->rows);
    for (int j = 0; j < ilp->columns; j++) {
        glp_set_col_kind(problem, j + 1, ilp->integer[j] ? GLP_IV : GLP_CV);
        glp_set_col_bnds(problem, j + 1, glpk_bound_kind(ilp->lower[j], ilp->upper[j]), ilp->lower[j], ilp->upper[j]);
        glp_set_obj_coef(problem, j + 1, ilp->cost[j]);
    }
    for (int i = 0; i < ilp->rows; i++)
        glp_set_row_bnds(problem, i + 1, glpk_bound_kind(ilp->row_lower[i], ilp->row_upper[i]), ilp->row_lower[i],
                         ilp->row_upper[i]);
}

/* The coefficients, counted from 1 as GLPK does. */
struct entries {
    int *rows, *columns;
    double *values;
};

static void fill_matrix(glp_prob *problem, const struct ilp *ilp, const struct entries *entries)
{
    for (int e = 0; e < ilp->entries; e++) {
        entries->rows[e + 1] = ilp->matrix[e].row + 1;
        entries->columns[e + 1] = ilp->matrix[e].column + 1;
        entries->values[e + 1] = ilp->matrix[e].value;
    }
    glp_load_matrix(problem, ilp->entries, entries->rows, entries->columns, entries->values);
}

static void stop_at_limit(glp_tree *tree, void *most_nodes)
{
    int active, current, total;
    glp_ios_tree_size(tree, &active, &current, &total);
    if (total > *(const int64_t *)most_nodes) glp_ios_terminate(tree);
}

static enum ilp_outcome relaxed(glp_prob *problem)
{
    glp_smcp how;
    glp_init_smcp(&how);
    how.msg_lev = GLP_MSG_OFF;
    if (glp_simplex(problem, &how) != 0) return ILP_GAVE_UP;
    switch (glp_get_status(problem)) {
    case GLP_OPT: return ILP_OPTIMAL;
    case GLP_UNBND: return ILP_UNBOUNDED;
    case GLP_NOFEAS: return ILP_INFEASIBLE;
    default: return ILP_GAVE_UP;
    }
}

static enum ilp_outcome branched(glp_prob *problem, int64_t most_nodes)
{
    glp_iocp how;
    glp_init_iocp(&how);
    how.msg_lev = GLP_MSG_OFF;
    how.cb_func = stop_at_limit;
    how.cb_info = &most_nodes;
    how.gmi_cuts = how.mir_cuts = GLP_ON;
    (void)glp_intopt(problem, &how);
    switch (glp_mip_status(problem)) {
    case GLP_OPT: return ILP_OPTIMAL;
    case GLP_FEAS: return ILP_FEASIBLE;
    case GLP_NOFEAS: return ILP_INFEASIBLE;
    default: return ILP_GAVE_UP;
    }
}

struct solving {
    const struct ilp *ilp;
    double *x;
    struct entries entries;
    enum ilp_outcome outcome;
};

static void solve(void *context)
{
    struct solving *solving = context;
    const struct ilp *ilp = solving->ilp;
    glp_prob *problem = glp_create_prob();
    fill(problem, ilp);
    fill_matrix(problem, ilp, &solving->entries);
    enum ilp_outcome outcome = relaxed(problem);
    if (outcome == ILP_OPTIMAL) outcome = branched(problem, ilp->most_nodes);
    solving->outcome = outcome;
    if (outcome != ILP_OPTIMAL && outcome != ILP_FEASIBLE) return;
    for (int j = 0; j < ilp->columns; j++) {
        solving->x[j] = glp_mip_col_val(problem, j + 1);
        if (ilp->integer[j]) solving->x[j] = nearbyint(solving->x[j]);
    }
}

enum ilp_outcome ilp_solve(const struct ilp *ilp, double *x)
{
    const size_t n = (size_t)ilp->entries + 1;
    struct solving solving = {.ilp = ilp, .x = x, .entries = {mem_alloc(n * sizeof(int)), mem_alloc(n * sizeof(int)),
                                                              mem_alloc(n * sizeof(double))}};
    const struct entries *entries = &solving.entries;
    const bool has_room = entries->rows != NULL && entries->columns != NULL && entries->values != NULL;
    const bool is_done = has_room && glpk_run(solve, &solving);
    mem_free(entries->rows);
    mem_free(entries->columns);
    mem_free(entries->values);
    return is_done ? solving.outcome : ILP_FAILED;
}
