/* The dictionary of metrics: one line per name with unit, direction, definition and the vLLM metric it equals.
 * Everything that a run reports as a number is listed here, and nothing else can be emitted. */
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
};

/* What is known of a distribution: moments and a histogram, which every keep mode takes its percentiles from. */
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

/* The definition of a name, which may say of which entity it is: "slo.attained_frac[chat]". NULL when unknown. */
const struct metric_def *metric_find(const char *name);

/* Emits one row. An unknown name is our bug. NAN values are left out. Returns the sink's answer. */
int metric_emit(const struct sink *sink, const char *name, double value);

/* The same of an entity, such as a service; NULL: of all together. */
int metric_emit_of(const struct sink *sink, const char *name, const char *entity, double value);

/* Emits NAME.mean, .p50, .p90, .p99 and .max, of an entity or all together; nothing when the distribution is empty. */
int metric_emit_distribution(const struct sink *sink, const char *name, const char *entity,
                             const struct distribution *distribution);

/* Emits the non-empty buckets as histogram rows. Returns the sink's answer. */
int metric_emit_histogram(const struct sink *sink, const char *name, const struct histogram *histogram);

#endif
