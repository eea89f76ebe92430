/* Jobs that exchange data: step times in closed form on shared and oversubscribed networks, bytes on links, and equal
 * results whatever the queue. Nodes have 2 GPUs and NICs of 10 GB/s, without latency. */
#include "models/step_traffic.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <stdio.h>

#define SITE "'cluster': {'nodes': %d, 'gpus_per_node': 2, 'network': {'bandwidth': '10GB/s', 'latency': '0s'%s}}"
#define STEP "'types': {'default': {'step': {'compute': '1s', 'collectives': [%s]}}}"
#define RING "{'kind': 'all-reduce', 'group': 'rail', 'bytes': '%gGB'}"

static double duration_of(const struct bed_rows *rows, int64_t id)
{
    const struct job_row *row = bed_job(rows, id);
    return row != NULL ? row->end_s - row->start_s : (double)NAN;
}

/* Rails of n nodes: each NIC sends 2 (n-1)/n of the buffer. */
static double ring_s(int n, double gb, double gb_per_s)
{
    return 2.0 * (n - 1) / n * gb / gb_per_s;
}

/* --- The model --- */

/* Reference value: p = 8, 1 GB, 100 GB/s, 5 us: 2 (p-1) (a + v / (p w)) = 17.57 ms. */
TEST(a_ring_takes_its_latencies_and_its_bytes)
{
    const struct step_collective ring = {.kind = STEP_ALL_REDUCE, .group = STEP_GROUP_ALL, .bytes = 1e9};
    const struct step_place place = {.nodes = 8, .gpus_per_node = 1, .channels = 1, .partners = 7};
    const struct step_rates rates = {.node_bytes_per_s = (double)INFINITY, .latency_s = 5e-6};
    CHECK_NEAR(step_collective_s(&ring, &place, &rates, 1e11), 17.57e-3, 1e-12);
    const struct step_collective gather = {.kind = STEP_ALL_GATHER, .group = STEP_GROUP_ALL, .bytes = 1e9};
    CHECK_NEAR(2.0 * step_collective_s(&gather, &place, &rates, 1e11), 17.57e-3, 1e-12);
}

/* Every GPU sends bytes/p to each other one: what leaves a node is the sum over its GPUs. */
TEST(all_to_all_sends_what_its_gpus_send)
{
    for (int nodes = 2; nodes <= 5; nodes++)
        for (int gpus = 1; gpus <= 8; gpus *= 2)
            for (int channels = 1; channels <= gpus; channels *= 2) {
                const struct step_collective all = {.kind = STEP_ALL_TO_ALL, .group = STEP_GROUP_ALL, .bytes = 6e9};
                const struct step_place place = {nodes, gpus, channels, nodes - 1};
                double bytes = 0;
                for (int a = 0; a < nodes * gpus; a++)
                    for (int b = 0; b < nodes * gpus; b++)
                        if (a / gpus == 0 && b / gpus != 0) bytes += 6e9 / (nodes * gpus);
                CHECK_NEAR(step_edge_bytes(&all, &place) * channels * (nodes - 1) / bytes, 1.0, 1e-12);
            }
}

TEST(overlap_hides_what_computing_covers)
{
    const struct step_place place = {2, 1, 1, 1};
    const struct step_rates rates = {(double)INFINITY, 0.0};
    for (int i = 0; i <= 10; i++) {
        const double o = i / 10.0;
        const struct step_collective ring = {STEP_ALL_REDUCE, STEP_GROUP_ALL, 3e9, o}; /* 3 s at 1 GB/s */
        CHECK_NEAR(step_time_s(2.0, &ring, 1, &place, &rates, 1e9), (1 - o) * 3 + fmax(2.0, o * 3), 1e-12);
    }
}

/* --- Jobs --- */

TEST(an_idle_network_gives_the_run_time_of_the_trace)
{
    static const char *const networks[] = {"", ", 'topology': 'fat-tree', 'ports': 8, 'paths': 'planned'",
                                           ", 'topology': 'rails', 'nodes_per_leaf': 2, 'paths': 'planned'",
                                           ", 'per': 'node'"};
    static const char *const kinds[] = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send"};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 5; k++) {
            const struct bed_rows *rows = bed_ok(
                NULL,
                "{" SITE ", 'jobs': {" STEP ", 'trace': {'format': 'inline-jobs', 'jobs': ["
                "{'submit': '0s', 'duration': '100s', 'gpus': 16}, {'submit': '0s', 'duration': '50s', 'gpus': 2}]}}}",
                9, networks[i],
                test_json("{'kind': '%s', 'group': '%s', 'bytes': '3GB'}", kinds[k], k % 2 ? "all" : "rail"));
            CHECK_NEAR(duration_of(rows, 0), 100.0, 1e-8);
            CHECK_NEAR(duration_of(rows, 1), 50.0, 1e-9);
            CHECK_NEAR(bed_metric(rows, "job.network_speed"), 1.0, 1e-9);
        }
}

