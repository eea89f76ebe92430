/* An LLM service: a fleet of replicas of one LLM behind a router, fed by a stream of requests. */
#ifndef ORRERY_WORLD_SERVICE_SERVICE_H
#define ORRERY_WORLD_SERVICE_SERVICE_H

#include "models/hardware.h"
#include "models/transformer.h"
#include "sim/catalog/catalog.h"
#include "sim/core/config/config.h"
#include "sim/core/engine.h"
#include "sim/world/cluster/cluster.h"
#include "sim/world/kv/chunk_store.h"
#include "sim/world/kv/offload.h"
#include "sim/world/kv/prefix_store.h"
#include "sim/world/links/topology.h"
#include "sim/world/replica/gpu_clock.h"
#include "sim/world/rows/component.h"
#include "sim/world/rows/sink.h"
#include "sim/world/rows/source.h"
#include "sim/world/service/slo.h"

#include <math.h>

/* What the cache keeps in layers with a window: what the engine does, all tokens, or those in the window. */
enum kv_windows { KV_WINDOWS_USUAL, KV_WINDOWS_KEEP, KV_WINDOWS_FREE };

struct kv_config {
    int64_t block_tokens;
    int64_t blocks;               /* per replica; 0: as many as fit into the GPU's memory */
    double usable_frac;             /* share of the GPU's memory that the engine may use */
    double reserve_bytes;           /* of the runtime: context, buffers, graphs */
    int64_t activation_tokens, activation_sequences; /* largest iteration, for which activations are kept */
    int windows;                    /* enum kv_windows */
    struct offload_config offload;
    struct config_variant prefix_cache; /* family eviction; no entry: prefixes are not cached */
    struct store_config prefix_store;   /* below it; no tiers: none */
    struct chunk_store_config chunk_store; /* no tiers: none */
};

/* How a replica starts. */
#define START_LOAD_BYTES_PER_S 3.4e9 /* the default */
struct start_config {
    double delay_s;          /* from taking its GPUs to its first request; NAN: the time to load the weights */
    double load_bytes_per_s; /* over all GPUs of a replica */
};

/* Whether the scenario says how long a start takes: the default is none of its values. */
static inline bool start_config_is_stated(const struct start_config *start)
{
    return !isnan(start->delay_s) || start->load_bytes_per_s < START_LOAD_BYTES_PER_S ||
           start->load_bytes_per_s > START_LOAD_BYTES_PER_S;
}

/* How the number of replicas follows the load. No policy: `replicas`, all the time. */
struct scaling_config {
    struct config_variant policy;
    int64_t min, max;
    sim_ns interval_ns;
    struct start_config start;
};

static inline int64_t scaling_within(const struct scaling_config *config, int64_t replicas)
{
    if (replicas < config->min) return config->min;
    return replicas < config->max ? replicas : config->max;
}

/* A pool of equal replicas. */
struct pool_config {
    const char *name; /* its key in "pools"; NULL: the service has no pools, and these are all its replicas */
    int role;         /* enum pool_role */
    const char *gpu;  /* in the hardware catalog; NULL: the cluster's */
    int64_t replicas, tensor_parallel, pipeline_parallel, data_parallel; /* replicas: the most, where it scales */
    struct config_variant batching, cost;
    struct kv_config kv;
    struct scaling_config scaling;
    int64_t start_replicas; /* at time 0; set by service_pool */
    bool frees_windows;     /* KV behind windows is freed; set by service_pool. See pool_frees_windows */
};

enum kv_transfer_mode { KV_TRANSFER_SERIAL, KV_TRANSFER_LAYER_WISE };
enum kv_transfer_start { KV_TRANSFER_PULL, KV_TRANSFER_PUSH };

/* How the KV of a prompt reaches the replica that decodes. All zero: serial, pulled over the links of the site. */
struct kv_transfer_config {
    int mode;  /* enum kv_transfer_mode */
    int start; /* enum kv_transfer_start */
    int64_t layer_wise_from_tokens; /* shorter prompts go serially */
    double bytes_per_s;             /* of every transfer on its own, instead of the site's links; NAN: the links */
    sim_ns latency_ns;
};

#define RANK_POWER_LEAST 0.01 /* of the key acceptance.rank_power */

/* How often drafts are right: a property of the requests (sim/world/replica/speculation.h). */
struct acceptance_config {
    struct config_list rates; /* of double */
    const char *table, *dataset, *method; /* NULL: not given */
    const char *request_rates;
    const char *ranks;  /* rates by rank and depth */
    double rank_power;  /* NAN or 0: not given */
};

/* What makes drafts. */
struct draft_config {
    const char *llm; /* as service_config.llm; NULL: drafts cost no more than pass_s */
    struct config_variant cost; /* no entry: as the service's */
    double pass_s, sequence_s;
};

