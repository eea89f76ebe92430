/* One results file and several processes: whoever waits for it gets a file of its own or the one that is there, and
 * nobody removes what another one writes. And the paths, links and run ids with which no run can be stored. */
#include "sim/store/readback.h"
#include "tests/support/harness.h"
#include "tests/support/store_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct results_options patient = {.busy_ms = 30000}, hasty = {.busy_ms = 20};

/* System calls of SQLite that tell when they are made, and the pipes to another process. */
static struct {
    sqlite3_syscall_ptr open, fcntl;
    int from_other, to_other;
    bool told;
    int n_unlocks;
} hooks;

static void make_path(char path[256])
{
    snprintf(path, 256, "%s/results.db", test_tmpdir());
}

static bool exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

static void tell_other(void)
{
    if (write(hooks.to_other, "!", 1) != 1) _exit(90);
}

static void wait_for_other(void)
{
    char byte;
    if (read(hooks.from_other, &byte, 1) != 1) _exit(91);
}

/* A child with two pipes between it and its parent, ours on either side in `hooks`. */
static pid_t fork_other(void)
{
    int down[2], up[2];
    if (pipe(down) != 0 || pipe(up) != 0) return -1;
    pid_t child = fork();
    hooks.from_other = child == 0 ? down[0] : up[0];
    hooks.to_other = child == 0 ? up[1] : down[1];
    hooks.told = false;
    close(child == 0 ? down[1] : up[1]);
    close(child == 0 ? up[0] : down[0]);
    return child;
}

static int wait_for_exit(pid_t child)
{
    int status;
    close(hooks.from_other);
    close(hooks.to_other);
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void hook(const char *name, sqlite3_syscall_ptr *before, sqlite3_syscall_ptr call)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    *before = vfs->xGetSystemCall(vfs, name);
    vfs->xSetSystemCall(vfs, name, call);
}

static int call_fcntl(int file, int command, struct flock *lock)
{
    return ((int (*)(int, int, ...))hooks.fcntl)(file, command, lock);
}

/* Says once that a lock was not to be had. */
static int telling_fcntl(int file, int command, struct flock *lock)
{
    int result = call_fcntl(file, command, lock);
    int system_error = errno;
    if (result != 0 && command == F_SETLK && !hooks.told) {
        hooks.told = true;
        tell_other();
    }
    errno = system_error;
    return result;
}

/* Between the creation of the file and SQLite's opening it the other process has its turn. */
static int yielding_open(const char *path, int flags, int mode)
{
    if (!hooks.told) {
        hooks.told = true;
        tell_other();
        wait_for_other();
    }
    return ((int (*)(const char *, int, int))hooks.open)(path, flags, mode);
}

/* Counts how often the lock against other writers is given back. */
static int counting_fcntl(int file, int command, struct flock *lock)
{
    enum { RESERVED_BYTE = 0x40000001 };
    if (command == F_SETLK && lock->l_type == F_UNLCK && lock->l_start <= RESERVED_BYTE &&
        (lock->l_len == 0 || lock->l_start + lock->l_len > RESERVED_BYTE))
        hooks.n_unlocks++;
    return call_fcntl(file, command, lock);
}

static void wait_and_write(const char *path)
{
    wait_for_other();
    hook("fcntl", &hooks.fcntl, (sqlite3_syscall_ptr)telling_fcntl);
    _exit(store_write_run(path, &patient, 100, 2, NULL, NULL) == 0 ? 0 : 1);
}

/* Opens the file, writes `n_rows` of a run (-1: begins none), and gives up when the other process waits for it. */
static void write_and_give_up(const char *path, int n_rows)
{
    struct results *results;
    int64_t run_id;
    MUST(results_open(path, &patient, &results, NULL) == 0);
    if (n_rows >= 0) {
        MUST(results_begin_run(results, &store_run_info, &run_id, NULL) == 0);
        struct sink sink = results_sink(results);
        CHECK_EQ_INT(store_put_rows(&sink, n_rows, 1), 0);
    }
    tell_other();
    wait_for_other();
    results_close(results);
}