/* 4 nodes below two leaves: two edges of the ring cross the spines, for each of 2 rails. */
TEST(oversubscription_slows_the_edges_that_cross)
{
    for (int o = 1; o <= 8; o *= 2) {
        const struct bed_rows *rows = bed_ok(
            NULL,
            "{" SITE ", 'jobs': {" STEP ", 'trace': {'format': 'inline-jobs', 'jobs': ["
            "{'submit': '0s', 'duration': '100s', 'gpus': 8}]}}}",
            4,
            test_json(", 'topology': 'leaf-spine', 'nodes_per_leaf': 2, 'oversubscription': %d, 'paths': 'planned'", o),
            test_json(RING, 4.0));
        const double rate = fmin(10.0, 40.0 / o / 2); /* two flows share what leaves a leaf of 4 NICs */
        const double ideal_s = 1 + ring_s(4, 4.0, 10.0), step_s = 1 + ring_s(4, 4.0, rate);
        CHECK_NEAR(duration_of(rows, 0), 100.0 * step_s / ideal_s, 1e-6);
        CHECK_NEAR(bed_metric(rows, "job.network_speed"), ideal_s / step_s, 1e-9);
    }
}

/* Two jobs share the fabric until the shorter one ends; then the longer one is timed anew. */
TEST(jobs_are_timed_anew_when_others_come_and_go)
{
    const struct bed_rows *rows = bed_ok(
        NULL,
        "{" SITE ", 'jobs': {" STEP ", 'trace': {'format': 'inline-jobs', 'jobs': ["
        "{'submit': '0s', 'duration': '100s', 'gpus': 4}, {'submit': '10s', 'duration': '20s', 'gpus': 4}]}}}",
        4, ", 'fabric': '40GB/s'", test_json(RING, 10.0));
    /* 4 claims of 10 GB/s in the first job alone; with the second, 8 claims share 40 GB/s */
    const double ideal_s = 1 + ring_s(2, 10.0, 10.0), shared_s = 1 + ring_s(2, 10.0, 5.0);
    const double slow = ideal_s / shared_s, together_s = 20.0 / slow;
    CHECK_NEAR(duration_of(rows, 1), together_s, 1e-6);
    CHECK_NEAR(duration_of(rows, 0), 10.0 + together_s + (100.0 - 10.0 - together_s * slow), 1e-6);
}

/* The ring of all-reduces is the same whether the steps are stated as one or as reduce-scatter and all-gather. */
TEST(links_carry_the_bytes_of_the_steps)
{
    const char *const lists[] = {"{'kind': 'all-reduce', 'group': 'rail', 'bytes': '4GB'}",
                                 "{'kind': 'reduce-scatter', 'group': 'rail', 'bytes': '4GB'}, "
                                 "{'kind': 'all-gather', 'group': 'rail', 'bytes': '4GB'}"};
    for (int i = 0; i < 2; i++) {
        const struct bed_rows *rows = bed_ok(
            BED(.check = true), "{" SITE ", 'jobs': {" STEP ", 'trace': {'format': 'inline-jobs', 'jobs': ["
                                "{'submit': '0s', 'duration': '160s', 'gpus': 8}]}}}",
            4, ", 'topology': 'leaf-spine', 'nodes_per_leaf': 2", lists[i]);
        const double edge = 160.0 / 1.6 * 6e9; /* steps of 1.6 s, in which 6 GB leave each NIC */
        CHECK_NEAR(bed_metric(rows, "link.network.bytes"), 16 * edge, 16);
        CHECK_NEAR(bed_metric(rows, "link.uplink.bytes"), 8 * edge, 16);
    }
}

/* Megatron-LM's scatter/gather (SC 2021, section 4.1): t GPUs of a stage hold equal activations; each sends 1/t of
 * them instead of all. */
