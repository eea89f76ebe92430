/* Networks that are graphs: closed forms of fat trees, rails and oversubscription, the hash, planned paths, ways that
 * fit into a path, placement, and errors. */
#include "tests/support/bed.h"
#include "tests/support/graph_fixture.h"

/* --- Closed forms --- */

TEST(a_fat_tree_of_k_ports_connects_k_cubed_over_4_nics)
{
    for (int k = 2; k <= 10; k += 2) {
        const int n = k * k * k / 4;
        struct graph_site *site = graph_site_of(n, test_json("'topology': 'fat-tree', 'ports': %d", k));
        const struct graph *graph = topology_graph(site->topology);
        int at[6] = {0};
        for (int i = 1; i < n; i++) {
            struct link_path path;
            const int distance = graph_distance(graph, graph_nic_of(0), graph_nic_of(i));
            at[distance]++;
            graph_path(site, (struct graph_flow){graph_nic_of(0), graph_nic_of(i)}, (struct topology_route){.label = 7}, &path);
            CHECK_EQ_INT(path.n, distance + 1);
        }
        CHECK_EQ_INT(at[1], k / 2 - 1);
        CHECK_EQ_INT(at[3], k * k / 4 - k / 2);
        CHECK_EQ_INT(at[5], n - k * k / 4);
        CHECK_EQ_INT(graph->n_leaves, n > k / 2 ? k * k / 2 : 1);
        graph_site_destroy(site);
        int code;
        site = graph_site_create(&code,
                                 "'nodes': %d, 'gpus_per_node': 1, 'network': {'bandwidth': '10GB/s', "
                                 "'topology': 'fat-tree', 'ports': %d}",
                                 n + 1, k);
        CHECK_EQ_INT(code, SIM_E_CONFIG);
        graph_site_destroy(site);
    }
}

/* All NICs of one leaf send to those of another: the uplinks carry 1/o of what the NICs could. */
TEST(oversubscription_divides_what_leaves_a_leaf)
{
    static const char *const ratios[] = {"1", "2", "3.5", "7"};
    for (int i = 0; i < 4; i++) {
        struct graph_site *site = graph_site_of(
            56, test_json("'topology': 'leaf-spine', 'nodes_per_leaf': 28, 'oversubscription': %s, 'paths': 'planned'",
                          ratios[i]));
        static struct graph_mover movers[28];
        for (int k = 0; k < 28; k++) {
            struct link_path path;
            graph_path(site, (struct graph_flow){graph_nic_of(k), graph_nic_of(28 + k)}, (struct topology_route){0},
                       &path);
            CHECK_EQ_INT(path.n, 4);
            graph_start(site, &movers[k], &path, 10000000000);
        }
        double bytes_per_s = 0;
        for (int k = 0; k < 28; k++) bytes_per_s += link_flow_bytes_per_s(&movers[k].flow);
        CHECK_NEAR(bytes_per_s * atof(ratios[i]), 28e10, 1.0);
        CHECK_EQ_INT(engine_run(site->engine, NULL), 0);
        const bool is_even = 28 % topology_graph(site->topology)->uplinks == 0; /* else ports carry 3 or 4 flows */
        for (int k = 0; k < 28 && is_even; k++) CHECK_NEAR(sim_s_from_ns(movers[k].end_ns), atof(ratios[i]), 1e-8);
        graph_site_destroy(site);
    }
}

/* Pods of 4 leaves with 4 nodes each, oversubscribed 1:4 above: a pod sends to another at a quarter of its NICs. */
TEST(oversubscription_of_pods_divides_what_leaves_a_pod)
{
    struct graph_site *site = graph_site_of(32, "'topology': 'leaf-spine', 'nodes_per_leaf': 4, 'leaves_per_pod': 4, "
                                                "'pod_oversubscription': 4, 'paths': 'planned'");
    static struct graph_mover movers[16];
    struct graph_flow flows[16];
    struct graph_choice choices[16];
    for (int k = 0; k < 16; k++) flows[k] = (struct graph_flow){graph_nic_of(k), graph_nic_of(16 + k)};
    CHECK_EQ_INT(topology_plan(site->topology, flows, 16, choices), 0);
    for (int k = 0; k < 16; k++) {
        struct link_path path;
        graph_path(site, flows[k], (struct topology_route){.choice = &choices[k]}, &path);
        CHECK_EQ_INT(path.n, 6);
        graph_start(site, &movers[k], &path, 10000000000);
    }
    CHECK_EQ_INT(engine_run(site->engine, NULL), 0);
    for (int k = 0; k < 16; k++) CHECK_NEAR(sim_s_from_ns(movers[k].end_ns), 4.0, 1e-8);
    graph_site_destroy(site);
}

