/* orrery: the process around the command line. */
#include "sim/cli/cli.h"

#include <gsl/gsl_errno.h>

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

int main(int argc, char **argv)
{
    gsl_set_error_handler_off();
    install_signals();
    struct cli cli = {.out = stdout, .err = stderr, .interrupt = &interrupted};
    diag_init(&cli.diag);
    return cli_main(&cli, argc, argv);
}
