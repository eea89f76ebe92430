/* What all policies have. Every family adds its decision, in a header of its own beside this one: a view in, a plan
 * out.
 *
 * A policy is one file in policies/FAMILY/ that defines one const struct, listed once in policies/list.h. It keeps no
 * state outside the `state` that the world hands it. It sees read-only aggregates and ordered cursors, never copies.
 * A view holds nothing that a real system does not know; functions marked as oracle are the exception, which a policy
 * must declare and which the run records.
 *
 * A plan is a delta, so that a call costs what it changes; the world validates and applies it. An impossible action
 * ends the run with SIM_E_POLICY and names policy, action and reason. Reasons of preemptions, rejections and starts
 * are static texts and go to the decision table. */
#ifndef ORRERY_WORLD_POLICY_POLICY_H
#define ORRERY_WORLD_POLICY_POLICY_H

#include "sim/core/config/config_field.h"
#include "sim/core/err.h"
#include "sim/world/policy/families.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { POLICY_ABI = 5 };

/* Knowledge that no real system has; a policy that uses it says so, and the run records it. X(enum, bit, name) */
#define POLICY_ORACLES(X)                                                                                              \
    X(ORACLE_DURATION, 0, "duration")                                                                                  \
    X(ORACLE_OUTPUT, 1, "output tokens")                                                                               \
    X(ORACLE_FUTURE, 2, "future accesses")                                                                             \
    X(ORACLE_MIX, 3, "mix of jobs")                                                                                    \
    X(ORACLE_ESTIMATES, 4, "exact estimates") /* of runs whose estimates are the run times, of no policy */    \
    X(ORACLE_SPEEDS, 5, "exact speeds")

enum policy_oracle {
#define POLICY_ORACLE_ENUM(id, bit, name) id = 1u << (bit),
    POLICY_ORACLES(POLICY_ORACLE_ENUM)
#undef POLICY_ORACLE_ENUM
};

struct policy {
    uint32_t abi, size;                   /* POLICY_ABI, size of the family's struct: append-only */
    enum policy_family family;
    const char *name, *summary, *source;  /* "sjf", one line, the paper or system */
    uint32_t oracle;
    const struct config_field *params;    /* what a scenario may set; NULL: nothing */
    size_t params_bytes;
    size_t state_bytes;                   /* the world allocates, zeroes and frees it */
    /* NULL: the parameters are copied to the beginning of the state. Returns 0 or a negative code; after a failure
     * fini is not called. */
    int (*init)(void *state, const void *params, struct diag *diag);
    void (*fini)(void *state); /* may be NULL */
};

/* The members that every policy of a family sets alike: {POLICY_HEAD(router, POLICY_ROUTING), .name = ...}. */
#define POLICY_HEAD(family_struct, family_id) .abi = POLICY_ABI, .size = sizeof(struct family_struct), .family = family_id

/* --- Functions of a family --- */

/* A family's header lists its functions as rows X(struct, need, result, name, parameters, arguments, view, subject).
 * The members of the struct, the check of plug-ins and the conformance guard follow from the list.
 *
 * need: REQUIRED; OPTIONAL: may be NULL; ONE_OF: at least one of these is not NULL. view, subject: arguments
 * that the policy must not change; POLICY_NONE: none. */
#define POLICY_MEMBER(family_struct, need, result, name, parameters, ...) result(*name) parameters;
#define POLICY_NONE ((const char *)NULL)

/* A list of policies. */
struct policy_table {
    size_t n;
    const struct policy *const *policies;
};

/* The family's name in configs and listings, and the size of its struct. */
const char *policy_family_name(enum policy_family family);
size_t policy_family_bytes(enum policy_family family);

/* The key under which the conformance scenarios name a policy under test ("jobs.scheduler"). The family of the
 * built-in policies that it meets there, and their names: at most four, ended by NULL. */
const char *policy_family_key(enum policy_family family);
enum policy_family policy_family_partner_family(enum policy_family family);
const char *const *policy_family_partners(enum policy_family family);

/* The first required function that the policy lacks; NULL: it is complete. */
const char *policy_missing(const struct policy *policy);

/* The names of the oracle knowledge in this set, separated by commas; "" for none. */
enum { POLICY_ORACLE_CHARS = 96 };
void policy_oracle_names(uint32_t oracle, char names[POLICY_ORACLE_CHARS]);

/* What a plug-in exports under this name: pointers to its policies, ended by NULL. */
typedef const struct policy *const *orrery_policies_fn(void);

/* Stands once in a plug-in, and names its policies: ORRERY_PLUGIN(&smallest_area.policy, &my_router.policy) */
#define ORRERY_PLUGIN(...)                                                                                             \
    orrery_policies_fn orrery_policies;                                                                                \
    __attribute__((visibility("default"))) const struct policy *const *orrery_policies(void)                           \
    {                                                                                                                  \
        static const struct policy *const orrery_plugin_policies[] = {__VA_ARGS__, NULL};                              \
        return orrery_plugin_policies;                                                                                 \
    }

#endif
