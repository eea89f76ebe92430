/* Jobs that train by a plan on a network: speeds as `orrery plan` has them at the bandwidth that is granted, bytes on
 * links in closed form, and equal results whatever the queue. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#define SITE "'cluster': {'nodes': %d, 'gpus_per_node': %d, 'gpu': 'h100-sxm', 'network': {'bandwidth': '%s'%s}}"
#define TYPE "'types': {'t': {'training': {%s}}, 'plain': {}}"
#define DENSE "'llm': 'llama-3.1-8b', 'tensor_parallel': 4, 'global_batch': 64"
#define STAGES "'llm': 'llama-3.1-8b', 'tensor_parallel': 2, 'pipeline_parallel': 4, 'global_batch': 64"
#define EXPERTS "'llm': 'qwen3-30b-a3b', 'expert_parallel': 16, 'global_batch': 64, 'recompute': 'full'"
#define LONG                                                                                                           \
    "'llm': 'llama-3.1-8b', 'tensor_parallel': 2, 'context_parallel': 8, 'recompute': 'full', 'sequence_tokens': "     \
    "32768, 'global_batch': 8"
#define HEADS                                                                                                          \
    "'llm': 'llama-3.1-8b', 'context_parallel': 8, 'tensor_parallel': 2, 'context_form': 'all-to-all', 'recompute': "  \
    "'full', 'sequence_tokens': 32768, 'global_batch': 8"
#define INTERLEAVED                                                                                                    \
    "'llm': 'llama-3.1-8b', 'tensor_parallel': 4, 'pipeline_parallel': 4, 'pipeline_chunks': 2, 'schedule': "          \
    "'interleaved', 'global_batch': 64"
#define ZERO3 "'llm': 'llama-3.1-8b', 'zero': 3, 'global_batch': 64, 'recompute': 'full'"

#define QUERIES                                                                                                        \
    "'llm': 'llama-3.1-8b', 'tensor_parallel': 2, 'context_parallel': 8, 'context_form': 'token-ring', 'recompute': "  \
    "'full', 'sequence_tokens': 32768, 'global_batch': 8"
#define SHORT_QUERIES                                                                                                  \
    "'llm': 'llama-2-7b', 'shape': {'layers': 8}, 'context_parallel': 4, 'context_form': 'token-ring', 'precision': "  \
    "'fp16', 'sequence_tokens': 4096, 'global_batch': 8"
#define LINEAR                                                                                                         \
    "'llm': 'llama-3.1-8b', 'tensor_parallel': 2, 'context_parallel': 8, 'shape': {'linear_layers': 24}, "             \
    "'recompute': 'full', 'sequence_tokens': 32768, 'global_batch': 8"
#define MANY_STAGES "'llm': 'llama-3.1-8b', 'pipeline_parallel': 16, 'global_batch': 64"

static const char *const plans[] = {DENSE, STAGES, EXPERTS, LONG, HEADS, INTERLEAVED, ZERO3, MANY_STAGES, QUERIES, LINEAR};
enum { N_PLANS = sizeof plans / sizeof *plans };

#define ONE(gpus) "{'submit': '0s', 'type': 't', 'gpus': " #gpus ", 'steps': 50}"

static struct bed_rows *run(const char *site, const char *plan, const char *jobs)
{
    return bed_ok(BED(.check = true), "{%s, 'jobs': {" TYPE ", 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}", site,
                  plan, jobs);
}

static double duration_of(const struct bed_rows *rows, int64_t id)
{
    const struct job_row *row = bed_job(rows, id);
    return row != NULL ? row->end_s - row->start_s : (double)NAN;
}

/* Where GPUs are only counted, a job's time is that of its plan (`orrery plan`) alone. */
static double planned_s(int nodes, const char *bandwidth, const char *plan, const char *jobs)
{
    const struct bed_rows *rows = bed_ok(NULL,
                                         "{" SITE ", 'jobs': {'placement': 'counted', " TYPE
                                         ", 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}",
                                         nodes, 8, bandwidth, "", plan, jobs);
    CHECK(isnan(bed_metric(rows, "job.network_speed")));
    return duration_of(rows, 0);
}

