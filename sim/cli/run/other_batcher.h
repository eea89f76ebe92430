/* A warning of `orrery run` about a service that has one engine and the scheduler of another one. */
#ifndef ORRERY_CLI_RUN_OTHER_BATCHER_H
#define ORRERY_CLI_RUN_OTHER_BATCHER_H

#include "sim/cli/run/setup.h"

/* Warns of each service, or pool, whose batching policy is the scheduler of another engine than the one that it names.
 * Policies of papers are no engine's. The warning is about the input: no result contains it. */
void warn_other_batcher(const struct setup *setup, struct diag *diag);

#endif
