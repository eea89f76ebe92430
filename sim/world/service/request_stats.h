/* What is counted of requests: of all those of a service, or of one class of them. Requests that arrived after the warm-up count,
 * and what came out after it. */
#ifndef ORRERY_WORLD_SERVICE_REQUEST_STATS_H
#define ORRERY_WORLD_SERVICE_REQUEST_STATS_H

#include "sim/world/replica/request.h"
#include "sim/world/rows/metric.h"
#include "sim/world/rows/sink.h"
#include "sim/world/service/slo.h"

struct request_stats {
    int64_t arrived, finished, rejected, unfinished;
    int64_t prompt_tokens, output_tokens, preemptions; /* of finished requests */
    int64_t cached_tokens;                             /* of these, found on their first admission */
    int64_t late_finished, late_output_tokens;         /* of requests that finished after the warm-up */
    sim_ns last_token_ns;                              /* of the last of these; 0 before */
    struct distribution queue_s, ttft_s, tpot_s, e2e_s, max_gap_s, norm_s;
    struct slo_counts slo;
};

int request_stats_init(struct request_stats *stats); /* 0 or SIM_E_NOMEM */
void request_stats_fini(struct request_stats *stats);
int request_stats_merge(struct request_stats *into, const struct request_stats *from); /* 0 or SIM_E_NOMEM */

/* A request that arrived after the warm-up has finished, under limits_s[SLO_LIMITS]. Returns 0 or SIM_E_NOMEM. */
int request_stats_add_finished(struct request_stats *stats, const double *limits_s, const struct request *request,
                               sim_ns now);

/* The same, rejected. */
void request_stats_add_rejected(struct request_stats *stats, const double *limits_s);

/* A request that the run's end finds at its replica, with its generated_tokens and max_gap_ns as of `now`. */
void request_stats_add_unfinished(struct request_stats *stats, const double *limits_s, const struct request *request,
                                  sim_ns now);

/* A request has finished after the warm-up. */
void request_stats_add_output(struct request_stats *stats, const struct request *request, sim_ns now);

/* Emit what is known, of one entity (NULL: of all together). `span_s`: the time that rates are over. */
int request_stats_emit_counts(const struct request_stats *stats, const char *entity, const struct sink *sink);
int request_stats_emit_distributions(const struct request_stats *stats, const char *entity, const struct sink *sink);
int request_stats_emit_rates(const struct request_stats *stats, const char *entity, double span_s,
                             const struct sink *sink);

/* The distributions as histograms, of all together. */
int request_stats_emit_histograms(const struct request_stats *stats, const struct sink *sink);

#endif
