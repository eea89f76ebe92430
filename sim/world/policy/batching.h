/* Batching: which sequences of a replica its next iteration processes. The view of a replica, the plan of an
 * iteration, the struct of a batcher. */
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
    int64_t free_blocks;            /* including cached blocks that no sequence uses */
    int64_t max_context_tokens;     /* of the LLM */
    int64_t n_waiting, n_prefilling, n_decoding;
    int64_t decode_context_tokens;  /* over the decoding sequences */
    int64_t growing;                /* decoding sequences that take a new block in the next iteration, for one token;
                                       drafts take what is left */
    const struct request_view *waiting; /* head: next to be served; preempted requests return to the head (but see
                                                 EVICT_REQUEUE) */
    const struct request_view *prefilling, *last_prefilling; /* prompts processed in part, oldest first */
    const struct request_view *oldest_decoding, *youngest_decoding; /* in the order in which they joined */
    int64_t decode_step;            /* decode iterations so far */
    int64_t n_paused, n_nonresident, n_moving;
    const struct request_view *paused;       /* in the order in which they were paused */
    const struct request_view *nonresident;  /* in the order of leaving or arriving; preempted requests at the head */
    int64_t stages, n_in_flight;    /* pipeline stages; sequences in flight, which no count above includes */
    int64_t n_remote;               /* nonresident requests that are remote */
    int64_t n_unforked;             /* sequences that running requests will have beside one each (request_view) */
    int64_t decode_tokens_each;     /* of a decoding sequence in the next iteration: 1 and its drafts (speculation.h) */
    int64_t n_parked;               /* waiting requests that load, or have loaded: their prefilled_tokens are not 0 */
};

/* Running sequences of all states: those that hold or await KV blocks. */
static inline int64_t replica_view_running(const struct replica_view *view)
{
    return view->n_prefilling + view->n_decoding + view->n_paused + view->n_moving + view->n_in_flight +
           view->n_unforked;
}

/* Whether a nonresident request is remote: its KV is at the replica that processed its prompt. Otherwise its KV is on
 * the host. */
bool replica_view_is_remote(const struct replica_view *view, const struct request_view *request);

/* Whether the KV of a remote request has already been pushed here: the request can join the batch that resumes it. */
bool replica_view_kv_is_pushed(const struct replica_view *view, const struct request_view *request);

/* Whether a waiting request also decodes here. If not, it needs no slots for its output: its KV leaves once its prompt
 * has been processed, or it ends with its first token. */
bool replica_view_decodes_here(const struct replica_view *view, const struct request_view *request);

/* Processed tokens of the request, including the newest: what its next decode iteration reads. 0 while it waits. */
int64_t replica_view_context_tokens(const struct replica_view *view, const struct request_view *request);

/* Output tokens of the request so far, including those that a preemption has made part of its prompt. */
int64_t replica_view_generated_tokens(const struct replica_view *view, const struct request_view *request);

/* When the iteration that ends now began; of an idle replica, when its last one did. Without pipeline stages. */
sim_ns replica_view_last_began_ns(const struct replica_view *view);

static inline int64_t blocks_for_tokens(const struct replica_view *view, int64_t tokens)
{
    return (tokens + view->block_tokens - 1) / view->block_tokens;
}

/* Whether a decoding sequence takes a new KV block in the next iteration. */
bool replica_view_grows(const struct replica_view *view, const struct request_view *request);

/* KV blocks that a decoding or prefilling sequence holds, including blocks it shares. */
int64_t replica_view_blocks(const struct replica_view *view, const struct request_view *request);

/* KV blocks that evicting the sequence is sure to free: those it does not share. */
int64_t replica_view_freed_blocks(const struct replica_view *view, const struct request_view *request);

/* Prompt tokens of a waiting request that are in the prefix cache; at most the prompt but one token. An admission by
 * this plan counts them as processed, so a prefill names the tokens behind them only. 0 if the request does not
 * wait. With caches_scheduled, these include tokens of blocks that the prefills so far in this plan compute. Once one
 * of them then names the request, what this and the next two functions give for it is undefined. */
