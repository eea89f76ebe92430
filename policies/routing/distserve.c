/* Routing as in DistServe's simulator (Zhong et al., OSDI 2024; simdistserve): to the instance with the shortest queue
 * at its first pipeline stage, the lowest number among equals. For a prompt the queue is the prompts that wait or are
 * at that stage. For a sequence to decode it is the sequences that wait for the stage, without those in its batch, so
 * busy instances often look empty. */
#include "policies/declared.h"
#include "policies/routing/least.h"

struct distserve_router {
    int64_t choices;
};

#define ROW_OF struct distserve_router
static const struct config_field distserve_router_fields[] = {CHOICES_ROW, {0}};
#undef ROW_OF

static int64_t queue_at(const struct fleet_view *view, const struct request_view *request, int32_t replica)
{
    if (request->state != REQUEST_WAITING) return fleet_view_idle_sequences(view, replica);
    return view->loads[replica].waiting + fleet_view_entering_prompts(view, replica);
}

static int distserve_route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    const struct distserve_router *router = state;
    struct choices choices;
    choices_draw(&choices, view, router->choices);
    int32_t best = choices_at(&choices, 0);
    int64_t shortest = queue_at(view, request, best);
    for (int32_t k = 1; k < choices.n && shortest > 0; k++) {
        const int32_t i = choices_at(&choices, k);
        int64_t queue = queue_at(view, request, i);
        if (queue >= shortest) continue;
        best = i;
        shortest = queue;
    }
    return best;
}

const struct router routing_distserve = {
    .policy = {POLICY_HEAD(router, POLICY_ROUTING),
               .name = "distserve",
               .summary = "the replica with the shortest queue at its first pipeline stage, not counting its batch; asks all replicas",
               .source = "Zhong et al., OSDI 2024; simdistserve",
               .params = distserve_router_fields,
               .params_bytes = sizeof(struct distserve_router),
               .state_bytes = sizeof(struct distserve_router)},
    .route = distserve_route,
};
