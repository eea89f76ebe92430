/* What can go wrong with a results file, and that it never leaves half a database: wrong paths, locks, full disks,
 * failing system calls, no memory, and kill -9. */
#include "sim/store/readback.h"
#include "tests/support/harness.h"
#include "tests/support/store_fixture.h"

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, OPEN_FAILED_AS_EXPECTED = 7 };

static const struct results_options writers[] = {{.writer_thread = false}, {.writer_thread = true}};
enum { N_WRITERS = sizeof writers / sizeof *writers };

static void make_path(char path[256])
{
    snprintf(path, 256, "%s/results.db", test_tmpdir());
}

static bool exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

/* Opening fails, with this text (or the start of it) and a hint, and says which file. */
static void check_refused(const char *path, const char *text)
{
    struct diag diag = {0};
    struct results *results;
    CHECK_EQ_INT(results_open(path, &writers[0], &results, &diag), SIM_E_STORE);
    CHECK(results == NULL);
    MUST(diag.n_errors == 1);
    CHECK_EQ_STR(diag.items[0].where, path);
    diag.items[0].text[strlen(text)] = 0;
    CHECK_EQ_STR(diag.items[0].text, text);
    CHECK(diag.items[0].hint[0] != 0);
}

TEST(wrong_paths_are_named)
{
    char path[300];
    const char *folder = test_tmpdir();
    check_refused(folder, "cannot open results: is a directory");
    snprintf(path, sizeof path, "%s/missing/results.db", folder);
    check_refused(path, "cannot create results: No such file or directory");
    check_refused("/dev/full", "cannot open results: not a file");
}

TEST(permission_is_needed)
{
    char path[256];
    make_path(path);
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        struct diag diag = {0};
        struct results *results;
        if (geteuid() == 0 && setuid(NOBODY) != 0) _exit(1);
        int code = results_open("/results.db", &writers[0], &results, &diag);
        _exit(code == SIM_E_STORE && strstr(diag.items[0].text, "ermission") != NULL ? OPEN_FAILED_AS_EXPECTED : 1);
    }
    int status;
    MUST(waitpid(child, &status, 0) == child);
    CHECK_EQ_INT(WEXITSTATUS(status), OPEN_FAILED_AS_EXPECTED);
    CHECK(!exists("/results.db"));
}

