/* `make worlds N=100000 SEED=1`: random worlds on all cores. Usage: worlds N SEED [FIRST [list]]. An interrupt ends it
 * early, with its summary. Exit status 1: there are findings. */
#include "tests/support/worlds/worlds.h"

#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t has_been_interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    has_been_interrupted = 1;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fputs("usage: worlds N SEED [FIRST [list]]\n", stderr);
        return 2;
    }
    const struct worlds_options options = {.n = strtoull(argv[1], NULL, 10), .seed = strtoull(argv[2], NULL, 10),
                                           .first = argc > 3 ? strtoull(argv[3], NULL, 10) : 0,
                                           .most_events = 20000, .sweep_every = 10, .progress = true,
                                           .stop = &has_been_interrupted,
                                           .lists = argc > 4 && strcmp(argv[4], "list") == 0, .out = stdout};
    struct worlds_summary summary;
    const struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    if (worlds_run(&options, &summary) != 0) return 70;
    return summary.n_findings > 0;
}
