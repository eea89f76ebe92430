#include "sim/world/cluster_section.h"
#include "sim/world/links/topology.h"
#include "sim/world/rows/metric.h"
#include "tests/support/harness.h"

enum { N_MOVES = 16, N_PLACEMENTS = 16 };

struct move {
    struct transfer transfer;
    sim_ns ended_ns; /* -1: not yet */
    int n_notified;
};

struct site {
    struct arena arena;
    struct diag diag;
    struct config *config;
    struct cluster_section cluster;
    struct engine *engine;
    struct site_env env;
    struct topology *topology;
    struct gpu_spec gpu;
    struct topology_placement placements[N_PLACEMENTS];
    struct move moves[N_MOVES];
};

static const struct catalog catalog = {.root = "configs"};

/* A site from the members of "cluster"; *code is what topology_create returned. */
static struct site *site_create(const char *cluster, int *code)
{
    static struct site site;
    static char text[2048];
    static const struct config_field fields[] = {
        {.name = "cluster", .kind = CONFIG_SECTION, .fields = cluster_section_fields, .help = "nodes"}, {0}};
    site = (struct site){0};
    arena_init(&site.arena);
    diag_init(&site.diag);
    snprintf(text, sizeof text, "{'cluster': {%s}}", cluster);
    test_quotes(text);
    *code = config_parse("site.json", ".", text, strlen(text), &site.config, &site.diag);
    if (*code == 0)
        *code = config_bind(site.config, fields, NULL, &site.arena, &site.cluster, sizeof site.cluster, &site.diag);
    site.engine = engine_create(&(struct engine_options){.queue = QUEUE_CALENDAR});
    site.env = (struct site_env){.engine = site.engine, .diag = &site.diag, .catalog = &catalog, .config = site.config,
                                 .arena = &site.arena, .next_owner_id = 1};
    const struct topology_env env = {.site = &site.env, .cluster = &site.cluster.nodes, .links = &site.cluster.links};
    if (*code == 0) *code = topology_create(&env, &site.topology);
    if (*code == 0) *code = catalog_gpu(&catalog, site.cluster.nodes.gpu, "test", &site.arena, &site.gpu, &site.diag);
    for (int i = 0; i < N_MOVES; i++) site.moves[i].ended_ns = -1;
    return &site;
}

static void site_destroy(struct site *site)
{
    engine_destroy(site->engine);
    topology_destroy(site->topology);
    config_destroy(site->config);
    arena_fini(&site->arena);
}

static struct site *good_site(const char *cluster)
{
    int code;
    struct site *site = site_create(cluster, &code);
    CHECK_EQ_INT(code, 0);
    if (code != 0) CHECK_EQ_STR(site->diag.items[0].text, "");
    return site;
}

static void sit(struct site *site, int placement, int node, int gpus)
{
    CHECK_EQ_INT(topology_placement_add(site->topology, &site->placements[placement], node, gpus, &site->gpu), 0);
}

static struct topology_end gpus(struct site *site, int placement)
{
    return (struct topology_end){&site->placements[placement], NULL};
}

static struct topology_end tier(struct site *site, int placement, const char *name)
{
    struct topology_end end = {&site->placements[placement], NULL};
    CHECK_EQ_INT(topology_tier_named(&site->placements[placement], name, &end.tier), 0);
    CHECK(end.tier != NULL);
    return end;
}

static void note_end(struct transfer *transfer, sim_ns now)
{
    TRANSFER_ENTITY(transfer, struct move, transfer)->ended_ns = now;
}

static void note_grant(struct transfer *transfer, sim_ns now)
{
    (void)now;
    TRANSFER_ENTITY(transfer, struct move, transfer)->n_notified++;
}

static void move(struct site *site, int i, struct topology_end from, struct topology_end to, int64_t bytes)
{
    CHECK_EQ_INT(topology_move(site->topology, from, to, bytes, &site->moves[i].transfer, note_end), 0);
}

static void run(struct site *site)
{
    CHECK_EQ_INT(engine_run(site->engine, NULL), 0);
    topology_check(site->topology, engine_now(site->engine));
}

