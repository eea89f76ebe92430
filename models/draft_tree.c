#include "models/draft_tree.h"

#include <math.h>
#include <string.h>

void draft_rates_by_power(struct draft_rates *rates, int32_t depth, double first, double power)
{
    double *of = rates->of[depth - 1];
    of[0] = first;
    for (int32_t rank = 2; rank <= DRAFT_MAX_RANK; rank++)
        of[rank - 1] = first > 0.0 ? (1.0 - first) * (pow(rank - 1, -power) - pow(rank, -power)) : 0.0;
}

/* --- The likeliest tree --- */

/* A tree that grows. Index 0 stands for the newest token, i + 1 for node i. */
struct growing {
    const struct draft_rates *rates;
    struct draft_tree *tree;
    int32_t depth, branches, extended;
    double kept[DRAFT_MAX_NODES + 1];
    int32_t depth_of[DRAFT_MAX_NODES + 1];
    int32_t children[DRAFT_MAX_NODES + 1];
    bool is_closed[DRAFT_MAX_NODES + 1];    /* nothing comes behind it */
    int32_t of_level[DRAFT_MAX_DEPTH + 1]; /* nodes so far */
};

/* The token whose next candidate is likeliest, the earlier one of equals; -1: none has a further one. */
static int32_t likeliest_parent(const struct growing *growing, double *kept)
{
    int32_t best = -1;
    for (int32_t i = 0; i <= growing->tree->n; i++) {
        if (growing->is_closed[i] || growing->children[i] == growing->branches) continue;
        const double next = growing->kept[i] *
                            draft_rate(growing->rates, growing->depth_of[i] + 1, growing->children[i] + 1);
        if (best >= 0 && next <= *kept) continue;
        best = i;
        *kept = next;
    }
    return best;
}

/* Nodes come likeliest first, so the first `extended` of a level are its likeliest. */
static void add_node(struct growing *growing, int32_t parent, double kept)
{
    struct draft_tree *tree = growing->tree;
    const int32_t depth = growing->depth_of[parent] + 1, i = ++tree->n;
    tree->nodes[i - 1] = (struct draft_node){
        .parent = (int16_t)(parent - 1), .depth = (uint8_t)depth, .rank = (uint8_t)++growing->children[parent]};
    growing->kept[i] = kept;
    growing->depth_of[i] = depth;
    growing->children[i] = 0;
    growing->of_level[depth]++;
    growing->is_closed[i] = depth == growing->depth ||
                            (growing->extended > 0 && growing->of_level[depth] > growing->extended);
}

void draft_tree_likeliest(const struct draft_rates *rates, int32_t depth, int32_t branches, int32_t extended, int32_t n,
                          struct draft_tree *tree)
{
    struct growing growing = {.rates = rates, .tree = tree, .depth = depth, .branches = branches, .extended = extended};
    growing.kept[0] = 1.0;
    growing.is_closed[0] = depth == 0;
    tree->n = 0;
    tree->guesses = 0;
    while (tree->n < n) {
        double kept = 0.0;
        const int32_t parent = likeliest_parent(&growing, &kept);
        if (parent < 0) return;
        add_node(&growing, parent, kept);
    }
}

/* --- What trees give --- */

double draft_tree_kept(const struct draft_rates *rates, const struct draft_tree *tree, double *kept)
{
    double sum = 0.0;
    for (int32_t i = 0; i < tree->n; i++) {
        const struct draft_node *node = &tree->nodes[i];
        kept[i] = (node->parent < 0 ? 1.0 : kept[node->parent]) * draft_rate(rates, node->depth, node->rank);
        sum += kept[i];
    }
    return sum;
}

enum { STATES = DRAFT_MAX_DEPTH + 1 };

/* Where a step leads that verifies this tree: a row of the chain. A step ends at a node that is kept, none of whose
 * children is. */
