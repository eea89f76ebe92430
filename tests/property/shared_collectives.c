/* Collectives of replicas over nodes on the links of the site: nothing changes where nothing is contended; bytes on
 * links are those of closed forms; a replica with a share of the network is as fast as one alone on a network with that
 * share of the bandwidth; transfers get what it leaves, and no link carries more than its bandwidth; more contention
 * never makes anything faster. */
#include "models/kernel.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <math.h>

/* Two replicas, each of 8 GPUs on two nodes, and jobs on the other nodes; all behind the ports of one-node leaves. */
#define SITE                                                                                                           \
    "{'cluster': {'nodes': 8, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '20GB/s', 'latency': "  \
    "'0s', 'collectives': '%s', 'topology': 'leaf-spine', 'nodes_per_leaf': 2, 'uplink': '400GB/s'}}, 'seed': 3, "      \
    "'services': {'chat': {'llm': 'llama-2-7b', 'tensor_parallel': %d, 'replicas': %d, 'cost': {'kind': 'operators', "  \
    "'kernels': 'isolated'}, 'batching': {'policy': 'vllm-v1', 'token_budget': 1024}, 'trace': %s}}%s}"
#define ONE_REQUEST                                                                                                    \
    "{'format': 'generate', 'count': 1, 'arrival': {'process': 'fixed', 'rate': '1/s'}, 'prompt': {'distribution': "    \
    "'fixed', 'tokens': 192}, 'output': {'distribution': 'fixed', 'tokens': 101}}"
#define MANY_REQUESTS                                                                                                  \
    "{'format': 'generate', 'count': 60, 'arrival': {'process': 'poisson', 'rate': '8/s'}, 'prompt': {'distribution': " \
    "'uniform', 'min': 20, 'max': 900}, 'output': {'distribution': 'uniform', 'min': 1, 'max': 150}}"

/* The share of a NIC that collectives reach, of the calibration set "isolated" (configs/calibration). */
static const double network_frac = 0.75;

/* Neither bytes of collectives nor times change where every edge gets its full rate. */
TEST(an_idle_network_changes_nothing)
{
    static const int widths[][2] = {{8, 1}, {8, 3}, {16, 1}, {32, 1}, {4, 4}};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        struct bed_rows *alone = bed_ok(BED(.check = true), SITE, "alone", widths[i][0], widths[i][1], MANY_REQUESTS, "");
        struct bed_rows *shared = bed_ok(BED(.check = true), SITE, "shared", widths[i][0], widths[i][1], MANY_REQUESTS,
                                         "");
        CHECK_EQ_INT(alone->n_requests, shared->n_requests);
        for (size_t k = 0; k < alone->n_requests; k++)
            CHECK_NEAR(alone->requests[k].e2e_s, shared->requests[k].e2e_s, 1e-12);
        const double bytes = bed_metric(shared, "link.network.bytes");
        CHECK(widths[i][0] > 4 ? bytes > 0 : isnan(bytes));
        CHECK(isnan(bed_metric(alone, "link.network.bytes")));
        const double busy_frac = bed_metric(shared, "link.network.busy_frac.max"); /* of transfers, here none */
        CHECK(widths[i][0] > 4 ? busy_frac == 0.0 : isnan(busy_frac));
    }
}

/* Leaves of one node whose ports carry what its NICs send, one port for each NIC. Planned paths give each edge of a
 * ring, or of an exchange between two nodes, a port of its own, so that nothing is slower than on a network of its
 * own. With more nodes as many edges share a port as share a NIC. Hashed paths meet on some port. */
