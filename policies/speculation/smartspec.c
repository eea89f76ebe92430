/* SmartSpec: as many drafts as give the most tokens per second at the present load; none where verifying them costs
 * more than it brings (Liu et al., "Optimizing Speculative Decoding for Serving Large Language Models Using Goodput",
 * 2024).
 *
 *     goodput(k) = tokens(k) / step time(k),   k = 0 .. max_drafts
 *     tokens(k) = 1 + a + a^2 + ... + a^k            (estimate "rate")
 *     tokens(k) = 1 + a_1 + a_1 a_2 + ...            (estimate "by-depth")
 *
 * Drafts must gain `least_gain`. Step times are those that the cost models predict for the present batch. To them
 * comes the part of the draft model's work for prompts that falls to the tokens of the step: its mean seconds per
 * prompt, spread over `expected_output` tokens. Rates are quotients of moving averages over iterations with drafts: of
 * the drafts that were right, and of those whose predecessors were. Before the first draft they are `expected_rate`.
 *
 * While no drafts pay, nothing is learned of them. With `probe_every` such a stretch is broken by an iteration with
 * one draft after every so many iterations. */
#include "policies/declared.h"
#include "sim/world/policy/speculation.h"

enum { BY_RATE, BY_DEPTH };
static const char *const estimates[] = {"rate", "by-depth", NULL};

struct smartspec_params {
    int64_t max_drafts, probe_every;
    double expected_rate, weight, least_gain;
    int64_t expected_output;
    int estimate;
};

struct smartspec {
    struct smartspec_params params;
    /* moving averages of an iteration, by depth; [0]: of all drafts; their quotient is the rate */
    double mean_offered[SPECULATION_MAX_DEPTH + 1], mean_accepted[SPECULATION_MAX_DEPTH + 1];
    int64_t offered[SPECULATION_MAX_DEPTH + 1], accepted[SPECULATION_MAX_DEPTH + 1]; /* seen so far */
    int64_t off; /* decisions since the last one with drafts */
};

static int smartspec_init(void *state, const void *params, struct diag *diag)
{
    struct smartspec *smartspec = state;
    const struct smartspec_params *given = params;
    (void)diag;
    smartspec->params = *given;
    for (int i = 0; i <= SPECULATION_MAX_DEPTH; i++) {
        smartspec->mean_offered[i] = 1.0;
        smartspec->mean_accepted[i] = given->expected_rate;
    }
    return 0;
}

/* Moves the averages towards the drafts that were verified since the last decision. */
static void learn(struct smartspec *smartspec, int i, int64_t offered, int64_t accepted)
{
    const int64_t more = offered - smartspec->offered[i];
    if (more > 0) {
        const double weight = smartspec->params.weight, right = (double)(accepted - smartspec->accepted[i]);
        smartspec->mean_offered[i] += weight * ((double)more - smartspec->mean_offered[i]);
        smartspec->mean_accepted[i] += weight * (right - smartspec->mean_accepted[i]);
    }
    smartspec->offered[i] = offered;
    smartspec->accepted[i] = accepted;
}

static void learn_all(struct smartspec *smartspec, const struct speculation_history *history)
{
    int64_t offered = 0, accepted = 0;
    for (int i = 1; i <= smartspec->params.max_drafts; i++) {
        offered += history->offered[i];
        accepted += history->accepted[i];
        if (smartspec->params.estimate == BY_DEPTH) learn(smartspec, i, history->offered[i], history->accepted[i]);
    }
    learn(smartspec, 0, offered, accepted);
}

static double rate_at(const struct smartspec *smartspec, int64_t depth)
{
    const int64_t i = smartspec->params.estimate == BY_DEPTH ? depth : 0;
    return smartspec->mean_accepted[i] / smartspec->mean_offered[i];
}

/* Seconds of the draft model for the prompt of a sequence, for each token that it makes. */
static double prompt_s_per_token(const struct smartspec *smartspec, const struct speculation_history *history)
{
    if (history->prompts == 0) return 0.0;
    return history->prompts_s / (double)history->prompts / (double)smartspec->params.expected_output;
}

/* The drafts with the highest goodput; the fewest of equals. */
static int64_t best_drafts(const struct smartspec *smartspec, const struct speculation_view *view)
{
    const double without = 1.0 / speculation_view_step_s(view, &(struct speculation_plan){0});
    double best = without * (1.0 + smartspec->params.least_gain), tokens = 1.0, right_frac = 1.0;
    const double prompts_s = (double)view->sequences * prompt_s_per_token(smartspec, view->history);
    int64_t drafts = 0;
    for (int64_t k = 1; k <= smartspec->params.max_drafts; k++) {
        tokens += right_frac *= rate_at(smartspec, k);
        const double step_s = speculation_view_step_s(view, &(struct speculation_plan){.depth = k, .passes = k});
        const double goodput = tokens / (step_s + tokens * prompts_s);
        if (!(goodput > best)) continue;
        best = goodput;
        drafts = k;
    }
    return drafts;
}

static int smartspec_plan(void *state, const struct speculation_view *view, struct speculation_plan *plan)
{
    struct smartspec *smartspec = state;
    const int64_t probe_every = smartspec->params.probe_every;
    learn_all(smartspec, view->history);
    int64_t drafts = best_drafts(smartspec, view);
    if (drafts == 0 && probe_every > 0 && ++smartspec->off >= probe_every) drafts = 1;
    if (drafts > 0) smartspec->off = 0;
    plan->depth = plan->passes = drafts;
    plan->iterations = 1;
    return 0;
}

#define ROW_OF struct smartspec_params
static const struct config_field smartspec_fields[] = {
    ROW_INT("max_drafts", max_drafts, DEFAULT("8"), WITHIN(1, SPECULATION_MAX_DEPTH), "most drafts of a sequence"),
    ROW_INT("probe_every", probe_every, DEFAULT("0"), WITHIN(0, 1e9),
            "iterations without drafts after which one draft is tried; 0: never"),
    ROW_REAL("expected_rate", expected_rate, DEFAULT("0.9"), WITHIN(0, 1),
             "rate of right drafts before the first one is verified: high, so that drafts are tried; an assumption"),
    ROW_REAL("weight", weight, DEFAULT("0.02"), WITHIN(0.0001, 1), "of the latest iteration in the moving average"),
    ROW_REAL("least_gain", least_gain, DEFAULT("0.1"), WITHIN(0, 10),
             "goodput that drafts must gain, as a share of that without them (vLLM pull request 44336: 10 %)"),
    ROW_INT("expected_output", expected_output, DEFAULT("256"), WITHIN(1, 1e9),
            "tokens of an answer, over which the draft model's work for its prompt is spread; an assumption"),
    ROW_CHOICE("estimate", estimate, DEFAULT("rate"), estimates, "one rate of all drafts, or one of each depth"),
    {0}};
#undef ROW_OF

const struct speculator speculation_smartspec = {
    .policy = {POLICY_HEAD(speculator, POLICY_SPECULATION),
               .name = "smartspec",
               .summary = "as many drafts as maximise goodput at the present load, or none",
               .source = "Liu et al., SmartSpec, arXiv 2406.14066",
               .params = smartspec_fields,
               .params_bytes = sizeof(struct smartspec_params),
               .state_bytes = sizeof(struct smartspec),
               .init = smartspec_init},
    .plan = smartspec_plan,
    .draft = SPECULATION_DRAFT_LLM,
};
