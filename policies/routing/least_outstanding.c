/* To the replica with the fewest unfinished requests; the lowest number among equals. Vidur counts the requests that
 * wait for their first iteration, or for another one after a preemption, and leaves out the batch. */
#include "policies/declared.h"
#include "policies/routing/least.h"

enum counted { COUNT_UNFINISHED, COUNT_QUEUED };

struct least_outstanding_params {
    int count;
};

struct least_outstanding {
    struct least_outstanding_params params;
    struct least least;
};

static const char *const counted_names[] = {"unfinished", "queued", NULL};

#define ROW_OF struct least_outstanding_params
static const struct config_field least_outstanding_fields[] = {
    ROW_CHOICE("count", count, DEFAULT("unfinished"), counted_names,
               "all unfinished requests, or those that wait for a place in the batch (Vidur)"),
    {0}};
#undef ROW_OF

static double counted(const void *state, const struct fleet_view *view, int32_t replica)
{
    const struct least_outstanding *router = state;
    const struct replica_load *load = &view->loads[replica];
    return (double)(router->params.count == COUNT_QUEUED ? load->waiting : load->outstanding);
}

static int least_outstanding_route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)request;
    struct least_outstanding *router = state;
    return least_find(&router->least, view, counted, state);
}

static void least_outstanding_fini(void *state)
{
    least_fini(&((struct least_outstanding *)state)->least);
}

const struct router routing_least_outstanding = {
    .policy = {POLICY_HEAD(router, POLICY_ROUTING),
               .name = "least-outstanding",
               .summary = "the replica with the fewest unfinished requests",
               .source = "folklore (join the shortest queue); Vidur, MLSys 2024",
               .params = least_outstanding_fields,
               .params_bytes = sizeof(struct least_outstanding_params),
               .state_bytes = sizeof(struct least_outstanding),
               .fini = least_outstanding_fini},
    .route = least_outstanding_route,
};
