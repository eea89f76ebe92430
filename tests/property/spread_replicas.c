/* Where the replicas of a service go: which of them one node, or one rack, takes along when it fails. Without failures
 * the nodes of equal replicas do not matter. */
#include "sim/world/cluster/cluster.h"
#include "sim/world/service/fleet.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#define SMALL                                                                                                          \
    "'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms', 'per_token': '60us'},"                                     \
    " 'decode': {'fixed': '11ms', 'per_sequence': '20us'}}, 'trace': {'format': 'generate', 'duration': '20s',"        \
    " 'arrival': {'process': 'poisson', 'rate': '4/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 10},"            \
    " 'output': {'distribution': 'uniform', 'min': 1, 'max': 90}}"

struct site {
    int nodes, gpus_per_node, nodes_per_rack;
    int replicas, tensor_parallel, pipeline_parallel;
    const char *placement, *more; /* more: of the scenario */
};

/* The site; from 10 s on `n_down` nodes from `down` on are in an outage. */
static struct bed_rows *run(const struct site *site, int down, int n_down)
{
    char outage[256] = "";
    if (n_down > 0)
        snprintf(outage, sizeof outage,
                 ", 'failures': {'outages': {'x': {'node': %d, 'nodes': %d, 'from': '10s', 'until': '1000s'}}}", down,
                 n_down);
    return bed_run(BED(.check = true),
                   "{'cluster': {'gpu': 'a100-80-sxm', 'nodes': %d, 'gpus_per_node': %d, 'nodes_per_rack': %d,"
                   " 'network': {'bandwidth': '50GB/s'}}%s, 'services': {'chat': {'llm': 'mistral-7b', 'replicas': %d,"
                   " 'tensor_parallel': %d, 'pipeline_parallel': %d, %s " SMALL "}}%s}",
                   site->nodes, site->gpus_per_node, site->nodes_per_rack, outage, site->replicas,
                   site->tensor_parallel, site->pipeline_parallel, site->placement, site->more);
}

/* Replicas that the loss of these nodes stops. Every request ends served. */
static int stops(const struct site *site, int down, int n_down)
{
    struct bed_rows *rows = run(site, down, n_down);
    CHECK_EQ_INT(rows->code, 0);
    for (size_t i = 0; i < rows->n_requests; i++) CHECK_EQ_STR(rows->requests[i].status, "finished");
    CHECK(rows->n_requests > 20);
    return (int)bed_decisions(rows, "fail", -1);
}

#define SPREAD "'placement': 'spread',"

/* Of R replicas on N nodes, a node has between floor(R / N) and ceil(R / N), and all nodes together R. */
TEST(a_node_takes_its_share_of_spread_replicas)
{
    struct rng rng = test_rng(1, "spread", 0);
    for (int trial = 0; trial < 12; trial++) {
        struct site site = {.nodes = 2 + (int)rng_below(&rng, 4), .gpus_per_node = 4, .tensor_parallel = 1,
                            .pipeline_parallel = 1 + (int)rng_below(&rng, 2), .nodes_per_rack = (int)rng_below(&rng, 3),
                            .placement = SPREAD, .more = ""};
        const int room = site.nodes * site.gpus_per_node / site.pipeline_parallel;
        site.replicas = 1 + (int)rng_below(&rng, (uint64_t)room);
        int n = 0;
        for (int node = 0; node < site.nodes; node++) {
            const int lost = stops(&site, node, 1);
            CHECK(lost >= site.replicas / site.nodes && lost <= (site.replicas + site.nodes - 1) / site.nodes);
            n += lost;
        }
        CHECK_EQ_INT(n, site.replicas);
    }
}