TEST(planned_paths_of_a_replica_do_not_meet)
{
    static const char *const gpus[] = {"cluster.gpus_per_node=8", "cluster.gpus_per_node=4", "cluster.gpus_per_node=2"};
    static const char *const llms[] = {"llama-2-7b", "mixtral-8x7b"};
    for (int i = 0; i < 6; i++) {
        char llm[64], groups[64], experts[64];
        const bool has_experts = i % 2 == 1;
        snprintf(llm, sizeof llm, "services.chat.llm=%s", llms[i % 2]);
        snprintf(groups, sizeof groups, "services.chat.data_parallel=%d", has_experts ? 8 : 1);
        snprintf(experts, sizeof experts, "services.chat.cost.expert_parallel=%d", has_experts ? 8 : 1);
        const char *const sets[] = {gpus[i / 2], llm, groups, experts, "cluster.network.nodes_per_leaf=1",
                                    "cluster.network.uplink=20GB/s", "cluster.network.paths=planned", NULL};
        const char *const hashed[] = {gpus[i / 2], llm, groups, experts, "cluster.network.nodes_per_leaf=1",
                                      "cluster.network.uplink=20GB/s", NULL};
        struct bed_rows *alone = bed_ok(BED(.sets = sets), SITE, "alone", 16 >> (i / 2 > 0), 1, ONE_REQUEST, "");
        struct bed_rows *planned = bed_ok(BED(.check = true, .sets = sets), SITE, "shared", 16 >> (i / 2 > 0), 1,
                                          ONE_REQUEST, "");
        struct bed_rows *ecmp = bed_ok(BED(.check = true, .sets = hashed), SITE, "shared", 16 >> (i / 2 > 0), 1,
                                       ONE_REQUEST, "");
        CHECK_NEAR(planned->requests[0].e2e_s, alone->requests[0].e2e_s, 1e-12);
        CHECK(ecmp->requests[0].e2e_s > 1.001 * alone->requests[0].e2e_s);
    }
}

/* A ring enters and leaves each node once. One request: 100 iterations of a token behind one of 192. */
TEST(bytes_on_links_are_those_of_the_rings)
{
    static const int widths[] = {8, 16, 32};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        struct bed_rows *rows = bed_ok(BED(.check = true), SITE, "shared", widths[i], 1, ONE_REQUEST, "");
        const double n = widths[i], nodes = n / 4, hidden = 4096, layers = 32, vocabulary = 32000, tokens = 292;
        const double all_reduces = (2 * layers + 1) * 2 * (n - 1) / n * hidden * 2 * tokens;
        const double gathers = (n - 1) / n * vocabulary * 2 * 101;
        const double left = nodes * (all_reduces + gathers); /* over all adapters of each node */
        CHECK_NEAR(bed_metric(rows, "link.network.bytes"), 2 * left, 2 * n);
    }
}

/* Collectives of stages that fit into nodes cross no node, and messages between stages are left out. */
TEST(stages_inside_nodes_send_nothing)
{
    static const char *const sets[] = {"services.chat.pipeline_parallel=2", NULL};
    struct bed_rows *alone = bed_ok(BED(.check = true, .sets = sets), SITE, "alone", 4, 2, MANY_REQUESTS, "");
    struct bed_rows *shared = bed_ok(BED(.check = true, .sets = sets), SITE, "shared", 4, 2, MANY_REQUESTS, "");
    CHECK(bed_equal(alone, shared));
    CHECK(isnan(bed_metric(shared, "link.network.bytes")));
}

/* With experts on GPUs of their own, rings bring all tokens and their results to all nodes. Or by an all-to-all each
 * GPU sends its own: two of eight experts are on 8 (1 - (7/8)^2) GPUs on the mean, and the model gives every GPU the
 * tokens of the fullest group, here the only one. */
TEST(bytes_on_links_are_those_of_the_exchanges)
{
    static const char *const widths[] = {"cluster.gpus_per_node=4", "cluster.gpus_per_node=2"};
    static const char *const dispatches[] = {"services.chat.cost.dispatch=all-gather",
                                             "services.chat.cost.dispatch=all-to-all"};
    for (int i = 0; i < 4; i++) {
        const char *const sets[] = {widths[i / 2],
                                    dispatches[i % 2],
                                    "services.chat.llm=mixtral-8x7b",
                                    "services.chat.data_parallel=8",
                                    "services.chat.cost.expert_parallel=8",
                                    NULL};
        struct bed_rows *rows = bed_ok(BED(.check = true, .sets = sets), SITE, "shared", 8, 1, ONE_REQUEST, "");
        const double nodes = i < 2 ? 2 : 4, tokens = 292, met = 8 * (1 - 49.0 / 64), both = 2 * 32 * tokens * 4096 * 2;
        const double ring = nodes * both * 7.0 / 8.0, exchange = 8 * both * met * (1 - 1 / nodes);
        CHECK_NEAR(bed_metric(rows, "link.network.bytes"), 2 * (i % 2 == 0 ? ring : exchange), 2 * 8 * 3);
    }
}

