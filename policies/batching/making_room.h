/* Who decodes and who must go when KV blocks are short, as in vLLM and Sarathi-Serve: members go on in their order,
 * and one that finds no block preempts the latest arrival, whatever that does: itself at last. And who comes back. */
#ifndef ORRERY_POLICIES_BATCHING_MAKING_ROOM_H
#define ORRERY_POLICIES_BATCHING_MAKING_ROOM_H

#include "sim/world/policy/batching.h"

struct room_rules {
    /* Free blocks that a sequence needs to go on where its last block has room: vLLM v0 and Sarathi-Serve 1, v1 0. */
    int64_t spare_blocks;
    int64_t max_batch;    /* sequences of a batch at most */
    bool prompts_only;    /* nobody decodes in this iteration: who is taken joins after it; none is on the host */
    bool swap;            /* KV of the preempted goes to the host; otherwise it is lost */
};

/* What is left for others in this batch. */
struct room {
    int64_t free_blocks; /* after the growth of those who decode */
    int64_t decoding;    /* who do */
    int64_t running;     /* sequences that stay at the replica, in this batch or not */
    const struct request_view *last_decoding; /* the last of those who do */
    const struct request_view *last_prompt;   /* the youngest unfinished prompt that stays; NULL: none */
};

/* Plans who decodes and evicts whom that takes. The choice ends when blocks run out, and after one iteration if
 * anybody was evicted, for they ask to come back at once. */
struct room make_room(const struct replica_view *view, struct batch_plan *plan, const struct room_rules *rules);

/* Resumes those that are away, in their order, while there is room. Each takes the blocks of its context, and
 * `watermark` more must be free; with KV on the host, `watermark` more than the blocks that it had and one for its
 * next token (can_swap_in of vLLM 0.2 to 0.6, block manager v1). Where nothing else runs the blocks that it takes
 * will do: vLLM would wait for ever, or end the request. Those whose KV another replica has still to send join when
 * it has come, the others are in this batch. Nobody comes back in an iteration that sends somebody away. */
void take_back(const struct replica_view *view, struct batch_plan *plan, const struct room_rules *rules,
               int64_t max_sequences, int64_t watermark, struct room *room);

/* What has been processed of its prompt, or need not be on its admission. */
static inline int64_t prompt_done(const struct replica_view *view, const struct request_view *request)
{
    return request->prefilled_tokens + replica_view_cached_tokens(view, request);
}

/* What is left of its prompt, or the budget if that is less; not below 0. */
static inline int32_t prompt_chunk(const struct replica_view *view, const struct request_view *request,
                                   int64_t budget_tokens)
{
    int64_t left = request->prompt_tokens - prompt_done(view, request);
    if (left > budget_tokens) left = budget_tokens;
    return left > 0 ? (int32_t)left : 0;
}

/* By arrival; of equals the later admitted. */
static inline bool came_later(const struct request_view *a, const struct request_view *b)
{
    return a->arrival_ns != b->arrival_ns ? a->arrival_ns > b->arrival_ns : a->admission > b->admission;
}

/* The share of the sequences that one of the batches in flight may hold (Vidur), at least one. */
static inline int64_t sequences_per_batch(const struct replica_view *view, int64_t max_sequences)
{
    return max_sequences > view->stages ? max_sequences / view->stages : 1;
}

#endif
