#include "sim/study/shards.h"

#include "sim/store/schema.h"
#include "sim/study/outcome.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUSY_MS = 10000, NOTE_BYTES = 1024, LOCK_TRIES = 60, LOCK_WAIT_MS = 50 };

static int fail_system(const char *path, const char *what, struct diag *diag)
{
    const char *hint = errno == ENOENT ? "create the directory first" : "name a file elsewhere with -o";
    return diag_error(diag, SIM_E_STORE, path, hint, "cannot %s: %s", what, strerror(errno));
}

/* --- Whose shards they are --- */

struct note {
    char study[HASH_HEX_CHARS], program[256];
};

static bool read_note(int file, struct note *note)
{
    char text[NOTE_BYTES + 1];
    ssize_t n = pread(file, text, NOTE_BYTES, 0);
    if (n <= 0) return false;
    text[n] = 0;
    return sscanf(text, "study %32s\nprogram %255[^\n]", note->study, note->program) == 2;
}

static int write_note(int file, const char *path, const struct study *study, const struct sweep_runner *runner,
                      struct diag *diag)
{
    char text[NOTE_BYTES];
    int n = snprintf(text, sizeof text, "study %s\nprogram %.255s\n", study->hash, runner->program);
    return pwrite(file, text, (size_t)n, 0) == n ? 0 : fail_system(path, "write", diag);
}

static int check_note(const struct shards *shards, const struct note *note, const struct study *study,
                      const struct sweep_runner *runner, struct diag *diag)
{
    static const char hint[] = "remove the directory to start anew, or name another file with -o";
    char program[sizeof note->program];
    snprintf(program, sizeof program, "%s", runner->program);
    if (strcmp(note->study, study->hash) != 0)
        return diag_error(diag, SIM_E_USAGE, shards->directory, hint,
                          "the study is not the one that was begun: its hash is %s, that of the shards %s", study->hash,
                          note->study);
    if (strcmp(note->program, program) != 0)
        return diag_error(diag, SIM_E_USAGE, shards->directory, hint,
                          "orrery is not the one that the sweep was begun with: this is %s, that was %s", program,
                          note->program);
    return 0;
}

/* Workers hold the lock with their parent, and live on for a moment if that is killed. On a file system without locks
 * nobody holds it. */
static bool lock_file(int file)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return true;
        poll(NULL, 0, LOCK_WAIT_MS);
    }
    return false;
}

static int take_lock(struct shards *shards, bool is_new, const struct study *study, const struct sweep_options *options,
                     const struct sweep_runner *runner, struct diag *diag)
{
    struct note note;
    const char *path = arena_printf(&shards->arena, "%s/sweep", shards->directory);
    if (path == NULL) return diag_nomem(diag);
    shards->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (shards->lock < 0) return fail_system(path, "write", diag);
    if (!lock_file(shards->lock))
        return diag_error(diag, SIM_E_USAGE, shards->directory, "wait for it, or name another file with -o",
                          "another sweep, or workers of one that was killed, are writing to these shards");
    bool has_note = read_note(shards->lock, &note);
    if (!has_note) return write_note(shards->lock, path, study, runner, diag);
    if (!is_new && !options->resume)
        return diag_error(diag, SIM_E_USAGE, shards->directory,
                          "continue it with --resume, remove the directory, or name another file with -o",
                          "a sweep into %s is unfinished", options->output);
    return check_note(shards, &note, study, runner, diag);
}

int shards_open(struct shards *shards, const struct study *study, const struct sweep_options *options,
                const struct sweep_runner *runner, struct diag *diag)
{
    *shards = (struct shards){.lock = -1};
    arena_init(&shards->arena);
    shards->directory = arena_printf(&shards->arena, "%s.shards", options->output);
    if (shards->directory == NULL) return diag_nomem(diag);
    bool is_new = mkdir(shards->directory, 0777) == 0;
    if (!is_new && errno != EEXIST)
        return fail_system(shards->directory, "make a directory for what is finished", diag);
    return take_lock(shards, is_new, study, options, runner, diag);
}

void shards_close(struct shards *shards)
{
    if (shards->lock >= 0) close(shards->lock);
    arena_fini(&shards->arena);
    *shards = (struct shards){.lock = -1};
}

/* --- Files --- */

/* The file of worker `i`, in the arena; NULL when out of memory. */
static const char *shard_path(const struct shards *shards, size_t i, struct arena *arena)
{
    return arena_printf(arena, "%s/%04zu.db", shards->directory, i);
}

