/* The dictionary of metrics: one line per name with unit, direction, definition and the equal vLLM metric. A run can
 * report only numbers listed here. */
#ifndef ORRERY_WORLD_ROWS_METRIC_H
#define ORRERY_WORLD_ROWS_METRIC_H

#include "sim/core/tally.h"
#include "sim/world/rows/sink.h"

#include <stddef.h>

enum metric_direction { METRIC_NEUTRAL, METRIC_LOWER, METRIC_HIGHER }; /* which is better */

struct metric_def {
    const char *name, *unit;
    enum metric_direction direction;
    const char *definition;
    const char *vllm; /* name of the same metric in vLLM, or NULL */
    size_t name_chars;
};

/* A distribution: moments and a histogram, from which every keep mode takes its percentiles. */
struct distribution {
    struct tally tally;
    struct histogram histogram;
};

int distribution_init(struct distribution *distribution); /* 0 or SIM_E_NOMEM */
void distribution_fini(struct distribution *distribution);
int distribution_add(struct distribution *distribution, double value); /* value >= 0; 0 or SIM_E_NOMEM */
int distribution_merge(struct distribution *into, const struct distribution *from); /* 0 or SIM_E_NOMEM */

/* The dictionary, ended by a zero entry. */
extern const struct metric_def metric_dictionary[];

/* The definition of a name, which may carry an entity: "slo.attained_frac[chat/batch]". NULL: unknown. */
const struct metric_def *metric_find(const char *name);

/* Emits one row. An unknown name is a bug. NAN values are not emitted. Returns the sink's code. */
int metric_emit(const struct sink *sink, const char *name, double value);

/* Emits a row of an entity, such as a service; NULL: of all together. */
int metric_emit_of(const struct sink *sink, const char *name, const char *entity, double value);

/* Emits NAME.mean, .p50, .p90, .p95, .p99 and .max, of an entity or all together; nothing if the distribution is
 * empty. */
int metric_emit_distribution(const struct sink *sink, const char *name, const char *entity,
                             const struct distribution *distribution);

/* Emits the non-empty buckets as histogram rows. Returns the sink's code. */
int metric_emit_histogram(const struct sink *sink, const char *name, const struct histogram *histogram);

#endif