/* Four replicas of one GPU fill a node of four, unless they are spread; those of two racks. */
TEST(packed_replicas_fall_together)
{
    struct site site = {4, 4, 2, 4, 1, 1, "", ""};
    CHECK_EQ_INT(stops(&site, 0, 1), 4);
    CHECK_EQ_INT(stops(&site, 1, 3), 0);
    site.placement = "'placement': 'packed',";
    CHECK_EQ_INT(stops(&site, 0, 1), 4);
    site.placement = SPREAD;
    for (int node = 0; node < 4; node++) CHECK_EQ_INT(stops(&site, node, 1), 1);
    site.replicas = 2;
    CHECK_EQ_INT(stops(&site, 0, 2), 1);
    CHECK_EQ_INT(stops(&site, 2, 2), 1);
    site.nodes_per_rack = 0; /* without racks, the first nodes */
    CHECK_EQ_INT(stops(&site, 0, 2), 2);
}

/* The stages of a replica stay on one node where they fit: a node that fails stops one replica, not two. */
TEST(stages_of_a_replica_stay_together)
{
    const struct site site = {.nodes = 2, .gpus_per_node = 4, .replicas = 2, .tensor_parallel = 2,
                              .pipeline_parallel = 2, .placement = SPREAD, .more = ""};
    CHECK_EQ_INT(stops(&site, 0, 1), 1);
    CHECK_EQ_INT(stops(&site, 1, 1), 1);
}

/* Replicas that lose GPUs with a node of four, of a service `chat` beside other services. */
static int64_t stops_beside(const char *others, const char *chat, int nodes, int down)
{
    struct bed_rows *rows = bed_run(
        BED(.check = true),
        "{'cluster': {'gpu': 'a100-80-sxm', 'nodes': %d, 'gpus_per_node': 4, 'network': {'bandwidth': '50GB/s'}},"
        " 'failures': {'outages': {'x': {'node': %d, 'from': '10s', 'until': '1000s'}}}, 'services': {%s 'chat':"
        " {'llm': 'mistral-7b', %s " SPREAD SMALL "}}}",
        nodes, down, others, chat);
    CHECK_EQ_INT(rows->code, 0);
    const int64_t n = (int64_t)bed_decisions(rows, "fail", -1);
    bed_free(rows);
    return n;
}

/* Pools of one replica each: a node that fails stops one of them. Each pool is spread by itself first. */
TEST(small_pools_of_a_service_are_spread_over_its_nodes)
{
    int64_t n = 0;
    for (int node = 0; node < 4; node++) {
        CHECK_EQ_INT(stops_beside("", "'pools': {'a': {}, 'b': {}, 'c': {}, 'd': {}},", 4, node), 1);
        n += stops_beside("", "'pools': {'a': {'replicas': 4}, 'b': {'replicas': 2}},", 4, node);
        CHECK_EQ_INT(stops_beside("", "'pools': {'a': {'replicas': 4}, 'b': {'replicas': 4}},", 4, node), 2);
    }
    CHECK_EQ_INT(n, 6);
}

/* The other service has two GPUs of the first node: a replica of two stages of two GPUs each is whole on the
 * second. */
TEST(a_replica_goes_where_all_its_stages_fit)
{
    static const char *const other = "'other': {'llm': 'mistral-7b', 'tensor_parallel': 2, " SMALL "},";
    static const char *const staged = "'tensor_parallel': 2, 'pipeline_parallel': 2,";
    CHECK_EQ_INT(stops_beside(other, staged, 2, 0), 1); /* the other's */
    CHECK_EQ_INT(stops_beside(other, staged, 2, 1), 1);
}

/* Two of three stages fit on a node, so each replica lies on two nodes, and no node holds parts of all. */
TEST(stages_over_nodes_take_as_few_as_hold_them)
{
    const struct site site = {.nodes = 5, .gpus_per_node = 4, .replicas = 3, .tensor_parallel = 2,
                              .pipeline_parallel = 3, .placement = SPREAD, .more = ""};
    int n = 0;
    for (int node = 0; node < site.nodes; node++) {
        const int lost = stops(&site, node, 1);
        CHECK(lost >= 1 && lost <= 2);
        n += lost;
    }
    CHECK_EQ_INT(n, 2 * site.replicas);
}

