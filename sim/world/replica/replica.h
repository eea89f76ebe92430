/* One instance of an LLM on its GPUs: the serving clock.
 *
 * Between two changes of its batch a replica advances a whole run of identical iterations in one event. A run ends
 * when a member finishes, KV blocks run short, the batcher wants to see an arrival, or the cost regime changes. It
 * also ends when the replica's share of the links that it streams over changes (replica_stream.h). An iteration with
 * prefill is a run of one. No work is done per token. Work per member of the batch is done only when KV blocks have
 * run out and the batcher chooses whom to preempt.
 *
 * With pipeline stages a replica has up to one batch in flight per stage, each an iteration of its own
 * (replica_inflight.c). An iteration that waits for a copy of KV, or that processes only some of the decoding
 * sequences, is also a batch in flight, even with one stage.
 *
 * An iteration in which sequences verify drafts is a run of one too, but several are computed at once (speculation.h).
 *
 * With `single_step` every boundary is visited and the conditions are evaluated step by step. Times come from the
 * same closed form and everything is accounted at the ends of runs, so results are bit-identical. */
#ifndef ORRERY_WORLD_REPLICA_REPLICA_H
#define ORRERY_WORLD_REPLICA_REPLICA_H

#include "models/iteration.h"
#include "models/transformer.h"
#include "sim/core/engine.h"
#include "sim/core/mem.h"
#include "sim/world/kv/kvcache.h"
#include "sim/world/kv/prefix_cache.h"
#include "sim/world/kv/prefix_store.h"
#include "sim/world/links/link.h"
#include "sim/world/links/topology.h"
#include "sim/world/policy/batching.h"
#include "sim/world/replica/gpu_clock.h"
#include "sim/world/replica/planned_blocks.h"
#include "sim/world/replica/request.h"
#include "sim/world/replica/run_clock.h"
#include "sim/world/replica/running_batch.h"
#include "sim/world/replica/sequence_group.h"
#include "sim/world/replica/speculation.h"
#include "sim/world/replica/work.h"
#include "sim/world/rows/metric.h"

#include <stdbool.h>

struct offload_service;
struct replica;
struct replica_stream;
struct replica_traffic;
struct inflight_batch;
struct pipeline;

/* A run of iterations with one batch, up to now. */
struct replica_batch {
    sim_ns start_ns, end_ns;
    int64_t iterations; /* completed */
    int64_t prefill_sequences, prefill_tokens, decoding;
    struct iteration_work work; /* of the first of them */
    const struct clock_state *clock_state;
};

enum kv_direction { KV_OUT, KV_IN, KV_LOAD }; /* of the GPU's memory; KV_LOAD: from its prefix store */

/* KV of a request in transfer between the GPUs of a replica and another place. */
struct kv_move {
    struct transfer transfer; /* used by env.move_kv */
    struct replica *replica;
    struct request *request;
    enum kv_direction direction;
    int64_t blocks, bytes;
    struct inflight_batch *inflight; /* the batch that waits for it, or NULL */
    struct kv_move *then;            /* starts when this one has ended, or NULL */
    struct kv_move *before; /* whose `then` this is, or NULL */
    struct kv_move *next;  /* in replica.unattached */
    struct store_copy *copy;   /* KV_LOAD: what it loads; NULL: of a chunk store */
    struct kv_move *next_load; /* KV_LOAD: of the same request */
    bool wait;             /* KV_IN: the batch that the request is in waits; otherwise the request joins on arrival */
};