TEST(an_idle_network_gives_the_steps_of_the_plan)
{
    static const char *const networks[] = {"", ", 'topology': 'fat-tree', 'ports': 16, 'paths': 'planned'",
                                           ", 'topology': 'rails', 'nodes_per_leaf': 2, 'paths': 'planned'",
                                           ", 'per': 'node'"};
    for (int i = 0; i < N_PLANS; i++)
        for (int k = 0; k < 4; k++) {
            const struct bed_rows *rows = run(test_json(SITE, 4, 8, "50GB/s", networks[k]), plans[i], ONE(32));
            const double whole_s = planned_s(4, k == 3 ? "6.25GB/s" : "50GB/s", plans[i], ONE(32));
            CHECK_NEAR(bed_metric(rows, "job.network_speed"), 1.0, 0.0);
            CHECK_NEAR(duration_of(rows, 0), whole_s, 1e-8);
            CHECK(bed_metric(rows, "link.network.bytes") > 0.0);
        }
}

/* Where all GPUs send as much, a fabric that grants each a rate is a network of that rate, of however many kinds its
 * messages are. */
TEST(a_grant_is_a_network_of_that_bandwidth)
{
    static const char *const alone[] = {DENSE, ZERO3, EXPERTS};
    for (int i = 0; i < 3; i++)
        for (int slower = 2; slower <= 8; slower *= 2) {
            const struct bed_rows *shared = run(
                test_json(SITE, 4, 8, "40GB/s", test_json(", 'fabric': '%dGB/s'", 32 * 40 / slower)), alone[i],
                ONE(32));
            const double slow_s = planned_s(4, test_json("%gGB/s", 40.0 / slower), alone[i], ONE(32));
            CHECK_NEAR(duration_of(shared, 0), slow_s, 1e-6 * slow_s);
            CHECK(bed_metric(shared, "job.network_speed") < 1.0);
        }
}

/* A switch that carries less never makes a job faster, and the job's time changes when others come and go. */
TEST(oversubscription_never_helps)
{
    for (int i = 0; i < N_PLANS; i++) {
        double before_s = 0.0;
        for (int over = 1; over <= 8; over *= 2) {
            const struct bed_rows *rows = run(test_json(SITE, 4, 8, "50GB/s",
                                                        test_json(", 'topology': 'leaf-spine', 'nodes_per_leaf': 2, "
                                                                  "'oversubscription': %d, 'paths': 'planned'",
                                                                  over)),
                                              plans[i], ONE(32));
            CHECK(duration_of(rows, 0) >= before_s);
            before_s = duration_of(rows, 0);
        }
        CHECK(before_s > 0.0);
    }
}

/* Two jobs on half of the site each share the fabric until the shorter one ends. */
TEST(jobs_slow_each_other_down)
{
    const char *site = test_json(SITE, 4, 8, "40GB/s", ", 'fabric': '640GB/s'"); /* enough for one job */
    const struct bed_rows *alone = run(site, DENSE, ONE(16));
    const struct bed_rows *both = run(site, DENSE, ONE(16) ", {'submit': '0s', 'type': 't', 'gpus': 16, 'steps': 20}");
    const struct bed_rows *half = run(test_json(SITE, 4, 8, "20GB/s", ""), DENSE, ONE(16));
    const double idle_s = duration_of(alone, 0) / 50, shared_s = duration_of(half, 0) / 50;
    CHECK(shared_s > idle_s);
    CHECK_NEAR(duration_of(both, 1), 20 * shared_s, 1e-6);
    CHECK_NEAR(duration_of(both, 0), 20 * shared_s + 30 * idle_s, 1e-6);
}

/* GPUs of one tensor group on two nodes: its collectives leave the node, as on a site of smaller nodes. */
TEST(a_tensor_group_on_two_nodes_uses_the_network)
{
    const struct bed_rows *split = bed_ok(
        BED(.check = true), "{" SITE ", 'jobs': {'placement': 'first-fit', " TYPE ", 'trace': {'format': 'inline-jobs', "
                            "'jobs': [{'submit': '0s', 'type': 'plain', 'gpus': 6, 'duration': '9h'}, "
                            "{'submit': '1s', 'type': 't', 'gpus': 4, 'steps': 50}]}}}",
        2, 8, "50GB/s", "", DENSE);
    const struct bed_rows *small = run(test_json(SITE, 2, 2, "50GB/s", ""), DENSE, ONE(4));
    const struct bed_rows *whole = run(test_json(SITE, 1, 8, "50GB/s", ""), DENSE, ONE(4));
    CHECK_NEAR(duration_of(split, 1), duration_of(small, 0), 1e-6);
    CHECK(duration_of(whole, 0) < duration_of(small, 0));
    CHECK_NEAR(bed_metric(split, "job.network_speed"), duration_of(whole, 0) / duration_of(small, 0), 1e-9);
}

