/* States and activations beyond the memory of GPUs: in the memory of the host, and on drives of the node.
 *
 * ZeRO-Infinity (Rajbhandari et al. 2021, arXiv 2104.07857) shards weights, gradients and optimizer states over the
 * data ranks and keeps each kind of them on a tier. A rank then moves, for each micro-batch:
 *
 *     to the GPU     its shard of the weights for the forward pass, and for the backward pass; again for the share r
 *                    of the layers that is recomputed. What the forward pass kept, if that lies beyond the GPU
 *     from the GPU   its shard of the gradients, and what the forward pass keeps
 *
 * All ranks move their shards at once over links of their own, and gather the layer among GPUs. With `by_owner` a layer
 * lies on one rank, which moves all of it and broadcasts it: n ranks take turns, and have the bandwidth of one. Per
 * parameter of a GPT whose layers are all recomputed these are 3 x 2 bytes of weights and 2 of gradients for 8 FLOP per
 * token. So FLOP per byte are the tokens of a rank, and with 16 bytes of optimizer states read and written a quarter of
 * them.
 *
 * Once in a step CPUs update the states beyond the GPU. Those on drives are read and written, with the weights there.
 * Gradients on drives are read once more for each further micro-batch, which adds its own. Where gradients are not
 * sharded, GPUs reduce them at the end of a step: they come back, and a rank's part goes down again. Weights that GPUs
 * gather after the update go down whole.
 *
 * Five resources work: the GPU, its link up and down, the drives and the CPUs of the node. With sums and maxima over
 * the times of the five, layer by layer, of `l` layers, m micro-batches and the passes f, b and the update u:
 *
 *     serial      m (sum f + sum b) + sum u
 *     prefetched  m (max f + max b) + max u + rest (f) + rest (b) + rest (u),   rest (x) = (sum x - max x)/l
 *     pipelined   m max f + (m - 1) max b + max (b + u) + rest (f) + rest (b + u)
 *
 * The rest is what the first layer brings and the last one leaves while others wait (ZeRO-Infinity overlaps the
 * three hops of a layer with computing others). Pipelined, CPUs update a layer as soon as its gradients have come,
 * beside the last backward pass (Fuyou, Liao et al. 2024, arXiv 2403.06504). A step is never shorter than the work of
 * one resource.
 *
 * States of `persistent` layers stay on the GPU, which updates them: the first ones of p of l layers take part in no
 * transfer. Embedding and head count as parts of all layers. With `buffers` b, weights of the last b others are still
 * on the GPU when the backward pass begins, and those of a layer stay while it is recomputed. So l - p - b layers
 * come again. Of activations, those of `swapped` layers lie beyond the GPU: first those that keep everything
 * (ProTrain, Yang et al. 2024, arXiv 2406.08334; placement.h).
 *
 * Memory: what lies beyond the GPU takes room there for two layers at a time, one at work and one on its way,
 * or for `buffers`. `tiles` cuts the weights and gradients of these two into parts that come one after another
 * (memory-centric tiling). It does not cut the other buffers. Host memory has room for two layers of what lies on
 * drives.
 *
 * Leaves out: pipelines, latencies of drives, that drives write more slowly beside reads, and the CPUs' adding up of
 * gradients. Also, that the first backward pass of a step reads no gradients from drives: all passes have the mean. A
 * step is thereby too short by at most (m - 1)/m of the time in which drives read the gradients once. */
#ifndef ORRERY_MODELS_TRAINING_TIERS_H
#define ORRERY_MODELS_TRAINING_TIERS_H

#include "models/training/memory.h"

enum training_resource { RESOURCE_GPU, RESOURCE_UP, RESOURCE_DOWN, RESOURCE_DRIVES, RESOURCE_CPU, TRAINING_RESOURCES };

/* Seconds that each resource works, if nothing holds it up. */
struct training_load {
    double s[TRAINING_RESOURCES];
};

/* Computing of a micro-batch, with messages of the tensor group; backward with recomputation. */
struct training_passes {
    double forward_s, backward_s;
};

/* Of a step. Bytes over the link are those of a rank, bytes of drives those of a node. */
struct training_swaps {
    struct training_load forward, backward; /* of a micro-batch */
    struct training_load update;            /* of the step; its GPU time is not in it */
    double wait_s;   /* beyond computing: passes wait for states and activations */
    double update_s; /* the update beyond the GPU, as far as it adds to the step */
    double up_bytes, down_bytes, read_bytes, written_bytes;
};

/* Whether anything lies beyond the GPU. */
bool training_tiers_used(const struct training_tiers *tiers);

/* Share of the layers whose states lie where the plan's homes say; others are persistent. */
double training_moving_frac(const struct training_parts *parts);

/* Layers of weights that the backward pass finds on the GPU. */
double training_buffered_layers(const struct training_parts *parts);

/* Ranks of a node. */
double training_ranks_on_node(const struct training_plan *plan);

/* Bytes of a node beyond its GPUs. Activations for which host memory has no room go to drives if they may. */
struct training_homes {
    double host_bytes, disk_bytes;
    double activation_disk_frac; /* of the activations */
};

struct training_homes training_homes_of(const struct training_parts *parts);

/* Zero if nothing lies beyond the GPU. The plan is possible. */
struct training_swaps training_swaps_of(const struct training_parts *parts, struct training_passes passes);

#endif
