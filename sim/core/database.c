#include "sim/core/database.h"

#include "sim/core/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_OPENINGS = 10 }; /* of a file that others keep removing */

static const char other_file_hint[] = "name another file with -o, or move this one away";

static const char *read_hint(int sqlite_code)
{
    switch (sqlite_code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return "another process is writing to it: wait for that one";
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT: return "name a file that a run with -o wrote";
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN: return "the file must be readable";
    case SQLITE_IOERR: return "check the disk";
    default: return NULL;
    }
}

static const char *write_hint(int sqlite_code)
{
    switch (sqlite_code & 0xff) {
    case SQLITE_FULL:
        return "free some space, name a file elsewhere with -o, keep less (--set keep=metrics), or raise --results-limit";
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return "another process is writing to it: wait for that one, or name another file with -o";
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT: return other_file_hint;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN: return "the file and its directory must be writable; name a file elsewhere with -o";
    case SQLITE_IOERR: return "check the disk, or name a file elsewhere with -o";
    default: return NULL;
    }
}

static const char *hint_for(const struct database *database, int sqlite_code)
{
    return database->reading ? read_hint(sqlite_code) : write_hint(sqlite_code);
}

static int moved_error(const struct database *database, const char *what, struct diag *diag)
{
    return diag_error(diag, SIM_E_STORE, database->path, "run again, and do not move the file meanwhile",
                      "cannot %s: the file was removed or replaced while it was open here", what);
}

int database_error(const struct database *database, const char *what, struct diag *diag)
{
    int sqlite_code = sqlite3_extended_errcode(database->handle);
    int system_error = sqlite3_system_errno(database->handle);
    int kind = sqlite_code & 0xff;
    int code = kind == SQLITE_NOMEM ? SIM_E_NOMEM : SIM_E_STORE;
    bool has_reason = system_error != 0 && (kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN);
    if (sqlite_code == SQLITE_READONLY_DBMOVED) return moved_error(database, what, diag);
    return diag_error(diag, code, database->path, hint_for(database, sqlite_code), "cannot %s: %s%s%s%s", what,
                      sqlite3_errmsg(database->handle), has_reason ? " (" : "",
                      has_reason ? strerror(system_error) : "", has_reason ? ")" : "");
}

int database_run(const struct database *database, const char *sql, const char *what, struct diag *diag)
{
    if (sqlite3_exec(database->handle, sql, NULL, NULL, NULL) == SQLITE_OK) return 0;
    return database_error(database, what, diag);
}

int database_prepare(const struct database *database, const char *sql, sqlite3_stmt **statement, const char *what,
                     struct diag *diag)
{
    if (sqlite3_prepare_v2(database->handle, sql, -1, statement, NULL) == SQLITE_OK) return 0;
    return database_error(database, what, diag);
}

int database_integer(const struct database *database, const char *sql, int64_t *value, const char *what,
                     struct diag *diag)
{
    sqlite3_stmt *statement;
    int code = database_prepare(database, sql, &statement, what, diag);
    if (code != 0) return code;
    int step = sqlite3_step(statement);
    *value = step == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    if (step != SQLITE_ROW && step != SQLITE_DONE) code = database_error(database, what, diag);
    sqlite3_finalize(statement);
    return code;
}

/* Writes that a run is a number, for "results.db:one" beside a file results.db; "": the path is no such one. */
static void explain_run(const char *path, char hint[DIAG_TEXT_CHARS])
{
    const char *colon = strrchr(path, ':');
    struct stat status;
    hint[0] = 0;
    const int n = colon != NULL && colon - path < DIAG_TEXT_CHARS / 2 ? (int)(colon - path) : 0;
    snprintf(hint, DIAG_TEXT_CHARS, "%.*s", n, path);
    if (n > 0 && stat(hint, &status) == 0 && S_ISREG(status.st_mode))
        snprintf(hint, DIAG_TEXT_CHARS, "a run is a number, as in %.*s:1", n, path);
    else
        hint[0] = 0;
}

