#include "sim/cli/run/large_site.h"

#include "sim/cli/answer.h"

#include <inttypes.h>

/* Of a row of the table `sample` with short names, at least; measured. */
static const double SAMPLE_ROW_BYTES = 30;

/* Series that every site has; those of further parts of it are left out. */
static int64_t n_series(const struct scenario *scenario)
{
    int64_t n = 1; /* of the cluster */
    for (size_t i = 0; i < scenario->services.n; i++) {
        const struct service_config *service = scenario_service(scenario, i);
        int64_t replicas = 0;
        for (size_t p = 0; p < service_n_pools(service); p++) replicas += service_pool(service, p).replicas;
        n += 3 * (replicas <= SERVICE_SAMPLED_REPLICAS ? 1 + replicas : 1);
    }
    return scenario->jobs.trace.entry != NULL ? n + 2 : n;
}

struct large_site large_site_of(const struct scenario *scenario)
{
    struct large_site site = {.nodes = cluster_config_nodes(&scenario->cluster.nodes)};
    for (size_t i = 0; i < scenario->services.n; i++) {
        const struct service_config *service = scenario_service(scenario, i);
        for (size_t p = 0; p < service_n_pools(service); p++) site.replicas += service_pool(service, p).replicas;
    }
    const double nodes_bytes = LARGE_SITE_NODE_BYTES * (double)site.nodes;
    site.least_bytes = nodes_bytes + LARGE_SITE_REPLICA_BYTES * (double)site.replicas;
    site.busy_bytes = nodes_bytes + LARGE_SITE_BUSY_REPLICA_BYTES * (double)site.replicas;
    if (scenario->sample.period_ns > 0 && scenario->until_ns > 0 && scenario->keep >= SCENARIO_KEEP_CURVES)
        site.samples_bytes = SAMPLE_ROW_BYTES * (double)n_series(scenario) * (double)scenario->until_ns /
                             (double)scenario->sample.period_ns;
    return site;
}

void large_site_warn(const struct scenario *scenario, const char *output, double limit_bytes, FILE *err)
{
    const struct large_site site = large_site_of(scenario);
    if (site.least_bytes >= LARGE_SITE_WARNS_BYTES)
        answer_print(err,
                     "warning: %" PRId64 " replicas and %" PRId64 " nodes take %.2g GB of memory, and %.2g GB once all "
                     "replicas have had requests: if that is too much, simulate a part of the site "
                     "(services.NAME.replicas, cluster.nodes) with that part of its load, which is another question\n",
                     site.replicas, site.nodes, 1e-9 * site.least_bytes, 1e-9 * site.busy_bytes);
    if (output != NULL && site.samples_bytes > limit_bytes)
        answer_print(
            err,
            "%s: warning: the time series until the end of the run take at least %.2g GB, and the run fails at %.3g "
            "GB: sample less often (sample.period), keep less (--keep metrics), or allow more (--results-limit)\n",
            output, 1e-9 * site.samples_bytes, 1e-9 * limit_bytes);
}
