/* One instance of an LLM on its GPUs: the serving clock.
 *
 * Between two changes of its batch a replica advances a whole run of identical iterations in one event. A run ends at the
 * first of: a member finishes, KV blocks run short, an arrival that the batcher wants to see, a change of cost regime, a
 * change of its share of links over which it streams what lies beyond the GPU (replica_stream.h). An
 * iteration with prefill is a run of one. No work is done per token; per member of the batch only where KV blocks have run
 * out and the batcher looks for whom to preempt.
 *
 * With pipeline stages a replica has as many batches in flight as stages, each an iteration of its own (replica_flight.c); so
 * is, also with one stage, an iteration that waits for KV to be copied or that only some of the decoding sequences are in.
 *
 * With `single_step` every boundary is visited and the conditions are evaluated there, step by step; the times come from the
 * same closed form and everything is accounted at the ends of runs, so results are bit-identical. */
#ifndef ORRERY_WORLD_REPLICA_REPLICA_H
#define ORRERY_WORLD_REPLICA_REPLICA_H

#include "models/iteration.h"
#include "models/transformer.h"
#include "sim/core/engine.h"
#include "sim/core/mem.h"
#include "sim/world/kv/kvcache.h"
#include "sim/world/kv/prefix_cache.h"
#include "sim/world/links/link.h"
#include "sim/world/links/topology.h"
#include "sim/world/policy/policy.h"
#include "sim/world/replica/cohort.h"
#include "sim/world/replica/pace.h"
#include "sim/world/replica/request.h"
#include "sim/world/replica/run_clock.h"
#include "sim/world/replica/work.h"
#include "sim/world/rows/metric.h"

#include <stdbool.h>

struct offload_service;
struct replica;
struct replica_stream;
struct flight;
struct stage_line;

/* A run of iterations with the same batch, as far as it has come. */
struct replica_batch {
    sim_ns start_ns, end_ns;
    int64_t iterations; /* completed */
    int64_t prefill_sequences, prefill_tokens, decoding;
    struct iteration_work work; /* of the first of them */
};

enum kv_direction { KV_OUT, KV_IN }; /* of the GPU's memory */

/* KV of a request on its way between a replica's GPUs and another place. */
struct kv_move {
    struct transfer transfer; /* for whoever moves it (env.move_kv) */
    struct replica *replica;
    struct request *request;
    enum kv_direction direction;
    int64_t blocks, bytes;
    struct flight *flight; /* that waits for it, or NULL */
    struct kv_move *then;  /* starts when this one has ended, or NULL */
    struct kv_move *before; /* whose `then` this is, or NULL */
    struct kv_move *next;  /* in replica.unattached */
    bool wait;             /* KV_IN: the request is in the batch that waits; otherwise it joins when it has arrived */
};

/* What all replicas of a service share, and whom they report to. The callbacks return 0 or a negative code. */
struct replica_env {
    struct engine *engine;
    struct diag *diag;
    const char *service;            /* its name, for findings */
    const struct batcher *batcher;
    struct iteration_model model;   /* of one pipeline stage */
    const struct llm_spec *llm;     /* NULL: work is not counted */
    struct llm_reads reads;         /* of the LLM */
    const struct energy_law *energy; /* NULL: nor is energy */
    const struct pace_model *pace;   /* NULL: nobody sets its clock */
    struct offload_service *offload; /* says where the cache of preempted sequences goes; may be NULL */
    struct histogram *token_gap_s;  /* all times between two tokens of a sequence */
    int64_t max_context_tokens;
    int64_t stages;                 /* of the pipeline; 0 is 1 */
    int64_t kv_block_bytes;         /* of all GPUs of a replica together */
    struct pool *kv_moves;          /* of struct kv_move */
    bool single_step;
    void *owner;                    /* the service */
    int (*on_finish)(struct replica *replica, struct request *request, sim_ns now); /* the request is its to free */
    int (*on_reject)(struct replica *replica, struct request *request, sim_ns now, const char *reason); /* likewise */
    int (*on_preempt)(struct replica *replica, struct request *request, sim_ns now, const char *reason);
    /* A request that has no prefix chain loses its KV: gives it one, where prefixes are cached. NULL: none are. */
    int (*own_prefix)(struct replica *replica, struct request *request);
    /* A sequence is paused ("pause") and goes on ("continue"), is moved to the host ("swap") or comes back ("resume"). NULL: nobody
     * asks. */
    int (*on_move)(const struct replica *replica, const struct request *request, sim_ns now, const char *action);
    /* Before a prompt's next piece is processed; free_blocks: those left by the pieces before it. NULL: nobody asks. */
    int (*on_prefill)(const struct replica *replica, const struct batch_prefill *prefill, int64_t free_blocks,
                      sim_ns now);
    int (*on_batch)(const struct replica *replica, const struct replica_batch *batch); /* NULL: nobody asks */
    /* The prompt is processed and there are tokens to come: 0 when the request stays here, 1 when it decodes elsewhere. Then its
     * KV blocks stay taken until replica_release_kv. NULL: all stay. */
    int (*on_prefilled)(struct replica *replica, struct request *request, sim_ns now);
    int (*on_handover)(struct replica *replica, struct request *request, sim_ns now); /* it has left this replica for that */
    /* Starts to move KV; replica_kv_moved tells the end. Needed where batchers swap or requests come with KV. */
    int (*move_kv)(struct kv_move *move, sim_ns now);
    /* A sequence is to be moved to the host: takes so many bytes there and returns 1, or 0 where there is no room. Then it is
     * recomputed. Or a negative code. NULL: there always is. */
    int (*take_host)(struct replica *replica, int64_t bytes, sim_ns now);
    /* What a lost replica had on the host, or on its way there and back, is dropped: gives so many bytes back. Returns 0 or a
     * negative code. Needed where take_host or move_kv is, and replicas are lost. */
    int (*give_host)(struct replica *replica, int64_t bytes, sim_ns now);
};

