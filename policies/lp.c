#include "policies/lp.h"

#include "sim/core/mem.h"

#include <errno.h>
#include <glpk.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stddef.h>
#include <string.h>

enum { ITERATIONS = 10000 };

/* How far from the least cost the choice among optima may go. */
static const double TIE_FRAC = 1e-9;

/* One call. indices and values [rows + 2] hold one column, counted from 1 as GLPK does. */
struct solving {
    const struct lp *lp;
    double *x;
    int *indices;
    double *values;
    unsigned char *column_states, *row_states; /* lp_solve_from */
    int64_t most_nodes;                        /* lp_solve_integer */
    enum lp_outcome outcome;
};

/* --- GLPK's environment --- */

/* GLPK calls this where it would abort. */
static void leave(void *where)
{
    longjmp(*(jmp_buf *)where, 1);
}

/* Silences errors too, which GLPK prints even with its terminal off. */
static int silence(void *context, const char *text)
{
    (void)context, (void)text;
    return 1;
}

/* Calls `work` in an environment that ends with it, with every problem made there. `work` owns nothing that must be
 * freed. LP_FAILED: GLPK refused the problem. */
static enum lp_outcome in_glpk(void (*work)(struct solving *solving), struct solving *solving)
{
    jmp_buf here;
    volatile bool is_done = false;
    if (glp_init_env() > 1) return LP_NO_MEMORY; /* any other function would abort */
    glp_term_out(GLP_OFF);
    glp_term_hook(silence, NULL);
    glp_error_hook(leave, &here);
    errno = 0;
    if (setjmp(here) == 0) {
        work(solving);
        is_done = true;
    }
    const bool wants_memory = errno == ENOMEM; /* GLPK gives up where an allocation fails */
    glp_error_hook(NULL, NULL);
    glp_free_env(); /* with the problems */
    return is_done ? solving->outcome : wants_memory ? LP_NO_MEMORY : LP_FAILED;
}

static enum lp_outcome in_glpk_with_room(void (*work)(struct solving *solving), struct solving *solving)
{
    const size_t n = (size_t)solving->lp->rows + 2;
    solving->indices = mem_zalloc(n, sizeof *solving->indices);
    solving->values = mem_zalloc(n, sizeof *solving->values);
    const bool has_room = solving->indices != NULL && solving->values != NULL;
    const enum lp_outcome outcome = has_room ? in_glpk(work, solving) : LP_NO_MEMORY;
    mem_free(solving->indices);
    mem_free(solving->values);
    return outcome;
}

/* --- The problem --- */

static int bound_kind(double lower, double upper)
{
    if (lower == upper) return GLP_FX;
    if (isinf(lower)) return isinf(upper) ? GLP_FR : GLP_UP;
    return isinf(upper) ? GLP_LO : GLP_DB;
}

static int add_value(const struct solving *solving, int n, int row, double value)
{
    if (value == 0.0) return n;
    solving->indices[++n] = row + 1;
    solving->values[n] = value;
    return n;
}

/* Gathers the nonzero coefficients of one column. Returns their number. */
static int gather_column(const struct solving *solving, int column)
{
    const struct lp *lp = solving->lp;
    int n = 0;
    for (int i = 0; lp->matrix != NULL && i < lp->rows; i++)
        n = add_value(solving, n, i, lp->matrix[i * lp->columns + column]);
    for (int k = lp->matrix == NULL ? lp->starts[column] : 0; lp->matrix == NULL && k < lp->starts[column + 1]; k++)
        n = add_value(solving, n, lp->row_of[k], lp->values[k]);
    return n;
}

