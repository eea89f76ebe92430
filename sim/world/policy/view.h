/* What policies see: read-only aggregates and ordered cursors, never copies. Nothing here can be changed by a policy, and
 * nothing here is knowledge that a real system does not have, but for the functions marked as oracle, which a policy must
 * declare (policy.h) and which are recorded with the run. */
#ifndef ORRERY_WORLD_POLICY_VIEW_H
#define ORRERY_WORLD_POLICY_VIEW_H

#include "models/fragmentation.h"
#include "sim/core/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- LLM serving --- */

enum request_state {
    REQUEST_WAITING,
    REQUEST_PREFILLING,
    REQUEST_DECODING,
    REQUEST_PAUSED, /* has KV blocks but gets no tokens until it is resumed */
    REQUEST_AWAY,   /* its KV is elsewhere: on the host, or where its prompt was processed */
    REQUEST_MOVING, /* its KV is on its way here; it decodes once it is there */
    REQUEST_FINISHED,
    REQUEST_REJECTED
};

/* A kind of requests with limits of its own: those of one user group, or of one use. Its service numbers them from 0 on: those
 * that slo.classes names in its order, then the others as they come. */
struct request_class {
    const char *name; /* "" in a service without classes, which has this one only */
    uint16_t index;
};

struct request_view {
    int64_t id;
    sim_ns arrival_ns;
    int32_t prompt_tokens;    /* to be prefilled: after a recompute preemption also what had been generated */
    int32_t prefilled_tokens; /* of these, processed so far */
    int32_t preemptions;
    enum request_state state;
    int64_t admission; /* number of its latest admission at its replica, from 1 on */
    const struct request_view *next; /* behind it in its queue (waiting, prefilling) or batch (decoding); or NULL */
    const struct request_view *prev;
    const struct request_class *request_class;
};

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

struct fleet;
struct rng;

/* What the replicas of a pool do for a request: all of it, or its prompt only, or the decoding of prompts that were processed
 * elsewhere. */
enum pool_role { POOL_MIXED, POOL_PREFILL, POOL_DECODE };

/* What a router sees of each replica. */
struct replica_load {
    int64_t outstanding;  /* requests routed there and not finished */
    int64_t waiting;      /* of these, not yet in the batch */
    int64_t queued_tokens; /* of all of these: prompt tokens still to be processed */
    int64_t decodes;      /* unfinished requests that decode there, or will once their prompt has been processed */
};

/* What may become of a request now: n_replicas candidates, which routers number from 0. Everything here, and what
 * fleet_view_* tell, is as it was at seen_ns: now, or under an information delay at the latest report.
 *
 * Where replicas come and go the candidates are those that are up, in the order of their own numbers, so n_replicas changes
 * between two calls. A replica that comes gets the lowest number that is free, and the highest goes first, so that those
 * that stay mostly keep their places. */
struct fleet_view {
    sim_ns now_ns, seen_ns;
    int32_t n_replicas;
    const struct replica_load *loads; /* [n_replicas] */
    struct rng *random;               /* sim/core/rng.h: the service's own stream for its routers */
    const struct fleet *fleet;        /* for fleet_view_* below */
    int32_t first;                    /* of the candidates, in the fleet */
    const int32_t *numbers;           /* [n_replicas]: theirs in a fleet that scales; NULL: from `first` on */
};

/* KV blocks of a candidate: in use, and in all. */
int64_t fleet_view_kv_used_blocks(const struct fleet_view *view, int32_t replica);
int64_t fleet_view_kv_total_blocks(const struct fleet_view *view, int32_t replica);

/* What a candidate's pool is for. */
enum pool_role fleet_view_role(const struct fleet_view *view, int32_t replica);

/* Oracle (ORACLE_OUTPUT): tokens of the largest KV cache that the unfinished requests of a candidate will come to: prompt and
 * output where they decode, the prompt where only that is processed, until it has been handed over. And the same of one request
 * that arrives. Asking without having declared it is a policy fault. */
int64_t fleet_view_reserved_tokens(const struct fleet_view *view, int32_t replica);
int64_t fleet_view_full_tokens(const struct fleet_view *view, const struct request_view *request);

/* Leading tokens of the request's prompt that are in a candidate's prefix cache, now: engines tell of them as they change, so that
 * there is no information delay. */
int64_t fleet_view_prefix_tokens(const struct fleet_view *view, int32_t replica, const struct request_view *request);

/* KV blocks of a candidate in tokens. */
int64_t fleet_view_kv_total_tokens(const struct fleet_view *view, int32_t replica);

/* Prompts that pass the first pipeline stage of a candidate now (where stages do not batch for themselves: any stage), and
 * sequences that decode there and are in no batch, those included whose prompt was processed elsewhere. */
