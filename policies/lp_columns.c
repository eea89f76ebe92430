#include "policies/lp_columns.h"

#include "sim/core/mem.h"

#include <stddef.h>

/* One block of each type of number. */
bool lp_columns_init(struct lp_columns *program, int columns, int rows, int coefficients)
{
    *program = (struct lp_columns){
        .cost = mem_zalloc((size_t)(4 * columns + 2 * rows + coefficients), sizeof *program->cost),
        .starts = mem_zalloc((size_t)(columns + 1 + coefficients), sizeof *program->starts),
        .integer = mem_zalloc((size_t)columns, sizeof *program->integer)};
    if (program->cost == NULL || program->starts == NULL || program->integer == NULL) return false;
    program->lower = program->cost + columns;
    program->upper = program->lower + columns;
    program->x = program->upper + columns;
    program->row_lower = program->x + columns;
    program->row_upper = program->row_lower + rows;
    program->values = program->row_upper + rows;
    program->row_of = program->starts + columns + 1;
    program->lp = (struct lp){.columns = columns, .rows = rows, .cost = program->cost, .lower = program->lower,
                              .upper = program->upper, .row_lower = program->row_lower,
                              .row_upper = program->row_upper, .starts = program->starts, .row_of = program->row_of,
                              .values = program->values, .integer = program->integer};
    return true;
}

void lp_columns_fini(struct lp_columns *program)
{
    mem_free(program->cost);
    mem_free(program->starts);
    mem_free(program->integer);
}

/* While a column is open, the start of the next one counts its coefficients. */
void lp_columns_add(struct lp_columns *program, int row, double value)
{
    if (value == 0) return;
    const int at = program->starts[program->n + 1]++;
    program->row_of[at] = row;
    program->values[at] = value;
}

void lp_columns_end(struct lp_columns *program, double cost, double lower, double upper)
{
    const int column = program->n++;
    program->cost[column] = cost;
    program->lower[column] = lower;
    program->upper[column] = upper;
    if (program->n < program->lp.columns) program->starts[program->n + 1] = program->starts[program->n];
}
