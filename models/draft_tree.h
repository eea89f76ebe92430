/* Trees of drafts: which candidates for the next tokens an LLM verifies in one pass, and how many of them are right.
 *
 * A draft model ranks its candidates at each place. The candidate of rank r at depth d is the right one with
 * probability p(d, r), whatever came before: siblings exclude each other, and depths are independent. Sequoia calls
 * this positional acceptance, with the same p(r) at every depth (Chen et al., arXiv 2402.12374). Medusa (Cai et al.,
 * arXiv 2401.10774) and parallel prompt decoding (Chen et al., arXiv 2405.18628) choose trees by a p(r) of each depth.
 * A node is kept if all candidates on its path are right, so its probability is their product. A tree then gives
 *
 *     1 + sum over its nodes of the product of p(depth, rank) along the node's path
 *
 * tokens per pass. The sum grows with each node, and a node is never likelier than its parent or its better siblings.
 * So the n likeliest nodes form a tree, and no tree of n nodes gives more. */
#ifndef ORRERY_MODELS_DRAFT_TREE_H
#define ORRERY_MODELS_DRAFT_TREE_H

#include <stdbool.h>
#include <stdint.h>

enum { DRAFT_MAX_DEPTH = 32, DRAFT_MAX_NODES = 256, DRAFT_MAX_RANK = 64 };

/* How often candidates are right. Deeper ones than stated are as those of the last depth. */
struct draft_rates {
    int32_t depths; /* stated, from 1 */
    /* [depth - 1][rank - 1]; of a depth: never rises with the rank, sums to at most 1 */
    double of[DRAFT_MAX_DEPTH][DRAFT_MAX_RANK];
};

static inline double draft_rate(const struct draft_rates *rates, int32_t depth, int32_t rank)
{
    return rates->of[(depth < rates->depths ? depth : rates->depths) - 1][rank - 1];
}

/* Sets the rates of a depth by a power law: none of the r best candidates is right in a share (1 - first) r^-power of
 * the cases. Sequoia analyses such laws. Published measurements have these powers, and differ from the law by at most
 * the share in brackets. A first candidate that is never right has no right siblings.
 *   Sequoia's vector, 6 ranks (acceptance-rate-vector.pt at 0ff3ff7): 0.522 (0.006)
 *   Medusa, Vicuna-7B, 5 ranks of heads 1 to 5 (assets/medusa_acc.csv at e2a5d20): 0.432, 0.268, 0.188, 0.153, 0.137
 *   (0.012)
 *   parallel prompt decoding, Vicuna-7B, 8 to 10 ranks of guesses 1 to 3, as its trees imply
 *   (prompt/inference/dynamic_sparse_trees_3_vicuna_7b.py at 2ba3a1c): 0.522 (0.014), 0.379 (0.025), 0.298 (0.039) */
void draft_rates_by_power(struct draft_rates *rates, int32_t depth, double first, double power);

struct draft_node {
    int16_t parent;      /* index of an earlier node; -1: the newest token */
    uint8_t depth, rank; /* from 1 */
    uint8_t guesses;     /* parallel prompt decoding: prompt tokens behind this candidate */
};

/* The newest token, which is no node, has depth 0. */
struct draft_tree {
    int32_t n;
    uint8_t guesses; /* prompt tokens behind the newest token */
    struct draft_node nodes[DRAFT_MAX_NODES];
};

/* Fills in the likeliest tree of at most n nodes, likeliest first. It has at most `depth` levels, and a token has at
 * most `branches` candidates behind it. extended: only so many nodes of a level, the likeliest, have candidates behind
 * them, as in EAGLE-2 (Li et al., EMNLP 2024); 0: any number. There are fewer than n nodes where these limits allow no
 * more. */
void draft_tree_likeliest(const struct draft_rates *rates, int32_t depth, int32_t branches, int32_t extended, int32_t n,
                          struct draft_tree *tree);

/* Sets kept[i] to the probability that node i is right with its whole path. Returns their sum: drafts per pass. */
double draft_tree_kept(const struct draft_rates *rates, const struct draft_tree *tree, double *kept);

/* Sets reach[0 .. DRAFT_MAX_DEPTH] to the probability that so many drafts in a row, or more, are right.
 *
 * Several trees are of parallel prompt decoding: trees[g] is verified by a sequence whose last kept token had g prompt
 * tokens behind it, g < n. It guesses at most g tokens. The probabilities are those of a step in the long run. */
void draft_trees_reach(const struct draft_rates *rates, const struct draft_tree *trees, int32_t n, double *reach);

/* Whether nodes follow their parents, siblings differ in rank, and no more than `tokens` nodes and prompt tokens are
 * in at most `depth` levels. Prompt tokens of a node lead to a tree: they are fewer than n_trees. */
bool draft_tree_is_sound(const struct draft_tree *tree, int32_t n_trees, int64_t depth, int64_t tokens);

#endif
