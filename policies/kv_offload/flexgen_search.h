/* FlexGen's search for a policy (Sheng et al., ICML 2023, section 4.3): sizes of GPU batch and block outside, a linear
 * program over the nine shares inside. */
#ifndef ORRERY_POLICIES_KV_OFFLOAD_FLEXGEN_SEARCH_H
#define ORRERY_POLICIES_KV_OFFLOAD_FLEXGEN_SEARCH_H

#include "sim/world/policy/kv_offload.h"

/* What a placement with this GPU batch is reckoned with: the plan with its rates, capacities, schedule and place of
 * attention; the host's rate is that of large batches. */
struct flexgen_search {
    const struct offload_view *view;
    const struct offload_plan *plan;
};

/* Seconds that a block takes from its prompts to its last token, over the sequences in it. */
double flexgen_sequence_s(const struct flexgen_search *search, const struct offload_placement *placement);

/* The shares that make the block's time least, within the capacities. Returns whether there are any. */
bool flexgen_best_shares(const struct flexgen_search *search, struct offload_placement *placement);

/* The best of all: GPU batches of 1, 2, 3, 4 and doubling, and for each as many of them to a block as pay, of no more
 * than `most` sequences. Returns whether anything fits. */
bool flexgen_best_placement(const struct flexgen_search *search, double most, struct offload_placement *placement);

#endif
