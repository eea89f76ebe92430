#include "tests/support/worlds/kept_policies.h"

#include "policies/registry.h"
#include "sim/cli/plugins.h"
#include "sim/store/record.h"
#include "sim/study/conform_cache.h"
#include "sim/world/policy/all.h"
#include "tests/support/worlds/kept.h"

/* Cases with so many jobs, requests or accesses are left out. */
enum { MANY = 250 };

/* Two caches with the policies of the scenario; each hit, miss and eviction counts. */
static int run_caches(const struct conform_case *wanted, const struct text *json, struct hash *hash)
{
    const struct config_families families = cli_families(NULL);
    struct config *config = NULL;
    struct arena arena;
    struct conform_cache caches = {0};
    struct hash_sink rows = {0};
    struct sink sink;
    struct diag diag;
    char hex[HASH_HEX_CHARS] = "";
    diag_init(&diag);
    arena_init(&arena);
    int code = config_parse(wanted->name, ".", json->chars, json->length, &config, &diag);
    if (code == 0) code = config_bind(config, conform_cache_fields, &families, &arena, &caches, sizeof caches, &diag);
    if (code == 0) code = hash_sink_init(&rows, KEEP_DECISIONS);
    if (code == 0) {
        sink = hash_sink(&rows);
        code = conform_cache_run(wanted, &caches, &sink, &diag);
    }
    if (code == 0) code = hash_sink_hex(&rows, hex);
    hash_text(hash, hex);
    hash_sink_fini(&rows);
    config_destroy(config);
    arena_fini(&arena);
    return code;
}

/* A run that is cut, as it takes more than some ten thousand events, has no results. */
static int run_scenario(const struct text *json, struct catalog_memory *memory, struct hash *hash)
{
    struct kept_results results = {0};
    const int code = kept_run(json->chars, memory, &results);
    hash_text(hash, results.rows);
    hash_text(hash, results.metrics);
    hash_i64(hash, results.n_warnings);
    return code == SIM_E_INTERRUPTED ? 0 : code;
}

static int run_case(const struct policy *policy, const struct conform_case *wanted, const char *partner,
                    struct catalog_memory *memory, struct hash *hash)
{
    struct text json;
    text_init(&json);
    conform_case_json(wanted, policy->family, policy->name, partner, &json);
    const int code = json.failed                            ? SIM_E_NOMEM
                     : conform_is_of_caches(policy->family) ? run_caches(wanted, &json, hash)
                                                            : run_scenario(&json, memory, hash);
    text_fini(&json);
    return code;
}

int kept_policy(const struct policy *policy, struct catalog_memory *memory, char hex[HASH_HEX_CHARS])
{
    const char *partner = policy_family_partners(policy->family)[0];
    size_t n;
    const struct conform_case *cases = conform_cases(policy->family, &n);
    struct hash *hash = hash_create();
    int code = hash != NULL ? 0 : SIM_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        if (code == 0 && cases[i].n < MANY) code = run_case(policy, &cases[i], partner, memory, hash);
    if (code == 0) hash_hex(hash, hex);
    hash_destroy(hash);
    return code;
}

int kept_policies_write(FILE *out)
{
    const struct policy_table table = policy_registry();
    struct catalog_memory memory;
    char hex[HASH_HEX_CHARS];
    int code = 0;
    catalog_memory_init(&memory);
    for (size_t i = 0; i < table.n && code == 0; i++) {
        const struct policy *policy = table.policies[i];
        code = kept_policy(policy, &memory, hex);
        if (code == 0) fprintf(out, "%s %s %s\n", policy_family_key(policy->family), policy->name, hex);
    }
    catalog_memory_fini(&memory);
    return code;
}
