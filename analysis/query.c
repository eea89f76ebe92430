#include "analysis/query.h"

#include <math.h>
#include <string.h>

/* Rows, in unknown number, being copied into columns. */
struct reading {
    sqlite3_stmt *statement;
    struct arena *arena;
    struct query_answer *answer;
    size_t capacity;
};

/* The arena frees nothing before its end: growth by doubling at most doubles the cost. */
static void *grow(struct arena *arena, const void *old, size_t n, size_t capacity, size_t each)
{
    void *wider = arena_alloc(arena, capacity * each);
    if (wider != NULL && old != NULL) memcpy(wider, old, n * each);
    return wider;
}

static int grow_columns(struct reading *reading)
{
    struct query_answer *answer = reading->answer;
    size_t capacity = reading->capacity > 0 ? 2 * reading->capacity : 64;
    for (size_t i = 0; i < answer->n_columns; i++) {
        struct query_column *column = &answer->columns[i];
        column->numbers = grow(reading->arena, column->numbers, answer->n_rows, capacity, sizeof *column->numbers);
        if (column->numbers == NULL) return SIM_E_NOMEM;
        if (column->texts == NULL) continue;
        column->texts = grow(reading->arena, column->texts, answer->n_rows, capacity, sizeof *column->texts);
        if (column->texts == NULL) return SIM_E_NOMEM;
    }
    reading->capacity = capacity;
    return 0;
}

static int read_text(struct reading *reading, struct query_column *column, int i)
{
    if (column->texts == NULL) column->texts = arena_alloc(reading->arena, reading->capacity * sizeof *column->texts);
    if (column->texts == NULL) return SIM_E_NOMEM;
    const char *text = (const char *)sqlite3_column_text(reading->statement, i);
    column->texts[reading->answer->n_rows] = text != NULL ? arena_strdup(reading->arena, text) : NULL;
    return column->texts[reading->answer->n_rows] != NULL ? 0 : SIM_E_NOMEM;
}

static int read_row(struct reading *reading)
{
    struct query_answer *answer = reading->answer;
    int code = answer->n_rows == reading->capacity ? grow_columns(reading) : 0;
    for (int i = 0; code == 0 && (size_t)i < answer->n_columns; i++) {
        struct query_column *column = &answer->columns[i];
        int type = sqlite3_column_type(reading->statement, i);
        bool is_number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
        column->numbers[answer->n_rows] = is_number ? sqlite3_column_double(reading->statement, i) : (double)NAN;
        if (type == SQLITE_TEXT) code = read_text(reading, column, i);
    }
    answer->n_rows++;
    return code;
}

static int name_columns(struct reading *reading)
{
    struct query_answer *answer = reading->answer;
    answer->n_columns = (size_t)sqlite3_column_count(reading->statement);
    answer->columns = arena_alloc(reading->arena, (answer->n_columns + 1) * sizeof *answer->columns);
    if (answer->columns == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < answer->n_columns; i++) {
        answer->columns[i].name = arena_strdup(reading->arena, sqlite3_column_name(reading->statement, (int)i));
        if (answer->columns[i].name == NULL) return SIM_E_NOMEM;
    }
    return 0;
}

static void bind_ids(sqlite3_stmt *statement, const int64_t *ids, size_t n_ids)
{
    const int n_wanted = sqlite3_bind_parameter_count(statement);
    for (int i = 1; i <= n_wanted && (size_t)i <= n_ids; i++) sqlite3_bind_int64(statement, i, ids[i - 1]);
}

int query_run(const struct database *database, const char *sql, const int64_t *ids, size_t n_ids, const char *what,
              struct arena *arena, struct query_answer *answer, struct diag *diag)
{
    struct reading reading = {.arena = arena, .answer = answer};
    *answer = (struct query_answer){0};
    int code = database_prepare(database, sql, &reading.statement, what, diag);
    if (code != 0) return code;
    bind_ids(reading.statement, ids, n_ids);
    code = name_columns(&reading);
    int step = SQLITE_DONE;
    while (code == 0 && (step = sqlite3_step(reading.statement)) == SQLITE_ROW) code = read_row(&reading);
    if (code == 0 && step != SQLITE_DONE)
        code = database_error(database, what, diag);
    else if (code != 0)
        diag_error(diag, code, database->path, NULL, "cannot %s: out of memory", what);
    sqlite3_finalize(reading.statement);
    return code;
}

int query_each(const struct database *database, const char *sql, const int64_t *ids, size_t n_ids, const char *what,
               int (*row)(void *context, sqlite3_stmt *statement), void *context, struct diag *diag)
{
    sqlite3_stmt *statement;
    int step = SQLITE_DONE;
    int code = database_prepare(database, sql, &statement, what, diag);
    if (code != 0) return code;
    bind_ids(statement, ids, n_ids);
    while (code == 0 && (step = sqlite3_step(statement)) == SQLITE_ROW) code = row(context, statement);
    if (code == 0 && step != SQLITE_DONE) code = database_error(database, what, diag);
    sqlite3_finalize(statement);
    return code;
}

double query_number(sqlite3_stmt *statement, int column)
{
    if (sqlite3_column_type(statement, column) == SQLITE_NULL) return (double)NAN;
    return sqlite3_column_double(statement, column);
}

const char *query_text(const struct query_answer *answer, size_t column, size_t row)
{
    const char *const *texts = answer->columns[column].texts;
    return texts != NULL && texts[row] != NULL ? texts[row] : "";
}

const struct query_column *query_column(const struct query_answer *answer, const char *name)
{
    for (size_t i = 0; i < answer->n_columns; i++)
        if (strcmp(answer->columns[i].name, name) == 0) return &answer->columns[i];
    return NULL;
}
