/* Messages of weights and gradients in few bits, among the ranks that share them: ZeRO++ (Wang et al. 2023, arXiv
 * 2306.10209), and the three levels of Frontier (Xu et al. 2025, arXiv 2501.04266).
 *
 * A gather of n weights among r ranks sends (r-1)/r n c bytes of each rank: c is 1 in int8, or the trainer's bytes of
 * a weight. A rank narrows its own n/r numbers and widens all n.
 *
 * Gradients in few bits are not summed on their way: a ring would narrow each partial sum anew. An all-to-all takes
 * the place of the reduce-scatter, first among the p ranks of a node, then among the q ranks of the same place on all
 * nodes. With c bytes of a number, 1 or 0.5, a rank sends
 *
 *     within a node   (p-1)/p n c
 *     between nodes   (q-1)/q n/p c, so that a node sends (q-1)/q n c
 *
 * It narrows n numbers, widens and adds up n of all ranks of its node, narrows the n/p sums, and widens and adds up
 * n/p.
 * The largest p that divides the ranks and those of a node counts. So with ZeRO 3, a second copy of weights within
 * nodes, weights in int8 and gradients in int4, a node sends n (1 + 1/2) bytes instead of 3 x 2 n: a fourth.
 *
 * The kernels have the bandwidth of element-wise operators, and nothing hides them.
 *
 * Leaves out: the scales of blocks, as the papers' formulas do; all-to-alls within nodes beside those between them. */
#ifndef ORRERY_MODELS_TRAINING_QUANTISED_H
#define ORRERY_MODELS_TRAINING_QUANTISED_H

#include "models/training/block.h"

/* Bytes of a number in messages. */
double training_weight_message_bytes(const struct training_parts *parts);
double training_gradient_message_bytes(const struct training_parts *parts);

/* The ranks of a group on one node, and those of the same place on all nodes that the group lies on. Their numbers
 * multiply to that of the group. */
struct training_hops {
    struct training_group within, between;
};

struct training_hops training_hops_of(const struct training_plan *plan, struct training_group group);

struct training_quantising {
    double seconds, bytes; /* bytes: of memory traffic */
    double outside_s;
};

/* The kernels of one gather of `n` weights; zero if they are sent as they are stored. */
struct training_quantising training_quantise_gather(const struct training_parts *parts, int64_t ranks, double n);

/* Those of one reduction of `n` gradients; zero likewise. */
struct training_quantising training_quantise_scatter(const struct training_parts *parts,
                                                     const struct training_hops *hops, double n);

#endif
