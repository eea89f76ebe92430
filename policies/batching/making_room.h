/* Which sequences decode and which are preempted when KV blocks are short, as in vLLM and Sarathi-Serve: members are
 * scheduled in their order, and one that finds no block preempts the latest arrival, finally itself. Also: which
 * swapped-out and remote requests resume. */
#ifndef ORRERY_POLICIES_BATCHING_MAKING_ROOM_H
#define ORRERY_POLICIES_BATCHING_MAKING_ROOM_H

#include "sim/world/policy/batching.h"

struct room_rules {
    /* Free blocks that a sequence needs even if its last block has room: 1 in vLLM v0 and Sarathi-Serve, 0 in v1. */
    int64_t spare_blocks;
    int64_t max_batch;    /* most sequences in a batch */
    bool prompts_only;    /* no sequence decodes in this iteration: resumed ones join after it; none is on the host */
    bool swap;            /* KV of preempted sequences goes to the host; otherwise it is lost */
};

/* Room left in this batch. */
struct room {
    int64_t free_blocks; /* after the growth of the decoding sequences */
    int64_t decoding;    /* decoding sequences of this iteration */
    int64_t running;     /* sequences that stay at the replica, in this batch or not */
    const struct request_view *last_decoding; /* the last of them */
    const struct request_view *last_prompt;   /* the youngest unfinished prompt that stays; NULL: none */
};

/* Plans the decoding sequences and the evictions they need. The plan ends when blocks run out, and after one iteration
 * if a sequence was evicted, which may return at once. */
struct room make_room(const struct replica_view *view, struct batch_plan *plan, const struct room_rules *rules);

/* Resumes swapped-out and remote requests, in their order, while there is room. Each takes the blocks of its context,
 * and `watermark` more must be free. With KV on the host, `watermark` more than its former blocks plus one for its next
 * token must be free (can_swap_in of vLLM 0.2 to 0.6, block manager v1). If nothing else runs, the blocks that it takes
 * suffice: vLLM would wait forever, or end the request. Requests whose KV another replica has yet to send join once it
 * has arrived; the others are in this batch. No request resumes in an iteration that evicts one. */
void resume_requests(const struct replica_view *view, struct batch_plan *plan, const struct room_rules *rules,
                     int64_t max_sequences, int64_t watermark, struct room *room);

/* Prompt tokens already processed, or cached at its admission. */
static inline int64_t prompt_done(const struct replica_view *view, const struct request_view *request)
{
    return request->prefilled_tokens + replica_view_cached_tokens(view, request);
}

/* Prompt tokens left, at most the budget; not below 0. */
static inline int32_t prompt_chunk(const struct replica_view *view, const struct request_view *request,
                                   int64_t budget_tokens)
{
    int64_t left = request->prompt_tokens - prompt_done(view, request);
    if (left > budget_tokens) left = budget_tokens;
    return left > 0 ? (int32_t)left : 0;
}

/* By arrival; for equal arrivals by admission. */
static inline bool came_later(const struct request_view *a, const struct request_view *b)
{
    return a->arrival_ns != b->arrival_ns ? a->arrival_ns > b->arrival_ns : a->admission > b->admission;
}

static inline int64_t min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Sequences that each in-flight batch may hold (Vidur), at least one. */
static inline int64_t sequences_per_batch(const struct replica_view *view, int64_t max_sequences)
{
    return max_sequences > view->stages ? max_sequences / view->stages : 1;
}

#endif
