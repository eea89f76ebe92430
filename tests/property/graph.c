/* Networks that are graphs: closed forms of fat trees and of oversubscription, bytes on every link, and the shares of
 * rings and of all-to-all exchanges against the textbook's filling and against linear programs. */
#include "policies/lp.h"
#include "sim/world/cluster_section.h"
#include "sim/world/links/topology.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

enum { N_CASES = 100, MAX_FLOWS = 64, MAX_LINKS = 256, MAX_PATHS = 16, GROUP = 8 };

struct site {
    struct arena arena;
    struct diag diag;
    struct config *config;
    struct cluster_section cluster;
    struct engine *engine;
    struct site_env env;
    struct topology *topology;
};

static const struct catalog catalog = {.root = "configs"};

static struct site *site_create(int *code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A site from the members of "cluster"; *code is what topology_create returned. */
static struct site *site_create(int *code, const char *format, ...)
{
    static struct site site;
    static char inner[1024], text[2048];
    static const struct config_field fields[] = {
        {.name = "cluster", .kind = CONFIG_SECTION, .fields = cluster_section_fields, .help = "nodes"}, {0}};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(inner, sizeof inner, format, arguments);
    va_end(arguments);
    site = (struct site){0};
    arena_init(&site.arena);
    diag_init(&site.diag);
    snprintf(text, sizeof text, "{'cluster': {%s}}", inner);
    test_quotes(text);
    *code = config_parse("site.json", ".", text, strlen(text), &site.config, &site.diag);
    if (*code == 0)
        *code = config_bind(site.config, fields, NULL, &site.arena, &site.cluster, sizeof site.cluster, &site.diag);
    site.engine = engine_create(&(struct engine_options){.queue = QUEUE_CALENDAR});
    site.env = (struct site_env){.engine = site.engine, .diag = &site.diag, .catalog = &catalog, .config = site.config,
                                 .arena = &site.arena, .next_owner_id = 1};
    const struct topology_env env = {.site = &site.env, .cluster = &site.cluster.nodes, .links = &site.cluster.links};
    if (*code == 0) *code = topology_create(&env, &site.topology);
    return &site;
}

static void site_destroy(struct site *site)
{
    engine_destroy(site->engine);
    topology_destroy(site->topology);
    config_destroy(site->config);
    arena_fini(&site->arena);
}

/* Nodes of one GPU, so that a node is a NIC of 10 GB/s. */
static struct site *good_site(int nodes, const char *network)
{
    int code;
    struct site *site = site_create(&code,
                                    "'nodes': %d, 'gpus_per_node': 1, 'network': {'bandwidth': '10GB/s', "
                                    "'latency': '0s', %s}",
                                    nodes, network);
    CHECK_EQ_INT(code, 0);
    if (code != 0) CHECK_EQ_STR(site->diag.items[0].text, "");
    return site;
}

static struct graph_nic nic(int32_t node)
{
    return (struct graph_nic){node, 0};
}

static void path_of(struct site *site, struct graph_flow flow, struct topology_route route, struct link_path *path)
{
    CHECK_EQ_INT(topology_nic_path(site->topology, flow.from, flow.to, route, path), 0);
}

/* --- Closed forms --- */

TEST(a_fat_tree_of_k_ports_connects_k_cubed_over_4_nics)
{
    for (int k = 2; k <= 10; k += 2) {
        const int n = k * k * k / 4;
        struct site *site = good_site(n, test_json("'topology': 'fat-tree', 'ports': %d", k));
        const struct graph *graph = topology_graph(site->topology);
        int at[6] = {0};
        for (int i = 1; i < n; i++) {
            struct link_path path;
            const int distance = graph_distance(graph, nic(0), nic(i));
            at[distance]++;
            path_of(site, (struct graph_flow){nic(0), nic(i)}, (struct topology_route){.label = 7}, &path);
            CHECK_EQ_INT(path.n, distance + 1);
        }
        CHECK_EQ_INT(at[1], k / 2 - 1);
        CHECK_EQ_INT(at[3], k * k / 4 - k / 2);
        CHECK_EQ_INT(at[5], n - k * k / 4);
        CHECK_EQ_INT(graph->n_leaves, n > k / 2 ? k * k / 2 : 1);
        site_destroy(site);
        int code;
        site = site_create(&code,
                           "'nodes': %d, 'gpus_per_node': 1, 'network': {'bandwidth': '10GB/s', "
                           "'topology': 'fat-tree', 'ports': %d}",
                           n + 1, k);
        CHECK_EQ_INT(code, SIM_E_CONFIG);
        site_destroy(site);
    }
}

/* A flow that the test follows. */
struct mover {
    struct link_flow flow;
    sim_ns end_ns;
};

static void on_done(struct link_net *net, struct link_flow *flow, sim_ns now)
{
    (void)net;
    LINK_FLOW_ENTITY(flow, struct mover, flow)->end_ns = now;
}

static void start(struct site *site, struct mover *mover, const struct link_path *path, int64_t bytes)
{
    *mover = (struct mover){.end_ns = -1};
    CHECK_EQ_INT(link_flow_start(topology_net(site->topology), &mover->flow, path, bytes, (double)INFINITY, on_done),
                 0);
    topology_note_path(site->topology, &mover->flow, 1);
}

/* All NICs of one leaf send to those of another: the uplinks carry 1/o of what the NICs could. */
TEST(oversubscription_divides_what_leaves_a_leaf)
{
    static const char *const ratios[] = {"1", "2", "3.5", "7"};
    for (int i = 0; i < 4; i++) {
        struct site *site = good_site(
            56, test_json("'topology': 'leaf-spine', 'nodes_per_leaf': 28, 'oversubscription': %s, 'paths': 'planned'",
                          ratios[i]));
        static struct mover movers[28];
        for (int k = 0; k < 28; k++) {
            struct link_path path;
            path_of(site, (struct graph_flow){nic(k), nic(28 + k)}, (struct topology_route){0}, &path);
            CHECK_EQ_INT(path.n, 4);
            start(site, &movers[k], &path, 10000000000);
        }
        double bytes_per_s = 0;
        for (int k = 0; k < 28; k++) bytes_per_s += link_flow_bytes_per_s(&movers[k].flow);
        CHECK_NEAR(bytes_per_s * atof(ratios[i]), 28e10, 1.0);
        CHECK_EQ_INT(engine_run(site->engine, NULL), 0);
        const bool is_even = 28 % topology_graph(site->topology)->uplinks == 0; /* else ports carry 3 or 4 flows */
        for (int k = 0; k < 28 && is_even; k++) CHECK_NEAR(sim_s_from_ns(movers[k].end_ns), atof(ratios[i]), 1e-8);
        site_destroy(site);
    }
}

/* Pods of 4 leaves with 4 nodes each, oversubscribed 1:4 above: a pod sends to another at a quarter of its NICs. */
TEST(oversubscription_of_pods_divides_what_leaves_a_pod)
{
    struct site *site = good_site(32, "'topology': 'leaf-spine', 'nodes_per_leaf': 4, 'leaves_per_pod': 4, "
                                      "'pod_oversubscription': 4, 'paths': 'planned'");
    static struct mover movers[16];
    struct graph_flow flows[16];
    struct graph_choice choices[16];
    for (int k = 0; k < 16; k++) flows[k] = (struct graph_flow){nic(k), nic(16 + k)};
    CHECK_EQ_INT(topology_plan(site->topology, flows, 16, choices), 0);
    for (int k = 0; k < 16; k++) {
        struct link_path path;
        path_of(site, flows[k], (struct topology_route){.choice = &choices[k]}, &path);
        CHECK_EQ_INT(path.n, 6);
        start(site, &movers[k], &path, 10000000000);
    }
    CHECK_EQ_INT(engine_run(site->engine, NULL), 0);
    for (int k = 0; k < 16; k++) CHECK_NEAR(sim_s_from_ns(movers[k].end_ns), 4.0, 1e-8);
    site_destroy(site);
}

/* Switches have 64 ports, half of them below, if nothing else is said. */
TEST(leaves_have_32_nics_by_default)
{
    static const char *const names[] = {"leaf-spine", "rails", "fat-tree"};
    static const int nodes[] = {4, 32, 4};
    for (int i = 0; i < 3; i++) {
        int code;
        struct site *site = site_create(&code, "'nodes': 100, 'network': {'bandwidth': '10GB/s', 'topology': '%s'}",
                                        names[i]);
        CHECK_EQ_INT(code, 0);
        CHECK_EQ_INT(topology_graph(site->topology)->leaf_nics, 32);
        CHECK_EQ_INT(graph_leaf_nodes(topology_graph(site->topology)), nodes[i]);
        site_destroy(site);
    }
}

TEST(rails_keep_equal_nics_below_one_leaf)
{
    int code;
    struct site *site = site_create(&code, "'nodes': 8, 'gpus_per_node': 4, 'network': {'bandwidth': '10GB/s', "
                                           "'topology': 'rails', 'nodes_per_leaf': 4}");
    CHECK_EQ_INT(code, 0);
    const struct graph *graph = topology_graph(site->topology);
    CHECK_EQ_INT(graph->n_leaves, 8);
    for (int a = 0; a < 32; a++)
        for (int b = 0; b < 32; b++) {
            const struct graph_nic from = {a / 4, a % 4}, to = {b / 4, b % 4};
            CHECK_EQ_INT(graph_distance(graph, from, to), a % 4 == b % 4 && a / 16 == b / 16 ? 1 : 3);
        }
    site_destroy(site);
}

/* What goes to another rail first crosses NVLink, and then uses the NICs of that rail only. */
TEST(rails_are_changed_by_nvlink)
{
    int code;
    struct site *site = site_create(&code, "'nodes': 2, 'gpus_per_node': 8, 'gpu': 'h100-sxm', 'network': "
                                           "{'bandwidth': '10GB/s', 'topology': 'rails', 'nodes_per_leaf': 2}");
    struct gpu_spec gpu;
    struct topology_placement from = {0}, to = {0}, other = {0};
    CHECK_EQ_INT(code, 0);
    CHECK_EQ_INT(catalog_gpu(&catalog, "h100-sxm", "test", &site->arena, &gpu, &site->diag), 0);
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
    site_destroy(site);
}

/* The hash spreads flows evenly: of many labels, each of 8 ports gets an eighth, within 5 standard deviations. */
TEST(ecmp_spreads_flows_evenly_and_never_changes)
{
    struct site *site = good_site(128, "'topology': 'fat-tree', 'ports': 16, 'levels': 2");
    const struct graph *graph = topology_graph(site->topology);
    int64_t at[8] = {0};
    const int n = 8000;
    for (int i = 0; i < n; i++) {
        const struct graph_choice choice = graph_ecmp(graph, nic(i % 8), nic(100), (uint64_t)i),
                                  again = graph_ecmp(graph, nic(i % 8), nic(100), (uint64_t)i);
        CHECK_EQ_INT(choice.uplink, again.uplink);
        at[choice.uplink]++;
    }
    for (int j = 0; j < 8; j++) CHECK_NEAR((double)at[j], n / 8.0, 5.0 * sqrt(n * (1 / 8.0) * (7 / 8.0)));
    site_destroy(site);
}

/* The longest paths there are, between pods, with switches and file systems at both ends, fit into a path. */
TEST(all_ways_between_pods_fit_into_a_path)
{
    static const char *const names[] = {"", "host", "drives", "pool"};
    int longest = 0;
    for (int each = 0; each < 2; each++) {
        int code;
        struct site *site = site_create(
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
        CHECK_EQ_INT(catalog_gpu(&catalog, "h100-sxm", "test", &site->arena, &gpu, &site->diag), 0);
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
        site_destroy(site);
    }
    CHECK_EQ_INT(longest, LINK_PATH_MAX);
}

/* --- Random exchanges --- */

struct exchange {
    struct site *site;
    int n;
    struct graph_flow flows[MAX_FLOWS];
    struct link_path paths[MAX_FLOWS];
    struct mover movers[MAX_FLOWS];
    double share[MAX_LINKS]; /* of its bandwidth that a link carries */
};

static void shuffle(struct rng *rng, int32_t *items, int n)
{
    for (int i = n - 1; i > 0; i--) {
        const int k = (int)rng_below(rng, (uint64_t)i + 1);
        const int32_t kept = items[i];
        items[i] = items[k];
        items[k] = kept;
    }
}

static int n_nodes_of(const struct site *site)
{
    return (int)site->cluster.nodes.nodes;
}

/* Rings over all nodes, or all-to-all in a group of GROUP of them. */
static void draw_flows(struct rng *rng, struct exchange *exchange)
{
    int32_t nodes[64];
    const int n = n_nodes_of(exchange->site);
    for (int i = 0; i < n; i++) nodes[i] = i;
    shuffle(rng, nodes, n);
    exchange->n = 0;
    if (rng_below(rng, 2) == 0) {
        const int length = 2 + (int)rng_below(rng, (uint64_t)n - 1);
        for (int i = 0; i < n / length * length; i++) {
            const int next = i % length == length - 1 ? i - length + 1 : i + 1;
            exchange->flows[exchange->n++] = (struct graph_flow){nic(nodes[i]), nic(nodes[next])};
        }
        return;
    }
    const int size = n < GROUP ? n : GROUP;
    for (int a = 0; a < size; a++)
        for (int b = 0; b < size; b++)
            if (a != b) exchange->flows[exchange->n++] = (struct graph_flow){nic(nodes[a]), nic(nodes[b])};
}

static void start_all(struct exchange *exchange, int64_t bytes)
{
    for (int i = 0; i < exchange->n; i++) start(exchange->site, &exchange->movers[i], &exchange->paths[i], bytes);
}

/* --- The textbook's filling --- */

struct naive {
    const struct exchange *exchange;
    double left[MAX_LINKS];
    bool stopped[MAX_FLOWS];
};

static int users_of(const struct naive *naive, int link)
{
    int n = 0;
    for (int i = 0; i < naive->exchange->n; i++)
        for (int k = 0; k < naive->exchange->paths[i].n && !naive->stopped[i]; k++)
            n += link_index(naive->exchange->paths[i].links[k]) == link;
    return n;
}

static void fill(const struct exchange *exchange, double *rates)
{
    struct link_net *net = topology_net(exchange->site->topology);
    struct naive naive = {.exchange = exchange};
    const int n_links = link_net_count(net);
    double level = 0.0;
    for (int l = 0; l < n_links; l++) naive.left[l] = link_bytes_per_s(link_net_at(net, l)) * exchange->share[l];
    for (int n_left = exchange->n; n_left > 0;) {
        double step = (double)INFINITY;
        for (int l = 0; l < n_links; l++)
            if (users_of(&naive, l) > 0) step = fmin(step, naive.left[l] / users_of(&naive, l));
        level += step;
        bool full[MAX_LINKS];
        for (int l = 0; l < n_links; l++) {
            const int n = users_of(&naive, l);
            naive.left[l] -= step * n;
            full[l] = n > 0 && naive.left[l] < 1.0;
        }
        for (int i = 0; i < exchange->n; i++) {
            bool stops = false;
            for (int k = 0; k < exchange->paths[i].n; k++) stops |= full[link_index(exchange->paths[i].links[k])];
            if (naive.stopped[i] || !stops) continue;
            naive.stopped[i] = true;
            rates[i] = level;
            n_left--;
        }
    }
}

/* --- Linear programs --- */

/* The largest rate that all flows can have at once, each over any mixture of its paths; paths[i] has n_paths[i]. In
 * units of 10 GB/s. */
static double best_rate(const struct exchange *exchange, struct link_path (*paths)[MAX_PATHS], const int *n_paths)
{
    struct link_net *net = topology_net(exchange->site->topology);
    const int n_links = link_net_count(net), rows = n_links + exchange->n;
    int columns = 1;
    for (int i = 0; i < exchange->n; i++) columns += n_paths[i];
    double *matrix = mem_zalloc((size_t)rows * (size_t)columns, sizeof *matrix),
           *bounds = mem_zalloc((size_t)(3 * columns + 2 * rows), sizeof *bounds),
           *x = mem_zalloc((size_t)columns, sizeof *x);
    double *cost = bounds, *lower = bounds + columns, *upper = lower + columns, *row_lower = upper + columns,
           *row_upper = row_lower + rows;
    int column = 0;
    for (int i = 0; i < exchange->n; i++) {
        for (int p = 0; p < n_paths[i]; p++, column++) {
            for (int k = 0; k < paths[i][p].n; k++)
                matrix[(size_t)link_index(paths[i][p].links[k]) * (size_t)columns + (size_t)column] += 1.0;
            matrix[(size_t)(n_links + i) * (size_t)columns + (size_t)column] = 1.0;
        }
        matrix[(size_t)(n_links + i) * (size_t)columns + (size_t)(columns - 1)] = -1.0;
    }
    for (int c = 0; c < columns; c++) upper[c] = (double)INFINITY;
    cost[columns - 1] = -1.0;
    for (int l = 0; l < n_links; l++) {
        row_lower[l] = -(double)INFINITY;
        row_upper[l] = link_bytes_per_s(link_net_at(net, l)) / 1e10 * exchange->share[l];
    }
    for (int i = 0; i < exchange->n; i++) row_upper[n_links + i] = (double)INFINITY;
    unsigned char *states = mem_zalloc((size_t)(rows + columns), 1);
    const struct lp lp = {.columns = columns, .rows = rows, .cost = cost, .lower = lower, .upper = upper,
                          .matrix = matrix, .row_lower = row_lower, .row_upper = row_upper};
    CHECK_EQ_INT(lp_solve_from(&lp, states, states + columns, x), LP_OPTIMAL);
    const double rate = x[columns - 1];
    mem_free(states);
    mem_free(matrix);
    mem_free(bounds);
    mem_free(x);
    return rate;
}

static int all_paths(struct site *site, struct graph_flow flow, struct link_path *paths)
{
    const struct graph *graph = topology_graph(site->topology);
    const int distance = graph_distance(graph, flow.from, flow.to);
    const int n_up = distance > 1 ? graph->uplinks : 1, n_pod = distance > 3 ? graph->pod_uplinks : 1;
    int n = 0;
    for (int32_t j = 0; j < n_up; j++)
        for (int32_t c = 0; c < n_pod; c++) {
            const struct graph_choice choice = {j, c};
            path_of(site, flow, (struct topology_route){.choice = &choice}, &paths[n++]);
        }
    return n;
}

static const char *const networks[] = {
    "'topology': 'fat-tree', 'ports': 4", "'topology': 'fat-tree', 'ports': 8, 'levels': 2",
    "'topology': 'leaf-spine', 'nodes_per_leaf': 4, 'oversubscription': 2",
    "'topology': 'leaf-spine', 'nodes_per_leaf': 2, 'leaves_per_pod': 2, 'pod_oversubscription': 2"};
enum { N_NETWORKS = sizeof networks / sizeof *networks };

static double slowest(struct exchange *exchange)
{
    double least = (double)INFINITY;
    for (int i = 0; i < exchange->n; i++) least = fmin(least, link_flow_bytes_per_s(&exchange->movers[i].flow));
    return least / 1e10;
}

/* Hashed paths, some links slow: every rate is that of the filling, the least one that of a linear program, and every
 * link has carried the bytes of its flows. */
TEST(rates_on_a_graph_are_max_min_fair)
{
    static struct exchange exchange;
    static struct link_path paths[MAX_FLOWS][MAX_PATHS];
    for (int index = 0; index < N_CASES; index++) {
        struct rng rng = test_rng(3, "graph", (uint64_t)index);
        struct site *site = exchange.site = good_site(16, networks[index % N_NETWORKS]);
        struct link_net *net = topology_net(site->topology);
        int n_paths[MAX_FLOWS];
        double rates[MAX_FLOWS];
        draw_flows(&rng, &exchange);
        for (int i = 0; i < exchange.n; i++) {
            path_of(site, exchange.flows[i], (struct topology_route){.label = rng_below(&rng, 100)},
                    &exchange.paths[i]);
            paths[i][0] = exchange.paths[i];
            n_paths[i] = 1;
        }
        const int n_links = link_net_count(net);
        for (int l = 0; l < n_links; l++) {
            exchange.share[l] = rng_below(&rng, 8) == 0 ? 0.1 + 0.8 * rng_uniform(&rng) : 1.0;
            link_net_slow(net, link_net_at(net, l), exchange.share[l]);
        }
        start_all(&exchange, 10000000000);
        fill(&exchange, rates);
        for (int i = 0; i < exchange.n; i++) {
            const double rate = link_flow_bytes_per_s(&exchange.movers[i].flow);
            CHECK_NEAR(rate / rates[i], 1.0, 1e-9);
        }
        CHECK_NEAR(slowest(&exchange) / best_rate(&exchange, paths, n_paths), 1.0, 1e-6);
        CHECK_EQ_INT(engine_run(site->engine, NULL), 0);
        for (int l = 0; l < n_links; l++) {
            int64_t bytes = 0;
            for (int i = 0; i < exchange.n; i++)
                for (int k = 0; k < exchange.paths[i].n; k++)
                    if (exchange.paths[i].links[k] == link_net_at(net, l)) bytes += 10000000000;
            CHECK_EQ_INT(link_bytes(link_net_at(net, l), engine_now(site->engine)), bytes);
        }
        site_destroy(site);
    }
}

/* The most flows of a leaf over the share of them that its fullest port must carry. */
static double rounding_of(const struct exchange *exchange)
{
    const struct graph *graph = topology_graph(exchange->site->topology);
    int n[2][64] = {{0}};
    double worst = 1.0;
    for (int i = 0; i < exchange->n; i++) {
        const int from = graph_leaf_of(graph, exchange->flows[i].from),
                  to = graph_leaf_of(graph, exchange->flows[i].to);
        if (from == to) continue;
        n[0][from]++;
        n[1][to]++;
    }
    for (int side = 0; side < 2; side++)
        for (int leaf = 0; leaf < graph->n_leaves; leaf++) {
            const double even = (double)n[side][leaf] / graph->uplinks;
            if (even > 0) worst = fmax(worst, ceil(even) / even);
        }
    return worst;
}

/* Planned paths: without oversubscription, the slowest flow is as fast as if flows could be split over all paths in
 * the best way. With it, it loses at most what whole flows lose on the ports of a leaf. */
TEST(planned_paths_reach_the_optimum_of_a_linear_program)
{
    static struct exchange exchange;
    static struct link_path paths[MAX_FLOWS][MAX_PATHS];
    for (int index = 0; index < N_CASES; index++) {
        struct rng rng = test_rng(4, "graph", (uint64_t)index);
        struct site *site = exchange.site = good_site(
            16, test_json("%s, 'paths': 'planned'", networks[index % (N_NETWORKS - 1)]));
        int n_paths[MAX_FLOWS];
        struct graph_choice choices[MAX_FLOWS];
        draw_flows(&rng, &exchange);
        CHECK_EQ_INT(topology_plan(site->topology, exchange.flows, exchange.n, choices), 0);
        for (int i = 0; i < exchange.n; i++) {
            path_of(site, exchange.flows[i], (struct topology_route){.choice = &choices[i]}, &exchange.paths[i]);
            n_paths[i] = all_paths(site, exchange.flows[i], paths[i]);
        }
        for (int l = 0; l < MAX_LINKS; l++) exchange.share[l] = 1.0;
        start_all(&exchange, 10000000000);
        const double ratio = best_rate(&exchange, paths, n_paths) / slowest(&exchange);
        const bool is_full = index % (N_NETWORKS - 1) < 2;
        CHECK(ratio > 1.0 - 1e-6);
        CHECK(ratio < (is_full ? 1.01 : rounding_of(&exchange) * (1.0 + 1e-6)));
        CHECK_EQ_INT(engine_run(site->engine, NULL), 0);
        site_destroy(site);
    }
}

/* A planned single flow takes a port that no other one uses, as long as there is one. */
TEST(planned_flows_of_their_own_do_not_collide)
{
    struct site *site = good_site(8, "'topology': 'leaf-spine', 'nodes_per_leaf': 4, 'paths': 'planned'");
    static struct mover movers[4];
    for (int round = 0; round < 2; round++) {
        for (int k = 0; k < 4; k++) {
            struct link_path path;
            path_of(site, (struct graph_flow){nic(k), nic(4 + (k + round) % 4)}, (struct topology_route){0}, &path);
            start(site, &movers[k], &path, 10000000000);
        }
        CHECK_EQ_INT(engine_run(site->engine, NULL), 0);
        for (int k = 0; k < 4; k++) {
            CHECK_EQ_INT(movers[k].end_ns, (round + 1) * SIM_NS_PER_S);
            topology_note_path(site->topology, &movers[k].flow, -1);
        }
    }
    site_destroy(site);
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
        struct site *site = site_create(&code, "'nodes': 4, 'network': {'bandwidth': '10GB/s', %s}", cases[i][0]);
        CHECK_EQ_INT(code, SIM_E_CONFIG);
        if (code != 0) CHECK_EQ_STR(site->diag.items[0].text, cases[i][1]);
        site_destroy(site);
    }
}
