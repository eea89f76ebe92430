/* Any bytes as changes of a results file that leave it a valid SQLite database: cells get other values and types, rows
 * go or come twice. The first byte chooses what reads the file. Either it is read without an error, or there is a
 * finding for the error. The unchanged file is tests/fuzz/results.sql. */
#include "tests/fuzz/fuzz.h"

#include "analysis/compare/compare.h"
#include "analysis/export/export.h"
#include "analysis/export/openmetrics.h"
#include "analysis/report/report.h"
#include "sim/core/json_doc.h"
#include "sim/store/readback.h"
#include "sim/store/schema.h"
#include "sim/study/merge.h"
#include "sim/world/rows/metric.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TABLES = 32, MAX_COLUMNS = 64, MAX_NAME = 32, MAX_CHANGES = 40 };

/* The unchanged file, made once, and the names in it. */
static struct base {
    sqlite3 *db;
    int n_tables;
    struct base_table {
        char name[MAX_NAME], columns[MAX_COLUMNS][MAX_NAME];
        int n_columns;
    } tables[MAX_TABLES];
} base;

/* --- The unchanged file --- */

static void add_column(struct base_table *table, const char *name)
{
    if (table->n_columns < MAX_COLUMNS) snprintf(table->columns[table->n_columns++], MAX_NAME, "%s", name);
}

static void list_tables(void)
{
    static const char sql[] = "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c "
                              "WHERE m.type = 'table' ORDER BY m.name, c.cid";
    sqlite3_stmt *rows;
    if (sqlite3_prepare_v2(base.db, sql, -1, &rows, NULL) != SQLITE_OK) abort();
    while (sqlite3_step(rows) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(rows, 0);
        if (base.n_tables == 0 || strcmp(base.tables[base.n_tables - 1].name, name) != 0) {
            if (base.n_tables == MAX_TABLES) break;
            snprintf(base.tables[base.n_tables++].name, MAX_NAME, "%s", name);
        }
        add_column(&base.tables[base.n_tables - 1], (const char *)sqlite3_column_text(rows, 1));
    }
    sqlite3_finalize(rows);
}

static bool make_base(void)
{
    char *sql, marks[128];
    size_t bytes;
    if (base.db != NULL) return true;
    if (json_read_file("tests/fuzz/results.sql", &sql, &bytes) != 0) return false;
    snprintf(marks, sizeof marks, "PRAGMA application_id = %d; PRAGMA user_version = %d", DATABASE_APPLICATION_ID,
             DATABASE_VERSION);
    bool made = sqlite3_open(":memory:", &base.db) == SQLITE_OK &&
                sqlite3_exec(base.db, "PRAGMA page_size = 512", NULL, NULL, NULL) == SQLITE_OK;
    for (const char *const *create = schema_create_sql; made && *create != NULL; create++)
        made = sqlite3_exec(base.db, *create, NULL, NULL, NULL) == SQLITE_OK;
    made = made && sqlite3_exec(base.db, sql, NULL, NULL, NULL) == SQLITE_OK &&
           sqlite3_exec(base.db, marks, NULL, NULL, NULL) == SQLITE_OK;
    mem_free(sql);
    if (made) list_tables();
    return made;
}

/* --- Changes --- */

/* Bytes that are used up from the front; zeros follow them. */
struct feed {
    const uint8_t *bytes;
    size_t left;
};

static unsigned take(struct feed *feed)
{
    if (feed->left == 0) return 0;
    feed->left--;
    return *feed->bytes++;
}

static uint64_t take_word(struct feed *feed)
{
    uint64_t word = 0;
    for (int i = 0; i < 8; i++) word = word << 8 | take(feed);
    return word;
}