/* 32 GPUs with experts, each on a node of its own: it sends to 16 of the 31 others, in place of all. No byte is lost,
 * every NIC carries alike, and nothing is slower. Eight experts of a token are on 32 (1 - (31/32)^8) GPUs, on the
 * mean. */
TEST(many_nodes_are_represented_by_some)
{
    static const char *const sets[] = {"cluster.nodes=32",
                                       "cluster.gpus_per_node=1",
                                       "services.chat.llm=deepseek-v3",
                                       "services.chat.data_parallel=32",
                                       "services.chat.cost.expert_parallel=32",
                                       "services.chat.cost.dispatch=all-to-all",
                                       NULL};
    struct bed_rows *rows = bed_ok(BED(.check = true, .sets = sets), SITE, "shared", 32, 1, ONE_REQUEST, "");
    struct bed_rows *alone = bed_ok(BED(.check = true, .sets = sets), SITE, "alone", 32, 1, ONE_REQUEST, "");
    const double tokens = 292, met = 32 * (1 - pow(31.0 / 32, 8)), sent = 2 * 58 * tokens * 7168 * 2 * met * 31 / 32;
    CHECK_NEAR(bed_metric(rows, "link.network.bytes"), 2 * 32 * sent, 2 * 32 * 16);
    CHECK_NEAR(bed_metric(rows, "link.network.used_frac.max") / bed_metric(rows, "link.network.used_frac.mean"), 1,
               1e-6);
    CHECK_NEAR(rows->requests[0].e2e_s, alone->requests[0].e2e_s, 1e-12);
}

/* Four edges leave each leaf of one node over one port. Each gets a fourth of it, as one alone on a network whose
 * collectives have that bandwidth. Times of 1 and 192 tokens are not interpolated (models/operators/operators.h). */
TEST(a_share_of_the_network_is_a_narrower_network)
{
    static const double ratios[] = {1.0, 1.5, 2.5, 4.0, 9.0};
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        const double ratio = ratios[i];
        char oversubscription[80], bandwidth[80];
        const double got = fmin(20e9 * network_frac, 20e9 / ratio);
        snprintf(oversubscription, sizeof oversubscription, "cluster.network.oversubscription=%.17g", ratio);
        snprintf(bandwidth, sizeof bandwidth, "cluster.network.bandwidth=%.17gB/s", got / network_frac);
        const char *const squeezed[] = {oversubscription, "cluster.network.nodes_per_leaf=1", NULL};
        const char *const narrow[] = {bandwidth, NULL};
        struct bed_rows *shared = bed_ok(BED(.check = true, .sets = squeezed), SITE, "shared", 8, 1, ONE_REQUEST, "");
        struct bed_rows *alone = bed_ok(BED(.check = true, .sets = narrow), SITE, "alone", 8, 1, ONE_REQUEST, "");
        CHECK_NEAR(shared->requests[0].ttft_s / alone->requests[0].ttft_s, 1.0, 1e-5);
        CHECK_NEAR(shared->requests[0].tpot_s / alone->requests[0].tpot_s, 1.0, 1e-5);
    }
}

/* Replicas of 16 attention groups, whose experts are on all 16 GPUs. */
static struct bed_rows *run_experts(const char *network, const char *cost, int requests, int prompt_tokens)
{
    return bed_ok(BED(.check = true),
                  "{'cluster': {'nodes': 2, 'gpus_per_node': 8, 'gpu': 'h100-sxm', 'network': {'latency': '0s', %s}}, "
                  "'services': {'chat': {'llm': 'deepseek-v3', 'tensor_parallel': 16, 'data_parallel': 16, 'cost': "
                  "{'kind': 'operators', 'expert_parallel': 16, %s}, 'batching': {'policy': 'vllm-v1', 'token_budget': "
                  "65536}, 'trace': {'format': 'generate', 'count': %d, 'arrival': {'process': 'fixed', 'rate': "
                  "'1000000/s'}, 'prompt': {'distribution': 'fixed', 'tokens': %d}, 'output': {'distribution': 'fixed', "
                  "'tokens': 40}}}}}",
                  network, cost, requests, prompt_tokens);
}

