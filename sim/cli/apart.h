/* A run with policies of plug-ins happens in a child process, so that a plug-in that crashes ends the run and not
 * orrery: the parent reports it and removes what the run has left behind. The child does all else, its output
 * included. */
#ifndef ORRERY_CLI_RUN_APART_H
#define ORRERY_CLI_RUN_APART_H

#include "sim/cli/cli.h"
#include "sim/cli/run/simulate.h"

#include <stdbool.h>
#include <stdint.h>

/* Memory of both processes. */
struct apart {
    volatile sig_atomic_t interrupt; /* what the parent's signal handler was called with */
    struct simulate_leftovers leftovers;
};

/* Divides the process. Returns 1 in the child, with *shared set, to go on with the call. Returns 0 in the parent when
 * the child has ended in order, with its status in cli->child_status; or SIM_E_POLICY if it crashed, or SIM_E_IO or
 * SIM_E_NOMEM. `plugins` are the files to name; `output` is the results database, or NULL. */
int apart_begin(struct cli *cli, const char *plugins, const char *output, struct apart **shared);

#endif
