/* What policies may ask for. A plan is a delta, so a call costs what it changes; the world validates and applies it. An
 * impossible action ends the run with SIM_E_POLICY and names policy, action and reason. Reasons of preemptions, rejections
 * and starts are static texts and go to the decision table. */
#ifndef ORRERY_WORLD_POLICY_PLAN_H
#define ORRERY_WORLD_POLICY_PLAN_H

#include "sim/world/policy/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* --- Replicas of a service --- */

/* Handed over with what there is, `up` and `starting` together; the world keeps it within min and max. */
struct autoscaling_plan {
    int64_t replicas;   /* that there are to be */
    const char *reason; /* a static text; NULL: the policy's name says enough */
};

/* --- Jobs --- */

struct job_plan; /* made by the world around one decide() call */

/* Starts or resumes a pending job if there is room for all its GPUs, given the actions before it in this plan. Returns
 * whether it did. A job that was preempted earlier in the same plan first tries the GPUs it had: if they are still
 * free, both actions are void and it runs on as if nothing had happened. */
bool job_plan_start(struct job_plan *plan, const struct job_view *job, const char *reason);

/* What a job is given: so many GPUs of a node type (job_view, node_type). Where a placer places they are whole ones. */
struct job_grant {
    double gpus;
    int32_t node_type;
};

/* The same with other GPUs than it asked for. How fast it is there, job_view_speed_on tells; where that is 0, it is a policy
 * fault, and so is a further node type without having declared `uses_node_types`. A job that asks for no GPUs gets none. */
bool job_plan_start_as(struct job_plan *plan, const struct job_view *job, const struct job_grant *grant,
                       const char *reason);

/* A running job goes on with another number of GPUs of the same node type, at once and without a delay, if there is room.
 * Returns whether it did. One that asks for no GPUs has none to change. */
bool job_plan_resize(struct job_plan *plan, const struct job_view *job, double gpus, const char *reason);

/* A running job goes to other nodes, of this node type, without waiting in between: the placer is asked as if it held nothing. It stays
 * where it is, and false comes back, when there is no room, when it would be on the nodes on which it is, or slower than
 * `least_speed` (job_view, speed; 0: whatever comes of it). It loses no work, and works again after restart.migrate; what was left
 * of an earlier wait comes on top. */
bool job_plan_migrate(struct job_plan *plan, const struct job_view *job, int32_t node_type, double least_speed,
                      const char *reason);

/* Takes a running job off its GPUs; the work that it has done is kept. */
void job_plan_preempt(struct job_plan *plan, const struct job_view *job, const char *reason);

/* Asks for another decide() at this time (> now), if nothing happens before; the earliest wish of a plan counts. */
void job_plan_wake_at(struct job_plan *plan, sim_ns time_ns);

/* A warning of the run: what the policy cannot do as its parameters ask. `code` and `text` are static texts, no more than 8 codes;
 * those of a code are one row, with the time of the first. */
void job_plan_warn(struct job_plan *plan, const char *code, const char *text);

/* --- Where a job's GPUs are --- */

/* The world hands over an empty one with room for as many nodes as the job has GPUs, or as there are. Whole GPUs are those of the
 * node with the lowest numbers. */
struct placement {
    int32_t *nodes, *gpus; /* [capacity]: gpus[i] GPUs on node nodes[i] */
    int32_t n, capacity;
    int32_t gpu;           /* of a job that asks for a share of a GPU: which one of its node */
};

static inline void placement_add(struct placement *placement, int32_t node, int32_t gpus)
{
    int32_t i = placement->n++;
    if (i >= placement->capacity) return;
    placement->nodes[i] = node;
    placement->gpus[i] = gpus;
}

#endif
