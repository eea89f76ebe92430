/* Measured kernels beside the model of their class: exact at measured points, with the model's shape between them.
 *
 *     t = model(call) r,   r = measured / model, interpolated between the points around the call
 *
 * linearly in log(1 + x) of the running members (kernel.h): along one member, or along both sides of a cell of two and
 * then across. All fixed members must equal those of the points. Outside the measured range a table gives no time. */
#ifndef ORRERY_MODELS_OPERATORS_KERNEL_TABLE_H
#define ORRERY_MODELS_OPERATORS_KERNEL_TABLE_H

#include "models/kernel.h"

/* One measurement. */
struct kernel_point {
    struct kernel_call call;
    double seconds;
};

/* A value of a running member: the last one has the ratio measured there, the first of two has its points. */
struct kernel_table_node {
    double at, log_at; /* x and log(1 + x) */
    double ratio;
    size_t first, n;   /* in the table's points */
};

/* Calls with equal fixed members; with one running member they have one line. */
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

/* Sorts measurements of one class by fixed, then running members, and keeps one of each call, with the median of its
 * seconds (for an even number the lower one). Returns the number kept. */
size_t kernel_points_reduce(struct kernel_point *points, size_t n);

/* Fills a table from such points, n >= 1, and the model with these parameters on the measured GPU. Its three arrays
 * have room for n each. */
void kernel_table_fill(struct kernel_table *table, const struct kernel_point *points, size_t n,
                       const union kernel_params *params, const struct gpu_spec *gpu);

/* The call's shape, or NULL if it was not measured. */
const struct kernel_table_shape *kernel_table_find(const struct kernel_table *table, const struct kernel_call *call);

/* Sets the factor of the model for a call. Returns false outside the measured range. Takes at most four binary
 * searches. */
bool kernel_table_ratio(const struct kernel_table *table, const struct kernel_call *call, double *ratio);

#endif
