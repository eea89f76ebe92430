/* Parallel prompt decoding: trained prompt tokens behind the newest token make the LLM itself guess several tokens
 * ahead, in the pass that verifies the guesses of the iteration before. No model drafts; the pass has the nodes of a
 * sparse tree, prompt tokens included.
 *
 * How far a sequence can guess depends on its last step: a node with g prompt tokens behind it gives guesses for g
 * levels. So there is a tree for each g (Chen et al., arXiv 2405.18628, dynamic sparse trees), each of at most
 * `tokens` nodes: the likeliest candidates of g levels, and prompt tokens for the rest. A pass has `tokens` for every
 * sequence. A prompt token goes where it adds most: the
 * probability that a step ends at the node, times what one more level gives there. The number of candidates is the one
 * with most tokens per step in the long run. The authors' program (sparse_tree_builder.py and model.py at 2ba3a1c)
 * removes the least useful prompt tokens from full trees, and each tree has its own number of candidates. It always
 * gives the newest token a prompt token for each level; here that is a node like the others.
 *
 * This needs rates of candidates (services.NAME.acceptance.ranks, rank_power). Without them the acceptance is that of
 * the whole tree. */
#include "policies/declared.h"
#include "sim/world/policy/speculation.h"

struct ppd_params {
    int64_t depth, tokens;
};

struct ppd {
    struct ppd_params params;
    bool has_trees;
    struct draft_tree trees[SPECULATION_MAX_DEPTH + 1]; /* [depth + 1], by prompt tokens */
};

static int ppd_init(void *state, const void *params, struct diag *diag)
{
    struct ppd *ppd = state;
    const struct ppd_params *given = params;
    ppd->params = *given;
    ppd->has_trees = false;
    if (given->tokens >= 2 * given->depth) return 0;
    return diag_error(diag, SIM_E_CONFIG, NULL, "raise tokens or lower depth",
                      "ppd: %lld tokens are fewer than the guesses of %lld levels and as many prompt tokens",
                      (long long)given->tokens, (long long)given->depth);
}

/* --- Trees --- */

/* ends[i]: probability that a step ends at node i - 1; 0: at the newest token. */
static void find_ends(const struct draft_rates *rates, const struct draft_tree *tree, double *ends)
{
    double kept[DRAFT_MAX_NODES];
    draft_tree_kept(rates, tree, kept);
    ends[0] = 1.0;
    for (int32_t i = 0; i < tree->n; i++) {
        ends[i + 1] = kept[i];
        ends[tree->nodes[i].parent + 1] -= kept[i];
    }
}

static uint8_t *guesses_at(struct draft_tree *tree, int32_t i)
{
    return i == 0 ? &tree->guesses : &tree->nodes[i - 1].guesses;
}

/* Deals prompt tokens to the nodes. gives[g]: drafts that the tree for g prompt tokens gives. */
static void add_prompts(const struct draft_rates *rates, const double *gives, int32_t depth, int64_t prompts,
                        struct draft_tree *tree)
{
    double ends[DRAFT_MAX_NODES + 1];
    find_ends(rates, tree, ends);
    for (; prompts > 0; prompts--) {
        int32_t best = -1;
        double most = 0.0;
        for (int32_t i = 0; i <= tree->n; i++) {
            const int32_t g = *guesses_at(tree, i);
            const double gain = g < depth ? ends[i] * (gives[g + 1] - gives[g]) : 0.0;
            if (gain <= most) continue;
            most = gain;
            best = i;
        }
        if (best < 0) return;
        ++*guesses_at(tree, best);
    }
}

/* Leaves a tree its likeliest candidates, which come first, and takes away its prompt tokens. */
static void cut_to(struct draft_tree *tree, int32_t candidates)
{
    tree->n = candidates;
    for (int32_t i = 0; i <= tree->n; i++) *guesses_at(tree, i) = 0;
}

/* Cuts the trees, which have most[g] candidates, to so many, and deals their prompt tokens. Returns the drafts per
 * step in the long run. */
static double build(const struct draft_rates *rates, const struct ppd_params *params, const int32_t *most,
                    int32_t candidates, struct draft_tree *trees)
{
    const int32_t depth = (int32_t)params->depth;
    double gives[DRAFT_MAX_DEPTH + 1] = {0.0}, kept[DRAFT_MAX_NODES], reach[DRAFT_MAX_DEPTH + 1], sum = 0.0;
    for (int32_t g = 0; g <= depth; g++) {
        cut_to(&trees[g], candidates < most[g] ? candidates : most[g]);
        gives[g] = draft_tree_kept(rates, &trees[g], kept);
    }
    for (int32_t g = 0; g <= depth; g++) add_prompts(rates, gives, depth, params->tokens - trees[g].n, &trees[g]);
    draft_trees_reach(rates, trees, depth + 1, reach);
    for (int32_t i = 1; i <= depth; i++) sum += reach[i];
    return sum;
}

/* Tries every number of candidates, or up to 64 of them. The likeliest candidates are the first ones of all. */
static void find_trees(struct ppd *ppd, const struct draft_rates *rates)
{
    const int32_t tokens = (int32_t)ppd->params.tokens, stride = 1 + tokens / 64;
    int32_t best = 1, most_candidates[SPECULATION_MAX_DEPTH + 1] = {0};
    double most = -1.0;
    for (int32_t g = 0; g <= (int32_t)ppd->params.depth; g++) {
        draft_tree_likeliest(rates, g, DRAFT_MAX_RANK, 0, tokens - 1, &ppd->trees[g]);
        most_candidates[g] = ppd->trees[g].n;
    }
    for (int32_t candidates = 1; candidates < tokens; candidates += stride) {
        const double drafts = build(rates, &ppd->params, most_candidates, candidates, ppd->trees);
        if (drafts <= most) continue;
        most = drafts;
        best = candidates;
    }
    build(rates, &ppd->params, most_candidates, best, ppd->trees);
    ppd->has_trees = true;
}

static int ppd_plan(void *state, const struct speculation_view *view, struct speculation_plan *plan)
{
    struct ppd *ppd = state;
    plan->depth = ppd->params.depth;
    plan->tokens = ppd->params.tokens;
    if (view->rates == NULL) return 0;
    if (!ppd->has_trees) find_trees(ppd, view->rates);
    plan->trees = ppd->trees;
    plan->n_trees = (int32_t)ppd->params.depth + 1;
    return 0;
}

#define ROW_OF struct ppd_params
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
               .params_bytes = sizeof(struct ppd_params),
               .state_bytes = sizeof(struct ppd),
               .init = ppd_init},
    .plan = ppd_plan,
    .draft = SPECULATION_DRAFT_NONE,
    .plans_alike = true,
};
