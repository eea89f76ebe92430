/* FlexGen's search for a placement (Sheng et al., ICML 2023, section 4.3): an outer loop over the sizes of GPU batch
 * and block, a linear program over the nine shares inside. */
#ifndef ORRERY_POLICIES_KV_OFFLOAD_FLEXGEN_SEARCH_H
#define ORRERY_POLICIES_KV_OFFLOAD_FLEXGEN_SEARCH_H

#include "sim/world/policy/kv_offload.h"

/* Inputs of the search: the plan with its rates, capacities, schedule and place of attention. The host's rate is that
 * of large batches. */
struct flexgen_search {
    const struct offload_view *view;
    const struct offload_plan *plan;
};

/* Seconds per sequence: a block from its prompts to its last token, divided by its sequences. */
double flexgen_sequence_s(const struct flexgen_search *search, const struct offload_placement *placement);

/* Sets the shares that minimise the block's time within the capacities. Returns false if none fit. */
bool flexgen_best_shares(const struct flexgen_search *search, struct offload_placement *placement);

/* Sets the best placement of all: GPU batches of 1, 2, 3, 4 and doubling, and for each as many batches per block as
 * pay, with at most `most` sequences. Returns false if none fits. */
bool flexgen_best_placement(const struct flexgen_search *search, double most, struct offload_placement *placement);

#endif