/* Shared by all replicas of a service: models, settings and callbacks. Callbacks return 0 or a negative code. */
struct replica_env {
    struct engine *engine;
    struct diag *diag;
    const char *service;            /* its name, for findings */
    const struct batcher *batcher;
    struct iteration_model model;   /* of one pipeline stage */
    double speed_frac;              /* the model's times count divided by it; 0: as they are */
    const struct llm_spec *llm;     /* NULL: work is not counted */
    struct llm_reads reads;         /* of the LLM */
    const struct energy_model *energy;     /* NULL: energy is not counted */
    const struct clock_model *clock_model; /* NULL: the clock is never set */
    const struct sampling_model *sampling; /* NULL: every request is one sequence */
    int64_t sequence_blocks;               /* most KV blocks of a sequence */
    const struct speculation_model *speculation; /* NULL: every decoding sequence gets one token per iteration */
    struct offload_service *offload;       /* where the cache of preempted sequences goes; may be NULL */
    struct histogram *token_gap_s;  /* all times between two tokens of a sequence */
    int64_t max_context_tokens;
    int64_t stages;                 /* of the pipeline; 0 means 1 */
    int64_t kv_block_bytes;         /* over all GPUs of a replica, in all layers */
    double window_share;            /* llm_window_share, where KV behind windows is freed; else 0 */
    struct pool *kv_moves;          /* of struct kv_move */
    struct change_log *changed_loads; /* replicas, by index; NULL: nobody reads it */
    bool single_step;
    void *owner;                    /* the service */
    int (*on_finish)(struct replica *replica, struct request *request, sim_ns now); /* the callee frees the request */
    /* the callee frees the request */
    int (*on_reject)(struct replica *replica, struct request *request, sim_ns now, const char *reason);
    int (*on_preempt)(struct replica *replica, struct request *request, sim_ns now, const char *reason);
    /* Gives a request without a prefix chain one before it loses its KV, if prefixes are cached. NULL: none are. */
    int (*own_prefix)(struct replica *replica, struct request *request);
    /* Required if sampling is set. begin_group gives the request a group. fork returns a copy of the request for
     * another sequence of it, in this slot and with an output of its own; NULL when out of memory. drop frees a
     * sequence that has lost its place, and its prefix chain. */
    int (*begin_group)(struct replica *replica, struct request *request);
    struct request *(*fork)(struct replica *replica, const struct request *request, int32_t slot,
                            int32_t output_tokens);
    void (*drop)(struct replica *replica, struct request *sequence);
    /* A sequence is paused ("pause") or continues ("continue"), is swapped to the host ("swap") or resumes ("resume").
     * NULL: not reported. */
    int (*on_move)(const struct replica *replica, const struct request *request, sim_ns now, const char *action);
    /* Before the next piece of a prompt is processed; free_blocks: left by the pieces before it. NULL: not
     * reported. */
    int (*on_prefill)(const struct replica *replica, const struct batch_prefill *prefill, int64_t free_blocks,
                      sim_ns now);
    int (*on_batch)(const struct replica *replica, const struct replica_batch *batch); /* NULL: not reported */
    /* Before the batcher decides. NULL: not reported. */
    int (*on_compose)(const struct replica *replica, sim_ns now);
    /* What its queue waits for changes; the request as in admission_row. NULL: not reported. */
    int (*on_queue)(const struct replica *replica, const struct request_view *request, sim_ns now,
                    enum admission_step step);
    /* The prompt is processed and tokens are still to come. Returns 0 if the request stays, 1 if it decodes elsewhere;
     * then its KV blocks stay taken until replica_release_kv. NULL: all requests stay. */
    int (*on_prefilled)(struct replica *replica, struct request *request, sim_ns now);
    /* it has left to decode elsewhere */
    int (*on_handover)(struct replica *replica, struct request *request, sim_ns now);
    /* The iteration in progress when the replica was held has ended. Required if replicas are held. */
    int (*on_halted)(struct replica *replica, sim_ns now);
    /* Starts to move KV; replica_kv_moved reports the end. Required if batchers swap or requests arrive with KV. */
    int (*move_kv)(struct kv_move *move, sim_ns now);
    /* Reserves host memory for a sequence to be swapped out. Returns 1, 0 if the host is full (the sequence will be
     * recomputed), or a negative code. NULL: host memory is unlimited. */
    int (*take_host)(struct replica *replica, int64_t bytes, sim_ns now);
    /* Releases host memory that a lost replica had reserved, for KV on the host or in transfer. Returns 0 or a
     * negative code. Required if replicas can be lost and take_host or move_kv is set. */
    int (*give_host)(struct replica *replica, int64_t bytes, sim_ns now);
};