/* Bytes per second of a transfer of 10.24 GB, whole granules, by itself; latencies left out. It takes as long as is
 * said when it starts. */
static double rate_of(struct site *site, struct topology_end from, struct topology_end to, sim_ns latency_ns)
{
    sim_ns begin_ns = engine_now(site->engine);
    move(site, N_MOVES - 1, from, to, 10240000000);
    const struct transfer_alone alone = transfer_alone(&site->moves[N_MOVES - 1].transfer);
    run(site);
    CHECK_NEAR(alone.seconds, sim_s_from_ns(site->moves[N_MOVES - 1].ended_ns - begin_ns), 2e-9);
    return 10.24e9 / sim_s_from_ns(site->moves[N_MOVES - 1].ended_ns - begin_ns - latency_ns);
}

#define CHECK_RATE(actual, expected) CHECK_NEAR(actual, expected, (expected) * 1e-7)

/* --- Rates --- */

TEST(gpus_have_pcie_links_of_their_own)
{
    struct site *site = good_site("'gpu': 'a100-80-sxm'");
    sit(site, 0, 0, 1);
    sit(site, 1, 0, 1);
    CHECK_RATE(rate_of(site, gpus(site, 0), tier(site, 0, "host"), 0), site->gpu.pcie_bytes_per_s);
    sim_ns begin_ns = engine_now(site->engine);
    for (int i = 0; i < 2; i++) {
        move(site, 2 * i, gpus(site, i), tier(site, i, "host"), 1000000000);
        move(site, 2 * i + 1, tier(site, i, "host"), gpus(site, i), 1000000000); /* not the opposite link */
    }
    run(site);
    for (int i = 0; i < 4; i++)
        CHECK_EQ_INT(site->moves[i].ended_ns - begin_ns, llrint(1e18 / site->gpu.pcie_bytes_per_s));
    site_destroy(site);
}

TEST(a_switch_is_shared_by_its_gpus)
{
    struct site *site = good_site("'gpu': 'a10', 'pcie': '24GB/s', 'pcie_switch': {'gpus': 2, 'bandwidth': '24GB/s'}");
    for (int i = 0; i < 3; i++) {
        sit(site, i, 0, 1);
        move(site, i, tier(site, i, "host"), gpus(site, i), 24000000000);
    }
    run(site);
    CHECK_EQ_INT(site->moves[0].ended_ns, 2 * SIM_NS_PER_S);
    CHECK_EQ_INT(site->moves[1].ended_ns, 2 * SIM_NS_PER_S);
    CHECK_EQ_INT(site->moves[2].ended_ns, SIM_NS_PER_S);
    sim_ns begin_ns = engine_now(site->engine); /* GPUs below one switch do not use its link to the host */
    move(site, 0, gpus(site, 0), gpus(site, 1), 24000000000);
    move(site, 1, gpus(site, 1), tier(site, 1, "host"), 24000000000);
    run(site);
    CHECK_EQ_INT(site->moves[0].ended_ns - begin_ns, SIM_NS_PER_S);
    CHECK_EQ_INT(site->moves[1].ended_ns - begin_ns, SIM_NS_PER_S);
    site_destroy(site);
}

/* Eight GPUs at 24 GB/s ask for more than eight channels of memory sustain. */
TEST(host_memory_is_shared_by_the_node)
{
    struct site *site = good_site("'gpu': 'a100-80-sxm', 'nodes': 2, 'host': {'device': 'host-dram-pcie4'}");
    CHECK_RATE((sit(site, 0, 0, 1), rate_of(site, tier(site, 0, "host"), gpus(site, 0), 10000)), 24e9);
    sim_ns begin_ns = engine_now(site->engine);
    for (int i = 1; i < 8; i++) sit(site, i, 0, 1);
    sit(site, 8, 1, 1);
    for (int i = 0; i < 9; i++) move(site, i, tier(site, i, "host"), gpus(site, i), 1000000000);
    run(site);
    for (int i = 0; i < 8; i++)
        CHECK_NEAR(sim_s_from_ns(site->moves[i].ended_ns - begin_ns - 10000), 8e9 / 150.16e9, 1e-8);
    CHECK_NEAR(sim_s_from_ns(site->moves[8].ended_ns - begin_ns - 10000), 1e9 / 24e9, 1e-8);
    site_destroy(site);
}