static void check_one_whole_run(const char *path)
{
    char hex[HASH_HEX_CHARS];
    CHECK_EQ_STR(store_query(path, "SELECT group_concat(id || status, ' ') FROM run"), "1done");
    CHECK_EQ_STR(store_query(path, "SELECT count(*) FROM request"), "100");
    CHECK_EQ_STR(store_query(path, "PRAGMA integrity_check"), "ok");
    CHECK_EQ_INT(results_rehash(path, 1, hex, NULL), 0);
    CHECK_EQ_STR(store_query(path, "SELECT result_hash FROM run"), hex);
}

TEST(who_waits_for_a_file_that_is_given_up_writes_its_own)
{
    static const int n_rows[] = {-1, 0, 300, 40000}; /* no run, no row, less than a block, more than SQLite's cache */
    for (size_t i = 0; i < sizeof n_rows / sizeof *n_rows; i++) {
        char path[256], journal[300];
        make_path(path);
        snprintf(journal, sizeof journal, "%s-journal", path);
        pid_t child = fork_other();
        MUST(child >= 0);
        if (child == 0) wait_and_write(path);
        write_and_give_up(path, n_rows[i]);
        CHECK_EQ_INT(wait_for_exit(child), 0);
        check_one_whole_run(path);
        CHECK(!exists(journal));
    }
}

/* The child creates the file, the parent has it locked before the child does, the child gives up. */
TEST(who_creates_a_file_and_never_gets_it_leaves_it)
{
    char path[256], hash[HASH_HEX_CHARS];
    struct results *results;
    int64_t run_id;
    make_path(path);
    pid_t child = fork_other();
    MUST(child >= 0);
    if (child == 0) {
        struct diag diag = {0};
        hook("open", &hooks.open, (sqlite3_syscall_ptr)yielding_open);
        int code = store_write_run(path, &hasty, 10, 1, NULL, &diag);
        _exit(code == SIM_E_STORE && strstr(diag.items[0].text, "database is locked") != NULL ? 0 : 1);
    }
    wait_for_other();
    MUST(exists(path));
    MUST(results_open(path, &hasty, &results, NULL) == 0);
    tell_other();
    CHECK_EQ_INT(wait_for_exit(child), 0);
    MUST(exists(path));
    MUST(results_begin_run(results, &store_run_info, &run_id, NULL) == 0);
    struct sink sink = results_sink(results);
    CHECK_EQ_INT(store_put_rows(&sink, 100, 2), 0);
    CHECK_EQ_INT(results_end_run(results, &store_run_end, hash, NULL), 0);
    results_close(results);
    check_one_whole_run(path);
}

/* As before, but the parent completes its run before the child opens the file, and then the child's own run fails. */
TEST(who_creates_a_file_keeps_what_another_one_put_there)
{
    char path[256];
    make_path(path);
    pid_t child = fork_other();
    MUST(child >= 0);
    if (child == 0) {
        struct results *results;
        int64_t run_id;
        hook("open", &hooks.open, (sqlite3_syscall_ptr)yielding_open);
        if (results_open(path, &patient, &results, NULL) != 0) _exit(1);
        if (results_begin_run(results, &store_run_info, &run_id, NULL) != 0) _exit(2);
        results_close(results);
        _exit(run_id == 2 ? 0 : 3);
    }
    wait_for_other();
    CHECK_EQ_INT(store_write_run(path, &patient, 100, 2, NULL, NULL), 0);
    tell_other();
    CHECK_EQ_INT(wait_for_exit(child), 0);
    check_one_whole_run(path);
}

TEST(the_lock_is_kept_from_opening_to_closing)
{
    char path[256], hash[HASH_HEX_CHARS];
    struct results *results;
    int64_t run_id;
    make_path(path);
    MUST(store_write_run(path, &hasty, 10, 1, NULL, NULL) == 0);
    hook("fcntl", &hooks.fcntl, (sqlite3_syscall_ptr)counting_fcntl);
    int code = results_open(path, &hasty, &results, NULL);
    hooks.n_unlocks = 0;
    for (int run = 0; run < 2 && code == 0; run++) {
        code = results_begin_run(results, &store_run_info, &run_id, NULL);
        if (code == 0) code = results_end_run(results, &store_run_end, hash, NULL);
    }
    int n_unlocks = hooks.n_unlocks;
    results_close(results);
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    vfs->xSetSystemCall(vfs, NULL, NULL);
    CHECK_EQ_INT(code, 0);
    CHECK_EQ_INT(n_unlocks, 0);
    CHECK(hooks.n_unlocks > 0);
}

