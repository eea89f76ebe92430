/* What iterations of each service of a scenario cost: a table over batch and context, and one iteration by operator where
 * the cost model knows operators. */
#ifndef ORRERY_CLI_EXPLAIN_EXPLAIN_COST_H
#define ORRERY_CLI_EXPLAIN_EXPLAIN_COST_H

#include "sim/cli/cli.h"
#include "sim/cli/explain/explain_operators.h"
#include "sim/cli/setup.h"

#include <stdbool.h>

struct explain_cost_options {
    bool json;
    bool operators; /* only one iteration by operator */
    struct explain_batch batch;
};

/* Returns 0 or a negative code with findings. */
int explain_cost(struct cli *cli, const struct setup *setup, const struct explain_cost_options *options);

#endif
