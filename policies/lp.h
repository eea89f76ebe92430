/* Linear and integer linear programs, solved by GLPK: silent, bounded by iterations or nodes of the tree, never by
 * time. */
#ifndef ORRERY_POLICIES_LP_H
#define ORRERY_POLICIES_LP_H

#include <stdbool.h>
#include <stdint.h>

/* Minimise cost x, where lower <= x <= upper and row_lower <= matrix x <= row_upper. A bound may be infinite; a row
 * with equal bounds is an equation. Numbers should be about 1: from 1e-6 to 1e6.
 *
 * The coefficients are either the dense `matrix` or, if `matrix` is NULL, the nonzero ones by column. Those of column
 * j are values[starts[j]] .. values[starts[j + 1] - 1], each in the row that row_of names, in rising order of rows. */
struct lp {
    int columns, rows;
    const double *cost, *lower, *upper;   /* [columns] */
    const double *matrix;                 /* [rows][columns] */
    const double *row_lower, *row_upper;  /* [rows] */
    const int *starts;                    /* [columns + 1] */
    const int *row_of;                    /* [starts[columns]] */
    const double *values;                 /* [starts[columns]] */
    const bool *integer;                  /* [columns]: x is whole; read by lp_solve_integer */
};

/* LP_FEASIBLE: the nodes ran out, and x is the best solution found. LP_GAVE_UP: the iterations or the nodes ran out
 * without a solution. LP_FAILED: GLPK refused the program, or it has too many rows. */
enum lp_outcome { LP_OPTIMAL, LP_FEASIBLE, LP_INFEASIBLE, LP_UNBOUNDED, LP_GAVE_UP, LP_FAILED, LP_NO_MEMORY };

enum { LP_MOST_ROWS = 256 }; /* of lp_solve */

/* Writes x [columns] if there is an optimum. Of several optima it is the one with the least sum of (j + 1) x_j, so
 * a program lists its preferred columns first. At most LP_MOST_ROWS rows. */
enum lp_outcome lp_solve(const struct lp *lp, double *x);

/* The state of a row or a column in a basis. All but LP_NEW are GLPK's. */
enum lp_state { LP_NEW, LP_BASIC, LP_AT_LOWER, LP_AT_UPPER, LP_IS_FREE, LP_IS_FIXED };

/* Starts from a basis with the dual simplex method. row_states [rows] and column_states [columns] hold an enum lp_state
 * each, as an earlier call on a similar program left them. LP_NEW marks new rows and columns; others may have gone.
 * After the call they hold the last basis. A basis that does not fit is repaired or dropped. The states decide only
 * which of several optima is found: give costs without ties. x [columns] as in lp_solve. */
enum lp_outcome lp_solve_from(const struct lp *lp, unsigned char *column_states, unsigned char *row_states, double *x);

/* Branch and bound over at most `most_nodes` nodes. Writes x [columns] if there is a solution, whole numbers exactly.
 * The same program gives the same of several optima. */
enum lp_outcome lp_solve_integer(const struct lp *lp, int64_t most_nodes, double *x);

#endif
