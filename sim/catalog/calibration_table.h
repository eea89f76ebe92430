/* The measured points of a class in a calibration file, as models/operators/kernel_table.h interpolates them.
 *
 * Each entry of "table" is one shape: fixed members by name, and one list for each other member and for the seconds,
 * all equally long. */
#ifndef ORRERY_CATALOG_CALIBRATION_TABLE_H
#define ORRERY_CATALOG_CALIBRATION_TABLE_H

#include "models/operators/kernel_table.h"
#include "sim/core/config/config.h"

struct calibration_shape {
    struct kernel_call call;                         /* its fixed members */
    struct config_list columns[KERNEL_MAX_COLUMNS];  /* doubles, of the other members in their order */
    struct config_list seconds;                      /* doubles */
    const char *where;                               /* its place in the file, once checked */
};

/* The fields of a struct calibration_shape of a class, in `arena`; NULL without memory. */
const struct config_field *calibration_shape_fields(enum kernel_class class, struct arena *arena);

/* Reports lists of unequal length, and sets the `where` of each shape. `path` is the path of the table in the file.
 * Returns 0, SIM_E_CONFIG or SIM_E_NOMEM. */
int calibration_shapes_check(const struct config *config, const char *path, enum kernel_class class,
                             const struct config_list *shapes, struct arena *arena, struct diag *diag);

/* Makes the table of a class, with the kernel model of `params` on the measured GPU. *table is NULL without shapes.
 * Returns 0, SIM_E_CONFIG (a duplicate call, an impossible time) or SIM_E_NOMEM. */
int calibration_table_make(enum kernel_class class, const struct config_list *shapes, const union kernel_params *params,
                           const struct gpu_spec *gpu, struct arena *arena, const struct kernel_table **table,
                           struct diag *diag);

#endif
