/* The test runner: every suite of tests/{unit,property,oracle} and every script of tests/{golden,cli,lint}, in
 * CUnit.
 *
 * usage: run [WORD ...]            only tests, as SUITE/TEST, and scripts whose name contains one of the words
 *        run --alone SUITE/TEST    this one test, in this process; it ends as a script does
 *
 * Tests run in $TEST_WORKERS processes (tests/support/workers.h), by default one per processor, the long ones first.
 *
 * A script passes with exit status 0, is skipped with 77 (its last line of output is the reason) and fails
 * otherwise. So does a test that the runner of the optimised build, $OPTIMISED/tests/run, runs alone, or once more. */
#include "tests/support/harness.h"

#include "tests/support/workers.h"

#include <CUnit/TestRun.h>
#include <dirent.h>
#include <errno.h>
#include <gsl/gsl_errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The bounds of the section that holds what TEST() defines. */
extern const struct test __start_tests[], __stop_tests[];

enum { MAX_TESTS = WORKERS_MAX_TESTS, MAX_SCRIPTS = 512, EXIT_SKIPPED = 77 };

static struct {
    CU_pSuite suite;
    struct {
        const char *suite, *name;
        void (*function)(void);
    } tests[MAX_TESTS];
    int n_tests;
    bool long_ones; /* the pass over the long tests, which comes before that over the others */
    int next;       /* the one that CUnit comes to next */
    bool mine;      /* the one that it is at is run by this process */
    const char *skipped; /* why the running test left, or NULL */
    void (*part)(void);  /* the running test, of which the optimised build runs all, or NULL */
    bool failed;         /* some test of this process */
    double began_s;
    char *scripts[MAX_SCRIPTS];
    int n_scripts;
    struct kept {
        struct kept *next;
        char chars[];
    } *texts; /* of `keep` */
    char tmp_root[64];
    int n_tmp;
    struct owned {
        void *memory;
        void (*release)(void *);
    } *owned; /* by the running test */
    size_t n_owned, owned_capacity;
} run;

static void run_optimised(void);
static void run_both(void);

/* Returns a copy that lasts as long as the process. */
static char *keep(const char *text)
{
    const size_t bytes = strlen(text) + 1;
    struct kept *kept = malloc(sizeof *kept + bytes);
    if (kept == NULL) abort();
    memcpy(kept->chars, text, bytes);
    kept->next = run.texts;
    run.texts = kept;
    return kept->chars;
}

static void require_room(int n, int most, const char *what)
{
    if (n < most) return;
    fprintf(stderr, "more than %d %s: raise the limit in tests/support\n", most, what);
    exit(1);
}

/* CPU seconds of this process and of those that it has waited for. */
static double cpu_s(void)
{
    double s = 0;
    struct rusage usage;
    for (int who = RUSAGE_CHILDREN; who <= (int)RUSAGE_SELF; who++) {
        if (getrusage(who, &usage) != 0) continue;
        s += (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec;
        s += (double)usage.ru_stime.tv_sec + 1e-6 * (double)usage.ru_stime.tv_usec;
    }
    return s;
}

/* Run before all others, so that no process is left with a long one when the rest has ended. */
static bool is_long(int test)
{
    static const char *const names[] = {
        "tests/cli/compilers.sh", "tests/cli/figure_polca.sh",     "tests/cli/pages.sh", "tests/cli/conform.sh",
        "tests/cli/sweep.sh",     "tests/cli/figures_offload.sh", "tests/cli/figure_distserve.sh"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(run.tests[test].name, names[i]) == 0) return true;
    return run.tests[test].function == run_optimised || run.tests[test].function == run_both;
}

/* What CUnit runs in the place of every test: it takes them in the order in which they were added. */
static void run_if_mine(void)
{
    int test = run.next++;
    run.mine = is_long(test) == run.long_ones && workers_claim(test);
    if (!run.mine) return;
    run.skipped = NULL;
    run.part = NULL;
    run.began_s = cpu_s();
    run.tests[test].function();
    while (run.n_owned > 0) test_release(run.owned[run.n_owned - 1].memory);
}

void *test_own(void *memory, void (*release)(void *))
{
    if (run.n_owned == run.owned_capacity) {
        run.owned_capacity = 2 * run.owned_capacity + 8;
        run.owned = realloc(run.owned, run.owned_capacity * sizeof *run.owned);
        if (run.owned == NULL) abort();
    }
    run.owned[run.n_owned++] = (struct owned){memory, release};
    return memory;
}

void test_release(void *memory)
{
    size_t at = run.n_owned;
    while (at > 0 && run.owned[at - 1].memory != memory) at--;
    if (at == 0) abort();
    void (*release)(void *) = run.owned[at - 1].release;
    memmove(run.owned + at - 1, run.owned + at, (run.n_owned-- - at) * sizeof *run.owned);
    release(memory);
}

static void add_test(const char *name, void (*function)(void))
{
    require_room(run.n_tests, MAX_TESTS, "tests");
    CU_pTest test = CU_add_test(run.suite, name, run_if_mine);
    if (test == NULL) {
        fprintf(stderr, "cannot add test %s: %s\n", name, CU_get_error_msg());
        exit(1);
    }
    run.tests[run.n_tests].suite = run.suite->pName;
    run.tests[run.n_tests].name = test->pName;
    run.tests[run.n_tests++].function = function;
}

void test_skip(const char *reason)
{
    char text[512];
    CU_pTest test = CU_get_current_test();
    CU_pSuite suite = CU_get_current_suite();
    snprintf(text, sizeof text, "%s/%s: %s", suite ? suite->pName : "?", test ? test->pName : "?", reason);
    workers_skipped(text);
    run.skipped = keep(reason);
}

const char *test_shared(const char *path_below_data)
{
    char path[1024];
    snprintf(path, sizeof path, "../shared/data/%s", path_below_data);
    if (access(path, R_OK) == 0) return keep(path);
    snprintf(path, sizeof path, "needs ../shared/data/%s", path_below_data);
    test_skip(path);
    return NULL;
}

const char *test_tmpdir(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%d", run.tmp_root, run.n_tmp++);
    if (mkdir(path, 0700) != 0) abort();
    return keep(path);
}

struct rng test_rng(uint64_t seed, const char *name, uint64_t index)
{
    struct rng rng;
    rng_init(&rng, seed, 0, name, index);
    return rng;
}

void test_quotes(char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '\'') *text = '"';
}