/* Five stages of one GPU on nodes with 1, 1, 3 and 3: two nodes hold them. */
TEST(stages_that_no_node_holds_go_where_most_fit)
{
    for (int node = 0; node < 4; node++) {
        struct bed_rows *rows = bed_run(BED(.check = true),
                                        "{'cluster': {'gpu': 'a100-80-sxm', 'nodes': 2, 'gpus_per_node': 1, 'node_types':"
                                        " {'more': {'gpu': 'a100-80-sxm', 'nodes': 2, 'gpus_per_node': 3}},"
                                        " 'network': {'bandwidth': '50GB/s'}}, 'failures': {'outages': {'x': {'node': %d,"
                                        " 'from': '10s', 'until': '1000s'}}}, 'services': {'chat': {'llm': 'mistral-7b',"
                                        " 'replicas': 1, 'pipeline_parallel': 5, " SPREAD SMALL "}}, 'until': '30s'}",
                                        node);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(bed_decisions(rows, "fail", -1), node < 2 ? 0 : 1);
    }
}

/* Each replica goes to a node with room that has the fewest. */
static int64_t most_by_hand(const int32_t *free_gpus, int n_nodes, int64_t replicas, int64_t wide)
{
    int64_t on_node[4] = {0}, most = 1;
    for (int64_t r = 0; r < replicas; r++) {
        int at = -1;
        for (int i = 0; i < n_nodes; i++)
            if ((on_node[i] + 1) * wide <= free_gpus[i] && (at < 0 || on_node[i] < on_node[at])) at = i;
        if (at >= 0 && ++on_node[at] > most) most = on_node[at];
    }
    return most;
}

TEST(the_most_replicas_of_a_node_are_those_of_placing_them_one_by_one)
{
    struct rng rng = test_rng(2, "spread-most", 0);
    for (int trial = 0; trial < 300; trial++) {
        int32_t free_gpus[4];
        struct cluster cluster = {.gpu = "g", .n_nodes = 1 + (int32_t)rng_below(&rng, 4), .gpus_per_node = 8,
                                  .node_free_gpus = free_gpus};
        const struct service_env env = {.cluster = &cluster};
        const struct fleet fleet = {.env = &env};
        const struct pool_config pool = {.gpu = "g", .replicas = 1 + (int64_t)rng_below(&rng, 30),
                                         .tensor_parallel = 1 << rng_below(&rng, 5), .pipeline_parallel = 1};
        cluster.total_gpus = 8 * cluster.n_nodes;
        for (int i = 0; i < cluster.n_nodes; i++) free_gpus[i] = (int32_t)rng_below(&rng, 9);
        int64_t room = 0;
        for (int i = 0; i < cluster.n_nodes; i++) room += free_gpus[i] / pool.tensor_parallel;
        const int64_t most = fleet_spread_most(&fleet, &pool);
        CHECK(most >= 1 && (most == 1 || most <= 8 / pool.tensor_parallel));
        if (room >= pool.replicas)
            CHECK_EQ_INT(most, most_by_hand(free_gpus, cluster.n_nodes, pool.replicas, pool.tensor_parallel));
    }
}

/* Six spread replicas on these nodes, with these outages: so many of them fail. */
static void check_failed(const char *nodes, const char *outages, const char *restart, int n_failed)
{
    struct bed_rows *rows = bed_run(BED(.check = true),
                                    "{'cluster': {'gpu': 'a100-80-sxm', %s}, 'failures': {'outages': {%s}}, 'services':"
                                    " {'chat': {'llm': 'mistral-7b', 'replicas': 6, %s" SPREAD SMALL "}}}",
                                    nodes, outages, restart);
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(bed_decisions(rows, "fail", -1), n_failed);
}

