#include "analysis/export/export.h"

#include "analysis/export/inside.h"
#include "sim/core/json_doc.h"
#include "sim/core/path.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLUSH_BYTES = 1 << 16, MAX_VIEWS = 256 };

/* --- What there is --- */

/* The first sentence of the comment at the start of a file. */
static const char *first_sentence(const char *sql, struct arena *arena)
{
    if (strncmp(sql, "-- ", 3) != 0) return "";
    return arena_printf(arena, "%.*s", (int)strcspn(sql + 3, ".?\n") + 1, sql + 3);
}

static bool is_sql(const char *name)
{
    size_t n = strlen(name);
    return n > 4 && strcmp(name + n - 4, ".sql") == 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Lists the names of the SQL files in a directory, sorted; none if there is no directory. Returns 0 or SIM_E_NOMEM. */
static int list_files(const char *directory, struct arena *arena, const char **names, size_t *n)
{
    DIR *stream = opendir(directory);
    int code = 0;
    *n = 0;
    for (const struct dirent *entry; code == 0 && stream != NULL && (entry = readdir(stream)) != NULL;) {
        if (!is_sql(entry->d_name) || *n == MAX_VIEWS) continue;
        names[*n] = arena_strdup(arena, entry->d_name);
        if (names[(*n)++] == NULL) code = SIM_E_NOMEM;
    }
    if (stream != NULL) closedir(stream);
    if (code == 0) qsort(names, *n, sizeof *names, compare_names);
    return code;
}

/* Runs one file, which creates the view of its own name. */
static int read_view(const struct database *database, const char *directory, const char *file, struct arena *arena,
                     struct export_source *source, struct diag *diag)
{
    char *sql;
    size_t bytes;
    const char *path = path_join(arena, directory, file);
    if (path == NULL) return diag_nomem_at(diag, database->path);
    int code = json_read_file(path, &sql, &bytes);
    if (code == SIM_E_IO) return diag_system_error(diag, path, "cannot read", errno);
    if (code != 0) return diag_nomem_at(diag, database->path);
    code = database_run(database, sql, path, diag);
    *source = (struct export_source){.name = arena_printf(arena, "%.*s", (int)strlen(file) - 4, file),
                                     .about = first_sentence(sql, arena), .is_view = true};
    mem_free(sql);
    if (code == 0 && (source->name == NULL || source->about == NULL)) code = diag_nomem_at(diag, database->path);
    return code;
}

static int read_views(const struct database *database, const char *directory, struct arena *arena,
                      struct export_sources *sources, struct diag *diag)
{
    const char *names[MAX_VIEWS];
    size_t n;
    if (list_files(directory, arena, names, &n) != 0) return diag_nomem_at(diag, database->path);
    struct export_source *items = arena_alloc(arena, (sources->n + n + 1) * sizeof *items);
    if (items == NULL) return diag_nomem_at(diag, database->path);
    memcpy(items, sources->items, sources->n * sizeof *items);
    sources->items = items;
    int code = 0;
    for (size_t i = 0; code == 0 && i < n; i++) {
        code = read_view(database, directory, names[i], arena, &items[sources->n], diag);
        if (code == 0) sources->n++;
    }
    return code;
}

static int read_tables(const struct database *database, struct arena *arena, struct export_sources *sources,
                       struct diag *diag)
{
    static const char sql[] = "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' "
                              "ESCAPE '~' ORDER BY name";
    int64_t n = 0;
    sqlite3_stmt *query;
    int step = SQLITE_DONE;
    int code = database_integer(database, "SELECT count(*) FROM main.sqlite_schema", &n, "list the tables", diag);
    if (code != 0) return code;
    sources->items = arena_alloc(arena, ((size_t)n + 1) * sizeof *sources->items);
    if (sources->items == NULL) return diag_nomem_at(diag, database->path);
    code = database_prepare(database, sql, &query, "list the tables", diag);
    if (code != 0) return code;
    while (code == 0 && sources->n < (size_t)n && (step = sqlite3_step(query)) == SQLITE_ROW) {
        const char *name = arena_strdup(arena, (const char *)sqlite3_column_text(query, 0));
        if (name == NULL) code = diag_nomem_at(diag, database->path);
        sources->items[sources->n++] = (struct export_source){.name = name, .about = ""};
    }
    if (code == 0 && step != SQLITE_DONE && step != SQLITE_ROW)
        code = database_error(database, "list the tables", diag);
    sqlite3_finalize(query);
    return code;
}

/* Sets source->has_run: whether the table or view has a column run_id. */
static int find_run_column(const struct database *database, struct export_source *source, struct diag *diag)
{
    char sql[256];
    sqlite3_stmt *query;
    sqlite3_snprintf(sizeof sql, sql, "SELECT * FROM \"%w\"", source->name);
    int code = database_prepare(database, sql, &query, source->name, diag);
    if (code != 0) return code;
    source->has_run = strcmp(source->name, "run") == 0;
    for (int i = 0; i < sqlite3_column_count(query); i++)
        source->has_run = source->has_run || strcmp(sqlite3_column_name(query, i), "run_id") == 0;
    sqlite3_finalize(query);
    return 0;
}

int export_sources_read(const struct database *database, const char *directory, struct arena *arena,
                        struct export_sources *sources, struct diag *diag)
{
    *sources = (struct export_sources){0};
    int code = read_tables(database, arena, sources, diag);
    if (code == 0) code = read_views(database, directory, arena, sources, diag);
    for (size_t i = 0; code == 0 && i < sources->n; i++) code = find_run_column(database, &sources->items[i], diag);
    return code;
}

/* --- Rows --- */

static int write_rows(const struct database *database, sqlite3_stmt *query, int n_columns,
                      const struct row_writer *writer, const struct export_target *target, struct text *text,
                      struct diag *diag)
{
    int code = 0, step = sqlite3_step(query);
    writer->begin(text, query, n_columns);
    for (; code == 0 && step == SQLITE_ROW; step = sqlite3_step(query)) {
        writer->row(text, query, n_columns);
        if (text->failed) return diag_nomem_at(diag, database->path);
        if (text->length >= FLUSH_BYTES) code = target->write(target->context, text);
    }
    if (code != 0) return code;
    if (step != SQLITE_DONE) return database_error(database, "read results", diag);
    writer->end(text);
    return text->failed ? diag_nomem_at(diag, database->path) : target->write(target->context, text);
}

/* The columns of the query, less a "class" at the end that is empty: read back as a trace, the file has no classes. */
static int count_columns(const struct database *database, const struct export_source *source, const char *where,
                         sqlite3_stmt *query, int *n_columns, struct diag *diag)
{
    char sql[256];
    int64_t has_classes = 0;
    *n_columns = sqlite3_column_count(query);
    if (source->is_view || strcmp(sqlite3_column_name(query, *n_columns - 1), "class") != 0) return 0;
    sqlite3_snprintf(sizeof sql, sql, "SELECT EXISTS (SELECT 1 FROM (SELECT * FROM \"%w\"%s) WHERE class NOT NULL)",
                     source->name, where);
    const int code = database_integer(database, sql, &has_classes, "read results", diag);
    if (has_classes == 0) --*n_columns;
    return code;
}

int export_rows(const struct database *database, const struct export_source *source, int64_t run_id,
                enum export_form form, const struct export_target *target, struct diag *diag)
{
    static const struct row_writer *const writers[] = {[EXPORT_CSV] = &csv_writer, [EXPORT_LATEX] = &latex_writer};
    char sql[256], where[64] = "";
    sqlite3_stmt *query;
    struct text text;
    int n_columns;
    if (run_id != 0 && source->has_run)
        snprintf(where, sizeof where, " WHERE %s = %" PRId64, strcmp(source->name, "run") == 0 ? "id" : "run_id",
                 run_id);
    sqlite3_snprintf(sizeof sql, sql, "SELECT * FROM \"%w\"%s", source->name, where);
    int code = database_prepare(database, sql, &query, "read results", diag);
    if (code != 0) return code;
    text_init(&text);
    code = count_columns(database, source, where, query, &n_columns, diag);
    if (code == 0) code = write_rows(database, query, n_columns, writers[form], target, &text, diag);
    text_fini(&text);
    sqlite3_finalize(query);
    return code;
}
