#include "tests/support/table_fixture.h"

const struct kernel_table *table_fixture_make(struct kernel_point *points, size_t n, const union kernel_params *params,
                                              const struct gpu_spec *gpu, struct arena *arena)
{
    struct kernel_table *table = arena_alloc(arena, sizeof *table);
    if (table == NULL) return NULL;
    table->shapes = arena_alloc(arena, n * sizeof *table->shapes);
    table->lines = arena_alloc(arena, n * sizeof *table->lines);
    table->points = arena_alloc(arena, n * sizeof *table->points);
    if (table->shapes == NULL || table->lines == NULL || table->points == NULL) return NULL;
    kernel_table_fill(table, points, kernel_points_reduce(points, n), params, gpu);
    return table;
}