/* The same with experts behind DeepEP's kernels, in one batch and in two that hide sending behind computing: long
 * batches compute longer than they send, short ones send longer. So do experts behind an all-to-all. Of one request,
 * neither the tokens of a batch nor those of its half are interpolated. */
TEST(a_share_of_the_network_is_a_narrower_network_for_experts)
{
    static const struct {
        const char *cost;
        double frac; /* of a NIC that these kernels reach (models/kernel.c, configs/calibration) */
    } costs[] = {{"'dispatch': 'deepep-normal'", 0.8},
                 {"'dispatch': 'deepep-normal', 'overlap': 'two-batches'", 0.8},
                 {"'dispatch': 'deepep-low-latency', 'overlap': 'two-batches'", 0.8},
                 {"'kernels': 'isolated'", 0.75}};
    static const int prompts[] = {384, 8192}, requests[] = {1, 9};
    static const double ratios[] = {1.0, 1.5, 4.0, 9.0};
    for (size_t i = 0; i < 64; i++) {
        const double ratio = ratios[i % 4], narrow = fmin(50e9, 50e9 / ratio / costs[i / 16].frac);
        const int n = requests[i / 4 % 2], tokens = prompts[i / 8 % 2];
        const char *shared = test_json("'oversubscription': %.17g, 'nodes_per_leaf': 1, 'topology': 'leaf-spine', "
                                       "'uplink': '1TB/s', 'collectives': 'shared', 'bandwidth': '50GB/s'",
                                       ratio);
        struct bed_rows *rows = run_experts(shared, costs[i / 16].cost, n, tokens);
        struct bed_rows *alone = run_experts(test_json("'bandwidth': '%.17gB/s'", narrow), costs[i / 16].cost, n,
                                             tokens);
        for (int id = 0; id < n; id++) {
            const struct request_row *request = &rows->requests[id], *like = &alone->requests[id];
            CHECK_NEAR(request->ttft_s / like->ttft_s, 1.0, n == 1 ? 1e-5 : 2e-3);
            CHECK_NEAR(request->tpot_s / like->tpot_s, 1.0, n == 1 ? 1e-5 : 2e-3);
        }
    }
}

/* --- Beside jobs --- */

#define PROMPTS                                                                                                        \
    "{'format': 'generate', 'count': 400, 'arrival': {'process': 'fixed', 'rate': '1000/s'}, 'prompt': {"              \
    "'distribution': 'fixed', 'tokens': 1024}, 'output': {'distribution': 'fixed', 'tokens': 1}}"
#define JOBS                                                                                                           \
    ", 'jobs': {'types': {'default': {'step': {'compute': '10us', 'collectives': [{'kind': 'all-reduce', 'group': "    \
    "'rail', 'bytes': '1GB'}]}}}, 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}"

static const double iteration_bytes = (65 * 2 * 15.0 / 16 * 4096 * 2 * 1024 + 15.0 / 16 * 32000 * 2) / 4;

/* A replica on nodes 0 to 3 and a job on nodes 4 to 7, below leaves of three nodes: of each, four edges leave the leaf
 * in the middle over one port of 60 GB/s. */
static struct bed_rows *run_beside(const char *collectives, const char *const *sets, int seconds)
{
    static const char *const leaves[] = {"cluster.network.nodes_per_leaf=3", "cluster.network.oversubscription=4", NULL};
    const char *all[8] = {NULL};
    int n = 0;
    for (const char *const *set = leaves; *set != NULL; set++) all[n++] = *set;
    for (const char *const *set = sets; set != NULL && *set != NULL; set++) all[n++] = *set;
    const char *job = seconds > 0 ? test_json("{'submit': '0s', 'duration': '%ds', 'gpus': 16}", seconds) : "";
    return bed_ok(BED(.check = true, .quiet = true, .sets = all), SITE, collectives, 16, 1, PROMPTS,
                  test_json(JOBS, job));
}

