/* Where the bytes of an iteration go, against a walk over all pairs of nodes. */
#include "models/operators/traffic.h"
#include "tests/support/harness.h"

#include <math.h>

enum { MOST_NODES = 40 };

/* Nodes in racks of consecutive ones send to the next in the ring, and as much to each of all others. */
static struct traffic_levels walk(const struct iteration_traffic *traffic, int nodes, int gpus, int rack_nodes,
                                  double bytes_per_s)
{
    struct traffic_levels levels = {.node_bytes = nodes * gpus * traffic->node_bytes, .binds_at = (double)INFINITY};
    double leaves[MOST_NODES] = {0}, most = 0;
    for (int from = 0; from < nodes; from++)
        for (int to = 0; to < nodes; to++) {
            if (from == to) continue;
            const double ring = to == (from + 1) % nodes ? traffic->ring_bytes : 0;
            const double bytes = gpus * (ring + traffic->spread_bytes / (nodes - 1));
            if (from / rack_nodes == to / rack_nodes)
                levels.rack_bytes += bytes;
            else
                leaves[from / rack_nodes] += bytes;
        }
    for (int rack = 0; rack < MOST_NODES; rack++) {
        levels.site_bytes += leaves[rack];
        most = fmax(most, leaves[rack]);
    }
    if (most > 0) levels.binds_at = rack_nodes * gpus * bytes_per_s / (most / traffic->sending_s);
    return levels;
}

TEST(bytes_are_those_of_a_walk_over_nodes)
{
    struct rng rng = test_rng(1, "levels", 0);
    for (int nodes = 1; nodes <= MOST_NODES; nodes++)
        for (int rack_nodes = 1; rack_nodes <= MOST_NODES; rack_nodes++) {
            const int gpus = 1 + (int)rng_below(&rng, 8);
            const struct iteration_traffic traffic = {.node_bytes = 1e6 * rng_uniform(&rng),
                                                      .ring_bytes = 1e6 * rng_uniform(&rng),
                                                      .spread_bytes = 1e6 * rng_uniform(&rng),
                                                      .sending_s = 1e-3 + rng_uniform(&rng)};
            struct traffic_place place = {nodes, gpus, rack_nodes, 25e9};
            const struct traffic_levels expected = walk(&traffic, nodes, gpus, rack_nodes, 25e9);
            struct traffic_levels levels = traffic_levels_of(&traffic, &place);
            const double all = expected.rack_bytes + expected.site_bytes;
            CHECK_NEAR(levels.node_bytes / expected.node_bytes, 1.0, 1e-12);
            CHECK_NEAR(levels.rack_bytes, expected.rack_bytes, 1e-9 * all);
            CHECK_NEAR(levels.site_bytes, expected.site_bytes, 1e-9 * all);
            if (isinf(expected.binds_at))
                CHECK(isinf(levels.binds_at));
            else
                CHECK_NEAR(levels.binds_at / expected.binds_at, 1.0, 1e-9);
            place.nodes_per_rack = 0; /* one rack */
            levels = traffic_levels_of(&traffic, &place);
            CHECK_NEAR(levels.rack_bytes, all, 1e-9 * all);
            CHECK(levels.site_bytes == 0.0 && isinf(levels.binds_at));
        }
}