TEST(scatter_and_gather_divide_the_bytes_between_stages)
{
    double bytes[2];
    for (int i = 0; i < 2; i++) {
        const struct bed_rows *rows = bed_ok(
            NULL,
            "{'cluster': {'nodes': 4, 'gpus_per_node': 8, 'network': {'bandwidth': '25GB/s', 'latency': '0s'}}, "
            "'jobs': {'types': {'default': {'step': {'compute': '%gs', 'collectives': ["
            "{'kind': 'send', 'bytes': '%gGB'}]}}}, 'trace': {'format': 'inline-jobs', 'jobs': ["
            "{'submit': '0s', 'duration': '100s', 'gpus': 32}]}}}",
            i == 0 ? 1.0 - 0.32 : 1.0 - 0.04, i == 0 ? 8.0 : 1.0);
        CHECK_NEAR(duration_of(rows, 0), 100.0, 1e-9);
        bytes[i] = bed_metric(rows, "link.network.bytes");
    }
    CHECK_NEAR(bytes[0], 100 * 3 * 8 * 8e9 * 2, 100); /* 100 steps, 3 boundaries, 8 NICs, in and out */
    CHECK_NEAR(bytes[0] / bytes[1], 8.0, 1e-6);
}

/* Hashed paths collide: never faster than planned ones, and slower in most of many draws. */
TEST(planned_paths_are_never_slower_than_hashed_ones)
{
    int n_slower = 0;
    for (int nodes = 5; nodes <= 16; nodes++) {
        double jct[2];
        for (int i = 0; i < 2; i++) {
            const struct bed_rows *rows = bed_ok(
                NULL,
                "{" SITE ", 'jobs': {" STEP ", 'trace': {'format': 'inline-jobs', 'jobs': ["
                "{'submit': '0s', 'duration': '100s', 'gpus': %d}]}}}",
                16, test_json(", 'topology': 'fat-tree', 'ports': 8, 'paths': '%s'", i == 0 ? "ecmp" : "planned"),
                "{'kind': 'all-to-all', 'bytes': '9GB'}", 2 * nodes);
            jct[i] = duration_of(rows, 0);
        }
        CHECK(jct[0] > jct[1] - 1e-6);
        CHECK_NEAR(jct[1], 100.0, 1e-6);
        n_slower += jct[0] > jct[1] + 1e-6;
    }
    CHECK(n_slower > 6);
}

/* --- Identity --- */

static const char *random_site(uint64_t index)
{
    static const char *const networks[] = {
        ", 'topology': 'fat-tree', 'ports': 6, 'levels': 3",
        ", 'topology': 'leaf-spine', 'nodes_per_leaf': 2, 'oversubscription': 3",
        ", 'topology': 'rails', 'nodes_per_leaf': 2, 'oversubscription': 2, 'paths': 'planned'",
        ", 'fabric': '25GB/s'"};
    static const char *const kinds[] = {"all-reduce", "all-to-all", "send"};
    struct rng rng = test_rng(index, "traffic", 0);
    static char jobs[2048];
    size_t n = 0;
    jobs[0] = 0;
    double at = 0;
    for (int i = 0; i < 12; i++) {
        at += (double)rng_below(&rng, 30);
        n += (size_t)snprintf(jobs + n, sizeof jobs - n,
                              "%s{'submit': '%gs', 'duration': '%ds', 'gpus': %d, 'type': '%s'}", i > 0 ? "," : "", at,
                              5 + (int)rng_below(&rng, 100), 1 + (int)rng_below(&rng, 14),
                              rng_below(&rng, 3) == 0 ? "plain" : "talks");
    }
    return test_json(
        "{" SITE
        ", 'seed': %d, 'failures': {'causes': {'node': {'scope': 'node', 'lifetime': {'mean': '2000s'}, 'repair': {'mean': '30s'}}, "
        "'nic': {'scope': 'nic', 'lifetime': {'mean': '500s'}, 'slow': 0.4, 'repair': {'mean': '20s'}}, "
        "'hang': {'scope': 'gpu', 'lifetime': {'mean': '4000s'}, 'detection': {'mean': '15s'}, "
        "'repair': {'mean': '9s'}}, 'straggler': {'scope': 'node', 'lifetime': {'mean': '600s'}, "
        "'slow': 0.5, 'repair': {'mean': '40s'}}}}, 'jobs': {"
        "'scheduler': 'fifo-skip', 'placement': '%s', 'types': {'plain': {}, 'talks': {'step': {"
        "'compute': '1s', 'collectives': [{'kind': '%s', 'bytes': '3GB', 'overlap': 0.3}]}}},"
        "'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}",
        8, networks[rng_below(&rng, 4)], (int)index, rng_below(&rng, 2) ? "consolidated" : "topology-aware",
        kinds[rng_below(&rng, 3)], jobs);
}

