/* Batching: which sequences of a replica its next iteration processes. The view of a replica, the plan of an iteration,
 * the struct of a batcher. */
#ifndef ORRERY_WORLD_POLICY_BATCHING_H
#define ORRERY_WORLD_POLICY_BATCHING_H

#include "sim/world/policy/policy.h"
#include "sim/world/policy/request_view.h"

#include <stdbool.h>
#include <stdint.h>

/* One replica at a boundary between two iterations. */
struct replica_view {
    sim_ns now_ns;
    int64_t block_tokens, total_blocks;
    int64_t free_blocks;            /* cached ones that nobody uses included */
    int64_t max_context_tokens;     /* of the LLM */
    int64_t n_waiting, n_prefilling, n_decoding;
    int64_t decode_context_tokens;  /* over the decoding sequences */
    int64_t growing;                /* decoding sequences that take a new block in the next iteration */
    const struct request_view *waiting;       /* head: next to be served; preempted ones come back to the head */
    const struct request_view *prefilling, *last_prefilling; /* prompts processed in part, oldest first */
    const struct request_view *oldest_decoding, *youngest_decoding; /* in the order in which they joined */
    int64_t decode_step;            /* decode iterations so far */
    int64_t n_paused, n_away, n_moving;
    const struct request_view *paused;  /* in the order in which they were paused */
    const struct request_view *away;    /* in the order in which they left or came; preempted ones stand at the head */
    int64_t stages, n_in_flight;    /* pipeline stages; sequences in batches under way, which nothing above counts */
};

/* Sequences that run, in whatever state: those that have or await KV blocks. */
static inline int64_t replica_view_running(const struct replica_view *view)
{
    return view->n_prefilling + view->n_decoding + view->n_paused + view->n_moving + view->n_in_flight;
}

/* Whether the KV of a request that is away is at the replica that processed its prompt; otherwise it is on the host. */
bool replica_view_is_remote(const struct replica_view *view, const struct request_view *request);

/* Whether such KV has been pushed here already: the request may be in the very batch that takes it back. */
bool replica_view_is_here(const struct replica_view *view, const struct request_view *request);

/* Whether a request that waits here also decodes here. If not, its KV leaves when its prompt has been processed, or it ends
 * with its first token: slots for its output are not needed. */
bool replica_view_decodes_here(const struct replica_view *view, const struct request_view *request);

/* Tokens that a request has processed, the newest included: what its next decode iteration reads. 0 while it waits. */
int64_t replica_view_context_tokens(const struct replica_view *view, const struct request_view *request);

static inline int64_t blocks_for_tokens(const struct replica_view *view, int64_t tokens)
{
    return (tokens + view->block_tokens - 1) / view->block_tokens;
}

/* Whether a decoding sequence takes a new KV block in the next iteration. */
bool replica_view_grows(const struct replica_view *view, const struct request_view *request);

/* KV blocks that a decoding or prefilling sequence holds, those included that it shares with others. */
int64_t replica_view_blocks(const struct replica_view *view, const struct request_view *request);

/* Free KV blocks that there are at least once the sequence has left: those that nobody shares with it. */
int64_t replica_view_freed_blocks(const struct replica_view *view, const struct request_view *request);

/* Tokens of a waiting request's prompt that are in the prefix cache: in an admission by this plan they count as processed,
 * so that a prefill names those behind them only. At most the prompt but one token; 0 for requests that do not wait. */
int64_t replica_view_cached_tokens(const struct replica_view *view, const struct request_view *request);

/* Free KV blocks that the request takes in addition to what it holds when it is to hold `hold_tokens` tokens; those that are
 * cached and in use it shares. (Of two that find the same block unused, each counts it here; only one will take it.) */
int64_t replica_view_needed_blocks(const struct replica_view *view, const struct request_view *request,
                                   int64_t hold_tokens);

/* Oracle (ORACLE_OUTPUT): output tokens that the request has still to get, at least 1. Together with prompt_tokens it will
 * process all but the last of them. Asking without having declared it is a policy fault. */
int64_t replica_view_output_tokens(const struct replica_view *view, const struct request_view *request);

/* --- The next iteration of a replica --- */

struct batch_prefill {
    const struct request_view *request; /* waiting or prefilling */
    int32_t tokens;                     /* 1 .. what is left of its prompt */
    /* From now on it holds KV blocks for so many tokens, or what it held before if that is more: at least those that will
     * have been processed by then. Blocks beyond the prompt are a reservation: while it lasts, decoding takes no others. */
    int64_t hold_tokens;
};

/* What becomes of the KV of an evicted sequence. */
enum batch_eviction_kind {
    EVICT_RECOMPUTE, /* it is lost: the request comes back to the head of the queue, to process again all that it had */
    EVICT_SWAP,      /* it is moved to the host: the request is away; only for sequences that decode */
};

struct batch_eviction {
    const struct request_view *request; /* decoding, paused, or prefilling and not named by a prefill of this plan */
    const char *reason;
    enum batch_eviction_kind kind;
};

struct batch_resumption {
    const struct request_view *request; /* paused, or away */
    /* Away: the iteration starts only when the KV is there, and the request is in it. Otherwise it joins at the first boundary
     * after its KV has arrived. */
    bool wait;
};

struct batch_rejection {
    const struct request_view *request; /* waiting: leaves the system unserved */
    const char *reason;
};