/* Nodes of several types with the service's GPU count alike. */
TEST(node_types_with_the_gpu_share_the_replicas)
{
    static const char *const outages[] = {"'x': {'node': 0, 'from': '10s', 'until': '20s'}",
                                          "'x': {'node': 1, 'from': '10s', 'until': '20s'}",
                                          "'x': {'node': 2, 'from': '10s', 'until': '20s'}"};
    for (int node = 0; node < 3; node++)
        check_failed("'nodes': 1, 'gpus_per_node': 8, 'node_types': {'more': {'gpu': 'a100-80-sxm', 'nodes': 2,"
                     " 'gpus_per_node': 4}}",
                     outages[node], "", 2);
}

/* A replica that starts anew goes where the fewest others are: with one node of three lost for good, each of the other
 * two has half of the replicas. */
TEST(replicas_that_start_anew_are_spread)
{
    static const char first[] = "'x': {'node': 0, 'from': '2s', 'until': '1000s'}, ";
    static const char *const second[] = {"'y': {'node': 1, 'from': '10s', 'until': '1000s'}",
                                         "'y': {'node': 2, 'from': '10s', 'until': '1000s'}"};
    for (int i = 0; i < 2; i++) {
        char outages[160];
        snprintf(outages, sizeof outages, "%s%s", first, second[i]);
        check_failed("'nodes': 3, 'gpus_per_node': 8", outages, "'restart': {'delay': '1s'}, ", 2 + 3);
    }
}

/* Where no node fails and no link is shared, replicas serve alike wherever they are. Those that come and go hold their
 * GPUs under every invariant. */
TEST(spreading_alone_changes_no_request)
{
    struct site packed = {3, 4, 0, 3, 1, 1, "", ""}, spread = packed;
    spread.placement = SPREAD;
    const struct bed_rows *rows[2] = {run(&packed, 0, 0), run(&spread, 0, 0)};
    MUST(rows[0]->code == 0 && rows[1]->code == 0 && rows[0]->n_requests == rows[1]->n_requests);
    for (size_t i = 0; i < rows[0]->n_requests; i++)
        CHECK_NEAR(rows[0]->requests[i].e2e_s, rows[1]->requests[i].e2e_s, 0);
    spread.placement = SPREAD "'scaling': {'policy': {'policy': 'target-outstanding', 'target': 1}, 'min': 1,"
                              " 'max': 12, 'interval': '1s', 'start_delay': '1s'},";
    CHECK(stops(&spread, 0, 1) > 0);
}

TEST(an_endless_cluster_has_no_nodes_to_spread_over)
{
    struct bed_rows *rows = bed_run(
        BED(.quiet = true), "{'cluster': {'gpu': 'a100-80-sxm', 'unlimited': true}, 'services': {'chat': {'llm': 'mistral-7b', " SPREAD SMALL "}}}");
    CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
    MUST(rows->diag.n_items > 0);
    CHECK(strstr(rows->diag.items[0].text, "an unlimited cluster has none") != NULL);
}

/* --- Each choice is that of a naive twin --- */

enum { NODES = 12, POOLS = 2, REPLICAS = 6, PARTS = 3, RANKS = 6 }; /* at most; REPLICAS: of a pool */

/* A service on a site. Beside it, what the twin knows of the site: per node its rack, its GPU and its free GPUs. */
struct twin {
    struct cluster *cluster;
    struct service_config config;
    struct service_env env;
    struct fleet fleet;
    struct fleet_pool pools[POOLS];
    struct fleet_parts parts[POOLS];
    struct replica replicas[POOLS * REPLICAS];
    struct allocation held[POOLS * REPLICAS][PARTS];
    int n_nodes, rack[NODES], free_gpus[NODES];
    const char *gpu[NODES];
};