TEST(queues_and_checks_change_nothing)
{
    for (uint64_t index = 1; index <= 12; index++) {
        const char *site = random_site(index);
        struct bed_rows *plain = bed_ok(NULL, "%s", site), *heap = bed_ok(BED(.queue = QUEUE_HEAP), "%s", site),
                        *step = bed_ok(BED(.single_step = true, .check = true), "%s", site);
        CHECK(bed_equal(plain, heap));
        CHECK(bed_equal(plain, step));
        CHECK(bed_metric(plain, "job.network_speed") <= 1.0 + 1e-9);
        bed_free(plain);
        bed_free(heap);
        bed_free(step);
    }
}

/* --- Slow components --- */

#define CONSTANT(mean) "{'law': 'constant', 'mean': '" mean "'}"

/* Life 100 s, then 50 s at half speed, and so on: 150 s for 125 s of work. */
TEST(a_slow_node_slows_its_job_until_it_is_mended)
{
    const struct bed_rows *rows = bed_ok(
        NULL,
        "{'cluster': {'nodes': 1}, 'failures': {'causes': {'slow': {'scope': 'node', 'slow': 0.5, 'lifetime': " CONSTANT(
            "100s") ", 'repair': " CONSTANT("50s") "}}}, 'jobs': {'trace': {'format': 'inline-jobs', "
                                                   "'jobs': [{'submit': '0s', 'duration': '400s', 'gpus': 8}]}}}");
    CHECK_NEAR(duration_of(rows, 0), 3 * 150 + 25, 1e-6);
    CHECK_EQ_INT(bed_metric(rows, "failure.interrupts"), 0);
}

/* The node hangs at 100 s and is found at 120 s. The job has lost its 20 s of work and 20 s of waiting. It restarts
 * when the node has been repaired, at 150 s, after 5 s. */
TEST(a_hang_holds_its_job_until_it_is_found)
{
    const struct bed_rows *rows = bed_ok(
        NULL,
        "{'cluster': {'nodes': 1}, 'failures': {'causes': {'hang': {'scope': 'node', 'lifetime': " CONSTANT("100s") ", 'detection': " CONSTANT(
            "20s") ", 'repair': " CONSTANT("30s") ", 'restart': " CONSTANT("5s") "}}}, 'jobs': {'trace': {'format': 'inline-jobs', "
                                                                                 "'jobs': [{'submit': '80s', 'duration': '60s', 'gpus': 8}]}}}");
    CHECK_NEAR(bed_job(rows, 0)->end_s, 150 + 5 + 60, 1e-6);
    CHECK_EQ_INT(bed_metric(rows, "failure.interrupts"), 1);
}

/* A job that hangs, and hears of another failure meanwhile, has no expected end: 2^63 ns are a time like others. */
TEST(easy_bears_a_job_without_an_end)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 6, 'gpus_per_node': 1, 'network': {'bandwidth': '10GB/s'}}, 'seed': 2, 'until': '2000s', "
        "'jobs': {'scheduler': 'easy', 'trace': {'format': 'inline-jobs', 'jobs': [{'gpus': 4, 'duration': '100s'}, "
        "{'duration': '100s'}]}}, 'failures': {'causes': {'c0': {'scope': 'nic', 'lifetime': %s, 'repair': %s, "
        "'detection': {'mean': '5s'}, 'slow': 0.5}, 'c1': {'scope': 'job', 'lifetime': %s, 'restart': {'law': "
        "'lognormal', 'mean': '5s', 'shape': 0.5}}, 'c2': {'scope': 'node', 'lifetime': {'law': 'weibull', 'mean': "
        "'100s', 'shape': 2}, 'repair': %s, 'detection': %s}}}}",
        CONSTANT("300s"), CONSTANT("50s"), CONSTANT("100s"), CONSTANT("50s"), CONSTANT("5s"));
    CHECK(bed_metric(rows, "failure.interrupts") > 3);
}

