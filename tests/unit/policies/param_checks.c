/* What policies demand of several parameters together: what they accept and refuse, at the very edge. */
#include "policies/registry.h"
#include "sim/world/policy/all.h"
#include "sim/world/policy/instance.h"
#include "tests/support/harness.h"
#include "tests/support/policy_params.h"

struct edge {
    enum policy_family family;
    const char *name, *accepted, *refused;
};

#define RATES3 "'prompt_products': '1TFLOP/s', 'prompt_attention': '1TFLOP/s', 'token_attention': '1TFLOP/s'"

static const struct edge edges[] = {
    {POLICY_KV_OFFLOAD, "flexgen", "{'weights_gpu': 0.5, 'weights_host': 0.5}",
     "{'weights_gpu': 0.5, 'weights_host': 0.501}"},
    {POLICY_KV_OFFLOAD, "flexgen", "{'cache_gpu': 0, 'cache_host': 1}", "{'cache_gpu': 0.001, 'cache_host': 1}"},
    {POLICY_KV_OFFLOAD, "flexgen", "{'hidden_gpu': 0.75, 'hidden_host': 0.25}",
     "{'hidden_gpu': 0.75, 'hidden_host': 0.26}"},
    {POLICY_KV_OFFLOAD, "flexgen", "{" RATES3 ", 'token_products': '1TFLOP/s'}", "{'token_products': '1TFLOP/s'}"},
    {POLICY_BATCHING, "vllm-v1", "{'max_sequences': 300, 'token_budget': 300}",
     "{'max_sequences': 300, 'token_budget': 299}"},
    {POLICY_BATCHING, "vllm-v1", "{'max_sequences': 2048}", "{'max_sequences': 2049}"},
    {POLICY_BATCHING, "trtllm", "{'token_budget': 64, 'chunk_unit_tokens': 64}",
     "{'token_budget': 64, 'chunk_unit_tokens': 65}"},
    {POLICY_POWER_CAP, "polca", "{'t1': 0.7, 't2': 0.701}", "{'t1': 0.7, 't2': 0.7}"},
    {POLICY_POWER_CAP, "polca", "{'t2': 1}", "{'t2': 1.01}"},
    {POLICY_POWER_CAP, "polca", "{'t1': 8, 't2': 9, 'brake_on': 9}", "{'t1': 8, 't2': 9}"},
    {POLICY_POWER_CAP, "polca", "{'hysteresis': 0.79}", "{'hysteresis': 0.8}"},
    {POLICY_POWER_CAP, "polca", "{'low_t1': '1110MHz'}", "{'low_t1': '1109MHz'}"},
    {POLICY_POWER_CAP, "polca", "{'brake_on': 0.9, 'brake_off': 0.9}", "{'brake_on': 0.9, 'brake_off': 0.95}"},
    {POLICY_POWER_CAP, "polca", "{'brake_off': 0.001}", "{'brake_off': 0}"},
    {POLICY_POWER_CAP, "single-threshold", "{'hysteresis': 0.88}", "{'hysteresis': 5}"},
    {POLICY_POWER_CAP, "single-threshold", "{'threshold': 1}", "{'threshold': 1.01}"},
    {POLICY_POWER_CAP, "single-threshold", "{'brake_off': 1}", "{'brake_off': 1.01}"},
    {POLICY_POWER_CAP, "brake", "{'brake_on': 5, 'brake_off': 5}", "{'brake_off': 5}"},
    {POLICY_AUTOSCALING, "schedule", "{'steps': [{'at': '1s', 'replicas': 1}, {'at': '1.001s', 'replicas': 1}]}",
     "{'steps': [{'at': '1s', 'replicas': 1}, {'at': '1s', 'replicas': 1}]}"},
    {POLICY_AUTOSCALING, "schedule", "{'period': '10s', 'steps': [{'at': '9.999s', 'replicas': 1}]}",
     "{'period': '10s', 'steps': [{'at': '10s', 'replicas': 1}]}"},
    {POLICY_SCHEDULER, "tiresias-gittins", "{'variant': 'released', 'quantum': 1}",
     "{'variant': 'released', 'quantum': 0.99}"},
    {POLICY_SCHEDULER, "tiresias-gittins", "{'limits': [1, 1.5]}", "{'limits': [1, 1]}"},
    {POLICY_SCHEDULER, "tiresias-gittins", "{'limits': []}", "{'limits': [2, 3, 1]}"},
    {POLICY_SCHEDULER, "tiresias", "{'limits': [1, 1.5]}", "{'limits': [1, 1]}"},
};

