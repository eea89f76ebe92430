/* The basis of the simplex method for Gavel's programs: blocks of two rows, one per kind of jobs, and few common rows.
 *
 *     sum_j x_kj + idle_k = 1                          time of kind k
 *     sum_j speed_kj x_kj - need_k t - excess_k = 0    its rate
 *     sum_k load_kj x_kj + free_j = 1                  GPUs of type j
 *
 * A basis has two key columns of each block, which solve the block's rows, and as many working columns as there are
 * common rows (block-angular programs: Dantzig and Van Slyke 1967, Bennett 1966). Eliminating the blocks leaves the
 * working system, of one row per GPU type. The level t is in the rates of all blocks. Where it is basic, one block may
 * have a single basic column of its own. That block keeps its former key column, and a further working row holds it
 * at 0. */
#ifndef ORRERY_POLICIES_SCHEDULER_GAVEL_GAVEL_BASIS_H
#define ORRERY_POLICIES_SCHEDULER_GAVEL_GAVEL_BASIS_H

#include "policies/scheduler/gavel/gavel_program.h"

enum { BASIS_ROWS = GAVEL_PROGRAM_TYPES + 1, BASIS_COMMON = -1 };

/* A column of a block: x of a type, below `types`, then the idle time, then the excess of the rate. With block
 * BASIS_COMMON: the free GPUs of a type, then the level, then the held column. */
struct basis_column {
    int block, id;
};

struct gavel_basis {
    const struct gavel_program *program;
    const double *gain; /* [kinds][types]; NULL: 0 */
    double level_gain;
    int *key;          /* [kinds][2] ids */
    double *inverse;   /* [kinds][2][2] of the two key columns */
    double *value;     /* [kinds][2] of the key columns */
    double *per_level; /* [kinds][2] coordinates of the level in the key columns */
    int rows;          /* of the working system: types, and 1 if a column is held */
    struct basis_column working[BASIS_ROWS];
    double working_value[BASIS_ROWS];
    int level_at;            /* place of the level among the working columns; -1: it is not basic */
    double level;            /* its value while it is not: 0 or 1 */
    int held_block, held_at; /* the key column held at 0; block -1: none */
    double level_load[BASIS_ROWS], level_cost; /* the level's column of the working system, and its reduced gain */
    double factor[BASIS_ROWS][BASIS_ROWS];     /* LU factors of the working system, rows in the order of `pivot` */
    int pivot[BASIS_ROWS];
    double price[BASIS_ROWS]; /* of the common rows, then of the held column */
};

/* False: out of memory. basis_fini follows in any case. */
bool basis_init(struct gavel_basis *basis, const struct gavel_program *program);
void basis_fini(struct gavel_basis *basis);

/* Goes to x = 0 and t = 0; basis_refresh must follow. */
void basis_clear(struct gavel_basis *basis);

/* Makes a column a key of its block; the other key must be independent of it. */
void basis_set_key(struct gavel_basis *basis, int block, int at, int id);

/* Coordinates of a block's column in the key columns of the block. */
void basis_coordinates(const struct gavel_basis *basis, int block, int id, double at[2]);

/* Gain of a block's column less the price of its GPUs. */
double basis_net_gain(const struct gavel_basis *basis, int block, int id);

/* Duals of the two rows of a block. */
void basis_duals(const struct gavel_basis *basis, int block, double dual[2]);

/* How the working columns fall per unit of an entering column. */
void basis_direction(const struct gavel_basis *basis, struct basis_column column, double fall[BASIS_ROWS]);

/* Factors the working system and computes prices. False: it is singular. */
bool basis_factor(struct gavel_basis *basis);

/* Reads the needs of the program anew; basis_refresh must follow. */
void basis_read_needs(struct gavel_basis *basis);

/* Computes sums over blocks, factors, prices and values anew. False: the working system is singular. */
bool basis_refresh(struct gavel_basis *basis);

/* The value of t. */
double basis_level(const struct gavel_basis *basis);

/* Whether all values are within their bounds, but for rounding. */
bool basis_is_feasible(const struct gavel_basis *basis);

#endif
