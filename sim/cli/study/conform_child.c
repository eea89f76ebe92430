#include "sim/cli/study/conform_child.h"

#include "sim/study/crash.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_S = 10 }; /* after which a child ends without its parent, which may have died */

/* The child's report: the verdicts, or the first finding if there are none. */
struct report {
    struct conform_result result;
    struct diag_item finding;
    bool has_finding;
};

/* Sets the limits, and the default signal handlers: those of a debugger or sanitizer would print a report. */
static void die_plainly(int limit_s)
{
    crash_plainly();
    signal(SIGALRM, SIG_DFL);
    struct rlimit cpu = {.rlim_cur = (rlim_t)limit_s, .rlim_max = (rlim_t)limit_s + 1}, no_core = {0};
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_CORE, &no_core);
    alarm((unsigned)limit_s + GRACE_S);
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
                         const struct conform_case *wanted, int limit_s, int to)
{
    setpgid(0, 0); /* processes that it starts are ended with it */
    die_plainly(limit_s);
    struct diag diag;
    struct report report;
    memset(&report, 0, sizeof report);
    diag_init(&diag);
    conform_run(suite, policy, wanted, &report.result, &diag);
    report.has_finding = diag.n_items > 0;
    if (report.has_finding) report.finding = diag.items[0];
    _exit(write_all(to, &report, sizeof report) ? 0 : 1);
}

__attribute__((format(printf, 3, 4))) static void judge(struct conform_result *result, enum conform_check check,
                                                        const char *format, ...)
{
    *result = (struct conform_result){.code = SIM_E_POLICY, .t_s = (double)NAN};
    result->verdicts[check] = CONFORM_FAILED;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result->text, sizeof result->text, format, arguments);
    va_end(arguments);
}

/* Adds to a verdict what the policy did last. */
static void add_trail(struct conform_result *result, const struct conform_trail *trail)
{
    char told[CONFORM_TOLD_CHARS];
    const size_t n = strlen(result->text);
    result->partner = trail->partner;
    result->t_s = trail_time_s(trail);
    result->is_last_call = true;
    trail_tell(trail, told, sizeof told);
    if (told[0] == 0) return;
    const bool is_plain = trail->check == CONFORM_ENDS;
    snprintf(result->text + n, sizeof result->text - n, "%s%s%s; %s", is_plain ? "" : ", in the run for '",
             is_plain ? "" : conform_check_name((enum conform_check)trail->check), is_plain ? "" : "'", told);
}

static void judge_endless(int limit_s, struct conform_result *result, bool *hangs)
{
    *hangs = true;
    judge(result, CONFORM_ENDS, "it does not end: stopped after %d s", limit_s);
}

/* The verdict on a policy whose process ended without a report. */
static void judge_death(int status, int limit_s, struct conform_result *result, bool *hangs)
{
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (number == SIGXCPU || number == SIGKILL)
        judge_endless(limit_s, result, hangs);
    else if (number != 0)
        judge(result, CONFORM_ENDS, "it crashes: signal %d (%s)", number, strsignal(number));
    else if (WEXITSTATUS(status) == 70)
        judge(result, CONFORM_LAWS, "an invariant is violated (see above): status 70");
    else
        judge(result, CONFORM_ENDS, "it ends the process: status %d", WEXITSTATUS(status));
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool is_interrupted(const struct conform_patience *patience)
{
    return patience->interrupt != NULL && *patience->interrupt != 0;
}

/* Waits for a report or for the end of the child. False when the limit has passed or the wait is interrupted. */
static bool wait_for_report(int from, const struct conform_patience *patience)
{
    struct pollfd end = {.fd = from, .events = POLLIN};
    int64_t until_ms = now_ms() + 1000 * (int64_t)patience->limit_s;
    while (!is_interrupted(patience)) {
        int64_t left_ms = until_ms - now_ms();
        if (left_ms <= 0) return false;
        if (poll(&end, 1, (int)left_ms) > 0) return true;
    }
    return false;
}

/* Whether another process still holds the other end of the pipe, or has written a report of its own. */
static bool has_company(int from)
{
    char byte;
    fcntl(from, F_SETFL, O_NONBLOCK);
    return read(from, &byte, 1) != 0;
}

static int fail_system(struct diag *diag, const char *what)
{
    return diag_error(diag, SIM_E_IO, NULL, NULL, "cannot %s: %s", what, strerror(errno));
}

/* Waits for the child's report, ends its processes, and writes the verdict. */
static int attend(pid_t child, int from, const struct conform_patience *patience, const struct conform_trail *trail,
                  struct conform_result *result, bool *hangs, struct diag *diag)
{
    int status;
    struct report report;
    setpgid(child, child); /* parent or child, whichever runs first */
    bool in_time = wait_for_report(from, patience);
    bool reported = in_time && read_all(from, &report, sizeof report);
    if (!in_time) kill(-child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    bool in_company = in_time && has_company(from);
    kill(-child, SIGKILL);
    if (is_interrupted(patience)) return SIM_E_INTERRUPTED;
    if (!in_time)
        judge_endless(patience->limit_s, result, hangs);
    else if (!reported)
        judge_death(status, patience->limit_s, result, hangs);
    else if (in_company)
        judge(result, CONFORM_ENDS, "it leaves another process behind");
    else
        *result = report.result;
    if (!reported) add_trail(result, trail);
    *hangs = *hangs || in_company;
    if (reported && !in_company && report.has_finding)
        diag_error(diag, report.finding.code, report.finding.where, report.finding.hint, "%s", report.finding.text);
    return result->code;
}

int conform_child_run(const struct conform_suite *suite, const struct policy *policy, const struct conform_case *wanted,
                      const struct conform_patience *patience, struct conform_result *result, bool *hangs,
                      struct diag *diag)
{
    int ends[2];
    struct conform_suite trailed = *suite;
    trailed.trail = mmap(NULL, sizeof *trailed.trail, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (trailed.trail == MAP_FAILED) return diag_nomem(diag);
    int code = pipe(ends) != 0 ? fail_system(diag, "open a pipe") : 0;
    if (code == 0) {
        pid_t child = fork();
        if (child == 0) run_as_child(&trailed, policy, wanted, patience->limit_s, ends[1]);
        close(ends[1]);
        code = child > 0 ? attend(child, ends[0], patience, trailed.trail, result, hangs, diag)
                         : fail_system(diag, "start a process");
        close(ends[0]);
    }
    munmap(trailed.trail, sizeof *trailed.trail);
    return code;
}