struct replica_counts {
    int64_t prefill_iterations; /* with or without decoding beside the prefill */
    int64_t decode_iterations;  /* pure */
    int64_t decode_steps;       /* iterations with decoding, beside a prefill or not */
    int64_t decode_tokens;      /* sum over these of the decoding sequences */
    int64_t preemptions;
    int64_t swaps, swapped_bytes; /* sequences moved to the host; bytes there and back */
    int64_t recomputed_tokens;  /* KV lost by preemption */
    int64_t lost_tokens;        /* KV lost with the replica's GPUs */
    int64_t cached_tokens;      /* of prompts, found in the prefix cache, again after preemptions too */
    sim_ns busy_ns, extrapolated_ns; /* of a stage, in the mean */
};

/* Prefixes that requests share. Blocks of them that nobody uses count as free in the KV cache. */
struct replica_prefixes {
    struct cache cache;
    int32_t block_tokens;  /* of a prefix block; 0: nothing is shared */
    int64_t item_blocks;   /* KV blocks of one */
    int64_t shares;        /* prefix blocks that requests hold, each request counted */
    int64_t handed_shares; /* of these, by requests that decode elsewhere, until their KV has been moved */
};

enum replica_state { REPLICA_IDLE, REPLICA_PREFILL, REPLICA_DECODE, REPLICA_FLYING };

struct replica {
    struct owner owner;
    enum replica_state state;
    bool is_woken;          /* its event is at this moment, for something that has come */
    const struct replica_env *env;
    int32_t index;
    struct replica_load *load; /* what routers see */
    struct topology_seat seat; /* its GPUs, for what moves over links */
    struct holder holder;      /* the same, for who watches the GPUs of the site */
    struct allocation *parts;  /* [stages]: what the holder holds; NULL: never any */
    struct replica_stream *stream; /* offloaded iterations on these links; NULL: all is on the GPUs */

    struct request_list waiting, prefilling; /* prefilling: in no batch that is in flight */
    struct request_list paused, away;
    struct request_list moving, arrived; /* resumed: their KV is on its way, or has come and they join at the next boundary */
    struct cohort *ready;   /* sequences that decode, but for those in flight */
    struct cohort **spares; /* [n_spares]: empty ones, for batches in flight */
    int32_t n_spares;
    struct flight *flights; /* a ring of `stages` */
    int32_t first_flight, n_flights;
    int64_t in_flight;      /* sequences in them */
    sim_ns *stage_free_ns;  /* [stages]: when each has done what it has got */
    struct stage_line *line; /* instead of the flights, where stages batch for themselves (replica_stages.c), or NULL */
    struct kv_move *unattached; /* moves that the next batch waits for */
    int64_t n_moves;        /* under way */
    struct kvcache kv;
    struct replica_prefixes prefixes;
    int64_t handed_blocks;  /* of requests that decode elsewhere, until their KV has been moved */
    int64_t host_blocks;    /* of KV on the host */
    int64_t moving_blocks;  /* of KV on its way, to or from here */

    struct batch_plan plan;
    int64_t plan_number, admissions;
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
    struct pace run_pace;
    struct pace_order order; /* of its clock, for what starts from now on */
    int64_t recheck_at;     /* the boundary at which an arrival, or KV that has come or gone, wants a decision */

