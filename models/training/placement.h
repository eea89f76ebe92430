/* The fastest placement of states and activations on a GPU, its host and its drives: ProTrain (Yang et al. 2024, arXiv
 * 2406.08334). Its chunks of model states and its blocks of activations are layers here. Four numbers say what lies
 * where:
 *
 *     persistent   layers whose weights, gradients and optimizer states stay on the GPU
 *     buffers      layers of weights of the others for which the GPU has room, at least 2
 *     swapped      layers whose activations lie beyond the GPU between the passes
 *     recomputed   layers that keep their input alone; they are not swapped
 *
 * The plan's homes (tiers.h) say where what is not on the GPU lies. Prices and memory are those of a step (step.h), so
 * that the search has no model of its own.
 *
 * The search is exhaustive. For given layers that are persistent, buffered and swapped, a step is never shorter with
 * more recomputed layers: the fewest that fit count. Swapping nothing is never slower than swapping some, so that a
 * step without any recomputation bounds from below all that swap as much or more. Memory grows with persistent layers
 * and with buffers: what has no room with all layers swapped, or with all recomputed, has none with more of either. */
#ifndef ORRERY_MODELS_TRAINING_PLACEMENT_H
#define ORRERY_MODELS_TRAINING_PLACEMENT_H

#include "models/training/step.h"

/* Layers of an LLM at most, for the time that a search takes. */
enum { TRAINING_PLACED_LAYERS = 256 };

struct training_placement {
    int64_t persistent, buffers, swapped, recomputed;
};

/* Writes it into a plan. `kept`: where activations of swapped layers lie; GPU: none is swapped. */
void training_placement_set(struct training_plan *plan, enum training_home kept,
                            const struct training_placement *placement);

/* The placement with the shortest step that fits; of equal ones that with the most persistent layers. False if none
 * fits: then *best is the one that takes least of the GPU. Weights and optimizer states of the plan lie beyond the
 * GPU. Its activations lie where swapped layers shall. The plan is possible and has at most TRAINING_PLACED_LAYERS
 * layers. */
bool training_placement_find(const struct training_parts *parts, double reserve_frac, struct training_placement *best);

#endif
