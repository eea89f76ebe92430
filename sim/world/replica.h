/* One instance of an LLM on its GPUs: the serving clock.
 *
 * Between two changes of its batch a replica advances a whole run of identical iterations in one event. A run ends at the
 * first of: a member finishes, KV blocks run short, an arrival that the batcher wants to see, a change of cost regime. An
 * iteration with prefill is a run of one. No work is done per token; per member of the batch only where KV blocks have run
 * out and the batcher looks for whom to preempt.
 *
 * With `single_step` every boundary is visited and the conditions are evaluated there, step by step; the times come from the
 * same closed form and everything is accounted at the ends of runs, so results are bit-identical. */
#ifndef ORRERY_WORLD_REPLICA_H
#define ORRERY_WORLD_REPLICA_H

#include "models/iteration.h"
#include "sim/core/engine.h"
#include "sim/world/finish_order.h"
#include "sim/world/kvcache.h"
#include "sim/world/metric.h"
#include "sim/world/policy.h"
#include "sim/world/request.h"
#include "sim/world/run_clock.h"
#include "sim/world/token_gaps.h"
#include "sim/world/topology.h"

#include <stdbool.h>

struct offload_service;
struct replica;

/* A run of iterations with the same batch, as far as it has come. */
struct replica_batch {
    sim_ns start_ns, end_ns;
    int64_t iterations; /* completed */
    int64_t prefill_sequences, prefill_tokens, decoding;
    struct iteration_work work; /* of the first of them */
};

/* What all replicas of a service share, and whom they report to. The callbacks return 0 or a negative code. */
struct replica_env {
    struct engine *engine;
    struct diag *diag;
    const char *service;            /* its name, for findings */
    const struct batcher *batcher;
    struct iteration_model model;
    struct offload_service *offload; /* says where the cache of preempted sequences goes; may be NULL */
    struct histogram *token_gap_s;  /* all times between two tokens of a sequence */
    int64_t max_context_tokens;
    bool single_step;
    void *owner;                    /* the service */
    int (*on_finish)(struct replica *replica, struct request *request, sim_ns now); /* the request is its to free */
    int (*on_reject)(struct replica *replica, struct request *request, sim_ns now, const char *reason); /* likewise */
    int (*on_preempt)(struct replica *replica, struct request *request, sim_ns now, const char *reason);
    /* Before a prompt's next piece is processed; free_blocks: those left by the pieces before it. NULL: nobody asks. */
    int (*on_prefill)(const struct replica *replica, const struct batch_prefill *prefill, int64_t free_blocks,
                      sim_ns now);
    int (*on_batch)(const struct replica *replica, const struct replica_batch *batch); /* NULL: nobody asks */
};

struct replica_counts {
    int64_t prefill_iterations; /* with or without decoding beside the prefill */
    int64_t decode_iterations;  /* pure */
    int64_t decode_steps;       /* iterations with decoding, beside a prefill or not */
    int64_t decode_tokens;      /* sum over these of the decoding sequences */
    int64_t preemptions;
    sim_ns busy_ns, extrapolated_ns;
};

enum replica_state { REPLICA_IDLE, REPLICA_WOKEN, REPLICA_PREFILL, REPLICA_DECODE };

struct replica {
    struct owner owner;
    enum replica_state state;
    const struct replica_env *env;
    int32_t index;
    struct replica_load *load; /* what routers see */
    struct topology_seat seat; /* its GPUs, for what moves over links */

    struct request_list waiting, prefilling, decoding;
    struct finish_order finishing;
    struct kvcache kv;
    int64_t step;           /* decode iterations so far, those beside a prefill included */
    int64_t context_tokens; /* processed tokens, over the decoding sequences */

    struct batch_plan plan;
    int64_t plan_number;
    int64_t plan_end_step;  /* decode step at which the plan's choice ends by its own word */
    struct replica_view view;
    const struct request_view *asked_oracle; /* whose future the batcher asked for without having declared it */
    void *batcher_state;

    struct run_clock clock; /* of the run under way */
    int64_t run_steps;      /* boundaries of it that have passed */
    int64_t run_counted;    /* of these, accounted */
    int64_t run_end;        /* the boundary at which it ends */
    int64_t run_until;      /* the boundary up to which its cost holds */
    double run_extrapolated_frac;
    struct iteration_work run_work; /* of its first iteration */
    bool recheck;           /* an arrival wants a decision at the next boundary */

    sim_ns last_token_ns;   /* of the latest decode iteration accounted */
    struct token_gaps gaps;
    struct replica_counts counts;
};

/* `params` are the batcher's, as bound from the scenario. Returns 0 or a negative code; replica_fini also after failure. */
int replica_init(struct replica *replica, const struct replica_env *env, int32_t index, uint32_t owner_id,
                 int64_t block_tokens, int64_t total_blocks, const void *params, struct replica_load *load);
void replica_fini(struct replica *replica);

/* A routed request joins the queue. */
void replica_enqueue(struct replica *replica, struct request *request, sim_ns now);

/* Brings the state of a run under way to the last boundary at or before now, and counts the iteration under way as busy up to
 * now: at the end of a simulation. */
int replica_settle(struct replica *replica, sim_ns now);

/* KV blocks in use at a time at which no event is pending: those that a run under way has taken by then count, whether or not
 * its boundaries were visited. */
int64_t replica_used_blocks(const struct replica *replica, sim_ns at);

/* Processed tokens of the decoding sequences, likewise. */
int64_t replica_decode_context_tokens(const struct replica *replica, sim_ns at);

/* The longest gap between two tokens of a decoding request, up to now. */
sim_ns replica_max_gap_ns(const struct replica *replica, const struct request *request);

#endif
