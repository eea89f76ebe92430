/* What every suite includes: CUnit, the usual headers of C and of sim/core, checks that print both values, and
 * skipping by name.
 *
 * A suite is one file, tests/{unit,property,oracle}/NAME.c; its tests are what the file defines with TEST(). */
#ifndef ORRERY_TESTS_SUPPORT_HARNESS_H
#define ORRERY_TESTS_SUPPORT_HARNESS_H

#include "sim/core/err.h"
#include "sim/core/mem.h"
#include "sim/core/rng.h"
#include "sim/core/text.h"

#include <CUnit/CUnit.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test {
    const char *name, *file;
    int line;
    enum { TEST_HERE, TEST_THERE, TEST_IN_BOTH } where; /* there: in the optimised build */
    void (*function)(void);
};

/* Defines a test: TEST(what_holds) { ... }. The linker collects the tests of all files in the section "tests". */
#define TEST(what) DEFINE_TEST(what, TEST_HERE)

/* The same, of numbers that take long to compute: `make test` runs it in the optimised build, without sanitizers. What
 * it runs is seen by these in other tests: `make coverage` names the lines that are not. */
#define TEST_OPTIMISED(what) DEFINE_TEST(what, TEST_THERE)

/* The same, of many like cases: `make test` runs all in the optimised build, and before them a part with
 * sanitizers. */
#define TEST_SIZED(what) DEFINE_TEST(what, TEST_IN_BOTH)

/* In a test defined by TEST_SIZED: how many of n cases to run. It is an eighth, rounded up, where the optimised build
 * runs all, else n. */
int test_part(int n);
bool test_is_part(void);

#define DEFINE_TEST(what, where)                                                                                       \
    static void what(void);                                                                                            \
    static const struct test test_##what __attribute__((used, section("tests"), aligned(sizeof(void *)))) = {          \
        #what, __FILE__, __LINE__, where, what};                                                                       \
    static void what(void)

/* A struct whose NAME_fini is called when the block ends: SCOPED(arena) arena = {0}; */
#define SCOPED(name) __attribute__((cleanup(name##_fini))) struct name

/* Calls release(memory) when the running test ends, or earlier by test_release(memory). Returns `memory`. */
void *test_own(void *memory, void (*release)(void *));
void test_release(void *memory);

/* Random numbers of run 0, as rng_init gives them. */
struct rng test_rng(uint64_t seed, const char *name, uint64_t index);

/* Leaves the running test as skipped, with the reason; it is counted and named at the end. Use as
 * `if (!have) { test_skip("..."); return; }`. */
void test_skip(const char *reason);

/* Path of a file under ../shared/data, or NULL after test_skip() when that data is absent. Static storage per call site
 * is not needed: the text lives until the end of the run. */
const char *test_shared(const char *path_below_data);

/* JSON reads better with ' for ": makes every ' a ", in place; or in a text made by printf's conversions, which lives
 * until the running test ends. An apostrophe within is \\u0027. */
void test_quotes(char *text);
const char *test_json(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *test_vjson(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

/* Write a file by printf's conversions, with " for every '. The first one gives it a fresh temporary directory, and
 * returns its path, which lives until the end of the run. */
const char *test_file(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
void test_write(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A fresh temporary directory for the running test, removed at the end of the run. */
const char *test_tmpdir(void);

/* The command line under test ($ORRERY, as set by `make test`). */
const char *test_orrery(void);

/* The optimised build, whose tests/run repeats large experiments; NULL where there is none ($OPTIMISED, as set by
 * `make test` without T). */
const char *test_optimised(void);

#define CHECK(condition) test_check((condition), #condition, __FILE__, __LINE__)
#define CHECK_EQ_INT(actual, expected)                                                                                 \
    test_check_int((int64_t)(actual), (int64_t)(expected), #actual " == " #expected, __FILE__, __LINE__)
#define CHECK_EQ_STR(actual, expected)                                                                                 \
    test_check_str((actual), (expected), #actual " == " #expected, __FILE__, __LINE__)
#define CHECK_NEAR(actual, expected, tolerance)                                                                        \
    test_check_near((actual), (expected), (tolerance), #actual " ~ " #expected, __FILE__, __LINE__)

/* What only all cases of a TEST_SIZED need to have; it is computed for a part, too. */
#define CHECK_WHOLE(condition) CHECK((condition) || test_is_part())

/* Like CHECK, but leaves the test function when it fails. */
#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!CHECK(condition)) return;                                                                                 \
    } while (0)

bool test_check(bool ok, const char *what, const char *file, int line);
bool test_check_int(int64_t actual, int64_t expected, const char *what, const char *file, int line);
bool test_check_str(const char *actual, const char *expected, const char *what, const char *file, int line);
bool test_check_near(double actual, double expected, double tolerance, const char *what, const char *file, int line);

#endif