/* So does a ring of queries: on a mesh its ranks have links of their own within a node, and one port between nodes. */
TEST(a_ring_of_queries_on_two_nodes_uses_the_network)
{
    static const char site[] = "'cluster': {'nodes': %d, 'gpus_per_node': %d, 'gpu': 'v100-32-sxm', "
                               "'network': {'bandwidth': '12GB/s'}}";
    const struct bed_rows *split = bed_ok(
        BED(.check = true), "{%s, 'jobs': {'placement': 'first-fit', " TYPE ", 'trace': {'format': 'inline-jobs', "
                            "'jobs': [{'submit': '0s', 'type': 'plain', 'gpus': 6, 'duration': '9h'}, "
                            "{'submit': '1s', 'type': 't', 'gpus': 4, 'steps': 50}]}}}",
        test_json(site, 2, 8), SHORT_QUERIES);
    const struct bed_rows *small = run(test_json(site, 2, 2), SHORT_QUERIES, ONE(4));
    CHECK_NEAR(duration_of(split, 1), duration_of(small, 0), 1e-6);
}

/* ZeRO 1 on 2 nodes: gradients of 4 bytes are scattered, weights of 2 bytes gathered, (d-1)/d of both leave each rank,
 * a part of that the node. Links count bytes that leave and that come. */
TEST(links_carry_the_gradients_and_weights)
{
    const double parameters = 8030261248.0, steps = 50.0; /* Llama 3.1 8B */
    for (int nodes = 2; nodes <= 4; nodes++) {
        const struct bed_rows *rows = run(
            test_json(SITE, nodes, 8, "50GB/s", ", 'topology': 'leaf-spine', 'nodes_per_leaf': 1"), DENSE,
            test_json("{'submit': '0s', 'type': 't', 'gpus': %d, 'steps': 50}", 8 * nodes));
        const double ranks = 2.0 * nodes, leaves = (ranks - 1) / ranks * 6.0 * parameters / 4.0;
        const double bytes = 4.0 * nodes * leaves * steps; /* four rings over all nodes */
        CHECK_NEAR(bed_metric(rows, "link.network.bytes") / (2.0 * bytes), 1.0, 1e-4);
        CHECK_NEAR(bed_metric(rows, "link.uplink.bytes") / bed_metric(rows, "link.network.bytes"), 1.0, 1e-9);
    }
}

/* Nodes with a leaf of their own: what a plan sends goes to other nodes, so all of it crosses uplinks. */
TEST(no_message_goes_to_its_own_node)
{
    for (int i = 0; i < N_PLANS; i++) {
        const struct bed_rows *rows = run(
            test_json(SITE, 8, 2, "50GB/s", ", 'topology': 'leaf-spine', 'nodes_per_leaf': 1"), plans[i], ONE(16));
        CHECK(bed_metric(rows, "link.network.bytes") > 0);
        CHECK_NEAR(bed_metric(rows, "link.uplink.bytes") / bed_metric(rows, "link.network.bytes"), 1.0, 1e-9);
    }
}

/* Stages of one node each send b s h numbers each way for each micro-batch, over all GPUs of a node together. */
TEST(links_carry_the_hidden_states)
{
    const struct bed_rows *rows = run(test_json(SITE, 4, 8, "50GB/s", ""),
                                      "'llm': 'llama-3.1-8b', 'tensor_parallel': 8, 'pipeline_parallel': 4, "
                                      "'global_batch': 16",
                                      ONE(32));
    const double bytes = 50.0 * 16.0 * 3.0 * 2.0 * 4096.0 * 4096.0 * 2.0; /* steps, batches, boundaries, ways */
    CHECK_NEAR(bed_metric(rows, "link.network.bytes") / (2.0 * bytes), 1.0, 1e-9);
}

