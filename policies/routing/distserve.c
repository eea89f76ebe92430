/* Routing as in DistServe's simulator (Zhong et al., OSDI 2024; simdistserve): to the instance with the shortest queue
 * at its first pipeline stage, the lowest number among equals. For a prompt the queue is the prompts that wait or are
 * at that stage. For a sequence to decode it is the sequences that wait for the stage, without those in its batch, so
 * busy instances often look empty. */
#include "policies/declared.h"
#include "sim/world/policy/routing.h"

static int64_t queue_at(const struct fleet_view *view, const struct request_view *request, int32_t replica)
{
    if (request->state != REQUEST_WAITING) return fleet_view_idle_sequences(view, replica);
    return view->loads[replica].waiting + fleet_view_entering_prompts(view, replica);
}

static int distserve_route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)state;
    int32_t best = 0;
    int64_t shortest = queue_at(view, request, 0);
    for (int32_t i = 1; i < view->n_replicas && shortest > 0; i++) {
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
               .source = "Zhong et al., OSDI 2024; simdistserve"},
    .route = distserve_route,
};
