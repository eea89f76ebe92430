/* A warning of `orrery run` about prices in the hardware catalog that nobody has published. */
#ifndef ORRERY_CLI_RUN_DERIVED_PRICE_H
#define ORRERY_CLI_RUN_DERIVED_PRICE_H

#include "sim/cli/run/setup.h"

/* Warns of each GPU of the services whose list price is derived from prices of others, with its origin, unless the
 * scenario gives the price. The warning is about the input: no result contains it. Returns 0 or a negative code. */
int warn_derived_prices(const struct setup *setup, struct arena *arena, struct diag *diag);

#endif