/* What InstInfer saw: a second drive below FlexGen's way through the file system gives nothing. */
TEST(a_file_systems_ceiling_is_shared_by_all_drives)
{
    double rates[2][2];
    for (int two = 0; two < 2; two++) {
        char text[512];
        snprintf(text, sizeof text,
                 "'gpu': 'a6000', 'host': {'device': 'host-dram-pcie4'}, 'storage': {"
                 "'bare': {'device': 'samsung-980-pro', 'count': %d}, "
                 "'fs': {'device': 'samsung-980-pro', 'count': %d, 'software': 'flexgen'}}",
                 1 + two, 1 + two);
        struct site *site = good_site(text);
        sit(site, 0, 0, 1);
        rates[two][0] = rate_of(site, tier(site, 0, "bare"), gpus(site, 0), 55000);
        rates[two][1] = rate_of(site, tier(site, 0, "fs"), gpus(site, 0), 55000);
        CHECK_RATE(rate_of(site, gpus(site, 0), tier(site, 0, "bare"), 27000), 5.1e9 * (1 + two));
        CHECK_RATE(rate_of(site, tier(site, 0, "bare"), tier(site, 0, "host"), 55000), 7e9 * (1 + two));
        site_destroy(site);
    }
    CHECK_RATE(rates[0][0], 7e9);
    CHECK_RATE(rates[1][0], 14e9);
    CHECK_RATE(rates[0][1], 1.1e9);
    CHECK_RATE(rates[1][1], 1.1e9);
}

TEST(computational_drives_have_an_inside_and_an_outside)
{
    struct site *site = good_site("'gpu': 'a6000', 'storage': {'kv': {'device': 'instcsd', 'count': 2}}");
    sit(site, 0, 0, 1);
    struct topology_end csd = tier(site, 0, "kv");
    CHECK(csd.tier->attention_here && !csd.tier->through_host);
    CHECK_RATE(rate_of(site, csd, csd, 50000), 2 * 7.66e9);
    CHECK_RATE(rate_of(site, csd, gpus(site, 0), 50000), 14e9);
    CHECK_RATE(rate_of(site, gpus(site, 0), csd, 20000), 2 * 3.78e9);
    site_destroy(site);
}

TEST(nvlink_joins_what_the_fabric_joins)
{
    struct site *site = good_site("'gpu': 'h100-sxm'");
    for (int i = 0; i < 4; i++) sit(site, i, 0, 1);
    CHECK_RATE(rate_of(site, gpus(site, 0), gpus(site, 3), 0), 450e9);
    site_destroy(site);
    site = good_site("'gpu': 'a40'");
    for (int i = 0; i < 3; i++) sit(site, i, 0, 1);
    CHECK_RATE(rate_of(site, gpus(site, 0), gpus(site, 1), 0), site->gpu.nvlink_bytes_per_s);
    CHECK_RATE(rate_of(site, gpus(site, 1), gpus(site, 2), 0), site->gpu.pcie_bytes_per_s);
    site_destroy(site);
    site = good_site("'gpu': 'v100-32-sxm'");
    for (int i = 0; i < 3; i++) sit(site, i, 0, 1);
    CHECK_RATE(rate_of(site, gpus(site, 0), gpus(site, 1), 0), site->gpu.nvlink_bytes_per_s / 3);
    site_destroy(site);
}

