/* A fixed number of drafts, whatever the load: a draft LLM proposes them one after the other, and one pass of the LLM
 * verifies them all (Leviathan et al., ICML 2023; Chen et al., 2023). */
#include "policies/declared.h"
#include "sim/world/policy/speculation.h"

struct fixed {
    int64_t drafts;
};

static int fixed_plan(void *state, const struct speculation_view *view, struct speculation_plan *plan)
{
    const struct fixed *params = state;
    (void)view;
    plan->depth = plan->passes = params->drafts;
    return 0;
}

#define ROW_OF struct fixed
static const struct config_field fixed_fields[] = {
    ROW_INT("drafts", drafts, DEFAULT("4"), WITHIN(0, SPECULATION_MAX_DEPTH),
            "drafts of each sequence in every iteration (vLLM: num_speculative_tokens); 0: no speculation"),
    {0}};
#undef ROW_OF

const struct speculator speculation_fixed = {
    .policy = {POLICY_HEAD(speculator, POLICY_SPECULATION),
               .name = "fixed",
               .summary = "a fixed number of drafts in every iteration, from a draft LLM",
               .source = "Leviathan et al., ICML 2023; Chen et al., arXiv 2302.01318",
               .params = fixed_fields,
               .params_bytes = sizeof(struct fixed),
               .state_bytes = sizeof(struct fixed)},
    .plan = fixed_plan,
    .draft = SPECULATION_DRAFT_LLM,
};
