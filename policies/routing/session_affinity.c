/* All requests of a session go to one replica, where their prefix is cached, while it is not too busy. This is
 * consistent hashing with bounded loads (Mirrokni, Thorup and Zadimoghaddam, SODA 2018). A session orders the replicas
 * by a hash of both numbers (rendezvous hashing; Thaler and Ravishankar, IEEE/ACM Transactions on Networking 6(1),
 * 1998). The request goes to the first one in this order that has at most `bound` times the mean of unfinished
 * requests, rounded up, this request included. It goes back as soon as a replica before has room. When replicas come or
 * go, only sessions of those move. Requests of no session go to the replica with the fewest unfinished requests.
 *
 * The replica that comes first in a session's order, busy or not, is remembered for the sessions seen last: most
 * requests go there, without a hash of each replica. A session's number and its mixed one determine each other, so the
 * bits beside those of its place identify it.
 *
 * Left out: other keys than the session, such as the user. */
#include "policies/declared.h"
#include "sim/core/config/config_field.h"
#include "sim/world/policy/routing.h"

#include <math.h>

struct session_affinity {
    double bound;
};

enum { PLACE_BITS = 13, PLACES = 1 << PLACE_BITS };

struct affinity_state {
    struct session_affinity params;
    int32_t first, n_replicas; /* of the fleet that `firsts` is about; n_replicas 0: none yet */
    uint64_t firsts[PLACES];   /* the session's mixed number, its lowest bits replaced by its first replica plus 1 */
};

#define ROW_OF struct session_affinity
static const struct config_field session_affinity_fields[] = {
    ROW_REAL("bound", bound, DEFAULT("1.25"), WITHIN(1, 1e9),
             "most unfinished requests at a replica, over their mean; 1e9: a session never moves"),
    {0}};
#undef ROW_OF

/* The finaliser of SplitMix64 (Steele et al. 2014). */
static uint64_t mix(uint64_t key)
{
    key = (key ^ (key >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ (key >> 27)) * UINT64_C(0x94d049bb133111eb);
    return key ^ (key >> 31);
}

/* The replica of the highest weight that has fewer requests than `most`, or -1: the first one in the session's order.
 * session: the mixed number of the session. Replicas have different numbers, so that their weights differ. */
static int32_t first_with_room(const struct fleet_view *view, uint64_t session, int64_t most)
{
    const struct replica_load *loads = view->loads;
    const int32_t *numbers = view->numbers;
    const int32_t n = view->n_replicas, first = view->first;
    int32_t best = -1;
    uint64_t highest = 0;
    for (int32_t i = 0; i < n; i++) {
        if (loads[i].outstanding >= most) continue;
        const uint64_t weight = mix(session + (uint64_t)(numbers != NULL ? numbers[i] : first + i));
        if (weight < highest) continue;
        best = i;
        highest = weight;
    }
    return best;
}

/* The first replica in the session's order. Fleets that scale, and huge ones, are not remembered. */
static int32_t first_of(struct affinity_state *state, const struct fleet_view *view, uint64_t session)
{
    uint64_t *known = &state->firsts[session % PLACES];
    if (view->numbers != NULL || view->n_replicas >= PLACES) return first_with_room(view, session, INT64_MAX);
    if (state->n_replicas == 0) {
        state->first = view->first;
        state->n_replicas = view->n_replicas;
    }
    if (state->first != view->first || state->n_replicas != view->n_replicas)
        return first_with_room(view, session, INT64_MAX);
    if (*known == 0 || (*known ^ session) >> PLACE_BITS != 0)
        *known = (session & ~(uint64_t)(PLACES - 1)) | (uint64_t)(first_with_room(view, session, INT64_MAX) + 1);
    return (int32_t)(*known % PLACES) - 1;
}

/* Most unfinished requests that a replica may have with this one. */
static double most_requests(const struct session_affinity *router, const struct fleet_view *view)
{
    int64_t requests = 1;
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
    const uint64_t session = mix((uint64_t)request->session_id + UINT64_C(0x9e3779b97f4a7c15));
    const int32_t first = first_of(router, view, session);
    if (view->loads[first].outstanding < most) return first;
    const int32_t best = first_with_room(view, session, most);
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
};
