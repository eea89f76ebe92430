/* Join the shortest queue, measured in tokens: the prompt tokens still to be processed at a replica plus, weighted, the
 * context tokens of its decoding sequences, which every iteration reads. The lowest number among equals. */
#include "policies/declared.h"
#include "policies/routing/least.h"

struct jsq_tokens_params {
    double running_weight, sequence_weight;
    int64_t choices;
};

struct jsq_tokens {
    struct jsq_tokens_params params;
    struct least least;
};

#define ROW_OF struct jsq_tokens_params
static const struct config_field jsq_tokens_fields[] = {
    ROW_REAL("running_weight", running_weight, DEFAULT("0"), WITHIN(0, 1e6),
             "weight of a context token of a decoding sequence; a prompt token counts 1"),
    ROW_REAL("sequence_weight", sequence_weight, DEFAULT("0"), WITHIN(0, 1e6),
             "weight of each request at a replica, on top of its tokens (Splitwise's baselines: 1)"),
    CHOICES_ROW,
    {0}};
#undef ROW_OF

static double queued_at(const void *state, const struct fleet_view *view, int32_t replica)
{
    const struct jsq_tokens *router = state;
    const struct replica_load *load = &view->loads[replica];
    return (double)load->queued_tokens + router->params.sequence_weight * (double)load->outstanding;
}

static double tokens_at(const void *state, const struct fleet_view *view, int32_t replica)
{
    const struct jsq_tokens *router = state;
    const double decode_tokens = (double)fleet_view_decode_context_tokens(view, replica);
    return queued_at(state, view, replica) + router->params.running_weight * decode_tokens;
}

static int jsq_tokens_route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)request;
    struct jsq_tokens *router = state;
    const int64_t most = router->params.choices;
    if (router->params.running_weight != 0) return least_by_pass(view, most, tokens_at, state);
    if (most != 0) return least_by_pass(view, most, queued_at, state);
    return least_find(&router->least, view, queued_at, state);
}

static void jsq_tokens_fini(void *state)
{
    least_fini(&((struct jsq_tokens *)state)->least);
}

const struct router routing_jsq_tokens = {
    .policy = {POLICY_HEAD(router, POLICY_ROUTING),
               .name = "jsq-tokens",
               .summary = "the replica with the fewest prompt tokens still to be processed",
               .source = "folklore; Splitwise and DistServe: shortest queue",
               .params = jsq_tokens_fields,
               .params_bytes = sizeof(struct jsq_tokens_params),
               .state_bytes = sizeof(struct jsq_tokens),
               .fini = jsq_tokens_fini},
    .route = jsq_tokens_route,
};
