/* What formats have in common whose columns the user names. */
#ifndef ORRERY_TRACES_FORMATS_USER_TABLE_H
#define ORRERY_TRACES_FORMATS_USER_TABLE_H

#include "traces/formats/file_trace.h"

/* How the user says that times are written. */
struct user_time {
    int unit;   /* 0: the first row decides; else enum time_unit + 1 */
    const char *origin;
};

/* How the user says that rows are written. */
struct user_table {
    int delimiter; /* of user_delimiter_names */
    bool header;
};

extern const char *const user_delimiter_names[];

/* Parameters of a struct ROW_OF with the members `time` and `table`. */
#define USER_TIME_UNIT                                                                                                 \
    ROW_CHOICE("time_unit", time.unit, DEFAULT("auto"), time_unit_names,                                               \
               "unit of the time column; timestamp: calendar times; auto: these if the first row has one, else s")
#define USER_TIME_ORIGIN                                                                                               \
    ROW_TEXT("origin", time.origin, DEFAULT("auto"), ANY,                                                              \
             "time 0 of the run: the file's (zero), the first record (first), or a time, \"2026-03-01T00:00Z\"; auto: first for calendar and Unix times, else zero")
#define USER_TABLE_PARAMS                                                                                              \
    USER_TIME_UNIT,                                                                                                    \
        ROW_CHOICE("delimiter", table.delimiter, DEFAULT("auto"), user_delimiter_names,                                \
                   "separator of columns; auto: as in the first row"),                                                 \
        USER_TIME_ORIGIN, ROW_BOOL("header", table.header, DEFAULT("true"), "the first row names the columns")

/* Sets how times are written. Returns 0 or SIM_E_CONFIG. */
int user_times(const struct user_time *time, const char *where, struct row_format *format, struct diag *diag);

/* Sets `format` as the user chose, with its columns in the two arrays of `n`. An optional column may be absent only
 * under its default name, that of `fields` (as many, in the same order), or with the empty name. In a file without
 * header, such a column is absent. Returns 0 or SIM_E_CONFIG. */
int user_columns(const struct user_table *table, const char *const *names, const bool *optional,
                 const struct config_field *fields, size_t n, const char *where, struct csv_column *columns,
                 int *positions, struct row_format *format, struct diag *diag);

#endif
