/* Join the shortest queue, measured in tokens: the prompt tokens still to be processed at a replica plus, weighted, the
 * context tokens of its decoding sequences, which every iteration reads. The lowest number among equals. */
#include "policies/declared.h"
#include "sim/world/policy/routing.h"

struct jsq_tokens {
    double running_weight, sequence_weight;
};

#define ROW_OF struct jsq_tokens
static const struct config_field jsq_tokens_fields[] = {
    ROW_REAL("running_weight", running_weight, DEFAULT("0"), WITHIN(0, 1e6),
             "weight of a context token of a decoding sequence; a prompt token counts 1"),
    ROW_REAL("sequence_weight", sequence_weight, DEFAULT("0"), WITHIN(0, 1e6),
             "weight of each request at a replica, on top of its tokens (Splitwise's baselines: 1)"),
    {0}};
#undef ROW_OF

static double tokens_at(const struct jsq_tokens *router, const struct fleet_view *view, int32_t replica)
{
    double queued = (double)view->loads[replica].queued_tokens +
                    router->sequence_weight * (double)view->loads[replica].outstanding;
    if (router->running_weight == 0) return queued;
    return queued + router->running_weight * (double)fleet_view_decode_context_tokens(view, replica);
}

static int jsq_tokens_route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)request;
    int32_t best = 0;
    double fewest = tokens_at(state, view, 0);
    for (int32_t i = 1; i < view->n_replicas && fewest > 0; i++) {
        double tokens = tokens_at(state, view, i);
        if (tokens >= fewest) continue;
        best = i;
        fewest = tokens;
    }
    return best;
}

const struct router routing_jsq_tokens = {
    .policy = {POLICY_HEAD(router, POLICY_ROUTING),
               .name = "jsq-tokens",
               .summary = "the replica with the fewest prompt tokens still to be processed",
               .source = "folklore; Splitwise and DistServe: shortest queue",
               .params = jsq_tokens_fields,
               .params_bytes = sizeof(struct jsq_tokens),
               .state_bytes = sizeof(struct jsq_tokens)},
    .route = jsq_tokens_route,
};
