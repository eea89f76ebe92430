/* A warning of `orrery run` about node types of the cluster that nothing uses. */
#ifndef ORRERY_CLI_RUN_IDLE_TYPES_H
#define ORRERY_CLI_RUN_IDLE_TYPES_H

#include "sim/cli/run/setup.h"

/* Warns that the scheduler ignores further node types, with the names of those that no service uses. The warning is
 * about the input: no result contains it. */
void warn_idle_types(const struct setup *setup, struct diag *diag);

#endif
