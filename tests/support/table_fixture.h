/* Tables of measured kernels made in memory, as a calibration file's are when it is read. */
#ifndef ORRERY_TESTS_SUPPORT_TABLE_FIXTURE_H
#define ORRERY_TESTS_SUPPORT_TABLE_FIXTURE_H

#include "models/operators/kernel_table.h"
#include "sim/core/mem.h"

/* The table of points of one class, n >= 1, which get sorted; or NULL without memory. */
const struct kernel_table *table_fixture_make(struct kernel_point *points, size_t n, const union kernel_params *params,
                                              const struct gpu_spec *gpu, struct arena *arena);

#endif