static void bind_value(struct feed *feed, sqlite3_stmt *statement)
{
    static const double reals[] = {0.0, -1.0, 1e300, -1e300, 1e-300, 9.3e18, 1.0 / 0.0, -1.0 / 0.0};
    const unsigned kind = take(feed);
    double real;
    switch (kind % 6) {
    case 0: sqlite3_bind_null(statement, 1); return;
    case 1: sqlite3_bind_int64(statement, 1, (int64_t)take_word(feed)); return;
    case 2: sqlite3_bind_int(statement, 1, (int)take(feed) - 8); return;
    case 3: sqlite3_bind_double(statement, 1, reals[take(feed) % 8]); return;
    case 4: {
        const uint64_t word = take_word(feed);
        memcpy(&real, &word, sizeof real);
        sqlite3_bind_double(statement, 1, real);
        return;
    }
    default: break;
    }
    size_t n = take(feed) % 64;
    if (n > feed->left) n = feed->left;
    const char *chars = (const char *)feed->bytes;
    feed->bytes += n;
    feed->left -= n;
    if (kind >= 128)
        sqlite3_bind_blob(statement, 1, chars, (int)n, SQLITE_TRANSIENT);
    else
        sqlite3_bind_text(statement, 1, chars, (int)n, SQLITE_TRANSIENT);
}

/* A change that the schema forbids is none. */
static void change(struct feed *feed, sqlite3 *db)
{
    char sql[256];
    sqlite3_stmt *statement;
    const struct base_table *table = &base.tables[take(feed) % (unsigned)base.n_tables];
    const char *column = table->columns[take(feed) % (unsigned)table->n_columns];
    const unsigned how = take(feed), row = take(feed);
    if (how % 8 == 0)
        snprintf(sql, sizeof sql, "DELETE FROM \"%s\" WHERE rowid = (SELECT rowid FROM \"%s\" LIMIT 1 OFFSET %u)",
                 table->name, table->name, row);
    else if (how % 8 == 1)
        snprintf(sql, sizeof sql, "INSERT INTO \"%s\" SELECT * FROM \"%s\" LIMIT 1 OFFSET %u", table->name, table->name,
                 row);
    else
        snprintf(sql, sizeof sql,
                 "UPDATE \"%s\" SET \"%s\" = ?1 WHERE rowid = (SELECT rowid FROM \"%s\" LIMIT 1 OFFSET %u)",
                 table->name, column, table->name, row);
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) return;
    if (sqlite3_bind_parameter_count(statement) > 0) bind_value(feed, statement);
    sqlite3_step(statement);
    sqlite3_finalize(statement);
}

/* Copies the base into a file and changes it. */
static bool write_changed(const char *path, struct feed *feed)
{
    sqlite3 *db;
    bool done = sqlite3_open(path, &db) == SQLITE_OK;
    sqlite3_exec(db, "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF", NULL, NULL, NULL);
    sqlite3_backup *copy = done ? sqlite3_backup_init(db, "main", base.db, "main") : NULL;
    done = copy != NULL && sqlite3_backup_step(copy, -1) == SQLITE_DONE;
    sqlite3_backup_finish(copy);
    sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
    for (int i = 0; done && i < MAX_CHANGES && feed->left > 0; i++) change(feed, db);
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(db);
    return done;
}

/* --- What reads the file --- */

static int read_runs(const char *path, struct arena *arena, struct diag *diag)
{
    struct run_record run;
    char hex[HASH_HEX_CHARS];
    int code = results_read_run(path, 1, arena, &run, diag);
    if (code == 0) code = results_check_run(path, &run, diag);
    return code == 0 ? results_rehash(path, run.id, hex, diag) : code;
}

static int drop_text(void *context, struct text *text)
{
    (void)context;
    text->length = 0;
    return 0;
}

static const char *metric_help(const char *name)
{
    const struct metric_def *metric = metric_find(name);
    return metric != NULL ? metric->definition : NULL;
}

static int export_all(const char *path, struct arena *arena, struct diag *diag)
{
    const struct export_target target = {.write = drop_text};
    struct database database;
    struct export_sources sources;
    int code = database_open_read(&database, path, diag);
    if (code != 0) return code;
    code = export_sources_read(&database, "analysis/sql", arena, &sources, diag);
    for (size_t i = 0; code == 0 && i < sources.n; i++)
        code = export_rows(&database, &sources.items[i], i % 2 == 0 && sources.items[i].has_run ? 1 : 0,
                           i % 3 == 0 ? EXPORT_LATEX : EXPORT_CSV, &target, diag);
    if (code == 0) code = export_openmetrics(&database, 0, metric_help, &target, diag);
    database_close(&database, false);
    return code;
}