TEST(nodes_reach_each_other_over_their_nics)
{
    struct site *site = good_site("'gpu': 'h100-sxm', 'nodes': 3, 'network': {'bandwidth': '50GB/s', "
                                  "'fabric': '120GB/s', 'latency': '7us'}");
    for (int i = 0; i < 6; i++) sit(site, i, i % 2, 1);
    CHECK_RATE(rate_of(site, gpus(site, 0), gpus(site, 1), 7000), 50e9);
    CHECK_RATE(rate_of(site, tier(site, 0, "host"), gpus(site, 1), 7000), 50e9);
    sim_ns begin_ns = engine_now(site->engine);
    for (int i = 0; i < 3; i++) move(site, i, gpus(site, 2 * i), gpus(site, 2 * i + 1), 40000000000);
    run(site);
    for (int i = 0; i < 3; i++) CHECK_EQ_INT(site->moves[i].ended_ns - begin_ns, SIM_NS_PER_S + 7000);
    site_destroy(site);
    site = good_site("'gpu': 'h100-sxm', 'nodes': 2, 'network': {'bandwidth': '50GB/s', 'per': 'node'}");
    for (int i = 0; i < 4; i++) sit(site, i, i % 2, 1);
    for (int i = 0; i < 2; i++) move(site, i, gpus(site, 2 * i), gpus(site, 2 * i + 1), 25000000000);
    run(site);
    for (int i = 0; i < 2; i++) CHECK_EQ_INT(site->moves[i].ended_ns, SIM_NS_PER_S + 5000);
    site_destroy(site);
}

/* A replica on two nodes loads each half from its own node's memory or drive: nothing passes the slow network. */
TEST(stages_load_from_their_own_node)
{
    static const char *const tiers[] = {"host", "ssd"};
    for (int i = 0; i < 2; i++) {
        struct site *site = good_site("'gpu': 'h100-sxm', 'nodes': 2, 'network': {'bandwidth': '100MB/s'}, "
                                      "'storage': {'ssd': {'device': 'pm9a3'}}");
        sit(site, 0, 0, 1);
        sit(site, 0, 1, 1);
        move(site, 0, tier(site, 0, tiers[i]), gpus(site, 0), 2000000000);
        run(site);
        CHECK(site->moves[0].ended_ns > 0 && site->moves[0].ended_ns < SIM_NS_PER_S);
        site_destroy(site);
    }
}

/* However slow, a fabric is one. */
TEST(a_fabric_may_be_slow)
{
    struct site *site = good_site(
        "'gpu': 'h100-sxm', 'nodes': 2, 'network': {'bandwidth': '50GB/s', 'fabric': '1B/s'}");
    for (int i = 0; i < 2; i++) sit(site, i, i, 1);
    move(site, 0, gpus(site, 0), gpus(site, 1), 100);
    run(site);
    CHECK_NEAR(sim_s_from_ns(site->moves[0].ended_ns), 100, 0.001);
    site_destroy(site);
}

TEST(remote_memory_is_shared_by_the_site)
{
    struct site *site = good_site("'gpu': 'h100-sxm', 'nodes': 2, 'network': {'bandwidth': '100GB/s'}, "
                                  "'storage': {'pool': {'device': 'rdma-h800', 'capacity': '1TB'}}");
    for (int i = 0; i < 4; i++) sit(site, i, i % 2, 1);
    CHECK(tier(site, 0, "pool").tier == tier(site, 1, "pool").tier);
    CHECK(tier(site, 0, "host").tier != tier(site, 1, "host").tier);
    CHECK_RATE(rate_of(site, tier(site, 0, "pool"), gpus(site, 0), 5000), site->gpu.pcie_bytes_per_s);
    sim_ns begin_ns = engine_now(site->engine);
    for (int i = 0; i < 4; i++) move(site, i, tier(site, i, "pool"), gpus(site, i), 1000000000);
    run(site);
    for (int i = 0; i < 4; i++)
        CHECK_NEAR(sim_s_from_ns(site->moves[i].ended_ns - begin_ns - 5000), 4e9 / 154.7e9, 1e-8);
    site_destroy(site);
}

/* --- Groups --- */

TEST(a_group_moves_its_shards_side_by_side)
{
    struct site *site = good_site("'gpu': 'h100-sxm', 'nodes': 2, 'pcie': '50GB/s', "
                                  "'network': {'bandwidth': '25GB/s'}");
    sit(site, 0, 0, 4);
    sit(site, 1, 1, 2);
    CHECK_EQ_INT(topology_shards(gpus(site, 0), gpus(site, 1)), 4);
    CHECK_RATE(rate_of(site, gpus(site, 0), tier(site, 0, "host"), 0), 200e9);
    CHECK_RATE(rate_of(site, gpus(site, 0), gpus(site, 1), 5000), 50e9); /* two NICs take in what four send */
    move(site, 0, gpus(site, 0), tier(site, 0, "host"), 1000003);
    run(site);
    site_destroy(site);
}

