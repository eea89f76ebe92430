/* Routing requests to replicas, and what routers see of these. */
#include "sim/world/service/fleet.h"

#include "sim/world/policy/instance.h"
#include "sim/world/rows/priority.h"

/* Restricts the view to the replicas that are up. Where these are not the lowest numbers, their loads are copied side
 * by side. */
static void narrow(const struct fleet_candidates *candidates, struct fleet_view *view)
{
    const int32_t first = view->first, behind = first + view->n_replicas;
    int32_t from = first < candidates->n ? first : candidates->n, to = behind < candidates->n ? behind : candidates->n;
    while (from > 0 && candidates->numbers[from - 1] >= first) from--; /* numbers[i] >= i */
    while (to > 0 && candidates->numbers[to - 1] >= behind) to--;
    const int32_t n = to - from, *numbers = candidates->numbers + from;
    view->n_replicas = n;
    view->numbers = numbers;
    if (n > 0 && numbers[n - 1] == first + n - 1) return;
    for (int32_t i = 0; i < n; i++) candidates->loads[from + i] = view->loads[numbers[i] - first];
    view->loads = candidates->loads + from;
    view->changed_loads = NULL;
}

/* The view of a router: n replicas from `first` on, or those of them that are up. */
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
                              .first = first,
                              .changed_loads = delayed ? NULL : &fleet->changed_loads};
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

/* Fails if the policy has read an oracle that it has not declared. */
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

/* Whether the sink asks what a router sees. */
static bool is_watched(const struct fleet *fleet)
{
    return fleet->env->site->sink->seen != NULL;
}

/* Asks the router for one of n replicas from `first` on. Returns its number in the fleet or a negative code. */
static int ask(struct fleet *fleet, const struct fleet_router *router, const struct request *request, int32_t first,
               int32_t n, sim_ns now)
{
    const struct fleet_view view = make_view(fleet, now, first, n);
    int code = is_watched(fleet) ? fleet_emit_seen(fleet, &router->router->policy, &view, request, now) : 0;
    if (code != 0) return code;
    int replica = router->router->route(router->state, &view, &request->view);
    code = check_oracle(fleet, &router->router->policy, request, now);
    if (code != 0) return code;
    if (replica >= 0 && replica < view.n_replicas) return fleet_view_number(&view, replica);
    if (replica == SIM_E_NOMEM)
        return policy_failed(&router->router->policy, "route", replica, now, fleet->env->site->diag);
    return bad_choice(fleet, &router->router->policy, request, replica, view.n_replicas, now);
}

