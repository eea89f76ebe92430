/* Where the experts of each service's LLM may lie, and how much of what tokens carry from layer to layer stays on its
 * GPU then. */
#ifndef ORRERY_CLI_EXPLAIN_EXPLAIN_EXPERTS_H
#define ORRERY_CLI_EXPLAIN_EXPLAIN_EXPERTS_H

#include "sim/cli/cli.h"
#include "sim/cli/run/setup.h"

/* As texts of the command line; NULL: not given. */
struct explain_affinity {
    const char *share, *path;
};

/* Returns 0 or a negative code with findings. `form`: enum answer_form. */
int explain_experts(struct cli *cli, const struct setup *setup, const struct explain_affinity *given, int form);

#endif