/* Not by sim/core/text.h, whose memory may be about to fail. */
const char *test_vjson(const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    const size_t bytes = (size_t)vsnprintf(NULL, 0, format, again) + 1;
    va_end(again);
    char *json = malloc(bytes);
    if (json == NULL) abort();
    vsnprintf(json, bytes, format, arguments);
    test_quotes(json);
    return test_own(json, free);
}

const char *test_json(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *json = test_vjson(format, arguments);
    va_end(arguments);
    return json;
}

static void write_file(const char *path, const char *format, va_list arguments)
{
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(test_vjson(format, arguments), file) >= 0 && fclose(file) == 0);
}

void test_write(const char *path, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_file(path, format, arguments);
    va_end(arguments);
}

const char *test_file(const char *name, const char *format, ...)
{
    char path[256];
    va_list arguments;
    snprintf(path, sizeof path, "%s/%s", test_tmpdir(), name);
    va_start(arguments, format);
    write_file(path, format, arguments);
    va_end(arguments);
    return keep(path);
}

const char *test_orrery(void)
{
    const char *path = getenv("ORRERY");
    return path != NULL ? path : "build/orrery";
}

const char *test_optimised(void)
{
    const char *build = getenv("OPTIMISED");
    return build != NULL && build[0] != '\0' ? build : NULL;
}

bool test_check(bool ok, const char *what, const char *file, int line)
{
    CU_assertImplementation(ok, (unsigned)line, what, file, "", CU_FALSE);
    return ok;
}

bool test_check_int(int64_t actual, int64_t expected, const char *what, const char *file, int line)
{
    char text[512];
    snprintf(text, sizeof text, "%s: %lld, expected %lld", what, (long long)actual, (long long)expected);
    return test_check(actual == expected, text, file, line);
}

bool test_check_str(const char *actual, const char *expected, const char *what, const char *file, int line)
{
    char text[2048];
    snprintf(text, sizeof text, "%s: '%s', expected '%s'", what, actual ? actual : "(null)", expected);
    return test_check(actual != NULL && strcmp(actual, expected) == 0, text, file, line);
}

bool test_check_near(double actual, double expected, double tolerance, const char *what, const char *file, int line)
{
    char text[512];
    double distance = actual > expected ? actual - expected : expected - actual;
    snprintf(text, sizeof text, "%s: %.17g, expected %.17g +- %g", what, actual, expected, tolerance);
    return test_check(distance <= tolerance, text, file, line);
}

/* The end of what a command prints: the most recent bytes, which tell why it failed. */
struct tail {
    char text[16384], last_line[512];
    size_t used;
};

static void keep_line(struct tail *tail, const char *line)
{
    const size_t n = strlen(line);
    snprintf(tail->last_line, sizeof tail->last_line, "%.*s", (int)strcspn(line, "\n"), line);
    if (tail->used + n >= sizeof tail->text) {
        tail->used /= 2;
        memmove(tail->text, tail->text + tail->used, tail->used);
    }
    memcpy(tail->text + tail->used, line, n + 1);
    tail->used += n;
}

