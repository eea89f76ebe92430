/* Sending requests to replicas. */
#include "sim/world/service/fleet.h"

#include "sim/world/policy/instance.h"

/* The loads of those that are up, side by side. */
static void narrow(const struct fleet_candidates *candidates, struct fleet_view *view)
{
    for (int32_t i = 0; i < candidates->n; i++) candidates->loads[i] = view->loads[candidates->numbers[i]];
    view->n_replicas = candidates->n;
    view->loads = candidates->loads;
    view->numbers = candidates->numbers;
}

/* What a router is shown: n replicas from the first one on, or those of them that are up. */
static struct fleet_view make_view(struct fleet *fleet, sim_ns now, int32_t first, int32_t n)
{
    const struct fleet_reports *reports = &fleet->reports;
    fleet_reports_before_routing(fleet, now);
    bool delayed = reports->period_ns > 0;
    struct fleet_view view = {.now_ns = now,
                              .seen_ns = delayed ? reports->seen_ns : now,
                              .n_replicas = n,
                              .loads = (delayed ? reports->loads : fleet->loads) + first,
                              .random = &fleet->random,
                              .fleet = fleet,
                              .first = first};
    if (fleet->candidates.numbers != NULL) narrow(&fleet->candidates, &view);
    return view;
}

const struct replica_load *fleet_seen_load(const struct fleet *fleet, int32_t replica)
{
    return &(fleet->reports.period_ns > 0 ? fleet->reports.loads : fleet->loads)[replica];
}

static int bad_choice(const struct fleet *fleet, const struct policy *policy, const struct request *request,
                      int replica, int32_t n, sim_ns now)
{
    return diag_error(fleet->env->site->diag, SIM_E_POLICY, NULL, NULL,
                      "routing policy '%s' sent request %lld to replica %d of %d at %.9f s", policy->name,
                      (long long)request->view.id, replica, n, sim_s_from_ns(now));
}

/* Whether the policy has asked for an oracle that it has not declared. */
static int check_oracle(const struct fleet *fleet, const struct policy *policy, const struct request *request,
                        sim_ns now)
{
    if (!*fleet->asked_oracle) return 0;
    *fleet->asked_oracle = false;
    if (policy->oracle & ORACLE_OUTPUT) return 0;
    return diag_error(
        fleet->env->site->diag, SIM_E_POLICY, NULL, "declare ORACLE_OUTPUT",
        "routing policy '%s' asked for output lengths when request %lld came at %.9f s, an oracle that it "
        "has not declared",
        policy->name, (long long)request->view.id, sim_s_from_ns(now));
}

/* Asks for one of n replicas from the first one on. Returns its number in the fleet or a negative code. */
static int ask(struct fleet *fleet, const struct fleet_router *router, const struct request *request, int32_t first,
               int32_t n, sim_ns now)
{
    const struct fleet_view view = make_view(fleet, now, first, n);
    int replica = router->router->route(router->state, &view, &request->view);
    int code = check_oracle(fleet, &router->router->policy, request, now);
    if (code != 0) return code;
    if (replica >= 0 && replica < view.n_replicas) return fleet_view_number(&view, replica);
    return bad_choice(fleet, &router->router->policy, request, replica, view.n_replicas, now);
}

static int ask_pair(struct fleet *fleet, const struct request *request, struct route_pair *pair, sim_ns now)
{
    const struct router *router = fleet->routing.router;
    const struct fleet_view view = make_view(fleet, now, 0, fleet->n_replicas);
    *pair = (struct route_pair){-1, -1};
    int code = router->route_pair(fleet->routing.state, &view, &request->view, pair);
    if (code != 0) return policy_failed(&router->policy, code, now, fleet->env->site->diag);
    if ((code = check_oracle(fleet, &router->policy, request, now)) != 0) return code;
    if (pair->prompt < 0 || pair->prompt >= view.n_replicas)
        return bad_choice(fleet, &router->policy, request, pair->prompt, view.n_replicas, now);
    if (pair->decode < 0 || pair->decode >= view.n_replicas)
        return bad_choice(fleet, &router->policy, request, pair->decode, view.n_replicas, now);
    return 0;
}

