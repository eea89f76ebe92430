/* Measured kernels beside the law of their class: between measured points the law's shape rules, at them the
 * measurement.
 *
 *     t = law(call) r,   r = measured / law, interpolated between the points around the call
 *
 * linearly in log(1 + x) of what runs (kernel.h): along one member, or along both sides of a cell of two and then
 * across. All fixed members have to be those of the points. Outside what was measured the table is silent. */
#ifndef ORRERY_MODELS_OPERATORS_KERNEL_TABLE_H
#define ORRERY_MODELS_OPERATORS_KERNEL_TABLE_H

#include "models/kernel.h"

/* One measurement. */
struct kernel_point {
    struct kernel_call call;
    double seconds;
};

/* A value of a running member: of the last one with the ratio measured there, of the first of two with its points. */
struct kernel_table_node {
    double at, log_at; /* x and log(1 + x) */
    double ratio;
    size_t first, n;   /* in the table's points */
};

/* Alike calls; with one running member they have one line. */
struct kernel_table_shape {
    double fixed[KERNEL_MAX_FIXED];
    size_t first, n; /* in the table's lines */
};

/* Everything in rising order. */
struct kernel_table {
    size_t inner; /* which running member the points of a line have */
    size_t n_shapes;
    struct kernel_table_shape *shapes;
    struct kernel_table_node *lines, *points;
};

/* Sorts measurements of one class by shape and by what runs, and leaves one of each call, with the median of its
 * seconds (of an even number the lower one). Returns how many are left. */
size_t kernel_points_reduce(struct kernel_point *points, size_t n);

/* Makes a table of such points, n >= 1, with the law of these parameters on the GPU that was measured. Its three arrays
 * have room for n each. */
void kernel_table_fill(struct kernel_table *table, const struct kernel_point *points, size_t n,
                       const union kernel_params *params, const struct gpu_spec *gpu);

/* The call's shape, or NULL where it was not measured. */
const struct kernel_table_shape *kernel_table_find(const struct kernel_table *table, const struct kernel_call *call);

/* What the law is to be multiplied by for a call; false where the table is silent. Costs a binary search or four. */
bool kernel_table_ratio(const struct kernel_table *table, const struct kernel_call *call, double *ratio);

#endif
