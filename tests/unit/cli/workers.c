/* Processes that share the runs of a study, and the lock that they hold. */
#include "sim/study/shards.h"
#include "sim/study/sweep.h"
#include "tests/support/harness.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SEEDS = 6 };

/* Who did each run, and how often it was done; shared by all processes. */
struct done {
    pid_t by[SEEDS];
    int times[SEEDS];
};

static int note_run(void *context, const struct study *study, const struct study_run *run, struct results *results,
                    struct diag *diag)
{
    struct done *done = context;
    (void)study, (void)results;
    done->by[run->run_id - 1] = getpid();
    done->times[run->run_id - 1]++;
    poll(NULL, 0, 10); /* so that others begin, if there are any */
    return diag_error(diag, SIM_E_CONFIG, NULL, NULL, "no scenario");
}

static int processes(const struct done *done)
{
    int n = 0;
    for (int i = 0; i < SEEDS; i++) {
        bool is_known = false;
        for (int j = 0; j < i; j++) is_known = is_known || done->by[j] == done->by[i];
        n += !is_known;
    }
    return n;
}

static void sweep_on(struct done *done, int64_t workers)
{
    const struct sweep_runner runner = {.context = done, .version = "", .git_commit = "", .platform = "",
                                        .program = "a test", .run = note_run};
    const char *output = test_file("sweep.db", "%s", "");
    const struct sweep_options options = {.output = output, .workers = (int)workers};
    SCOPED(arena) arena = {0};
    struct study study;
    struct diag diag;
    diag_init(&diag);
    unlink(output);
    MUST(study_parse("test", ".", "{\"scenario\": \"a.json\", \"seeds\": [1, 2, 3, 4, 5, 6]}", &arena, &study, &diag) ==
         0);
    sweep(&study, &options, &runner, NULL, &diag);
}

/* Also with more workers than runs. */
TEST(runs_are_done_once_by_no_more_processes_than_workers)
{
    for (int64_t workers = 1; workers <= SEEDS + 2; workers += 1 + workers / 3) {
        struct done *done = mmap(NULL, sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        MUST(done != MAP_FAILED);
        sweep_on(done, workers);
        for (int i = 0; i < SEEDS; i++) {
            CHECK_EQ_INT(done->times[i], 1);
            CHECK(done->by[i] != getpid());
        }
        CHECK(processes(done) <= workers);
        munmap(done, sizeof *done);
    }
}

TEST(shards_that_cannot_be_made_close_no_file_of_others)
{
    const struct sweep_options options = {.output = "no/such/folder/sweep.db"};
    const struct sweep_runner runner = {.program = "a test"};
    const struct study study = {0};
    struct shards shards;
    struct diag diag;
    diag_init(&diag);
    MUST(fcntl(STDIN_FILENO, F_GETFD) >= 0);
    CHECK_EQ_INT(shards_open(&shards, &study, &options, &runner, &diag), SIM_E_STORE);
    shards_close(&shards);
    CHECK(fcntl(STDIN_FILENO, F_GETFD) >= 0);
}
