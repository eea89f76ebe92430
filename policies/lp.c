#include "policies/lp.h"

#include <glpk.h>
#include <math.h>
#include <setjmp.h>
#include <stdbool.h>

enum { ITERATIONS = 10000 };

/* How far from the least cost the choice among optima may go. */
static const double TIE_FRAC = 1e-9;

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
static void fill(glp_prob *problem, const struct lp *lp)
{
    glp_set_obj_dir(problem, GLP_MIN);
    glp_add_cols(problem, lp->columns);
    glp_add_rows(problem, lp->rows + 1); /* the last one holds the cost, once it is known */
    for (int j = 0; j < lp->columns; j++) {
        glp_set_col_bnds(problem, j + 1, bound_kind(lp->lower[j], lp->upper[j]), lp->lower[j], lp->upper[j]);
        glp_set_obj_coef(problem, j + 1, lp->cost[j]);
    }
    for (int i = 0; i < lp->rows; i++)
        glp_set_row_bnds(problem, i + 1, bound_kind(lp->row_lower[i], lp->row_upper[i]), lp->row_lower[i],
                         lp->row_upper[i]);
    glp_set_row_bnds(problem, lp->rows + 1, GLP_FR, 0, 0);
}

/* The coefficients of one column, those that are not zero; indices and values have room for all rows. */
static void fill_column(glp_prob *problem, const struct lp *lp, int column, int *indices, double *values)
{
    int n = 0;
    for (int i = 0; i <= lp->rows; i++) {
        const double value = i < lp->rows ? lp->matrix[i * lp->columns + column] : lp->cost[column];
        if (value == 0.0) continue;
        indices[++n] = i + 1;
        values[n] = value;
    }
    glp_set_mat_col(problem, column + 1, n, indices, values);
}

static enum lp_outcome outcome_of(glp_prob *problem, int code)
{
    if (code == GLP_ENOPFS) return LP_INFEASIBLE;
    if (code == GLP_ENODFS) return LP_UNBOUNDED;
    if (code != 0) return LP_GAVE_UP;
    switch (glp_get_status(problem)) {
    case GLP_OPT: return LP_OPTIMAL;
    case GLP_NOFEAS:
    case GLP_INFEAS: return LP_INFEASIBLE;
    case GLP_UNBND: return LP_UNBOUNDED;
    default: return LP_GAVE_UP;
    }
}

static enum lp_outcome run(glp_prob *problem)
{
    glp_smcp how;
    glp_init_smcp(&how);
    how.msg_lev = GLP_MSG_OFF;
    how.it_lim = ITERATIONS;
    return outcome_of(problem, glp_simplex(problem, &how));
}

/* Among all optima: keeps the cost and takes as little as possible of what comes late. */
static enum lp_outcome choose(glp_prob *problem, const struct lp *lp)
{
    const double cost = glp_get_obj_val(problem);
    glp_set_row_bnds(problem, lp->rows + 1, GLP_UP, 0, cost + TIE_FRAC * fmax(fabs(cost), 1.0));
    for (int j = 0; j < lp->columns; j++) glp_set_obj_coef(problem, j + 1, j + 1.0);
    return run(problem);
}

static enum lp_outcome solve(const struct lp *lp, double *x, int *indices, double *values)
{
    glp_prob *problem = glp_create_prob();
    fill(problem, lp);
    for (int j = 0; j < lp->columns; j++) fill_column(problem, lp, j, indices, values);
    enum lp_outcome outcome = run(problem);
    if (outcome == LP_OPTIMAL) {
        for (int j = 0; j < lp->columns; j++) x[j] = glp_get_col_prim(problem, j + 1);
        if (choose(problem, lp) == LP_OPTIMAL)
            for (int j = 0; j < lp->columns; j++) x[j] = glp_get_col_prim(problem, j + 1);
    }
    return outcome;
}

enum { MOST_ROWS = 256 };

enum lp_outcome lp_solve(const struct lp *lp, double *x)
{
    jmp_buf here;
    int indices[MOST_ROWS + 2];
    double values[MOST_ROWS + 2];
    if (lp->rows > MOST_ROWS) return LP_FAILED;
    glp_term_out(GLP_OFF);
    glp_term_hook(say_nothing, NULL);
    glp_error_hook(leave, &here);
    enum lp_outcome outcome = LP_FAILED;
    if (setjmp(here) == 0) outcome = solve(lp, x, indices, values);
    glp_error_hook(NULL, NULL);
    glp_free_env(); /* with the problem */
    return outcome;
}
