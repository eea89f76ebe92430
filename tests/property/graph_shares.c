/* Shares of random rings and all-to-all exchanges on networks that are graphs, against the textbook's filling and
 * against linear programs; bytes on every link. */
#include "policies/lp.h"
#include "tests/support/graph_fixture.h"

enum { N_CASES = 100, MAX_FLOWS = 64, MAX_LINKS = 256, MAX_PATHS = 16, GROUP = 8 };

struct exchange {
    struct graph_site *site;
    int n;
    struct graph_flow flows[MAX_FLOWS];
    struct link_path paths[MAX_FLOWS];
    struct graph_mover movers[MAX_FLOWS];
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

static int n_nodes_of(const struct graph_site *site)
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
            exchange->flows[exchange->n++] = (struct graph_flow){graph_nic_of(nodes[i]), graph_nic_of(nodes[next])};
        }
        return;
    }
    const int size = n < GROUP ? n : GROUP;
    for (int a = 0; a < size; a++)
        for (int b = 0; b < size; b++)
            if (a != b) exchange->flows[exchange->n++] = (struct graph_flow){graph_nic_of(nodes[a]), graph_nic_of(nodes[b])};
}

static void start_all(struct exchange *exchange, int64_t bytes)
{
    for (int i = 0; i < exchange->n; i++) graph_start(exchange->site, &exchange->movers[i], &exchange->paths[i], bytes);
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

static int all_paths(struct graph_site *site, struct graph_flow flow, struct link_path *paths)
{
    const struct graph *graph = topology_graph(site->topology);
    const int distance = graph_distance(graph, flow.from, flow.to);
    const int n_up = distance > 1 ? graph->uplinks : 1, n_pod = distance > 3 ? graph->pod_uplinks : 1;
    int n = 0;
    for (int32_t j = 0; j < n_up; j++)
        for (int32_t c = 0; c < n_pod; c++) {
            const struct graph_choice choice = {j, c};
            graph_path(site, flow, (struct topology_route){.choice = &choice}, &paths[n++]);
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
        struct graph_site *site = exchange.site = graph_site_of(16, networks[index % N_NETWORKS]);
        struct link_net *net = topology_net(site->topology);
        int n_paths[MAX_FLOWS];
        double rates[MAX_FLOWS];
        draw_flows(&rng, &exchange);
        for (int i = 0; i < exchange.n; i++) {
            graph_path(site, exchange.flows[i], (struct topology_route){.label = rng_below(&rng, 100)},
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
        graph_site_destroy(site);
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
        struct graph_site *site = exchange.site = graph_site_of(
            16, test_json("%s, 'paths': 'planned'", networks[index % (N_NETWORKS - 1)]));
        int n_paths[MAX_FLOWS];
        struct graph_choice choices[MAX_FLOWS];
        draw_flows(&rng, &exchange);
        CHECK_EQ_INT(topology_plan(site->topology, exchange.flows, exchange.n, choices), 0);
        for (int i = 0; i < exchange.n; i++) {
            graph_path(site, exchange.flows[i], (struct topology_route){.choice = &choices[i]}, &exchange.paths[i]);
            n_paths[i] = all_paths(site, exchange.flows[i], paths[i]);
        }
        for (int l = 0; l < MAX_LINKS; l++) exchange.share[l] = 1.0;
        start_all(&exchange, 10000000000);
        const double ratio = best_rate(&exchange, paths, n_paths) / slowest(&exchange);
        const bool is_full = index % (N_NETWORKS - 1) < 2;
        CHECK(ratio > 1.0 - 1e-6);
        CHECK(ratio < (is_full ? 1.01 : rounding_of(&exchange) * (1.0 + 1e-6)));
        CHECK_EQ_INT(engine_run(site->engine, NULL), 0);
        graph_site_destroy(site);
    }
}
