/* Parallel prompt decoding: trained prompt tokens behind the newest token make the LLM itself guess several tokens
 * ahead, in the pass that verifies the guesses of the iteration before. No model drafts; the pass has the nodes of a
 * sparse tree, prompt tokens included, for every sequence. */
#include "policies/declared.h"
#include "sim/world/policy/speculation.h"

struct ppd {
    int64_t depth, tokens;
};

static int ppd_init(void *state, const void *params, struct diag *diag)
{
    struct ppd *ppd = state;
    const struct ppd *given = params;
    *ppd = *given;
    if (ppd->tokens >= 2 * ppd->depth) return 0;
    return diag_error(diag, SIM_E_CONFIG, NULL, "raise tokens or lower depth",
                      "ppd: %lld tokens are fewer than the guesses of %lld levels and as many prompt tokens",
                      (long long)ppd->tokens, (long long)ppd->depth);
}

static int ppd_plan(void *state, const struct speculation_view *view, struct speculation_plan *plan)
{
    const struct ppd *params = state;
    (void)view;
    plan->depth = params->depth;
    plan->tokens = params->tokens;
    return 0;
}

#define ROW_OF struct ppd
static const struct config_field ppd_fields[] = {
    ROW_INT("depth", depth, DEFAULT("3"), WITHIN(1, SPECULATION_MAX_DEPTH), "guesses in a row"),
    ROW_INT("tokens", tokens, DEFAULT("24"), WITHIN(2, SPECULATION_MAX_TOKENS),
            "nodes of the tree beside the newest token, guesses and prompt tokens; an assumption"),
    {0}};
#undef ROW_OF

const struct speculator speculation_ppd = {
    .policy = {POLICY_HEAD(speculator, POLICY_SPECULATION),
               .name = "ppd",
               .summary = "parallel prompt decoding: the LLM guesses ahead in the pass that verifies",
               .source = "Chen et al., Hardware-Aware Parallel Prompt Decoding, arXiv 2405.18628",
               .params = ppd_fields,
               .params_bytes = sizeof(struct ppd),
               .state_bytes = sizeof(struct ppd),
               .init = ppd_init},
    .plan = ppd_plan,
    .draft = SPECULATION_DRAFT_NONE,
};