static int64_t full_tokens(const struct request *request)
{
    return (int64_t)request->prompt_tokens + request->output_tokens;
}

static void assign_decode(struct fleet *fleet, struct request *request, int32_t replica)
{
    request->decode_replica = replica;
    fleet->loads[replica].decodes++;
    fleet->reserved_tokens[replica] += full_tokens(request);
}

int fleet_route(struct fleet *fleet, struct request *request, sim_ns now)
{
    struct route_pair pair = {-1, -1};
    if (fleet->routing.router->route_pair != NULL) {
        int code = ask_pair(fleet, request, &pair, now);
        if (code != 0) return code;
    } else {
        int replica = ask(fleet, &fleet->routing, request, 0, fleet->n_prompt, now);
        if (replica < 0) return replica;
        pair.prompt = replica;
        if (fleet_pool_of(fleet, replica)->config.role == POOL_MIXED) pair.decode = replica;
    }
    request->replica = pair.prompt;
    request->decode_replica = -1;
    if (pair.decode >= 0) assign_decode(fleet, request, pair.decode);
    if (pair.decode != pair.prompt) fleet->reserved_tokens[pair.prompt] += request->prompt_tokens;
    return 0;
}

int fleet_route_decode(struct fleet *fleet, struct request *request, sim_ns now)
{
    int32_t first = fleet->first_decode;
    int replica = ask(fleet, &fleet->decode_routing, request, first, fleet->n_replicas - first, now);
    if (replica < 0) return replica;
    assign_decode(fleet, request, replica);
    return 0;
}

void fleet_handed_over(struct fleet *fleet, const struct request *request, int32_t prompt_replica)
{
    fleet->reserved_tokens[prompt_replica] -= request->prompt_tokens;
}

void fleet_leave(struct fleet *fleet, const struct request *request)
{
    if (request->decode_replica != request->replica) fleet->reserved_tokens[request->replica] -= request->prompt_tokens;
    if (request->decode_replica < 0) return;
    fleet->loads[request->decode_replica].decodes--;
    fleet->reserved_tokens[request->decode_replica] -= full_tokens(request);
}

/* Whether a replica of the pool has room for so many tokens. */
static bool has_room(const struct fleet *fleet, const struct fleet_pool *pool, int64_t tokens)
{
    const struct kvcache *kv = &fleet->replicas[pool->first].kv;
    return kvcache_blocks(kv, tokens) <= kv->total_blocks;
}

static int64_t kv_tokens(const struct fleet_pool *pool)
{
    return pool->kv_blocks * pool->config.kv.block_tokens;
}

const struct fleet_pool *fleet_smallest_kv(const struct fleet *fleet)
{
    const struct fleet_pool *smallest = fleet->pools;
    for (size_t i = 1; i < fleet->n_pools; i++)
        if (kv_tokens(&fleet->pools[i]) < kv_tokens(smallest)) smallest = &fleet->pools[i];
    return smallest;
}

bool fleet_can_serve(const struct fleet *fleet, const struct request *request)
{
    bool pairs = fleet->routing.router->route_pair != NULL;
    if (full_tokens(request) > fleet->llm->max_context) return false;
    for (size_t i = 0; i < fleet->n_pools; i++) {
        const struct fleet_pool *pool = &fleet->pools[i];
        bool prompt_only = pool->config.role == POOL_PREFILL && !pairs;
        if (!has_room(fleet, pool, prompt_only ? request->prompt_tokens : full_tokens(request) - 1)) return false;
    }
    return true;
}

int64_t fleet_outstanding(const struct fleet *fleet)
{
    int64_t n = 0;
    for (int32_t i = 0; i < fleet->n_replicas; i++) n += fleet->loads[i].outstanding;
    return n;
}