struct replica_counts {
    int64_t prefill_iterations; /* with or without decoding */
    int64_t decode_iterations;  /* without prefill */
    int64_t decode_steps;       /* iterations with decoding, with or without prefill */
    int64_t decode_tokens;      /* decoding sequences, summed over decode_steps */
    int64_t drafted_iterations; /* of decode_steps: with drafts */
    int64_t drafted_steps;      /* decoding sequences, summed over these */
    int64_t drafted_tokens, accepted_tokens; /* drafts that they verified, and kept */
    int64_t copied_blocks; /* of KV, by a sequence that writes into a block that others hold */
    int64_t preemptions;
    int64_t swaps, swapped_bytes; /* sequences swapped to the host; bytes in both directions */
    int64_t recomputed_tokens;  /* KV lost by preemption */
    int64_t lost_tokens;        /* KV lost with the replica's GPUs */
    int64_t reserved_tokens, reserving_tokens; /* reserved beyond prompts, at admission; what these requests come to */
    int64_t reserving;                         /* such admissions */
    int64_t loaded_tokens, computed_tokens; /* of prompts: from the prefix store; processed */
    int64_t cached_tokens; /* of prompts, found in the prefix cache, including those found again after a preemption */
    sim_ns busy_ns, extrapolated_ns; /* mean over the stages */
};

/* Prefixes that requests share. Cached blocks that no request uses count as free in the KV cache. */
struct replica_prefixes {
    struct cache cache;
    int32_t block_tokens; /* of a prefix block; 0: nothing is shared */
    int64_t item_blocks;   /* KV blocks per prefix block */
    int64_t shares;        /* prefix blocks held by requests, counted once per request */
    int64_t handed_shares; /* of these, by requests that decode elsewhere, until their KV has moved */
    bool is_scheduling;    /* blocks are being cached that will have been computed after the iteration */
};

enum replica_state { REPLICA_IDLE, REPLICA_PREFILL, REPLICA_DECODE, REPLICA_IN_FLIGHT };

struct replica {
    struct owner owner;
    enum replica_state state;
    bool is_woken;          /* its event is due now, because something has arrived */
    bool is_held, is_halting; /* no iteration starts; of these, one is still in progress (replica_hold) */
    int32_t index;
    const struct replica_env *env;
    struct replica_load *load; /* as routers see it */
    struct run_clock clock; /* of the current run */
    int64_t run_steps;      /* boundaries passed */
    struct repriced_iteration {
        sim_ns start_ns, at_ns; /* of the last iteration whose speed changed: its start, and when that was */
        double drawn_j;         /* above idle, from start_ns to at_ns */
    } repriced;
    struct kvcache kv;
    struct running_batch *ready;   /* decoding sequences, except those in flight */

    struct request_list fetching; /* will wait when what they need has come into the first tier of the prefix store */
    struct request_list waiting, prefilling; /* prefilling: not in a batch in flight */
    struct request_list paused, nonresident;
    struct request_list moving, arrived; /* resumed: KV in transfer; KV arrived, joining at the next boundary */
    struct running_batch **spares; /* [n_spares]: empty ones, for batches in flight */
    int32_t n_spares;
    struct inflight_batch *inflight; /* ring of `stages` */
    int32_t first_inflight, n_inflight;
    int64_t in_flight;      /* sequences in flight */
    sim_ns *stage_free_ns;  /* [stages]: when each finishes its present work */
    struct pipeline *pipeline; /* replaces `inflight` when stages batch independently (replica_stages.c), or NULL */
    struct kv_move *unattached; /* moves that the next batch waits for */
    int64_t n_moves;        /* in transfer */
    int64_t window_blocks;           /* that its requests hold for layers with a window */
    int64_t n_parked, parked_tokens; /* requests in the queue that load alone or have loaded; what they hold or load */
    struct replica_prefixes prefixes;
    struct prefix_store *store; /* below it; NULL: none */
    struct replica_chunks *chunks; /* NULL: chunks are not reused */
    int64_t n_remote;       /* of the nonresident requests: those whose KV is at another replica */
    int64_t overlap_blocks; /* of sequences of one request: each use of a block beyond the first */
    struct request_list dropped; /* beams to be freed when the plan has been applied */
    int64_t handed_blocks;  /* of requests that decode elsewhere, until their KV has moved */
    int64_t host_blocks;    /* of KV on the host */
    int64_t moving_blocks;  /* of KV in transfer, to or from this replica */