    struct replica_counts counts;
    struct work_sums work;
};

/* `params` are the batcher's, as bound from the scenario. Returns 0 or a negative code; replica_fini also after failure. */
int replica_init(struct replica *replica, const struct replica_env *env, int32_t index, uint32_t owner_id,
                 int64_t block_tokens, int64_t total_blocks, const void *params, struct replica_load *load);
void replica_fini(struct replica *replica);

/* From now on requests with prefix chains share blocks of `block_tokens` tokens, a multiple of those of the KV cache. Capacity and
 * index of the options are the replica's own. A KV cache that holds no such block shares none. Returns 0 or an error (cache.h). */
int replica_share_prefixes(struct replica *replica, const struct cache_options *options, int32_t block_tokens);

/* An empty replica forgets what it has cached, all of which counts as evicted, and goes on with a new cache. Likewise. */
int replica_forget_prefixes(struct replica *replica, const struct cache_options *options);

/* Tokens of the request's prompt that it would find cached. Call replica_catch_up first where a run may be under way. */
int64_t replica_cached_tokens(const struct replica *replica, const struct request *request);

/* Counts what a run under way has done before this moment, whose own boundaries are still to come: for who changes the free
 * blocks between two boundaries, or looks at what is cached. */
void replica_catch_up(struct replica *replica, sim_ns now);

/* A routed request joins the queue. */
void replica_enqueue(struct replica *replica, struct request *request, sim_ns now);

/* A request whose prompt was processed elsewhere joins those that are away; its KV comes when the batcher resumes it. */
void replica_enqueue_away(struct replica *replica, struct request *request, sim_ns now);

/* The KV of a request that was handed over (env.on_prefilled) has been moved: its blocks here are free. */
void replica_release_kv(struct replica *replica, struct request *request, sim_ns now);

/* A move that env.move_kv started has ended. Returns 0 or a negative code. */
int replica_kv_moved(struct kv_move *move, sim_ns now);

/* Brings the state of a run under way to the last boundary at or before now, and counts the iteration under way as busy up to
 * now: at the end of a simulation. */
int replica_settle(struct replica *replica, sim_ns now);

/* Its GPUs have failed: the iteration under way, all KV here and on the host, and what is on its way are lost. All requests leave it
 * as if they had just come, in order of arrival, then of id; what they have generated becomes part of their prompts. The
 * replica is empty and idle. Not where requests are handed over or weights are offloaded. Returns 0 or a negative code. */
int replica_lose(struct replica *replica, struct request_list *lost, sim_ns now);

/* KV blocks in use at a time at which no event is pending: those that a run under way has taken by then count, whether or not
 * its boundaries were visited. */
int64_t replica_used_blocks(const struct replica *replica, sim_ns at);

/* Processed tokens of the decoding sequences, likewise. */
int64_t replica_decode_context_tokens(const struct replica *replica, sim_ns at);

/* What fleet_view_entering_prompts and fleet_view_idle_sequences tell. */
int64_t replica_entering_prompts(const struct replica *replica);
int64_t replica_idle_sequences(const struct replica *replica);

/* Time that it has computed by now, of a stage in the mean; no event is pending. */
sim_ns replica_busy_ns(const struct replica *replica, sim_ns at);
/* From its next boundary on it computes at this clock, or under this cap. Only where env.pace is known. */
void replica_set_order(struct replica *replica, struct pace_order order, sim_ns now);

/* Joules that its GPUs have drawn by a time at which no event is pending, and watts that they draw at it: of each batch under way
 * its share so far, spread evenly over each iteration. Of stages that batch for themselves only what has landed. Only where
 * env.energy is known. */
double replica_drawn_j(const struct replica *replica, sim_ns at);
double replica_draws_w(const struct replica *replica, sim_ns at);

/* Check the laws of a replica, INV-1 to INV-5, and INV-10 of one that is down or starts (world.h). */
void replica_check(const struct replica *replica);
void replica_check_absent(const struct replica *replica);

/* Calls `visit` for every request at the replica. */
void replica_each_request(const struct replica *replica, void (*visit)(void *context, struct request *request),
                          void *context);

/* The same for those in batches in flight, batch by batch. */
void replica_each_in_flight(const struct replica *replica, void (*visit)(void *context, struct request *request),
                            void *context);

/* Output tokens of a request at the replica so far, and the longest gap between two of them. */
int32_t replica_generated_tokens(const struct request *request);
sim_ns replica_max_gap_ns(const struct request *request);

/* Sequences in the batch, whatever they do there. */
int64_t replica_running(const struct replica *replica);

#endif