int64_t replica_view_cached_tokens(const struct replica_view *view, const struct request_view *request);

/* Prompt tokens of a waiting request, behind the cached ones, that its prefix store would load while others run. It
 * has them once it has been loaded (batch_plan_load); a prefill computes them. 0 where the batch waits for loads:
 * there these tokens are among the cached ones. */
int64_t replica_view_stored_tokens(const struct replica_view *view, const struct request_view *request);

/* Free KV blocks that the request takes, beyond those it holds, to hold `hold_tokens` tokens. Cached blocks in use are
 * shared, not taken. A cached block without user counts for each request that finds it, although only one takes it. */
int64_t replica_view_needed_blocks(const struct replica_view *view, const struct request_view *request,
                                   int64_t hold_tokens);

/* Oracle (ORACLE_OUTPUT): remaining output tokens of the request, at least 1. The request will process prompt_tokens
 * and all but the last of these. A call without the declared oracle is a policy fault. */
int64_t replica_view_output_tokens(const struct replica_view *view, const struct request_view *request);

/* --- The next iteration of a replica --- */

struct batch_prefill {
    const struct request_view *request; /* waiting or prefilling */
    int32_t tokens;                     /* 1 .. remaining prompt tokens */
    /* Tokens that its KV blocks have room for from now on; at least those processed after this iteration. A smaller
     * value than before changes nothing. Blocks beyond the prompt are a reservation, which decoding uses up first. */
    int64_t hold_tokens;
};

/* Where the KV of an evicted sequence goes. */
enum batch_eviction_kind {
    EVICT_RECOMPUTE, /* dropped: the request returns to the head of the queue and recomputes all its tokens */
    EVICT_SWAP,      /* to the host: the request is swapped out (REQUEST_NONRESIDENT); decoding sequences only */
    EVICT_REQUEUE,   /* as EVICT_RECOMPUTE, but the request returns to the tail of the queue */
};

struct batch_eviction {
    const struct request_view *request; /* decoding, paused, or prefilling and not named by a prefill of this plan */
    const char *reason;
    enum batch_eviction_kind kind;
};

struct batch_resumption {
    const struct request_view *request; /* paused or nonresident */
    /* For a nonresident request. True: the iteration starts once the KV has arrived and includes the request. False:
     * the request joins at the first boundary after its KV has arrived. */
    bool wait;
    /* For a nonresident request: tokens that its KV blocks have room for from now on, if these are more than its
     * context. Such a reservation lasts to its end. 0: no reservation. */
    int64_t hold_tokens;
};

struct batch_rejection {
    const struct request_view *request; /* waiting: leaves the system unserved */
    const char *reason;
};

/* What ends the admissions of a plan. */
enum batch_limit {
    BATCH_LIMIT_UNSTATED,  /* the batcher does not say */
    BATCH_LIMIT_SEQUENCES, /* no free slot for another sequence */
    BATCH_LIMIT_KV_BLOCKS, /* too few free KV blocks, beside those that the batcher reserves or keeps free */
    BATCH_LIMIT_TOKENS,    /* the token budget of the iteration is spent, or too small for the rest of it */
    BATCH_LIMIT_CLOSED,    /* the running batch takes nobody in: its sequences decode first, or until they end */
    BATCH_LIMIT_HOST,      /* sequences that were swapped out resume first */
    BATCH_LIMIT_LATE,      /* the engine learns of an arrival, or of what has ended, one iteration later */
    BATCH_LIMIT_DEADLINE,  /* with another prompt, one of the batch would miss its deadline */
    N_BATCH_LIMITS
};

/* Empty when handed over. Each array has room for `capacity` entries, at least one more than ready and paused
 * sequences. Entries beyond the capacity are counted and refused. Applied in order: rejections, evictions, pauses,
 * resumptions, loads, prefills. */
