/* Linear programs, solved by GLPK's simplex method: silent and bounded by iterations. Small dense ones, where of all
 * optima the one is taken that comes first by the ids of the columns; and sparse ones, that start from where the last
 * one ended. */
#ifndef ORRERY_POLICIES_LP_H
#define ORRERY_POLICIES_LP_H

/* Minimise cost x, where lower <= x <= upper and row_lower <= matrix x <= row_upper. A bound may be infinite, for a
 * side that has none; with equal bounds a row is an equation. Numbers should be about 1: no more than 1e-6 to 1e6. */
struct lp {
    int columns, rows;
    const double *cost, *lower, *upper;   /* [columns] */
    const double *matrix;                 /* [rows][columns] */
    const double *row_lower, *row_upper;  /* [rows] */
};

enum lp_outcome { LP_OPTIMAL, LP_INFEASIBLE, LP_UNBOUNDED, LP_GAVE_UP, LP_FAILED };

/* Writes x [columns] when there is an optimum. Of several optima it is the one with the least sum of (id + 1) x, ids
 * counted from 0: what a program likes best comes first. LP_GAVE_UP: not within the iterations; LP_FAILED: GLPK gave
 * up by itself, for want of memory. */
enum lp_outcome lp_solve(const struct lp *lp, double *x);

/* The same with the coefficients that are not zero only, column after column: those of column j are
 * values[starts[j]] .. values[starts[j + 1] - 1], each in the row that row_of tells. No row twice in a column. */
struct lp_sparse {
    int columns, rows;
    const double *cost, *lower, *upper;   /* [columns] */
    const int *starts;                    /* [columns + 1] */
    const int *row_of;                    /* [starts[columns]] */
    const double *values;                 /* [starts[columns]] */
    const double *row_lower, *row_upper;  /* [rows] */
};

/* What a row or a column is in a basis; the others than LP_NEW are GLPK's. */
enum lp_state { LP_NEW, LP_BASIC, LP_AT_LOWER, LP_AT_UPPER, LP_IS_FREE, LP_IS_FIXED };

/* Solves it from a basis, by the dual method and from there, where that gets stuck, by the primal one. `row_states`
 * and `column_states` hold an enum lp_state each: as an earlier call on a similar program left them, LP_NEW for what
 * it had not; rows and columns may also have gone. They hold the last basis afterwards. Whatever they say, the
 * outcome is the same but for the choice among several optima: there is no order among these here, so let the costs
 * have none that are equal. A basis that is none is mended, or dropped. x [columns] as in lp_solve. */
enum lp_outcome lp_solve_from(const struct lp_sparse *lp, unsigned char *column_states, unsigned char *row_states,
                              double *x);

#endif