int64_t fleet_view_entering_prompts(const struct fleet_view *view, int32_t replica);
int64_t fleet_view_idle_sequences(const struct fleet_view *view, int32_t replica);

/* Processed tokens of a candidate's decoding sequences. */
int64_t fleet_view_decode_context_tokens(const struct fleet_view *view, int32_t replica);

/* --- Replicas that come and go --- */

/* A service when its autoscaler is asked. Load and usage are as of seen_ns: now, or under an information delay the latest
 * report; how many replicas there are is known at once. */
struct autoscaling_view {
    sim_ns now_ns, seen_ns, interval_ns;
    int64_t min, max;               /* replicas */
    int64_t up, starting, draining; /* starting: have their GPUs, and load weights; draining: get no more requests */
    int64_t outstanding;            /* requests of the service that are not finished */
    int64_t waiting;                /* of these, in no batch, those included that wait for a first replica */
    int64_t queued_tokens;          /* prompt tokens still to be processed, at replicas */
    int64_t arrived;                /* requests, since the previous decision */
    double kv_used_frac;            /* of the KV blocks of replicas that are up; 0: none is */
    double busy_frac;               /* share of the time since the previous decision that these computed, now; 0: none is */
};

/* --- Jobs on a cluster --- */

struct cluster;
struct job_type; /* sim/world/jobs/job_types.h */
struct rng;

enum job_state { JOB_PENDING, JOB_RUNNING, JOB_FINISHED, JOB_REJECTED };

/* A job that needs GPUs; schedulers never see those that need none, nor those that were rejected. */
struct job_view {
    int64_t id;
    int64_t sequence;   /* order of submission, from 0 */
    sim_ns submit_ns;
    sim_ns estimate_ns; /* run time that the user stated */
    int32_t gpus;       /* >= 1 */
    int32_t nodes;      /* asked for; 0: free choice */
    enum job_state state;
    int32_t preemptions;
    const char *type;   /* name of its kind as the trace has it; "" when it has none */
    double held_gpus;   /* while it runs; whole ones where a placer places */
    double speed;       /* while it runs, once it works: 1 on what it asked for */
    int32_t node_type;  /* while it runs: 0 for the cluster's own nodes, then as in node_types */
    int32_t demand;     /* what else it asks for: index into cluster_view.demands; of use where that is not NULL */
};

/* What jobs ask for, one entry per combination that a run has seen. GPUs are `gpus` whole ones (gpu_milli 1000), or one share of
 * one (gpus 1); with gpus 0 the job needs CPU and memory only. CPU and memory are of the whole job. */
struct job_demand {
    int32_t gpus, nodes, gpu_milli;
    int64_t cpu_milli, memory_bytes;
    uint64_t gpu_models; /* bits of node_view.gpu_model that will do */
};

/* The part of CPU or memory that goes with so many GPUs of a job, rounded up. */
static inline int64_t job_demand_share(int64_t amount, int32_t gpus, int32_t of)
{
    return gpus >= of ? amount : amount / of * gpus + (amount % of * gpus + of - 1) / of;
}

/* What is left of one node, where a placer looks at nodes one by one. */
struct node_view {
    int32_t gpus, free_gpus;       /* that it has; of these, that nobody holds a part of */
    int32_t gpu_model;
    int32_t left_milli;            /* of all its GPUs, in 1/1000 of one */
    const int32_t *gpu_left_milli; /* [gpus], of each: 1000 when it is free */
    int64_t cpu_milli, cpu_left_milli, memory_bytes, memory_left_bytes; /* INT64_MAX: not counted */
    const int32_t *jobs_by_gpus;   /* jobs here with a share ([0]), with 1, 2 .. whole GPUs of this node */
    int32_t n_kinds;               /* how many of these are not zero */
    uint32_t changes;              /* counts what was taken or given back here */
};

/* The cluster as jobs may use it, without what services hold. While a scheduler decides, everything here follows the
 * actions of the plan being made. A site with further node types has a view of each, the cluster's own nodes first. */
