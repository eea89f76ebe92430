/* What a service counts: every request that arrived after the warm-up, what came out after it, and the work of its replicas
 * over the whole run. */
#ifndef ORRERY_WORLD_SERVICE_SERVICE_STATS_H
#define ORRERY_WORLD_SERVICE_SERVICE_STATS_H

#include "sim/world/replica/replica.h"
#include "sim/world/rows/metric.h"
#include "sim/world/rows/sink.h"
#include "sim/world/service/request_stats.h"

struct service_stats {
    struct request_stats requests;
    struct distribution kv_transfer_s;
    int64_t run_finished, run_output_tokens; /* requests, and their tokens, of the whole run */
    int64_t kv_transfer_bytes; /* from the replicas of prompts to those that decode, whole run */
    struct histogram token_gap_s;
    struct replica_counts work; /* summed over replicas at the end */
    double replicas;   /* one that held its GPUs for a part of the run counts that part */
    bool uncalibrated; /* a replica's cost model is */
    double kv_peak_frac;
    int64_t prefix_caches;                   /* replicas that cache prefixes */
    int64_t prefix_blocks, prefix_evictions; /* KV blocks that they hold at the end, and that they have given up */
    double in_system_mean;                   /* requests, over the whole run */
    struct work_sums used;             /* summed over replicas: use of their KV caches */
    double flop, peak_flop;            /* of what was processed; what the GPUs could have done while busy */
    double read_bytes, bandwidth_bytes; /* likewise, of memory */
    double usd_per_h;                  /* of all GPUs, mean over time; NAN: the price of one is not known */
};

int service_stats_init(struct service_stats *stats); /* 0 or SIM_E_NOMEM */
void service_stats_fini(struct service_stats *stats);
int service_stats_merge(struct service_stats *into, const struct service_stats *from); /* 0 or SIM_E_NOMEM */

/* A replica's work, at the end, on `gpus` GPUs of this kind that it has held for a share of the run. */
void service_stats_add_replica(struct service_stats *stats, const struct replica *replica, const struct gpu_spec *gpu,
                               int64_t gpus, double held_frac);

/* The time that rates are over: from the end of the warm-up to the last token. */
double service_stats_span_s(const struct service_stats *stats, sim_ns warmup_ns);

/* Share of the busy time costed outside the range of the cost model; NAN when there was none or a model has no range. */
double service_stats_extrapolated_frac(const struct service_stats *stats);

/* Emits every request.*, token.*, slo.*, service.*, replica.*, kv.*, cost.* and model.* metric. */
int service_stats_emit(const struct service_stats *stats, const struct sink *sink, sim_ns warmup_ns, sim_ns end_ns);

#endif