/* While it sends, an edge of the replica has an eighth of the port: 7.5 of the 15 GB/s that it wants. The job has all
 * that the replica leaves, on the mean. */
TEST(a_job_gets_what_a_replica_leaves)
{
    static const char *const narrow[] = {"cluster.network.bandwidth=10GB/s", "cluster.network.oversubscription=1", NULL};
    struct bed_rows *shared = run_beside("shared", NULL, 3), *alone = run_beside("alone", narrow, 0);
    const struct batch_row *first = &shared->batches[10], *like = &alone->batches[10];
    const double iteration_s = (first->end_s - first->start_s) / (double)first->iterations;
    CHECK_NEAR(iteration_s / ((like->end_s - like->start_s) / (double)like->iterations), 1.0, 1e-3);
    const double standing = iteration_bytes / iteration_s, rate = (60e9 - 4 * standing) / 4;
    const double step_s = 1e-5 + 1.5e9 / rate, ideal_s = 1e-5 + 1.5e9 / 20e9;
    CHECK(bed_job(shared, 0)->end_s < shared->end_s);
    CHECK_NEAR(bed_metric(shared, "job.network_speed") * step_s / ideal_s, 1.0, 2e-3);
}

/* What the replica's iterations have moved over one port by the time at which the job ends, which changes their speed:
 * all before are alike. */
static double moved_by(const struct bed_rows *rows, double at_s)
{
    const double slow_s = rows->batches[10].end_s - rows->batches[10].start_s;
    double bytes = 0.0;
    for (size_t i = 0; i < rows->n_batches; i++) {
        const struct batch_row *batch = &rows->batches[i];
        if (batch->start_s < at_s) bytes += 4 * iteration_bytes * fmin(1.0, (at_s - batch->start_s) / slow_s);
    }
    return bytes;
}

static double middle_s(const struct bed_rows *rows)
{
    const struct batch_row *batch = &rows->batches[rows->n_batches / 2];
    return (batch->end_s - batch->start_s) / (double)batch->iterations;
}

static struct bed_rows *run_on_fabric(const char *network, int replicas)
{
    return bed_ok(BED(.check = true),
                  "{'cluster': {'nodes': 4, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm', 'network': {'latency': '0s', %s}}, "
                  "'services': {'chat': {'llm': 'llama-2-7b', 'tensor_parallel': 8, 'replicas': %d, 'cost': {'kind': "
                  "'operators', 'kernels': 'isolated'}, 'batching': {'policy': 'vllm-v1', 'token_budget': 1024}, "
                  "'trace': " PROMPTS "}}}",
                  network, replicas);
}

/* Two replicas share a fabric of 60 GB/s. Each sees the other by its mean, and both are as fast as one alone on a
 * network with what that leaves. */
TEST(replicas_see_each_other_by_their_means)
{
    static const char shared[] = "'bandwidth': '20GB/s', 'fabric': '60GB/s', 'collectives': 'shared'";
    const double bytes = (65 * 2 * 7.0 / 8 * 4096 * 2 * 1024 + 7.0 / 8 * 32000 * 2) / 4, peak = 60e9 / 8 * network_frac;
    struct bed_rows *two = run_on_fabric(shared, 2), *one = run_on_fabric(shared, 1);
    const double left = 60e9 / 8 - bytes / middle_s(two);
    CHECK(left < peak);
    struct bed_rows *alone = run_on_fabric(test_json("'bandwidth': '%.17gB/s'", left / network_frac), 1);
    CHECK_NEAR(middle_s(two) / middle_s(alone), 1.0, 2e-3);
    CHECK(middle_s(two) > 1.01 * middle_s(one));
    CHECK(bed_metric(two, "link.network.used_frac.max") <= 1.0);
}

/* The job does little but send. The port that both fill carries no byte more than it can, and nearly all of that while
 * the job runs. */