/* How a request is decoded: sequences 0 or 1: into one. */
enum search { SEARCH_PARALLEL, SEARCH_BEAM };
struct sampling_config {
    int search; /* enum search */
    int64_t sequences, returned;
    double length_sigma, resampled_frac;
};

/* Which nodes replicas take GPUs of: those with the fewest free GPUs that suffice, or those with the fewest replicas
 * of their pool and service (fleet_spread.c). */
enum service_placement { SERVICE_PACKED, SERVICE_SPREAD };
enum service_priority { SERVICE_HIGH, SERVICE_LOW };

/* Formats in place of the LLM's own; 0: the LLM's, else one more than an enum number_format. `weights` comes first,
 * for all parts, and `parts` after it: 0 as `weights` leaves it, 1 that of the LLM's file, else two more than an enum
 * number_format. */
struct format_config {
    int weights, kv;
    int parts[LLM_PART_COUNT];
};

/* A section of "services". Texts live in the arena of the binding. */
struct service_config {
    const char *name; /* its key */
    const char *llm;  /* of the catalog, or the path of a Hugging Face config.json */
    int64_t tensor_parallel, pipeline_parallel, data_parallel, replicas;
    struct config_variant batching, routing, cost, trace;
    struct config_variant speculation; /* no entry: none */
    struct acceptance_config acceptance;
    struct draft_config draft;
    struct format_config formats;
    struct sampling_config sampling;
    struct kv_config kv;
    struct slo_config slo;
    sim_ns information_delay_ns; /* 0: routers see the present */
    struct config_list pools;    /* struct pool_config; zero: not given */
    struct config_variant decode_routing; /* no entry: the policy of `routing`, with a state of its own */
    struct kv_transfer_config kv_transfer;
    struct scaling_config scaling; /* of a service without pools */
    struct start_config restart;   /* after a failure, where `scaling` does not say */
    int placement; /* enum service_placement */
    int priority; /* enum service_priority */
    struct clock_share_config clock_share; /* both 0: those of the site */
};

extern const struct config_field service_config_fields[];

/* The pools of a service, at least one. A pool inherits from the service what it does not give. */
size_t service_n_pools(const struct service_config *config);
struct pool_config service_pool(const struct service_config *config, size_t index);

/* Whether the cache of a pool frees what lies behind windows, where this LLM has some. By default vLLM does not with
 * chunks (vllm/config/vllm.py, VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE). */
static inline bool pool_frees_windows(const struct pool_config *pool, const struct llm_spec *llm)
{
    return pool->frees_windows && (!llm->chunked || pool->kv.windows == KV_WINDOWS_FREE);
}

/* What keeps the cache of a pool from freeing what lies behind windows, as a static text; NULL: nothing. */
const char *service_windows_problem(const struct service_config *config, const struct pool_config *pool);

/* Whether the engine of a pool schedules no iteration before the last one has ended: its batcher does not schedule
 * ahead, or the service has drafts from elsewhere than the LLM's further layers. These are the rules of vLLM 0.14
 * (vllm-project/vllm, vllm/config/vllm.py). Pipeline stages are the cost model's to see. */
bool pool_host_waits(const struct service_config *config, const struct pool_config *pool);

/* The LLM of a service, in the service's formats. `where` is the place of its name. Returns as catalog_llm. */
int service_llm(const struct service_config *config, const struct catalog *catalog, const char *where,
                struct arena *arena, struct llm_spec *llm, struct diag *diag);

/* The nodes below a replica, of gpus_per_node GPUs each (0: a node without end). Only a group wider than a node, or
 * stages on several nodes of a cluster with a network, lie on more than one. */
struct gpu_nodes pool_nodes(const struct pool_config *pool, int64_t gpus_per_node,
                            const struct network_config *network);

/* A stage wider than a node needs whole nodes, and a network. Returns 0, or SIM_E_UNFIT with a finding at `where`. */
int pool_check_width(const struct pool_config *pool, int64_t gpus_per_node, const struct network_config *network,
                     const char *service, const char *where, struct diag *diag);

/* Whether an autoscaler changes the number of replicas, of the service or of one of its pools. */
bool service_config_scales(const struct service_config *config);

/* The memory of each GPU of a replica when all of the LLM is on the GPUs. */
struct kv_capacity pool_kv_capacity(const struct pool_config *pool, const struct gpu_spec *gpu,
                                    const struct llm_spec *llm);

/* Bytes of the LLM's weights in a replica of the pool, with redundant experts. */
double pool_weight_bytes(const struct pool_config *pool, const struct llm_spec *llm);

/* KV blocks of a replica: as configured, else as many as fit beside the weights; 0 if the weights do not fit. */
int64_t pool_kv_blocks(const struct pool_config *pool, const struct gpu_spec *gpu, const struct llm_spec *llm);

