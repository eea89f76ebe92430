/* Cells: GPUs as a tree, and their allocation by the buddy system, as in HiveD (Zhao et al., OSDI 2020). A cell of
 * level 0 is one GPU. A cell of the next level has several of those: 2, 4, .. GPUs of a node, a node, a rack. Sizes
 * divide each other, and the cells of one level are equal.
 *
 * A cell is named by its level and its place in the row of all cells of that level, from GPU 0 on. Roots are the
 * largest cells: all nodes or racks of a cluster, or the cells that a virtual cluster was promised, the largest first.
 * A cell is free as a whole, in use as a whole, divided into parts, or a part of one that is free or in use. */
#ifndef ORRERY_POLICIES_SCHEDULER_CELLS_CELLS_H
#define ORRERY_POLICIES_SCHEDULER_CELLS_CELLS_H

#include <stdbool.h>
#include <stdint.h>

enum { CELL_LEVELS = 40 };

/* Levels of a cluster. */
struct cell_levels {
    int32_t n, node;           /* number of levels; that of nodes */
    int32_t gpus[CELL_LEVELS]; /* of a cell */
};

/* Free cells of one level, in any order. */
struct cell_list {
    int32_t n, capacity;
    int32_t *cells;
};

struct cells {
    const struct cell_levels *levels;
    struct cell_list free[CELL_LEVELS];
    int32_t *place[CELL_LEVELS];       /* by cell: its index in free; -1: not free as a whole */
    int32_t roots[CELL_LEVELS];        /* number of roots of the level; the larger levels come first in the row */
    int32_t first_root[CELL_LEVELS];   /* place of the first of these */
};

/* What it costs to use a cell; below 0: it cannot be used. */
typedef int64_t cell_cost(const void *context, int32_t level, int32_t cell);

/* nodes_per_rack 0: no racks. A level of racks exists only if these divide the nodes. */
struct cell_levels cell_levels_of(int32_t n_nodes, int32_t gpus_per_node, int32_t nodes_per_rack);

/* The lowest level with cells of at least `gpus` GPUs, or -1. */
int32_t cell_level_for(const struct cell_levels *levels, int32_t gpus);

/* Makes roots[level] roots of each level, all free. The levels outlive the cells. Returns 0 or SIM_E_NOMEM; cells_fini
 * is due in any case. */
int cells_init(struct cells *cells, const struct cell_levels *levels, const int32_t roots[CELL_LEVELS]);
void cells_fini(struct cells *cells);

/* Takes a cell of the level: a free one of the lowest level that suffices, at the least cost, then with the lowest
 * place; it is divided as far as needed. cost NULL: 0. *cell: its place; -1: there is none. Returns 0 or
 * SIM_E_NOMEM. */
int cells_take(struct cells *cells, int32_t level, cell_cost *cost, const void *context, int32_t *cell);

/* Gives a cell back, and joins free parts. Returns 0 or SIM_E_NOMEM. */
int cells_give(struct cells *cells, int32_t level, int32_t cell);

/* The level of the root that holds a cell; *root: the number of that root, the largest first. */
int32_t cells_root_of(const struct cells *cells, int32_t level, int32_t cell, int32_t *root);

#endif