/* What the system says about a path before SQLite sees it: SQLite knows only "unable to open database file". */
static int check_file(const struct database *database, struct diag *diag)
{
    const char *path = database->path;
    struct stat status;
    if (stat(path, &status) != 0) {
        int system_error = errno;
        if (system_error == ENOENT && lstat(path, &status) == 0)
            return diag_error(diag, SIM_E_STORE, path, "remove the link, or create what it points to",
                              "cannot open results: is a symbolic link to a file that does not exist");
        char hint[DIAG_TEXT_CHARS];
        explain_run(path, hint);
        if (hint[0] == 0 && system_error == ENOENT) snprintf(hint, sizeof hint, "name a file that a run with -o wrote");
        return diag_error(diag, SIM_E_STORE, path, hint, "cannot open results: %s", strerror(system_error));
    }
    if (S_ISDIR(status.st_mode))
        return diag_error(diag, SIM_E_STORE, path, "name a file in it, such as results.db",
                          "cannot open results: is a directory");
    if (!S_ISREG(status.st_mode))
        return diag_error(diag, SIM_E_STORE, path, "results need a regular file", "cannot open results: not a file");
    return 0;
}

static int create_file(struct database *database, struct diag *diag)
{
    const char *path = database->path;
    struct stat status;
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0) {
        database->created = fstat(file, &status) == 0;
        database->device = status.st_dev;
        database->inode = status.st_ino;
        close(file);
        return 0;
    }
    if (errno == EEXIST || errno == EISDIR) return check_file(database, diag);
    const char *hint = errno == ENOENT ? "create the directory first" : "name a file elsewhere with -o";
    return diag_error(diag, SIM_E_STORE, path, hint, "cannot create results: %s", strerror(errno));
}

/* SQLite opens no file whose full path, with that of the journal beside it, is longer than this. */
static bool is_path_too_long(const char *path, int *max_bytes)
{
    static const char journal[] = "-journal";
    char full[PATH_MAX];
    *max_bytes = sqlite3_vfs_find(NULL)->mxPathname - (int)strlen(journal);
    return realpath(path, full) != NULL && strlen(full) > (size_t)*max_bytes;
}

static int connect_error(const struct database *database, struct diag *diag)
{
    int max_bytes;
    if (sqlite3_errcode(database->handle) != SQLITE_CANTOPEN || !is_path_too_long(database->path, &max_bytes))
        return database_error(database, "open results", diag);
    return diag_error(diag, SIM_E_STORE, database->path, "name a file in a directory less deep",
                      "cannot open results: the full path is longer than %d bytes, which is all that SQLite takes",
                      max_bytes);
}

/* Opens the connection. A relative path gets "./" in front, so that SQLite sees no name of its own (":memory:",
 * URIs) in it. One thread at a time uses the connection, so SQLite's mutexes are off. The file may come from anybody:
 * triggers and functions that it brings do not run. */
