/* How the ranks that share a sequence meet inside attention, and attention whose time grows with the length alone.
 *
 * Softmax attention of P ranks with n tokens each, a query heads, k key-value heads, d_k and d_v numbers of each, in 2
 * bytes; every rank sends in a layer, forward and backward:
 *
 *     ring        (P-1) 2 n k (d_k + d_v)                      twice that: keys and values, then with their gradients
 *     all-to-all  (P-1)/P 2 n (a d_k + k d_k + k d_v + a d_v)  as much
 *     token-ring  (P-1) 2 n a d_k  on to the next rank         (P-1) n a (2 (d_k + d_v) + 8): queries, gradients of
 *                                                              results, their log-sum-exp and row sums
 *                 (P-1) n a (2 d_v + 4)  back to the queries'  (P-1) 2 n a d_k: gradients of queries
 *                 rank: partial results, log-sum-exp
 *
 * The backward pass of a ring begins with the keys and values that the forward pass ended with, and goes the other
 * way. So their gradients are at home after the last computing, and no message is left over.
 *
 * TokenRing (Wang et al. 2024) keeps keys and values in place. Queries go one way around the ring in P - 1 messages.
 * Results of a rank's own queries stay; those of others go back one step after the queries came:
 *
 *     step      0, 1      2 ... P-2         P-1      end, without computing
 *     message   queries   queries, results  results  results
 *
 * Where each neighbour has a link of its own (a mesh, three or more ranks on a node), both take the maximum of their
 * times, at best half of the sum. Through one port of a GPU (a switch, PCIe, a network adapter) both leave together and
 * take the sum. A result takes as long as a message to a neighbour, though its rank may have no link to that of the
 * queries in a mesh where only some pairs have one. The paper has the forward pass. The backward pass follows from the
 * same idea, with gradients of queries as results.
 *
 * Linear attention of head h keeps the sum of k v^T over all tokens before, d_k d_v numbers. LASP-2 (Sun et al. 2025)
 * gathers the sums of all ranks once forward, and those of gradients once backward, whatever the length:
 *
 *     own state k d_k d_v 2 bytes of each sequence; a rank gets P - 1 of them
 *
 * Meanwhile the part within blocks is computed. Per query head and token there are 4 d_k d_v FLOP for states, and
 * 2 (d_k + d_v) for each token before it in its block of 64: as many as those of a window of 2 d_k d_v/(d_k + d_v) + 32
 * tokens, whose kernel it is priced by. No kernel of linear attention was measured. Decay and gates are left out. */
#ifndef ORRERY_MODELS_TRAINING_CONTEXT_H
#define ORRERY_MODELS_TRAINING_CONTEXT_H

#include "models/training/block.h"

/* Tokens of a block of linear attention, the chunk size of flash-linear-attention. */
enum { TRAINING_LINEAR_BLOCK = 64 };

/* Of a layer on one rank, on the mean over the layers with softmax and linear attention. */
struct training_context {
    double q_heads, kv_heads;   /* of the tensor group's share */
    double tokens;              /* of a micro-batch on a rank */
    double softmax_s, linear_s; /* of its forward pass inside attention */
};

/* Share of the layers whose attention is linear. */
static inline double training_linear_frac(const struct training_parts *parts)
{
    return (double)parts->plan->linear_layers / (double)parts->llm->layers;
}

/* Tokens that a query would look back for as many FLOP as linear attention has. `block_frac` of a block counts: a half
 * where masked pairs are left out, else all. */
double training_linear_window(const struct llm_spec *llm, double block_frac);

/* Adds the messages of a layer to the passes of `block`. */
void training_context_add(const struct training_parts *parts, const struct training_context *context,
                          struct training_block *block);

#endif