TEST(files_of_others_are_left_alone)
{
    char path[256], text[64];
    make_path(path);
    test_write(path, "arrival,prompt,output\n0.5,100,20\n");
    check_refused(path, "cannot open results: file is not a database");
    FILE *file = fopen(path, "r");
    MUST(file != NULL && fgets(text, sizeof text, file) != NULL);
    CHECK_EQ_STR(text, "arrival,prompt,output\n");
    fclose(file);
    unlink(path);
    CHECK_EQ_STR(store_query(path, "SELECT 1"), "error: unable to open database file");
    sqlite3 *db;
    MUST(sqlite3_open(path, &db) == SQLITE_OK);
    MUST(sqlite3_exec(db, "CREATE TABLE t(x); INSERT INTO t VALUES (3)", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(db);
    check_refused(path, "not a results database");
    CHECK_EQ_STR(store_query(path, "SELECT group_concat(name) FROM sqlite_schema"), "t");
    make_path(path);
    MUST(store_write_run(path, &writers[0], 10, 1, NULL, NULL) == 0);
    store_query(path, "PRAGMA user_version = 77");
    check_refused(path, "results have schema version 77, expected 7");
}

TEST(an_empty_file_is_taken)
{
    char path[256];
    make_path(path);
    test_write(path, "%s", "");
    CHECK_EQ_INT(store_write_run(path, &writers[0], 10, 1, NULL, NULL), 0);
    CHECK_EQ_STR(store_query(path, "SELECT count(*) FROM request"), "10");
}

TEST(names_that_sqlite_would_read_otherwise_are_files)
{
    char folder[256], before[512];
    snprintf(folder, sizeof folder, "%s", test_tmpdir());
    MUST(getcwd(before, sizeof before) != NULL && chdir(folder) == 0);
    CHECK_EQ_INT(store_write_run(":memory:", &writers[0], 10, 1, NULL, NULL), 0);
    CHECK_EQ_INT(store_write_run("file:a?mode=memory", &writers[0], 10, 1, NULL, NULL), 0);
    CHECK_EQ_STR(store_query("./:memory:", "SELECT count(*) FROM request"), "10");
    CHECK_EQ_STR(store_query("./file:a?mode=memory", "SELECT count(*) FROM request"), "10");
    CHECK_EQ_INT(chdir(before), 0);
}

TEST(a_locked_file_is_refused)
{
    char path[256];
    struct results *results;
    struct diag diag = {0};
    make_path(path);
    MUST(store_write_run(path, &writers[0], 10, 1, NULL, &diag) == 0);
    MUST(results_open(path, &writers[0], &results, &diag) == 0);
    check_refused(path, "cannot open results: database is locked");
    results_close(results);
    CHECK_EQ_STR(store_query(path, "SELECT count(*) FROM run"), "1");
    CHECK_EQ_INT(store_write_run(path, &writers[0], 10, 1, NULL, &diag), 0);
}

TEST(a_run_that_is_not_ended_leaves_nothing)
{
    for (int i = 0; i < N_WRITERS; i++) {
        char path[256];
        struct results *results;
        struct diag diag = {0};
        int64_t run_id;
        make_path(path);
        MUST(results_open(path, &writers[i], &results, &diag) == 0);
        results_close(results);
        CHECK(!exists(path));
        for (int n_before = 0; n_before < 2; n_before++) {
            if (n_before > 0) MUST(store_write_run(path, &writers[i], 10, 1, NULL, &diag) == 0);
            MUST(results_open(path, &writers[i], &results, &diag) == 0);
            MUST(results_begin_run(results, &store_run_info, &run_id, &diag) == 0);
            struct sink sink = results_sink(results);
            CHECK_EQ_INT(store_put_rows(&sink, 5000, 1), 0);
            results_close(results);
            CHECK_EQ_INT(exists(path), n_before > 0);
        }
        CHECK_EQ_STR(store_query(path, "SELECT (SELECT count(*) FROM run) || ' ' || (SELECT count(*) FROM request)"),
                     "1 10");
    }
}

TEST(missing_runs_and_files_are_named_on_reading)
{
    char path[256], hex[HASH_HEX_CHARS];
    struct diag diag = {0};
    SCOPED(arena) arena = {0};
    struct run_record run;
    make_path(path);
    CHECK_EQ_INT(results_read_run(path, 1, &arena, &run, &diag), SIM_E_STORE);
    CHECK_EQ_STR(diag.items[0].text, "cannot open results: No such file or directory");
    CHECK(!exists(path));
    test_write(path, "%s", "");
    CHECK_EQ_INT(results_rehash(path, 1, hex, &diag), SIM_E_STORE);
    CHECK_EQ_STR(diag.items[1].text, "not a results database: this file belongs to another program");
}

/* A child writes one whole run, begins another one, writes rows, and is killed. */
static void die_in_the_second_run(const char *path, const struct results_options *options, int n_rows)
{
    struct results *results;
    int64_t run_id;
    if (store_write_run(path, options, 100, 1, NULL, NULL) != 0) _exit(1);
    if (results_open(path, options, &results, NULL) != 0) _exit(2);
    if (results_begin_run(results, &store_run_info, &run_id, NULL) != 0) _exit(3);
    struct sink sink = results_sink(results);
    if (store_put_rows(&sink, n_rows, 2) != 0) _exit(4);
    kill(getpid(), SIGKILL);
}

static void check_after_kill(const char *path)
{
    struct diag diag = {0};
    struct results *results;
    struct results_options resume = {.resume = true};
    SCOPED(arena) arena = {0};
    struct run_record run;
    char hex[HASH_HEX_CHARS];
    CHECK_EQ_STR(store_query(path, "SELECT group_concat(id || status, ' ') FROM run"), "1done 2open");
    CHECK_EQ_STR(store_query(path, "SELECT count(*) || ' ' || max(run_id) FROM request"), "100 1");
    CHECK_EQ_STR(store_query(path, "PRAGMA integrity_check"), "ok");
    CHECK_EQ_INT(results_read_run(path, 1, &arena, &run, &diag), 0);
    CHECK_EQ_INT(results_rehash(path, 1, hex, &diag), 0);
    CHECK_EQ_STR(hex, run.result_hash);
    MUST(results_open(path, &resume, &results, &diag) == 0);
    int64_t run_id = 0;
    CHECK_EQ_INT(results_begin_run(results, &store_run_info, &run_id, &diag), 0);
    CHECK_EQ_INT(run_id, 2);
    CHECK_EQ_INT(results_end_run(results, &store_run_end, hex, &diag), 0);
    results_close(results);
    CHECK_EQ_STR(store_query(path, "SELECT group_concat(id || status, ' ') FROM run"), "1done 2done");
}

/* Who does not resume leaves an open run alone: another process may be at it. */
static void check_open_run_stays(const char *path)
{
    struct diag diag = {0};
    struct results *results;
    int64_t run_id = 0;
    char hex[HASH_HEX_CHARS];
    MUST(results_open(path, &(struct results_options){0}, &results, &diag) == 0);
    CHECK_EQ_INT(results_begin_run(results, &store_run_info, &run_id, &diag), 0);
    CHECK_EQ_INT(results_end_run(results, &store_run_end, hex, &diag), 0);
    results_close(results);
    CHECK_EQ_STR(store_query(path, "SELECT group_concat(id || status, ' ') FROM run"), "1done 2open 3done");
}

TEST(kill_loses_only_the_open_run)
{
    static const int n_rows[] = {0, 300, 40000, 300}; /* nothing, less than a block, more than SQLite's cache */
    for (int i = 0; i < N_WRITERS; i++) {
        for (size_t k = 0; k < sizeof n_rows / sizeof *n_rows; k++) {
            char path[256];
            make_path(path);
            pid_t child = fork();
            MUST(child >= 0);
            if (child == 0) die_in_the_second_run(path, &writers[i], n_rows[k]);
            int status;
            MUST(waitpid(child, &status, 0) == child);
            MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
            if (k < 3) /* else nobody resumes */
                check_after_kill(path);
            else
                check_open_run_stays(path);
        }
    }
}

/* System calls of SQLite that fail: the one after `calls_left` successful ones, and all after it until `n_failures` are
 * spent. */
static struct {
    long calls_left;
    int n_failures, n_failed, error;
    sqlite3_syscall_ptr pwrite, ftruncate, unlink;
} disk;

static bool call_fails(void)
{
    if (disk.calls_left-- > 0 || disk.n_failed == disk.n_failures) return false;
    disk.n_failed++;
    errno = disk.error;
    return true;
}

static ssize_t failing_pwrite(int file, const void *bytes, size_t n, off_t offset)
{
    if (call_fails()) return -1;
    return ((ssize_t(*)(int, const void *, size_t, off_t))disk.pwrite)(file, bytes, n, offset);
}

static int failing_ftruncate(int file, off_t bytes)
{
    if (call_fails()) return -1;
    return ((int (*)(int, off_t))disk.ftruncate)(file, bytes);
}

static int failing_unlink(const char *path)
{
    if (call_fails()) return -1;
    return ((int (*)(const char *))disk.unlink)(path);
}

static const char *pwrite_name(sqlite3_vfs *vfs)
{
    return vfs->xGetSystemCall(vfs, "pwrite64") != NULL ? "pwrite64" : "pwrite";
}

static void break_disk(long calls_left, int n_failures, int error)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    disk.calls_left = calls_left;
    disk.n_failures = n_failures;
    disk.n_failed = 0;
    disk.error = error;
    disk.pwrite = vfs->xGetSystemCall(vfs, pwrite_name(vfs));
    disk.ftruncate = vfs->xGetSystemCall(vfs, "ftruncate");
    disk.unlink = vfs->xGetSystemCall(vfs, "unlink");
    vfs->xSetSystemCall(vfs, pwrite_name(vfs), (sqlite3_syscall_ptr)failing_pwrite);
    vfs->xSetSystemCall(vfs, "ftruncate", (sqlite3_syscall_ptr)failing_ftruncate);
    vfs->xSetSystemCall(vfs, "unlink", (sqlite3_syscall_ptr)failing_unlink);
}

static void mend_disk(void)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    vfs->xSetSystemCall(vfs, NULL, NULL);
}

