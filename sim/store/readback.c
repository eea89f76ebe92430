#include "sim/store/readback.h"

#include "sim/core/database.h"
#include "sim/store/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A row of any table, as the sink saw it. */
union any_row {
#define TABLE(name, NAME, keep, text) struct name##_row name;
#include "sim/world/rows/tables.inc"
};

int results_split_name(const char *name, struct arena *arena, const char **path, int64_t *run_id)
{
    enum { MAX_DIGITS = 18 };
    const char *colon = strrchr(name, ':');
    size_t n_digits = colon != NULL ? strlen(colon + 1) : 0;
    bool numbered = n_digits > 0 && n_digits <= MAX_DIGITS && strspn(colon + 1, "0123456789") == n_digits;
    char *copy = arena_strdup(arena, name);
    if (copy == NULL) return SIM_E_NOMEM;
    *run_id = numbered ? strtoll(colon + 1, NULL, 10) : 0;
    if (*run_id > 0) copy[colon - name] = 0;
    *path = copy;
    return 0;
}

static double column_real(sqlite3_stmt *query, int column)
{
    return sqlite3_column_type(query, column) == SQLITE_NULL ? (double)NAN : sqlite3_column_double(query, column);
}

static const char *column_text(sqlite3_stmt *query, int column)
{
    const unsigned char *text = sqlite3_column_text(query, column);
    return text != NULL ? (const char *)text : "";
}

/* Starts a query whose only parameter is the run. */
static int start_query(const struct database *database, const char *sql, int64_t run_id, sqlite3_stmt **query,
                       struct diag *diag)
{
    int code = database_prepare(database, sql, query, "read results", diag);
    if (code == 0) sqlite3_bind_int64(*query, 1, run_id);
    return code;
}

/* Ends a query; `step` is the result of its last step. */
static int end_query(const struct database *database, sqlite3_stmt *query, int step, struct diag *diag)
{
    int code = step == SQLITE_DONE || step == SQLITE_ROW ? 0 : database_error(database, "read results", diag);
    sqlite3_finalize(query);
    return code;
}

/* The order of the texts is that of the query in read_run. */
static int copy_run(sqlite3_stmt *query, struct arena *arena, struct run_record *run)
{
    const char **texts[] = {&run->name,          &run->version,    &run->git_commit, &run->scenario,
                            &run->scenario_hash, &run->trace_hash, &run->policies,   &run->oracle,
                            &run->platform,      &run->status,     &run->result_hash};
    run->id = sqlite3_column_int64(query, 0);
    run->seed = sqlite3_column_int64(query, 1);
    run->extrapolated_frac = column_real(query, 2);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        *texts[i] = arena_strdup(arena, column_text(query, 3 + (int)i));
        if (*texts[i] == NULL) return SIM_E_NOMEM;
    }
    return 0;
}

static int read_run(const struct database *database, int64_t run_id, struct arena *arena, struct run_record *run,
                    struct diag *diag)
{
    static const char sql[] =
        "SELECT id, seed, extrapolated_frac, name, version, git_commit, scenario, scenario_hash, trace_hash, policies,"
        " oracle, platform, status, result_hash FROM run WHERE id = coalesce(nullif(?, 0), (SELECT max(id) FROM run))";
    sqlite3_stmt *query;
    int code = start_query(database, sql, run_id, &query, diag);
    if (code != 0) return code;
    int step = sqlite3_step(query);
    if (step == SQLITE_ROW && copy_run(query, arena, run) != 0) code = diag_nomem_at(diag, database->path);
    if (step == SQLITE_DONE && run_id != 0)
        code = diag_error(diag, SIM_E_STORE, database->path, "'orrery runs' lists the runs of a file",
                          "no run %" PRId64, run_id);
    else if (step == SQLITE_DONE)
        code = diag_error(diag, SIM_E_STORE, database->path, NULL, "it contains no run");
    int ended = end_query(database, query, step, diag);
    return code != 0 ? code : ended;
}

int results_read_run(const char *path, int64_t run_id, struct arena *arena, struct run_record *run, struct diag *diag)
{
    struct database database;
    int code = database_open_read(&database, path, diag);
    if (code != 0) return code;
    code = read_run(&database, run_id, arena, run, diag);
    database_close(&database, false);
    return code;
}

