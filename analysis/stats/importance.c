#include "analysis/stats/importance.h"

#include <stddef.h>

const char *const metrics_by_importance[] = {
    "slo.attained_frac", "request.ttft_s.p99", "request.tpot_s.p99", "request.e2e_s.p99", "service.output_tokens_per_s",
    "job.jct_s.mean", "job.wait_s.mean", "job.jct_s.p99", "job.wait_s.p99", "job.bounded_slowdown.mean", "job.finished",
    "cost.usd", "cost.usd_per_h", "energy.site_j", "energy.j", "cluster.gpu_util", "replica.busy_frac", NULL};