struct cluster_view {
    sim_ns now_ns;
    int64_t total_gpus, free_gpus; /* INT64_MAX: unlimited */
    int32_t n_nodes, gpus_per_node; /* n_nodes 0: GPUs are only counted */
    const int32_t *node_free_gpus;  /* [n_nodes]; NULL when GPUs are only counted */
    int64_t n_pending, n_running;   /* on all node types */
    const struct cluster *cluster;  /* for cluster_view_* below */
    double free_amount;             /* of GPUs: free_gpus and what is left of one that is held in part */
    const char *gpu;                /* type of the GPUs; NULL: the scenario does not say */
    uint64_t capacity_epoch;        /* changes when GPUs came or went by something else than jobs' starts and ends */
    const struct cluster_view *next_type; /* of the site's next node type, or NULL */
    /* For placers that look at nodes one by one (struct placer, by_node), and on clusters whose nodes differ; else NULL. */
    const struct node_view *nodes;        /* [n_nodes] */
    int32_t nodes_per_rack;               /* neighbours under one switch; 0: all of them */
    const struct job_demand *demands;     /* [n_demands]; more may come with every job */
    int32_t n_demands;
    const struct frag_task *tasks;        /* [n_tasks] the most popular kinds of jobs, for those who want them; else NULL */
    int32_t n_tasks;
    struct rng *random;                   /* sim/core/rng.h: stream of the scheduler and the placer */
    const double *sizes_gpu_s;            /* [n_sizes] of all jobs of the trace, rising, for schedulers that want them; else NULL */
    size_t n_sizes;
};

/* The lowest node >= `from` that has `low` to `high` free GPUs (1 <= low <= high <= gpus_per_node), or -1. */
int32_t cluster_view_next_node(const struct cluster_view *view, int32_t low, int32_t high, int32_t from);

/* The number of nodes with exactly so many free GPUs. */
int32_t cluster_view_nodes_with(const struct cluster_view *view, int32_t free_gpus);

/* Time that the job has held GPUs so far, preempted stretches included, up to now. */
sim_ns job_view_executed_ns(const struct cluster_view *view, const struct job_view *job);

/* Run time left by the user's estimate, never negative: a job that runs over its estimate is taken to end now. */
sim_ns job_view_estimated_remaining_ns(const struct cluster_view *view, const struct job_view *job);

/* Oracle (ORACLE_DURATION): true run time left: of a running job as it runs now, of another one on what it asked for; what it
 * waits before it works counts. Asking without having declared it is a policy fault. */
sim_ns job_view_remaining_ns(const struct cluster_view *view, const struct job_view *job);

/* How fast the job would be with so many GPUs of the node type that `view` shows: 1 on what it asked for; 0: it cannot run there. */
double job_view_speed_on(const struct cluster_view *view, const struct job_view *job, double gpus);

/* The scheduler's own bytes for this job (struct scheduler, job_bytes), zeroed when the job is submitted. */
void *job_view_slot(const struct job_view *job);

/* --- A cache --- */

struct cache;

enum { CACHE_NO_ITEM = -1 };

/* A job that is about to run, as one that decides on checkpoints sees it. */
struct checkpoint_view {
    const struct job_view *job;
    double stall_s, flush_s;  /* of one save: the job stands still; then until it counts */
    double least_interval_s;  /* a save that has to be flushed, and a step that has to be over, before the next one */
    double restart_s;         /* mean wait of the job on its GPUs after a failure */
    double mtbf_s;            /* mean time between failures on these GPUs, of all causes; INFINITY: none that is known */
};

/* What an evictor sees. An item is a number >= 0 that stays its own while it is cached; small ones are given out first. */
struct cache_view {
    int64_t capacity; /* items that have room; INT64_MAX: no limit */
    int64_t size;     /* items that are cached */
    int64_t held;     /* of these, in use: they cannot be evicted */
    int64_t access;   /* number of the latest access (insertion or hit), from 0; -1 before the first */
    struct cache *cache; /* for cache_view_* below */
};

/* What the item holds: equal keys are equal contents, also after an eviction. */
uint64_t cache_view_key(const struct cache_view *view, int32_t item);

/* Whether the item is in use. */
bool cache_view_held(const struct cache_view *view, int32_t item);

/* The evictor's own bytes for this item (struct evictor, item_bytes), zeroed when it is inserted. Valid until the call
 * returns. */
void *cache_view_slot(const struct cache_view *view, int32_t item);

/* Starts the random stream of this cache and this name, at its first number: the evictor keeps it in its state. */
void cache_view_stream(const struct cache_view *view, const char *name, struct rng *rng);

/* All accesses to a cache, past ones too. */
struct cache_future {
    int64_t n;
    const int64_t *next_uses; /* [n]: number of the next access to the same key; INT64_MAX: never again */
};

/* Oracle (ORACLE_FUTURE): the number of the access, later than view->access, that asks for the item next; INT64_MAX: never
 * again. Asking without having declared it is a policy fault. */
int64_t cache_view_next_use(const struct cache_view *view, int32_t item);

/* Oracle (ORACLE_FUTURE): the whole of it; NULL, and a policy fault, without having declared it. */
const struct cache_future *cache_view_future(const struct cache_view *view);

#endif