/* Files the failure of a run as finding: a failed run keeps only a warning. */
static int report_failed(const struct database *database, const struct run_record *run, struct diag *diag)
{
    static const char sql[] = "SELECT (SELECT text FROM warning WHERE run_id = ?1 LIMIT 1),"
                              " (SELECT group_concat(key || '=' || value || ', ', '') FROM param WHERE run_id = ?1)";
    sqlite3_stmt *query;
    char hint[DIAG_TEXT_CHARS];
    int code = start_query(database, sql, run->id, &query, diag);
    if (code != 0) return code;
    int step = sqlite3_step(query);
    if (step == SQLITE_ROW) {
        snprintf(hint, sizeof hint, "it was to have %sseed %" PRId64, column_text(query, 1), run->seed);
        code = diag_error(diag, SIM_E_USAGE, database->path, hint, "run %" PRId64 " %s: %s", run->id,
                          strcmp(run->status, "unfit") == 0 ? "does not fit" : "failed", column_text(query, 0));
    }
    int ended = end_query(database, query, step, diag);
    return code != 0 ? code : ended;
}

int results_check_run(const char *path, const struct run_record *run, struct diag *diag)
{
    struct database database;
    if (strcmp(run->status, "failed") != 0 && strcmp(run->status, "unfit") != 0) return 0;
    int code = database_open_read(&database, path, diag);
    if (code != 0) return code;
    code = report_failed(&database, run, diag);
    database_close(&database, false);
    return code;
}

/* Reads a row as the sink saw it; its texts live until the next step. */
static void read_row(sqlite3_stmt *query, const struct table *layout, union any_row *row)
{
    for (int i = 0; i < layout->n_columns; i++) {
        char *value = (char *)row + i * COLUMN_BYTES;
        switch (layout->columns[i].kind) {
        case COLUMN_INTEGER: memcpy(value, &(int64_t){sqlite3_column_int64(query, i + 1)}, sizeof(int64_t)); break;
        case COLUMN_REAL: memcpy(value, &(double){column_real(query, i + 1)}, sizeof(double)); break;
        case COLUMN_TEXT: memcpy(value, &(const char *){column_text(query, i + 1)}, sizeof(const char *)); break;
        }
    }
}

static int digest_table(const struct database *database, int64_t run_id, enum table_id table, struct block *block,
                        struct digest *digest, struct diag *diag)
{
    char sql[64];
    sqlite3_stmt *query;
    union any_row row;
    int step;
    snprintf(sql, sizeof sql, "SELECT * FROM %s WHERE run_id = ?", schema_tables[table].name);
    int code = start_query(database, sql, run_id, &query, diag);
    if (code != 0) return code;
    while ((step = sqlite3_step(query)) == SQLITE_ROW) {
        read_row(query, &schema_tables[table], &row);
        block->used = 0;
        if (block_add(block, table, &row) < 0) {
            sqlite3_finalize(query);
            return diag_nomem_at(diag, database->path);
        }
        digest_add(digest, block_at(block, 0));
    }
    return end_query(database, query, step, diag);
}

static int digest_run(const struct database *database, int64_t run_id, char hex[HASH_HEX_CHARS], struct diag *diag)
{
    struct block block;
    struct digest digest = {0};
    if (block_init(&block) != 0) return diag_nomem_at(diag, database->path);
    int code = 0;
    for (int i = 0; i < TABLE_COUNT && code == 0; i++)
        code = digest_table(database, run_id, (enum table_id)i, &block, &digest, diag);
    block_fini(&block);
    if (code == 0 && digest_hex(&digest, hex) != 0) code = diag_nomem_at(diag, database->path);
    return code;
}

int results_rehash(const char *path, int64_t run_id, char hex[HASH_HEX_CHARS], struct diag *diag)
{
    struct database database;
    int code = database_open_read(&database, path, diag);
    if (code != 0) return code;
    code = digest_run(&database, run_id, hex, diag);
    database_close(&database, false);
    return code;
}