static int ask_pair(struct fleet *fleet, const struct request *request, struct route_pair *pair, sim_ns now)
{
    const struct router *router = fleet->routing.router;
    const struct fleet_view view = make_view(fleet, now, 0, fleet->n_replicas);
    *pair = (struct route_pair){-1, -1};
    int code = is_watched(fleet) ? fleet_emit_seen(fleet, &router->policy, &view, request, now) : 0;
    if (code != 0) return code;
    code = router->route_pair(fleet->routing.state, &view, &request->view, pair);
    if (code != 0) return policy_failed(&router->policy, "route_pair", code, now, fleet->env->site->diag);
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

bool fleet_may_prompt(const struct fleet *fleet)
{
    const struct fleet_candidates *up = &fleet->candidates;
    return up->numbers == NULL || (up->n > 0 && up->numbers[0] < fleet->n_prompt);
}

bool fleet_may_decode(const struct fleet *fleet)
{
    const struct fleet_candidates *up = &fleet->candidates;
    return up->numbers == NULL || (up->n > 0 && up->numbers[up->n - 1] >= fleet->first_decode);
}

static void leave_decode(struct fleet *fleet, const struct request *request)
{
    fleet->loads[request->decode_replica].decodes--;
    fleet->reserved_tokens[request->decode_replica] -= full_tokens(request);
}

void fleet_unassign_decode(struct fleet *fleet, struct request *request)
{
    leave_decode(fleet, request);
    request->decode_replica = -1;
}

void fleet_handed_over(struct fleet *fleet, const struct request *request, int32_t prompt_replica)
{
    fleet->reserved_tokens[prompt_replica] -= request->prompt_tokens;
}

void fleet_fork(struct fleet *fleet, struct request *sequence)
{
    SIM_REQUIRE(sequence->decode_replica == sequence->replica);
    assign_decode(fleet, sequence, sequence->replica);
}

void fleet_leave(struct fleet *fleet, const struct request *request)
{
    if (request->decode_replica != request->replica) fleet->reserved_tokens[request->replica] -= request->prompt_tokens;
    if (request->decode_replica >= 0) leave_decode(fleet, request);
}

int64_t fleet_sequence_blocks(const struct fleet_pool *pool)
{
    return pool->kv_blocks / pool->config.data_parallel;
}

/* Whether an empty replica of the pool has room for `tokens` tokens. */
static bool has_room(const struct fleet *fleet, const struct fleet_pool *pool, int64_t tokens)
{
    const int64_t windows = llm_window_blocks(fleet->llm, pool->env.window_share, pool->config.kv.block_tokens, tokens,
                                              tokens);
    return kvcache_blocks(&fleet->replicas[pool->first].kv, tokens) + windows <= fleet_sequence_blocks(pool);
}

int64_t fleet_sequence_tokens(const struct fleet *fleet, const struct fleet_pool *pool)
{
    const int64_t blocks = fleet_sequence_blocks(pool), b = pool->config.kv.block_tokens;
    int64_t fits = 0, exceeds = blocks + 1;
    while (pool->env.window_share > 0.0 && exceeds - fits > 1) {
        const int64_t middle = fits + (exceeds - fits) / 2, tokens = middle * b;
        if (middle + llm_window_blocks(fleet->llm, pool->env.window_share, b, tokens, tokens) <= blocks)
            fits = middle;
        else
            exceeds = middle;
    }
    return (pool->env.window_share > 0.0 ? fits : blocks) * b;
}

const struct fleet_pool *fleet_smallest_kv(const struct fleet *fleet)
{
    const struct fleet_pool *smallest = fleet->pools;
    for (size_t i = 1; i < fleet->n_pools; i++)
        if (fleet_sequence_tokens(fleet, &fleet->pools[i]) < fleet_sequence_tokens(fleet, smallest))
            smallest = &fleet->pools[i];
    return smallest;
}

/* A failure may bring a request back to where prompts are processed, with all but its last token. */
bool fleet_can_serve(const struct fleet *fleet, const struct request *request)
{
    const bool may_return = fleet->env->nodes_fail && fleet_may_restart(fleet);
    bool pairs = fleet->routing.router->route_pair != NULL;
    if (full_tokens(request) > fleet->llm->max_context) return false;
    for (size_t i = 0; i < fleet->n_pools; i++) {
        const struct fleet_pool *pool = &fleet->pools[i];
        bool prompt_only = pool->config.role == POOL_PREFILL && !pairs && !may_return;
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

/* --- What routers see ---
 *
 * Values that routers may read beyond the loads, of the present or of the latest report. */

static const struct replica_usage *reported(const struct fleet_view *view, int32_t replica)
{
    const struct fleet_reports *reports = &view->fleet->reports;
    return reports->period_ns > 0 ? &reports->usages[fleet_view_number(view, replica)] : NULL;
}

static const struct replica *replica_at(const struct fleet_view *view, int32_t replica)
{
    return &view->fleet->replicas[fleet_view_number(view, replica)];
}

int64_t fleet_view_kv_used_blocks(const struct fleet_view *view, int32_t replica)
{
    const struct replica_usage *usage = reported(view, replica);
    return usage != NULL ? usage->kv_blocks : replica_used_blocks(replica_at(view, replica), view->now_ns);
}

int64_t fleet_view_prefix_tokens(const struct fleet_view *view, int32_t replica, const struct request_view *request)
{
    struct replica *candidate = &view->fleet->replicas[fleet_view_number(view, replica)];
    if (candidate->prefixes.block_tokens == 0 && candidate->chunks == NULL) return 0;
    replica_catch_up(candidate, view->now_ns);
    return replica_cached_tokens(candidate, request_of(request));
}

int64_t fleet_view_stored_tokens(const struct fleet_view *view, int32_t replica, const struct request_view *request)
{
    struct replica *candidate = &view->fleet->replicas[fleet_view_number(view, replica)];
    if (candidate->store == NULL || candidate->prefixes.block_tokens == 0) return 0;
    replica_catch_up(candidate, view->now_ns);
    return replica_stored_tokens(candidate, request_of(request));
}

int64_t fleet_view_kv_total_blocks(const struct fleet_view *view, int32_t replica)
{
    return replica_at(view, replica)->kv.total_blocks;
}

int64_t fleet_view_kv_total_tokens(const struct fleet_view *view, int32_t replica)
{
    const struct kvcache *kv = &replica_at(view, replica)->kv;
    return kv->total_blocks * kv->block_tokens;
}

int64_t fleet_view_decode_context_tokens(const struct fleet_view *view, int32_t replica)
{
    const struct replica_usage *usage = reported(view, replica);
    return usage != NULL ? usage->decode_context_tokens
                         : replica_decode_context_tokens(replica_at(view, replica), view->now_ns);
}

int64_t fleet_view_entering_prompts(const struct fleet_view *view, int32_t replica)
{
    const struct replica_usage *usage = reported(view, replica);
    return usage != NULL ? usage->entering_prompts : replica_entering_prompts(replica_at(view, replica));
}

int64_t fleet_view_idle_sequences(const struct fleet_view *view, int32_t replica)
{
    const struct replica_usage *usage = reported(view, replica);
    return usage != NULL ? usage->idle_sequences : replica_idle_sequences(replica_at(view, replica));
}

enum pool_role fleet_view_role(const struct fleet_view *view, int32_t replica)
{
    return (enum pool_role)fleet_pool_of(view->fleet, fleet_view_number(view, replica))->config.role;
}

int64_t fleet_view_reserved_tokens(const struct fleet_view *view, int32_t replica)
{
    const struct replica_usage *usage = reported(view, replica);
    *view->fleet->asked_oracle = true;
    return usage != NULL ? usage->reserved_tokens : view->fleet->reserved_tokens[fleet_view_number(view, replica)];
}

int64_t fleet_view_full_tokens(const struct fleet_view *view, const struct request_view *request)
{
    const struct request *asked = request_of(request);
    *view->fleet->asked_oracle = true;
    return (int64_t)asked->prompt_tokens + asked->output_tokens;
}

/* --- Reports ---
 *
 * The information delay: what routers see of the replicas is as old as the latest report.
 *
 * A report is an event at a multiple of the period, before all others of its moment, that copies every replica's load.
 * Values that change within a run of iterations are evaluated for that moment, and no run ends for it, so reports are
 * the same in every mode of stepping. Reports pause while nothing can change: when the service has no requests, or all
 * replicas are idle and await no KV. Requests that no replica takes keep no run alive. */

int fleet_reports_init(struct fleet *fleet)
{
    struct fleet_reports *reports = &fleet->reports;
    *reports = (struct fleet_reports){.period_ns = fleet->config->information_delay_ns};
    if (reports->period_ns == 0) return 0;
    owner_init(&reports->owner, site_env_owner_ids(fleet->env->site, 1));
    reports->loads = mem_zalloc((size_t)fleet->n_replicas, sizeof *reports->loads);
    reports->usages = mem_zalloc((size_t)fleet->n_replicas, sizeof *reports->usages);
    return reports->loads != NULL && reports->usages != NULL ? 0 : SIM_E_NOMEM;
}

void fleet_reports_fini(struct fleet *fleet)
{
    mem_free(fleet->reports.loads);
    mem_free(fleet->reports.usages);
}

/* Takes a report of all replicas at a time. Returns whether any of them is busy. */
static bool take_report(struct fleet *fleet, sim_ns at)
{
    struct fleet_reports *reports = &fleet->reports;
    bool busy = false;
    reports->seen_ns = at;
    for (int32_t i = 0; i < fleet->n_replicas; i++) {
        const struct replica *replica = &fleet->replicas[i];
        reports->loads[i] = fleet->loads[i];
        reports->usages[i] = (struct replica_usage){
            replica_used_blocks(replica, at), replica_decode_context_tokens(replica, at), fleet->reserved_tokens[i],
            replica_entering_prompts(replica), replica_idle_sequences(replica)};
        busy = busy || replica->state != REPLICA_IDLE || replica->n_moves + replica->fetching.n > 0;
    }
    return busy;
}

static void report_is_due(struct engine *engine, struct owner *owner, sim_ns now);

/* Arms the first report after `now`, unless that is beyond the end of time. */
static void arm_next(struct fleet *fleet, sim_ns now)
{
    struct fleet_reports *reports = &fleet->reports;
    sim_ns next_ns = sim_ns_add(now - now % reports->period_ns, reports->period_ns);
    if (next_ns < SIM_NS_MAX)
        engine_arm(fleet->env->site->engine, next_ns, PRIORITY_REPORT, report_is_due, &reports->owner);
}

static void report_is_due(struct engine *engine, struct owner *owner, sim_ns now)
{
    (void)engine;
    struct fleet_reports *reports = OWNER_ENTITY(owner, struct fleet_reports, owner);
    struct fleet *fleet = OWNER_ENTITY(reports, struct fleet, reports);
    reports->quiet_ns = now;
    if (take_report(fleet, now)) arm_next(fleet, now);
}

void fleet_reports_before_routing(struct fleet *fleet, sim_ns now)
{
    struct fleet_reports *reports = &fleet->reports;
    if (reports->period_ns == 0 || reports->owner.armed != 0) return;
    sim_ns latest_ns = now - now % reports->period_ns;
    if (latest_ns > reports->quiet_ns) take_report(fleet, latest_ns);
    arm_next(fleet, now);
}

void fleet_reports_when_empty(struct fleet *fleet, sim_ns now)
{
    struct fleet_reports *reports = &fleet->reports;
    if (reports->period_ns == 0) return;
    engine_disarm(fleet->env->site->engine, &reports->owner);
    reports->quiet_ns = now;
}
