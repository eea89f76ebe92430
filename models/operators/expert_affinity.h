/* Experts placed by the affinity between layers (Yao et al., Exploiting Inter-Layer Expert Affinity for Accelerating
 * Mixture-of-Experts Model Inference, arXiv 2401.08383: ExFlow).
 *
 * Tokens that an expert of one layer has served tend to choose certain experts of the next layer. ExFlow leaves a token
 * on the GPU of its expert and moves it only to an expert elsewhere. It places equally many experts of each layer on
 * every GPU, so that as many steps from layer to layer as possible stay on one GPU:
 *
 *     local_frac = sum over layers l, experts i, j of flow_l(i, j) [gpu_l(i) = gpu_(l+1)(j)] / sum of all flows
 *
 * ExFlow solves an integer program. Here each layer in turn is placed as well as its neighbours allow, exactly: experts
 * change places in cycles over GPUs until no cycle gains. Layers take turns until none gains. The best of a few starts
 * counts; two of them are a given placement and experts in order, so that no fewer steps stay than there. This need not
 * find the best placement of all layers together. Copies of experts and unequal GPUs are left out. */
#ifndef ORRERY_MODELS_OPERATORS_EXPERT_AFFINITY_H
#define ORRERY_MODELS_OPERATORS_EXPERT_AFFINITY_H

#include <stddef.h>

/* Tokens by their experts in layers that follow each other. */
struct expert_flows {
    size_t layers, experts; /* >= 1 */
    const double *flows;    /* [layers - 1][experts][experts], >= 0: from an expert to one of the next layer */
};

/* What stays on its GPU and what moves, of a placement: gpu_of[layers][experts]. Their sum is that of the flows. */
struct expert_steps {
    double local, moved;
};

struct expert_steps expert_steps_of(const struct expert_flows *flows, const size_t *gpu_of);

/* Experts in order: the first ones of each layer on the first GPU. n_gpus divides the experts. */
void expert_place_in_order(const struct expert_flows *flows, size_t n_gpus, size_t *gpu_of);

/* Memory of a search, given by the caller: so many doubles and sizes. */
size_t expert_affinity_doubles(const struct expert_flows *flows, size_t n_gpus);
size_t expert_affinity_sizes(const struct expert_flows *flows, size_t n_gpus);

/* Experts by affinity. gpu_of comes with the given placement, with equally many experts of each layer on every GPU, and
 * leaves with the found one. A search takes up to layers experts^2 gpus^2 steps per round. */
void expert_place_by_affinity(const struct expert_flows *flows, size_t n_gpus, double *doubles, size_t *sizes,
                              size_t *gpu_of);

/* The law of a chain: `affinity` of an expert's tokens go to its successor in the next layer, the others to all experts
 * alike. Successors are a shuffle of the experts, always the same one: their numbers mean nothing. Fills
 * flows[experts][experts] of one step, one token per expert. */
void expert_chain_flows(double *flows, size_t experts, double affinity);

#endif