static void add_row(const struct draft_rates *rates, const struct draft_tree *tree, double *row)
{
    double kept[DRAFT_MAX_NODES], ends[DRAFT_MAX_NODES], root_ends = 1.0;
    draft_tree_kept(rates, tree, kept);
    for (int32_t i = 0; i < tree->n; i++) {
        const int32_t parent = tree->nodes[i].parent;
        ends[i] = kept[i];
        if (parent < 0)
            root_ends -= kept[i];
        else
            ends[parent] -= kept[i];
    }
    row[tree->guesses] += fmax(root_ends, 0.0);
    for (int32_t i = 0; i < tree->n; i++) row[tree->nodes[i].guesses] += fmax(ends[i], 0.0);
}

/* Multiplies the chain by itself, with rows that sum to 1. It adds row by row: no sum waits for its last summand. */
static void square(int32_t n, double chain[STATES][STATES])
{
    double squared[STATES][STATES] = {{0}};
    for (int32_t from = 0; from < n; from++) {
        double sum = 0.0, *row = squared[from];
        for (int32_t by = 0; by < n; by++)
            for (int32_t to = 0; to < n; to++) row[to] += chain[from][by] * chain[by][to];
        for (int32_t to = 0; to < n; to++) sum += row[to];
        for (int32_t to = 0; to < n; to++) row[to] /= sum;
    }
    memcpy(chain, squared, (size_t)n * sizeof *squared);
}

/* Shares of the trees among the steps of a long sequence, which begins with the last tree. The chain that stays with
 * probability 1/2 has the same shares, and no period. */
static void find_shares(const struct draft_rates *rates, const struct draft_tree *trees, int32_t n, double *shares)
{
    const int squarings = 24;
    double chain[STATES][STATES] = {{0}};
    for (int32_t from = 0; from < n; from++) {
        add_row(rates, &trees[from], chain[from]);
        for (int32_t to = 0; to < n; to++) chain[from][to] = 0.5 * (chain[from][to] + (from == to ? 1.0 : 0.0));
    }
    for (int i = 0; i < squarings; i++) square(n, chain);
    memcpy(shares, chain[n - 1], (size_t)n * sizeof *shares);
}

void draft_trees_reach(const struct draft_rates *rates, const struct draft_tree *trees, int32_t n, double *reach)
{
    double shares[STATES] = {1.0}, kept[DRAFT_MAX_NODES];
    if (n > 1) find_shares(rates, trees, n, shares);
    for (int32_t depth = 0; depth <= DRAFT_MAX_DEPTH; depth++) reach[depth] = depth == 0 ? 1.0 : 0.0;
    for (int32_t t = 0; t < n; t++) {
        draft_tree_kept(rates, &trees[t], kept);
        for (int32_t i = 0; i < trees[t].n; i++) reach[trees[t].nodes[i].depth] += shares[t] * kept[i];
    }
    for (int32_t depth = 1; depth <= DRAFT_MAX_DEPTH; depth++) reach[depth] = fmin(reach[depth], reach[depth - 1]);
}

bool draft_tree_is_sound(const struct draft_tree *tree, int32_t n_trees, int64_t depth, int64_t tokens)
{
    if (tree->n < 0 || tree->n > DRAFT_MAX_NODES || tree->guesses >= n_trees) return false;
    int64_t sum = tree->n + tree->guesses;
    for (int32_t i = 0; i < tree->n; i++) {
        const struct draft_node *node = &tree->nodes[i];
        if (node->parent < -1 || node->parent >= i || node->rank < 1 || node->rank > DRAFT_MAX_RANK) return false;
        if (node->depth != (node->parent < 0 ? 1 : tree->nodes[node->parent].depth + 1)) return false;
        if (node->depth > depth || node->guesses >= n_trees) return false;
        for (int32_t k = 0; k < i; k++)
            if (tree->nodes[k].parent == node->parent && tree->nodes[k].rank == node->rank) return false;
        sum += node->guesses;
    }
    return sum <= tokens;
}
