/* The tests of a run, shared out among processes: each goes through all of them in order and runs those that no
 * other has claimed. Failures, skips and times lie in memory that all share, so that a process that dies loses only
 * its present test. */
#ifndef ORRERY_TESTS_SUPPORT_WORKERS_H
#define ORRERY_TESTS_SUPPORT_WORKERS_H

#include <stdbool.h>

enum { WORKERS_MAX_TESTS = 8192 };

/* Forks into $TEST_WORKERS processes, or as many as there are processors, each of which returns its number from 0; the
 * one that began waits for them and returns -1. With one worker there is no fork, and the number is 0. */
int workers_start(void);

/* Whether this process is to run the test of that number, below WORKERS_MAX_TESTS, which no other will. */
bool workers_claim(int test);

/* Counted for all: the asserts of this process, a test that failed, a test that left with a reason ("suite/test:
 * why"). */
void workers_add_asserts(long asserts);
void workers_failed(void);
void workers_skipped(const char *text);

/* The CPU seconds that a test took. */
void workers_took(int test, double s);

/* Whether workers_start() made this process, which is to end without a word of its own. */
bool workers_forked(void);

/* After all have ended: prints what ran, failed and was skipped, and the ten slowest tests; `name_of` names a test.
 * Returns whether some test ran and none failed. */
bool workers_summary(void (*name_of)(int test, char *text, int size));

#endif
