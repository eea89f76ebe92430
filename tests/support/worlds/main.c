/* `make worlds N=100000 SEED=1`: random worlds on all cores. Usage: worlds N SEED [FIRST [list|keep]], or worlds
 * repeat|policies. An interrupt ends it early, with its summary. `keep` prints valid worlds with the hashes of their
 * results. `repeat` copies such lines from the input to the output, with the hashes of today. `policies` prints a hash
 * for each listed policy. Exit status 1: there are findings. */
#include "tests/support/worlds/kept.h"
#include "tests/support/worlds/kept_files.h"
#include "tests/support/worlds/kept_policies.h"
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
    if (argc == 2 && strcmp(argv[1], "repeat") == 0) return kept_repeat(stdin, stdout) == 0 ? 0 : 70;
    if (argc == 2 && strcmp(argv[1], "policies") == 0) return kept_policies_write(stdout) == 0 ? 0 : 70;
    if (argc == 3 && strcmp(argv[1], "files") == 0) return kept_files_write(argv[2], stdout) == 0 ? 0 : 70;
    if (argc < 3) {
        fputs("usage: worlds N SEED [FIRST [list|keep]], or worlds repeat|policies\n", stderr);
        return 2;
    }
    const struct worlds_options options = {.n = strtoull(argv[1], NULL, 10), .seed = strtoull(argv[2], NULL, 10),
                                           .first = argc > 3 ? strtoull(argv[3], NULL, 10) : 0,
                                           .most_events = 20000, .sweep_every = 10, .progress = true,
                                           .stop = &has_been_interrupted,
                                           .lists = argc > 4 && strcmp(argv[4], "list") == 0, .out = stdout};
    if (argc > 4 && strcmp(argv[4], "keep") == 0)
        return kept_draw(options.seed, options.first, options.n, stdout) == 0 ? 0 : 70;
    struct worlds_summary summary;
    const struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    if (worlds_run(&options, &summary) != 0) return 70;
    return summary.n_findings > 0;
}
