/* What a table of fields says about a struct that is bound by it. Shared by the parts of config. */
#ifndef ORRERY_CORE_CONFIG_CONFIG_TABLE_H
#define ORRERY_CORE_CONFIG_CONFIG_TABLE_H

#include "sim/core/config/config.h"

/* How sure a CONFIG_SOURCED value may be said to be; ends with NULL. */
extern const char *const config_sures[];

bool config_is_scalar(enum config_kind kind);

/* Where the field lies in the struct at `base`. */
const void *config_value_at(const struct config_field *field, const void *base);

/* Whether the field may be left out and holds what is there when it is: then leaving it out of a document binds to the
 * same bytes again. */
bool config_is_absent(const struct config_field *field, const void *value);

/* Looks for an alternative by its name. `families` may be NULL: then there is none. */
bool config_find_alternative(const struct config_families *families, const char *family, const char *name,
                             struct config_alternative *found);
size_t config_count_alternatives(const struct config_families *families, const char *family);

#endif