static int report(const char *path, int64_t run_id, struct arena *arena, struct diag *diag)
{
    struct report_options options = {.path = path, .run_id = run_id};
    struct text html;
    while (metric_dictionary[options.n_dictionary].name != NULL) options.n_dictionary++;
    struct report_metric *dictionary = arena_alloc(arena, options.n_dictionary * sizeof *dictionary);
    if (dictionary == NULL) return diag_nomem(diag);
    for (size_t i = 0; i < options.n_dictionary; i++) {
        const struct metric_def *def = &metric_dictionary[i];
        dictionary[i] = (struct report_metric){
            .name = def->name, .unit = def->unit, .vllm = def->vllm, .definition = def->definition};
    }
    options.dictionary = dictionary;
    text_init(&html);
    int code = report_html(&options, &html, diag);
    text_fini(&html);
    return code;
}

static int report_run(const char *path, struct arena *arena, struct diag *diag)
{
    return report(path, 2, arena, diag);
}

static int report_study(const char *path, struct arena *arena, struct diag *diag)
{
    return report(path, 0, arena, diag);
}

static int compare(const char *path, bool steady, bool groups, struct diag *diag)
{
    static const struct compare_metric dictionary[] = {{"request.ttft_s.mean", COMPARE_LOWER},
                                                       {"replica.busy_frac", COMPARE_NEUTRAL},
                                                       {NULL, COMPARE_NEUTRAL}};
    const struct compare_options options = {
        .dictionary = dictionary, .level = 0.95, .margin_frac = 0.01, .steady = steady, .resamples = 20, .seed = 1};
    const struct compare_source first = {path, 1}, second = {path, 2};
    struct comparison comparison;
    int code = groups ? compare_groups(path, "routing=round-robin", path, "routing=least-outstanding", &options,
                                       &comparison, diag)
                      : compare_runs(&first, &second, &options, &comparison, diag);
    comparison_fini(&comparison);
    return code;
}

static int compare_two(const char *path, struct arena *arena, struct diag *diag)
{
    (void)arena;
    return compare(path, false, false, diag);
}

static int compare_steady(const char *path, struct arena *arena, struct diag *diag)
{
    (void)arena;
    return compare(path, true, false, diag);
}

static int compare_selected(const char *path, struct arena *arena, struct diag *diag)
{
    (void)arena;
    return compare(path, false, true, diag);
}

static int merge_one(const char *path, struct arena *arena, struct diag *diag)
{
    (void)arena;
    struct merge merge;
    double value;
    const char *const paths[] = {path, path};
    int code = merge_open(&merge, paths, 2, NULL, merge_hint_input, diag);
    if (code == 0 && merge.n_runs > 0) code = merge_metric(&merge, &merge.runs[0], "request.ttft_s.mean", &value, diag);
    merge_close(&merge);
    return code;
}

static int (*const readers[])(const char *, struct arena *, struct diag *) = {
    read_runs, export_all, report_run, report_study, compare_two, compare_steady, compare_selected, merge_one};

FUZZ_TARGET(results)
{
    char path[64];
    struct feed feed = {data, bytes};
    struct arena arena;
    struct diag diag = {0};
    if (!make_base()) return false;
    const unsigned reader = take(&feed) % (sizeof readers / sizeof *readers);
    snprintf(path, sizeof path, P_tmpdir "/orrery-results-%ld", (long)getpid());
    unlink(path);
    if (!write_changed(path, &feed)) return true;
    arena_init(&arena);
    int code = readers[reader](path, &arena, &diag);
    bool sound = code == 0 ? diag.n_errors == 0 : code == diag.code && diag.n_errors > 0;
    if (!sound)
        fprintf(stderr, "reader %u: code %d, %d errors, the first one's %d\n", reader, code, diag.n_errors, diag.code);
    arena_fini(&arena);
    unlink(path);
    return sound;
}
