/* Service level objectives: limits on the times of a request, and how many requests keep them.
 *
 * A request attains its SLO when it finishes within all limits of its class. A limit that is not set is always kept; so
 * are limits on times between tokens for a request of one token. Source: DistServe (Zhong et al., OSDI 2024), which
 * calls the rate of attaining requests goodput. */
#ifndef ORRERY_WORLD_SERVICE_SLO_H
#define ORRERY_WORLD_SERVICE_SLO_H

#include "sim/core/config/config.h"
#include "sim/world/rows/sink.h"

#include <stdbool.h>
#include <stdint.h>

enum slo_limit { SLO_TTFT, SLO_TPOT, SLO_E2E, SLO_MAX_GAP, SLO_LIMITS };

/* A section of "slo.classes"; NAN: the limit of the service. */
struct slo_class {
    const char *name; /* its key */
    double limits_s[SLO_LIMITS];
};

/* The section "slo" of a service; NAN: no limit. */
struct slo_config {
    double limits_s[SLO_LIMITS];
    struct config_list classes; /* struct slo_class */
};

enum { SLO_MAX_CLASSES = 256 };

extern const struct config_field slo_fields[];

/* Whether one of limits_s[SLO_LIMITS] is set. */
bool slo_limits_any(const double *limits_s);

/* Whether any request has a limit. */
bool slo_is_set(const struct slo_config *config);

/* The limits of a class: its own, else the service's. */
void slo_limits_of(const struct slo_config *config, const char *class_name, double limits_s[SLO_LIMITS]);

/* Counts of requests with an SLO that arrived after the warm-up and finished, were rejected, or had already missed a
 * limit when the run ended. Requests that might still have kept all limits do not count. */
struct slo_counts {
    int64_t requests;
    int64_t limited[SLO_LIMITS], kept[SLO_LIMITS]; /* requests with that limit; of these, within it */
    int64_t attained, attained_output_tokens;
};

/* Counts a request with limits_s[SLO_LIMITS] that has finished with these times (NAN: it has none), or was rejected
 * (NULL). */
void slo_count(struct slo_counts *counts, const double *limits_s, const double *times_s, int64_t output_tokens);

/* Counts a request that is unfinished at the end of the run, if it has missed a limit. times_s: lower bounds of its
 * times (NAN: none so far); the TTFT is final if has_first_token. Its other limits count only if they are decided. */
void slo_count_unfinished(struct slo_counts *counts, const double *limits_s, const double *times_s,
                          bool has_first_token);
void slo_merge(struct slo_counts *into, const struct slo_counts *from);

/* Emits slo.* of one entity (NULL: of all together); nothing without requests. `span_s`: the time that goodput refers
 * to. */
int slo_emit(const struct slo_counts *counts, const char *entity, double span_s, const struct sink *sink);

#endif