static void check_init(const struct edge *edge, const char *json, int expected)
{
    SCOPED(arena) arena = {0};
    struct diag diag = {0};
    const struct policy *policy = policy_find(edge->family, edge->name);
    MUST(policy != NULL && policy->init != NULL);
    void *state = mem_zalloc(1, policy->state_bytes);
    const int code = policy->init(state, policy_params(policy, json, &arena), &diag);
    if (!CHECK_EQ_INT(code, expected)) printf("\n  %s %s", edge->name, json);
    CHECK_EQ_INT(diag.n_errors, expected != 0);
    if (code == 0 && policy->fini != NULL) policy->fini(state);
    mem_free(state);
}

TEST(parameters_are_accepted_and_refused_at_the_edge)
{
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        check_init(&edges[i], edges[i].accepted, 0);
        check_init(&edges[i], edges[i].refused, SIM_E_CONFIG);
    }
}

/* Parameters that do nothing beside others. */
static const struct edge silent[] = {
    {POLICY_BATCHING, "vllm-v1", "{'order': 'priority', 'priorities': {'a': 1}}", "{'order': 'priority'}"},
    {POLICY_BATCHING, "vllm-v1", "{}", "{'priorities': {'a': 1}}"},
    {POLICY_BATCHING, "sglang", "{'order': 'priority', 'priorities': {'a': 0, 'b': -1}}",
     "{'order': 'priority', 'priorities': {'a': 0}}"},
    {POLICY_BATCHING, "sglang", "{'order': 'lpm'}", "{'order': 'lpm', 'priorities': {'a': 1}}"},
    {POLICY_SCHEDULER, "synergy", "{'order': 'ftf', 'round': '1min'}", "{'order': 'fifo', 'round': '1min'}"},
    {POLICY_SCHEDULER, "synergy", "{'order': 'srtf', 'round': '300s'}", "{'order': 'srtf', 'round': '301s'}"},
    {POLICY_SCHEDULER, "gavel", "{'objective': 'cost', 'slo': 2}", "{'slo': 2}"},
};

static int warnings_of(const struct edge *edge, const char *json)
{
    SCOPED(arena) arena = {0};
    struct diag diag = {0};
    const struct policy *policy = policy_find(edge->family, edge->name);
    if (!CHECK(policy != NULL)) return -1;
    void *state = mem_zalloc(1, policy->state_bytes);
    CHECK_EQ_INT(policy_state_init(policy, state, policy_params(policy, json, &arena), &diag), 0);
    if (edge->family == POLICY_SCHEDULER)
        CHECK_EQ_INT(((const struct scheduler *)policy)->prepare(state, &(const struct cluster_view){0}, &diag), 0);
    if (policy->fini != NULL) policy->fini(state);
    mem_free(state);
    return diag.n_warnings;
}

TEST(parameters_without_an_effect_are_warned_of)
{
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) {
        CHECK_EQ_INT(warnings_of(&silent[i], silent[i].accepted), 0);
        if (!CHECK_EQ_INT(warnings_of(&silent[i], silent[i].refused), 1)) printf("\n  %s", silent[i].refused);
    }
}

/* A cluster of this many node types. Returns the code of `prepare`. */
static int prepare_types(const char *name, int types, struct diag *diag)
{
    SCOPED(arena) arena = {0};
    struct cluster_view views[16] = {0};
    const struct policy *policy = policy_find(POLICY_SCHEDULER, name);
    if (!CHECK(policy != NULL && types <= 16)) return -1;
    for (int j = 0; j + 1 < types; j++) views[j].next_type = &views[j + 1];
    void *state = mem_zalloc(1, policy->state_bytes);
    CHECK_EQ_INT(policy_state_init(policy, state, policy_params(policy, "{}", &arena), diag), 0);
    const int code = ((const struct scheduler *)policy)->prepare(state, views, diag);
    if (policy->fini != NULL) policy->fini(state);
    mem_free(state);
    return code;
}

TEST(policies_of_gavel_refuse_more_than_eight_node_types)
{
    static const char *const names[] = {"gavel",          "gavel-fifo",  "gavel-fifo-perf", "gavel-fifo-packed",
                                        "gavel-isolated", "gavel-packed"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct diag diag = {0};
        CHECK_EQ_INT(prepare_types(names[i], 8, &diag), 0);
        CHECK_EQ_INT(diag.n_errors, 0);
        CHECK_EQ_INT(prepare_types(names[i], 9, &diag), SIM_E_CONFIG);
        CHECK_EQ_STR(diag.items[0].text, "the policies of Gavel divide at most 8 node types, and the cluster has 9");
    }
}
