/* Kept policies: what each listed policy comes to in the scenarios of the conformance suite, as a hash. These have more
 * ties, full caches and other corners than random worlds have. They tell that a decision has moved. */
#ifndef ORRERY_TESTS_SUPPORT_WORLDS_KEPT_POLICIES_H
#define ORRERY_TESTS_SUPPORT_WORLDS_KEPT_POLICIES_H

#include "sim/catalog/catalog.h"
#include "sim/core/hash.h"
#include "sim/world/policy/policy.h"

#include <stdio.h>

/* The hash of the results of all short scenarios with the first partner. Returns 0 or a negative code. */
int kept_policy(const struct policy *policy, struct catalog_memory *memory, char hex[HASH_HEX_CHARS]);

/* Writes a line for each listed policy: family, name, hash. Returns 0 or a negative code. */
int kept_policies_write(FILE *out);

#endif
