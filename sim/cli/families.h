/* What a scenario may choose from: all policies, trace formats, generators and cost models, as configuration families. */
#ifndef ORRERY_CLI_FAMILIES_H
#define ORRERY_CLI_FAMILIES_H

#include "sim/core/config.h"

struct config_families cli_families(void);

#endif
