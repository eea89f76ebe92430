/* Splitwise's cluster scheduler (Patel et al., ISCA 2024, section IV-A; the rules are those of its artifact,
 * Mutinifni/splitwise-sim @ 8f99e7d, scheduler.py, MixedPoolScheduler): prompt and token machine of a request are
 * chosen together at its arrival, each by join the shortest queue.
 *
 * Replicas of role prefill, decode and mixed form the prompt, token and mixed pool. A prompt machine is sought in the
 * prompt pool, then the mixed pool, then the token pool; one taken from there becomes mixed. Token machines are sought
 * from the other side.
 *
 * The best prompt machine has the fewest pending tokens; it is refused if requests wait there and the prompt would
 * exceed the threshold. The best token machine has the least memory promised; it is refused if the request's whole KV
 * would fill or exceed it. The opposite pool lends its best machine in any case. If it has none, the whole request goes
 * to the shortest queue of all.
 *
 * Two things differ from the artifact. A machine that became mixed returns to its pool when it has no task of the other
 * kind, as in the paper; the artifact returns it when it has no task at all. Among equals the lowest number is taken;
 * in the artifact a machine that returned comes last.
 *
 * Pending tokens are those of prompts still to be processed, plus one for every request that decodes there or will.
 * The artifact knows how many tokens a request will generate, and so does this policy: an oracle. */
#include "policies/declared.h"
#include "sim/core/mem.h"
#include "sim/world/policy/routing.h"

struct splitwise_params {
    int64_t max_pending_tokens;
};

#define ROW_OF struct splitwise_params
static const struct config_field splitwise_fields[] = {
    ROW_INT("max_pending_tokens", max_pending_tokens, DEFAULT("8192"), WITHIN(1, 1e12),
            "most pending tokens, new prompt included, at a prompt machine where requests wait"),
    {0}};
#undef ROW_OF

struct splitwise {
    struct splitwise_params params;
    bool *stolen; /* by replica: moved from its pool to the mixed one */
};

enum { NONE = -1 };

static void splitwise_fini(void *state)
{
    mem_free(((struct splitwise *)state)->stolen);
}

static int64_t pending_tokens(const struct fleet_view *view, int32_t i)
{
    return view->loads[i].queued_tokens + view->loads[i].decodes;
}

static bool is_in(const struct splitwise *router, const struct fleet_view *view, int32_t i, enum pool_role pool)
{
    return (router->stolen[i] ? POOL_MIXED : fleet_view_role(view, i)) == pool;
}

/* Returns machines without a task of the other kind to their pools. */
static void return_machines(struct splitwise *router, const struct fleet_view *view)
{
    for (int32_t i = 0; i < view->n_replicas; i++) {
        bool decodes = view->loads[i].decodes > 0, prompts = view->loads[i].queued_tokens > 0;
        if (router->stolen[i] && !(fleet_view_role(view, i) == POOL_PREFILL ? decodes : prompts))
            router->stolen[i] = false;
    }
}

static int32_t best_prompt_machine(const struct splitwise *router, const struct fleet_view *view, enum pool_role pool)
{
    int32_t best = NONE;
    for (int32_t i = 0; i < view->n_replicas; i++)
        if (is_in(router, view, i, pool) && (best == NONE || pending_tokens(view, i) < pending_tokens(view, best)))
            best = i;
    return best;
}

static int32_t best_token_machine(const struct splitwise *router, const struct fleet_view *view, enum pool_role pool)
{
    int32_t best = NONE;
    int64_t least = INT64_MAX;
    for (int32_t i = 0; i < view->n_replicas; i++) {
        if (!is_in(router, view, i, pool)) continue;
        int64_t reserved = fleet_view_reserved_tokens(view, i);
        if (reserved >= least) continue;
        best = i;
        least = reserved;
    }
    return best;
}

/* The best machine of the pool, or NONE if its queue is too long. */
static int32_t find_prompt_machine(const struct splitwise *router, const struct fleet_view *view,
                                   const struct request_view *request, enum pool_role pool)
{
    const int32_t best = best_prompt_machine(router, view, pool);
    const bool too_long = best != NONE && view->loads[best].waiting > 0 &&
                          pending_tokens(view, best) + request->prompt_tokens > router->params.max_pending_tokens;
    return too_long ? NONE : best;
}

/* The best machine of the pool, or NONE if its memory would be full. */
static int32_t find_token_machine(const struct splitwise *router, const struct fleet_view *view,
                                  const struct request_view *request, enum pool_role pool)
{
    const int32_t best = best_token_machine(router, view, pool);
    const bool fits = best != NONE && fleet_view_reserved_tokens(view, best) + fleet_view_full_tokens(view, request) <
                                          fleet_view_kv_total_tokens(view, best);
    return fits ? best : NONE;
}

static int32_t shortest_queue(const struct fleet_view *view)
{
    int32_t best = 0;
    for (int32_t i = 1; i < view->n_replicas; i++)
        if (pending_tokens(view, i) < pending_tokens(view, best)) best = i;
    return best;
}

static int splitwise_route_pair(void *state, const struct fleet_view *view, const struct request_view *request,
                                struct route_pair *pair)
{
    struct splitwise *router = state;
    if (router->stolen == NULL) {
        router->stolen = mem_zalloc((size_t)view->n_replicas, sizeof *router->stolen);
        if (router->stolen == NULL) return SIM_E_NOMEM;
    }
    return_machines(router, view);
    int32_t prompt = find_prompt_machine(router, view, request, POOL_PREFILL);
    int32_t token = find_token_machine(router, view, request, POOL_DECODE);
    if (prompt == NONE) prompt = find_prompt_machine(router, view, request, POOL_MIXED);
    if (token == NONE) token = find_token_machine(router, view, request, POOL_MIXED);
    if (prompt == NONE && (prompt = best_prompt_machine(router, view, POOL_DECODE)) != NONE)
        router->stolen[prompt] = true;
    if (token == NONE && (token = best_token_machine(router, view, POOL_PREFILL)) != NONE) router->stolen[token] = true;
    if (prompt == NONE || token == NONE) prompt = token = shortest_queue(view);
    *pair = (struct route_pair){.prompt = prompt, .decode = token};
    return 0;
}

const struct router routing_splitwise = {
    .policy = {POLICY_HEAD(router, POLICY_ROUTING),
               .name = "splitwise",
               .summary = "prompt and token machine by shortest queue, from pools that lend machines to each other; asks all replicas",
               .source = "Patel et al., ISCA 2024; splitwise-sim, mixed_pool",
               .oracle = ORACLE_OUTPUT,
               .params = splitwise_fields,
               .params_bytes = sizeof(struct splitwise_params),
               .state_bytes = sizeof(struct splitwise),
               .fini = splitwise_fini},
    .route_pair = splitwise_route_pair,
};
