/* Prompt lookup: the drafts are the tokens that followed the latest ones where they stood earlier in prompt or output
 * (vLLM's n-gram proposer). No model drafts; the CPU searches every sequence. Left out: a sequence without a match has
 * no drafts to verify; here it verifies as many, all wrong. */
#include "policies/declared.h"
#include "sim/world/policy/speculation.h"

struct ngram {
    int64_t drafts;
    double lookup_s;
};

static int ngram_plan(void *state, const struct speculation_view *view, struct speculation_plan *plan)
{
    const struct ngram *params = state;
    plan->depth = params->drafts;
    plan->host_s = (double)view->sequences * params->lookup_s;
    return 0;
}

#define ROW_OF struct ngram
static const struct config_field ngram_fields[] = {
    ROW_INT("drafts", drafts, DEFAULT("3"), WITHIN(1, SPECULATION_MAX_DEPTH), "drafts of each sequence"),
    ROW_QUANTITY("lookup_time", lookup_s, UNIT_TIME, DEFAULT("10us"), WITHIN(0, 10),
                 "CPU time of the search in each sequence; an assumption"),
    {0}};
#undef ROW_OF

const struct speculator speculation_ngram = {
    .policy = {POLICY_HEAD(speculator, POLICY_SPECULATION),
               .name = "ngram",
               .summary = "drafts looked up in prompt and output, without a model",
               .source = "Saxena, Prompt Lookup Decoding, 2023; vLLM, n-gram proposer",
               .params = ngram_fields,
               .params_bytes = sizeof(struct ngram),
               .state_bytes = sizeof(struct ngram)},
    .plan = ngram_plan,
    .draft = SPECULATION_DRAFT_NONE,
};
