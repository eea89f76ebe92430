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
    size_t n_rejected;    /* jobs that every policy must reject */
    bool may_reject;      /* some requests may never fit */
    bool large;           /* one partner is enough */
    const void *details;
};

/* The cases of a family: those whose scenarios have the family's key (policy/families.h). */
const struct conform_case *conform_cases(enum policy_family family, size_t *n);

/* Whether the policy may reject more jobs or requests than a case says; whether its family's cases are caches without
 * a site. */
bool conform_may_reject(const struct policy *policy);
bool conform_is_of_caches(enum policy_family family);

/* The scenario as JSON, with the policy and its partner. */
void conform_case_json(const struct conform_case *wanted, enum policy_family family, const char *policy,
                       const char *partner, struct text *json);

#endif
