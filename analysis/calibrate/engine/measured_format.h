/* For readers of one format of measured iterations: the sheet, and a list of rows.
 *
 * A format is a `const struct measured_format measured_NAME` in measured_tables.c, and one line below. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_ENGINE_MEASURED_FORMAT_H
#define ORRERY_ANALYSIS_CALIBRATE_ENGINE_MEASURED_FORMAT_H

#include "analysis/calibrate/engine/measured.h"

/* X(name): measured_NAME; the first one whose columns the file has reads it. */
#define MEASURED_FORMATS(X)                                                                                            \
    X(splitwise)                                                                                                       \
    X(cpu_overheads)                                                                                                   \
    X(serving)

struct measured_reader {
    struct sheet sheet; /* of JSON only its path, arena and diag are set */
    struct measured *measured;
    size_t capacity;
};

struct measured_format {
    const char *name, *fitted_on;
    const struct sheet_column *columns;
    size_t n_columns;
    int (*read_row)(struct measured_reader *reader); /* the row read last; 0 or what the functions below return */
};

#define MEASURED_FORMAT_DECLARE(name) extern const struct measured_format measured_##name;
MEASURED_FORMATS(MEASURED_FORMAT_DECLARE)
#undef MEASURED_FORMAT_DECLARE

/* Files that are no table of rows. Both return 0, SIM_E_IO, SIM_E_CONFIG, SIM_E_DATA or SIM_E_NOMEM. */
int measured_read_distserve(struct measured_reader *reader);
int measured_read_layers(struct measured_reader *reader);

/* Whether the path names a file that measured_read_layers reads. */
bool measured_layers_recognise(const char *path);

/* Appends a row with the line of the sheet's current row. A row without a time is dropped. Returns 0 or SIM_E_NOMEM. */
int measured_add(struct measured_reader *reader, const struct measured_row *row);

/* Counts a row as left out; `reason` is a static text. Returns 0. */
int measured_drop(struct measured_reader *reader, const char *reason);

#endif
