#include "sim/store/widen.h"

#include <stdio.h>

static const char *optional_name(enum table_id table)
{
    const struct table *layout = &schema_tables[table];
    return layout->has_optional ? layout->columns[layout->n_columns].name : NULL;
}

int table_is_there(const struct database *database, enum table_id table, bool *is_there, const char *what,
                   struct diag *diag)
{
    char sql[128];
    int64_t n = 1;
    int code = 0;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM sqlite_schema WHERE name = '%s'", schema_tables[table].name);
    if (schema_tables[table].is_late) code = database_integer(database, sql, &n, what, diag);
    *is_there = n > 0;
    return code;
}

int table_is_wide(const struct database *database, enum table_id table, bool *is_wide, const char *what,
                  struct diag *diag)
{
    char sql[128];
    int64_t n = 0;
    *is_wide = false;
    if (optional_name(table) == NULL) return 0;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM pragma_table_info('%s') WHERE name = '%s'",
             schema_tables[table].name, optional_name(table));
    int code = database_integer(database, sql, &n, what, diag);
    *is_wide = n > 0;
    return code;
}

int table_widen(const struct database *database, enum table_id table, const char *what, struct diag *diag)
{
    char sql[128];
    bool is_wide;
    int code = table_is_wide(database, table, &is_wide, what, diag);
    if (code != 0 || is_wide) return code;
    const struct table *layout = &schema_tables[table];
    snprintf(sql, sizeof sql, "ALTER TABLE %s ADD COLUMN %s %s", layout->name, optional_name(table),
             layout->columns[layout->n_columns].kind == COLUMN_TEXT ? "TEXT" : "REAL");
    return database_run(database, sql, what, diag);
}

void table_columns(enum table_id table, bool wide, char names[TABLE_COLUMNS_CHARS])
{
    const struct table *layout = &schema_tables[table];
    const int n = layout->n_columns + (wide && layout->has_optional);
    int length = snprintf(names, TABLE_COLUMNS_CHARS, "run_id");
    for (int i = 0; i < n; i++)
        length += snprintf(names + length, TABLE_COLUMNS_CHARS - (size_t)length, ",%s", layout->columns[i].name);
}
