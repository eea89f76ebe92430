/* The placer `topology-aware` against its rule, written down plainly: jobs that never end fill a cluster of racks, the
 * last of which may be smaller. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

enum { MOST_NODES = 7, PER_NODE = 4, JOBS = 16 };

struct racks {
    int nodes, rack;
    int free[MOST_NODES];
};

/* The unused node from `first` to before `end` where the fewest GPUs are left after `gpus` are taken; -1: none. */
static int tightest(const struct racks *racks, int first, int end, int gpus, const int *got)
{
    int best = -1;
    for (int i = first; i < end && i < racks->nodes; i++)
        if (got[i] == 0 && racks->free[i] >= gpus && (best < 0 || racks->free[i] < racks->free[best])) best = i;
    return best;
}

/* The first node of the rack where most of `n` parts fit, and of these the one with the fewest free GPUs. */
static int fittest_rack(const struct racks *racks, int n, int gpus, const int *got, int *n_parts)
{
    int best = 0, best_left = 0;
    *n_parts = 0;
    for (int first = 0; first < racks->nodes; first += racks->rack) {
        int fits = 0, left = 0;
        for (int i = first; i < first + racks->rack && i < racks->nodes; i++) {
            left += racks->free[i];
            fits += got[i] == 0 && racks->free[i] >= gpus;
        }
        fits = fits < n ? fits : n;
        if (fits < *n_parts || fits == 0 || (fits == *n_parts && left >= best_left)) continue;
        *n_parts = fits;
        best = first;
        best_left = left;
    }
    return best;
}

/* Full nodes and a rest on one more. Returns whether there was room; got: GPUs on each node. */
static bool place(const struct racks *racks, int gpus, int *got)
{
    const int n = (gpus + PER_NODE - 1) / PER_NODE;
    int in_rack = 0, first = 0;
    memset(got, 0, MOST_NODES * sizeof *got);
    for (int i = 0; i < n; i++, in_rack--) {
        const int part = gpus - i * PER_NODE < PER_NODE ? gpus - i * PER_NODE : PER_NODE;
        if (n > 1 && in_rack == 0) first = fittest_rack(racks, n - i, part, got, &in_rack);
        const int node = n > 1 ? tightest(racks, first, first + racks->rack, part, got)
                               : tightest(racks, 0, racks->nodes, part, got);
        if (node < 0) return false;
        got[node] = part;
    }
    return true;
}

/* Job i comes at second i. Of the first jobs, one for each node, some end at second 50. The others come then. */
static void check_jobs(struct racks *racks, const int *gpus, const bool *is_short)
{
    char list[JOBS * 80] = "";
    int last[MOST_NODES] = {0};
    for (int i = 0; i < JOBS; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s{'submit': '%ds', 'duration': '%ds', 'gpus': %d}",
                 i > 0 ? "," : "", i < racks->nodes ? i : 50 + i, is_short[i] ? 50 - i : 10000, gpus[i]);
    const struct bed_rows *rows = bed_ok(
        NULL,
        "{'cluster': {'nodes': %d, 'gpus_per_node': %d, 'nodes_per_rack': %d}, 'until': '100s', 'jobs': {'scheduler':"
        " 'fifo-skip', 'placement': 'topology-aware', 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}",
        racks->nodes, PER_NODE, racks->rack, list);
    for (int i = 0; i < JOBS; i++) {
        int expected[MOST_NODES], got[MOST_NODES] = {0};
        for (int node = 0; i == racks->nodes && node < racks->nodes; node++) racks->free[node] += last[node];
        const bool found = place(racks, gpus[i], expected);
        for (size_t p = 0; p < rows->n_placements; p++)
            if (rows->placements[p].job == i) got[rows->placements[p].node] += (int)rows->placements[p].gpus;
        for (int node = 0; node < racks->nodes; node++) {
            CHECK_EQ_INT(got[node], found ? expected[node] : 0);
            racks->free[node] -= got[node];
            if (is_short[i]) last[node] += got[node];
        }
    }
}

TEST(few_racks_few_nodes_and_the_tightest_of_them)
{
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct rng rng = test_rng(seed, "racks", 0);
        struct racks racks = {.nodes = 3 + (int)rng_below(&rng, 5), .rack = 1 + (int)rng_below(&rng, 4)};
        int gpus[JOBS];
        bool is_short[JOBS] = {0};
        for (int i = 0; i < racks.nodes; i++) racks.free[i] = PER_NODE;
        for (int i = 0; i < JOBS; i++) {
            is_short[i] = i < racks.nodes && rng_below(&rng, 2) == 0;
            gpus[i] = 1 + (int)rng_below(&rng, i < racks.nodes ? PER_NODE : 10);
        }
        check_jobs(&racks, gpus, is_short);
    }
}
