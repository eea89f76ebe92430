/* Speculators whose plans are alike (speculator.plans_alike): a plan does not depend on the replica that asks. */
#include "policies/registry.h"
#include "sim/world/policy/instance.h"
#include "sim/world/policy/speculation.h"
#include "tests/support/harness.h"
#include "tests/support/policy_params.h"

#include <string.h>

static struct speculation_view random_view(struct rng *rng, const struct draft_rates *rates,
                                           struct speculation_history *history)
{
    history->steps = 1 + (int64_t)rng_below(rng, 1000);
    history->emitted = history->steps + (int64_t)rng_below(rng, 3000);
    return (struct speculation_view){.now_ns = (sim_ns)rng_below(rng, 1000000000),
                                     .sequences = 1 + (int64_t)rng_below(rng, 500),
                                     .context_tokens = 500 + (int64_t)rng_below(rng, 1000000),
                                     .free_blocks = (int64_t)rng_below(rng, 10000),
                                     .block_tokens = 16,
                                     .n_waiting = (int64_t)rng_below(rng, 3),
                                     .history = history,
                                     .rates = rates};
}

static bool are_same(const struct speculation_plan *a, const struct speculation_plan *b)
{
    bool same = a->depth == b->depth && a->tokens == b->tokens && a->passes == b->passes && a->width == b->width &&
                a->host_s == b->host_s && a->iterations == b->iterations && a->n_trees == b->n_trees;
    for (int32_t i = 0; same && i < a->n_trees; i++)
        same = a->trees[i].n == b->trees[i].n && a->trees[i].guesses == b->trees[i].guesses &&
               memcmp(a->trees[i].nodes, b->trees[i].nodes, (size_t)a->trees[i].n * sizeof *a->trees[i].nodes) == 0;
    return same;
}

/* A state that was asked before plans what a new one plans. */
static void check_speculator(const struct speculator *policy, const char *params, const struct draft_rates *rates)
{
    SCOPED(arena) arena = {0};
    struct diag diag = {0};
    struct rng rng = test_rng(1, "alike", 0);
    const void *given = policy_params(&policy->policy, params, &arena);
    void *used;
    MUST(policy_state_create(&policy->policy, POLICY_SPECULATION, sizeof *policy, given, &used, &diag) == 0);
    for (int i = 0; i < 20; i++) {
        struct speculation_history history = {0};
        const struct speculation_view view = random_view(&rng, rates, &history);
        struct speculation_plan plan = {.iterations = INT64_MAX}, first = plan;
        void *fresh;
        MUST(policy_state_create(&policy->policy, POLICY_SPECULATION, sizeof *policy, given, &fresh, &diag) == 0);
        CHECK(policy->plan(used, &view, &plan) == 0 && policy->plan(fresh, &view, &first) == 0);
        CHECK(plan.depth > 0 && (plan.n_trees > 0) == (rates != NULL) && are_same(&plan, &first));
        policy_state_destroy(&policy->policy, fresh);
    }
    policy_state_destroy(&policy->policy, used);
}

TEST(a_plan_does_not_depend_on_the_replica)
{
    static struct draft_rates rates = {.depths = 1};
    const struct policy_table table = policy_registry();
    int n = 0;
    draft_rates_by_power(&rates, 1, 0.6, 0.5);
    for (size_t i = 0; i < table.n; i++) {
        const struct speculator *policy = (const void *)table.policies[i];
        if (table.policies[i]->family != POLICY_SPECULATION || !policy->plans_alike) continue;
        const bool is_eagle = strcmp(policy->policy.name, "eagle") == 0;
        check_speculator(policy, is_eagle ? "{\"depth\": 4, \"branches\": 5, \"tokens\": 40}" : NULL, &rates);
        check_speculator(policy, NULL, NULL);
        n++;
    }
    CHECK(n > 0);
}