TEST(no_link_carries_more_than_its_bandwidth)
{
    for (int seconds = 1; seconds <= 4; seconds++) {
        struct bed_rows *rows = run_beside("shared", NULL, seconds);
        const double end_s = bed_job(rows, 0)->end_s, steps = seconds / (1e-5 + 1.5e9 / 20e9);
        const double carried = 4 * 1.5e9 * steps + moved_by(rows, end_s);
        CHECK(carried <= 60e9 * end_s * (1.0 + 1e-9));
        CHECK(carried >= 60e9 * end_s * 0.99);
        CHECK(bed_metric(rows, "link.uplink.used_frac.max") <= 1.0 + 1e-9);
    }
}

/* Jobs on the links, narrower ports and shared collectives never make a request or a job end earlier. */
TEST(more_contention_never_makes_anything_faster)
{
    double before_s = 0.0, job_before = 1.0;
    for (int o = 1; o <= 16; o *= 2) {
        const char *const sets[] = {test_json("cluster.network.oversubscription=%d", o), NULL};
        struct bed_rows *alone = run_beside("alone", sets, 3), *quiet = run_beside("shared", sets, 0);
        struct bed_rows *both = run_beside("shared", sets, 3);
        CHECK(quiet->end_s >= bed_metric(alone, "request.e2e_s.max"));
        CHECK(bed_metric(both, "request.e2e_s.max") >= bed_metric(quiet, "request.e2e_s.max"));
        CHECK(bed_metric(both, "request.e2e_s.max") >= before_s);
        CHECK(bed_metric(both, "job.network_speed") <= fmin(bed_metric(alone, "job.network_speed"), job_before));
        before_s = bed_metric(both, "request.e2e_s.max");
        job_before = bed_metric(both, "job.network_speed");
    }
}

/* --- Ways to one result --- */

/* KV of prompts crosses the links of two groups that decode, while jobs come and go. */
static struct bed_rows *run_pools(const struct bed_options *options, const char *more)
{
    return bed_ok(
        options,
        "{'cluster': {'nodes': 8, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '10GB/s', "
        "'collectives': 'shared', 'topology': 'leaf-spine', 'nodes_per_leaf': 1, 'oversubscription': 3}}, "
        "'seed': 9, 'services': {'chat': {'llm': 'llama-2-7b', %s 'pools': {'p': {'role': 'prefill', "
        "'tensor_parallel': 4}, 'd': {'role': 'decode', 'tensor_parallel': 8, 'replicas': 2}}, 'trace': %s}}" JOBS "}",
        more, MANY_REQUESTS,
        "{'submit': '1s', 'duration': '2s', 'gpus': 8}, {'submit': '2s', 'duration': '4s', 'gpus': 12}");
}

TEST(single_steps_and_queues_do_not_matter)
{
    struct bed_rows *rows = run_pools(BED(.check = true), "");
    CHECK(rows->n_requests == 60 && bed_metric(rows, "link.uplink.bytes") > 0);
    CHECK(bed_equal(rows, run_pools(BED(.single_step = true, .check = true), "")));
    CHECK(bed_equal(rows, run_pools(BED(.queue = QUEUE_HEAP), "")));
    CHECK(bed_equal(rows, run_pools(BED(.queue = QUEUE_CALENDAR), "")));
}

/* The claims of a failed group end, and begin anew on other nodes. */
TEST(groups_that_fail_leave_their_links)
{
    struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 5, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '5GB/s', "
        "'collectives': 'shared', 'fabric': '30GB/s'}}, 'seed': 4, 'until': '200s', 'failures': {'causes': {'fan': "
        "{'scope': 'node', 'lifetime': {'mean': '60s'}, 'repair': {'law': 'constant', 'mean': '5s'}}}}, 'services': "
        "{'chat': {'llm': 'llama-2-7b', 'tensor_parallel': 8, 'replicas': 2, 'restart': {'delay': '1s'}, 'trace': "
        "{'format': 'generate', 'count': 300, 'arrival': {'process': 'poisson', 'rate': '2/s'}, 'prompt': "
        "{'distribution': 'fixed', 'tokens': 700}, 'output': {'distribution': 'fixed', 'tokens': 60}}}}}");
    CHECK(bed_metric(rows, "failure.replica_stops") > 3);
    CHECK(bed_metric(rows, "link.network.used_frac.max") <= 1.0 + 1e-9);
    size_t finished = 0;
    for (size_t i = 0; i < rows->n_requests; i++) finished += strcmp(rows->requests[i].status, "finished") == 0;
    CHECK(finished > 200);
}

