/* A warning of `orrery run` about a service whose engine has a batching policy of its own, which it does not use. */
#ifndef ORRERY_CLI_RUN_DEFAULT_BATCHER_H
#define ORRERY_CLI_RUN_DEFAULT_BATCHER_H

#include "sim/cli/run/setup.h"

/* Warns of each service whose engine is that of another program than its default batching policy. A batching policy
 * that the scenario names is a choice. The warning is about the input: no result contains it. */
void warn_default_batcher(const struct setup *setup, struct diag *diag);

#endif
