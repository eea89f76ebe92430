#include "sim/store/results.h"

#include "sim/core/check.h"
#include "sim/core/mem.h"
#include "sim/store/record.h"
#include "sim/store/writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const int64_t MOST_PAGES = 4294967294; /* SQLite's own limit */

struct results {
    struct database database;
    struct writer writer;
    struct route route;
    bool has_writer, unflushed;
    enum results_keep keep;
    int64_t run_id; /* the open run; 0: none */
    int64_t n_ended;
};

/* More pages than a block of rows takes. */
enum { SPARE_PAGES = 64 };

/* The writer fails when the file has more pages. SQLite fails a little later, as on a full disk. */
static int limit_size(struct database *database, double bytes, struct diag *diag)
{
    int64_t n_pages = 0, page_bytes = 0, most = 0;
    char sql[64];
    int code = database_integer(database, "PRAGMA page_count", &n_pages, "open results", diag);
    if (code == 0) code = database_integer(database, "PRAGMA page_size", &page_bytes, "open results", diag);
    if (code != 0) return code;
    const double pages = (double)n_pages + bytes / (double)page_bytes;
    if (pages >= (double)MOST_PAGES) return 0;
    database->most_pages = (int64_t)pages + 1;
    database->limit_bytes = bytes;
    snprintf(sql, sizeof sql, "PRAGMA max_page_count = %" PRId64, database->most_pages + SPARE_PAGES);
    return database_integer(database, sql, &most, "open results", diag);
}

int results_open(const char *path, const struct results_options *options, struct results **results, struct diag *diag)
{
    struct results *opened = mem_zalloc(1, sizeof *opened);
    if (opened == NULL) return diag_nomem_at(diag, path);
    int code = database_open_write(&opened->database, path, schema_create_sql, options->busy_ms, diag);
    if (code == 0) {
        opened->has_writer = true;
        code = writer_init(&opened->writer, &opened->database, options->writer_thread, diag);
    }
    opened->unflushed = options->unflushed;
    if (code == 0 && options->unflushed)
        code = database_run(&opened->database, "COMMIT; PRAGMA synchronous = OFF; BEGIN IMMEDIATE", "open results",
                            diag);
    if (code == 0 && options->limit_bytes > 0) code = limit_size(&opened->database, options->limit_bytes, diag);
    if (code == 0 && options->resume)
        code = database_run(&opened->database, "DELETE FROM run WHERE status = 'open'", "remove open runs", diag);
    if (code != 0) {
        results_close(opened);
        opened = NULL;
    }
    *results = opened;
    return code;
}

/* Removes the open run: its rows by rollback, its row in `run` by another transaction. If even that fails, the run
 * stays in the file as an open one. */
static void abandon_run(struct results *results)
{
    sqlite3 *db = results->database.handle;
    char sql[96];
    if (!sqlite3_get_autocommit(db)) sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    snprintf(sql, sizeof sql, "DELETE FROM run WHERE id = %" PRId64 " AND status = 'open'", results->run_id);
    sqlite3_exec(db, sql, NULL, NULL, NULL);
    results->run_id = 0;
}

void results_close(struct results *results)
{
    if (results == NULL) return;
    if (results->has_writer) writer_fini(&results->writer);
    if (results->run_id != 0) abandon_run(results);
    database_close(&results->database, results->n_ended == 0);
    mem_free(results);
}

int results_drop_run(const char *path, int64_t run_id, bool created, int busy_ms, struct diag *diag)
{
    struct results *results = NULL;
    int64_t n_others = 0;
    const struct results_options options = {.busy_ms = busy_ms};
    int code = results_open(path, &options, &results, diag);
    if (code != 0) return code;
    char sql[96];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM run WHERE id <> %" PRId64 " OR status <> 'open'", run_id);
    code = database_integer(&results->database, sql, &n_others, "look for other runs", diag);
    if (code == 0 && created && n_others == 0) database_adopt(&results->database);
    results->run_id = run_id;
    results_close(results);
    return code;
}

void results_abandon_run(struct results *results)
{
    if (results->run_id == 0) return;
    writer_finish(&results->writer, NULL);
    abandon_run(results);
}

static int bind_text(sqlite3_stmt *statement, int index, const char *text)
{
    return sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);
}

/* Runs a bound statement to its end and finalizes it. */
static int finish_statement(const struct results *results, sqlite3_stmt *statement, const char *what, struct diag *diag)
{
    int code = sqlite3_step(statement) == SQLITE_DONE ? 0 : database_error(&results->database, what, diag);
    sqlite3_finalize(statement);
    return code;
}

