#include "sim/cli/apart.h"

#include "sim/core/output.h"
#include "sim/store/results.h"
#include "sim/study/crash.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_MS = 100, BUSY_MS = 10000 };

static int fail_system(struct cli *cli, const char *what)
{
    return diag_error(&cli->diag, SIM_E_IO, NULL, NULL, "cannot %s: %s", what, strerror(errno));
}

/* A signal that asks for an end may come twice: from the terminal and from the parent. */
static void keep_handler(int signal_number)
{
    struct sigaction action;
    if (sigaction(signal_number, NULL, &action) != 0) return;
    action.sa_flags &= ~(int)SA_RESETHAND;
    sigaction(signal_number, &action, NULL);
}

/* A child whose parent dies is ended. */
static void become_child(struct cli *cli, struct apart *shared, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) raise(SIGKILL);
    keep_handler(SIGINT);
    keep_handler(SIGTERM);
    crash_plainly();
    cli->apart = shared;
}

/* Waits for the end of the child, which closes its end of the pipe, and passes on the signal that asks for an end. */
static int await(const struct cli *cli, pid_t child, int from)
{
    struct pollfd end = {.fd = from, .events = POLLIN};
    bool is_closed = false, is_interrupted = false;
    int status = 0;
    do {
        is_closed = is_closed || poll(&end, 1, LOOK_MS) > 0;
        if (*cli->interrupt != 0 && !is_interrupted) {
            kill(child, *cli->interrupt);
            is_interrupted = true;
        }
    } while (waitpid(child, &status, is_closed ? 0 : WNOHANG) != child);
    return status;
}

static int report(struct cli *cli, int status, const struct apart *shared)
{
    char text[DIAG_TEXT_CHARS];
    if (shared->has_ended || !crash_is_own(status)) {
        cli->child_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        return 0; /* the child has printed its findings */
    }
    const bool is_ours = shared->at_fault[0] == 0;
    crash_describe(is_ours ? "orrery, outside the plug-ins," : "the plug-in", status, text, sizeof text);
    const int code = is_ours ? diag_error(&cli->diag, SIM_E_CRASH, NULL, NULL, "%s", text)
                             : diag_error(&cli->diag, SIM_E_POLICY, shared->at_fault,
                                          shared->is_loaded ? "'orrery conform' checks policies one by one" : NULL,
                                          "%s", text);
    if (shared->run_id > 0) results_drop_run(shared->output, shared->run_id, shared->has_created, BUSY_MS, &cli->diag);
    if (shared->timeline[0] != 0) output_clean(shared->timeline);
    return code;
}

int apart_begin(struct cli *cli, const struct option_texts *paths)
{
    int ends[2];
    const pid_t parent = getpid();
    struct apart *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return fail_system(cli, "share memory");
    if (pipe(ends) != 0) return fail_system(cli, "open a pipe");
    for (size_t i = 0, n = 0; i < paths->n && n < sizeof shared->at_fault; i++)
        n += (size_t)snprintf(shared->at_fault + n, sizeof shared->at_fault - n, "%s%s", i > 0 ? ", " : "",
                              paths->items[i]);
    fflush(cli->out);
    fflush(cli->err);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        become_child(cli, shared, parent);
        return 1;
    }
    close(ends[1]);
    const int code = child > 0 ? report(cli, await(cli, child, ends[0]), shared) : fail_system(cli, "start a process");
    close(ends[0]);
    munmap(shared, sizeof *shared);
    return code;
}
