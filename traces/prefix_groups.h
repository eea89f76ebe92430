/* The order of a batch of requests that are all known at its start, so that a prefix that several share is computed
 * once (Zheng et al., BatchLLM, arXiv 2412.03594: global prefix identification, groups and their order; from notes).
 *
 * A group is served together and shares one prefix: all but the first of its requests find these tokens computed. Each
 * request is in one group at most. Groups are chosen so that they save the most prompt tokens that any groups can save.
 *
 * Groups come in order of output tokens for each prompt token that is computed, highest first: long outputs then decode
 * beside the prompts of later groups. Requests without a group count as one. Equal ones come in order of the batch. The
 * order knows all output lengths, which a user would have to predict. */
#ifndef ORRERY_TRACES_PREFIX_GROUPS_H
#define ORRERY_TRACES_PREFIX_GROUPS_H

#include "traces/stream.h"

#include <stddef.h>
#include <stdint.h>

/* Sets order[requests->n] to the indices of the requests, and *saved_tokens to the prompt tokens that groups save.
 * Takes n log n comparisons of prompts and n words of memory. Returns 0 or SIM_E_NOMEM. */
int prefix_groups_order(const struct record_buffer *requests, size_t *order, int64_t *saved_tokens);

#endif
