/* The table of all policies, built from list.h. */
#include "policies/registry.h"

#include "policies/declared.h"
#include "sim/world/policy/all.h"

#include <string.h>

static const struct policy *const policies[] = {
#define POLICY(family_struct, symbol) &symbol.policy,
#include "policies/list.h"
#undef POLICY
    NULL,
};

struct policy_table policy_registry(void)
{
    return (struct policy_table){.n = sizeof policies / sizeof policies[0] - 1, .policies = policies};
}

const struct policy *policy_find(enum policy_family family, const char *name)
{
    for (size_t i = 0; policies[i] != NULL; i++) {
        if (policies[i]->family == family && strcmp(policies[i]->name, name) == 0) return policies[i];
    }
    return NULL;
}

struct config_alternative policy_as_alternative(const struct policy *policy)
{
    return (struct config_alternative){.name = policy->name,
                                       .summary = policy->summary,
                                       .fields = policy->params,
                                       .params_bytes = policy->params_bytes,
                                       .entry = policy};
}

bool policy_alternative(const void *context, const char *family, size_t index, struct config_alternative *out)
{
    (void)context;
    for (size_t i = 0; policies[i] != NULL; i++) {
        const struct policy *policy = policies[i];
        if (strcmp(policy_family_name(policy->family), family) != 0 || index-- > 0) continue;
        *out = policy_as_alternative(policy);
        return true;
    }
    return false;
}