    struct batch_plan plan;
    int32_t plan_seen; /* leading prefills of the plan whose blocks those behind them share; 0: no plan is made */
    struct planned_blocks planned; /* of these, as far as they have been asked for */
    int64_t plan_number, admissions;
    int64_t plan_end_step;  /* decode step at which the plan itself ends its choice */
    struct replica_view view;
    const struct request_view *asked_oracle; /* request whose future the batcher read without declaring the oracle */
    void *batcher_state;

    int64_t run_counted;    /* boundaries accounted */
    int64_t run_end;        /* boundary at which the run ends */
    int64_t run_visit;      /* boundary of the next event, not behind it */
    int64_t run_until;      /* boundary up to which its cost holds */
    double run_extrapolated_frac;
    struct iteration_work run_work; /* of its first iteration */
    struct clock_state run_clock_state;
    struct clock_order order; /* clock or cap of the iterations that start from now on */
    int64_t recheck_at;     /* boundary at which an arrival, or KV that came or went, requires a decision */

    struct replica_counts counts;
    struct work_sums work;

    /* Seldom read. */
    struct topology_placement placement; /* its GPUs, for transfers over links */
    struct topology_placement *groups;   /* [n_groups]: those of each attention group; NULL: there is one */
    int32_t n_groups, next_group;        /* next_group: of the next sequence whose KV is handed over from or to it */
    struct holder holder;                /* the same, for watchers of the site's GPUs */
    struct allocation *parts;            /* [stages]: what the holder holds, or held last; NULL: never any */
    bool claims_gpus;                    /* a failure took these parts, and it will take as many again */
    struct speculating *speculating; /* NULL unless env->speculation is set */
    struct replica_stream *stream; /* offloaded iterations on these links; NULL: everything is on the GPUs */
    struct replica_traffic *traffic; /* collectives on links of the site; NULL: not there */
};

/* `params` are the batcher's, as bound from the scenario. Returns 0 or a negative code; call replica_fini also after
 * failure. */
int replica_init(struct replica *replica, const struct replica_env *env, int32_t index, uint32_t owner_id,
                 int64_t block_tokens, int64_t total_blocks, const void *params, struct replica_load *load);
void replica_fini(struct replica *replica);

/* From now on requests with prefix chains share blocks of `block_tokens` tokens, a multiple of the KV block size. The
 * replica sets capacity and index of the options. A KV cache smaller than one such block shares none. Returns 0 or an
 * error (cache.h). */
int replica_share_prefixes(struct replica *replica, const struct cache_options *options, int32_t block_tokens);

/* Evicts everything that an empty replica has cached and starts a new cache. Returns 0 or an error (cache.h). */
int replica_forget_prefixes(struct replica *replica, const struct cache_options *options);

/* Before the replica gives its GPUs back: abandons writes to its stores, and empties tiers of its own. No load is
 * under way. Returns 0 or an error (cache.h). */
int replica_leave_store(struct replica *replica, sim_ns now);

/* A fetch for the request has ended (prefix_store.fetched). */
void replica_prefix_fetched(struct replica *replica, struct request *request, sim_ns now);

/* Tokens of the request's prompt behind those cached here that its prefix store has and would load. */
int64_t replica_stored_tokens(const struct replica *replica, const struct request *request);

/* Tokens of the request's prompt that are cached here. If a run may be active, call replica_catch_up first. */
int64_t replica_cached_tokens(const struct replica *replica, const struct request *request);

/* Advances the current run to its last boundary before now. Call it before changing the free blocks between two
 * boundaries, or before reading what is cached. */
void replica_catch_up(struct replica *replica, sim_ns now);

/* Adds a routed request to the queue. */
void replica_enqueue(struct replica *replica, struct request *request, sim_ns now);

