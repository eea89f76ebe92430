/* Measured iterations from a CSV file with a header: which rows, which columns, in which unit. */
#ifndef ORRERY_CATALOG_TABLE_FILE_H
#define ORRERY_CATALOG_TABLE_FILE_H

#include "models/operators/table.h"
#include "sim/core/config/config.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"

struct table_file {
    const char *path;                      /* NULL: none */
    struct config_list where;              /* const char *: "column=value"; all must hold */
    struct config_list tokens;             /* const char *: columns, whose product is the number of tokens */
    struct config_list decode_where;       /* const char *: what must hold beside `where` for the curve of decoding */
    struct config_list decode_tokens;      /* const char *: like tokens, for decoding; empty: the same columns */
    const char *prefill_time, *decode_time; /* columns */
    double unit_s;                         /* what a time of 1 stands for */
};

extern const struct config_field table_file_fields[];

/* Reads both curves; rows whose time is empty are left out of a curve. `where` is the place of the variant. Returns 0,
 * SIM_E_IO, SIM_E_DATA (a column that is missing, no number where one belongs), SIM_E_CONFIG (nothing matches) or
 * SIM_E_NOMEM. */
int table_file_read(const struct table_file *file, const char *where, struct arena *arena, struct table_curve *prefill,
                    struct table_curve *decode, struct diag *diag);

#endif
