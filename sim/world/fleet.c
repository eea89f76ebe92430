/* Sending requests to replicas, and what routers see of them. */
#include "sim/world/fleet.h"

/* What a router is shown: n replicas from the first one on. */
static struct fleet_view make_view(struct fleet *fleet, sim_ns now, int32_t first, int32_t n)
{
    const struct fleet_reports *reports = &fleet->reports;
    bool delayed = reports->period_ns > 0;
    return (struct fleet_view){.now_ns = now,
                               .seen_ns = delayed ? reports->seen_ns : now,
                               .n_replicas = n,
                               .loads = (delayed ? reports->loads : fleet->loads) + first,
                               .random = &fleet->random,
                               .fleet = fleet,
                               .first = first};
}

const struct replica_load *fleet_seen_load(const struct fleet *fleet, int32_t replica)
{
    return &(fleet->reports.period_ns > 0 ? fleet->reports.loads : fleet->loads)[replica];
}

int64_t fleet_view_kv_used_blocks(const struct fleet_view *view, int32_t replica)
{
    const struct fleet *fleet = view->fleet;
    if (fleet->reports.period_ns > 0) return fleet->reports.usages[view->first + replica].kv_blocks;
    return replica_used_blocks(&fleet->replicas[view->first + replica], view->now_ns);
}

int64_t fleet_view_kv_total_blocks(const struct fleet_view *view, int32_t replica)
{
    return view->fleet->replicas[view->first + replica].kv.total_blocks;
}

int64_t fleet_view_decode_context_tokens(const struct fleet_view *view, int32_t replica)
{
    const struct fleet *fleet = view->fleet;
    if (fleet->reports.period_ns > 0) return fleet->reports.usages[view->first + replica].decode_context_tokens;
    return replica_decode_context_tokens(&fleet->replicas[view->first + replica], view->now_ns);
}

int fleet_route(struct fleet *fleet, const struct request *request, sim_ns now)
{
    fleet_reports_before_routing(fleet, now);
    struct fleet_view view = make_view(fleet, now, 0, fleet->n_replicas);
    int replica = fleet->router->route(fleet->router_state, &view, &request->view);
    if (replica >= 0 && replica < view.n_replicas) return replica;
    return diag_error(fleet->env->diag, SIM_E_POLICY, NULL, NULL,
                      "routing policy '%s' sent request %lld to replica %d of %d at %.9f s", fleet->router->policy.name,
                      (long long)request->view.id, replica, view.n_replicas, sim_s_from_ns(now));
}

bool fleet_can_serve(const struct fleet *fleet, const struct request *request)
{
    int64_t tokens = (int64_t)request->prompt_tokens + request->output_tokens;
    if (tokens > fleet->llm->max_context) return false;
    for (size_t i = 0; i < fleet->n_pools; i++) {
        const struct kvcache *kv = &fleet->replicas[fleet->pools[i].first].kv;
        if (kvcache_blocks(kv, tokens - 1) > kv->total_blocks) return false;
    }
    return true;
}

int64_t fleet_outstanding(const struct fleet *fleet)
{
    int64_t n = 0;
    for (int32_t i = 0; i < fleet->n_replicas; i++) n += fleet->loads[i].outstanding;
    return n;
}