/* The world hands over an empty plan; arrays have room for `capacity` entries each, at least one more than there are
 * sequences that are ready or paused. What is added beyond that is counted and refused. Applied in order: rejections,
 * evictions, pauses, resumptions, prefills. */
struct batch_plan {
    struct batch_prefill *prefills;
    struct batch_eviction *evictions;
    struct batch_rejection *rejections;
    const struct request_view **pauses; /* decoding: keep their blocks, get no tokens */
    struct batch_resumption *resumptions;
    int32_t n_prefills, n_evictions, n_rejections, n_pauses, n_resumptions, capacity;
    bool decode;               /* whether decoding sequences get a token in this iteration */
    int64_t decode_sequences;  /* only the first so many of them; INT64_MAX, as handed over: all */
    /* How long the choice to decode stands. It ends at the latest when a sequence finishes. */
    bool recheck_on_arrival;   /* until the next arrival at this replica */
    int64_t keep_free_blocks;  /* while this many blocks stay free after each iteration's growth */
    int64_t iterations;        /* for so many iterations; INT64_MAX, as handed over: no limit */
};

/* Whether any of the arrays has no room left: nothing more may be added in this plan. A batcher that stopped for this
 * asks to be called again after one iteration. */
static inline bool batch_plan_full(const struct batch_plan *plan)
{
    return plan->n_prefills >= plan->capacity || plan->n_evictions >= plan->capacity ||
           plan->n_rejections >= plan->capacity || plan->n_pauses >= plan->capacity ||
           plan->n_resumptions >= plan->capacity;
}

/* Processes `tokens` of the request's prompt in the next iteration; from then on it holds the KV blocks of `hold_tokens`. */
static inline void batch_plan_prefill_holding(struct batch_plan *plan, const struct request_view *request,
                                              int32_t tokens, int64_t hold_tokens)
{
    int32_t i = plan->n_prefills++;
    if (i < plan->capacity) plan->prefills[i] = (struct batch_prefill){request, tokens, hold_tokens};
}

/* The same with the blocks of the whole prompt. */
static inline void batch_plan_prefill(struct batch_plan *plan, const struct request_view *request, int32_t tokens)
{
    batch_plan_prefill_holding(plan, request, tokens, request == NULL ? 0 : request->prompt_tokens);
}

static inline void batch_plan_reject(struct batch_plan *plan, const struct request_view *request, const char *reason)
{
    int32_t i = plan->n_rejections++;
    if (i < plan->capacity) plan->rejections[i] = (struct batch_rejection){request, reason};
}

static inline void batch_plan_evict(struct batch_plan *plan, const struct request_view *request, const char *reason)
{
    int32_t i = plan->n_evictions++;
    if (i < plan->capacity) plan->evictions[i] = (struct batch_eviction){request, reason, EVICT_RECOMPUTE};
}

static inline void batch_plan_swap(struct batch_plan *plan, const struct request_view *request, const char *reason)
{
    int32_t i = plan->n_evictions++;
    if (i < plan->capacity) plan->evictions[i] = (struct batch_eviction){request, reason, EVICT_SWAP};
}

static inline void batch_plan_pause(struct batch_plan *plan, const struct request_view *request)
{
    int32_t i = plan->n_pauses++;
    if (i < plan->capacity) plan->pauses[i] = request;
}

/* `wait` as in struct batch_resumption; it says nothing for a paused request. */
static inline void batch_plan_resume(struct batch_plan *plan, const struct request_view *request, bool wait)
{
    int32_t i = plan->n_resumptions++;
    if (i < plan->capacity) plan->resumptions[i] = (struct batch_resumption){request, wait};
}

/* --- The family --- */

/* compose: the next iteration of a replica, and how long the choice stands. Returns 0 or a negative code. An empty plan
 * (nothing prefilled, nothing decoded) leaves the replica idle until something changes at it.
 *
 * A replica with pipeline stages has as many batches in flight as stages; compose is called whenever there are fewer and
 * something has changed, and sees the sequences that are in none.
 *
 * pass: with it the later pipeline stages batch for themselves, each from a queue of its own, and the first stage composes
 * the next batch as soon as it is free, however many are in flight. Returns how many of the decoding sequences that wait for
 * such a stage, which the view shows, pass it together, from the first on: at least one. Prompts go before them, in the
 * batches in which they came. No batch of such a pipeline may wait for KV (struct batch_resumption). */
#define BATCHER_FUNCTIONS(X)                                                                                           \
    X(batcher, REQUIRED, int, compose, (void *state, const struct replica_view *view, struct batch_plan *plan),          \
      (state, view, plan), view, POLICY_NONE)                                                                         \
    X(batcher, OPTIONAL, int64_t, pass, (void *state, const struct replica_view *view), (state, view), view, POLICY_NONE)

struct batcher {
    struct policy policy;
    BATCHER_FUNCTIONS(POLICY_MEMBER)
    enum batch_order order;
    /* It resumes swapped-out sequences: those that it evicts to recompute them may go to the host instead, where the
     * service's kv_offload policy says so. */
    bool takes_back;
    /* It takes requests whose prompt was processed elsewhere (replica_view_is_remote). A pool that may be handed some must
     * have such a batcher. */
    bool takes_handed_over;
};

#endif