/* A NIC at a fourth of its bandwidth is a narrower network for all of its group. */
TEST(a_slow_nic_slows_its_group)
{
    static const char site[] =
        "{'cluster': {'nodes': 2, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '%s', 'latency': "
        "'0s', 'collectives': 'shared'}}, 'seed': 4%s, 'services': {'chat': {'llm': 'llama-2-7b', 'tensor_parallel': 8, "
        "'cost': {'kind': 'operators', 'kernels': 'isolated'}, 'trace': {'format': 'generate', 'count': 40, 'arrival': "
        "{'process': 'fixed', 'rate': '4/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 192}, 'output': "
        "{'distribution': 'fixed', 'tokens': 2}}}}}";
    static const char slow[] = ", 'failures': {'causes': {'c': {'scope': 'nic', 'slow': 0.25, 'lifetime': {'law': "
                               "'constant', 'mean': '5s'}, 'repair': {'law': 'constant', 'mean': '9000s'}}}}";
    struct bed_rows *rows = bed_ok(BED(.check = true), site, "20GB/s", slow);
    struct bed_rows *wide = bed_ok(NULL, site, "20GB/s", ""),
                    *narrow = bed_ok(NULL, site, test_json("%.17gGB/s", 20 * 0.25 / network_frac), "");
    for (int64_t id = 0; id < 40; id += 39) {
        const struct bed_rows *like = id == 0 ? wide : narrow;
        CHECK_NEAR(rows->requests[id].ttft_s / like->requests[id].ttft_s, 1.0, 1e-5);
    }
    CHECK(narrow->requests[39].ttft_s > wide->requests[39].ttft_s);
}

/* --- Networks that collectives do not feel --- */

#define SCARCE_SITE                                                                                                    \
    "{'cluster': {'nodes': 4, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '5GB/s', "            \
    "%s%s}}, 'services': {'chat': {'llm': 'llama-2-7b', %s, 'trace': {'format': 'generate', 'count': 2, "              \
    "'arrival': {'process': 'fixed', 'rate': '1000/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 1024}, "         \
    "'output': {'distribution': 'fixed', 'tokens': 9}}}}}"
#define NARROW_LEAVES "'topology': 'leaf-spine', 'nodes_per_leaf': 1, 'oversubscription': 4"
#define WIDE "'tensor_parallel': 8"

static int count_told(const struct bed_rows *rows)
{
    int n = 0;
    for (int i = 0; i < rows->diag.n_items; i++)
        n += strstr(rows->diag.items[i].text, "timed as if alone on the network") != NULL;
    return n;
}

/* Times of collectives that are not on the links know the adapters alone. That is told where links would make the
 * replica slower, and nowhere else. */
