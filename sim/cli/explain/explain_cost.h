/* What iterations of each service of a scenario cost: a table over batch and context, and one iteration by operator where
 * the cost model knows operators. */
#ifndef ORRERY_CLI_EXPLAIN_EXPLAIN_COST_H
#define ORRERY_CLI_EXPLAIN_EXPLAIN_COST_H

#include "sim/cli/cli.h"
#include "sim/cli/run/setup.h"

#include <stdbool.h>

/* The iteration to look at, as the command line has it; NULL where it says nothing. */
struct explain_batch {
    const char *batch, *context, *prompt;
};

bool explain_batch_is_given(const struct explain_batch *given);

struct explain_cost_options {
    bool json;
    bool operators; /* only one iteration by operator */
    struct explain_batch batch;
};

/* Returns 0 or a negative code with findings. */
int explain_cost(struct cli *cli, const struct setup *setup, const struct explain_cost_options *options);

#endif