/* Up to three types of nodes, two of which may have one GPU. Racks do not reach from one type to the next. */
static void make_site(struct twin *twin, struct rng *rng)
{
    struct node_type_config types[2];
    struct cluster_config config = {.nodes = 1 + (int64_t)rng_below(rng, 4),
                                    .gpus_per_node = 4,
                                    .gpu = "a",
                                    .nodes_per_rack = (int64_t)rng_below(rng, 4),
                                    .node_types = {.n = rng_below(rng, 3), .items = types}};
    for (size_t i = 0; i < config.node_types.n; i++)
        types[i] = (struct node_type_config){.name = i == 0 ? "x" : "y",
                                             .nodes = 1 + (int64_t)rng_below(rng, 4),
                                             .gpus_per_node = 1 + (int64_t)rng_below(rng, 6),
                                             .gpu = rng_below(rng, 3) > 0 ? "a" : "b"};
    MUST(cluster_create(&config, &twin->cluster) == 0);
    int n_racks = 0;
    for (size_t type = 0; type <= config.node_types.n; type++) {
        const struct node_type_config own = {.nodes = config.nodes, .gpus_per_node = 4, .gpu = "a"};
        const struct node_type_config *of = type == 0 ? &own : &types[type - 1];
        for (int64_t i = 0; i < of->nodes; i++) {
            n_racks += i == 0 || (config.nodes_per_rack > 0 && i % config.nodes_per_rack == 0);
            twin->rack[twin->n_nodes] = n_racks;
            twin->gpu[twin->n_nodes] = of->gpu;
            twin->free_gpus[twin->n_nodes++] = (int)of->gpus_per_node;
        }
    }
}

static void make_service(struct twin *twin, struct rng *rng)
{
    twin->config.placement = SERVICE_SPREAD;
    twin->env.cluster = twin->cluster;
    twin->fleet = (struct fleet){.config = &twin->config, .env = &twin->env, .n_pools = POOLS, .pools = twin->pools};
    for (int i = 0; i < POOLS; i++) {
        twin->pools[i] = (struct fleet_pool){.first = i * REPLICAS, .n = REPLICAS};
        twin->pools[i].config.gpu = rng_below(rng, 5) > 0 ? "a" : "b";
        twin->parts[i] = (struct fleet_parts){1 + (int32_t)rng_below(rng, 3), 1 + (int64_t)rng_below(rng, PARTS)};
    }
    for (int i = 0; i < POOLS * REPLICAS; i++) twin->replicas[i] = (struct replica){.index = i, .parts = twin->held[i]};
    MUST(fleet_spread_init(&twin->fleet) == 0);
}

/* Replicas of a pool, or of all if it is negative, with a part on the node, or in its rack. */
static int count_replicas(const struct twin *twin, int pool, int node, bool in_rack)
{
    int n = 0;
    for (int i = 0; i < POOLS * REPLICAS; i++) {
        bool has = false;
        for (const struct allocation *part = twin->replicas[i].holder.held; part != NULL; part = part->next)
            has = has || (in_rack ? twin->rack[part->node] == twin->rack[node] : part->node == node);
        n += has && (pool < 0 || i / REPLICAS == pool);
    }
    return n;
}

static int has_own_part(const struct twin *twin, int replica, int64_t n_parts, int node)
{
    for (int64_t i = 0; i < n_parts; i++)
        if (twin->held[replica][i].node == node) return true;
    return false;
}

/* The node for part number `i`; -1: there is none. */
static int choose_node(const struct twin *twin, int replica, int64_t i)
{
    const int pool = replica / REPLICAS;
    const struct fleet_parts *parts = &twin->parts[pool];
    int best[RANKS] = {0}, chosen = -1;
    for (int node = 0; node < twin->n_nodes; node++) {
        if (strcmp(twin->gpu[node], twin->pools[pool].config.gpu) != 0 || twin->free_gpus[node] < parts->gpus) continue;
        const int left = (int)(parts->n - i) - twin->free_gpus[node] / parts->gpus; /* for other nodes */
        const int ranks[RANKS] = {
            !has_own_part(twin, replica, i, node),   left > 0 ? left : 0,
            count_replicas(twin, pool, node, false), count_replicas(twin, -1, node, false),
            count_replicas(twin, pool, node, true),  twin->free_gpus[node]};
        int k = 0;
        while (k < RANKS && ranks[k] == best[k]) k++;
        if (chosen >= 0 && (k == RANKS || ranks[k] > best[k])) continue;
        memcpy(best, ranks, sizeof best);
        chosen = node;
    }
    return chosen;
}

