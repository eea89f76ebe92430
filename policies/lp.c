#include "policies/lp.h"

#include "policies/glpk.h"
#include "sim/core/mem.h"

#include <glpk.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { ITERATIONS = 10000 };

/* How far from the least cost the choice among optima may go. */
static const double TIE_FRAC = 1e-9;

/* GLPK counts rows and columns from 1. */
static void fill(glp_prob *problem, const struct lp *lp)
{
    glp_set_obj_dir(problem, GLP_MIN);
    glp_add_cols(problem, lp->columns);
    glp_add_rows(problem, lp->rows + 1); /* the last one holds the cost, once it is known */
    for (int j = 0; j < lp->columns; j++) {
        glp_set_col_bnds(problem, j + 1, glpk_bound_kind(lp->lower[j], lp->upper[j]), lp->lower[j], lp->upper[j]);
        glp_set_obj_coef(problem, j + 1, lp->cost[j]);
    }
    for (int i = 0; i < lp->rows; i++)
        glp_set_row_bnds(problem, i + 1, glpk_bound_kind(lp->row_lower[i], lp->row_upper[i]), lp->row_lower[i],
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

static enum lp_outcome run(glp_prob *problem, int method)
{
    glp_smcp how;
    glp_init_smcp(&how);
    how.msg_lev = GLP_MSG_OFF;
    how.it_lim = ITERATIONS;
    how.meth = method;
    return outcome_of(problem, glp_simplex(problem, &how));
}

/* Among all optima: keeps the cost and takes as little as possible of what comes late. */
static enum lp_outcome choose(glp_prob *problem, const struct lp *lp)
{
    const double cost = glp_get_obj_val(problem);
    glp_set_row_bnds(problem, lp->rows + 1, GLP_UP, 0, cost + TIE_FRAC * fmax(fabs(cost), 1.0));
    for (int j = 0; j < lp->columns; j++) glp_set_obj_coef(problem, j + 1, j + 1.0);
    return run(problem, GLP_PRIMAL);
}

static enum lp_outcome solve(const struct lp *lp, double *x, int *indices, double *values)
{
    glp_prob *problem = glp_create_prob();
    fill(problem, lp);
    for (int j = 0; j < lp->columns; j++) fill_column(problem, lp, j, indices, values);
    enum lp_outcome outcome = run(problem, GLP_PRIMAL);
    if (outcome == LP_OPTIMAL) {
        for (int j = 0; j < lp->columns; j++) x[j] = glp_get_col_prim(problem, j + 1);
        if (choose(problem, lp) == LP_OPTIMAL)
            for (int j = 0; j < lp->columns; j++) x[j] = glp_get_col_prim(problem, j + 1);
    }
    return outcome;
}

enum { MOST_ROWS = 256 };

struct dense {
    const struct lp *lp;
    double *x;
    int indices[MOST_ROWS + 2];
    double values[MOST_ROWS + 2];
    enum lp_outcome outcome;
};

static void solve_dense(void *context)
{
    struct dense *dense = context;
    dense->outcome = solve(dense->lp, dense->x, dense->indices, dense->values);
}

enum lp_outcome lp_solve(const struct lp *lp, double *x)
{
    if (lp->rows > MOST_ROWS) return LP_FAILED;
    struct dense dense = {.lp = lp, .x = x};
    return glpk_run(solve_dense, &dense) ? dense.outcome : LP_FAILED;
}

struct warm {
    const struct lp_sparse *lp;
    unsigned char *column_states, *row_states;
    double *x;
    int *indices;   /* [rows + 1]: of one column */
    double *values;
    enum lp_outcome outcome;
};

static void fill_sparse(glp_prob *problem, const struct warm *warm)
{
    const struct lp_sparse *lp = warm->lp;
    glp_add_cols(problem, lp->columns);
    glp_add_rows(problem, lp->rows);
    for (int i = 0; i < lp->rows; i++)
        glp_set_row_bnds(problem, i + 1, glpk_bound_kind(lp->row_lower[i], lp->row_upper[i]), lp->row_lower[i],
                         lp->row_upper[i]);
    for (int j = 0; j < lp->columns; j++) {
        glp_set_col_bnds(problem, j + 1, glpk_bound_kind(lp->lower[j], lp->upper[j]), lp->lower[j], lp->upper[j]);
        glp_set_obj_coef(problem, j + 1, lp->cost[j]);
        const int n = lp->starts[j + 1] - lp->starts[j];
        for (int k = 0; k < n; k++) {
            warm->indices[k + 1] = lp->row_of[lp->starts[j] + k] + 1;
            warm->values[k + 1] = lp->values[lp->starts[j] + k];
        }
        glp_set_mat_col(problem, j + 1, n, warm->indices, warm->values);
    }
}

/* New rows are basic; new columns wait at their bound of the lesser cost, where the dual method can start. */
static void complete_basis(const struct warm *warm)
{
    const struct lp_sparse *lp = warm->lp;
    for (int i = 0; i < lp->rows; i++)
        if (warm->row_states[i] == LP_NEW) warm->row_states[i] = LP_BASIC;
    for (int j = 0; j < lp->columns; j++)
        if (warm->column_states[j] == LP_NEW)
            warm->column_states[j] = lp->cost[j] < 0 && isfinite(lp->upper[j]) ? LP_AT_UPPER : LP_AT_LOWER;
}

/* A basis has as many members as there are rows: the last rows enter or leave where columns or rows have gone. */
static void mend_basis(const struct warm *warm)
{
    int excess = -warm->lp->rows;
    for (int i = 0; i < warm->lp->rows; i++) excess += warm->row_states[i] == LP_BASIC;
    for (int j = 0; j < warm->lp->columns; j++) excess += warm->column_states[j] == LP_BASIC;
    for (int i = warm->lp->rows - 1; i >= 0 && excess != 0; i--) {
        const bool basic = warm->row_states[i] == LP_BASIC;
        if (basic != (excess > 0)) continue;
        warm->row_states[i] = basic ? LP_AT_UPPER : LP_BASIC;
        excess += basic ? -1 : 1;
    }
}

/* GLPK says by itself at which bound a row or column is that has one only. */
static void set_basis(glp_prob *problem, const struct warm *warm)
{
    for (int i = 0; i < warm->lp->rows; i++) glp_set_row_stat(problem, i + 1, warm->row_states[i]);
    for (int j = 0; j < warm->lp->columns; j++) glp_set_col_stat(problem, j + 1, warm->column_states[j]);
}

static void start_anew(glp_prob *problem, const struct warm *warm)
{
    memset(warm->row_states, LP_NEW, (size_t)warm->lp->rows);
    memset(warm->column_states, LP_NEW, (size_t)warm->lp->columns);
    complete_basis(warm);
    set_basis(problem, warm);
}

static enum lp_outcome solve_from(const struct warm *warm)
{
    glp_prob *problem = glp_create_prob();
    glp_set_obj_dir(problem, GLP_MIN);
    fill_sparse(problem, warm);
    complete_basis(warm);
    mend_basis(warm);
    set_basis(problem, warm);
    if (glp_factorize(problem) != 0) start_anew(problem, warm);
    enum lp_outcome outcome = run(problem, GLP_DUALP);
    if (outcome != LP_OPTIMAL) return outcome;
    for (int i = 0; i < warm->lp->rows; i++) warm->row_states[i] = (unsigned char)glp_get_row_stat(problem, i + 1);
    for (int j = 0; j < warm->lp->columns; j++) {
        warm->column_states[j] = (unsigned char)glp_get_col_stat(problem, j + 1);
        warm->x[j] = glp_get_col_prim(problem, j + 1);
    }
    return LP_OPTIMAL;
}

static void solve_warm(void *context)
{
    struct warm *warm = context;
    warm->outcome = solve_from(warm);
}

enum lp_outcome lp_solve_from(const struct lp_sparse *lp, unsigned char *column_states, unsigned char *row_states,
                              double *x)
{
    const size_t n = (size_t)lp->rows + 1;
    struct warm warm = {.lp = lp, .column_states = column_states, .row_states = row_states, .x = x};
    warm.indices = mem_zalloc(n, sizeof *warm.indices);
    warm.values = mem_zalloc(n, sizeof *warm.values);
    const bool has_room = warm.indices != NULL && warm.values != NULL;
    const bool is_done = has_room && glpk_run(solve_warm, &warm);
    mem_free(warm.indices);
    mem_free(warm.values);
    return is_done ? warm.outcome : LP_FAILED;
}