/* With cost_row a last, free row holds the costs. */
static glp_prob *create_problem(const struct solving *solving, bool cost_row)
{
    const struct lp *lp = solving->lp;
    glp_prob *problem = glp_create_prob();
    glp_set_obj_dir(problem, GLP_MIN);
    glp_add_cols(problem, lp->columns);
    glp_add_rows(problem, lp->rows + cost_row);
    for (int i = 0; i < lp->rows; i++)
        glp_set_row_bnds(problem, i + 1, bound_kind(lp->row_lower[i], lp->row_upper[i]), lp->row_lower[i],
                         lp->row_upper[i]);
    if (cost_row) glp_set_row_bnds(problem, lp->rows + 1, GLP_FR, 0, 0);
    for (int j = 0; j < lp->columns; j++) {
        int n = gather_column(solving, j);
        if (cost_row) n = add_value(solving, n, lp->rows, lp->cost[j]);
        glp_set_col_bnds(problem, j + 1, bound_kind(lp->lower[j], lp->upper[j]), lp->lower[j], lp->upper[j]);
        glp_set_obj_coef(problem, j + 1, lp->cost[j]);
        glp_set_mat_col(problem, j + 1, n, solving->indices, solving->values);
    }
    return problem;
}

static void read_optimum(glp_prob *problem, const struct solving *solving)
{
    for (int j = 0; j < solving->lp->columns; j++) solving->x[j] = glp_get_col_prim(problem, j + 1);
}

