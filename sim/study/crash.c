#include "sim/study/crash.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
enum { N_CRASH_SIGNALS = sizeof crash_signals / sizeof *crash_signals };

void crash_plainly(void)
{
    for (size_t i = 0; i < N_CRASH_SIGNALS; i++) signal(crash_signals[i], SIG_DFL);
}

bool crash_is_own(int status)
{
    if (!WIFSIGNALED(status)) return true;
    for (size_t i = 0; i < N_CRASH_SIGNALS; i++)
        if (crash_signals[i] == WTERMSIG(status)) return true;
    return false;
}

void crash_describe(const char *who, int status, char *text, size_t text_bytes)
{
    if (WIFSIGNALED(status))
        snprintf(text, text_bytes, "%s crashes: signal %d (%s)", who, WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(text, text_bytes, "%s ends the process: status %d", who, WEXITSTATUS(status));
}
