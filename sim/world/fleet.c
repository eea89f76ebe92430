/* Sending requests to replicas. */
#include "sim/world/fleet.h"

int fleet_route(struct fleet *fleet, const struct request *request, sim_ns now)
{
    struct fleet_view view = {.now_ns = now, .n_replicas = fleet->n_replicas, .loads = fleet->loads};
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