TEST(a_removed_file_is_reported_as_removed)
{
    char path[256], hash[HASH_HEX_CHARS];
    struct results *results;
    struct diag diag = {0};
    int64_t run_id;
    make_path(path);
    MUST(results_open(path, &hasty, &results, &diag) == 0);
    unlink(path);
    FILE *other = fopen(path, "w"); /* another file of that name is not ours to remove */
    MUST(other != NULL);
    fclose(other);
    int code = results_begin_run(results, &store_run_info, &run_id, &diag);
    if (code == 0) code = results_end_run(results, &store_run_end, hash, &diag);
    CHECK_EQ_INT(code, SIM_E_STORE);
    results_close(results);
    CHECK(strstr(diag.items[0].text, "the file was removed or replaced while it was open here") != NULL);
    CHECK(exists(path));
}

TEST(run_ids_that_are_used_up_are_reported)
{
    char path[256];
    struct diag diag = {0};
    make_path(path);
    MUST(store_write_run(path, &hasty, 10, 1, NULL, &diag) == 0);
    store_query(path, "UPDATE run SET id = 9223372036854775807");
    CHECK_EQ_INT(store_write_run(path, &hasty, 10, 1, NULL, &diag), SIM_E_STORE);
    CHECK_EQ_STR(diag.items[0].where, path);
    CHECK_EQ_STR(diag.items[0].text,
                 "cannot begin a run: the last run has the largest possible id, 9223372036854775807");
    CHECK_EQ_STR(store_query(path, "SELECT group_concat(id) FROM run"), "9223372036854775807");
}

/* Writing to and reading from such a path fails with this text, a hint, and a place. */
static void check_both_refused(const char *path, const char *where_written, const char *where_read, const char *text)
{
    struct diag diag = {0};
    char hex[HASH_HEX_CHARS];
    CHECK_EQ_INT(store_write_run(path, &hasty, 10, 1, NULL, &diag), SIM_E_STORE);
    CHECK_EQ_INT(results_rehash(path, 1, hex, &diag), SIM_E_STORE);
    MUST(diag.n_errors == 2);
    CHECK_EQ_STR(diag.items[0].where, where_written);
    CHECK_EQ_STR(diag.items[1].where, where_read);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ_STR(diag.items[i].text, text);
        CHECK(diag.items[i].hint[0] != 0);
    }
    CHECK(strstr(diag.items[1].hint, "-o") == NULL);
}

TEST(links_to_nothing_and_empty_paths_are_named)
{
    char path[256];
    make_path(path);
    MUST(symlink("nowhere", path) == 0);
    check_both_refused(path, path, path, "cannot open results: is a symbolic link to a file that does not exist");
    CHECK(exists(path));
    check_both_refused("", "-o", "--from", "the path of the results is empty");
}

TEST(a_path_too_long_for_sqlite_is_named)
{
    char path[1024], text[] = "cannot open results: the full path is longer than 504 bytes";
    struct diag diag = {0};
    int length = snprintf(path, sizeof path, "%s", test_tmpdir());
    while (length < 500) {
        length += snprintf(path + length, sizeof path - (size_t)length, "/a-directory-among-many");
        MUST(mkdir(path, 0777) == 0);
    }
    snprintf(path + length, sizeof path - (size_t)length, "/results.db");
    CHECK_EQ_INT(store_write_run(path, &hasty, 10, 1, NULL, &diag), SIM_E_STORE);
    diag.items[0].text[strlen(text)] = 0;
    CHECK_EQ_STR(diag.items[0].text, text);
    CHECK_EQ_STR(diag.items[0].hint, "name a file in a directory less deep");
    CHECK(!exists(path));
}

TEST(hints_for_reading_are_about_reading)
{
    char path[256], hex[HASH_HEX_CHARS];
    struct diag diag = {0};
    make_path(path);
    CHECK_EQ_INT(results_rehash(path, 1, hex, &diag), SIM_E_STORE);
    FILE *file = fopen(path, "w");
    MUST(file != NULL);
    for (int i = 0; i < 1000; i++) fputs("arrival,prompt,output\n", file);
    fclose(file);
    CHECK_EQ_INT(results_rehash(path, 1, hex, &diag), SIM_E_STORE);
    MUST(diag.n_errors == 2);
    for (int i = 0; i < 2; i++) CHECK_EQ_STR(diag.items[i].hint, "name a file that a run with -o wrote");
}