static bool has_room_for(const struct twin *twin, int pool)
{
    int64_t n = 0;
    for (int node = 0; node < twin->n_nodes; node++)
        if (strcmp(twin->gpu[node], twin->pools[pool].config.gpu) == 0)
            n += twin->free_gpus[node] / twin->parts[pool].gpus;
    return n >= twin->parts[pool].n;
}

static void start_replica(struct twin *twin, int number)
{
    struct replica *replica = &twin->replicas[number];
    const struct fleet_parts parts = twin->parts[number / REPLICAS];
    for (int64_t i = 0; i < parts.n; i++) {
        const int expected = choose_node(twin, number, i);
        const int node = fleet_spread_part(&twin->fleet, &twin->pools[number / REPLICAS], replica, parts, i, 0);
        MUST(node == expected && node >= 0);
        twin->free_gpus[node] -= parts.gpus;
        replica->parts[i] = (struct allocation){.node = node, .gpus = parts.gpus};
        if (i > 0) replica->parts[i - 1].next = &replica->parts[i];
    }
    replica->holder.held = replica->parts;
    fleet_spread_count(&twin->fleet, replica, 1);
}

static void stop_replica(struct twin *twin, int number)
{
    struct replica *replica = &twin->replicas[number];
    for (const struct allocation *part = replica->holder.held; part != NULL; part = part->next) {
        cluster_release_group_of(twin->cluster, 0, part->node, part->gpus);
        twin->free_gpus[part->node] += part->gpus;
    }
    fleet_spread_count(&twin->fleet, replica, -1);
    replica->holder.held = NULL;
}

/* Others on the nodes, who leave them unlike. */
static void fill_some(struct twin *twin, struct rng *rng)
{
    for (int node = 0; node < twin->n_nodes; node++) {
        const int gpus = (int)rng_below(rng, (uint64_t)twin->free_gpus[node] + 1);
        if (gpus == 0 || rng_below(rng, 2) == 0) continue;
        cluster_take_group_on(twin->cluster, 0, node, gpus);
        twin->free_gpus[node] -= gpus;
    }
}

/* The counts of a node and of a rack, which stands at its first node, are those of replicas with a part there. */
static void check_counts(const struct twin *twin)
{
    for (int node = 0; node < twin->n_nodes; node++) {
        CHECK_EQ_INT(twin->fleet.on_node[node], count_replicas(twin, -1, node, false));
        for (int i = 0; i < POOLS; i++) {
            const bool begins = node == 0 || twin->rack[node] != twin->rack[node - 1];
            CHECK_EQ_INT(twin->pools[i].on_node[node], count_replicas(twin, i, node, false));
            CHECK_EQ_INT(twin->pools[i].in_rack[node], begins ? count_replicas(twin, i, node, true) : 0);
        }
    }
}

TEST(each_part_goes_to_the_node_of_a_naive_twin)
{
    int n_started = 0;
    for (uint64_t trial = 0; trial < 400; trial++) {
        struct rng rng = test_rng(3, "spread-twin", trial);
        struct twin *twin = calloc(1, sizeof *twin);
        make_site(twin, &rng);
        make_service(twin, &rng);
        if (rng_below(&rng, 3) == 0) fill_some(twin, &rng);
        for (int step = 0; step < 40; step++) {
            const int number = (int)rng_below(&rng, POOLS * REPLICAS);
            if (twin->replicas[number].holder.held != NULL)
                stop_replica(twin, number);
            else if (has_room_for(twin, number / REPLICAS)) {
                start_replica(twin, number);
                n_started++;
            }
            check_counts(twin);
        }
        for (int i = 0; i < POOLS * REPLICAS; i++)
            if (twin->replicas[i].holder.held != NULL) stop_replica(twin, i);
        check_counts(twin);
        fleet_spread_fini(&twin->fleet);
        cluster_destroy(twin->cluster);
        free(twin);
    }
    CHECK(n_started > 4000);
}
