/* The router `session-affinity` against the order of replicas that it is defined by, worked out for each request. */
#include "policies/registry.h"
#include "sim/core/mem.h"
#include "sim/world/policy/routing.h"
#include "tests/support/harness.h"

#include <math.h>

enum { REPLICAS = 9, SESSIONS = 40000 };

/* The finaliser of SplitMix64. */
static uint64_t mix(uint64_t key)
{
    key = (key ^ (key >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ (key >> 27)) * UINT64_C(0x94d049bb133111eb);
    return key ^ (key >> 31);
}

/* The replica of the highest weight among those below the bound. */
static int32_t naive(const struct fleet_view *view, int64_t session, double bound)
{
    int64_t requests = 1;
    int32_t best = -1;
    uint64_t highest = 0;
    for (int32_t i = 0; i < view->n_replicas; i++) requests += view->loads[i].outstanding;
    const double most = ceil(bound * (double)requests / view->n_replicas);
    for (int32_t i = 0; i < view->n_replicas; i++) {
        const uint64_t number = (uint64_t)(view->numbers != NULL ? view->numbers[i] : view->first + i);
        const uint64_t weight = mix(mix((uint64_t)session + UINT64_C(0x9e3779b97f4a7c15)) + number);
        if ((double)view->loads[i].outstanding >= most || (best >= 0 && weight < highest)) continue;
        best = i;
        highest = weight;
    }
    return best;
}

/* Routes among n_replicas replicas, now and then among others. */
static void check_fleet(int32_t n_replicas)
{
    static const int32_t numbers[REPLICAS] = {0, 1, 3, 4, 6, 7, 11, 12, 20};
    const struct router *router = (const void *)policy_find(POLICY_ROUTING, "session-affinity");
    struct replica_load loads[REPLICAS] = {0};
    struct rng rng = test_rng(1, "affinity", 0);
    const double bound = 1.25;
    MUST(router != NULL && router->policy.init == NULL);
    double *state = mem_zalloc(1, router->policy.state_bytes);
    MUST(state != NULL);
    *state = bound; /* the parameters begin the state */
    for (int n = 0; n < 200000; n++) {
        const uint64_t few = rng_below(&rng, 2) == 0 ? SESSIONS : 100;
        const struct request_view request = {.session_id = 1 + (int64_t)rng_below(&rng, few)};
        struct fleet_view view = {.n_replicas = n_replicas, .loads = loads, .first = 5};
        const uint64_t kind = rng_below(&rng, 20);
        if (kind == 0) view.first = 0;
        if (kind == 1) view.n_replicas = 1 + n_replicas / 2;
        if (kind == 2) view.numbers = numbers;
        loads[rng_below(&rng, (uint64_t)n_replicas)].outstanding = (int64_t)rng_below(&rng, 4);
        const int32_t expected = naive(&view, request.session_id, bound);
        if (expected >= 0 && !CHECK_EQ_INT(router->route(state, &view, &request), expected)) break;
    }
    mem_free(state);
}

/* Many more sessions than it remembers, each of them again and again, and candidates that change in between: more of
 * them than it remembers of a session's order, and fewer. */
TEST(a_session_goes_to_its_first_replica_with_room)
{
    check_fleet(REPLICAS);
    check_fleet(2);
}