struct batch_plan {
    struct batch_prefill *prefills;
    struct batch_eviction *evictions;
    struct batch_rejection *rejections;
    const struct request_view **pauses; /* decoding: keep their blocks, get no tokens */
    struct batch_resumption *resumptions;
    int32_t n_prefills, n_evictions, n_rejections, n_pauses, n_resumptions, capacity;
    bool decode;               /* whether decoding sequences get a token in this iteration */
    int64_t decode_sequences;  /* only the first decode_sequences of them; INT64_MAX, as handed over: all */
    /* How long the choice to decode stands. It ends at the latest when a sequence finishes. */
    bool recheck_on_arrival;   /* until the next arrival at this replica */
    int64_t keep_free_blocks;  /* while this many blocks stay free after each iteration's growth */
    int64_t iterations;        /* at most; INT64_MAX, as handed over: no limit */
    const struct request_view **loads; /* waiting, with stored tokens: batch_plan_load */
    int32_t n_loads;
    /* For explanations alone: what ended the admissions of this plan, and at which request (batch_plan_limit). */
    enum batch_limit limit;
    const struct request_view *limited;
};

/* Whether any array is full, so that nothing may be added to this plan. A batcher that stops for this sets iterations
 * to 1, to be called again. */
static inline bool batch_plan_full(const struct batch_plan *plan)
{
    return plan->n_prefills >= plan->capacity || plan->n_evictions >= plan->capacity ||
           plan->n_rejections >= plan->capacity || plan->n_pauses >= plan->capacity ||
           plan->n_resumptions >= plan->capacity || plan->n_loads >= plan->capacity;
}

/* Processes `tokens` of the request's prompt in the next iteration; from then on it holds the KV blocks of
 * `hold_tokens`. */
static inline void batch_plan_prefill_holding(struct batch_plan *plan, const struct request_view *request,
                                              int32_t tokens, int64_t hold_tokens)
{
    int32_t i = plan->n_prefills++;
    if (i < plan->capacity) plan->prefills[i] = (struct batch_prefill){request, tokens, hold_tokens};
}

/* As batch_plan_prefill_holding, with the blocks of the whole prompt. */
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

