/* A run that a process left open when it died is removed, with the file if it was made for that run alone. */
#include "tests/support/harness.h"
#include "tests/support/store_fixture.h"

#include <sys/wait.h>
#include <unistd.h>

/* Opens a run in a process that ends without closing it. */
static int64_t die_amid_run(const char *path)
{
    int ends[2];
    int64_t run_id = 0;
    if (pipe(ends) != 0) return 0;
    const pid_t child = fork();
    if (child == 0) {
        struct results *results = NULL;
        struct diag diag;
        diag_init(&diag);
        int code = results_open(path, &(struct results_options){.busy_ms = 1000}, &results, &diag);
        if (code == 0) code = results_begin_run(results, &store_run_info, &run_id, &diag);
        if (write(ends[1], &run_id, sizeof run_id) != sizeof run_id) code = 1;
        _exit(code != 0);
    }
    int status = 1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK_EQ_INT(read(ends[0], &run_id, sizeof run_id), sizeof run_id);
    close(ends[0]);
    close(ends[1]);
    return run_id;
}

TEST(a_dropped_run_takes_a_file_of_its_own_with_it)
{
    const struct results_options options = {.busy_ms = 1000};
    for (int created = 0; created < 2; created++)
        for (int n_others = 0; n_others < 3; n_others++) {
            const char *path = test_file("runs.db", "%s", "");
            struct diag diag;
            char expected[8];
            diag_init(&diag);
            unlink(path);
            for (int i = 0; i < n_others; i++)
                CHECK_EQ_INT(store_write_run(path, &options, 5, 1 + (uint64_t)i, NULL, &diag), 0);
            const int64_t run_id = die_amid_run(path);
            CHECK(run_id > 0);
            CHECK_EQ_STR(store_query(path, "SELECT count(*) FROM run WHERE status = 'open'"), "1");
            CHECK_EQ_INT(results_drop_run(path, run_id, created == 1, 1000, &diag), 0);
            CHECK_EQ_INT(access(path, F_OK) == 0, n_others > 0 || created == 0);
            if (access(path, F_OK) != 0) continue;
            snprintf(expected, sizeof expected, "%d", n_others);
            CHECK_EQ_STR(store_query(path, "SELECT count(*) FROM run"), expected);
        }
}
