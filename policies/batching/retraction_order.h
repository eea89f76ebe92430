/* The order in which SGLang retracts decoding sequences when KV blocks run short: fewest output tokens first, of these
 * the longest prompt, of these the latest in the batch. */
#ifndef ORRERY_POLICIES_BATCHING_RETRACTION_ORDER_H
#define ORRERY_POLICIES_BATCHING_RETRACTION_ORDER_H

#include "sim/world/policy/batching.h"

/* Prompt tokens of the request as it arrived. */
static inline int64_t first_prompt(const struct replica_view *view, const struct request_view *request)
{
    const bool runs = request->state == REQUEST_DECODING;
    const int64_t tokens = runs ? replica_view_context_tokens(view, request) : request->prompt_tokens;
    return tokens - replica_view_generated_tokens(view, request);
}

/* Its place in the order of retraction. `index`: of the sequence in the batch. */
struct place {
    int64_t output_tokens, prompt_tokens, index;
};

static inline bool goes_before(const struct place *a, const struct place *b)
{
    if (a->output_tokens != b->output_tokens) return a->output_tokens < b->output_tokens;
    if (a->prompt_tokens != b->prompt_tokens) return a->prompt_tokens > b->prompt_tokens;
    return a->index > b->index;
}

/* The first sequence behind *last in the order of retraction, whose place becomes *last. */
static inline const struct request_view *next_retracted(const struct replica_view *view, struct place *last)
{
    const struct request_view *found = NULL;
    struct place place = {.index = 0}, best = {.index = -1};
    for (const struct request_view *r = view->oldest_decoding; r != NULL; r = r->next, place.index++) {
        place.output_tokens = replica_view_generated_tokens(view, r);
        place.prompt_tokens = first_prompt(view, r);
        if (!goes_before(last, &place) || (found != NULL && !goes_before(&place, &best))) continue;
        best = place;
        found = r;
    }
    *last = best;
    return found;
}

#endif
