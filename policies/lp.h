/* Small linear programs, solved by GLPK's simplex method: silent, bounded by iterations, and of all optima the one that
 * comes first by the ids of the columns. */
#ifndef ORRERY_POLICIES_LP_H
#define ORRERY_POLICIES_LP_H

/* Minimise cost x, where lower <= x <= upper and row_lower <= matrix x <= row_upper. A bound may be infinite, for a side
 * that has none; with equal bounds a row is an equation. Numbers should be about 1: no more than 1e-6 to 1e6. */
struct lp {
    int columns, rows;
    const double *cost, *lower, *upper;   /* [columns] */
    const double *matrix;                 /* [rows][columns] */
    const double *row_lower, *row_upper;  /* [rows] */
};

enum lp_outcome { LP_OPTIMAL, LP_INFEASIBLE, LP_UNBOUNDED, LP_GAVE_UP, LP_FAILED };

/* Writes x [columns] when there is an optimum. Of several optima it is the one with the least sum of (id + 1) x, ids counted
 * from 0: what a program likes best comes first. LP_GAVE_UP: not within the iterations; LP_FAILED: GLPK gave up by itself,
 * for want of memory. */
enum lp_outcome lp_solve(const struct lp *lp, double *x);

#endif