TEST(links_carry_whole_granules)
{
    struct site *site = good_site("'gpu': 'a6000', 'storage': {'kv': {'device': 'samsung-980-pro', 'way': 'direct'}}");
    sit(site, 0, 0, 2);
    move(site, 0, gpus(site, 0), tier(site, 0, "kv"), 10000); /* two times 5000: two granules each */
    run(site);
    CHECK_NEAR((double)site->moves[0].ended_ns, 17000 + 16384 / 5.1, 0.5);
    site_destroy(site);
}

TEST(claims_of_two_groups_share_a_switch)
{
    struct site *site = good_site("'gpu': 'a10', 'pcie': '24GB/s', 'pcie_switch': {'gpus': 4, 'bandwidth': '24GB/s'}");
    for (int i = 0; i < 2; i++) {
        sit(site, i, 0, 2);
        CHECK_EQ_INT(topology_claim(site->topology, tier(site, i, "host"), gpus(site, i), 16e9,
                                    &site->moves[i].transfer, note_grant),
                     0);
    }
    CHECK(site->moves[0].transfer.granted_bytes_per_s == 16e9); /* as far as it has been told */
    CHECK_RATE(site->moves[1].transfer.granted_bytes_per_s, 12e9);
    run(site);
    CHECK_RATE(site->moves[0].transfer.granted_bytes_per_s, 12e9);
    CHECK_EQ_INT(site->moves[0].n_notified, 1);
    CHECK_EQ_INT(site->moves[1].n_notified, 0);
    CHECK_RATE(transfer_demand(&site->moves[0].transfer, 4e9), 4e9);
    run(site);
    CHECK_RATE(site->moves[1].transfer.granted_bytes_per_s, 16e9);
    transfer_cancel(&site->moves[0].transfer);
    transfer_cancel(&site->moves[1].transfer);
    run(site);
    site_destroy(site);
}

TEST(a_cancelled_transfer_ends_all_its_shards)
{
    struct site *site = good_site("'gpu': 'a10', 'pcie': '24GB/s'");
    sit(site, 0, 0, 4);
    move(site, 0, gpus(site, 0), tier(site, 0, "host"), 1000000000);
    transfer_cancel(&site->moves[0].transfer);
    transfer_cancel(&site->moves[0].transfer);
    run(site);
    CHECK_EQ_INT(site->moves[0].ended_ns, -1);
    CHECK_EQ_INT(engine_now(site->engine), 0);
    topology_placement_release(&site->placements[0]);
    sit(site, 0, 0, 8); /* all of the node's are free again */
    site_destroy(site);
}

/* --- Tiers and findings --- */

TEST(tiers_hold_what_they_can)
{
    struct site *site = good_site("'gpu': 'a10', 'host': {'memory': '1000B'}, 'storage': {'a': {'device':"
                                  " 'samsung-980-pro', 'count': 3}, 'b': {'device': 'pm9a3', 'capacity': '5GB'}}");
    sit(site, 0, 0, 1);
    struct tier *host = tier(site, 0, "host").tier, *ssd;
    CHECK(tier_take(host, 0, 900));
    CHECK(!tier_take(host, 10, 101));
    CHECK(tier_take(host, 10, 100));
    tier_give(host, 20, 1000);
    CHECK_EQ_INT(host->used.max, 1000);
    CHECK_EQ_INT(tier_free_bytes(host), 1000);
    CHECK_EQ_INT(tier(site, 0, "a").tier->capacity_bytes, 6000000000000);
    CHECK_EQ_INT(tier(site, 0, "b").tier->capacity_bytes, 5000000000);
    CHECK_EQ_INT(topology_tier(&site->placements[0], TIER_SSD, &ssd), 0);
    CHECK_EQ_STR(ssd->name, "a");
    CHECK_EQ_INT(topology_tier(&site->placements[0], TIER_CSD, &ssd), 0);
    CHECK(ssd == NULL);
    CHECK_EQ_INT(topology_tier_named(&site->placements[0], "c", &ssd), 0);
    CHECK(ssd == NULL);
    site_destroy(site);
}