/* What stays inside a node moves nothing over the network, whatever the plan. */
TEST(a_job_on_one_node_sends_nothing)
{
    const struct bed_rows *rows = run(test_json(SITE, 4, 8, "50GB/s", ""), DENSE, ONE(8) ", " ONE(4));
    CHECK(isnan(bed_metric(rows, "link.network.bytes")) || bed_metric(rows, "link.network.bytes") == 0.0);
    CHECK_NEAR(duration_of(rows, 0), planned_s(4, "50GB/s", DENSE, ONE(8)), 1e-8);
}

/* --- Identity --- */

static const char *random_site(uint64_t index)
{
    static const char *const networks[] = {
        ", 'topology': 'fat-tree', 'ports': 16, 'levels': 3",
        ", 'topology': 'leaf-spine', 'nodes_per_leaf': 2, 'oversubscription': 3",
        ", 'topology': 'rails', 'nodes_per_leaf': 2, 'oversubscription': 2, 'paths': 'planned'",
        ", 'fabric': '100GB/s'", ", 'per': 'node', 'fabric': '25GB/s'"};
    static const char *const placements[] = {"consolidated", "topology-aware", "first-fit"};
    static const char *const schedulers[] = {"fifo-skip", "srtf", "equi", "easy"};
    struct rng rng = test_rng(index, "messages", 0);
    static char jobs[2048];
    size_t n = 0;
    jobs[0] = 0;
    double at = 0;
    for (int i = 0; i < 10; i++) {
        at += (double)rng_below(&rng, 60);
        const int kind = i % 3, size = 5 + (int)rng_below(&rng, 60);
        const char *work = test_json(kind == 0 ? "'duration': '%ds'" : "'steps': %d", size);
        n += (size_t)snprintf(jobs + n, sizeof jobs - n, "%s{'submit': '%gs', 'gpus': %d, 'type': '%s', %s}",
                              i > 0 ? "," : "", at, 4 << rng_below(&rng, 4),
                              kind == 0   ? "plain"
                              : kind == 1 ? "t"
                                          : "u",
                              work);
    }
    return test_json("{" SITE
                     ", 'seed': %d, 'failures': {'causes': {'node': {'scope': 'node', 'lifetime': {'mean': '3000s'}, "
                     "'repair': {'mean': '30s'}}, 'nic': {'scope': 'nic', 'lifetime': {'mean': '500s'}, 'slow': 0.4, "
                     "'repair': {'mean': '20s'}}}}, 'jobs': {'scheduler': '%s', 'placement': '%s', 'types': {'plain': "
                     "{}, 't': {'training': {%s}}, 'u': {'training': {%s}}}, 'trace': {'format': 'inline-jobs', "
                     "'jobs': [%s]}}}",
                     8, 8, "50GB/s", networks[rng_below(&rng, 5)], (int)index, schedulers[rng_below(&rng, 4)],
                     placements[rng_below(&rng, 3)], DENSE, STAGES, jobs);
}

TEST(queues_and_checks_change_nothing)
{
    for (uint64_t index = 1; index <= 8; index++) {
        const char *site = random_site(index);
        struct bed_rows *plain = bed_ok(NULL, "%s", site), *heap = bed_ok(BED(.queue = QUEUE_HEAP), "%s", site),
                        *step = bed_ok(BED(.single_step = true, .check = true), "%s", site);
        CHECK(bed_equal(plain, heap));
        CHECK(bed_equal(plain, step));
        CHECK(!(bed_metric(plain, "job.network_speed") > 1.0 + 1e-9));
        bed_free(plain);
        bed_free(heap);
        bed_free(step);
    }
}

/* --- Errors --- */

TEST(a_node_with_too_many_nics_is_refused)
{
    const struct bed_rows *rows = bed_run(
        BED(.quiet = true), "{" SITE ", 'jobs': {" TYPE ", 'trace': {'format': 'inline-jobs', 'jobs': []}}}", 2, 128,
        "50GB/s", "", DENSE);
    CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
    if (rows->code != 0)
        CHECK_EQ_STR(rows->diag.items[0].text, "steps exchange data between nodes with at most 64 NICs each");
}