static inline void batch_plan_requeue(struct batch_plan *plan, const struct request_view *request, const char *reason)
{
    int32_t i = plan->n_evictions++;
    if (i < plan->capacity) plan->evictions[i] = (struct batch_eviction){request, reason, EVICT_REQUEUE};
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

/* `wait` as in struct batch_resumption; without effect for a paused request. */
static inline void batch_plan_resume(struct batch_plan *plan, const struct request_view *request, bool wait)
{
    int32_t i = plan->n_resumptions++;
    if (i < plan->capacity) plan->resumptions[i] = (struct batch_resumption){request, wait, 0};
}

/* As batch_plan_resume, with a reservation. */
static inline void batch_plan_resume_holding(struct batch_plan *plan, const struct request_view *request, bool wait,
                                             int64_t hold_tokens)
{
    int32_t i = plan->n_resumptions++;
    if (i < plan->capacity) plan->resumptions[i] = (struct batch_resumption){request, wait, hold_tokens};
}

/* Says why requests are left in the queue: admissions ended at `request`, which behind others or at the head waits
 * for this. NULL: nothing distinguishes one of them. The first call of a plan counts. The plan does the same without
 * it. */
static inline void batch_plan_limit(struct batch_plan *plan, const struct request_view *request, enum batch_limit limit)
{
    if (plan->limit != BATCH_LIMIT_UNSTATED) return;
    plan->limit = limit;
    plan->limited = request;
}

/* Seconds that the cost model gives for an iteration of the plan's prefills, and of the decoding sequences if it lets
 * any decode: then all of them count, also those that it evicts, pauses or leaves out, and none that it resumes. They
 * are those at the full clock, on links of its own, without drafts and without the wait for loads; with pipeline
 * stages, of one stage. A waiting request counts with the tokens that are cached now, so a batcher with
 * caches_scheduled gets too much. 0 for an empty plan. */
double replica_view_iteration_s(const struct replica_view *view, const struct batch_plan *plan);

/* The request takes the KV blocks of its whole prompt, and its stored tokens are loaded while others run. It keeps its
 * place in the queue, where its state is REQUEST_LOADING: a plan that names it then is refused. When all has come it
 * waits again, with these tokens as processed ones. Not in a plan that evicts. */
static inline void batch_plan_load(struct batch_plan *plan, const struct request_view *request)
{
    int32_t i = plan->n_loads++;
    if (i < plan->capacity) plan->loads[i] = request;
}

/* --- The family --- */

/* compose: fills in the replica's next iteration, and how long the decision to decode stands. Returns 0 or a negative
 * code. An empty plan (nothing prefilled, nothing decoded) leaves the replica idle until something changes at it.
 *
 * A replica with pipeline stages has as many batches in flight as stages; compose is called whenever there are fewer
 * and something has changed. Its view contains the sequences that are in none of them.
 *
 * compose_stage: with it the later pipeline stages batch independently, each from a queue of its own. The first stage
 * composes the next batch as soon as it is free, however many are in flight. The view of compose_stage contains the
 * decoding sequences that wait for one later stage. Returns how many of these, from the first on, are the stage's next
 * batch: at least 1. Batches with prompts go before them and stay together. No batch of such a pipeline may wait for
 * KV (struct batch_resumption). */
#define BATCHER_FUNCTIONS(X)                                                                                           \
    X(batcher, REQUIRED, int, compose, (void *state, const struct replica_view *view, struct batch_plan *plan),        \
      (state, view, plan), view, POLICY_NONE)                                                                          \
    X(batcher, OPTIONAL, int64_t, compose_stage, (void *state, const struct replica_view *view), (state, view),        \
      view, POLICY_NONE)

struct batcher {
    struct policy policy;
    BATCHER_FUNCTIONS(POLICY_MEMBER)
    enum batch_order order;
    /* The batcher resumes swapped-out sequences; only then may it swap. If the service's kv_offload policy says so,
     * sequences that it evicts with EVICT_RECOMPUTE are swapped out instead. */
    bool resumes_swapped;
    /* The batcher resumes remote requests (replica_view_is_remote). Required for pools that requests are handed over
     * to. */
    bool accepts_remote;
    /* The batcher preempts when blocks run short, whatever the number of sequences that a request becomes
     * (request_view). Only then may requests be decoded into several (services.NAME.sampling). */
    bool forks;
    /* The batcher loads requests that have stored tokens (batch_plan_load), and passes over those that load. Required
     * if a prefix store lets the request alone wait. */
    bool loads;
    /* The engine caches the full blocks of a prompt when they are scheduled, not when they have been computed:
     * requests behind it in the same plan share them. Its prefills hold exactly the tokens that have been processed
     * then, and none is taken back. */
    bool caches_scheduled;
    /* The batcher may reject requests that could be served, such as those that would be late. Conformance expects all
     * others to be served. */
    bool drops;
    /* Requests that end in one iteration leave in the order in which the engine scheduled them, which is that of their
     * admissions. Otherwise those whose prompt was processed leave first, and those that decoded in order of ids. */
    bool ends_as_scheduled;
    /* Whether the engine schedules an iteration while the one before it runs. NULL: it never does. */
    bool (*schedules_ahead)(const void *params);
    /* Output tokens at which the engine ends a request, by a limit that all requests state. 0: their own end. NULL: as
     * 0. Longer outputs of a trace are cut before any policy sees them. */
    int64_t (*most_output_tokens)(const void *params);
};

/* Whether the policy, of any family, is a batcher that drops. */
static inline bool batcher_drops(const struct policy *policy)
{
    return policy->family == POLICY_BATCHING && ((const struct batcher *)policy)->drops;
}

#endif
