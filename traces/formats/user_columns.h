/* Tables whose columns the user names: "columns": {"arrival": "TIMESTAMP", ...}, or numbers ("1" is the first) when the
 * file has no header. */
#ifndef ORRERY_TRACES_FORMATS_USER_COLUMNS_H
#define ORRERY_TRACES_FORMATS_USER_COLUMNS_H

#include "traces/reader.h"

#include <stdbool.h>

enum { ORIGIN_AUTO, ORIGIN_ZERO, ORIGIN_FIRST };
extern const char *const origin_names[], *const delimiter_names[];

struct user_table {
    int time_unit; /* enum time_unit */
    int delimiter; /* of delimiter_names */
    int origin;
    bool header;
};

#define USER_TABLE_PARAM(params_struct, member, key, kind_, value_, choices_, help_)                                   \
    {                                                                                                                  \
        .name = key, .kind = kind_, .offset = offsetof(params_struct, table.member), .value = value_,                  \
        .choices = choices_, .help = help_                                                                             \
    }

#define USER_TABLE_PARAMS(params_struct)                                                                               \
    USER_TABLE_PARAM(params_struct, time_unit, "time_unit", CONFIG_CHOICE, "s", time_unit_names,                       \
                     "unit of the time column; or calendar times"),                                  \
        USER_TABLE_PARAM(params_struct, delimiter, "delimiter", CONFIG_CHOICE, "comma", delimiter_names,               \
                         "separator of columns"),                                                           \
        USER_TABLE_PARAM(params_struct, origin, "origin", CONFIG_CHOICE, "auto", origin_names,                         \
                         "time 0: the file's own zero, or the first record (auto: that for calendar times)"),          \
        USER_TABLE_PARAM(params_struct, header, "header", CONFIG_BOOL, "true", NULL,                                   \
                         "the first row names the columns")

#define USER_COLUMN(params_struct, column, key, value_, help_)                                                         \
    {                                                                                                                  \
        .name = key, .kind = CONFIG_TEXT, .offset = offsetof(params_struct, columns[column]), .value = value_,         \
        .help = help_                                                                                                  \
    }

/* Sets `format` as the user chose, with its columns in the two arrays of `n`. In a file without header, an optional
 * column that is not given as a number is absent. Returns 0 or SIM_E_CONFIG. */
int user_columns(const struct user_table *table, const char *const *names, const bool *optional, size_t n,
                 const char *where, struct csv_column *columns, int *positions, struct row_format *format,
                 struct diag *diag);

#endif
