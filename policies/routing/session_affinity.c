/* All requests of a session go to one replica, where their prefix is cached, while it is not too busy. This is
 * consistent hashing with bounded loads (Mirrokni, Thorup and Zadimoghaddam, SODA 2018). A session orders the replicas
 * by a hash of both numbers (rendezvous hashing; Thaler and Ravishankar, IEEE/ACM Transactions on Networking 6(1),
 * 1998). The request goes to the first one in this order that has at most `bound` times the mean of unfinished
 * requests, rounded up, this request included. It goes back as soon as a replica before has room. When replicas come or
 * go, only sessions of those move. Requests of no session go to the replica with the fewest unfinished requests.
 *
 * The replicas that come first in a session's order, busy or not, are remembered for the sessions seen last: most
 * requests go to one of these, without a hash of each replica.
 *
 * Left out: other keys than the session, such as the user. */
#include "policies/declared.h"
#include "sim/core/config/config_field.h"
#include "sim/core/hash.h"
#include "sim/world/policy/routing.h"

#include <math.h>

struct session_affinity {
    double bound;
};

enum { SETS = 1 << 11, WAYS = 4, REMEMBERED = 4 };

/* How the order of a session begins. */
struct affinity_order {
    uint64_t session;             /* mixed number */
    int16_t replicas[REMEMBERED]; /* plus 1, the first one first; 0: there are no more; all 0: no session yet */
};

struct affinity_state {
    struct session_affinity params;
    int32_t first, n_replicas;            /* of the fleet that `orders` is about; n_replicas 0: none yet */
    struct affinity_order orders[SETS][WAYS]; /* by the mixed number modulo SETS, the one used last first */
};

#define ROW_OF struct session_affinity
static const struct config_field session_affinity_fields[] = {
    ROW_REAL("bound", bound, DEFAULT("1.25"), WITHIN(1, 1e9),
             "most unfinished requests at a replica, over their mean; 1e9: a session never moves"),
    {0}};
#undef ROW_OF

static uint64_t weight_of(const struct fleet_view *view, uint64_t session, int32_t i)
{
    return hash_mix(session + (uint64_t)(view->numbers != NULL ? view->numbers[i] : view->first + i));
}

/* The replica of the highest weight that has fewer requests than `most`, or -1: the first one in the session's order.
 * session: the mixed number of the session. Replicas have different numbers, so that their weights differ. */
static int32_t first_with_room(const struct fleet_view *view, uint64_t session, int64_t most)
{
    int32_t best = -1;
    uint64_t highest = 0;
    for (int32_t i = 0; i < view->n_replicas; i++) {
        if (view->loads[i].outstanding >= most) continue;
        const uint64_t weight = weight_of(view, session, i);
        if (weight < highest) continue;
        best = i;
        highest = weight;
    }
    return best;
}

static struct affinity_order order_of(const struct fleet_view *view, uint64_t session)
{
    struct affinity_order order = {.session = session};
    uint64_t weights[REMEMBERED] = {0};
    for (int32_t i = 0, n = 0; i < view->n_replicas; i++) {
        const uint64_t weight = weight_of(view, session, i);
        if (n == REMEMBERED && weight < weights[n - 1]) continue;
        int32_t at = n < REMEMBERED ? n++ : n - 1;
        for (; at > 0 && weights[at - 1] < weight; at--) {
            weights[at] = weights[at - 1];
            order.replicas[at] = order.replicas[at - 1];
        }
        weights[at] = weight;
        order.replicas[at] = (int16_t)(i + 1);
    }
    return order;
}

/* Whether orders of these candidates are remembered: not of fleets that scale, of huge ones, or of a second one. */
static bool is_remembered(struct affinity_state *state, const struct fleet_view *view)
{
    if (view->numbers != NULL || view->n_replicas >= INT16_MAX) return false;
    if (state->n_replicas == 0) {
        state->first = view->first;
        state->n_replicas = view->n_replicas;
    }
    return state->first == view->first && state->n_replicas == view->n_replicas;
}

/* The order of a session, remembered or new, which takes the place of the one in its set that was used longest ago. */
static const struct affinity_order *find_order(struct affinity_state *state, const struct fleet_view *view,
                                               uint64_t session)
{
    struct affinity_order *set = state->orders[session % SETS];
    int way = 0;
    while (way < WAYS && (set[way].session != session || set[way].replicas[0] == 0)) way++;
    const struct affinity_order order = way < WAYS ? set[way] : order_of(view, session);
    for (int i = way < WAYS ? way : WAYS - 1; i > 0; i--) set[i] = set[i - 1];
    set[0] = order;
    return set;
}

/* The first replica with room among those remembered, or -1. */
static int32_t remembered_with_room(struct affinity_state *state, const struct fleet_view *view, uint64_t session,
                                    int64_t most)
{
    if (!is_remembered(state, view)) return -1;
    const struct affinity_order *order = find_order(state, view, session);
    for (int i = 0; i < REMEMBERED && order->replicas[i] > 0; i++)
        if (view->loads[order->replicas[i] - 1].outstanding < most) return order->replicas[i] - 1;
    return -1;
}

/* Most unfinished requests that a replica may have with this one. */
static double most_requests(const struct session_affinity *router, const struct fleet_view *view)
{
    int64_t requests = 1;
#pragma GCC unroll 8
    for (int32_t i = 0; i < view->n_replicas; i++) requests += view->loads[i].outstanding;
    return ceil(router->bound * (double)requests / view->n_replicas);
}

static int32_t fewest_requests(const struct fleet_view *view)
{
    int32_t best = 0;
    for (int32_t i = 1; i < view->n_replicas; i++)
        if (view->loads[i].outstanding < view->loads[best].outstanding) best = i;
    return best;
}

static int session_affinity_route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    struct affinity_state *router = state;
    if (request->session_id == 0) return fewest_requests(view);
    const int64_t most = (int64_t)fmin(most_requests(&router->params, view), 0x1p62);
    const uint64_t session = hash_mix((uint64_t)request->session_id + UINT64_C(0x9e3779b97f4a7c15));
    int32_t best = remembered_with_room(router, view, session, most);
    if (best < 0) best = first_with_room(view, session, most);
    return best >= 0 ? best : fewest_requests(view);
}

const struct router routing_session_affinity = {
    .policy = {POLICY_HEAD(router, POLICY_ROUTING),
               .name = "session-affinity",
               .summary = "one replica for all requests of a session, unless it is much busier than the others; asks all replicas",
               .source = "consistent hashing with bounded loads (Mirrokni et al., SODA 2018)",
               .params = session_affinity_fields,
               .params_bytes = sizeof(struct session_affinity),
               .state_bytes = sizeof(struct affinity_state)},
    .route = session_affinity_route,
    .follows_sessions = true,
};
