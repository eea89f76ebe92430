#include "sim/study/merge.h"

#include "sim/core/part.h"
#include "sim/core/vec.h"
#include "sim/store/schema.h"
#include "sim/study/outcome.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char merge_hint_input[] = "name what 'orrery sweep' wrote";
const char merge_hint_output[] = "name what 'orrery sweep' wrote, or a new file to write to";

/* --- Reading --- */

/* A file without runs, whose process died before its first run, belongs to any study. */
static int check_study(const struct database *input, char hash[HASH_HEX_CHARS], const char *hint, struct diag *diag)
{
    static const char what[] = "read the study";
    sqlite3_stmt *select;
    int64_t n_runs;
    int code = database_integer(input, "SELECT count(*) FROM run", &n_runs, what, diag);
    if (code == 0) code = database_prepare(input, "SELECT hash FROM study", &select, what, diag);
    if (code != 0 || n_runs == 0) {
        if (code == 0) sqlite3_finalize(select);
        return code;
    }
    int step = sqlite3_step(select);
    const char *found = step == SQLITE_ROW ? (const char *)sqlite3_column_text(select, 0) : NULL;
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        code = database_error(input, what, diag);
    else if (found == NULL)
        code = diag_error(diag, SIM_E_USAGE, input->path, hint, "these are not the results of a study");
    else if (hash[0] == 0)
        snprintf(hash, HASH_HEX_CHARS, "%s", found);
    else if (strcmp(found, hash) != 0)
        code = diag_error(diag, SIM_E_USAGE, input->path, "name another file, or move this one away",
                          "these are the results of another study: its hash is %s, expected %s", found, hash);
    sqlite3_finalize(select);
    return code;
}

static int add_run(struct merge *merge, const struct merge_run *run, struct diag *diag)
{
    if (vec_push(&merge->runs, &merge->n_runs, &merge->capacity, *run) != 0) return diag_nomem(diag);
    return 0;
}

static int list_runs(struct merge *merge, size_t input, struct diag *diag)
{
    static const char sql[] = "SELECT id, status = 'failed', coalesce(result_hash, ''), status = 'unfit' FROM run "
                              "WHERE status <> 'open' ORDER BY id";
    const struct database *database = &merge->inputs[input];
    sqlite3_stmt *select;
    int code = database_prepare(database, sql, &select, "list the runs", diag);
    if (code != 0) return code;
    int step = SQLITE_DONE;
    while (code == 0 && (step = sqlite3_step(select)) == SQLITE_ROW) {
        struct merge_run run = {.id = sqlite3_column_int64(select, 0), .input = input};
        run.failed = sqlite3_column_int(select, 1) != 0;
        run.unfit = sqlite3_column_int(select, 3) != 0;
        snprintf(run.result_hash, sizeof run.result_hash, "%s", (const char *)sqlite3_column_text(select, 2));
        code = add_run(merge, &run, diag);
    }
    if (code == 0 && step != SQLITE_DONE) code = database_error(database, "list the runs", diag);
    sqlite3_finalize(select);
    return code;
}

/* Orders runs by id, then finished ones before failed ones, then by file. */
static int compare_runs(const void *left, const void *right)
{
    const struct merge_run *a = left, *b = right;
    if (a->id != b->id) return a->id < b->id ? -1 : 1;
    if (a->failed != b->failed) return a->failed ? 1 : -1;
    return (a->input > b->input) - (a->input < b->input);
}

static int drop_doubles(struct merge *merge, struct diag *diag)
{
    size_t n = 0;
    if (merge->n_runs > 0) qsort(merge->runs, merge->n_runs, sizeof *merge->runs, compare_runs);
    for (size_t i = 0; i < merge->n_runs; i++) {
        const struct merge_run *run = &merge->runs[i], *last = n > 0 ? &merge->runs[n - 1] : NULL;
        if (last == NULL || last->id != run->id) {
            merge->runs[n++] = *run;
            continue;
        }
        if (run->failed || strcmp(run->result_hash, last->result_hash) == 0) continue;
        return diag_error(diag, SIM_E_USAGE, merge->inputs[run->input].path,
                          "they were made by different programs or from different inputs",
                          "run %" PRId64 " has the result hash %s, but %s in %s", run->id, run->result_hash,
                          last->result_hash, merge->inputs[last->input].path);
    }
    merge->n_runs = n;
    return 0;
}