/* Adds a remote request, whose prompt was processed elsewhere. Its KV comes when the batcher resumes it. */
void replica_enqueue_remote(struct replica *replica, struct request *request, sim_ns now);

/* The KV of a request that was handed over (env.on_prefilled) has moved: frees its blocks here. */
void replica_release_kv(struct replica *replica, struct request *request, sim_ns now);

/* A move that env.move_kv started has ended. Returns 0 or a negative code. */
int replica_kv_moved(struct kv_move *move, sim_ns now);

/* At the end of a simulation: advances a run to its last boundary at or before now, and counts the unfinished
 * iteration as busy up to now. */
int replica_settle(struct replica *replica, sim_ns now);

/* The replica's GPUs have failed: the current iteration, all KV here and on the host, and KV in transfer are lost.
 * Appends all requests to `lost` as new arrivals, ordered by arrival, then by id; their generated tokens become part
 * of their prompts. The replica is then empty and idle. No hand-over from or to it may be left. Not for replicas with
 * offloaded weights. Returns 0 or a negative code. */
int replica_lose(struct replica *replica, struct request_list *lost, sim_ns now);

/* The KV of a request that was handed over is lost with the replica that processed its prompt. The request leaves this
 * one, which was to decode it, and starts anew. Its transfer has been cancelled; no batch waits for it. */
void replica_drop_remote(struct replica *replica, struct request *request, sim_ns now);

/* A request without KV starts anew: generated tokens become part of its prompt. The replica counts the lost tokens. */
void replica_restart_request(struct replica *replica, struct request *request);

/* KV blocks in use at a time with no event pending, including those taken by unvisited boundaries of the current
 * run. */
int64_t replica_used_blocks(const struct replica *replica, sim_ns at);

/* Processed tokens of the decoding sequences at a time with no event pending. */
int64_t replica_decode_context_tokens(const struct replica *replica, sim_ns at);

/* Values of fleet_view_entering_prompts and fleet_view_idle_sequences. */
int64_t replica_entering_prompts(const struct replica *replica);
int64_t replica_idle_sequences(const struct replica *replica);

/* Computing time up to a time with no event pending, mean over the stages. */
sim_ns replica_busy_ns(const struct replica *replica, sim_ns at);

/* From now on no iteration starts; requests keep their KV and may arrive. Returns true if none is in progress.
 * Otherwise env.on_halted is called at the end of the one in progress. Called before the boundaries of its moment, for
 * a replica of one stage. */
bool replica_hold(struct replica *replica, sim_ns now);

/* Iterations start again. */
void replica_resume(struct replica *replica, sim_ns now);

/* Sets the clock or the power cap from the next boundary on. Only if env.clock_model is set. */
void replica_set_clock(struct replica *replica, struct clock_order order, sim_ns now);

/* Joules that the GPUs have drawn up to a time with no event pending, and watts drawn at that time. The energy of an
 * unfinished iteration is spread evenly over it, and what is left of it when its speed changes over the time left.
 * The power limit holds for the mean of an iteration: a rest that speeds up may draw some per cent more. When stages
 * batch independently, only finished batches count. Only if env.energy is set. */
double replica_drawn_j(const struct replica *replica, sim_ns at);
double replica_draws_w(const struct replica *replica, sim_ns at);

/* Check the invariants of a replica, INV-1 to INV-5, and INV-10 of one that is down or starts (world.h). */
void replica_check(const struct replica *replica);
void replica_check_absent(const struct replica *replica);

/* Calls `visit` for every request at the replica. */
void replica_each_request(const struct replica *replica, void (*visit)(void *context, struct request *request),
                          void *context);

/* Calls `visit` for every request in a batch in flight, batch by batch. */
void replica_each_in_flight(const struct replica *replica, void (*visit)(void *context, struct request *request),
                            void *context);

/* Output tokens of a request at the replica so far, and its longest gap between two tokens. */
int32_t replica_generated_tokens(const struct request *request);
struct token_wait replica_max_gap(const struct request *request);

/* Sequences in the batch: prefilling, paused, resuming or decoding. */
int64_t replica_running(const struct replica *replica);

#endif
