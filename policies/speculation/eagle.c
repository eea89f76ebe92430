/* EAGLE: one layer on top of the LLM's hidden states drafts a chain, or a tree, token by token; the LLM verifies all
 * nodes of the tree in one pass.
 *
 * Each of `depth` passes extends the tree by a level. With `branches` above 1 a pass processes so many nodes of a
 * sequence, and the best `tokens` of all nodes are verified. How far a sequence gets is the acceptance of the whole
 * tree at each depth (services.NAME.acceptance), not of one of its chains. */
#include "policies/declared.h"
#include "sim/world/policy/speculation.h"

struct eagle {
    int64_t depth, branches, tokens;
};

static int eagle_init(void *state, const void *params, struct diag *diag)
{
    struct eagle *eagle = state;
    const struct eagle *given = params;
    *eagle = *given;
    if (eagle->tokens == 0) eagle->tokens = eagle->depth;
    if (eagle->tokens < eagle->depth)
        return diag_error(diag, SIM_E_CONFIG, NULL, "raise tokens, or leave it out for a chain",
                          "eagle: %lld tokens to verify are no tree of depth %lld", (long long)eagle->tokens,
                          (long long)eagle->depth);
    const int64_t most = eagle->branches + (eagle->depth - 1) * eagle->branches * eagle->branches;
    if (eagle->branches > 1 && eagle->tokens > most)
        return diag_error(diag, SIM_E_CONFIG, NULL, "raise branches or depth",
                          "eagle: a tree of depth %lld with %lld branches has at most %lld tokens, not %lld",
                          (long long)eagle->depth, (long long)eagle->branches, (long long)most,
                          (long long)eagle->tokens);
    if (eagle->branches > 1 || eagle->tokens == eagle->depth) return 0;
    return diag_error(diag, SIM_E_CONFIG, NULL, "raise branches, or leave tokens out",
                      "eagle: a chain of depth %lld has no %lld tokens to verify", (long long)eagle->depth,
                      (long long)eagle->tokens);
}

static int eagle_plan(void *state, const struct speculation_view *view, struct speculation_plan *plan)
{
    const struct eagle *params = state;
    (void)view;
    plan->depth = plan->passes = params->depth;
    plan->width = params->branches;
    plan->tokens = params->tokens;
    return 0;
}

#define ROW_OF struct eagle
static const struct config_field eagle_fields[] = {
    ROW_INT("depth", depth, DEFAULT("3"), WITHIN(1, SPECULATION_MAX_DEPTH),
            "levels of the tree, a pass of the layer each (SGLang: speculative_num_steps)"),
    ROW_INT("branches", branches, DEFAULT("1"), WITHIN(1, 64),
            "nodes that a pass extends (SGLang: speculative_eagle_topk); 1: a chain"),
    ROW_INT("tokens", tokens, DEFAULT("0"), WITHIN(0, SPECULATION_MAX_TOKENS),
            "nodes to verify beside the newest token (SGLang: speculative_num_draft_tokens - 1); 0: depth"),
    {0}};
#undef ROW_OF

const struct speculator speculation_eagle = {
    .policy = {POLICY_HEAD(speculator, POLICY_SPECULATION),
               .name = "eagle",
               .summary = "a chain or tree of drafts from one layer on the LLM's hidden states",
               .source = "Li et al., EAGLE, ICML 2024; EAGLE-2, EMNLP 2024; EAGLE-3, arXiv 2503.01840",
               .params = eagle_fields,
               .params_bytes = sizeof(struct eagle),
               .state_bytes = sizeof(struct eagle),
               .init = eagle_init},
    .plan = eagle_plan,
    .draft = SPECULATION_DRAFT_LAYERS,
};