TEST(a_full_disk_is_reported_and_cleaned_up)
{
    for (int i = 0; i < N_WRITERS; i++) {
        char path[256], hash[HASH_HEX_CHARS];
        struct results *results;
        struct diag diag = {0};
        int64_t run_id;
        make_path(path);
        MUST(results_open(path, &writers[i], &results, &diag) == 0);
        MUST(results_begin_run(results, &store_run_info, &run_id, &diag) == 0);
        struct sink sink = results_sink(results);
        break_disk(10, -1, ENOSPC);
        CHECK_EQ_INT(store_put_rows(&sink, 200000, 1), SIM_E_STORE); /* reported long before the last row */
        CHECK_EQ_INT(diag.n_errors, 0);
        CHECK_EQ_INT(results_end_run(results, &store_run_end, hash, &diag), SIM_E_STORE);
        results_close(results);
        mend_disk();
        MUST(diag.n_errors == 1);
        CHECK_EQ_STR(diag.items[0].where, path);
        CHECK(strstr(diag.items[0].text, "rows: database or disk is full") != NULL);
        CHECK(strstr(diag.items[0].hint, "free some space") != NULL);
        CHECK(!exists(path));
    }
}

/* The next run of the same opening has a chance of its own. */
TEST(a_mended_disk_is_written_again)
{
    for (int i = 0; i < N_WRITERS; i++) {
        char path[256], hash[HASH_HEX_CHARS];
        struct results *results;
        int64_t run_id;
        make_path(path);
        MUST(results_open(path, &writers[i], &results, NULL) == 0);
        for (int run = 0; run < 2; run++) {
            MUST(results_begin_run(results, &store_run_info, &run_id, NULL) == 0);
            struct sink sink = results_sink(results);
            if (run == 0) break_disk(10, -1, ENOSPC);
            int put = store_put_rows(&sink, 30000, 1);
            mend_disk();
            CHECK_EQ_INT(put, run == 0 ? SIM_E_STORE : 0);
            CHECK_EQ_INT(results_end_run(results, &store_run_end, hash, NULL), run == 0 ? SIM_E_STORE : 0);
        }
        results_close(results);
        CHECK_EQ_STR(store_query(path, "SELECT group_concat(id || status, ' ') FROM run"), "1done");
        CHECK_EQ_STR(store_query(path, "SELECT count(*) FROM request"), "30000");
    }
}

