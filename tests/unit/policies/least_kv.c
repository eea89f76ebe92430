/* The router `least-kv` on a fleet whose replicas differ in size. */
#include "policies/registry.h"
#include "sim/world/service/fleet.h"
#include "tests/support/harness.h"

enum { REPLICAS = 5 };

/* The share of blocks decides, not their number; the lowest replica among equals. */
TEST(the_smallest_share_of_blocks_wins)
{
    const struct router *router = (const void *)policy_find(POLICY_ROUTING, "least-kv");
    int64_t asks_all[1] = {0}; /* the parameter `choices` */
    struct rng rng = test_rng(1, "shares", 0);
    MUST(router != NULL);
    for (int n = 0; n < 2000; n++) {
        struct replica replicas[REPLICAS] = {0};
        struct replica_usage usages[REPLICAS] = {0};
        const struct fleet fleet = {.replicas = replicas, .reports = {.period_ns = 1, .usages = usages}};
        const struct fleet_view view = {.n_replicas = REPLICAS, .fleet = &fleet};
        int32_t expected = 0;
        double least = HUGE_VAL;
        for (int32_t i = 0; i < REPLICAS; i++) {
            replicas[i].kv.total_blocks = 1 + (int64_t)rng_below(&rng, 6);
            usages[i].kv_blocks = (int64_t)rng_below(&rng, (uint64_t)replicas[i].kv.total_blocks + 1);
            const double share = (double)usages[i].kv_blocks / (double)replicas[i].kv.total_blocks;
            if (share < least) expected = i;
            least = fmin(least, share);
        }
        if (!CHECK_EQ_INT(router->route(asks_all, &view, NULL), expected)) return;
    }
}
