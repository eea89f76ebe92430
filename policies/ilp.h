/* Small integer linear programs, solved by GLPK's branch and bound: silent, and bounded by nodes of the tree, never
 * by time. */
#ifndef ORRERY_POLICIES_ILP_H
#define ORRERY_POLICIES_ILP_H

#include <stdbool.h>
#include <stdint.h>

/* A coefficient of the matrix; no place has two. */
struct ilp_entry {
    int row, column;
    double value;
};

/* Minimise cost x, where lower <= x <= upper, row_lower <= matrix x <= row_upper, and x is whole where integer says
 * so. A bound may be infinite, for a side that has none. Numbers should be about 1: no more than 1e-6 to 1e6. */
struct ilp {
    int columns, rows, entries;
    const double *cost, *lower, *upper; /* [columns] */
    const bool *integer;                /* [columns] */
    const struct ilp_entry *matrix;     /* [entries] */
    const double *row_lower, *row_upper; /* [rows] */
    int64_t most_nodes;                 /* of the tree */
};

/* ILP_FEASIBLE: the best that was found when the nodes ran out; ILP_GAVE_UP: none was. ILP_FAILED: GLPK gave up by
 * itself, for want of memory. */
enum ilp_outcome { ILP_OPTIMAL, ILP_FEASIBLE, ILP_INFEASIBLE, ILP_UNBOUNDED, ILP_GAVE_UP, ILP_FAILED };

/* Writes x [columns] when there is a solution; whole ones exactly. Of several optima the same one each time. */
enum ilp_outcome ilp_solve(const struct ilp *ilp, double *x);

#endif