/* Whatever call fails, a new file is either whole or not there, and an old one keeps its run. */
static void check_file_after(const char *path, int code, bool was_there)
{
    char hex[HASH_HEX_CHARS], other[HASH_HEX_CHARS];
    struct diag diag = {0};
    if (!was_there && code != 0) {
        CHECK(!exists(path));
        return;
    }
    CHECK_EQ_STR(store_query(path, "PRAGMA integrity_check"), "ok");
    CHECK_EQ_STR(store_query(path, "SELECT count(*) FROM run WHERE status = 'done'"),
                 code == 0 && was_there ? "2" : "1");
    CHECK_EQ_STR(store_query(path, "SELECT count(*) FROM (SELECT DISTINCT run_id FROM request EXCEPT "
                                   "SELECT id FROM run WHERE status = 'done')"),
                 "0");
    CHECK_EQ_INT(results_rehash(path, 1, hex, &diag), 0);
    snprintf(other, sizeof other, "%s", store_query(path, "SELECT result_hash FROM run WHERE id = 1"));
    CHECK_EQ_STR(other, hex);
}

/* Fails the first call, the second, ... until a run gets through without any. */
static void fail_every_call(bool was_there, int n_failures, int error)
{
    bool failed = true;
    for (long n = 0; failed; n++) {
        char path[256];
        struct diag diag = {0};
        make_path(path);
        if (was_there) MUST(store_write_run(path, &writers[0], 10, 1, NULL, &diag) == 0);
        break_disk(n, n_failures, error);
        int code = store_write_run(path, &writers[0], 100, 2, NULL, &diag);
        failed = disk.n_failed > 0;
        mend_disk();
        CHECK(code == 0 || code == SIM_E_STORE);
        CHECK_EQ_INT(diag.n_errors > 0, code != 0);
        check_file_after(path, code, was_there);
        MUST(n < 1000);
    }
}

