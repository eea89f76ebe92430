/* Failure domains: how long groups of nodes are available. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

static struct bed_rows *failing_site(int nodes, int group, int needed)
{
    return bed_ok(NULL,
                  "{'cluster': {'nodes': %d, 'gpus_per_node': 1}, 'keep': 'metrics', 'until': '100000s', 'failures': {"
                  " 'causes': {'grid': {'scope': 'site', 'lifetime': {'mean': '1000s'}, 'repair': {'mean': '300s'}}},"
                  " 'domains': {'feed': {'nodes': %d, 'needed': %d}}}, 'jobs': {'placement': 'first-fit', 'trace':"
                  " {'format': 'inline-jobs', 'jobs': [{'duration': '100000s', 'gpus': 0}]}}}",
                  nodes, group, needed);
}

/* All nodes fail and return at once, so each group is available as long as the cluster is, the last and smaller group
 * among them. */
TEST(groups_of_any_size_fail_with_the_site)
{
    for (int nodes = 1; nodes <= 5; nodes++)
        for (int group = 1; group <= 6; group++)
            for (int needed = 1; needed <= group; needed += 2) {
                const struct bed_rows *rows = failing_site(nodes, group, needed);
                const double available = bed_metric(rows, "cluster.available_frac");
                CHECK(available > 0.6 && available < 0.9);
                CHECK_NEAR(bed_metric(rows, "failure.available_frac[feed]"), available, 1e-12);
            }
}

/* A cause strikes nodes of three types. What is reported of it is the sum over them, once. */
TEST(causes_count_on_all_node_types)
{
    const struct bed_rows *rows = bed_ok(
        NULL,
        "{'cluster': {'nodes': 4, 'node_types': {'b': {'nodes': 3, 'gpu': 't4'}, 'c': {'nodes': 2, 'gpu': 'l4'}}},"
        " 'until': '1000000s', 'keep': 'metrics', 'failures': {'causes': {"
        " 'one': {'scope': 'node', 'lifetime': {'law': 'constant', 'mean': '99000s'}},"
        " 'two': {'scope': 'node', 'lifetime': {'law': 'constant', 'mean': '199000s'}}}},"
        " 'jobs': {'placement': 'first-fit', 'trace': {'format': 'inline-jobs', 'jobs': ["
        " {'duration': '1000000s', 'gpus': 0}]}}}");
    int n_one = 0, n_two = 0;
    for (size_t i = 0; i < rows->n_metrics; i++) {
        n_one += strcmp(rows->metrics[i].name, "failure.events[one]") == 0;
        n_two += strcmp(rows->metrics[i].name, "failure.events[two]") == 0;
    }
    CHECK(n_one == 1 && n_two == 1);
    CHECK_NEAR(bed_metric(rows, "failure.events[one]"), 9 * 10, 0);
    CHECK_NEAR(bed_metric(rows, "failure.events[two]"), 9 * 5, 0);
    CHECK_NEAR(bed_metric(rows, "failure.events"), 9 * 15, 0);
}

/* Each domain is available on its own. Nodes fail together, so all are as long as the cluster. */
TEST(every_domain_is_reported)
{
    const struct bed_rows *rows = bed_ok(
        NULL,
        "{'cluster': {'nodes': 4, 'gpus_per_node': 1}, 'keep': 'metrics', 'until': '100000s', 'failures': {'causes': {"
        " 'grid': {'scope': 'site', 'lifetime': {'mean': '1000s'}, 'repair': {'mean': '300s'}}}, 'domains': {"
        " 'a': {'nodes': 1, 'needed': 1}, 'b': {'nodes': 2, 'needed': 1}, 'c': {'nodes': 4, 'needed': 3}}},"
        " 'jobs': {'placement': 'first-fit', 'trace': {'format': 'inline-jobs', 'jobs': ["
        " {'duration': '100000s', 'gpus': 0}]}}}");
    static const char *const names[] = {"failure.available_frac[a]", "failure.available_frac[b]",
                                        "failure.available_frac[c]"};
    for (int i = 0; i < 3; i++)
        CHECK_NEAR(bed_metric(rows, names[i]), bed_metric(rows, "cluster.available_frac"), 1e-12);
}
