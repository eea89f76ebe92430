/* The cost of iterations of each service: a table over batch and context, and one iteration by operator if the cost
 * model has operators. */
#ifndef ORRERY_CLI_EXPLAIN_EXPLAIN_COST_H
#define ORRERY_CLI_EXPLAIN_EXPLAIN_COST_H

#include "sim/cli/cli.h"
#include "sim/cli/run/setup.h"

#include <stdbool.h>

/* The iteration to show, as texts of the command line; NULL: default. */
struct explain_batch {
    const char *batch, *context, *prompt;
};

bool explain_batch_is_given(const struct explain_batch *given);

struct explain_cost_options {
    int form;       /* enum answer_form */
    bool operators; /* show only one iteration, by operator */
    struct explain_batch batch;
};

/* Returns 0 or a negative code with findings. */
int explain_cost(struct cli *cli, const struct setup *setup, const struct explain_cost_options *options);

#endif
