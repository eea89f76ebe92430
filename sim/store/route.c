#include "sim/store/route.h"

#define SINK_FUNCTION(name, table)                                                                                     \
    static int put_##name(void *context, const struct name##_row *row)                                                 \
    {                                                                                                                  \
        const struct route *route = context;                                                                           \
        return route->put(route->store, table, row);                                                                   \
    }

SINK_FUNCTION(request, TABLE_REQUEST)
SINK_FUNCTION(job, TABLE_JOB)
SINK_FUNCTION(sample, TABLE_SAMPLE)
SINK_FUNCTION(histogram, TABLE_HISTOGRAM)
SINK_FUNCTION(decision, TABLE_DECISION)
SINK_FUNCTION(warning, TABLE_WARNING)
SINK_FUNCTION(metric, TABLE_METRIC)
SINK_FUNCTION(placement, TABLE_PLACEMENT)
SINK_FUNCTION(lease, TABLE_LEASE)

struct sink route_sink(struct route *route, enum results_keep keep)
{
    struct sink sink = {.context = route, .warning = put_warning, .metric = put_metric};
    if (keep >= KEEP_CURVES) {
        sink.histogram = put_histogram;
        sink.sample = put_sample;
    }
    if (keep >= KEEP_ROWS) {
        sink.request = put_request;
        sink.job = put_job;
        sink.decision = put_decision;
        sink.placement = put_placement;
        sink.lease = put_lease;
    }
    if (keep >= KEEP_DECISIONS) sink.detail = put_decision;
    return sink;
}
