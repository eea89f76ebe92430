/* The table of all policies, and the policies as alternatives of a family of the configuration ("scheduler",
 * "batching"). */
#ifndef ORRERY_POLICIES_REGISTRY_H
#define ORRERY_POLICIES_REGISTRY_H

#include "sim/core/config/config.h"
#include "sim/world/policy/policy.h"

#include <stdbool.h>
#include <stddef.h>

/* All policies, in the order of list.h. */
struct policy_table policy_registry(void);

/* The policy of this family and name, or NULL. */
const struct policy *policy_find(enum policy_family family, const char *name);

/* A policy, built in or not, as a choice of its family; `entry` is the struct policy. */
struct config_alternative policy_as_alternative(const struct policy *policy);

/* A callback for struct config_families: the index-th policy of the family of this name; `entry` is its struct policy,
 * the first member of the family's struct. Returns false past the last one and for names that are no policy family. */
bool policy_alternative(const void *context, const char *family, size_t index, struct config_alternative *out);

#endif