/* Switches have 64 ports, half of them below, if nothing else is said. */
TEST(leaves_have_32_nics_by_default)
{
    static const char *const names[] = {"leaf-spine", "rails", "fat-tree"};
    static const int nodes[] = {4, 32, 4};
    for (int i = 0; i < 3; i++) {
        int code;
        struct graph_site *site = graph_site_create(
            &code, "'nodes': 100, 'network': {'bandwidth': '10GB/s', 'topology': '%s'}", names[i]);
        CHECK_EQ_INT(code, 0);
        CHECK_EQ_INT(topology_graph(site->topology)->leaf_nics, 32);
        CHECK_EQ_INT(graph_leaf_nodes(topology_graph(site->topology)), nodes[i]);
        graph_site_destroy(site);
    }
}

/* All nodes have as many places for NICs as the node type with the most GPUs, whichever it is. */
TEST(nodes_have_the_nics_of_the_largest)
{
    for (int largest = 0; largest < 4; largest++) {
        int code, gpus[4] = {1, 2, 3, 4};
        gpus[largest] = 8;
        struct graph_site *site = graph_site_create(
            &code,
            "'nodes': 4, 'gpus_per_node': %d, 'node_types': {'a': {'nodes': 4, 'gpu': 't4', 'gpus_per_node': %d}, 'b':"
            " {'nodes': 4, 'gpu': 't4', 'gpus_per_node': %d}, 'c': {'nodes': 4, 'gpu': 't4', 'gpus_per_node':"
            " %d}}, 'network': {'bandwidth': '10GB/s', 'topology': 'leaf-spine', 'nodes_per_leaf': 4}",
            gpus[0], gpus[1], gpus[2], gpus[3]);
        MUST(code == 0);
        CHECK_EQ_INT(topology_graph(site->topology)->nics_per_node, 8);
        CHECK_EQ_INT(topology_graph(site->topology)->n_leaves, 4);
        graph_site_destroy(site);
    }
}

TEST(rails_keep_equal_nics_below_one_leaf)
{
    int code;
    struct graph_site *site = graph_site_create(&code,
                                                "'nodes': 8, 'gpus_per_node': 4, 'network': {'bandwidth': '10GB/s', "
                                                "'topology': 'rails', 'nodes_per_leaf': 4}");
    CHECK_EQ_INT(code, 0);
    const struct graph *graph = topology_graph(site->topology);
    CHECK_EQ_INT(graph->n_leaves, 8);
    for (int a = 0; a < 32; a++)
        for (int b = 0; b < 32; b++) {
            const struct graph_nic from = {a / 4, a % 4}, to = {b / 4, b % 4};
            CHECK_EQ_INT(graph_distance(graph, from, to), a % 4 == b % 4 && a / 16 == b / 16 ? 1 : 3);
        }
    graph_site_destroy(site);
}

/* What goes to another rail first crosses NVLink, and then uses the NICs of that rail only. */
TEST(rails_are_changed_by_nvlink)
{
    int code;
    struct graph_site *site = graph_site_create(&code,
                                                "'nodes': 2, 'gpus_per_node': 8, 'gpu': 'h100-sxm', 'network': "
                                                "{'bandwidth': '10GB/s', 'topology': 'rails', 'nodes_per_leaf': 2}");
    struct gpu_spec gpu;
    struct topology_placement from = {0}, to = {0}, other = {0};
    CHECK_EQ_INT(code, 0);
    CHECK_EQ_INT(catalog_gpu(&graph_catalog, "h100-sxm", "test", &site->arena, &gpu, &site->diag), 0);
    CHECK_EQ_INT(topology_placement_add(site->topology, &from, 0, 1, &gpu), 0);
    CHECK_EQ_INT(topology_placement_add(site->topology, &other, 1, 3, &gpu), 0);
    CHECK_EQ_INT(topology_placement_add(site->topology, &to, 1, 1, &gpu), 0);
    struct link_path path;
    double cap;
    CHECK_EQ_INT(topology_path(site->topology, (struct topology_end){&from, NULL}, (struct topology_end){&to, NULL}, 0,
                               &path, &cap),
                 0);
    static const char *const names[] = {"node0/gpu0/nvlink-out", "node0/gpu3/nvlink-in", "node0/gpu3/pcie-out",
                                        "node0/gpu3/nic-out",    "node1/gpu3/nic-in",    "node1/gpu3/pcie-in"};
    CHECK_EQ_INT(path.n, 6);
    for (int k = 0; k < 6 && k < path.n; k++) CHECK_EQ_STR(link_name(path.links[k]), names[k]);
    graph_site_destroy(site);
}