static int open_all(struct merge *merge, const char *const *paths, size_t n_paths, const char *study_hash,
                    const char *hint, struct diag *diag)
{
    char hash[HASH_HEX_CHARS] = "";
    *merge = (struct merge){.inputs = mem_zalloc(n_paths + 1, sizeof *merge->inputs)};
    if (merge->inputs == NULL) return diag_nomem(diag);
    if (study_hash != NULL) snprintf(hash, sizeof hash, "%s", study_hash);
    for (size_t i = 0; i < n_paths; i++) {
        int code = database_open_read(&merge->inputs[i], paths[i], diag);
        if (code != 0) return code;
        merge->n_inputs++;
        code = check_study(&merge->inputs[i], hash, hint, diag);
        if (code == 0) code = list_runs(merge, i, diag);
        if (code != 0) return code;
    }
    return 0;
}

int merge_open(struct merge *merge, const char *const *paths, size_t n_paths, const char *study_hash, const char *hint,
               struct diag *diag)
{
    int code = open_all(merge, paths, n_paths, study_hash, hint, diag);
    return code == 0 ? drop_doubles(merge, diag) : code;
}

/* Drops the failed runs of an input, and the later search steps at their points. */
static void drop_failed(struct merge *merge, size_t input, const struct study *study)
{
    int64_t first = 0, last = 0; /* run ids of the later steps */
    size_t n = 0;
    for (size_t i = 0; i < merge->n_runs; i++) {
        const struct merge_run *run = &merge->runs[i];
        bool drops = run->input == input && (run->failed || (run->id >= first && run->id <= last));
        if (drops && run->failed && run->id > last) outcome_later(study, run->id, &first, &last);
        if (!drops) merge->runs[n++] = *run;
    }
    merge->n_runs = n;
}

int merge_open_over(struct merge *merge, const char *const *paths, size_t n_paths, const struct study *study,
                    struct diag *diag)
{
    int code = open_all(merge, paths, n_paths, study->hash, merge_hint_output, diag);
    if (code != 0) return code;
    drop_failed(merge, n_paths - 1, study);
    return drop_doubles(merge, diag);
}

void merge_close(struct merge *merge)
{
    for (size_t i = 0; i < merge->n_inputs; i++) database_close(&merge->inputs[i], false);
    mem_free(merge->inputs);
    mem_free(merge->runs);
    *merge = (struct merge){0};
}