/* All NICs have a quarter of their bandwidth from 50 s on, for 20 s of each 70 s: the ring waits for the slow edges. */
TEST(slow_nics_slow_what_is_exchanged)
{
    const struct bed_rows *rows = bed_ok(
        NULL,
        "{" SITE ", 'failures': {'causes': {'nic': {'scope': 'nic', 'slow': 0.25, 'lifetime': " CONSTANT(
            "50s") ", 'repair': " CONSTANT("20s") "}}}, 'jobs': {" STEP ", 'trace': {'format': 'inline-jobs', 'jobs': ["
                                                  "{'submit': '0s', 'duration': '120s', 'gpus': 4}]}}}",
        2, "", test_json(RING, 10.0));
    const double speed = (1 + ring_s(2, 10.0, 10.0)) / (1 + ring_s(2, 10.0, 2.5));
    CHECK_NEAR(duration_of(rows, 0), 140 + 120 - 2 * (50 + 20 * speed), 1e-6);
}

/* One of two jobs is on slow GPUs, as drawn; a job over both nodes is as slow as the slower node. */
TEST(a_job_waits_for_its_slowest_node)
{
    for (int seed = 1; seed <= 20; seed++) {
        double end_s[3];
        for (int i = 0; i < 3; i++) {
            const char *const jobs[] = {"{'submit': '0s', 'duration': '100s', 'gpus': 1}, {'submit': '0s', 'duration': '100s', 'gpus': 1}",
                                        "{'submit': '0s', 'duration': '100s', 'gpus': 2}"};
            const struct bed_rows *rows = bed_ok(
                NULL,
                "{'seed': %d, 'until': '1000s', 'cluster': {'nodes': 2, 'gpus_per_node': 1}, 'failures': {'causes': {'slow': {'scope': 'gpu', "
                "'slow': 0.5, 'lifetime': {'mean': '100s'}, 'repair': " CONSTANT(
                    "10000s") "}}}, 'jobs': {"
                              "'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}",
                seed, jobs[i == 2]);
            end_s[i] = bed_job(rows, i % 2)->end_s;
        }
        CHECK_NEAR(end_s[2], fmax(end_s[0], end_s[1]), 1e-9);
    }
}

static const struct bed_rows *on_slow_nodes(int seed, int stragglers, const char *jobs)
{
    return bed_ok(NULL,
                  "{'seed': %d, 'until': '1000s', 'cluster': {'nodes': 2, 'gpus_per_node': 1, 'network': {'bandwidth': "
                  "'10GB/s', 'latency': '0s'}}, 'failures': {'causes': {'slow': {'scope': 'node', 'slow': 0.5, "
                  "'lifetime': {'mean': '60s'}, 'repair': " CONSTANT(
                      "10000s") "}}}, 'jobs': {'types': {'default': {"
                                "'step': {'compute': '1s', 'stragglers': %d, 'collectives': [" RING
                                "]}}}, 'trace': {'format': "
                                "'inline-jobs', 'jobs': [%s]}}}",
                  seed, stragglers, 10.0, jobs);
}

/* Two jobs of one GPU show when their nodes become slow. A job over both nodes, with steps of 1 s computing and 1 s
 * exchange, is slow from the first of these times on. With coding its steps take 3 s instead of 2 s, and it is slow
 * from the second time on. */
TEST(gradient_coding_bears_stragglers)
{
    for (int seed = 1; seed <= 20; seed++) {
        const struct bed_rows *single = on_slow_nodes(seed, 0,
                                                      "{'submit': '0s', 'duration': '100s', 'gpus': 1}, "
                                                      "{'submit': '0s', 'duration': '100s', 'gpus': 1}");
        const double a_s = 200 - bed_job(single, 0)->end_s, b_s = 200 - bed_job(single, 1)->end_s;
        for (int coded = 0; coded <= 1; coded++) {
            const struct bed_rows *both = on_slow_nodes(seed, coded, "{'submit': '0s', 'duration': '40s', 'gpus': 2}");
            const double since_s = coded ? fmax(a_s, b_s) : fmin(a_s, b_s), all_s = coded ? 60 : 40;
            CHECK_NEAR(bed_job(both, 0)->end_s, since_s < all_s ? since_s + (all_s - since_s) / 0.5 : all_s, 1e-6);
        }
    }
}