/* Runs a command, whose last line is the reason when it exits with EXIT_SKIPPED. */
static void run_command(const char *command)
{
    struct tail tail = {.used = 0};
    char line[512], what[1200];
    FILE *pipe = popen(command, "r");
    if (!CHECK(pipe != NULL)) return;
    while (fgets(line, sizeof line, pipe) != NULL) keep_line(&tail, line);
    const int status = pclose(pipe);
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIPPED) {
        test_skip(tail.last_line);
        return;
    }
    const bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!ok) printf("\n%s\n", tail.text);
    snprintf(what, sizeof what, "%s: exit status %d", command, WIFEXITED(status) ? WEXITSTATUS(status) : status);
    test_check(ok, what, __FILE__, __LINE__);
}

/* The path of a script is the name of its test. */
static void run_script(void)
{
    char command[1024];
    snprintf(command, sizeof command, "TEST_TMPDIR=%s sh %s 2>&1", test_tmpdir(), CU_get_current_test()->pName);
    run_command(command);
}

/* Runs the test of the same name in the optimised build. */
static void run_optimised(void)
{
    char command[1024];
    snprintf(command, sizeof command, "OPTIMISED= ORRERY=%s/orrery BUILD=%s %s/tests/run --alone %s/%s 2>&1",
             test_optimised(), test_optimised(), test_optimised(), CU_get_current_suite()->pName,
             CU_get_current_test()->pName);
    run_command(command);
}

/* The suite of a test is called like its file. */
static void name_suite(const struct test *test, char *suite, size_t size)
{
    const char *base = strrchr(test->file, '/') + 1;
    snprintf(suite, size, "%.*s", (int)strcspn(base, "."), base);
}

bool test_is_part(void)
{
    return run.part != NULL;
}

int test_part(int n)
{
    return test_is_part() ? (n + 7) / 8 : n;
}

/* Runs a part of a test, and all of it in the optimised build. */
static void run_both(void)
{
    char suite[64];
    for (const struct test *test = __start_tests; test < __stop_tests; test++) {
        name_suite(test, suite, sizeof suite);
        const bool is_running = strcmp(test->name, CU_get_current_test()->pName) == 0 &&
                                strcmp(suite, CU_get_current_suite()->pName) == 0;
        if (is_running) run.part = test->function;
    }
    run.part();
    if (run.skipped == NULL) run_optimised();
}

static int wanted(const char *name, int argc, char **argv)
{
    if (argc <= 1) return 1;
    for (int i = 1; i < argc; i++)
        if (strstr(name, argv[i]) != NULL) return 1;
    return 0;
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Shell scripts in tests/FOLDER, but for lib*.sh, become the tests of one suite. */
static void add_scripts(const char *folder, int argc, char **argv)
{
    char path[512];
    snprintf(path, sizeof path, "tests/%s", folder);
    DIR *dir = opendir(path);
    if (dir == NULL) return;
    int first = run.n_scripts;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        size_t n = strlen(entry->d_name);
        if (n < 4 || strcmp(entry->d_name + n - 3, ".sh") != 0 || strncmp(entry->d_name, "lib", 3) == 0) continue;
        snprintf(path, sizeof path, "tests/%s/%s", folder, entry->d_name);
        if (!wanted(path, argc, argv)) continue;
        require_room(run.n_scripts, MAX_SCRIPTS, "scripts");
        run.scripts[run.n_scripts++] = keep(path);
    }
    closedir(dir);
    if (run.n_scripts == first) return;
    qsort(run.scripts + first, (size_t)(run.n_scripts - first), sizeof *run.scripts, compare_text);
    run.suite = CU_add_suite(folder, NULL, NULL);
    for (int i = first; i < run.n_scripts; i++) add_test(run.scripts[i], run_script);
}

static void name_of(int test, char *text, int size)
{
    snprintf(text, (size_t)size, "%s/%s", run.tests[test].suite, run.tests[test].name);
}

/* One line per test, written at once: with the CPU seconds that it took where these are many, or with $TEST_TIMES. */
static void tell(const CU_pTest test, const CU_pSuite suite, const CU_pFailureRecord failures)
{
    if (!run.mine) return;
    double s = cpu_s() - run.began_s;
    workers_took(run.next - 1, s);
    printf("%s %s/%s", failures != NULL ? "FAILED" : run.skipped ? "skipped" : "passed", suite->pName, test->pName);
    printf(s >= (getenv("TEST_TIMES") ? 0 : 1) ? "  %.2f CPU-s\n" : "\n", s);
    for (CU_pFailureRecord at = failures; at != NULL; at = at->pNext)
        printf("  %s:%u: %s\n", at->strFileName, at->uiLineNumber, at->strCondition);
    if (failures != NULL) workers_failed();
    run.failed = run.failed || failures != NULL;
    fflush(stdout);
}