/* The hash spreads flows evenly: of many labels, each of 8 ports gets an eighth, within 5 standard deviations. */
TEST(ecmp_spreads_flows_evenly_and_never_changes)
{
    struct graph_site *site = graph_site_of(128, "'topology': 'fat-tree', 'ports': 16, 'levels': 2");
    const struct graph *graph = topology_graph(site->topology);
    int64_t at[8] = {0};
    const int n = 8000;
    for (int i = 0; i < n; i++) {
        const struct graph_choice choice = graph_ecmp(graph, graph_nic_of(i % 8), graph_nic_of(100), (uint64_t)i),
                                  again = graph_ecmp(graph, graph_nic_of(i % 8), graph_nic_of(100), (uint64_t)i);
        CHECK_EQ_INT(choice.uplink, again.uplink);
        at[choice.uplink]++;
    }
    for (int j = 0; j < 8; j++) CHECK_NEAR((double)at[j], n / 8.0, 5.0 * sqrt(n * (1 / 8.0) * (7 / 8.0)));
    graph_site_destroy(site);
}

/* The longest paths there are, between pods, with switches and file systems at both ends, fit into a path. */
TEST(all_ways_between_pods_fit_into_a_path)
{
    static const char *const names[] = {"", "host", "drives", "pool"};
    int longest = 0;
    for (int each = 0; each < 2; each++) {
        int code;
        struct graph_site *site = graph_site_create(
            &code,
            "'nodes': 4, 'gpus_per_node': 8, 'gpu': 'h100-sxm', 'pcie': '50GB/s', 'pcie_switch': {'gpus': 2, "
            "'bandwidth': '50GB/s'}, 'host': {'device': 'host-dram-pcie4', 'software': 'alisa'}, 'storage': {'drives': {'device': "
            "'samsung-980-pro', 'ceiling': '1GB/s'}, 'pool': {'device': 'rdma-h800', 'ceiling': '9GB/s', 'way': 'host'}}, "
            "'network': {'bandwidth': '10GB/s', 'per': '%s', 'topology': 'leaf-spine', 'nodes_per_leaf': 1, "
            "'leaves_per_pod': 2}",
            each ? "gpu" : "node");
        struct gpu_spec gpu;
        struct topology_placement placements[3] = {{0}};
        CHECK_EQ_INT(code, 0);
        CHECK_EQ_INT(catalog_gpu(&graph_catalog, "h100-sxm", "test", &site->arena, &gpu, &site->diag), 0);
        CHECK_EQ_INT(topology_placement_add(site->topology, &placements[0], 0, 1, &gpu), 0);
        CHECK_EQ_INT(topology_placement_add(site->topology, &placements[1], 0, 1, &gpu), 0);
        CHECK_EQ_INT(topology_placement_add(site->topology, &placements[2], 3, 4, &gpu), 0);
        for (int a = 0; a < 9; a++)
            for (int b = 0; b < 12; b++) {
                struct topology_end ends[2] = {{&placements[a / 4], NULL}, {&placements[b / 4], NULL}};
                const int kinds[] = {a % 4, b % 4};
                for (int i = 0; i < 2; i++)
                    if (kinds[i] > 0)
                        CHECK_EQ_INT(topology_tier_named(ends[i].placement, names[kinds[i]], &ends[i].tier), 0);
                struct link_path path;
                double cap;
                if (a / 4 == b / 4 && kinds[0] == 0 && kinds[1] == 0) continue;
                if (topology_path(site->topology, ends[0], ends[1], 0, &path, &cap) == 0 && path.n > longest)
                    longest = path.n;
            }
        graph_site_destroy(site);
    }
    CHECK_EQ_INT(longest, LINK_PATH_MAX);
}

