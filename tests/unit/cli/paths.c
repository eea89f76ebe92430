/* What a path names: a file, a folder, something that can be read once only, a database; and which two outputs would
 * be one file. */
#include "sim/cli/paths.h"

#include "tests/support/harness.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *below(const char *folder, const char *name)
{
    return test_json("%s/%s", folder, name);
}

/* A folder with a file, a database, a pipe, a folder, and links to all of them. */
static const char *kinds_of_paths(void)
{
    static const char *const names[] = {"file", "results", "pipe", "folder", "missing"};
    const char *folder = test_tmpdir();
    sqlite3 *database;
    test_write(below(folder, "file"), "SQLite format");
    CHECK_EQ_INT(sqlite3_open(below(folder, "results"), &database), SQLITE_OK);
    CHECK_EQ_INT(sqlite3_exec(database, "create table t(x)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(database);
    CHECK_EQ_INT(mkfifo(below(folder, "pipe"), 0600), 0);
    CHECK_EQ_INT(mkdir(below(folder, "folder"), 0700), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK_EQ_INT(symlink(names[i], below(folder, test_json("to-%s", names[i]))), 0);
    return folder;
}

TEST(a_path_is_what_it_leads_to)
{
    static const struct {
        const char *name;
        bool is_file, is_directory, is_stream, is_database;
    } cases[] = {{"file", true, false, false, false},  {"results", true, false, false, true},
                 {"pipe", true, false, true, false},   {"folder", false, true, false, false},
                 {"missing", false, false, false, false}};
    const char *folder = kinds_of_paths();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int linked = 0; linked < 2; linked++) {
            const char *path = below(folder, linked ? test_json("to-%s", cases[i].name) : cases[i].name);
            CHECK_EQ_INT(paths_is_file(path), cases[i].is_file);
            CHECK_EQ_INT(paths_is_directory(path), cases[i].is_directory);
            if (CHECK_EQ_INT(paths_is_stream(path), cases[i].is_stream)) /* else it would wait for a writer */
                CHECK_EQ_INT(paths_is_database(path), cases[i].is_database);
        }
    CHECK(paths_is_stream("/dev/null"));
    CHECK(!paths_is_database("/dev/null"));
}

/* The second of two outputs is refused where both would be one file, whether it exists or not. */
TEST(outputs_are_the_same_through_links_and_dots)
{
    static const struct {
        const char *one, *other;
        bool is_same;
    } cases[] = {{"file", "file", true},          {"file", "to-file", true},       {"file", "folder/../file", true},
                 {"file", "results", false},      {"new", "new", true},            {"new", "folder/../new", true},
                 {"new", "./new", true},          {"new", "newer", false},         {"new", "folder/new", false},
                 {"new", "file", false},          {"file", "new", false},          {"pipe", "pipe", false},
                 {"none/new", "none/new", false}, {"folder/new", "to-folder/new", true}};
    const char *folder = kinds_of_paths();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct diag diag;
        struct outputs outputs = {.diag = &diag};
        diag_init(&diag);
        CHECK_EQ_INT(outputs_add(&outputs, "--other", below(folder, "other")), 0);
        CHECK_EQ_INT(outputs_add(&outputs, "--one", below(folder, cases[i].one)), 0);
        CHECK_EQ_INT(outputs_check(&outputs, below(folder, cases[i].other)), cases[i].is_same ? SIM_E_USAGE : 0);
        CHECK_EQ_INT(outputs_add(&outputs, "--two", below(folder, cases[i].other)), cases[i].is_same ? SIM_E_USAGE : 0);
        CHECK_EQ_INT(outputs.n, cases[i].is_same ? 2 : 3);
    }
}

/* A name may end in an ending of its form, or in none that another form has, behind which ".gz" does not count. */
TEST(an_ending_of_another_form_is_refused)
{
    static const struct {
        const char *path;
        bool fits;
    } cases[] = {{"a.html", true},     {"a.htm", true},      {"a.HTML", true},  {"a.csv", false},  {"a.CSV", false},
                 {"a.db.gz", false},   {"a.html.gz", true},  {"a", true},       {"a.cs", true},    {"a.csvs", true},
                 {"csv", true},        {"b.csv/a", true},    {"a.gz", true},    {".gz", true},     {".csv", false},
                 {"a.b.sqlite", false}, {"arrow.", true},    {"a.arrow", false}, {"a.xlsx", false}, {"a.old", true}};
    struct diag diag;
    const struct outputs outputs = {.diag = &diag};
    diag_init(&diag);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_EQ_INT(outputs_check_form(&outputs, "-o", cases[i].path, "HTML", "html htm"),
                     cases[i].fits ? 0 : SIM_E_USAGE);
    CHECK_EQ_INT(outputs_check_form(&outputs, "-o", NULL, "HTML", "html htm"), 0);
}

/* A number behind a database's name is a run of it, unless a file has that very name. */
TEST(results_go_to_a_database_and_not_to_a_run_of_one)
{
    const char *folder = kinds_of_paths();
    struct diag diag;
    const struct outputs outputs = {.diag = &diag};
    diag_init(&diag);
    CHECK_EQ_INT(outputs_check_results(&outputs, "-o", NULL), 0);
    CHECK_EQ_INT(outputs_check_results(&outputs, "-o", below(folder, "results")), 0);
    CHECK_EQ_INT(outputs_check_results(&outputs, "-o", below(folder, "results:")), 0);
    CHECK_EQ_INT(outputs_check_results(&outputs, "-o", below(folder, "results:1")), SIM_E_USAGE);
    CHECK_EQ_INT(outputs_check_results(&outputs, "-o", below(folder, "results:12")), SIM_E_USAGE);
    CHECK_EQ_INT(outputs_check_results(&outputs, "-o", below(folder, "results:1x")), 0);
    CHECK_EQ_INT(outputs_check_results(&outputs, "-o", below(folder, "missing:1")), 0);
    CHECK_EQ_INT(outputs_check_results(&outputs, "-o", below(folder, "results.csv")), SIM_E_USAGE);
    test_write(below(folder, "results:1"), "-");
    CHECK_EQ_INT(outputs_check_results(&outputs, "-o", below(folder, "results:1")), 0);
}

/* Files are listed in order, without hidden ones and those that are nothing but an ending. */
TEST(files_are_listed_by_their_endings)
{
    static const char *const endings[] = {".json", ".csv", NULL};
    const char *folder = test_tmpdir();
    struct file_names names;
    struct arena arena;
    arena_init(&arena);
    CHECK_EQ_INT(paths_list_files(&arena, folder, endings, &names), 0);
    CHECK_EQ_INT(names.n, 0);
    static const char *const files[] = {"b.json", "a.csv", ".json", ".a.json", "c.jsonl", "json", "d.csv.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) test_write(below(folder, files[i]), "-");
    CHECK_EQ_INT(paths_list_files(&arena, folder, endings, &names), 0);
    CHECK_EQ_INT(names.n, 3);
    CHECK_EQ_STR(names.names[0], "a.csv");
    CHECK_EQ_STR(names.names[1], "b.json");
    CHECK_EQ_STR(names.names[2], "d.csv.json");
    CHECK_EQ_INT(paths_list_files(&arena, below(folder, "none"), endings, &names), SIM_E_IO);
    CHECK_EQ_INT(names.n, 0);
    arena_fini(&arena);
}

/* The name of a scenario that comes with the program may end in ".json"; one of a file that is here is none. */
TEST(scenarios_are_named_with_or_without_their_ending)
{
    struct arena arena;
    arena_init(&arena);
    CHECK_EQ_STR(paths_shipped(&arena, "scenarios", "quickstart"), "quickstart");
    CHECK_EQ_STR(paths_shipped(&arena, "scenarios", "quickstart.json"), "quickstart");
    CHECK(paths_shipped(&arena, "scenarios", "quickstar") == NULL);
    CHECK(paths_shipped(&arena, "scenarios", ".json") == NULL);
    CHECK(paths_shipped(&arena, "scenarios", "./quickstart") == NULL);
    CHECK(paths_shipped(&arena, "hardware", "quickstart") == NULL);
    arena_fini(&arena);
}