static void check_finding(const char *cluster, const char *where, const char *text)
{
    int code;
    struct site *site = site_create(cluster, &code);
    CHECK_EQ_INT(code, SIM_E_CONFIG);
    CHECK_EQ_STR(site->diag.items[0].where, where);
    CHECK_EQ_STR(site->diag.items[0].text, text);
    CHECK(site->diag.items[0].hint[0] != 0);
    site_destroy(site);
}

TEST(impossible_links_are_errors)
{
    check_finding("'storage': {'kv': {'device': 'pm9a3', 'software': 'flexgen'}}", "site.json:1:64",
                  "storage device 'pm9a3' has no software 'flexgen'");
    check_finding("'storage': {'kv': {'device': 'host-dram-pcie4'}}", "site.json:1:43",
                  "'host-dram-pcie4' is memory of the host, which is not in 'storage'");
    check_finding("'host': {'device': 'pm9a3'}", "site.json:1:33", "'pm9a3' is of kind 'ssd'");
    check_finding("'host': {'software': 'alisa'}", "site.json:1:35",
                  "the host's software is one of its device's, and 'device' is missing");
    check_finding("'gpus_per_node': 2, 'pcie_switch': {'gpus': 4, 'bandwidth': '1GB/s'}", "site.json:1:58",
                  "a PCIe switch for 4 GPUs, of which a node has 2");
    check_finding("'storage': {'kv': {'device': 'pm9a4'}}", "site.json:1:43", "unknown storage device 'pm9a4'");
    check_finding("'network': {'per': 'gpu'}", "site.json:1:25", "missing 'bandwidth' in 'cluster.network'");
}

TEST(missing_paths_are_errors)
{
    struct site *site = good_site("'gpu': 'a10', 'nodes': 2, 'storage': {'kv': {'device': 'pm9a3'}}");
    sit(site, 0, 0, 1);
    sit(site, 1, 1, 1);
    struct move *first = &site->moves[0];
    struct topology_end host = tier(site, 0, "host"), drive = tier(site, 0, "kv");
    CHECK_EQ_INT(topology_move(site->topology, gpus(site, 0), gpus(site, 1), 1, &first->transfer, note_end),
                 SIM_E_CONFIG);
    CHECK_EQ_STR(site->diag.items[0].text, "data moves between nodes, but there is no network");
    CHECK_EQ_INT(topology_move(site->topology, drive, gpus(site, 1), 1, &first->transfer, note_end), SIM_E_CONFIG);
    CHECK_EQ_STR(site->diag.items[1].text, "drives are reached from their own node only");
    CHECK_EQ_INT(topology_move(site->topology, host, host, 1, &first->transfer, note_end), SIM_E_CONFIG);
    CHECK_EQ_INT(first->transfer.n_left, 0);
    run(site);
    site_destroy(site);
}

TEST(replicas_of_an_unlimited_cluster_have_nodes_of_their_own)
{
    struct site *site = good_site("'gpu': 'h100-sxm', 'unlimited': true, 'network': {'bandwidth': '25GB/s'}");
    sit(site, 0, -1, 2);
    sit(site, 1, -1, 2);
    CHECK_RATE(rate_of(site, gpus(site, 0), gpus(site, 1), 5000), 50e9);
    CHECK(tier(site, 0, "host").tier != tier(site, 1, "host").tier);
    site_destroy(site);
}

/* --- What comes out --- */

struct rows {
    int n;
    double bytes[LINK_KIND_COUNT], host_max;
};

