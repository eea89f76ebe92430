/* Parameters of policies for tests that make them without a scenario. */
#ifndef ORRERY_TESTS_SUPPORT_POLICY_PARAMS_H
#define ORRERY_TESTS_SUPPORT_POLICY_PARAMS_H

#include "sim/core/mem.h"
#include "sim/world/policy/all.h"

/* Bound from JSON (NULL: defaults); NULL when the policy has none. They live in `arena`. */
const void *policy_params(const struct policy *policy, const char *json, struct arena *arena);

#endif
