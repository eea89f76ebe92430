/* For readers of one format of measured power. A format is a `const struct power_format power_NAME` in power_tables.c,
 * and one line below. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_POWER_POWER_FORMAT_H
#define ORRERY_ANALYSIS_CALIBRATE_POWER_POWER_FORMAT_H

#include "analysis/calibrate/power/power_data.h"

/* X(name): power_NAME; the first one whose columns the file has reads it. */
#define POWER_FORMATS(X)                                                                                               \
    X(splitwise)                                                                                                       \
    X(mlenergy)                                                                                                        \
    X(loads)                                                                                                           \
    X(zeus)

struct power_reader {
    struct sheet sheet;
    const struct catalog *catalog;
    const struct gpu_spec *gpu;
    struct power_data *data;
    size_t row_capacity, cap_capacity;
    void *state; /* of the format, between its rows */
};

struct power_format {
    const char *name;
    const struct sheet_column *columns;
    size_t n_columns;
    int (*read_row)(struct power_reader *reader); /* the sheet's current row */
    int (*finish)(struct power_reader *reader);   /* after the last row; may be NULL */
};

#define POWER_FORMAT_DECLARE(name) extern const struct power_format power_##name;
POWER_FORMATS(POWER_FORMAT_DECLARE)
#undef POWER_FORMAT_DECLARE

/* Append a row. Return 0 or SIM_E_NOMEM. */
int power_add(struct power_reader *reader, const struct power_row *row);
int power_add_cap(struct power_reader *reader, const struct power_cap_row *row);

/* Counts a row as left out; `reason` is a static text. Returns 0. */
int power_drop(struct power_reader *reader, const char *reason);

/* An LLM of the catalog. Returns 0, or what catalog_llm returns. */
int power_llm(struct power_reader *reader, const char *name, struct llm_spec *llm);

#endif