const struct merge_run *merge_find(const struct merge *merge, int64_t run_id)
{
    size_t low = 0, high = merge->n_runs;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (merge->runs[middle].id == run_id) return &merge->runs[middle];
        if (merge->runs[middle].id < run_id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int read_value(const struct merge *merge, const struct merge_run *run, const char *sql, const char *name,
                      double *value, struct diag *diag)
{
    const struct database *database = &merge->inputs[run->input];
    sqlite3_stmt *select;
    int code = database_prepare(database, sql, &select, "read a metric", diag);
    if (code != 0) return code;
    sqlite3_bind_int64(select, 1, run->id);
    sqlite3_bind_text(select, 2, name, -1, SQLITE_STATIC);
    int step = sqlite3_step(select);
    bool has_value = step == SQLITE_ROW && sqlite3_column_type(select, 0) != SQLITE_NULL;
    *value = has_value ? sqlite3_column_double(select, 0) : (double)NAN;
    if (step != SQLITE_ROW && step != SQLITE_DONE) code = database_error(database, "read a metric", diag);
    sqlite3_finalize(select);
    return code;
}

int merge_metric(const struct merge *merge, const struct merge_run *run, const char *name, double *value,
                 struct diag *diag)
{
    return read_value(merge, run, "SELECT value FROM metric WHERE run_id = ? AND name = ?", name, value, diag);
}

int merge_slow(const struct merge *merge, const struct merge_run *run, const char *name, double *value,
               struct diag *diag)
{
    static const char sql[] = "SELECT coalesce((SELECT slow FROM metric_interval WHERE run_id = ?1 AND name = ?2),"
                              " (SELECT value FROM metric WHERE run_id = ?1 AND name = ?2))"
                              " WHERE EXISTS (SELECT 1 FROM run_interval WHERE run_id = ?1)";
    return read_value(merge, run, sql, name, value, diag);
}

int merge_recorded(const struct merge *merge, const struct merge_run *run, const char *name, double *value,
                   struct diag *diag)
{
    return read_value(merge, run, "SELECT value FROM metric_recorded WHERE run_id = ? AND name = ?", name, value, diag);
}

/* --- Writing --- */

/* A table copied run by run; `key` is its run column. */
struct copied {
    const char *name, *key;
    int n_columns; /* in the output */
};

static const struct copied first_tables[] = {{"run", "id", 14}, {"run_cost", "run_id", 6}, {"param", "run_id", 3},
                                             {"run_interval", "run_id", 4}, {"metric_interval", "run_id", 6},
                                             {"metric_recorded", "run_id", 3}};
enum { N_FIRST = sizeof first_tables / sizeof *first_tables, N_COPIED = N_FIRST + TABLE_COUNT };

static struct copied table_at(int i)
{
    if (i < N_FIRST) return first_tables[i];
    const struct table *table = &schema_tables[i - N_FIRST];
    return (struct copied){table->name, "run_id", 1 + table->n_columns};
}

static const char copying[] = "merge the results";

enum { MAX_ATTACHED = 10 }; /* SQLite's own limit */

/* Prepared copy statements of all files, each prepared at its first use. Files attached to the output's connection
 * are copied within SQLite, in a third of the time. */
struct copier {
    const struct merge *merge;
    struct database *output;
    bool is_attached;
    sqlite3_stmt *inserts[N_COPIED];
    sqlite3_stmt **selects; /* [input * N_COPIED + table] */
};

static int prepare_insert(struct copier *copier, int i, struct diag *diag)
{
    char sql[160];
    struct copied table = table_at(i);
    int n = snprintf(sql, sizeof sql, "INSERT INTO %s VALUES (?", table.name);
    for (int column = 1; column < table.n_columns; column++) n += snprintf(sql + n, sizeof sql - (size_t)n, ", ?");
    snprintf(sql + n, sizeof sql - (size_t)n, ")");
    return database_prepare(copier->output, sql, &copier->inserts[i], copying, diag);
}

static int prepare_select(struct copier *copier, size_t input, int i, struct diag *diag)
{
    char sql[96];
    struct copied table = table_at(i);
    snprintf(sql, sizeof sql, "SELECT * FROM %s WHERE %s = ?", table.name, table.key);
    return database_prepare(&copier->merge->inputs[input], sql, &copier->selects[input * N_COPIED + (size_t)i], copying,
                            diag);
}

static bool attach_all(const struct copier *copier)
{
    const struct merge *merge = copier->merge;
    bool all = merge->n_inputs <= MAX_ATTACHED;
    for (size_t i = 0; all && i < merge->n_inputs; i++) {
        const char *path = merge->inputs[i].path;
        char *sql = sqlite3_mprintf("ATTACH '%q%q' AS input%d", path[0] == '/' ? "" : "./", path, (int)i);
        all = sql != NULL && sqlite3_exec(copier->output->handle, sql, NULL, NULL, NULL) == SQLITE_OK;
        sqlite3_free(sql);
    }
    return all;
}

static int prepare_copy(struct copier *copier, size_t input, int i, sqlite3_stmt **copy, struct diag *diag)
{
    struct copied table = table_at(i);
    char sql[128];
    snprintf(sql, sizeof sql, "INSERT INTO main.%s SELECT * FROM input%zu.%s WHERE %s = ?", table.name, input,
             table.name, table.key);
    return database_prepare(copier->output, sql, copy, copying, diag);
}

static int copy_attached(struct copier *copier, const struct merge_run *run, int i, struct diag *diag)
{
    sqlite3_stmt **copy = &copier->selects[run->input * N_COPIED + (size_t)i];
    int code = *copy == NULL ? prepare_copy(copier, run->input, i, copy, diag) : 0;
    if (code != 0) return code;
    sqlite3_bind_int64(*copy, 1, run->id);
    if (sqlite3_step(*copy) != SQLITE_DONE) code = database_error(copier->output, copying, diag);
    sqlite3_reset(*copy);
    return code;
}

/* Rows keep their order: by the key, or by rowid through the index on the run. */
static int copy_rows(struct copier *copier, const struct merge_run *run, int i, struct diag *diag)
{
    sqlite3_stmt **select = &copier->selects[run->input * N_COPIED + (size_t)i], *insert;
    int code = copier->inserts[i] == NULL ? prepare_insert(copier, i, diag) : 0;
    if (code == 0 && *select == NULL) code = prepare_select(copier, run->input, i, diag);
    if (code != 0) return code;
    insert = copier->inserts[i];
    int n_columns = sqlite3_column_count(*select), step;
    sqlite3_bind_int64(*select, 1, run->id);
    while ((step = sqlite3_step(*select)) == SQLITE_ROW && code == 0) {
        for (int column = 0; column < n_columns; column++)
            sqlite3_bind_value(insert, column + 1, sqlite3_column_value(*select, column));
        if (sqlite3_step(insert) != SQLITE_DONE) code = database_error(copier->output, copying, diag);
        sqlite3_reset(insert);
    }
    if (code == 0 && step != SQLITE_DONE) code = database_error(&copier->merge->inputs[run->input], copying, diag);
    sqlite3_reset(*select);
    return code;
}

static int copy_runs(const struct merge *merge, struct database *output, struct diag *diag)
{
    struct copier copier = {.merge = merge, .output = output};
    copier.selects = mem_zalloc(merge->n_inputs * N_COPIED + 1, sizeof *copier.selects);
    int code = copier.selects != NULL ? 0 : diag_nomem(diag);
    copier.is_attached = code == 0 && attach_all(&copier);
    for (size_t i = 0; code == 0 && i < merge->n_runs; i++)
        for (int table = 0; code == 0 && table < N_COPIED; table++)
            code = (copier.is_attached ? copy_attached : copy_rows)(&copier, &merge->runs[i], table, diag);
    for (int i = 0; i < N_COPIED; i++) sqlite3_finalize(copier.inserts[i]);
    for (size_t i = 0; copier.selects != NULL && i < merge->n_inputs * N_COPIED; i++)
        sqlite3_finalize(copier.selects[i]);
    mem_free(copier.selects);
    return code;
}

static int write_study(const struct database *output, const struct study *study, struct diag *diag)
{
    const char *const texts[] = {study->name, study->question, study->definition, study->hash};
    sqlite3_stmt *insert;
    int code = database_prepare(output, "INSERT INTO study VALUES (?, ?, ?, ?)", &insert, copying, diag);
    if (code != 0) return code;
    for (int i = 0; i < 4; i++) sqlite3_bind_text(insert, 1 + i, texts[i], -1, SQLITE_STATIC);
    if (sqlite3_step(insert) != SQLITE_DONE) code = database_error(output, copying, diag);
    sqlite3_finalize(insert);
    return code;
}

static int write_all(const struct merge *merge, const struct study *study, struct database *output, struct diag *diag)
{
    int code = write_study(output, study, diag);
    if (code == 0) code = copy_runs(merge, output, diag);
    if (code == 0 && merge->n_runs > 1) code = database_run(output, schema_index_sql, copying, diag);
    if (code == 0) code = outcome_write(merge, study, output, diag);
    return code == 0 ? database_run(output, "COMMIT", copying, diag) : code;
}

/* The file is on the disk; then its name is. */
static void flush_directory(const char *path)
{
    struct arena arena;
    arena_init(&arena);
    const char *slash = strrchr(path, '/');
    const char *directory = slash == NULL ? "." : arena_printf(&arena, "%.*s/", (int)(slash - path), path);
    int file = directory != NULL ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (file >= 0) {
        fsync(file);
        close(file);
    }
    arena_fini(&arena);
}

static int fail_file(const char *path, const char *what, struct diag *diag)
{
    const char *hint = errno == ENOENT ? "create the directory first" : "name another file with -o";
    return diag_error(diag, SIM_E_STORE, path, hint, "cannot %s results: %s", what, strerror(errno));
}

int merge_write(const struct merge *merge, const struct study *study, const struct merge_target *target,
                struct diag *diag)
{
    struct database database;
    struct part part;
    if (part_create(&part, target->output, 0666) != 0) return fail_file(target->output, "create", diag);
    int code = database_open_write(&database, part.path, schema_create_sql, 0, diag);
    if (code == 0) {
        code = write_all(merge, study, &database, diag);
        database_close(&database, false);
    }
    if (code == 0 && (part_flush(&part) != 0 || part_take_name(&part, target->replaces) != 0))
        code = fail_file(target->output, "write", diag);
    if (code == 0) flush_directory(target->output);
    part_discard(&part);
    return code;
}
