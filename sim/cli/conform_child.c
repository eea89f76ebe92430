#include "sim/cli/conform_child.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child tells: the verdicts, and the first finding if there are none. */
struct report {
    struct conform_result result;
    struct diag_item finding;
    bool has_finding;
};

/* Signals that end a process end it: a debugger's or sanitizer's handler would tell it at length. */
static void die_plainly(int cpu_s)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], SIG_DFL);
    struct rlimit cpu = {.rlim_cur = (rlim_t)cpu_s, .rlim_max = (rlim_t)cpu_s + 1}, no_core = {0};
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_CORE, &no_core);
}

static bool write_all(int to, const void *bytes, size_t n)
{
    for (const char *at = bytes; n > 0;) {
        ssize_t written = write(to, at, n);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        at += written;
        n -= (size_t)written;
    }
    return true;
}

static bool read_all(int from, void *bytes, size_t n)
{
    for (char *at = bytes; n > 0;) {
        ssize_t got = read(from, at, n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        n -= (size_t)got;
    }
    return true;
}

static void run_as_child(const struct conform_suite *suite, const struct policy *policy,
                         const struct conform_case *wanted, int cpu_s, int to)
{
    die_plainly(cpu_s);
    struct diag diag;
    struct report report;
    memset(&report, 0, sizeof report);
    diag_init(&diag);
    conform_run(suite, policy, wanted, &report.result, &diag);
    report.has_finding = diag.n_items > 0;
    if (report.has_finding) report.finding = diag.items[0];
    _exit(write_all(to, &report, sizeof report) ? 0 : 1);
}

/* The verdict on a policy whose process ended without a report. */
static void judge_death(int status, int cpu_s, struct conform_result *result)
{
    *result = (struct conform_result){.code = SIM_E_POLICY, .t_s = (double)NAN};
    bool broke_law = WIFEXITED(status) && WEXITSTATUS(status) == 70;
    result->verdicts[broke_law ? CONFORM_LAWS : CONFORM_ENDS] = CONFORM_FAILED;
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (number == SIGXCPU || number == SIGKILL)
        snprintf(result->text, sizeof result->text, "it does not end: stopped after %d s of processor time", cpu_s);
    else if (number != 0)
        snprintf(result->text, sizeof result->text, "it crashes: signal %d (%s)", number, strsignal(number));
    else
        snprintf(result->text, sizeof result->text, "%s: status %d",
                 broke_law ? "a law of the world is broken (see above)" : "it ends the process", WEXITSTATUS(status));
}

static int fail_system(struct diag *diag, const char *what)
{
    return diag_error(diag, SIM_E_IO, NULL, NULL, "cannot %s: %s", what, strerror(errno));
}

int conform_child_run(const struct conform_suite *suite, const struct policy *policy, const struct conform_case *wanted,
                      int cpu_s, struct conform_result *result, struct diag *diag)
{
    int ends[2], status;
    if (pipe(ends) != 0) return fail_system(diag, "open a pipe");
    pid_t child = fork();
    if (child == 0) run_as_child(suite, policy, wanted, cpu_s, ends[1]);
    close(ends[1]);
    struct report report;
    bool reported = child > 0 && read_all(ends[0], &report, sizeof report);
    close(ends[0]);
    if (child < 0) return fail_system(diag, "start a process");
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!reported) {
        judge_death(status, cpu_s, result);
        return result->code;
    }
    *result = report.result;
    if (report.has_finding)
        diag_error(diag, report.finding.code, report.finding.where, report.finding.hint, "%s", report.finding.text);
    return result->code;
}