static int connect_file(struct database *database, struct diag *diag)
{
    const char *path = database->path;
    size_t bytes = strlen(path) + 3;
    char *name = mem_alloc(bytes);
    if (name == NULL) return diag_error(diag, SIM_E_NOMEM, path, NULL, "cannot open results: out of memory");
    snprintf(name, bytes, "%s%s", path[0] == '/' ? "" : "./", path);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int sqlite_code = sqlite3_open_v2(name, &database->handle, flags, NULL);
    mem_free(name);
    if (database->handle == NULL)
        return diag_error(diag, SIM_E_NOMEM, path, NULL, "cannot open results: out of memory");
    if (sqlite_code != SQLITE_OK) return connect_error(database, diag);
    sqlite3_db_config(database->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(database->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(database->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    return 0;
}

static int check_schema(const struct database *database, struct diag *diag)
{
    int64_t application = 0, version = 0;
    int code = database_integer(database, "PRAGMA application_id", &application, "open results", diag);
    if (code == 0) code = database_integer(database, "PRAGMA user_version", &version, "open results", diag);
    if (code != 0) return code;
    if (application != DATABASE_APPLICATION_ID)
        return diag_error(diag, SIM_E_STORE, database->path, hint_for(database, SQLITE_NOTADB),
                          "not a results database: this file belongs to another program");
    if (version != DATABASE_VERSION)
        return diag_error(diag, SIM_E_STORE, database->path, hint_for(database, SQLITE_NOTADB),
                          "results have schema version %" PRId64 ", expected %d", version, DATABASE_VERSION);
    return 0;
}

static int create_schema(const struct database *database, const char *const *create_sql, struct diag *diag)
{
    char sql[128];
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d", DATABASE_APPLICATION_ID,
             DATABASE_VERSION);
    int code = 0;
    for (; code == 0 && *create_sql != NULL; create_sql++)
        code = database_run(database, *create_sql, "create tables", diag);
    return code != 0 ? code : database_run(database, sql, "create tables", diag);
}

/* Takes the lock; returns an SQLite code. It is kept beyond the transaction only once it is there: two connections that
 * both wait for it and keep what they have would wait for each other. */
static int lock_database(const struct database *database, int busy_ms)
{
    sqlite3 *db = database->handle;
    const char *flushing = database->created ? "PRAGMA synchronous = OFF" : "PRAGMA synchronous = FULL";
    const char *locking = "PRAGMA page_size = 16384; BEGIN IMMEDIATE; PRAGMA locking_mode = EXCLUSIVE";
    sqlite3_busy_timeout(db, busy_ms);
    int code = sqlite3_exec(db, flushing, NULL, NULL, NULL);
    return code != SQLITE_OK ? code : sqlite3_exec(db, locking, NULL, NULL, NULL);
}

/* Whether the file that is locked has lost its name since it was opened: whoever had the lock before may have removed
 * it. */
static bool has_moved(const struct database *database)
{
    int moved = 0;
    sqlite3_file_control(database->handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved != 0;
}

int database_check_name(const struct database *database, const char *what, struct diag *diag)
{
    return has_moved(database) ? moved_error(database, what, diag) : 0;
}

/* Makes an empty file a results database. A file that was created here but has tables was locked by another process
 * first, and is treated as one that existed before. */
static int begin_write(struct database *database, const char *const *create_sql, struct diag *diag)
{
    int64_t n_tables = 0;
    int code = database_integer(database, "SELECT count(*) FROM sqlite_schema", &n_tables, "open results", diag);
    if (code != 0) return code;
    database->owned = database->created && n_tables == 0;
    if (n_tables == 0) return create_schema(database, create_sql, diag);
    if (database->created) {
        database->created = false;
        code = database_run(database, "ROLLBACK; PRAGMA synchronous = FULL; BEGIN IMMEDIATE", "open results", diag);
    }
    return code != 0 ? code : check_schema(database, diag);
}

/* Makes the name of a new file durable, where the file system can do that for a directory. */
static int sync_directory(const char *path)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int length = slash == NULL ? 0 : slash == path ? 1 : (int)(slash - path);
    if (snprintf(directory, sizeof directory, "%.*s", length, path) >= (int)sizeof directory) return 0;
    int file = open(length > 0 ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return 0;
    int failed = fsync(file) != 0 && errno == EIO;
    close(file);
    return failed;
}

static int sync_file(const struct database *database, int which)
{
    sqlite3_file *file = NULL;
    sqlite3_file_control(database->handle, "main", which, &file);
    return file == NULL || file->pMethods == NULL ? SQLITE_OK : file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
}

/* The journal after the file: until its end is on the disk too, it takes the file back to what it was. */
int database_make_durable(const struct database *database, const char *what, struct diag *diag)
{
    if (sync_file(database, SQLITE_FCNTL_FILE_POINTER) != SQLITE_OK ||
        sync_file(database, SQLITE_FCNTL_JOURNAL_POINTER) != SQLITE_OK || sync_directory(database->path) != 0)
        return diag_error(diag, SIM_E_STORE, database->path, hint_for(database, SQLITE_IOERR), "cannot %s: %s", what,
                          strerror(errno));
    return database_run(database, "PRAGMA synchronous = FULL", what, diag);
}

static int copy_path(struct database *database, const char *path, bool reading, struct diag *diag)
{
    *database = (struct database){.reading = reading};
    if (path[0] == 0)
        return diag_error(diag, SIM_E_STORE, reading ? "--from" : "-o", "name a file, such as results.db",
                          "the path of the results is empty");
    database->path = mem_strdup(path);
    if (database->path != NULL) return 0;
    return diag_error(diag, SIM_E_NOMEM, path, NULL, "cannot open results: out of memory");
}

/* One attempt. *moved: the file was removed by the process that had it locked, and nothing is open. */
static int open_once(struct database *database, const char *path, const char *const *create_sql, int busy_ms,
                     bool *moved, struct diag *diag)
{
    int code = copy_path(database, path, false, diag);
    if (code == 0) code = create_file(database, diag);
    if (code == 0) code = connect_file(database, diag);
    int locked = code == 0 ? lock_database(database, busy_ms) : SQLITE_OK;
    *moved = code == 0 && has_moved(database);
    if (!*moved && locked != SQLITE_OK) code = database_error(database, "open results", diag);
    if (!*moved && code == 0) code = begin_write(database, create_sql, diag);
    if (*moved || code != 0) database_close(database, true);
    return code;
}

int database_open_write(struct database *database, const char *path, const char *const *create_sql, int busy_ms,
                        struct diag *diag)
{
    bool moved = true;
    int code = 0;
    for (int i = 0; i < MAX_OPENINGS && moved && code == 0; i++)
        code = open_once(database, path, create_sql, busy_ms, &moved, diag);
    if (code != 0 || !moved) return code;
    return diag_error(diag, SIM_E_STORE, path, "name another file with -o",
                      "cannot open results: other processes keep removing the file");
}

int database_open_anew(struct database *database, const char *path, const char *const *create_sql, struct diag *diag)
{
    enum { BUSY_MS = 1000 };
    if (unlink(path) != 0 && errno != ENOENT)
        return diag_system_error(diag, path, "cannot replace the results of an earlier call", errno);
    return database_open_write(database, path, create_sql, BUSY_MS, diag);
}

int database_open_read(struct database *database, const char *path, struct diag *diag)
{
    int code = copy_path(database, path, true, diag);
    if (code == 0) code = check_file(database, diag);
    if (code == 0) code = connect_file(database, diag);
    if (code == 0) code = check_schema(database, diag);
    if (code != 0) database_close(database, false);
    return code;
}

/* Reading takes back what a process that died had not committed. */
bool database_is_empty(const char *path)
{
    struct database database;
    int64_t n_tables = 0;
    int code = copy_path(&database, path, true, NULL);
    if (code == 0) code = connect_file(&database, NULL);
    if (code == 0)
        code = database_integer(&database, "SELECT count(*) FROM sqlite_schema", &n_tables, "open results", NULL);
    database_close(&database, false);
    return code == 0 && n_tables == 0;
}

/* Keeps other writers out, or is kept out by one, without reading or writing: that may be what failed. Where the file
 * could not even be opened there is nothing to lock. */
static bool lock_file(const struct database *database)
{
    sqlite3_file *file = NULL;
    if (database->handle != NULL) sqlite3_file_control(database->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (file == NULL || file->pMethods == NULL) return true;
    return file->pMethods->xLock(file, SQLITE_LOCK_SHARED) == SQLITE_OK &&
           file->pMethods->xLock(file, SQLITE_LOCK_RESERVED) == SQLITE_OK;
}

/* Removes the file that was created here, unless another process has, or may have, something in it. SQLite lets go of
 * its journal first, so that closing does not remove the journal of a process that uses the name anew. */
static void remove_file(const struct database *database)
{
    char journal[PATH_MAX];
    struct stat status;
    if (!lock_file(database) || lstat(database->path, &status) != 0) return;
    bool is_same = status.st_dev == database->device && status.st_ino == database->inode;
    if (!is_same || (!database->owned && status.st_size > 0)) return;
    if (database->handle != NULL) sqlite3_exec(database->handle, "PRAGMA journal_mode = OFF", NULL, NULL, NULL);
    if (snprintf(journal, sizeof journal, "%s-journal", database->path) < (int)sizeof journal) unlink(journal);
    unlink(database->path);
}

void database_adopt(struct database *database)
{
    struct stat status;
    if (stat(database->path, &status) != 0) return;
    database->created = database->owned = true;
    database->device = status.st_dev;
    database->inode = status.st_ino;
}

void database_close(struct database *database, bool remove)
{
    bool is_connected = database->handle != NULL;
    if (is_connected && !sqlite3_get_autocommit(database->handle))
        sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
    if (remove && database->created) remove_file(database);
    if (is_connected) sqlite3_close_v2(database->handle);
    mem_free(database->path);
    *database = (struct database){0};
}