int shards_open_results(const struct shards *shards, const struct study *study, size_t i, struct results **results,
                        struct diag *diag)
{
    struct results_options options = {.resume = true, .unflushed = true, .busy_ms = BUSY_MS};
    struct study_info info = {study->name, study->question, study->definition, study->hash};
    struct arena arena;
    arena_init(&arena);
    const char *path = shard_path(shards, i, &arena);
    int code = path != NULL ? results_open(path, &options, results, diag) : diag_nomem(diag);
    if (code == 0) {
        code = results_set_study(*results, &info, diag);
        if (code != 0) results_close(*results);
    }
    arena_fini(&arena);
    return code;
}

/* Whether the name is a number with this ending. */
static bool is_shard(const char *name, const char *ending)
{
    size_t n = strspn(name, "0123456789");
    return n > 0 && strcmp(name + n, ending) == 0;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static const char of_shard[] = ".db", of_journal[] = ".db-journal";

/* Lists the paths of all shards, or their journals, sorted, in the arena. */
static int list_files(const struct shards *shards, const char *ending, struct arena *arena, const char ***paths,
                      size_t *n, struct diag *diag)
{
    DIR *directory = opendir(shards->directory);
    size_t capacity = 0;
    int code = 0;
    *n = 0;
    *paths = NULL;
    if (directory == NULL) return fail_system(shards->directory, "list", diag);
    for (const struct dirent *entry; code == 0 && (entry = readdir(directory)) != NULL;) {
        if (!is_shard(entry->d_name, ending)) continue;
        if (*n == capacity) {
            const char **grown = arena_alloc(arena, (2 * capacity + 16) * sizeof *grown);
            if (grown != NULL && *n > 0) memcpy(grown, *paths, *n * sizeof *grown);
            *paths = grown;
            capacity = 2 * capacity + 16;
        }
        const char *path = *paths != NULL ? arena_printf(arena, "%s/%s", shards->directory, entry->d_name) : NULL;
        if (path == NULL) code = diag_nomem(diag);
        if (path != NULL) (*paths)[(*n)++] = path;
    }
    closedir(directory);
    if (code == 0 && *n > 1) qsort(*paths, *n, sizeof **paths, compare_names);
    return code;
}

/* Deletes from all tables the runs that a condition on run.id selects. */
static int delete_runs(const struct database *database, const char *which, struct diag *diag)
{
    static const char what[] = "take out runs that failed";
    char sql[1024];
    int code = 0;
    for (int i = 0; code == 0 && i < TABLE_COUNT; i++) {
        snprintf(sql, sizeof sql, "DELETE FROM %s WHERE run_id IN (SELECT id FROM run WHERE %s)", schema_tables[i].name,
                 which);
        code = database_run(database, sql, what, diag);
    }
    snprintf(sql, sizeof sql,
             "DELETE FROM param WHERE run_id IN (SELECT id FROM run WHERE %s);"
             "DELETE FROM run_interval WHERE run_id IN (SELECT id FROM run WHERE %s);"
             "DELETE FROM metric_interval WHERE run_id IN (SELECT id FROM run WHERE %s);"
             "DELETE FROM metric_recorded WHERE run_id IN (SELECT id FROM run WHERE %s);"
             "DELETE FROM run_cost WHERE run_id IN (SELECT id FROM run WHERE %s); DELETE FROM run WHERE %s",
             which, which, which, which, which, which);
    return code == 0 ? database_run(database, sql, what, diag) : code;
}

/* `found` lists the runs of all shards. */
static int clean_file(const char *path, const struct study *study, const struct merge *found, struct diag *diag)
{
    struct database database;
    char which[96];
    int code = database_open_write(&database, path, schema_create_sql, BUSY_MS, diag);
    if (code != 0) return code;
    for (size_t i = 0; code == 0 && study->search != NULL && i < found->n_runs; i++) {
        int64_t first, last;
        if (!found->runs[i].failed) continue;
        outcome_later(study, found->runs[i].id, &first, &last);
        snprintf(which, sizeof which, "id BETWEEN %" PRId64 " AND %" PRId64, first, last);
        code = delete_runs(&database, which, diag);
    }
    if (code == 0) code = delete_runs(&database, "status IN ('open', 'failed', 'unfit')", diag);
    if (code == 0) code = database_run(&database, "COMMIT", "take out runs that failed", diag);
    database_close(&database, false);
    return code;
}

/* Keeps the files that have tables, which a file has not whose process died before its first run. */
static size_t keep_filled(const char **paths, size_t n)
{
    size_t n_filled = 0;
    for (size_t i = 0; i < n; i++)
        if (access(paths[i], F_OK) == 0 && !database_is_empty(paths[i])) paths[n_filled++] = paths[i];
    return n_filled;
}

static int open_filled(const char **paths, size_t n, const struct study *study, struct merge *merge, struct diag *diag)
{
    return merge_open(merge, paths, keep_filled(paths, n), study->hash, merge_hint_output, diag);
}

int shards_clean(const struct shards *shards, const struct study *study, struct diag *diag)
{
    struct merge found = {0};
    struct arena arena;
    const char **paths, **filled = NULL;
    size_t n;
    arena_init(&arena);
    int code = list_files(shards, of_shard, &arena, &paths, &n, diag);
    if (code == 0 && (filled = arena_alloc(&arena, (n + 1) * sizeof *filled)) == NULL) code = diag_nomem(diag);
    if (code == 0 && n > 0) memcpy(filled, paths, n * sizeof *filled);
    if (code == 0) code = open_filled(filled, n, study, &found, diag);
    for (size_t i = 0; i < found.n_inputs; i++) database_close(&found.inputs[i], false);
    found.n_inputs = 0; /* the list of runs is enough */
    for (size_t i = 0; code == 0 && i < n; i++) {
        if (database_is_empty(paths[i]))
            unlink(paths[i]);
        else
            code = clean_file(paths[i], study, &found, diag);
    }
    merge_close(&found);
    arena_fini(&arena);
    return code;
}

int shards_read(const struct shards *shards, const struct study *study, struct merge *merge, struct diag *diag)
{
    struct arena arena;
    const char **paths, **all = NULL;
    size_t n;
    arena_init(&arena);
    *merge = (struct merge){0};
    int code = list_files(shards, of_shard, &arena, &paths, &n, diag);
    if (code == 0 && (all = arena_alloc(&arena, (n + 1) * sizeof *all)) == NULL) code = diag_nomem(diag);
    if (code == 0) {
        if (n > 0) memcpy(all, paths, n * sizeof *all);
        n = keep_filled(all, n);
        if (shards->earlier != NULL) all[n++] = shards->earlier;
        code = shards->earlier != NULL ? merge_open_over(merge, all, n, study, diag)
                                       : merge_open(merge, all, n, study->hash, merge_hint_output, diag);
    }
    arena_fini(&arena);
    return code;
}

int shards_read_some(const struct shards *shards, const struct study *study, size_t first, size_t n,
                     struct merge *merge, struct diag *diag)
{
    struct arena arena;
    arena_init(&arena);
    *merge = (struct merge){0};
    const char **paths = arena_alloc(&arena, (n + 1) * sizeof *paths);
    int code = paths != NULL ? 0 : diag_nomem(diag);
    for (size_t i = 0; code == 0 && i < n; i++)
        if ((paths[i] = shard_path(shards, first + i, &arena)) == NULL) code = diag_nomem(diag);
    if (code == 0) code = open_filled(paths, n, study, merge, diag);
    arena_fini(&arena);
    return code;
}

static double file_bytes(const char *path)
{
    struct stat status;
    return path != NULL && stat(path, &status) == 0 ? (double)status.st_size : 0;
}

double shards_bytes(const struct shards *shards)
{
    struct arena arena;
    const char **paths;
    size_t n;
    double bytes = file_bytes(shards->earlier);
    arena_init(&arena);
    if (list_files(shards, of_shard, &arena, &paths, &n, NULL) == 0)
        for (size_t i = 0; i < n; i++) bytes += file_bytes(paths[i]);
    arena_fini(&arena);
    return bytes;
}

double shards_bytes_of(const struct shards *shards, size_t i)
{
    struct arena arena;
    arena_init(&arena);
    const double bytes = file_bytes(shard_path(shards, i, &arena));
    arena_fini(&arena);
    return bytes;
}

static void remove_files(struct shards *shards, const char *ending)
{
    struct arena arena;
    const char **paths;
    size_t n;
    arena_init(&arena);
    if (list_files(shards, ending, &arena, &paths, &n, NULL) == 0)
        for (size_t i = 0; i < n; i++) unlink(paths[i]);
    arena_fini(&arena);
}

/* A process that died may have left journals without databases. */
void shards_remove(struct shards *shards)
{
    remove_files(shards, of_journal);
    remove_files(shards, of_shard);
    const char *note = arena_printf(&shards->arena, "%s/sweep", shards->directory);
    if (note != NULL) unlink(note);
    rmdir(shards->directory);
}
