/* A sparse linear program (lp.h) that is written column by column. */
#ifndef ORRERY_POLICIES_LP_COLUMNS_H
#define ORRERY_POLICIES_LP_COLUMNS_H

#include "policies/lp.h"

/* All numbers begin as 0. Bounds of rows are written in any order. */
struct lp_columns {
    struct lp lp;                  /* reads the following */
    double *cost, *lower, *upper;  /* [columns] */
    double *row_lower, *row_upper; /* [rows] */
    bool *integer;                 /* [columns] */
    double *x;                     /* [columns] room for a solution */
    double *values;
    int *starts, *row_of, n;       /* n: columns that have ended */
};

/* Room for a program with at most so many nonzero coefficients. False: out of memory; lp_columns_fini is due. */
bool lp_columns_init(struct lp_columns *program, int columns, int rows, int coefficients);
void lp_columns_fini(struct lp_columns *program);

/* Adds a coefficient to the present column, in rising order of rows; 0 is left out. */
void lp_columns_add(struct lp_columns *program, int row, double value);

/* Ends the present column. */
void lp_columns_end(struct lp_columns *program, double cost, double lower, double upper);

#endif
