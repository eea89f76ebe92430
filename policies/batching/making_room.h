/* Who decodes and who must go when KV blocks are short, as in vLLM and Sarathi-Serve: members go on in the order in which they
 * joined, and one that finds no block preempts the latest arrival, whatever that does: itself at last. */
#ifndef ORRERY_POLICIES_BATCHING_MAKING_ROOM_H
#define ORRERY_POLICIES_BATCHING_MAKING_ROOM_H

#include "sim/world/policy.h"

struct room {
    int64_t free_blocks; /* after the growth of those who decode */
    int64_t decoding;    /* who stay */
    const struct request_view *last_prompt; /* the youngest unfinished prompt that stays; NULL: none */
};

/* Plans that everybody decodes and evicts whom that takes. `spare_blocks` 1: to go on a sequence needs a free block even where
 * its last one has room (vLLM v0, Sarathi-Serve); 0: only when it takes one (vLLM v1). The choice ends when blocks run out, and
 * after one iteration if anybody was evicted, for they ask to come back at once. */
struct room make_room(const struct replica_view *view, struct batch_plan *plan, int64_t spare_blocks);

/* What is left of its prompt, or the budget if that is less; not below 0. */
static inline int32_t prompt_chunk(const struct request_view *request, int64_t budget_tokens)
{
    int64_t left = request->prompt_tokens - request->prefilled_tokens;
    if (left > budget_tokens) left = budget_tokens;
    return left > 0 ? (int32_t)left : 0;
}

#endif
