/* Every listed policy comes to the results that stand in policies.txt, in the scenarios of the conformance suite. When
 * results move on purpose, say why in the body of the commit, and run `make accept`. */
#include "policies/registry.h"
#include "sim/world/policy/all.h"
#include "tests/support/harness.h"
#include "tests/support/worlds/kept_policies.h"

/* The hash of a line "family name hash" for the policy, in `line`; "": there is none. */
static const char *hash_of(const struct policy *policy, char line[256])
{
    char start[200];
    FILE *file = fopen("tests/golden/policies.txt", "r");
    const int n = snprintf(start, sizeof start, "%s %s ", policy_family_key(policy->family), policy->name);
    const char *hash = "";
    while (file != NULL && *hash == 0 && fgets(line, 256, file) != NULL) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, start, (size_t)n) == 0) hash = line + n;
    }
    if (file != NULL) fclose(file);
    return hash;
}

TEST_OPTIMISED(kept_policies_come_to_their_results)
{
    const struct policy_table table = policy_registry();
    struct catalog_memory memory;
    char line[256];
    catalog_memory_init(&memory);
    for (size_t i = 0; i < table.n; i++) {
        const struct policy *policy = table.policies[i];
        char hash[HASH_HEX_CHARS] = "";
        CHECK_EQ_INT(kept_policy(policy, &memory, hash), 0);
        if (!CHECK_EQ_STR(hash, hash_of(policy, line)))
            printf("\n  %s %s", policy_family_key(policy->family), policy->name);
    }
    catalog_memory_fini(&memory);
}
