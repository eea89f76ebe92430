/* Multi-token prediction: a further layer of the LLM, trained with it, proposes the token after the next one. For more
 * drafts the layer runs again on its own result, as engines do with LLMs that have one such layer. */
#include "policies/declared.h"
#include "sim/world/policy/speculation.h"

struct mtp {
    int64_t drafts;
};

static int mtp_plan(void *state, const struct speculation_view *view, struct speculation_plan *plan)
{
    const struct mtp *params = state;
    (void)view;
    plan->depth = plan->passes = params->drafts;
    return 0;
}

#define ROW_OF struct mtp
static const struct config_field mtp_fields[] = {
    ROW_INT("drafts", drafts, DEFAULT("1"), WITHIN(1, SPECULATION_MAX_DEPTH),
            "drafts of each sequence, a pass of the layer each; DeepSeek-V3 is trained for 1"),
    {0}};
#undef ROW_OF

const struct speculator speculation_mtp = {
    .policy = {POLICY_HEAD(speculator, POLICY_SPECULATION),
               .name = "mtp",
               .summary = "drafts of the LLM's own layer for multi-token prediction",
               .source = "DeepSeek-V3, arXiv 2412.19437, section 2.2",
               .params = mtp_fields,
               .params_bytes = sizeof(struct mtp),
               .state_bytes = sizeof(struct mtp)},
    .plan = mtp_plan,
    .draft = SPECULATION_DRAFT_MTP,
};
