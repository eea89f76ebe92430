/* What a reader of one format of measured power works with. A format is one file power_NAME.c with a
 * `const struct power_format power_NAME`, and one line below. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_POWER_POWER_FORMAT_H
#define ORRERY_ANALYSIS_CALIBRATE_POWER_POWER_FORMAT_H

#include "analysis/calibrate/power/power_data.h"
#include "sim/core/csv.h"

/* X(name): power_NAME; the first whose columns are all there reads the file. */
#define POWER_FORMATS(X)                                                                                               \
    X(splitwise)                                                                                                       \
    X(mlenergy)                                                                                                        \
    X(loads)                                                                                                           \
    X(zeus)

enum { POWER_MAX_COLUMNS = 16 };

struct power_reader {
    const struct catalog *catalog;
    const struct gpu_spec *gpu;
    struct arena *arena;
    struct diag *diag;
    struct csv *csv;
    struct power_data *data;
    const struct power_format *format;
    int positions[POWER_MAX_COLUMNS];
    size_t row_capacity, cap_capacity;
    void *state; /* of the format, between its rows */
};

struct power_format {
    const char *name;
    const char *const *columns;
    size_t n_columns;
    int (*read_row)(struct power_reader *reader); /* the row read last */
    int (*finish)(struct power_reader *reader);   /* after the last row; may be NULL */
};

#define POWER_FORMAT_DECLARE(name) extern const struct power_format power_##name;
POWER_FORMATS(POWER_FORMAT_DECLARE)
#undef POWER_FORMAT_DECLARE

/* A field of the row read last, by the index of its column; the text lives in the arena, NULL when out of memory. */
const char *power_text(const struct power_reader *reader, size_t column);

/* A number from `min` to 1e18; an empty field is 0. Returns 0 or SIM_E_DATA with its place. */
int power_number(struct power_reader *reader, size_t column, double min, double *value);

/* Append a row. Return 0 or SIM_E_NOMEM. */
int power_add(struct power_reader *reader, const struct power_row *row);
int power_add_cap(struct power_reader *reader, const struct power_cap_row *row);

/* Counts a row as left out; `reason` is a static text. Returns 0. */
int power_drop(struct power_reader *reader, const char *reason);

/* An LLM of the catalog. Returns 0, or what catalog_llm returns. */
int power_llm(struct power_reader *reader, const char *name, struct llm_spec *llm);

#endif
