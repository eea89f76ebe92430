#include "tests/support/faults/state.h"

#include <dirent.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t n)
{
    for (const unsigned char *at = bytes; n-- > 0; at++) hash = (hash ^ *at) * 1099511628211u;
    return hash;
}

static const uint64_t hash_start = 14695981039346656037u;

static void digest_file(const char *path, struct file_state *file)
{
    char bytes[65536];
    uint64_t hash = hash_start;
    FILE *in = fopen(path, "rb");
    for (size_t n; in != NULL && (n = fread(bytes, 1, sizeof bytes, in)) > 0;) hash = add_bytes(hash, bytes, n);
    if (in != NULL) fclose(in);
    snprintf(file->digest, sizeof file->digest, "%016llx", (unsigned long long)hash);
}

/* --- Results databases --- */

static uint64_t add_rows(uint64_t hash, sqlite3 *db, const char *sql, long *n_rows)
{
    sqlite3_stmt *rows;
    *n_rows = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &rows, NULL) != SQLITE_OK) return hash;
    int step;
    for (*n_rows = 0; (step = sqlite3_step(rows)) == SQLITE_ROW; ++*n_rows)
        for (int i = 0; i < sqlite3_column_count(rows); i++) {
            const void *text = sqlite3_column_text(rows, i);
            hash = add_bytes(hash, text != NULL ? text : "", (size_t)sqlite3_column_bytes(rows, i) + 1);
        }
    if (step != SQLITE_DONE) *n_rows = -1;
    sqlite3_finalize(rows);
    return hash;
}

static long count(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *rows;
    long n = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &rows, NULL) == SQLITE_OK && sqlite3_step(rows) == SQLITE_ROW)
        n = (long)sqlite3_column_int64(rows, 0);
    sqlite3_finalize(rows);
    return n;
}

#define ENDED "(SELECT id FROM run WHERE status NOT IN ('open', 'failed'))"

/* All rows of runs that ended, but for the costs of their execution. What is wrong: rows of other runs. */
static const char *add_table(sqlite3 *db, const char *table, uint64_t *hash)
{
    char sql[512];
    long n;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM pragma_table_info('%s') WHERE name = 'run_id'", table);
    const bool by_run = count(db, sql) == 1, is_run = strcmp(table, "run") == 0;
    snprintf(sql, sizeof sql, "SELECT * FROM %s%s", table,
             by_run   ? " WHERE run_id IN " ENDED
             : is_run ? " WHERE id IN " ENDED
                      : "");
    *hash = add_rows(*hash, db, sql, &n);
    if (n < 0) return "unreadable";
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s WHERE run_id NOT IN (SELECT id FROM run)", table);
    return by_run && count(db, sql) != 0 ? "has rows without a run" : NULL;
}

static const char *digest_runs(sqlite3 *db, uint64_t *hash, bool *is_unfinished)
{
    sqlite3_stmt *tables;
    const char *wrong = NULL;
    long n;
    if (add_rows(hash_start, db, "PRAGMA integrity_check", &n) != add_bytes(hash_start, "ok", 3)) return "corrupt";
    if (count(db, "SELECT count(*) FROM sqlite_schema") == 0) return "empty";
    if (count(db, "SELECT count(*) FROM run WHERE id NOT IN " ENDED) > 0) *is_unfinished = true;
    if (sqlite3_prepare_v2(db,
                           "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('run_cost') "
                           "AND name NOT LIKE 'sqlite_%' ORDER BY name",
                           -1, &tables, NULL) != SQLITE_OK)
        return "unreadable";
    while (wrong == NULL && sqlite3_step(tables) == SQLITE_ROW)
        wrong = add_table(db, (const char *)sqlite3_column_text(tables, 0), hash);
    sqlite3_finalize(tables);
    if (wrong == NULL && count(db, "SELECT count(*) FROM run WHERE id IN " ENDED) == 0) return "empty";
    return wrong;
}

/* A database without ended runs is as good as none. */
static bool digest_database(const char *path, struct file_state *file, bool *is_unfinished)
{
    sqlite3 *db;
    uint64_t hash = hash_start;
    const bool is_open = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK;
    const char *wrong = is_open ? digest_runs(db, &hash, is_unfinished) : "cannot be opened";
    if (wrong != NULL)
        snprintf(file->digest, sizeof file->digest, "%s", wrong);
    else
        snprintf(file->digest, sizeof file->digest, "%016llx", (unsigned long long)hash);
    sqlite3_close(db);
    const bool is_empty = wrong != NULL && strcmp(wrong, "empty") == 0;
    if (is_empty) *is_unfinished = true;
    return !is_empty;
}

/* --- Directories --- */

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

static bool is_temporary(const char *name)
{
    return ends_with(name, "-part") || ends_with(name, "-journal") || ends_with(name, "-wal") ||
           ends_with(name, ".shards");
}

static void read_directory(struct state *state, const char *root, const char *below)
{
    char path[2 * PATH_CHARS], name[PATH_CHARS];
    struct dirent **entries;
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", root, below);
    const int n = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < n; free(entries[i++])) {
        if (strcmp(entries[i]->d_name, ".") == 0 || strcmp(entries[i]->d_name, "..") == 0) continue;
        snprintf(name, sizeof name, "%.200s%s%s", below, below[0] != 0 ? "/" : "", entries[i]->d_name);
        snprintf(path, sizeof path, "%s/%s", root, name);
        if (is_temporary(name)) {
            snprintf(state->temporary, sizeof state->temporary, "%s", name);
            continue;
        }
        if (lstat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
            read_directory(state, root, name);
            continue;
        }
        if (state->n == MAX_FILES) abort();
        struct file_state *file = &state->files[state->n];
        snprintf(file->path, sizeof file->path, "%s", name);
        if (!ends_with(name, ".db"))
            digest_file(path, file);
        else if (!digest_database(path, file, &state->is_unfinished))
            continue;
        state->n++;
    }
    if (n >= 0) free(entries);
}

void state_read(struct state *state, const char *directory)
{
    memset(state, 0, sizeof *state);
    read_directory(state, directory, "");
}

const char *state_find(const struct state *state, const char *path)
{
    for (size_t i = 0; i < state->n; i++)
        if (strcmp(state->files[i].path, path) == 0) return state->files[i].digest;
    return NULL;
}

bool state_equals(const struct state *a, const struct state *b)
{
    if (a->n != b->n) return false;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->files[i].path, b->files[i].path) != 0 || strcmp(a->files[i].digest, b->files[i].digest) != 0)
            return false;
    return true;
}
