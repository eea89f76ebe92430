#include "sim/world/policy/instance.h"

#include "sim/core/check.h"
#include "sim/core/mem.h"

#include <stdio.h>

static const char *const family_names[] = {
#define POLICY_FAMILY_NAME(id, name) [id] = name,
    POLICY_FAMILIES(POLICY_FAMILY_NAME)
#undef POLICY_FAMILY_NAME
};

static const size_t family_bytes[] = {
    [POLICY_BATCHING] = sizeof(struct batcher),           [POLICY_ROUTING] = sizeof(struct router),
    [POLICY_KV_OFFLOAD] = sizeof(struct kv_offloader),    [POLICY_SCHEDULER] = sizeof(struct scheduler),
    [POLICY_PLACEMENT] = sizeof(struct placer),           [POLICY_EVICTION] = sizeof(struct evictor),
    [POLICY_AUTOSCALING] = sizeof(struct autoscaler),     [POLICY_POWER_CAP] = sizeof(struct power_capper),
    [POLICY_CHECKPOINTING] = sizeof(struct checkpointer), [POLICY_RENTAL] = sizeof(struct renter)};

const char *policy_family_name(enum policy_family family)
{
    return family_names[family];
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

size_t policy_family_bytes(enum policy_family family)
{
    return family_bytes[family];
}

int policy_state_create(const struct policy *policy, enum policy_family family, size_t size, const void *params,
                        void **state, struct diag *diag)
{
    *state = NULL;
    if (policy->abi != POLICY_ABI || policy->family != family || policy->size != size)
        return diag_error(diag, SIM_E_POLICY, NULL, "build it against the headers of this version",
                          "policy '%s' does not fit as a %s policy: ABI %u, %u bytes, expected ABI %d, %zu bytes",
                          policy->name, family_names[family], policy->abi, policy->size, POLICY_ABI, size);
    void *made = mem_zalloc(1, policy->state_bytes);
    if (made == NULL) return diag_error(diag, SIM_E_NOMEM, NULL, NULL, "out of memory");
    int code = policy->init == NULL ? 0 : policy->init(made, params, diag);
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

int policy_failed(const struct policy *policy, int code, sim_ns now, struct diag *diag)
{
    if (code == SIM_E_NOMEM) return diag_error(diag, code, NULL, NULL, "out of memory at %.9f s", sim_s_from_ns(now));
    if (diag->n_errors > 0) return SIM_E_POLICY;
    return diag_error(diag, SIM_E_POLICY, NULL, NULL, "%s policy '%s' failed with %d (%s) at %.9f s",
                      family_names[policy->family], policy->name, code, sim_err_text(code), sim_s_from_ns(now));
}
