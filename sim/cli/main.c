/* orrery: the process around the command line. */
#include "sim/cli/cli.h"

#include <gsl/gsl_errno.h>

#include <sys/stat.h>

/* Set by SIGINT and SIGTERM, polled by runs. A signal handler reaches nothing but static storage. */
static volatile sig_atomic_t interrupted;

static void on_signal(int signal_number)
{
    interrupted = signal_number;
}

/* The first signal ends the run in good order, the second ends the process. A file that may not grow is an error of the
 * call that writes to it. */
static void install_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGXFSZ, SIG_IGN);
}

/* Where both streams go to one file, each line is written at once: messages follow the lines that came before them. */
static void keep_order(void)
{
    struct stat out, err;
    if (fstat(fileno(stdout), &out) == 0 && fstat(fileno(stderr), &err) == 0 && out.st_dev == err.st_dev &&
        out.st_ino == err.st_ino)
        setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
}

int main(int argc, char **argv)
{
    gsl_set_error_handler_off();
    keep_order();
    install_signals();
    struct cli cli = {.out = stdout, .err = stderr, .interrupt = &interrupted};
    diag_init(&cli.diag);
    return cli_main(&cli, argc, argv);
}
