/* The directory of a sweep's finished runs: whose it is, which files count, and which runs are done again. */
#include "sim/study/outcome.h"
#include "sim/study/shards.h"
#include "tests/support/harness.h"
#include "tests/support/store_fixture.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

struct session {
    struct arena arena;
    struct diag diag;
    struct study study;
    struct shards shards;
    struct sweep_options options;
    struct sweep_runner runner;
    const char *directory;
};

#define SEARCH                                                                                                         \
    ", 'seeds': 2, 'axes': [{'key': 'until', 'values': ['1s', '2s']}], 'search': {'smallest': 'cluster.nodes',"        \
    " 'from': 1, 'to': 9, 'where': [{'metric': 'job.finished', 'at_least': 1}]}"

static bool parse(struct session *s, const char *members)
{
    const char *json = test_json("{'scenario': 'a.json'%s}", members);
    return CHECK_EQ_INT(study_parse("test", ".", json, &s->arena, &s->study, &s->diag), 0);
}

/* A study and its shards, which are open. */
static bool begin(struct session *s, const char *members)
{
    *s = (struct session){.runner = {.program = "a test"}};
    arena_init(&s->arena);
    diag_init(&s->diag);
    if (!parse(s, members)) return false;
    s->options = (struct sweep_options){.output = arena_printf(&s->arena, "%s/r.db", test_tmpdir())};
    s->directory = arena_printf(&s->arena, "%s.shards", s->options.output);
    return CHECK_EQ_INT(shards_open(&s->shards, &s->study, &s->options, &s->runner, &s->diag), 0);
}

static void end(struct session *s)
{
    shards_close(&s->shards);
    arena_fini(&s->arena);
}

/* Closes, and opens again. */
static int reopen(struct session *s, bool resume)
{
    shards_close(&s->shards);
    s->options.resume = resume;
    return shards_open(&s->shards, &s->study, &s->options, &s->runner, &s->diag);
}

