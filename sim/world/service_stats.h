/* What a service counts: every request that arrived after the warm-up, what came out after it, and the work of its replicas
 * over the whole run. */
#ifndef ORRERY_WORLD_SERVICE_STATS_H
#define ORRERY_WORLD_SERVICE_STATS_H

#include "sim/world/metric.h"
#include "sim/world/replica.h"
#include "sim/world/sink.h"
#include "sim/world/slo.h"

struct service_stats {
    int64_t arrived, finished, rejected, unfinished;
    int64_t prompt_tokens, output_tokens, preemptions; /* of finished requests */
    int64_t late_finished, late_output_tokens;         /* of requests that finished after the warm-up */
    sim_ns last_token_ns;                              /* of the last of these; 0 before */
    struct distribution queue_s, ttft_s, tpot_s, e2e_s, max_gap_s, norm_s, kv_transfer_s;
    int64_t kv_transfer_bytes; /* from the replicas of prompts to those that decode, whole run */
    struct histogram token_gap_s;
    struct replica_counts work; /* summed over replicas at the end */
    int64_t replicas;
    bool uncalibrated; /* a replica's cost model is */
    double kv_peak_frac;
    int64_t cached_tokens;                   /* of finished requests, found on their first admission */
    int64_t prefix_caches;                   /* replicas that cache prefixes */
    int64_t prefix_blocks, prefix_evictions; /* KV blocks that they hold at the end, and that they have given up */
    double in_system_mean; /* requests, over the whole run */
    struct slo_counts slo;
    struct work_sums used;             /* summed over replicas: use of their KV caches */
    double flop, peak_flop;            /* of what was processed; what the GPUs could have done while busy */
    double read_bytes, bandwidth_bytes; /* likewise, of memory */
    double usd_per_h;                  /* of all GPUs; NAN: the price of one is not known */
};

int service_stats_init(struct service_stats *stats); /* 0 or SIM_E_NOMEM */
void service_stats_fini(struct service_stats *stats);
int service_stats_merge(struct service_stats *into, const struct service_stats *from); /* 0 or SIM_E_NOMEM */

/* A request that arrived after the warm-up has finished. Returns 0 or SIM_E_NOMEM. */
int service_stats_add_finished(struct service_stats *stats, const struct slo_config *slo, const struct request *request,
                               sim_ns now);

/* The same, rejected. */
void service_stats_add_rejected(struct service_stats *stats, const struct slo_config *slo);

/* A request that the run's end finds at its replica, with its generated_tokens and max_gap_ns as of `now`. */
void service_stats_add_unfinished(struct service_stats *stats, const struct slo_config *slo,
                                  const struct request *request, sim_ns now);

/* A request has finished after the warm-up. */
void service_stats_add_output(struct service_stats *stats, const struct request *request, sim_ns now);

/* A replica's work, at the end, on `gpus` GPUs of this kind. */
void service_stats_add_replica(struct service_stats *stats, const struct replica *replica, const struct gpu_spec *gpu,
                               int64_t gpus);

/* Emits the slo.* of one service by its name. */
int service_stats_emit_slo(const struct service_stats *stats, const char *service, const struct sink *sink,
                           sim_ns warmup_ns);

/* Share of the busy time costed outside the range of the cost model; NAN when there was none or a model has no range. */
double service_stats_extrapolated_frac(const struct service_stats *stats);

/* Emits every request.*, token.*, slo.*, service.*, replica.*, kv.*, cost.* and model.* metric. */
int service_stats_emit(const struct service_stats *stats, const struct sink *sink, sim_ns warmup_ns, sim_ns end_ns);

#endif