/* A planned single flow takes a port that no other one uses, as long as there is one. */
TEST(planned_flows_of_their_own_do_not_collide)
{
    struct graph_site *site = graph_site_of(8, "'topology': 'leaf-spine', 'nodes_per_leaf': 4, 'paths': 'planned'");
    static struct graph_mover movers[4];
    for (int round = 0; round < 2; round++) {
        for (int k = 0; k < 4; k++) {
            struct link_path path;
            graph_path(site, (struct graph_flow){graph_nic_of(k), graph_nic_of(4 + (k + round) % 4)},
                       (struct topology_route){0}, &path);
            graph_start(site, &movers[k], &path, 10000000000);
        }
        CHECK_EQ_INT(engine_run(site->engine, NULL), 0);
        for (int k = 0; k < 4; k++) {
            CHECK_EQ_INT(movers[k].end_ns, (round + 1) * SIM_NS_PER_S);
            topology_note_path(site->topology, &movers[k].flow, -1);
        }
    }
    graph_site_destroy(site);
}

/* Leaves of 2 nodes, pods of 2 leaves. Two jobs hold nodes 0 and 3: a job of 4 nodes takes the other pod, a job of 2
 * nodes one leaf of it. */
TEST(placers_see_leaves_and_pods)
{
    const struct bed_rows *rows = bed_ok(
        NULL, "{'cluster': {'nodes': 8, 'gpus_per_node': 1, 'network': {'bandwidth': '10GB/s', "
              "'topology': 'leaf-spine', 'nodes_per_leaf': 2, 'leaves_per_pod': 2}}, 'until': '100s', 'jobs': {"
              "'scheduler': 'fifo', 'placement': 'topology-aware', 'trace': {'format': 'inline-jobs', 'jobs': ["
              "{'submit': '0s', 'duration': '99s', 'gpus': 1}, {'submit': '0s', 'duration': '1s', 'gpus': 2},"
              "{'submit': '0s', 'duration': '99s', 'gpus': 1}, {'submit': '2s', 'duration': '5s', 'gpus': 4},"
              "{'submit': '10s', 'duration': '5s', 'gpus': 3}, {'submit': '20s', 'duration': '5s', 'gpus': 2}]}}}");
    int pods[6][2] = {{0}}, leaves[6][4] = {{0}};
    for (size_t i = 0; i < rows->n_placements; i++) {
        const struct placement_row *row = &rows->placements[i];
        pods[row->job][row->node / 4] += (int)row->gpus;
        leaves[row->job][row->node / 2] += (int)row->gpus;
    }
    CHECK_EQ_INT(pods[3][1], 4);
    CHECK_EQ_INT(pods[4][1], 3);
    CHECK(leaves[5][0] + leaves[5][1] + leaves[5][2] + leaves[5][3] == 2);
    CHECK(leaves[5][0] == 2 || leaves[5][1] == 2 || leaves[5][2] == 2 || leaves[5][3] == 2);
}

/* --- Errors --- */

TEST(networks_that_cannot_be_are_refused)
{
    static const char *const cases[][2] = {
        {"'ports': 4", "'ports' means nothing in a network of topology 'flat'"},
        {"'paths': 'planned'", "'paths' means nothing in a network of topology 'flat'"},
        {"'topology': 'fat-tree', 'ports': 8, 'nodes_per_leaf': 4",
         "'nodes_per_leaf' means nothing in a network of topology 'fat-tree'"},
        {"'topology': 'rails', 'nodes_per_leaf': 2, 'fabric': '1GB/s'",
         "'fabric' means nothing in a network of topology 'rails'"},
        {"'topology': 'leaf-spine', 'nodes_per_leaf': 2, 'pod_oversubscription': 2",
         "a network of two levels has no pods"},
        {"'topology': 'fat-tree', 'ports': 8, 'levels': 2, 'pod_oversubscription': 2",
         "a network of two levels has no pods"},
        {"'topology': 'fat-tree', 'ports': 8, 'uplink': '20GB/s'", "all ports of a fat tree have the bandwidth of a NIC"},
        {"'topology': 'fat-tree', 'ports': 4",
         "a fat tree of 4-port switches connects 16 NICs, and the nodes have 32"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int code;
        struct graph_site *site = graph_site_create(&code, "'nodes': 4, 'network': {'bandwidth': '10GB/s', %s}",
                                                    cases[i][0]);
        CHECK_EQ_INT(code, SIM_E_CONFIG);
        if (code != 0) CHECK_EQ_STR(site->diag.items[0].text, cases[i][1]);
        graph_site_destroy(site);
    }
}
