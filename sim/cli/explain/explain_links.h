/* The ways between a GPU and the memory that it reaches, as the scenario's cluster has them: how fast one GPU is, and all of
 * a node together. */
#ifndef ORRERY_CLI_EXPLAIN_EXPLAIN_LINKS_H
#define ORRERY_CLI_EXPLAIN_EXPLAIN_LINKS_H

#include "sim/cli/cli.h"
#include "sim/cli/run/setup.h"

#include <stdbool.h>

/* Returns 0 or a negative code with findings. */
int explain_links(struct cli *cli, const struct setup *setup, bool json);

#endif
