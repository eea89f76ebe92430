#include "sim/store/database.h"

#include "sim/core/mem.h"
#include "sim/store/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char other_file_hint[] = "name another file with -o, or move this one away";

static const char *hint_for(int sqlite_code)
{
    switch (sqlite_code & 0xff) {
    case SQLITE_FULL: return "free some space, name a file elsewhere with -o, or keep less (--set keep=metrics)";
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

int database_error(const struct database *database, const char *what, struct diag *diag)
{
    int sqlite_code = sqlite3_extended_errcode(database->handle);
    int system_error = sqlite3_system_errno(database->handle);
    int kind = sqlite_code & 0xff;
    int code = kind == SQLITE_NOMEM ? SIM_E_NOMEM : SIM_E_STORE;
    bool has_reason = system_error != 0 && (kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN);
    return diag_error(diag, code, database->path, hint_for(sqlite_code), "cannot %s: %s%s%s%s", what,
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

/* What the system says about a path before SQLite sees it: SQLite knows only "unable to open database file". */
static int check_file(const char *path, struct diag *diag)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return diag_error(diag, SIM_E_STORE, path, NULL, "cannot open results: %s", strerror(errno));
    if (S_ISDIR(status.st_mode))
        return diag_error(diag, SIM_E_STORE, path, "name a file in it, such as results.db",
                          "cannot open results: is a directory");
    if (!S_ISREG(status.st_mode))
        return diag_error(diag, SIM_E_STORE, path, "results need a regular file", "cannot open results: not a file");
    return 0;
}

static int create_file(const char *path, bool *created, struct diag *diag)
{
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    *created = file >= 0;
    if (file >= 0) {
        close(file);
        return 0;
    }
    if (errno == EEXIST || errno == EISDIR) return check_file(path, diag);
    const char *hint = errno == ENOENT ? "create the directory first" : "name a file elsewhere with -o";
    return diag_error(diag, SIM_E_STORE, path, hint, "cannot create results: %s", strerror(errno));
}

/* Opens the connection. A relative path gets "./" in front, so that SQLite sees no name of its own (":memory:",
 * URIs) in it. One thread at a time uses the connection, so SQLite's mutexes are off. */
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
    return sqlite_code == SQLITE_OK ? 0 : database_error(database, "open results", diag);
}

static int check_schema(const struct database *database, struct diag *diag)
{
    int64_t application = 0, version = 0;
    int code = database_integer(database, "PRAGMA application_id", &application, "open results", diag);
    if (code == 0) code = database_integer(database, "PRAGMA user_version", &version, "open results", diag);
    if (code != 0) return code;
    if (application != SCHEMA_APPLICATION_ID)
        return diag_error(diag, SIM_E_STORE, database->path, other_file_hint,
                          "not a results database: this file belongs to another program");
    if (version != SCHEMA_VERSION)
        return diag_error(diag, SIM_E_STORE, database->path, other_file_hint,
                          "results have schema version %" PRId64 ", expected %d", version, SCHEMA_VERSION);
    return 0;
}

static int create_schema(const struct database *database, struct diag *diag)
{
    char sql[128];
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d", SCHEMA_APPLICATION_ID,
             SCHEMA_VERSION);
    int code = database_run(database, schema_create_sql, "create tables", diag);
    return code != 0 ? code : database_run(database, sql, "create tables", diag);
}

static int begin_write(const struct database *database, int busy_ms, struct diag *diag)
{
    int64_t n_tables = 0;
    sqlite3_busy_timeout(database->handle, busy_ms);
    int code = database_run(database, database->created ? "PRAGMA synchronous = OFF" : "PRAGMA synchronous = FULL",
                            "open results", diag);
    if (code == 0) code = database_run(database, "PRAGMA page_size = 16384; BEGIN IMMEDIATE", "open results", diag);
    if (code == 0)
        code = database_integer(database, "SELECT count(*) FROM sqlite_schema", &n_tables, "open results", diag);
    if (code != 0) return code;
    return n_tables == 0 ? create_schema(database, diag) : check_schema(database, diag);
}

int database_make_durable(const struct database *database, const char *what, struct diag *diag)
{
    sqlite3_file *file = NULL;
    sqlite3_file_control(database->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (file->pMethods->xSync(file, SQLITE_SYNC_NORMAL) != SQLITE_OK)
        return diag_error(diag, SIM_E_STORE, database->path, hint_for(SQLITE_IOERR), "cannot %s: %s", what,
                          strerror(errno));
    return database_run(database, "PRAGMA synchronous = FULL", what, diag);
}

static int copy_path(struct database *database, const char *path, struct diag *diag)
{
    *database = (struct database){.path = mem_strdup(path)};
    if (database->path != NULL) return 0;
    return diag_error(diag, SIM_E_NOMEM, path, NULL, "cannot open results: out of memory");
}

int database_open_write(struct database *database, const char *path, int busy_ms, struct diag *diag)
{
    int code = copy_path(database, path, diag);
    if (code == 0) code = create_file(path, &database->created, diag);
    if (code == 0) code = connect_file(database, diag);
    if (code == 0) code = begin_write(database, busy_ms, diag);
    if (code != 0) database_close(database, true);
    return code;
}

int database_open_read(struct database *database, const char *path, struct diag *diag)
{
    int code = copy_path(database, path, diag);
    if (code == 0) code = check_file(path, diag);
    if (code == 0) code = connect_file(database, diag);
    if (code == 0) code = check_schema(database, diag);
    if (code != 0) database_close(database, false);
    return code;
}

static void remove_file(const char *path)
{
    char journal[4096];
    unlink(path);
    if (snprintf(journal, sizeof journal, "%s-journal", path) < (int)sizeof journal) unlink(journal);
}

void database_close(struct database *database, bool remove)
{
    if (database->handle != NULL) {
        if (!sqlite3_get_autocommit(database->handle)) sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
        sqlite3_close_v2(database->handle);
    }
    if (remove && database->created) remove_file(database->path);
    mem_free(database->path);
    *database = (struct database){0};
}
