/* What iterations of each service of a scenario cost, as a table over batch and context. */
#ifndef ORRERY_CLI_EXPLAIN_COST_H
#define ORRERY_CLI_EXPLAIN_COST_H

#include "sim/cli/cli.h"
#include "sim/cli/setup.h"

#include <stdbool.h>

/* Returns 0 or a negative code with findings. */
int explain_cost(struct cli *cli, const struct setup *setup, bool as_json);

#endif
