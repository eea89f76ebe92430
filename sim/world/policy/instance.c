#include "sim/world/policy/instance.h"

#include "sim/core/check.h"
#include "sim/core/mem.h"
#include "sim/world/policy/all.h"

#include <stdio.h>
#include <string.h>

/* --- The table of families --- */

static const struct {
    const char *name, *key;
    size_t bytes;
    enum policy_family met;
    const char *partners[5];
} families[] = {
#define POLICY_FAMILY_ROW(id, title, family_struct, functions, path, meets, ...)                                       \
    [id] = {.name = title, .key = path, .bytes = sizeof(struct family_struct), .met = meets, .partners = {__VA_ARGS__}},
    POLICY_FAMILIES(POLICY_FAMILY_ROW)
#undef POLICY_FAMILY_ROW
};

const char *policy_family_name(enum policy_family family)
{
    return families[family].name;
}

size_t policy_family_bytes(enum policy_family family)
{
    return families[family].bytes;
}

const char *policy_family_key(enum policy_family family)
{
    return families[family].key;
}

enum policy_family policy_family_partner_family(enum policy_family family)
{
    return families[family].met;
}

const char *const *policy_family_partners(enum policy_family family)
{
    return families[family].partners;
}

/* --- Functions that a policy needs --- */

enum need { OPTIONAL, REQUIRED, ONE_OF };

/* A function of the family, and whether the policy has it. */
struct function {
    enum need need;
    const char *name;
    bool is_there;
};

static const char *first_missing(const struct function *functions, size_t n)
{
    const char *one_of = NULL;
    bool has_one = false;
    for (size_t i = 0; i < n; i++) {
        if (functions[i].need == REQUIRED && !functions[i].is_there) return functions[i].name;
        if (functions[i].need != ONE_OF) continue;
        has_one |= functions[i].is_there;
        if (one_of == NULL) one_of = functions[i].name;
    }
    return has_one ? NULL : one_of;
}

#define FUNCTION_ROW(family_struct, need, result, name, ...)                                                           \
    {need, #name, ((const struct family_struct *)(const void *)policy)->name != NULL},
#define MISSING_OF(id, title, family_struct, functions, ...)                                                           \
    static const char *missing_of_##family_struct(const struct policy *policy)                                         \
    {                                                                                                                  \
        const struct function rows[] = {functions(FUNCTION_ROW)};                                                      \
        return first_missing(rows, sizeof rows / sizeof *rows);                                                        \
    }
POLICY_FAMILIES(MISSING_OF)
#undef MISSING_OF
#undef FUNCTION_ROW

const char *policy_missing(const struct policy *policy)
{
    static const char *(*const missing[])(const struct policy *) = {
#define POLICY_MISSING(id, title, family_struct, ...) [id] = missing_of_##family_struct,
        POLICY_FAMILIES(POLICY_MISSING)
#undef POLICY_MISSING
    };
    return missing[policy->family](policy);
}

void policy_oracle_names(uint32_t oracle, char names[POLICY_ORACLE_CHARS])
{
    static const char *const all[] = {
#define POLICY_ORACLE_NAME(id, bit, name) [bit] = name,
        POLICY_ORACLES(POLICY_ORACLE_NAME)
#undef POLICY_ORACLE_NAME
    };
    size_t n = 0;
    names[0] = 0;
    for (size_t bit = 0; bit < sizeof all / sizeof *all; bit++)
        if (oracle >> bit & 1)
            n += (size_t)snprintf(names + n, POLICY_ORACLE_CHARS - n, "%s%s", n > 0 ? ", " : "", all[bit]);
    SIM_REQUIRE(n < POLICY_ORACLE_CHARS);
}

/* --- The life of a state --- */

int policy_state_init(const struct policy *policy, void *state, const void *params, struct diag *diag)
{
    if (policy->init != NULL) return policy->init(state, params, diag);
    if (params == NULL || policy->params_bytes == 0) return 0;
    SIM_REQUIRE(policy->state_bytes >= policy->params_bytes);
    memcpy(state, params, policy->params_bytes);
    return 0;
}

int policy_state_create(const struct policy *policy, enum policy_family family, size_t size, const void *params,
                        void **state, struct diag *diag)
{
    *state = NULL;
    if (policy->abi != POLICY_ABI || policy->family != family || policy->size != size)
        return diag_error(diag, SIM_E_POLICY, NULL, "build it against the headers of this version",
                          "policy '%s' does not fit as a %s policy: ABI %u, %u bytes, expected ABI %d, %zu bytes",
                          policy->name, families[family].name, policy->abi, policy->size, POLICY_ABI, size);
    void *made = mem_zalloc(1, policy->state_bytes);
    if (made == NULL) return diag_nomem(diag);
    const int n_errors = diag != NULL ? diag->n_errors : 0;
    const int code = policy_answered(policy, "init", policy_state_init(policy, made, params, diag), n_errors, diag);
    if (code == 0)
        *state = made;
    else
        mem_free(made);
    return code;
}

void policy_state_destroy(const struct policy *policy, void *state)
{
    if (state != NULL && policy->fini != NULL) policy->fini(state);
    mem_free(state);
}

int policy_failed(const struct policy *policy, const char *call, int code, sim_ns now, struct diag *diag)
{
    if (code == SIM_E_NOMEM) return diag_error(diag, code, NULL, NULL, "out of memory at %.9f s", sim_s_from_ns(now));
    if (diag != NULL && diag->n_errors > 0) return SIM_E_POLICY;
    return diag_error(diag, SIM_E_POLICY, NULL, NULL, "%s policy '%s' failed: %s returned %d at %.9f s",
                      families[policy->family].name, policy->name, call, code, sim_s_from_ns(now));
}

int policy_answered(const struct policy *policy, const char *call, int code, int n_errors, struct diag *diag)
{
    if (code >= 0) return 0;
    if (diag != NULL && diag->n_errors > n_errors) return code;
    if (code == SIM_E_NOMEM) return diag_nomem(diag);
    return diag_error(diag, SIM_E_POLICY, NULL, NULL, "%s policy '%s' failed: %s returned %d",
                      families[policy->family].name, policy->name, call, code);
}
