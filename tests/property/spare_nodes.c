/* Spare nodes: they stand in under every placer that gives jobs nodes, and only those that have power. */
#include "policies/registry.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

/* Node 0 is away from 100 s on, and node 1, which was the spare one, has the job of 110 s. */
static void check_stands_in(const char *placer)
{
    struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 2, 'gpus_per_node': 4}, 'failures': {'spare_nodes': 1,"
        " 'causes': {'feed': {'scope': 'site', 'lifetime': {'law': 'constant', 'mean': '100s'},"
        " 'repair': {'law': 'constant', 'mean': '1000s'}}}}, 'jobs': {'placement': '%s',"
        " 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '0s', 'duration': '50s', 'gpus': 4},"
        " {'submit': '110s', 'duration': '50s', 'gpus': 4}]}}}",
        placer);
    CHECK_NEAR(rows->end_s, 160.0, 0.0);
    CHECK_NEAR(bed_metric(rows, "cluster.available_frac"), 1.0, 0.0);
}

TEST(every_placer_uses_a_spare_node)
{
    const struct policy_table table = policy_registry();
    for (size_t i = 0; i < table.n; i++) {
        const struct policy *policy = table.policies[i];
        if (policy->family == POLICY_PLACEMENT && ((const struct placer *)policy)->place != NULL)
            check_stands_in(policy->name);
    }
}

/* Two nodes of three serve at a time. A placer that spreads a job over the nodes that it requests rejects one of three;
 * none lets it wait forever. */
TEST(no_job_waits_for_spare_nodes_forever)
{
    const struct policy_table table = policy_registry();
    for (size_t i = 0; i < 2 * table.n; i++) {
        const struct policy *policy = table.policies[i / 2];
        if (policy->family != POLICY_PLACEMENT || ((const struct placer *)policy)->place == NULL) continue;
        struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{'cluster': {'nodes': 3, 'gpus_per_node': 4%s}, 'failures': {'spare_nodes': 1, 'causes': {'feed': {'scope':"
            " 'node', 'lifetime': {'mean': '9000h'}, 'repair': {'mean': '1s'}}}}, 'jobs': {'placement': '%s', 'trace':"
            " {'format': 'inline-jobs', 'jobs': [{'duration': '50s', 'gpus': 4, 'nodes': 2}, {'duration': '50s', 'gpus':"
            " 4, 'nodes': 3}, {'duration': '50s', 'gpus': 8}]}}}",
            i % 2 > 0 ? ", 'cpus_per_node': 8" : "", policy->name);
        CHECK_EQ_STR(bed_job(rows, 0)->status, "finished");
        CHECK_EQ_STR(bed_job(rows, 2)->status, "finished");
        bed_free(rows);
    }
}

/* Racks of two nodes, of which the second one trips while a hot job runs there. */
static struct bed_rows *run_hot(int nodes, const char *until, const char *failures)
{
    struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'until': '%s', 'cluster': {'nodes': %d, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm',"
        " 'server_power': {'idle': '670W', 'per_gpu_watt': 0.67}, 'power': {'budget': '7kW', 'level': 'rack',"
        " 'servers_per_rack': 2, 'capping': 'none', 'breaker': {'overload': 1.2, 'after': '20s', 'outage': '600s'}}},"
        " 'failures': {%s}, 'jobs': {'placement': 'first-fit', 'types': {'default': {'power': {'mean': '60W'}},"
        " 'hot': {'power': {'mean': '400W'}}}, 'trace': {'format': 'inline-jobs', 'jobs': [ {'submit': '0s',"
        " 'duration': '900s', 'gpus': 8}, {'submit': '0s', 'duration': '900s', 'gpus': 8}, {'submit': '1s',"
        " 'duration': '200s', 'gpus': 8, 'type': 'hot'}]}}}",
        until, nodes, failures);
    CHECK_NEAR(bed_metric(rows, "power.breaker_trips"), 1.0, 0.0);
    return rows;
}

/* Of the two spare nodes the first is in the dark with the node that fails. */
TEST(a_spare_node_with_power_goes_first)
{
    struct bed_rows *rows = run_hot(5, "500s", "'spare_nodes': 2");
    CHECK_NEAR(bed_metric(rows, "cluster.available_frac"), 1.0, 0.0);
    CHECK_NEAR(bed_metric(rows, "job.finished"), 1.0, 0.0);
}

/* The only one is in the dark when the nodes of the other rack fail at 300 s, for good: it stands in for one of them
 * once it has power again, as has the node beside it. */
TEST(a_spare_node_stands_in_once_it_has_power)
{
    struct bed_rows *rows = run_hot(4, "700s",
                                    "'spare_nodes': 1, 'causes': {'feed': {'scope': 'site', 'lifetime': {'law':"
                                    " 'constant', 'mean': '300s'}, 'repair': {'law': 'constant', 'mean': '9000s'}}}");
    const double trip_s = 1.0 + bed_metric(rows, "failure.lost_gpu_s[breaker]") / 8, lit_s = trip_s + 600.0;
    CHECK_NEAR(bed_metric(rows, "cluster.available_frac"), 1.0 - (600.0 + (lit_s - 300.0) + 400.0) / (3 * 700.0), 1e-9);
}

TEST(spare_nodes_are_equal_to_the_others)
{
    const char *path = test_file(
        "nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\na,8000,1000,2,T4\nb,8000,1000,2,T4\nc,8000,1000,4,T4\n");
    struct bed_rows *rows = bed_run(
        BED(.quiet = true),
        "{'cluster': {'nodes_file': {'path': '%s'}}, 'failures': {'spare_nodes': 1, 'causes': {'node':"
        " {'scope': 'node', 'lifetime': {'mean': '3000s'}}}}, 'jobs': {'placement': 'fgd', 'trace':"
        " {'format': 'inline-jobs', 'jobs': [{'duration': '9s', 'gpus': 2}]}}}",
        path);
    CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
    if (CHECK(rows->diag.n_errors == 1)) CHECK(strstr(rows->diag.items[0].text, "take the place of any other") != NULL);
}