int results_set_study(struct results *results, const struct study_info *study, struct diag *diag)
{
    const struct database *database = &results->database;
    const char *const texts[] = {study->name, study->question, study->definition, study->hash};
    sqlite3_stmt *insert;
    int code = 0;
    if (sqlite3_get_autocommit(database->handle))
        code = database_run(database, "BEGIN IMMEDIATE", "open results", diag);
    if (code == 0) code = database_run(database, "DELETE FROM study", "note the study", diag);
    if (code == 0)
        code = database_prepare(database, "INSERT INTO study VALUES (?, ?, ?, ?)", &insert, "note the study", diag);
    if (code != 0) return code;
    for (int i = 0; i < 4; i++) bind_text(insert, 1 + i, texts[i]);
    return finish_statement(results, insert, "note the study", diag);
}

static int insert_run(struct results *results, int64_t run_id, const struct run_info *info, struct diag *diag)
{
    static const char sql[] = "INSERT INTO run(id, name, version, git_commit, scenario, scenario_hash, seed, policies, "
                              "oracle, platform, status) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'open')";
    const char *const texts[] = {info->name, info->version, info->git_commit, info->scenario, info->scenario_hash};
    const char *const more_texts[] = {info->policies, info->oracle, info->platform};
    sqlite3_stmt *insert;
    int code = database_prepare(&results->database, sql, &insert, "begin a run", diag);
    if (code != 0) return code;
    sqlite3_bind_int64(insert, 1, run_id);
    for (int i = 0; i < 5; i++) bind_text(insert, 2 + i, texts[i]);
    sqlite3_bind_int64(insert, 7, info->seed);
    for (int i = 0; i < 3; i++) bind_text(insert, 8 + i, more_texts[i]);
    return finish_statement(results, insert, "begin a run", diag);
}

static int insert_params(struct results *results, int64_t run_id, const struct run_info *info, struct diag *diag)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < info->n_params; i++) {
        sqlite3_stmt *insert;
        code = database_prepare(&results->database, "INSERT INTO param VALUES (?, ?, ?)", &insert, "begin a run", diag);
        if (code != 0) return code;
        sqlite3_bind_int64(insert, 1, run_id);
        bind_text(insert, 2, info->params[i].key);
        bind_text(insert, 3, info->params[i].value);
        code = finish_statement(results, insert, "begin a run", diag);
    }
    return code;
}

int results_begin_run(struct results *results, const struct run_info *info, int64_t *run_id, struct diag *diag)
{
    SIM_REQUIRE(results->run_id == 0);
    const struct database *database = &results->database;
    int64_t last = 0;
    int code = 0;
    if (sqlite3_get_autocommit(database->handle)) code = database_run(database, "BEGIN IMMEDIATE", "begin a run", diag);
    if (code == 0)
        code = database_integer(database, "SELECT max(id) FROM run WHERE id > 0", &last, "begin a run", diag);
    if (code == 0 && info->run_id == 0 && last == INT64_MAX)
        code = diag_error(diag, SIM_E_STORE, database->path, "name another file with -o",
                          "cannot begin a run: the last run has the largest possible id, %" PRId64, last);
    if (code == 0 && last > 0) code = database_run(database, schema_index_sql, "index the tables", diag);
    int64_t next = info->run_id != 0 || code != 0 ? info->run_id : last + 1;
    if (code == 0) code = insert_run(results, next, info, diag);
    if (code != 0) return code;
    *run_id = results->run_id = next;
    results->keep = info->keep;
    code = database_run(database, "COMMIT; BEGIN IMMEDIATE", "begin a run", diag);
    if (code == 0) code = insert_params(results, next, info, diag); /* committed with the rows */
    if (code != 0) {
        abandon_run(results);
        return code;
    }
    writer_start(&results->writer, results->run_id);
    return 0;
}

static int put_row(void *results, enum table_id table, const void *row)
{
    return writer_put(&((struct results *)results)->writer, table, row);
}

struct sink results_sink(struct results *results)
{
    results->route = (struct route){.put = put_row, .store = results};
    return route_sink(&results->route, results->keep);
}

static int update_run(struct results *results, const struct run_end *end, const char *result_hash, struct diag *diag)
{
    static const char sql[] = "UPDATE run SET status = ?2, result_hash = ?3, trace_hash = ?4, extrapolated_frac = ?5, "
                              "oracle = coalesce(?6, oracle) WHERE id = ?1";
    sqlite3_stmt *update;
    int code = database_prepare(&results->database, sql, &update, "end the run", diag);
    if (code != 0) return code;
    sqlite3_bind_int64(update, 1, results->run_id);
    bind_text(update, 2, end->status);
    bind_text(update, 3, result_hash);
    bind_text(update, 4, end->trace_hash);
    sqlite3_bind_double(update, 5, end->extrapolated_frac);
    bind_text(update, 6, end->oracle);
    return finish_statement(results, update, "end the run", diag);
}

