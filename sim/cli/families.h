/* What a scenario may choose from: all policies, trace formats, generators and cost models, as configuration families. */
#ifndef ORRERY_CLI_FAMILIES_H
#define ORRERY_CLI_FAMILIES_H

#include "sim/cli/plugins.h"
#include "sim/core/config/config.h"

/* Those of the plug-ins come behind the built-in ones. `plugins` may be NULL; else it must outlive the result. */
struct config_families cli_families(const struct plugins *plugins);

#endif
