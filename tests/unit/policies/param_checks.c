/* What policies demand of several parameters together: what they accept and refuse, at the very edge. */
#include "policies/registry.h"
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
