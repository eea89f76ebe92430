/* Speculation: how many drafts the decoding sequences of a replica verify in its next iteration. The view of a replica,
 * the plan of its drafts, the struct of a speculator.
 *
 * In an iteration with speculation every decoding sequence verifies some drafts beside its newest token, in one pass of
 * the LLM. It keeps the drafts up to the first wrong one, and one token that the LLM itself chose behind them
 * (Leviathan et al., ICML 2023; Chen et al., 2023). How many drafts are right is a property of the workload
 * (services.NAME.acceptance): a policy learns it only from earlier iterations. */
#ifndef ORRERY_WORLD_POLICY_SPECULATION_H
#define ORRERY_WORLD_POLICY_SPECULATION_H

#include "models/draft_tree.h"
#include "sim/core/units.h"
#include "sim/world/policy/policy.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SPECULATION_MAX_DEPTH = DRAFT_MAX_DEPTH, /* drafts that a sequence may accept in one iteration */
    SPECULATION_MAX_TOKENS = DRAFT_MAX_NODES /* that a sequence verifies beside its newest one */
};

/* What verification has found at a replica so far. A draft at depth i counts as offered if those before it were
 * accepted, so accepted[i] / offered[i] is the conditional rate at this depth. */
struct speculation_history {
    int64_t steps;    /* of a sequence with drafts */
    int64_t emitted;  /* tokens of these steps */
    int64_t prompts;  /* sequences whose tokens the draft model had to process before its drafts */
    double prompts_s; /* time that this took */
    int64_t offered[SPECULATION_MAX_DEPTH + 1], accepted[SPECULATION_MAX_DEPTH + 1]; /* [0] is unused */
};

/* One replica before its batcher composes the next iteration. */
struct speculation_view {
    sim_ns now_ns;
    int64_t sequences;      /* that decode, at least 1 */
    int64_t context_tokens; /* of these sequences */
    int64_t free_blocks, block_tokens;
    int64_t n_waiting, n_prefilling;
    const struct speculation_history *history;
    /* How often candidates of a rank and depth are right: what the draft model's confidences, or a measurement before
     * the run, say on average. Never changes. NULL: the scenario gives the acceptance of whatever is verified. */
    const struct draft_rates *rates;
};

/* Drafts of the next iteration. Handed over empty: no speculation. */
struct speculation_plan {
    int64_t depth;  /* drafts in a row that a sequence may accept; 0: no speculation */
    int64_t tokens; /* that a sequence verifies beside its newest: nodes of a tree; at least depth; 0: depth */
    int64_t passes; /* of the draft model, one after the other; 0: it has no work */
    int64_t width;  /* tokens of a sequence in each pass but the first, which has its newest one; 0: 1 */
    double host_s;  /* CPU time that proposing takes, before the iteration */
    int64_t iterations; /* after which it is asked again, at most, if the batch stays; INT64_MAX, as given: no limit */
    /* The drafts, if the view has rates: one tree, or one for each number of prompt tokens (draft_trees_reach). They
     * belong to the policy, which changes none that it has handed over. NULL: a chain of the best candidates. */
    const struct draft_tree *trees;
    int32_t n_trees;
};

/* Predicted seconds of an iteration that decodes the sequences of the view with these drafts and nothing else, by the
 * cost models of the service: those that the engine was profiled with. NAN where the model gives no time. */
double speculation_view_step_s(const struct speculation_view *view, const struct speculation_plan *plan);

/* What makes the drafts of a policy, and so their cost. */
enum speculation_draft {
    SPECULATION_DRAFT_LLM,    /* the draft LLM of the service (services.NAME.draft.llm); without one, nothing */
    SPECULATION_DRAFT_LAYERS, /* one further layer of the LLM, with the LLM's head */
    SPECULATION_DRAFT_NONE,   /* no model */
    SPECULATION_DRAFT_MTP,    /* the LLM's layers for multi-token prediction, or one further layer if it has none */
};

/* --- The family --- */

/* plan: fills in the drafts of the next iteration. Called before the batcher composes, if any sequence decodes. The
 * replica verifies fewer drafts than planned where KV blocks are short: of a tree, a chain of the best candidates, of
 * several trees nothing. Returns 0 or a negative code. */
#define SPECULATOR_FUNCTIONS(X)                                                                                        \
    X(speculator, OPTIONAL, int, plan,                                                                                 \
      (void *state, const struct speculation_view *view, struct speculation_plan *plan), (state, view, plan), view,    \
      POLICY_NONE)

struct speculator {
    struct policy policy;
    SPECULATOR_FUNCTIONS(POLICY_MEMBER)
    enum speculation_draft draft;
    /* Its plan follows from its parameters and the rates of candidates alone. The replicas of a pool then share its
     * state, so that what takes long is computed once. */
    bool plans_alike;
};

#endif
