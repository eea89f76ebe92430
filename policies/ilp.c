#include "policies/ilp.h"

#include <glpk.h>
#include <math.h>
#include <setjmp.h>
#include <stddef.h>

/* GLPK calls this where it would abort. */
static void leave(void *where)
{
    longjmp(*(jmp_buf *)where, 1);
}

/* Also of its errors, which it tells of even with its terminal off. */
static int say_nothing(void *context, const char *text)
{
    (void)context, (void)text;
    return 1;
}

static int bound_kind(double lower, double upper)
{
    if (lower == upper) return GLP_FX;
    if (isinf(lower)) return isinf(upper) ? GLP_FR : GLP_UP;
    return isinf(upper) ? GLP_LO : GLP_DB;
}

/* GLPK counts rows and columns from 1. */
static void fill(glp_prob *problem, const struct ilp *ilp)
{
    glp_set_obj_dir(problem, GLP_MIN);
    glp_add_cols(problem, ilp->columns);
    glp_add_rows(problem, ilp->rows);
    for (int j = 0; j < ilp->columns; j++) {
        glp_set_col_kind(problem, j + 1, ilp->integer[j] ? GLP_IV : GLP_CV);
        glp_set_col_bnds(problem, j + 1, bound_kind(ilp->lower[j], ilp->upper[j]), ilp->lower[j], ilp->upper[j]);
        glp_set_obj_coef(problem, j + 1, ilp->cost[j]);
    }
    for (int i = 0; i < ilp->rows; i++)
        glp_set_row_bnds(problem, i + 1, bound_kind(ilp->row_lower[i], ilp->row_upper[i]), ilp->row_lower[i],
                         ilp->row_upper[i]);
}

/* One row after the other; indices and values have room for all columns. */
static void fill_rows(glp_prob *problem, const struct ilp *ilp, int *indices, double *values)
{
    for (int i = 0; i < ilp->rows; i++) {
        int n = 0;
        for (int e = 0; e < ilp->entries; e++) {
            if (ilp->matrix[e].row != i) continue;
            indices[++n] = ilp->matrix[e].column + 1;
            values[n] = ilp->matrix[e].value;
        }
        glp_set_mat_row(problem, i + 1, n, indices, values);
    }
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

static enum ilp_outcome solve(const struct ilp *ilp, double *x, int *indices, double *values)
{
    glp_prob *problem = glp_create_prob();
    fill(problem, ilp);
    fill_rows(problem, ilp, indices, values);
    enum ilp_outcome outcome = relaxed(problem);
    if (outcome == ILP_OPTIMAL) outcome = branched(problem, ilp->most_nodes);
    if (outcome != ILP_OPTIMAL && outcome != ILP_FEASIBLE) return outcome;
    for (int j = 0; j < ilp->columns; j++) {
        x[j] = glp_mip_col_val(problem, j + 1);
        if (ilp->integer[j]) x[j] = nearbyint(x[j]);
    }
    return outcome;
}

enum { MOST_COLUMNS = 4096 };

enum ilp_outcome ilp_solve(const struct ilp *ilp, double *x)
{
    jmp_buf here;
    int indices[MOST_COLUMNS + 1];
    double values[MOST_COLUMNS + 1];
    if (ilp->columns > MOST_COLUMNS) return ILP_FAILED;
    glp_term_out(GLP_OFF);
    glp_term_hook(say_nothing, NULL);
    glp_error_hook(leave, &here);
    enum ilp_outcome outcome = ILP_FAILED;
    if (setjmp(here) == 0) outcome = solve(ilp, x, indices, values);
    glp_error_hook(NULL, NULL);
    glp_free_env(); /* with the problem */
    return outcome;
}
