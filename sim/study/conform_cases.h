/* The small scenarios of the conformance suite: situations that have caught policies before. */
#ifndef ORRERY_STUDY_CONFORM_CASES_H
#define ORRERY_STUDY_CONFORM_CASES_H

#include "sim/core/text.h"
#include "sim/world/policy/policy.h"

#include <stdbool.h>
#include <stddef.h>

struct conform_case {
    const char *name;
    size_t n;             /* jobs, requests or accesses */
    size_t n_rejected;    /* jobs that must be, whatever the policies */
    bool may_reject;      /* some requests may never fit */
    bool large;           /* one partner is enough */
    const void *details;
};

/* Those of a family: of jobs for schedulers, placers and renters, of requests for batchers and routers, of accesses for evictors. */
const struct conform_case *conform_cases(enum policy_family family, size_t *n);

/* Built-in policies of the family that a policy meets with; ends with NULL. A placer meets schedulers, a scheduler placers, a
 * batcher routers, a router batchers, an evictor evictors in the tier below, a renter schedulers. */
const char *const *conform_partners(enum policy_family family);

/* Where the scenario names the policy: "jobs.scheduler". */
const char *conform_key(enum policy_family family);

/* The scenario as JSON, with the policy and its partner. */
void conform_case_json(const struct conform_case *wanted, enum policy_family family, const char *policy,
                       const char *partner, struct text *json);

#endif
