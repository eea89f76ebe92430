/* Service level objectives: times that a request is to keep, and how many did.
 *
 * A request attains its SLO when it finishes within all the limits that its service has set for its class. Limits that
 * are not set hold for everybody, and so do those on times between tokens for a request of one token. Source: DistServe
 * (Zhong et al., OSDI 2024), which calls the rate of those that do goodput. */
#ifndef ORRERY_WORLD_SERVICE_SLO_H
#define ORRERY_WORLD_SERVICE_SLO_H

#include "sim/core/config/config.h"
#include "sim/world/rows/sink.h"

#include <stdbool.h>
#include <stdint.h>

enum slo_limit { SLO_TTFT, SLO_TPOT, SLO_E2E, SLO_MAX_GAP, SLO_LIMITS };

/* A section of "slo.classes"; NAN: as all requests of the service. */
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

/* The limits of a class: its own, else those of all. */
void slo_limits_of(const struct slo_config *config, const char *class_name, double limits_s[SLO_LIMITS]);

/* Of the requests with an SLO that arrived after the warm-up and finished, were rejected, or had missed a limit
 * already when the run ended. Those that might still have kept all of theirs are not counted. */
struct slo_counts {
    int64_t requests;
    int64_t limited[SLO_LIMITS], kept[SLO_LIMITS]; /* under that limit; of these within it */
    int64_t attained, attained_output_tokens;
};

/* A request under limits_s[SLO_LIMITS] has finished with these times (NAN: it has none), or was rejected (NULL). */
void slo_count(struct slo_counts *counts, const double *limits_s, const double *times_s, int64_t output_tokens);

/* The run ends before the request does. times_s: the least that its times will come to (NAN: it has none so far), of
 * which the TTFT is final if it has got its first token. It counts if it has missed a limit; its other limits count
 * only where that is decided. */
void slo_count_unfinished(struct slo_counts *counts, const double *limits_s, const double *times_s,
                          bool has_first_token);
void slo_merge(struct slo_counts *into, const struct slo_counts *from);

/* Emits slo.*, of one entity (NULL: of all together); nothing without requests. `span_s`: the time that goodput is
 * over. */
int slo_emit(const struct slo_counts *counts, const char *entity, double span_s, const struct sink *sink);

#endif