static const char *file_in(struct session *s, const char *name)
{
    return arena_printf(&s->arena, "%s/%s", s->directory, name);
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static void put(struct session *s, const char *name, int bytes)
{
    FILE *file = fopen(file_in(s, name), "w");
    if (!CHECK(file != NULL)) return;
    for (int i = 0; i < bytes; i++) fputc('x', file);
    fclose(file);
}

/* Writes runs of these ids to the file of a worker, each with three requests. A status NULL: done. */
static void write_runs(struct session *s, size_t shard, int64_t first, int64_t last, const char *status)
{
    struct results *results;
    char hash[HASH_HEX_CHARS];
    MUST(shards_open_results(&s->shards, &s->study, shard, &results, &s->diag) == 0);
    for (int64_t id = first; id <= last; id++) {
        static const struct run_param params[] = {{"a", "1"}};
        static const struct metric_row recorded[] = {{.name = "m", .value = 1, .unit = "s"}};
        static const struct metric_interval items[] = {{"job.finished", 1, 2, 1, 2}};
        static const struct run_intervals intervals = {
            .n = 1, .items = items, .share = 0.9, .basis = "b", .systems = "s"};
        struct run_info info = store_run_info;
        struct run_end last_words = store_run_end;
        int64_t run_id;
        info.run_id = id;
        info.n_params = 1;
        info.params = params;
        last_words.n_recorded = 1;
        last_words.recorded = recorded;
        if (status != NULL) last_words.status = status;
        CHECK_EQ_INT(results_begin_run(results, &info, &run_id, &s->diag), 0);
        const struct sink sink = results_sink(results);
        CHECK_EQ_INT(store_put_rows(&sink, 3, (uint64_t)id), 0);
        CHECK_EQ_INT(results_end_run(results, &last_words, hash, &s->diag), 0);
        CHECK_EQ_INT(results_add_intervals(results, id, &intervals, &s->diag), 0);
    }
    results_close(results);
}

/* The ids that a merge lists, such as "1 2 5 "; a failed one in brackets. */
static const char *listed(const struct merge *merge)
{
    static char text[512];
    size_t n = 0;
    text[0] = 0;
    for (size_t i = 0; i < merge->n_runs; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, merge->runs[i].failed ? "(%d) " : "%d ",
                              (int)merge->runs[i].id);
    return text;
}

static void check_read(struct session *s, const char *expected)
{
    struct merge merge;
    CHECK_EQ_INT(shards_read(&s->shards, &s->study, &merge, &s->diag), 0);
    CHECK_EQ_STR(listed(&merge), expected);
    merge_close(&merge);
}

/* Rows of runs that the table of runs does not have. */
static void check_no_orphans(const char *path)
{
    static const char *const tables[] = {
        "metric", "request",   "job",   "warning",      "decision",        "sample",          "placement",
        "lease",  "histogram", "param", "run_interval", "metric_interval", "metric_recorded", "run_cost"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char sql[160];
        snprintf(sql, sizeof sql, "SELECT count(*) FROM %s WHERE run_id NOT IN (SELECT id FROM run)", tables[i]);
        if (!CHECK_EQ_STR(store_query(path, sql), "0")) printf("\n  table %s\n", tables[i]);
    }
}

/* --- Whose they are --- */

TEST(an_unfinished_sweep_goes_on_only_when_it_is_resumed)
{
    struct session s;
    MUST(begin(&s, ""));
    CHECK(exists(file_in(&s, "sweep")));
    CHECK_EQ_INT(reopen(&s, false), SIM_E_USAGE);
    CHECK(strstr(s.diag.items[0].text, "is unfinished") != NULL);
    CHECK_EQ_INT(reopen(&s, true), 0);
    /* Killed before the note was written: there is nothing to lose. */
    shards_close(&s.shards);
    unlink(file_in(&s, "sweep"));
    CHECK_EQ_INT(reopen(&s, false), 0);
    CHECK_EQ_INT(reopen(&s, false), SIM_E_USAGE);
    end(&s);
}

TEST(another_study_or_program_is_refused)
{
    struct session s;
    char program[400];
    MUST(begin(&s, ""));
    s.runner.program = "another test";
    CHECK_EQ_INT(reopen(&s, true), SIM_E_USAGE);
    CHECK(strstr(s.diag.items[0].text, "this is another test, that was a test") != NULL);
    s.runner.program = "a test";
    MUST(parse(&s, ", 'seeds': 3"));
    CHECK_EQ_INT(reopen(&s, true), SIM_E_USAGE);
    CHECK(strstr(s.diag.items[1].text, "the study is not the one that was begun") != NULL);
    MUST(parse(&s, ""));
    CHECK_EQ_INT(reopen(&s, true), 0);
    shards_remove(&s.shards);
    memset(program, 'p', sizeof program - 1); /* more than a note has room for */
    program[sizeof program - 1] = 0;
    s.runner.program = program;
    CHECK_EQ_INT(reopen(&s, false), 0);
    CHECK_EQ_INT(reopen(&s, true), 0);
    end(&s);
}

/* The lock of another process is awaited for a while: here for a tenth of a second. */
TEST(a_sweep_waits_until_another_one_lets_go)
{
    struct session s;
    int ends[2] = {-1, -1};
    char byte = 0;
    MUST(begin(&s, "") && pipe(ends) == 0);
    shards_close(&s.shards);
    const pid_t child = fork();
    if (child == 0) {
        s.options.resume = true;
        byte = shards_open(&s.shards, &s.study, &s.options, &s.runner, &s.diag) == 0;
        if (write(ends[1], &byte, 1) == 1) poll(NULL, 0, 100);
        _exit(0);
    }
    close(ends[1]);
    MUST(child > 0 && read(ends[0], &byte, 1) == 1);
    CHECK(byte);
    CHECK_EQ_INT(reopen(&s, true), 0);
    CHECK_EQ_INT(waitpid(child, NULL, 0), child);
    close(ends[0]);
    end(&s);
}

/* --- Which files count --- */

TEST(the_size_is_that_of_all_files_of_workers)
{
    struct session s;
    MUST(begin(&s, ""));
    CHECK_NEAR(shards_bytes(&s.shards), 0, 0);
    int sum = 0;
    for (int i = 0; i < 60; i++) {
        char name[32];
        snprintf(name, sizeof name, "%04d.db", i);
        put(&s, name, 10 + i);
        sum += 10 + i;
        CHECK_NEAR(shards_bytes_of(&s.shards, (size_t)i), 10 + i, 0);
        CHECK_NEAR(shards_bytes(&s.shards), sum, 0);
    }
    put(&s, "1000000.db", 1000); /* SHARD_OF_PARENT */
    CHECK_NEAR(shards_bytes_of(&s.shards, SHARD_OF_PARENT), 1000, 0);
    CHECK_NEAR(shards_bytes_of(&s.shards, 60), 0, 0);
    put(&s, "0001.db-journal", 7);
    put(&s, ".db", 7);
    put(&s, "1.dbs", 7);
    put(&s, "a1.db", 7);
    CHECK_NEAR(shards_bytes(&s.shards), sum + 1000, 0);
    s.shards.earlier = file_in(&s, "1.dbs");
    CHECK_NEAR(shards_bytes(&s.shards), sum + 1000 + 7, 0);
    end(&s);
}

TEST(what_is_no_shard_stays_when_they_are_removed)
{
    struct session s;
    MUST(begin(&s, ""));
    for (int i = 0; i < 20; i++) put(&s, arena_printf(&s.arena, "%04d.db%s", i, i % 3 == 0 ? "-journal" : ""), 1);
    put(&s, "mine", 1);
    shards_remove(&s.shards);
    for (int i = 0; i < 20; i++)
        CHECK(!exists(file_in(&s, arena_printf(&s.arena, "%04d.db%s", i, i % 3 == 0 ? "-journal" : ""))));
    CHECK(!exists(file_in(&s, "sweep")));
    CHECK(exists(file_in(&s, "mine")));
    unlink(file_in(&s, "mine"));
    shards_remove(&s.shards);
    CHECK(!exists(s.directory));
    end(&s);
}

/* --- Runs --- */

TEST(runs_of_all_or_of_some_workers_are_read)
{
    struct session s;
    struct merge merge;
    MUST(begin(&s, ", 'seeds': 40"));
    check_read(&s, "");
    write_runs(&s, 3, 5, 6, NULL);
    write_runs(&s, 0, 7, 7, NULL);
    write_runs(&s, 4, 1, 2, "failed");
    write_runs(&s, SHARD_OF_PARENT, 30, 30, NULL);
    put(&s, "0001.db", 0); /* of a worker that died before its first run */
    check_read(&s, "(1) (2) 5 6 7 30 ");
    static const struct {
        size_t first, n;
        const char *runs;
    } some[] = {{0, 1, "7 "}, {1, 2, ""}, {1, 3, "5 6 "}, {3, 2, "(1) (2) 5 6 "}, {0, 0, ""}, {5, 9, ""}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        CHECK_EQ_INT(shards_read_some(&s.shards, &s.study, some[i].first, some[i].n, &merge, &s.diag), 0);
        CHECK_EQ_STR(listed(&merge), some[i].runs);
        merge_close(&merge);
    }
    CHECK_EQ_STR(store_query(file_in(&s, "0003.db"), "SELECT hash FROM study"), s.study.hash);
    end(&s);
}

TEST(runs_that_failed_or_do_not_fit_are_done_again)
{
    struct session s;
    MUST(begin(&s, ", 'seeds': 40"));
    CHECK_EQ_INT(shards_clean(&s.shards, &s.study, &s.diag), 0); /* nothing is there */
    write_runs(&s, 0, 1, 3, NULL);
    write_runs(&s, 0, 4, 6, "failed");
    write_runs(&s, 1, 7, 8, "unfit");
    write_runs(&s, 1, 9, 10, NULL);
    CHECK_EQ_STR(store_query(file_in(&s, "0001.db"), "UPDATE run SET status = 'open' WHERE id = 10"), "none");
    put(&s, "0002.db", 0);
    CHECK_EQ_INT(shards_clean(&s.shards, &s.study, &s.diag), 0);
    check_read(&s, "1 2 3 9 ");
    CHECK(!exists(file_in(&s, "0002.db")));
    for (int i = 0; i < 2; i++) check_no_orphans(file_in(&s, i == 0 ? "0000.db" : "0001.db"));
    CHECK_EQ_STR(store_query(file_in(&s, "0000.db"), "SELECT count(*) FROM metric_recorded"), "3");
    CHECK_EQ_STR(store_query(file_in(&s, "0000.db"), "SELECT count(DISTINCT run_id) FROM request"), "3");
    end(&s);
}

/* Two points with two seeds: what a search has tried after a run that failed is tried again, at this point alone. It
 * may lie in the file of another worker. */
TEST(search_steps_behind_a_failed_run_are_done_again)
{
    struct session s;
    char expected[512];
    MUST(begin(&s, SEARCH));
    const int64_t each = outcome_run_id(&s.study, 1, 0, 0) - 1; /* runs of a point at most */
    MUST(each >= 6);
    write_runs(&s, 0, 1, 2, NULL);
    write_runs(&s, 0, 4, 4, NULL);
    write_runs(&s, 1, 3, 3, "failed");
    write_runs(&s, 1, 6, each, NULL);
    write_runs(&s, 0, 5, 5, NULL);
    write_runs(&s, 2, each + 1, each + 4, NULL);
    CHECK_EQ_INT(shards_clean(&s.shards, &s.study, &s.diag), 0);
    snprintf(expected, sizeof expected, "1 2 4 %d %d %d %d ", (int)each + 1, (int)each + 2, (int)each + 3,
             (int)each + 4);
    check_read(&s, expected);
    check_no_orphans(file_in(&s, "0000.db"));
    check_no_orphans(file_in(&s, "0001.db"));
    end(&s);
}

/* Results of the whole study, in which runs failed: these give way. */
TEST(runs_of_an_earlier_sweep_are_read_with_the_others)
{
    struct session s;
    MUST(begin(&s, ", 'seeds': 40"));
    write_runs(&s, 9, 1, 3, NULL);
    write_runs(&s, 9, 4, 5, "failed");
    const char *earlier = arena_printf(&s.arena, "%s/earlier", s.directory);
    CHECK_EQ_INT(rename(file_in(&s, "0009.db"), earlier), 0);
    s.shards.earlier = earlier;
    check_read(&s, "1 2 3 ");
    write_runs(&s, 0, 4, 4, NULL);
    check_read(&s, "1 2 3 4 ");
    write_runs(&s, 1, 5, 5, "failed");
    check_read(&s, "1 2 3 4 (5) ");
    end(&s);
}
