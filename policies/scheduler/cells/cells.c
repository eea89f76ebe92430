#include "policies/scheduler/cells/cells.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <string.h>

struct cell_levels cell_levels_of(int32_t n_nodes, int32_t gpus_per_node, int32_t nodes_per_rack)
{
    struct cell_levels levels = {.n = 0};
    for (int32_t gpus = 1; gpus < gpus_per_node && gpus_per_node % gpus == 0; gpus *= 2) levels.gpus[levels.n++] = gpus;
    levels.node = levels.n;
    levels.gpus[levels.n++] = gpus_per_node;
    if (nodes_per_rack > 1 && n_nodes % nodes_per_rack == 0) levels.gpus[levels.n++] = gpus_per_node * nodes_per_rack;
    return levels;
}

int32_t cell_level_for(const struct cell_levels *levels, int32_t gpus)
{
    for (int32_t level = 0; level < levels->n; level++)
        if (levels->gpus[level] >= gpus) return level;
    return -1;
}

void cells_fini(struct cells *cells)
{
    for (int32_t level = 0; level < CELL_LEVELS; level++) {
        mem_free(cells->free[level].cells);
        mem_free(cells->place[level]);
    }
    *cells = (struct cells){0};
}

/* There is room: cells_init reserves it. Returns 0 or SIM_E_NOMEM. */
static int enter(struct cells *cells, int32_t level, int32_t cell)
{
    struct cell_list *list = &cells->free[level];
    cells->place[level][cell] = list->n;
    return vec_push(&list->cells, &list->n, &list->capacity, cell);
}

static void leave(struct cells *cells, int32_t level, int32_t cell)
{
    struct cell_list *list = &cells->free[level];
    const int32_t last = list->cells[--list->n], at = cells->place[level][cell];
    list->cells[at] = last;
    cells->place[level][last] = at;
    cells->place[level][cell] = -1;
}

int cells_init(struct cells *cells, const struct cell_levels *levels, const int32_t roots[CELL_LEVELS])
{
    int32_t gpus = 0; /* of the roots so far: a multiple of the size of the next, smaller ones */
    int code = 0;
    *cells = (struct cells){.levels = levels};
    memcpy(cells->roots, roots, sizeof cells->roots);
    for (int32_t level = levels->n; level-- > 0; gpus += roots[level] * levels->gpus[level])
        cells->first_root[level] = gpus / levels->gpus[level];
    for (int32_t level = 0; level < levels->n && code == 0; level++) {
        const size_t n = (size_t)(gpus / levels->gpus[level]);
        cells->place[level] = mem_alloc((n + 1) * sizeof *cells->place[level]);
        if (cells->place[level] == NULL) return SIM_E_NOMEM;
        if (vec_reserve(&cells->free[level].cells, &cells->free[level].capacity, n) != 0) return SIM_E_NOMEM;
        for (size_t i = 0; i < n; i++) cells->place[level][i] = -1;
        for (int32_t i = 0; i < roots[level] && code == 0; i++)
            code = enter(cells, level, cells->first_root[level] + i);
    }
    return code;
}

/* Cells of a level in one of the next. */
static int32_t parts_of(const struct cells *cells, int32_t level)
{
    return cells->levels->gpus[level + 1] / cells->levels->gpus[level];
}

/* Of some cells the one with the least cost, then with the lowest place; -1: none can be used. */
struct best {
    int32_t cell;
    int64_t cost;
};

static void consider(struct best *best, int32_t level, int32_t cell, cell_cost *cost, const void *context)
{
    const int64_t of = cost != NULL ? cost(context, level, cell) : 0;
    if (of < 0 || (best->cell >= 0 && (of > best->cost || (of == best->cost && cell > best->cell)))) return;
    *best = (struct best){cell, of};
}

/* Divides a free cell of level `from` down to `level`. *cell: the part that is taken, the best one. */
static int divide(struct cells *cells, int32_t from, int32_t level, cell_cost *cost, const void *context, int32_t *cell)
{
    leave(cells, from, *cell);
    for (int32_t l = from - 1; l >= level; l--) {
        const int32_t parts = parts_of(cells, l), first = *cell * parts;
        struct best best = {.cell = -1};
        for (int32_t part = first; part < first + parts; part++) consider(&best, l, part, cost, context);
        *cell = best.cell >= 0 ? best.cell : first;
        for (int32_t part = first; part < first + parts; part++)
            if (part != *cell && enter(cells, l, part) != 0) return SIM_E_NOMEM;
    }
    return 0;
}

int cells_take(struct cells *cells, int32_t level, cell_cost *cost, const void *context, int32_t *cell)
{
    struct best best = {.cell = -1};
    int32_t from = level;
    for (; from < cells->levels->n && best.cell < 0; from++)
        for (int32_t i = 0; i < cells->free[from].n; i++)
            consider(&best, from, cells->free[from].cells[i], cost, context);
    *cell = best.cell;
    return best.cell < 0 ? 0 : divide(cells, from - 1, level, cost, context, cell);
}

static bool is_root(const struct cells *cells, int32_t level, int32_t cell)
{
    return cell >= cells->first_root[level] && cell < cells->first_root[level] + cells->roots[level];
}

int cells_give(struct cells *cells, int32_t level, int32_t cell)
{
    int code = enter(cells, level, cell);
    while (code == 0 && !is_root(cells, level, cell)) {
        const int32_t parts = parts_of(cells, level), whole = cell / parts;
        for (int32_t part = whole * parts; part < (whole + 1) * parts; part++)
            if (cells->place[level][part] < 0) return 0;
        for (int32_t part = whole * parts; part < (whole + 1) * parts; part++) leave(cells, level, part);
        cell = whole;
        code = enter(cells, ++level, cell);
    }
    return code;
}

int32_t cells_root_of(const struct cells *cells, int32_t level, int32_t cell, int32_t *root)
{
    while (!is_root(cells, level, cell)) cell /= parts_of(cells, level++);
    *root = cell - cells->first_root[level];
    for (int32_t larger = level + 1; larger < cells->levels->n; larger++) *root += cells->roots[larger];
    return level;
}