static int note_metric(void *context, const struct metric_row *row)
{
    static const char *const names[] = {"link.pcie.bytes",   "link.nvlink.bytes", "link.network.bytes",
                                        "link.uplink.bytes", "link.host.bytes",   "link.storage.bytes",
                                        "link.csd.bytes"};
    struct rows *rows = context;
    rows->n++;
    for (int kind = 0; kind < LINK_KIND_COUNT; kind++)
        if (strcmp(row->name, names[kind]) == 0) rows->bytes[kind] = row->value;
    if (strcmp(row->name, "link.host.used_frac.max") == 0) rows->host_max = row->value;
    return 0;
}

TEST(metrics_are_by_kind_of_link)
{
    struct site *site = good_site("'gpu': 'a6000', 'host': {'device': 'host-dram-pcie4'}, 'storage': {"
                                  "'kv': {'device': 'samsung-980-pro', 'software': 'flexgen'}}");
    struct rows rows = {0};
    struct sink sink = {.context = &rows, .metric = note_metric};
    sit(site, 0, 0, 1);
    CHECK_EQ_INT(topology_emit(site->topology, 0, &sink), 0);
    CHECK_EQ_INT(rows.n, 0);
    move(site, 0, tier(site, 0, "kv"), gpus(site, 0), 4096000);
    run(site);
    CHECK_EQ_INT(topology_emit(site->topology, engine_now(site->engine), &sink), 0);
    CHECK_EQ_INT(rows.bytes[LINK_PCIE], 4096000);
    CHECK_EQ_INT(rows.bytes[LINK_STORAGE], 3 * 4096000); /* flash, the drive's link, the file system */
    CHECK_EQ_INT(rows.bytes[LINK_HOST], 2 * 4096000);    /* into memory and out of it */
    CHECK_EQ_INT(rows.bytes[LINK_NVLINK] + rows.bytes[LINK_CSD] + rows.bytes[LINK_NETWORK], 0);
    CHECK_NEAR(rows.host_max, 2 * 4096000 / 150.16e9 / sim_s_from_ns(engine_now(site->engine)), 1e-9);
    CHECK_EQ_INT(rows.n, 3 * 4);
    site_destroy(site);
}

static double seen[64];
static struct {
    struct owner owner;
    struct topology *topology;
} looker;

static void see(struct engine *engine, struct owner *owner, sim_ns now)
{
    (void)engine;
    (void)owner;
    (void)now;
    topology_sample(looker.topology, seen);
}

TEST(series_are_of_kinds_and_of_few_links)
{
    const char *cluster = "'gpu': 'h100-sxm', 'nodes': 2, 'network': {'bandwidth': '50GB/s'}";
    for (int many = 0; many < 2; many++) {
        struct sampler_series series[64];
        struct site *site = good_site(cluster);
        sit(site, 0, 0, many ? 8 : 1);
        sit(site, 1, 1, many ? 8 : 1);
        CHECK_EQ_INT(topology_prepare_series(site->topology), 0);
        int n = topology_n_series(site->topology);
        CHECK_EQ_INT(n, many ? 3 : 3 + 8); /* PCIe, NVLink, network; PCIe and NIC, in and out, of two GPUs */
        topology_series(site->topology, series);
        move(site, 0, gpus(site, 0), gpus(site, 1), 1000000000);
        owner_init(&looker.owner, 1000);
        looker.topology = site->topology;
        engine_schedule(site->engine, 1000000, 0, see, &looker.owner);
        run(site);
        for (int i = 0; i < n; i++) {
            const char *entity = series[i].entity;
            CHECK_EQ_STR(series[i].series, "link.bytes_per_s");
            bool one = strcmp(entity, "node0/gpu0/pcie-out") == 0 || strcmp(entity, "node0/gpu0/nic-out") == 0 ||
                       strcmp(entity, "node1/gpu0/pcie-in") == 0 || strcmp(entity, "node1/gpu0/nic-in") == 0;
            bool kind = strcmp(entity, "pcie") == 0 || strcmp(entity, "network") == 0;
            CHECK_NEAR(seen[i], (many ? 8 : 1) * (kind ? 100e9 : one ? 50e9 : 0), 1);
        }
        site_destroy(site);
    }
    struct site *site = good_site("'gpu': 'h100-sxm'");
    sit(site, 0, 0, 1);
    CHECK_EQ_INT(topology_prepare_series(site->topology), 0);
    CHECK_EQ_INT(topology_n_series(site->topology), 0); /* the scenario says nothing of links */
    site_destroy(site);
}