TEST_OPTIMISED(no_failing_call_leaves_half_a_database)
{
    static const int errors[] = {ENOSPC, EIO};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        for (int was_there = 0; was_there < 2; was_there++) {
            fail_every_call(was_there, 1, errors[i]);
            fail_every_call(was_there, -1, errors[i]);
        }
    }
}

TEST(no_failing_allocation_leaves_half_a_database)
{
    for (int i = 0; i < N_WRITERS; i++) {
        for (int was_there = 0; was_there < 2; was_there++) {
            int code = SIM_E_NOMEM;
            for (long n = 0; code != 0; n++) {
                char path[256];
                struct diag diag = {0};
                make_path(path);
                if (was_there) MUST(store_write_run(path, &writers[0], 10, 1, NULL, &diag) == 0);
                mem_fail_after(n);
                code = store_write_run(path, &writers[i], 100, 2, NULL, &diag);
                mem_fail_never();
                CHECK(code == 0 || code == SIM_E_NOMEM);
                CHECK_EQ_INT(diag.n_errors > 0, code != 0);
                check_file_after(path, code, was_there);
                MUST(n < 1000);
            }
        }
    }
}

/* A row for which there is no memory ends the run, even if the world goes on. */
TEST(a_row_that_cannot_be_taken_fails_the_run)
{
    for (int i = 0; i < N_WRITERS; i++) {
        char path[256], hash[HASH_HEX_CHARS], *reason = malloc(200000);
        struct results *results;
        struct diag diag = {0};
        int64_t run_id;
        make_path(path);
        MUST(reason != NULL && results_open(path, &writers[i], &results, &diag) == 0);
        MUST(results_begin_run(results, &store_run_info, &run_id, &diag) == 0);
        struct sink sink = results_sink(results);
        memset(reason, 'x', 199999);
        reason[199999] = 0;
        struct decision_row row = {.policy = "p", .action = "a", .reason = reason};
        mem_fail_after(0);
        CHECK_EQ_INT(sink.decision(sink.context, &row), SIM_E_NOMEM);
        mem_fail_never();
        row.reason = "short";
        CHECK_EQ_INT(sink.decision(sink.context, &row), SIM_E_NOMEM);
        CHECK_EQ_INT(results_end_run(results, &store_run_end, hash, &diag), SIM_E_NOMEM);
        CHECK_EQ_STR(diag.items[0].text, "cannot store rows: out of memory");
        results_close(results);
        CHECK(!exists(path));
        free(reason);
    }
}

/* SQLite's own memory, by its limit on the heap. */
TEST(sqlite_without_memory_is_reported)
{
    char path[256];
    bool failed = false;
    int code = 0;
    make_path(path);
    for (int64_t room = 0; room < 4000000 && (!failed || code != 0); room += 50000) {
        struct diag diag = {0};
        sqlite3_hard_heap_limit64(sqlite3_memory_used() + room + 1);
        code = store_write_run(path, &writers[0], 3000, 2, NULL, &diag);
        sqlite3_hard_heap_limit64(0);
        CHECK(code == 0 || code == SIM_E_NOMEM);
        CHECK_EQ_INT(diag.n_errors > 0, code != 0);
        check_file_after(path, code, false);
        failed = failed || code != 0;
    }
    CHECK(failed);
    CHECK_EQ_INT(code, 0);
}

TEST(reading_without_memory_is_reported)
{
    char path[256], hex[HASH_HEX_CHARS];
    struct diag diag = {0};
    make_path(path);
    MUST(store_write_run(path, &writers[0], 100, 1, NULL, &diag) == 0);
    int code = SIM_E_NOMEM;
    for (long n = 0; code != 0 && n < 1000; n++) {
        SCOPED(arena) arena = {0};
        struct run_record run;
        mem_fail_after(n);
        code = results_read_run(path, 1, &arena, &run, &diag);
        if (code == 0) code = results_rehash(path, 1, hex, &diag);
        mem_fail_never();
        CHECK(code == 0 || code == SIM_E_NOMEM);
    }
    CHECK_EQ_INT(code, 0);
    CHECK(diag.n_errors > 0);
}