static int insert_cost(struct results *results, const struct run_cost *cost, struct diag *diag)
{
    sqlite3_stmt *insert;
    int code = database_prepare(&results->database, "INSERT INTO run_cost VALUES (?, ?, ?, ?, ?, ?)", &insert,
                                "end the run", diag);
    if (code != 0) return code;
    sqlite3_bind_int64(insert, 1, results->run_id);
    bind_text(insert, 2, cost->started_utc);
    sqlite3_bind_double(insert, 3, cost->wall_s);
    sqlite3_bind_double(insert, 4, cost->cpu_s);
    sqlite3_bind_int64(insert, 5, cost->events);
    if (cost->peak_rss_bytes > 0) sqlite3_bind_int64(insert, 6, cost->peak_rss_bytes);
    return finish_statement(results, insert, "end the run", diag);
}

/* A metric that does not apply has no row. */
static int insert_recorded(struct results *results, const struct run_end *end, struct diag *diag)
{
    static const char sql[] = "INSERT OR REPLACE INTO metric_recorded VALUES (?, ?, ?)";
    int code = 0;
    for (size_t i = 0; code == 0 && i < end->n_recorded; i++) {
        sqlite3_stmt *insert;
        if (isnan(end->recorded[i].value)) continue;
        code = database_prepare(&results->database, sql, &insert, "end the run", diag);
        if (code != 0) return code;
        sqlite3_bind_int64(insert, 1, results->run_id);
        bind_text(insert, 2, end->recorded[i].name);
        sqlite3_bind_double(insert, 3, end->recorded[i].value);
        code = finish_statement(results, insert, "end the run", diag);
    }
    return code;
}

int results_end_run(struct results *results, const struct run_end *end, char result_hash[HASH_HEX_CHARS],
                    struct diag *diag)
{
    SIM_REQUIRE(results->run_id != 0);
    int code = writer_finish(&results->writer, diag);
    if (code == 0) {
        code = digest_hex(&results->writer.digest, result_hash);
        if (code != 0) diag_error(diag, code, results->database.path, NULL, "cannot end the run: out of memory");
    }
    if (code == 0) code = update_run(results, end, result_hash, diag);
    if (code == 0) code = insert_cost(results, &end->cost, diag);
    if (code == 0) code = insert_recorded(results, end, diag);
    if (code == 0) code = database_check_name(&results->database, "end the run", diag);
    if (code == 0) code = database_run(&results->database, "COMMIT", "end the run", diag);
    if (code == 0 && results->database.created && results->n_ended == 0 && !results->unflushed)
        code = database_make_durable(&results->database, "end the run", diag);
    if (code != 0) {
        abandon_run(results);
        return code;
    }
    results->run_id = 0;
    results->n_ended++;
    return 0;
}

static int insert_interval(struct results *results, int64_t run_id, const struct metric_interval *interval,
                           struct diag *diag)
{
    sqlite3_stmt *insert;
    int code = database_prepare(&results->database, "INSERT INTO metric_interval VALUES (?, ?, ?, ?, ?, ?)", &insert,
                                "add the intervals", diag);
    if (code != 0) return code;
    sqlite3_bind_int64(insert, 1, run_id);
    bind_text(insert, 2, interval->name);
    sqlite3_bind_double(insert, 3, interval->low);
    sqlite3_bind_double(insert, 4, interval->high);
    sqlite3_bind_double(insert, 5, interval->fast);
    sqlite3_bind_double(insert, 6, interval->slow);
    return finish_statement(results, insert, "add the intervals", diag);
}

int results_add_intervals(struct results *results, int64_t run_id, const struct run_intervals *intervals,
                          struct diag *diag)
{
    const struct database *database = &results->database;
    sqlite3_stmt *insert;
    int code = database_run(database, "BEGIN IMMEDIATE", "add the intervals", diag);
    if (code == 0)
        code = database_prepare(database, "INSERT INTO run_interval VALUES (?, ?, ?, ?)", &insert, "add the intervals",
                                diag);
    if (code == 0) {
        sqlite3_bind_int64(insert, 1, run_id);
        sqlite3_bind_double(insert, 2, intervals->share);
        bind_text(insert, 3, intervals->basis);
        bind_text(insert, 4, intervals->systems);
        code = finish_statement(results, insert, "add the intervals", diag);
    }
    for (size_t i = 0; code == 0 && i < intervals->n; i++)
        code = insert_interval(results, run_id, &intervals->items[i], diag);
    if (code == 0) code = database_run(database, "COMMIT", "add the intervals", diag);
    if (code != 0 && !sqlite3_get_autocommit(database->handle))
        sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
    return code;
}