struct service;
struct fleet_pool;

/* Who decides when the requests of a service's trace arrive, in place of their times (service_feed.c). Both functions
 * return 0 or a negative code. */
struct service_feeder {
    /* A request has left: finished or rejected. Its prompt and output tokens; those of a rejected one do not count. */
    int (*left)(struct service_feeder *feeder, int64_t prompt_tokens, int64_t output_tokens, bool is_finished,
                sim_ns now);
    /* The trace has ended, with so many of the released requests missing. */
    int (*ran_dry)(struct service_feeder *feeder, int64_t n_missing, sim_ns now);
    /* A replica that was to halt has no iteration in progress. */
    int (*halted)(struct service_feeder *feeder, int32_t replica, sim_ns now);
};

/* The environment of a service. The pointers outlive it. */
struct service_env {
    struct site_env *site;
    struct cluster *cluster;
    struct topology *topology;
    const struct gpu_spec *gpu;
    bool nodes_fail;
    bool takes_weights; /* its replicas get new weights over the links (service_feed) */
};

/* Takes the GPUs, builds the cost model, opens the trace. Returns 0 or a negative code with findings. */
int service_create(const struct service_config *config, const struct service_env *env, struct service **service);

/* What the power of the site asks of services whose GPUs it holds down. */
struct service_power {
    const char *clock_like; /* the GPU whose voltage by clock stands in for those that were not swept */
    struct clock_share_config clock_share; /* of services that give none */
    bool has_outages;
};

/* Its replicas join the holders of the site (holder.h). Where `power` is not NULL, their power counts and they obey
 * commands. Returns 0, SIM_E_NOMEM, or SIM_E_CONFIG with a finding: the power of a GPU is not known, or not all of the
 * work is the GPU's. */
int service_join(struct service *service, const struct service_power *power);

/* Output tokens of finished requests, and requests that attained their SLO (slo.h). */
int64_t service_output_tokens(const struct service *service);
int64_t service_met_requests(const struct service *service);

/* Hands the arrivals of a service to a feeder, before the run. With `halts`, service_halt may be called. Returns 0, or
 * SIM_E_CONFIG with a finding: what the service does is not supported together with a feeder. */
int service_feed(struct service *service, struct service_feeder *feeder, bool halts);

/* The next `prompts` times `samples` requests of the trace arrive at `at`, after now or at the start of the run; no
 * others are released and have not arrived. The requests of a prompt have the prompt of the first and outputs of their
 * own. They reuse no KV cache of requests that were released with another version of the weights. */
void service_release(struct service *service, int64_t prompts, int64_t samples, int64_t weights, sim_ns at);

/* The LLM, the replicas, the GPUs of one, their list price (NAN: not known), and the bytes of the weights that one
 * has. */
const struct llm_spec *service_llm_spec(const struct service *service);
int32_t service_n_replicas(const struct service *service);
const struct topology_placement *service_replica_gpus(const struct service *service, int32_t replica);
double service_replica_usd_per_h(const struct service *service, int32_t replica);
int64_t service_weight_bytes(const struct service *service, int32_t replica);

/* Halts a replica at its next boundary (replica_hold); it goes on. */
bool service_halt(struct service *service, int32_t replica, sim_ns now);
void service_go_on(struct service *service, int32_t replica, sim_ns now);

/* One service as a component. Its series are those of all replicas together, and of each one when there are at
 * most SERVICE_SAMPLED_REPLICAS or the site's each_replica is set. It finishes with the rows of unfinished
 * requests in order of id, and warnings. */
enum { SERVICE_SAMPLED_REPLICAS = 8 };
extern const struct component service_component;

/* Whether the number of replicas varies; and the GPUs that the service holds now. */
bool service_scales(const struct service *service);
int64_t service_gpus(const struct service *service);

/* Requests in the system. */
int64_t service_outstanding(const struct service *service);

/* No event is left: an error, SIM_E_STALLED, if requests are in the system. It tells what they wait for. */
int service_check_done(const struct service *service, struct diag *diag);

/* Where the service is in its trace. */
struct source_place service_place(const struct service *service);

/* As world_say_time_errors. */
void service_say_time_errors(const struct service *service, struct time_errors *errors);

/* Warns of kernels as world_warn_ahead. */
int service_warn_kernels(const struct service *service, const char *where, struct diag *diag);

/* As world_power_error, of one service. */
double service_power_error(const struct service *service);

/* Emits the metrics of all services together. */
int services_emit_metrics(struct service *const *services, size_t n, const struct sink *sink, sim_ns now);

/* Share of the kernels' time outside the fitted range of the cost model, mean over the replicas' busy time; NAN if a
 * model is not calibrated. */
double services_extrapolated_frac(struct service *const *services, size_t n);

#endif
