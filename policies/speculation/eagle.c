/* EAGLE: one layer on top of the LLM's hidden states drafts a chain, or a tree, token by token; the LLM verifies all
 * nodes of the tree in one pass.
 *
 * Each of `depth` passes extends the tree by a level: the first one the newest token. With `branches` above 1 a later
 * pass processes so many nodes of a sequence, each of which gets as many candidates. The best `tokens` of all are
 * verified. So does EAGLE-2, whose layer chooses the nodes by its confidences, anew in every iteration. Here the
 * rates of candidates choose them once, if the scenario has any (services.NAME.acceptance.ranks, rank_power). Else
 * the acceptance is that of the whole tree.
 *
 * The shape "likeliest" is Sequoia's (Chen et al., arXiv 2402.12374): passes extend all nodes of the likeliest tree of
 * `tokens` nodes, however many there are at a level. A later pass then processes as many as the widest level has. */
#include "policies/declared.h"
#include "sim/world/policy/speculation.h"

enum shape { SHAPE_EAGLE_2, SHAPE_LIKELIEST };

struct eagle_params {
    int64_t depth, branches, tokens;
    int shape; /* enum shape */
};

struct eagle {
    struct eagle_params params;
    struct speculation_plan plan; /* once asked: it is always the same */
    struct draft_tree tree;
};

/* Nodes of the largest tree, or DRAFT_MAX_NODES if that has more. */
static int64_t most_nodes(const struct eagle_params *params)
{
    const bool is_likeliest = params->shape == SHAPE_LIKELIEST;
    int64_t nodes = 0, level = 1;
    for (int64_t depth = 1; depth <= params->depth && nodes < DRAFT_MAX_NODES; depth++) {
        const int64_t extended = is_likeliest || level < params->branches ? level : params->branches;
        nodes += level = extended * params->branches;
    }
    return nodes < DRAFT_MAX_NODES ? nodes : DRAFT_MAX_NODES;
}

static int eagle_init(void *state, const void *params, struct diag *diag)
{
    struct eagle_params *eagle = &((struct eagle *)state)->params;
    const struct eagle_params *given = params;
    *eagle = *given;
    ((struct eagle *)state)->plan.depth = 0;
    if (eagle->tokens == 0) eagle->tokens = eagle->depth;
    if (eagle->tokens < eagle->depth)
        return diag_error(diag, SIM_E_CONFIG, NULL, "raise tokens, or leave it out for a chain",
                          "eagle: %lld tokens to verify are no tree of depth %lld", (long long)eagle->tokens,
                          (long long)eagle->depth);
    const int64_t most = most_nodes(eagle);
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

/* The passes that make a likeliest tree: one for each level, over the nodes with candidates behind them. */
static void plan_passes(const struct draft_tree *tree, struct speculation_plan *plan)
{
    int64_t extended[DRAFT_MAX_DEPTH + 1] = {0}; /* nodes at each depth; the newest token is one */
    bool is_parent[DRAFT_MAX_NODES] = {false};
    plan->passes = 0;
    plan->width = 1;
    for (int32_t i = 0; i < tree->n; i++) {
        const struct draft_node *node = &tree->nodes[i];
        if (node->depth > plan->passes) plan->passes = node->depth;
        if (node->parent < 0 || is_parent[node->parent]) continue;
        is_parent[node->parent] = true;
        if (++extended[node->depth - 1] > plan->width) plan->width = extended[node->depth - 1];
    }
}

static void make_plan(struct eagle *eagle, const struct draft_rates *rates)
{
    const struct eagle_params *params = &eagle->params;
    struct speculation_plan *plan = &eagle->plan;
    *plan = (struct speculation_plan){.depth = params->depth,
                                      .passes = params->depth,
                                      .width = params->branches,
                                      .tokens = params->tokens,
                                      .iterations = INT64_MAX};
    if (rates == NULL) return;
    const bool is_likeliest = params->shape == SHAPE_LIKELIEST;
    draft_tree_likeliest(rates, (int32_t)params->depth, (int32_t)params->branches,
                         is_likeliest ? 0 : (int32_t)params->branches, (int32_t)params->tokens, &eagle->tree);
    plan->trees = &eagle->tree;
    plan->n_trees = 1;
    if (is_likeliest) plan_passes(&eagle->tree, plan);
}

static int eagle_plan(void *state, const struct speculation_view *view, struct speculation_plan *plan)
{
    struct eagle *eagle = state;
    if (eagle->plan.depth == 0) make_plan(eagle, view->rates);
    *plan = eagle->plan;
    return 0;
}

static const char *const shape_names[] = {"eagle-2", "likeliest", NULL};

#define ROW_OF struct eagle_params
static const struct config_field eagle_fields[] = {
    ROW_INT("depth", depth, DEFAULT("3"), WITHIN(1, SPECULATION_MAX_DEPTH),
            "levels of the tree, a pass of the layer each (SGLang: speculative_num_steps)"),
    ROW_INT("branches", branches, DEFAULT("1"), WITHIN(1, 64),
            "nodes that a pass extends (SGLang: speculative_eagle_topk); 1: a chain"),
    ROW_INT("tokens", tokens, DEFAULT("0"), WITHIN(0, SPECULATION_MAX_TOKENS),
            "nodes to verify beside the newest token (SGLang: speculative_num_draft_tokens - 1); 0: depth"),
    ROW_CHOICE(
        "shape", shape, DEFAULT("eagle-2"), shape_names,
        "eagle-2: the best of the candidates behind the best `branches` nodes of each level; likeliest: the best "
        "of all (Sequoia), if the acceptance has rates of candidates"),
    {0}};
#undef ROW_OF

const struct speculator speculation_eagle = {
    .policy = {POLICY_HEAD(speculator, POLICY_SPECULATION),
               .name = "eagle",
               .summary = "a chain or tree of drafts from one layer on the LLM's hidden states",
               .source = "Li et al., EAGLE, ICML 2024; EAGLE-2, EMNLP 2024; EAGLE-3, arXiv 2503.01840; Chen et al., "
                         "Sequoia, arXiv 2402.12374",
               .params = eagle_fields,
               .params_bytes = sizeof(struct eagle_params),
               .state_bytes = sizeof(struct eagle),
               .init = eagle_init},
    .plan = eagle_plan,
    .draft = SPECULATION_DRAFT_LAYERS,
    .plans_alike = true,
};
