/* To the replica with the fewest unfinished requests; the lowest number among equals. Vidur counts the requests that
 * wait for their first iteration, or for another one after a preemption, and leaves out the batch. */
#include "policies/declared.h"
#include "sim/world/policy/routing.h"

enum counted { COUNT_UNFINISHED, COUNT_QUEUED };

struct least_outstanding {
    int count;
};

static const char *const counted_names[] = {"unfinished", "queued", NULL};

#define ROW_OF struct least_outstanding
static const struct config_field least_outstanding_fields[] = {
    ROW_CHOICE("count", count, DEFAULT("unfinished"), counted_names,
               "all unfinished requests, or those that wait for a place in the batch (Vidur)"),
    {0}};
#undef ROW_OF

static int64_t counted(const struct least_outstanding *router, const struct replica_load *load)
{
    return router->count == COUNT_QUEUED ? load->waiting : load->outstanding;
}

static int least_outstanding_route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)request;
    int32_t best = 0;
    for (int32_t i = 1; i < view->n_replicas; i++)
        if (counted(state, &view->loads[i]) < counted(state, &view->loads[best])) best = i;
    return best;
}

const struct router routing_least_outstanding = {
    .policy = {POLICY_HEAD(router, POLICY_ROUTING),
               .name = "least-outstanding",
               .summary = "the replica with the fewest unfinished requests",
               .source = "folklore (join the shortest queue); Vidur, MLSys 2024",
               .params = least_outstanding_fields,
               .params_bytes = sizeof(struct least_outstanding),
               .state_bytes = sizeof(struct least_outstanding)},
    .route = least_outstanding_route,
};
