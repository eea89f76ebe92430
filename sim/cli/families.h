/* Configuration families: all policies, trace formats, generators and cost models that a scenario may name. */
#ifndef ORRERY_CLI_FAMILIES_H
#define ORRERY_CLI_FAMILIES_H

#include "sim/cli/plugins.h"
#include "sim/core/config/config.h"

/* Policies of plug-ins follow the built-in ones. `plugins` may be NULL; else it must outlive the result. */
struct config_families cli_families(const struct plugins *plugins);

#endif