/* --- Laws --- */

/* Random transfers between random ends: each ends or is cancelled, and links carry what transfers move. */
TEST(links_carry_what_transfers_move)
{
    static const char cluster[] =
        "'gpu': 'a40', 'nodes': 3, 'gpus_per_node': 4, 'host': {'device': 'host-dram-pcie4'}, "
        "'pcie_switch': {'gpus': 2, 'bandwidth': '24GB/s'}, 'network': {'bandwidth': '10GB/s', "
        "'fabric': '15GB/s'}, 'storage': {'ssd': {'device': 'pm9a3', 'count': 2}, "
        "'csd': {'device': 'instcsd'}, 'far': {'device': 'rdma-h800'}}";
    static const char *const names[] = {"host", "ssd", "csd", "far"};
    struct rng rng = test_rng(1, "topology", 0);
    struct site *site = good_site(cluster);
    for (int i = 0; i < 6; i++) sit(site, i, i / 2, 1 + i % 2);
    int n_ended = 0;
    for (int round = 0; round < 300; round++) {
        for (int i = 0; i < N_MOVES - 1; i++) {
            int from = (int)rng_below(&rng, 6), to = from, how = (int)rng_below(&rng, 6);
            struct topology_end ends[2] = {gpus(site, from), gpus(site, from)};
            if (how < 4) ends[1] = tier(site, from, names[how]);
            if (how == 4) ends[1] = tier(site, from, "host"), ends[0] = tier(site, from, "ssd");
            if (how == 5) ends[1] = gpus(site, to = (from + 1 + (int)rng_below(&rng, 5)) % 6);
            bool back = rng_below(&rng, 2) == 0;
            site->moves[i].ended_ns = -1;
            move(site, i, ends[back], ends[!back], (int64_t)rng_below(&rng, 1000000));
            if (rng_below(&rng, 4) == 0) topology_check(site->topology, engine_now(site->engine));
        }
        for (int i = 0; i < 3; i++) transfer_cancel(&site->moves[i].transfer);
        run(site);
        for (int i = 0; i < N_MOVES - 1; i++) n_ended += site->moves[i].ended_ns >= 0;
    }
    CHECK_EQ_INT(n_ended, 300 * (N_MOVES - 4));
    site_destroy(site);
}

static int use_short_of_memory(long n)
{
    int code;
    mem_fail_after(n);
    struct site *site = site_create("'gpu': 'a40', 'nodes': 2, 'network': {'bandwidth': '10GB/s'}, "
                                    "'storage': {'ssd': {'device': 'pm9a3'}}",
                                    &code);
    if (site->engine == NULL) code = SIM_E_NOMEM;
    for (int i = 0; i < 2 && code == 0; i++)
        code = topology_placement_add(site->topology, &site->placements[i], i, 3, &site->gpu);
    struct topology_end end = {&site->placements[0], NULL};
    if (code == 0) code = topology_tier_named(end.placement, "ssd", &end.tier);
    if (code == 0) code = topology_move(site->topology, gpus(site, 0), end, 1000, &site->moves[0].transfer, note_end);
    if (code == 0)
        code = topology_move(site->topology, gpus(site, 0), gpus(site, 1), 1000, &site->moves[1].transfer, note_end);
    if (code == 0) code = engine_run(site->engine, NULL);
    mem_fail_never();
    if (code == 0) CHECK(site->moves[0].ended_ns > 0 && site->moves[1].ended_ns > 0);
    if (site->placements[0].n_gpus > 0) topology_check(site->topology, engine_now(site->engine));
    site_destroy(site);
    return code;
}

TEST(exhausted_memory_is_reported)
{
    int n = 0, code = SIM_E_NOMEM;
    for (; code != 0 && n < 3000; n++) {
        code = use_short_of_memory(n);
        CHECK(code == 0 || code == SIM_E_NOMEM || code == SIM_E_CONFIG);
    }
    CHECK_EQ_INT(code, 0);
    CHECK(n > 50);
}
