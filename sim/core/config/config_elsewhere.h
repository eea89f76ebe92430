/* Where a key belongs that stands in the wrong section. */
#ifndef ORRERY_CORE_CONFIG_CONFIG_ELSEWHERE_H
#define ORRERY_CORE_CONFIG_CONFIG_ELSEWHERE_H

#include "sim/core/config/config.h"

/* Writes the way to a field of this name below the table, through sections, maps and the alternatives of variants:
 * "batching.max_sequences", "services.NAME.replicas". The one with the fewest steps, the first among equals. Returns
 * false when there is none. */
bool config_find_elsewhere(const struct config_field *fields, const struct config_families *families, const char *name,
                           char *path, size_t path_bytes);

/* The same for a name that is one slip away from `name`, which has six letters at least. */
bool config_find_slip(const struct config_field *fields, const struct config_families *families, const char *name,
                      char *path, size_t path_bytes);

#endif