TEST(lone_collectives_on_a_scarce_network_are_told)
{
    static const struct {
        const char *network, *service;
        int warnings;
    } cases[] = {{NARROW_LEAVES, WIDE, 1},
                 {"'topology': 'leaf-spine', 'nodes_per_leaf': 1, 'uplink': '1GB/s'", WIDE, 1},
                 {"'topology': 'leaf-spine', 'nodes_per_leaf': 1, 'leaves_per_pod': 1, 'uplink': '100GB/s', "
                  "'pod_oversubscription': 4",
                  WIDE, 1},
                 {"'topology': 'leaf-spine', 'nodes_per_leaf': 1, 'uplink': '100GB/s'", WIDE, 0},
                 {"'fabric': '100TB/s'", WIDE, 0},
                 {"'fabric': '20GB/s'", WIDE, 0}, /* one replica is timed on an eighth of it for each GPU */
                 {"'fabric': '100TB/s'", WIDE ", 'replicas': 2", 0},
                 {"'fabric': '20GB/s'", WIDE ", 'replicas': 2", 1},
                 {"'topology': 'leaf-spine', 'nodes_per_leaf': 2, 'oversubscription': 8", WIDE, 0},
                 {"'topology': 'leaf-spine', 'nodes_per_leaf': 2, 'uplink': '1GB/s'", WIDE, 0}, /* no GPU sends up */
                 /* of the two nodes below a leaf, the ring leaves it from one */
                 {"'topology': 'leaf-spine', 'nodes_per_leaf': 2, 'uplink': '100GB/s', 'oversubscription': 2",
                  "'tensor_parallel': 16", 0},
                 {"'topology': 'leaf-spine', 'nodes_per_leaf': 2, 'uplink': '100GB/s', 'oversubscription': 3",
                  "'tensor_parallel': 16", 1},
                 /* a pod of both leaves, whose switches send nothing up */
                 {"'topology': 'leaf-spine', 'nodes_per_leaf': 1, 'leaves_per_pod': 2, 'uplink': '100GB/s', "
                  "'pod_oversubscription': 4",
                  WIDE, 0},
                 {"'fabric': '5GB/s'", "'tensor_parallel': 4", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct bed_rows *alone = bed_ok(BED(.quiet = true), SCARCE_SITE, cases[i].network, "", cases[i].service);
        const struct bed_rows *shared = bed_ok(BED(.quiet = true), SCARCE_SITE, cases[i].network,
                                               ", 'collectives': 'shared'", cases[i].service);
        const double slower = bed_metric(shared, "request.e2e_s.max") / bed_metric(alone, "request.e2e_s.max") - 1.0;
        CHECK_EQ_INT(count_told(alone), cases[i].warnings);
        CHECK_EQ_INT(slower > 1e-3, cases[i].warnings);
        CHECK_EQ_INT(count_told(shared), 0);
    }
}

/* No hint leads to an error: what shared collectives refuse is not told. */
TEST(what_shared_collectives_refuse_is_not_told)
{
    static const char *const services[] = {
        WIDE ", 'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms'}, 'decode': {'fixed': '11ms'}}",
        WIDE ", 'cost': 'roofline'", WIDE ", 'pipeline_parallel': 2",
        WIDE ", 'speculation': {'policy': 'fixed', 'drafts': 3}, 'acceptance': {'rates': [0.7]}, 'draft': {'llm': "
             "'llama-2-7b'}"};
    for (size_t i = 0; i < sizeof services / sizeof *services; i++) {
        const struct bed_rows *alone = bed_ok(BED(.quiet = true), SCARCE_SITE, NARROW_LEAVES, "", services[i]);
        const struct bed_rows *shared = bed_run(BED(.quiet = true), SCARCE_SITE, NARROW_LEAVES,
                                                ", 'collectives': 'shared'", services[i]);
        CHECK_EQ_INT(count_told(alone), 0);
        CHECK_EQ_INT(shared->code, SIM_E_CONFIG);
    }
}

static void check_refused(const char *service, const char *text)
{
    struct bed_rows *rows = bed_run(BED(.quiet = true),
                                    "{'cluster': {'nodes': 4, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm', 'network': "
                                    "{'bandwidth': '5GB/s', 'collectives': 'shared'}}, 'services': {'chat': {'llm': "
                                    "'llama-2-7b', %s, 'trace': " ONE_REQUEST "}}}",
                                    service);
    CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
    if (rows->diag.n_items > 0) CHECK(strstr(rows->diag.items[0].text, text) != NULL);
}

TEST(what_is_not_known_is_refused)
{
    check_refused("'tensor_parallel': 8, 'cost': 'roofline'",
                  "the roofline cost of service 'chat' does not say what GPUs send over the network");
    check_refused("'tensor_parallel': 8, 'pipeline_parallel': 2", "has pipeline stages that are wider than a node");
    check_refused("'tensor_parallel': 8, 'speculation': {'policy': 'fixed', 'drafts': 3}, 'acceptance': {'rates': "
                  "[0.7]}, 'draft': {'llm': 'llama-2-7b'}",
                  "what draft models send between nodes");
    check_refused("'tensor_parallel': 8, 'speculation': {'policy': 'eagle', 'depth': 3}, 'acceptance': {'rates': "
                  "[0.7]}",
                  "what draft models send between nodes");
}
