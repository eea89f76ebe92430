#include "sim/world/rows/metric.h"

#include "sim/core/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define METRIC(name, unit, direction, definition, vllm) {name, unit, direction, definition, vllm, sizeof name - 1},
#define METRIC_DISTRIBUTION(name, unit, direction, definition, vllm)                                                   \
    METRIC(name ".mean", unit, direction, "mean " definition, vllm)                                                    \
    METRIC(name ".p50", unit, direction, "median " definition, vllm)                                                   \
    METRIC(name ".p90", unit, direction, "90th percentile of the " definition, vllm)                                   \
    METRIC(name ".p95", unit, direction, "95th percentile of the " definition, vllm)                                   \
    METRIC(name ".p99", unit, direction, "99th percentile of the " definition, vllm)                                   \
    METRIC(name ".max", unit, direction, "largest " definition, vllm)

/* In the order in which lists and comparisons show them. */
const struct metric_def metric_dictionary[] = {
#include "sim/world/rows/metrics_failures.inc"
#include "sim/world/rows/metrics_jobs.inc"
#include "sim/world/rows/metrics_links.inc"
#include "sim/world/rows/metrics_rental.inc"
#include "sim/world/rows/metrics_requests.inc"
#include "sim/world/rows/metrics_rl.inc"
#include "sim/world/rows/metrics_scaling.inc"
#include "sim/world/rows/metrics_store.inc"
#include "sim/world/rows/metrics_chunks.inc"
    {0}};

const struct metric_def *metric_find(const char *name)
{
    const size_t n = strcspn(name, "[");
    for (const struct metric_def *def = metric_dictionary; def->name != NULL; def++)
        if (def->name_chars == n && memcmp(def->name, name, n) == 0) return def;
    return NULL;
}

int metric_emit(const struct sink *sink, const char *name, double value)
{
    const struct metric_def *def = metric_find(name);
    if (def == NULL) SIM_BUG("metric '%s' is not in the dictionary", name);
    if (sink->metric == NULL || isnan(value)) return 0;
    struct metric_row row = {.name = def->name, .unit = def->unit, .value = value};
    return sink->metric(sink->context, &row);
}

int metric_emit_of(const struct sink *sink, const char *name, const char *entity, double value)
{
    char full[512];
    const struct metric_def *def = metric_find(name);
    if (entity == NULL || def == NULL) return metric_emit(sink, name, value);
    if (sink->metric == NULL || isnan(value)) return 0;
    snprintf(full, sizeof full, "%s[%s]", name, entity);
    struct metric_row row = {.name = full, .unit = def->unit, .value = value};
    return sink->metric(sink->context, &row);
}

/* A quantile of the histogram, exact to a bucket, limited to the observed range. */
static double quantile(const struct distribution *distribution, double q)
{
    double value = histogram_quantile(&distribution->histogram, q);
    if (value < distribution->tally.min) return distribution->tally.min;
    return value > distribution->tally.max ? distribution->tally.max : value;
}

int metric_emit_distribution(const struct sink *sink, const char *name, const char *entity,
                             const struct distribution *distribution)
{
    if (distribution->histogram.count == 0) return 0;
    const struct {
        const char *suffix;
        double value;
    } parts[] = {{".mean", distribution->tally.mean},
                 {".p50", quantile(distribution, 0.50)},
                 {".p90", quantile(distribution, 0.90)},
                 {".p95", quantile(distribution, 0.95)},
                 {".p99", quantile(distribution, 0.99)},
                 {".max", distribution->tally.max}};
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof parts / sizeof *parts; i++) {
        char full[128];
        snprintf(full, sizeof full, "%s%s", name, parts[i].suffix);
        code = metric_emit_of(sink, full, entity, parts[i].value);
    }
    return code;
}

struct bucket_visit {
    const struct sink *sink;
    const char *name;
    int code;
};

static void emit_bucket(void *context, double lower, double upper, uint64_t count)
{
    struct bucket_visit *visit = context;
    struct histogram_row row = {.name = visit->name, .lower = lower, .upper = upper, .count = (int64_t)count};
    if (visit->code == 0) visit->code = visit->sink->histogram(visit->sink->context, &row);
}

int metric_emit_histogram(const struct sink *sink, const char *name, const struct histogram *histogram)
{
    struct bucket_visit visit = {.sink = sink, .name = name};
    if (sink->histogram != NULL) histogram_each(histogram, emit_bucket, &visit);
    return visit.code;
}

int distribution_init(struct distribution *distribution)
{
    tally_init(&distribution->tally);
    return histogram_init(&distribution->histogram);
}

void distribution_fini(struct distribution *distribution)
{
    histogram_fini(&distribution->histogram);
}

int distribution_add(struct distribution *distribution, double value)
{
    tally_add(&distribution->tally, value);
    return histogram_add(&distribution->histogram, value, 1);
}

int distribution_merge(struct distribution *into, const struct distribution *from)
{
    tally_merge(&into->tally, &from->tally);
    return histogram_merge(&into->histogram, &from->histogram);
}
