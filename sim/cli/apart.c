#include "sim/cli/run/apart.h"

#include "sim/store/results.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_MS = 100, BUSY_MS = 10000 };

static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
enum { N_CRASH_SIGNALS = sizeof crash_signals / sizeof *crash_signals };

static int fail_system(struct cli *cli, const char *what)
{
    return diag_error(&cli->diag, SIM_E_IO, NULL, NULL, "cannot %s: %s", what, strerror(errno));
}

/* The parent passes on the signals that ask for an end, once for both; a terminal sends them to each. A child whose
 * parent dies is ended. A sanitizer's handlers of crashes would end the child with a status instead of the signal. */
static void become_child(struct cli *cli, struct apart *shared, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) raise(SIGKILL);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    for (size_t i = 0; i < N_CRASH_SIGNALS; i++) signal(crash_signals[i], SIG_DFL);
    cli->interrupt = &shared->interrupt;
}

/* Waits until the child has closed its end of the pipe, and passes signals on. */
static int await(const struct cli *cli, pid_t child, int from, struct apart *shared)
{
    struct pollfd end = {.fd = from, .events = POLLIN};
    int status = 0;
    while (poll(&end, 1, LOOK_MS) <= 0)
        if (*cli->interrupt != 0) shared->interrupt = *cli->interrupt;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        if (*cli->interrupt != 0) shared->interrupt = *cli->interrupt;
    return status;
}

static bool is_crash(int number)
{
    for (size_t i = 0; i < N_CRASH_SIGNALS; i++)
        if (crash_signals[i] == number) return true;
    return false;
}

static int report(struct cli *cli, int status, const char *plugins, const char *output, bool created,
                  const struct apart *shared)
{
    const int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (!is_crash(number)) {
        cli->child_status = number != 0 ? 128 + number : WEXITSTATUS(status);
        diag_init(&cli->diag); /* the child has printed the findings */
        return 0;
    }
    const int code = diag_error(&cli->diag, SIM_E_POLICY, plugins, "'orrery conform' checks policies one by one",
                                "the plug-in crashes: signal %d (%s)", number, strsignal(number));
    const struct simulate_leftovers *left = &shared->leftovers;
    if (left->run_id > 0) results_drop_run(output, left->run_id, created, BUSY_MS, &cli->diag);
    if (left->timeline_part[0] != 0) unlink(left->timeline_part);
    return code;
}

static int attend(struct cli *cli, pid_t child, int from, const char *plugins, const char *output, bool created,
                  struct apart *shared)
{
    const int status = await(cli, child, from, shared);
    return report(cli, status, plugins, output, created, shared);
}

int apart_begin(struct cli *cli, const char *plugins, const char *output, struct apart **shared)
{
    int ends[2];
    const bool created = output != NULL && access(output, F_OK) != 0;
    const pid_t parent = getpid();
    struct apart *both = mmap(NULL, sizeof *both, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (both == MAP_FAILED) return fail_system(cli, "share memory");
    if (pipe(ends) != 0) return fail_system(cli, "open a pipe");
    fflush(cli->out);
    fflush(cli->err);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        become_child(cli, both, parent);
        *shared = both;
        return 1;
    }
    close(ends[1]);
    const int code = child > 0 ? attend(cli, child, ends[0], plugins, output, created, both)
                               : fail_system(cli, "start a process");
    close(ends[0]);
    munmap(both, sizeof *both);
    return code;
}
