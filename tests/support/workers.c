#include "tests/support/workers.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_WORKERS = 64, MAX_TESTS = WORKERS_MAX_TESTS, MAX_SKIPS = 512, N_SLOWEST = 10, NO_TEST = -1 };

static struct shared {
    atomic_bool claimed[MAX_TESTS];
    atomic_int running[MAX_WORKERS]; /* the test that each is in */
    atomic_int ran, failed, skipped;
    atomic_long asserts;
    double took_s[MAX_TESTS];
    char skips[MAX_SKIPS][512];
} * shared;

static int n_workers, me;
static bool forked;
static struct death {
    int test, status; /* as waitpid() gives it */
} deaths[MAX_WORKERS];
static int n_deaths;
static struct timespec began;

static int wanted_workers(void)
{
    const char *text = getenv("TEST_WORKERS");
    long n = text != NULL ? atol(text) : sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MAX_WORKERS ? MAX_WORKERS : (int)n;
}

static void await(const pid_t *pids)
{
    for (int i = 0; i < n_workers; i++) {
        int status = 0;
        const bool is_done = waitpid(pids[i], &status, 0) >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (!is_done || shared->running[i] != NO_TEST)
            deaths[n_deaths++] = (struct death){.test = shared->running[i], .status = status};
    }
}

int workers_start(void)
{
    clock_gettime(CLOCK_MONOTONIC, &began);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) abort();
    n_workers = wanted_workers();
    for (int i = 0; i < n_workers; i++) shared->running[i] = NO_TEST;
    if (n_workers == 1) return 0;
    pid_t pids[MAX_WORKERS];
    for (int i = 0; i < n_workers; i++) {
        me = i;
        forked = (pids[i] = fork()) == 0;
        if (pids[i] < 0) abort();
        if (forked) return i;
    }
    await(pids);
    return -1;
}

bool workers_claim(int test)
{
    if (test >= MAX_TESTS) abort();
    if (atomic_exchange(&shared->claimed[test], true)) return false;
    shared->running[me] = test;
    shared->ran++;
    return true;
}

void workers_add_asserts(long asserts)
{
    shared->asserts += asserts;
}

void workers_failed(void)
{
    shared->failed++;
}

void workers_skipped(const char *text)
{
    int i = shared->skipped++;
    if (i < MAX_SKIPS) snprintf(shared->skips[i], sizeof shared->skips[i], "%s", text);
}

void workers_took(int test, double s)
{
    shared->took_s[test] = s;
}

bool workers_forked(void)
{
    if (forked) shared->running[me] = NO_TEST;
    return forked;
}

static int compare_skips(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void tell_skips(void)
{
    int n = shared->skipped < MAX_SKIPS ? shared->skipped : MAX_SKIPS;
    qsort(shared->skips, (size_t)n, sizeof *shared->skips, compare_skips);
    printf("%d tests skipped\n", (int)shared->skipped);
    for (int i = 0; i < n; i++) printf("  skipped %s\n", shared->skips[i]);
}

static void tell_died(void (*name_of)(int test, char *text, int size))
{
    for (const struct death *death = deaths; death < deaths + n_deaths; death++) {
        char text[512] = "its end (a leak?)";
        if (death->test != NO_TEST) name_of(death->test, text, sizeof text);
        const bool is_killed = WIFSIGNALED(death->status);
        printf("FAILED: a process of tests died in %s (%s %d)\n", text, is_killed ? "signal" : "exit status",
               is_killed ? WTERMSIG(death->status) : WEXITSTATUS(death->status));
    }
}

/* Forgets the times that it prints. */
static void tell_slowest(void (*name_of)(int test, char *text, int size))
{
    printf("CPU seconds of the slowest\n");
    for (int i = 0; i < N_SLOWEST; i++) {
        char text[512];
        int slowest = 0;
        for (int test = 1; test < MAX_TESTS; test++)
            if (shared->took_s[test] > shared->took_s[slowest]) slowest = test;
        if (shared->took_s[slowest] <= 0) return;
        name_of(slowest, text, sizeof text);
        printf("  %6.1f %s\n", shared->took_s[slowest], text);
        shared->took_s[slowest] = 0;
    }
}

bool workers_summary(void (*name_of)(int test, char *text, int size))
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    tell_died(name_of);
    int failed = shared->failed + n_deaths;
    printf("\n%d tests ran, %d failed, %ld asserts, %d processes, %ld s\n", (int)shared->ran, failed,
           (long)shared->asserts, n_workers, (long)(now.tv_sec - began.tv_sec));
    tell_skips();
    tell_slowest(name_of);
    if (shared->ran == 0) fprintf(stderr, "no test ran\n");
    return shared->ran > 0 && failed == 0;
}