/* A job cannot do without all its nodes: on one node coding bears nothing and costs nothing, on two it bears one. */
TEST(gradient_coding_never_bears_all_nodes)
{
    for (int seed = 1; seed <= 20; seed++)
        for (int gpus = 1; gpus <= 2; gpus++) {
            char jobs[80];
            double end_s[2];
            snprintf(jobs, sizeof jobs, "{'submit': '0s', 'duration': '100s', 'gpus': %d}", gpus);
            for (int more = 0; more <= 1; more++)
                end_s[more] = bed_job(on_slow_nodes(seed, gpus - 1 + more, jobs), 0)->end_s;
            CHECK_NEAR(end_s[1], end_s[0], 1e-9);
        }
}

/* --- Metrics --- */

/* Jobs of 100 steps, each with two nodes of its own: a ring between two nodes sends its buffer once by each of 8
 * links, of which those of the lone node have no part. */
TEST(metrics_of_links_are_of_those_used)
{
    static const double gb[][2] = {{1, 3}, {3, 1}, {2, 2}};
    for (size_t i = 0; i < sizeof gb / sizeof *gb; i++) {
        const double end_s = 100 + 10 * fmax(gb[i][0], gb[i][1]), sum = gb[i][0] + gb[i][1];
        char types[512], jobs[512];
        snprintf(types, sizeof types,
                 "'a': {'step': {'compute': '1s', 'collectives': [" RING "]}}, 'b': {'step': {'compute': '1s',"
                 " 'collectives': [" RING "]}}",
                 gb[i][0], gb[i][1]);
        snprintf(
            jobs, sizeof jobs,
            "{'type': 'a', 'submit': '0s', 'duration': '%gs', 'gpus': 4}, {'type': 'b', 'submit': '0s', 'duration':"
            " '%gs', 'gpus': 4}",
            100 + 10 * gb[i][0], 100 + 10 * gb[i][1]);
        const struct bed_rows *rows = bed_ok(
            NULL, "{" SITE ", 'jobs': {'types': {%s}, 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}", 5, "", types,
            jobs);
        CHECK_NEAR(bed_metric(rows, "sim.end_s"), end_s, 1e-6);
        CHECK_NEAR(bed_metric(rows, "link.network.bytes") / (8 * 100 * 1e9 * sum), 1.0, 1e-9);
        CHECK_NEAR(bed_metric(rows, "link.network.used_frac.mean") / (100 * sum / 2 / (10 * end_s)), 1.0, 1e-6);
        CHECK_NEAR(bed_metric(rows, "link.network.used_frac.max") / (100 * fmax(gb[i][0], gb[i][1]) / (10 * end_s)),
                   1.0, 1e-6);
        CHECK(isnan(bed_metric(rows, "link.pcie.bytes")) && isnan(bed_metric(rows, "link.uplink.used_frac.mean")));
    }
}

/* --- Errors --- */

TEST(steps_that_cannot_be_are_refused)
{
    static const char *const cases[][3] = {
        {"'nodes': 4", "'scheduler': 'fifo'", "steps exchange data between nodes, and there is no network"},
        {"'nodes': 4, 'network': {'bandwidth': '1GB/s'}", "'placement': 'counted'",
         "steps exchange data between nodes, and jobs are on no nodes in particular"},
        {"'unlimited': true, 'network': {'bandwidth': '1GB/s'}", "'scheduler': 'fifo'",
         "steps exchange data between nodes, and jobs are on no nodes in particular"},
        {"'nodes': 2, 'gpus_per_node': 128, 'network': {'bandwidth': '1GB/s'}", "'scheduler': 'fifo'",
         "steps exchange data between nodes with at most 64 NICs each"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct bed_rows *rows = bed_run(
            BED(.quiet = true), "{'cluster': {%s}, 'jobs': {%s, " STEP ", 'trace': {'format': 'inline-jobs', 'jobs': "
                                "[{'submit': '0s', 'duration': '1s', 'gpus': 1}]}}}",
            cases[i][0], cases[i][1], test_json(RING, 1.0));
        CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
        /* warnings come before it */
        if (rows->code != 0) CHECK_EQ_STR(rows->diag.items[rows->diag.n_items - 1].text, cases[i][2]);
    }
    const struct bed_rows *rows = bed_run(
        BED(.quiet = true), "{" SITE ", 'jobs': {" STEP ", 'trace': {'format': 'inline-jobs', 'jobs': []}}}", 2, "",
        "{'kind': 'all-reduce', 'bytes': '1GB'}, {'kind': 'all-to-all', 'bytes': '1GB'}");
    CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
    if (rows->code != 0)
        CHECK_EQ_STR(rows->diag.items[0].text, "the collectives between nodes have different patterns");
}