static void run_tests(int worker)
{
    snprintf(run.tmp_root + strlen(run.tmp_root), 16, "/%d", worker);
    if (mkdir(run.tmp_root, 0700) != 0) abort();
    CU_set_test_complete_handler(tell);
    for (int pass = 0; pass < 2; pass++) {
        run.long_ones = pass == 0;
        run.next = 0;
        CU_run_all_tests();
        workers_add_asserts((long)CU_get_number_of_asserts());
    }
}

static void forget(void)
{
    CU_cleanup_registry();
    for (struct kept *text = run.texts, *next; text != NULL; text = next) {
        next = text->next;
        free(text);
    }
    free(run.owned);
}

static int compare_places(const void *a, const void *b)
{
    const struct test *x = *(const struct test *const *)a, *y = *(const struct test *const *)b;
    int files = strcmp(x->file, y->file);
    return files != 0 ? files : (x->line > y->line) - (x->line < y->line);
}

/* The tests of each file become a suite with the file's name, or the one test SUITE/TEST when `alone` names it. */
static void add_suites(int argc, char **argv, const char *alone)
{
    static const struct test *tests[MAX_TESTS];
    const char *file = "";
    int n = 0;
    for (const struct test *test = __start_tests; test < __stop_tests; test++) {
        require_room(n, MAX_TESTS, "tests");
        tests[n++] = test;
    }
    qsort(tests, (size_t)n, sizeof *tests, compare_places);
    for (int i = 0; i < n; i++) {
        char suite[64], name[256];
        name_suite(tests[i], suite, sizeof suite);
        snprintf(name, sizeof name, "%s/%s", suite, tests[i]->name);
        if (alone != NULL ? strcmp(name, alone) != 0 : !wanted(name, argc, argv)) continue;
        if (strcmp(tests[i]->file, file) != 0) run.suite = CU_add_suite(suite, NULL, NULL);
        file = tests[i]->file;
        const int where = test_optimised() != NULL ? (int)tests[i]->where : TEST_HERE;
        add_test(tests[i]->name, where == TEST_HERE    ? tests[i]->function
                                 : where == TEST_THERE ? run_optimised
                                                       : run_both);
    }
}

/* Runs the one test; returns the exit status. */
static int run_alone(const char *name)
{
    add_suites(0, NULL, name);
    if (run.n_tests != 1) fprintf(stderr, "no test is called %s\n", name);
    if (run.n_tests != 1) return 1;
    setenv("TEST_WORKERS", "1", 1);
    setvbuf(stdout, NULL, _IOLBF, 0); /* what is printed survives a crash */
    run_tests(workers_start());
    if (run.skipped != NULL) printf("%s\n", run.skipped);
    return run.failed ? 1 : run.skipped != NULL ? EXIT_SKIPPED : 0;
}

static int run_all(int argc, char **argv)
{
    add_suites(argc, argv, NULL);
    add_scripts("lint", argc, argv);
    add_scripts("cli", argc, argv);
    add_scripts("golden", argc, argv);
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    const int worker = workers_start();
    if (worker >= 0) run_tests(worker);
    return workers_forked() || workers_summary(name_of) ? 0 : 1;
}

#define OWN_FOLDER "/orrery-test-XXXXXX"
enum { ROOT_CHARS = 48 };

/* TMPDIR, if it is a short path without blanks and quotes: shells read it, and `rm -rf` too. */
static const char *temporary_folder(void)
{
    static const char plain[] = "/._-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const char *folder = getenv("TMPDIR");
    const bool is_plain = folder != NULL && folder[0] == '/' && strspn(folder, plain) == strlen(folder);
    return is_plain && strlen(folder) + sizeof OWN_FOLDER <= ROOT_CHARS ? folder : P_tmpdir;
}

int main(int argc, char **argv)
{
    char root[ROOT_CHARS], command[128];
    snprintf(root, sizeof root, "%s" OWN_FOLDER, temporary_folder());
    gsl_set_error_handler_off();
    if (mkdtemp(root) == NULL || CU_initialize_registry() != CUE_SUCCESS) return 1;
    snprintf(run.tmp_root, sizeof run.tmp_root, "%s", root);
    const bool is_alone = argc == 3 && strcmp(argv[1], "--alone") == 0;
    const int status = is_alone ? run_alone(argv[2]) : run_all(argc, argv);
    const bool forked = workers_forked();
    forget();
    if (forked) return 0; /* or what the leak sanitizer makes of it */
    snprintf(command, sizeof command, "rm -rf %s", root);
    if (system(command) != 0) fprintf(stderr, "cannot remove %s\n", root);
    return status;
}