static enum lp_outcome run_simplex(glp_prob *problem, int method, int iterations)
{
    glp_smcp how;
    glp_init_smcp(&how);
    how.msg_lev = GLP_MSG_OFF;
    how.it_lim = iterations;
    how.meth = method;
    const int code = glp_simplex(problem, &how);
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

/* --- With the tie rule --- */

/* Among all optima: bounds the cost and minimises the sum of (j + 1) x_j. */
static enum lp_outcome choose_among_optima(glp_prob *problem, const struct lp *lp)
{
    const double cost = glp_get_obj_val(problem);
    glp_set_row_bnds(problem, lp->rows + 1, GLP_UP, 0, cost + TIE_FRAC * fmax(fabs(cost), 1.0));
    for (int j = 0; j < lp->columns; j++) glp_set_obj_coef(problem, j + 1, j + 1.0);
    return run_simplex(problem, GLP_PRIMAL, ITERATIONS);
}

static void solve_with_ties(struct solving *solving)
{
    glp_prob *problem = create_problem(solving, true);
    solving->outcome = run_simplex(problem, GLP_PRIMAL, ITERATIONS);
    if (solving->outcome != LP_OPTIMAL) return;
    read_optimum(problem, solving);
    if (choose_among_optima(problem, solving->lp) == LP_OPTIMAL) read_optimum(problem, solving);
}

enum lp_outcome lp_solve(const struct lp *lp, double *x)
{
    int indices[LP_MOST_ROWS + 2];
    double values[LP_MOST_ROWS + 2];
    struct solving solving = {.lp = lp, .x = x, .indices = indices, .values = values};
    return lp->rows > LP_MOST_ROWS ? LP_FAILED : in_glpk(solve_with_ties, &solving);
}

/* --- From a basis --- */

/* New rows are basic. New columns stand at their bound of lesser cost, where the dual method can start. */
static void complete_basis(const struct solving *solving)
{
    const struct lp *lp = solving->lp;
    for (int i = 0; i < lp->rows; i++)
        if (solving->row_states[i] == LP_NEW) solving->row_states[i] = LP_BASIC;
    for (int j = 0; j < lp->columns; j++)
        if (solving->column_states[j] == LP_NEW)
            solving->column_states[j] = lp->cost[j] < 0 && isfinite(lp->upper[j]) ? LP_AT_UPPER : LP_AT_LOWER;
}

/* A basis has as many members as the program has rows: the last rows enter or leave where rows or columns have gone. */
static void repair_basis(const struct solving *solving)
{
    const struct lp *lp = solving->lp;
    int excess = -lp->rows;
    for (int i = 0; i < lp->rows; i++) excess += solving->row_states[i] == LP_BASIC;
    for (int j = 0; j < lp->columns; j++) excess += solving->column_states[j] == LP_BASIC;
    for (int i = lp->rows - 1; i >= 0 && excess != 0; i--) {
        const bool basic = solving->row_states[i] == LP_BASIC;
        if (basic != (excess > 0)) continue;
        solving->row_states[i] = basic ? LP_AT_UPPER : LP_BASIC;
        excess += basic ? -1 : 1;
    }
}

/* GLPK itself corrects the bound of a row or a column that has only one. */
static void set_basis(glp_prob *problem, const struct solving *solving)
{
    for (int i = 0; i < solving->lp->rows; i++) glp_set_row_stat(problem, i + 1, solving->row_states[i]);
    for (int j = 0; j < solving->lp->columns; j++) glp_set_col_stat(problem, j + 1, solving->column_states[j]);
}

static void drop_basis(glp_prob *problem, const struct solving *solving)
{
    memset(solving->row_states, LP_NEW, (size_t)solving->lp->rows);
    memset(solving->column_states, LP_NEW, (size_t)solving->lp->columns);
    complete_basis(solving);
    set_basis(problem, solving);
}

static void solve_from(struct solving *solving)
{
    glp_prob *problem = create_problem(solving, false);
    complete_basis(solving);
    repair_basis(solving);
    set_basis(problem, solving);
    if (glp_factorize(problem) != 0) drop_basis(problem, solving);
    solving->outcome = run_simplex(problem, GLP_DUALP, ITERATIONS);
    if (solving->outcome != LP_OPTIMAL) return;
    read_optimum(problem, solving);
    for (int i = 0; i < solving->lp->rows; i++)
        solving->row_states[i] = (unsigned char)glp_get_row_stat(problem, i + 1);
    for (int j = 0; j < solving->lp->columns; j++)
        solving->column_states[j] = (unsigned char)glp_get_col_stat(problem, j + 1);
}

enum lp_outcome lp_solve_from(const struct lp *lp, unsigned char *column_states, unsigned char *row_states, double *x)
{
    struct solving solving = {.lp = lp, .x = x, .column_states = column_states, .row_states = row_states};
    return in_glpk_with_room(solve_from, &solving);
}

/* --- Whole numbers --- */

static void stop_at_limit(glp_tree *tree, void *most_nodes)
{
    int active, current, total;
    glp_ios_tree_size(tree, &active, &current, &total);
    if (total > *(const int64_t *)most_nodes) glp_ios_terminate(tree);
}

static enum lp_outcome branch(glp_prob *problem, int64_t most_nodes)
{
    glp_iocp how;
    glp_init_iocp(&how);
    how.msg_lev = GLP_MSG_OFF;
    how.cb_func = stop_at_limit;
    how.cb_info = &most_nodes;
    how.gmi_cuts = how.mir_cuts = GLP_ON;
    (void)glp_intopt(problem, &how);
    switch (glp_mip_status(problem)) {
    case GLP_OPT: return LP_OPTIMAL;
    case GLP_FEAS: return LP_FEASIBLE;
    case GLP_NOFEAS: return LP_INFEASIBLE;
    default: return LP_GAVE_UP;
    }
}

static void solve_integer(struct solving *solving)
{
    const struct lp *lp = solving->lp;
    glp_prob *problem = create_problem(solving, false);
    for (int j = 0; j < lp->columns; j++) glp_set_col_kind(problem, j + 1, lp->integer[j] ? GLP_IV : GLP_CV);
    solving->outcome = run_simplex(problem, GLP_PRIMAL, INT_MAX);
    if (solving->outcome == LP_OPTIMAL) solving->outcome = branch(problem, solving->most_nodes);
    if (solving->outcome != LP_OPTIMAL && solving->outcome != LP_FEASIBLE) return;
    for (int j = 0; j < lp->columns; j++) {
        const double value = glp_mip_col_val(problem, j + 1);
        solving->x[j] = lp->integer[j] ? nearbyint(value) : value;
    }
}

enum lp_outcome lp_solve_integer(const struct lp *lp, int64_t most_nodes, double *x)
{
    struct solving solving = {.lp = lp, .x = x, .most_nodes = most_nodes};
    return in_glpk_with_room(solve_integer, &solving);
}
