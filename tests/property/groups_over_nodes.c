/* Replicas whose layers are split over several nodes: they are the replicas of one wide node where the cost says so,
 * they take whole nodes and leave none half, a node that fails takes all of its group, and their KV crosses the network
 * to the byte. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <stdio.h>
#include <string.h>

#define AFFINE                                                                                                         \
    "'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms', 'per_token': '60us'},"                                     \
    " 'decode': {'fixed': '11ms', 'per_sequence': '20us', 'per_context_token': '30ns'}}"
#define TRACE(count)                                                                                                   \
    "'trace': {'format': 'generate', 'count': " #count ", 'arrival': {'process': 'poisson', 'rate': '4/s'},"           \
    " 'prompt': {'distribution': 'uniform', 'min': 20, 'max': 900},"                                                   \
    " 'output': {'distribution': 'uniform', 'min': 1, 'max': 150}}"
#define NETWORK "'network': {'bandwidth': '50GB/s'}"

/* 16 GPUs in so many nodes. */
static struct bed_rows *run_on(int nodes, const struct bed_options *options, const char *service)
{
    return bed_run(options,
                   "{'cluster': {'nodes': %d, 'gpus_per_node': %d, 'gpu': 'a100-80-sxm', " NETWORK "}, 'seed': 5,"
                   " 'services': {'chat': {'llm': 'llama-2-7b', 'tensor_parallel': 8, %s, " TRACE(80) "}}}",
                   nodes, 16 / nodes, service);
}

/* A stated cost does not know of nodes, so their number changes nothing. */
TEST(a_group_over_nodes_is_one_on_a_node)
{
    static const char service[] = "'replicas': 2, " AFFINE;
    struct bed_rows *one = run_on(2, BED(.check = true), service);
    CHECK_EQ_INT(one->code, 0);
    CHECK_EQ_INT(one->n_requests, 80);
    for (int nodes = 4; nodes <= 16; nodes *= 2) {
        struct bed_rows *rows = run_on(nodes, BED(.check = true), service);
        CHECK(bed_equal(one, rows));
        CHECK(bed_equal(rows, run_on(nodes, BED(.single_step = true), service)));
        CHECK(bed_equal(rows, run_on(nodes, BED(.queue = QUEUE_HEAP), service)));
        CHECK_EQ_INT(bed_metric(rows, "cluster.gpus_in_use.max"), 16);
    }
}

/* With costs that know of nodes, a narrower network makes decoding slower, and never faster than on one node. */
TEST(the_network_slows_a_group)
{
    static const char *const kinds[] = {"'replicas': 1", "'replicas': 1, 'cost': 'roofline'"};
    static const char *const slower[] = {"cluster.network.bandwidth=5GB/s", NULL};
    static const char *const shared[] = {"cluster.network.per=node", NULL};
    static const char *const fabric[] = {"cluster.network.fabric=50GB/s", NULL};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const double alone_s = bed_metric(run_on(1, BED(.check = true), kinds[i]), "request.ttft_s.mean");
        const double wide_s = bed_metric(run_on(4, BED(.check = true), kinds[i]), "request.ttft_s.mean");
        const double slow_s = bed_metric(run_on(4, BED(.sets = slower), kinds[i]), "request.ttft_s.mean");
        const double node_s = bed_metric(run_on(4, BED(.sets = shared), kinds[i]), "request.ttft_s.mean");
        const double fabric_s = bed_metric(run_on(4, BED(.sets = fabric), kinds[i]), "request.ttft_s.mean");
        CHECK(slow_s > wide_s);
        CHECK(node_s > wide_s);
        CHECK(fabric_s > wide_s);
        CHECK(wide_s >= alone_s);
    }
}

/* --- A network as fast as NVLink --- */

/* The shipped calibration of the GPU. Its collectives reach as much of the network as of NVLink, with steps of 1 us
 * inside and of `hop_us` between nodes. All messages go in chunks, as between nodes, since words are slow. */
static const char *calibration_alike(const char *name, int hop_us)
{
    static const char *const keys[] = {
        "\"hop_time\": ",           "\"word_efficiency\": ", "\"fill_time\": ", "\"bandwidth_efficiency\": ",
        "\"network_efficiency\": ", "\"network_hop_time\": "};
    static const char *const values[] = {"\"1us\",", "0.02,", "\"10ns\",", "0.7,", "0.7"};
    static char path[300];
    char line[4096];
    snprintf(path, sizeof path, "%s/%s.json", test_tmpdir(), name);
    FILE *from = fopen("configs/calibration/a100-80-sxm.json", "r"), *to = fopen(path, "w");
    if (!CHECK(from != NULL && to != NULL)) return NULL;
    while (fgets(line, sizeof line, from) != NULL) {
        size_t i = 0;
        while (i < sizeof keys / sizeof *keys && strstr(line, keys[i]) == NULL) i++;
        if (i < sizeof values / sizeof *values)
            fprintf(to, "%s%s\n", keys[i], values[i]);
        else if (i == sizeof values / sizeof *values)
            fprintf(to, "%s\"%dus\",\n", keys[i], hop_us);
        else
            fputs(line, to);
    }
    fclose(from);
    CHECK_EQ_INT(fclose(to), 0);
    return path;
}

/* 8 GPUs in so many nodes, whose network has `bandwidth`. */
static struct bed_rows *run_alike(int nodes, const char *bandwidth, const char *calibration, const char *service,
                                  const char *requests)
{
    return bed_run(BED(.check = true),
                   "{'cluster': {'nodes': %d, 'gpus_per_node': %d, 'gpu': 'a100-80-sxm', 'network': {'bandwidth':"
                   " '%s'}}, 'seed': 5, 'services': {'chat': {'llm': 'llama-2-7b', 'cost': {'kind': 'operators',"
                   " 'engine': 'vllm-2024', 'kernels': 'isolated', 'calibration': '%s' %s, %s}}}",
                   nodes, 8 / nodes, bandwidth, calibration, service, requests);
}

/* Equal times to the nanosecond: of all requests and of all batches. Only what a run says of its network differs. */
static bool take_equally_long(const struct bed_rows *a, const struct bed_rows *b)
{
    return a->code == 0 && b->code == 0 && a->end_s == b->end_s && a->n_requests == b->n_requests &&
           memcmp(a->requests, b->requests, a->n_requests * sizeof *a->requests) == 0 && a->n_batches == b->n_batches &&
           memcmp(a->batches, b->batches, a->n_batches * sizeof *a->batches) == 0;
}

/* All-reduces; reduce-scatters and all-gathers; and sends between stages, each on nodes of one GPU. */
TEST(a_network_like_nvlink_makes_one_node)
{
    static const char *const services[] = {
        "}, 'tensor_parallel': 8", ", 'sequence_parallel': true}, 'tensor_parallel': 8",
        "}, 'tensor_parallel': 4, 'pipeline_parallel': 2", "}, 'pipeline_parallel': 8"};
    const char *calibration = calibration_alike("alike", 1);
    for (size_t i = 0; i < sizeof services / sizeof *services; i++) {
        struct bed_rows *one = run_alike(1, "300GB/s", calibration, services[i], TRACE(40));
        CHECK_EQ_INT(one->code, 0);
        CHECK_EQ_INT(one->n_requests, 40);
        CHECK(one->n_batches > 100);
        CHECK(take_equally_long(one, run_alike(8, "300GB/s", calibration, services[i], TRACE(40))));
        CHECK(!take_equally_long(one, run_alike(8, "290GB/s", calibration, services[i], TRACE(40))));
    }
}

#define ALONE(output)                                                                                                  \
    "'trace': {'format': 'generate', 'count': 1, 'prompt': {'distribution': 'fixed', 'tokens': 700},"                  \
    " 'output': {'distribution': 'fixed', 'tokens': " #output "}}"

/* A prompt alone. 65 all-reduces, two of each layer and one after the embedding, have 2 (8-1) steps on nodes of one
 * GPU. On two nodes they have 2 (4-1) inside and 2 between. The gathering of the head's results has half as many. */
TEST(steps_between_nodes_are_counted)
{
    const double passes = 2.0 * (2 * 32 + 1) + 1.0, hop_s = 1e-6;
    static const char service[] = "}, 'tensor_parallel': 8";
    static const int nodes[] = {8, 4, 2};
    char alike[300], slow[300];
    snprintf(alike, sizeof alike, "%s", calibration_alike("alike", 1));
    snprintf(slow, sizeof slow, "%s", calibration_alike("slow", 101));
    const double one_s = bed_metric(run_alike(1, "300GB/s", alike, service, ALONE(1)), "request.ttft_s.mean");
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        const double m = nodes[i], g = 8.0 / m;
        const double wide_s = bed_metric(run_alike(nodes[i], "300GB/s", alike, service, ALONE(1)),
                                         "request.ttft_s.mean");
        const double slow_s = bed_metric(run_alike(nodes[i], "300GB/s", slow, service, ALONE(1)),
                                         "request.ttft_s.mean");
        CHECK_NEAR(one_s - wide_s, passes * (g - 1.0) * (m - 1.0) * hop_s, 2e-9);
        CHECK_NEAR(slow_s - wide_s, passes * (m - 1.0) * 100.0 * hop_s, 2e-9);
    }
}

/* The GPUs of a node share the network's links. While these together are as fast as NVLink, nothing changes. Then a
 * prompt and its tokens take longer on each narrower network; on nodes of one GPU, without NVLink, they always do. */
TEST(a_narrower_network_is_never_faster)
{
    static const int gb_per_s[] = {2400, 300, 150, 50, 10, 1};
    const char *calibration = calibration_alike("alike", 1);
    for (int nodes = 2; nodes <= 8; nodes *= 2) {
        double before_s = 0.0;
        for (size_t i = 0; i < sizeof gb_per_s / sizeof *gb_per_s; i++) {
            char bandwidth[16];
            snprintf(bandwidth, sizeof bandwidth, "%dGB/s", gb_per_s[i]);
            const double end_s = run_alike(nodes, bandwidth, calibration, "}, 'tensor_parallel': 8", ALONE(20))->end_s;
            const bool is_slower = nodes == 8 || gb_per_s[i] * (8 / nodes) < 300;
            CHECK(i == 0 || (is_slower ? end_s > before_s : end_s == before_s));
            before_s = end_s;
        }
    }
}

/* Of 5 nodes with 4 GPUs two groups of 8 take 4. A third one has no room, though 4 GPUs are free. */
TEST(groups_take_whole_nodes)
{
    static const char site[] =
        "{'cluster': {'nodes': 5, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm', " NETWORK "}, 'services': {'chat': {"
        "'llm': 'llama-2-7b', 'tensor_parallel': %d, 'pipeline_parallel': %d, 'replicas': %d, " AFFINE
        ", " TRACE(10) "}}}";
    struct bed_rows *two = bed_run(BED(.check = true), site, 8, 1, 2);
    CHECK_EQ_INT(two->code, 0);
    CHECK_EQ_INT(bed_metric(two, "cluster.gpus_in_use.max"), 16);
    CHECK_EQ_INT(bed_run(BED(.check = true), site, 8, 2, 1)->code, 0);
    struct bed_rows *three = bed_run(BED(.quiet = true), site, 8, 1, 3);
    CHECK_EQ_INT(three->code, SIM_E_UNFIT);
    CHECK(strstr(three->diag.items[0].text, "has not the 2 free nodes with 4 GPUs left that replica 2") != NULL);
    struct bed_rows *odd = bed_run(BED(.quiet = true), site, 2 * 16, 3, 1);
    CHECK_EQ_INT(odd->code, SIM_E_UNFIT);
}

static void check_refused(const char *cluster, int tensor_parallel, const char *service, const char *text)
{
    struct bed_rows *rows = bed_run(BED(.quiet = true),
                                    "{'cluster': {'nodes': 8, 'gpu': 'a100-80-sxm', %s}, 'services': {'chat': {'llm':"
                                    " 'llama-2-7b', 'tensor_parallel': %d, %s" TRACE(10) "}}}",
                                    cluster, tensor_parallel, service);
    CHECK(rows->code < 0);
    if (!CHECK(rows->diag.n_items == 1 && strstr(rows->diag.items[0].text, text) != NULL) && rows->diag.n_items > 0)
        printf("\n  %s", rows->diag.items[0].text);
}

TEST(what_a_group_needs_is_named)
{
    check_refused("'gpus_per_node': 4", 8, "", "8 GPUs, of which a node has 4, and no network connects nodes");
    check_refused("'gpus_per_node': 3, " NETWORK, 8, "",
                  "splits each layer over 8 GPUs, no multiple of the 3 of a node");
    check_refused("'gpus_per_node': 4, " NETWORK, 8, "'kv': {'offload': 'flexgen'}, ",
                  "kv.offload 'flexgen' knows the memory of one node, not of 2");
}

/* Every node fails once, at its own time, for longer than the run. Each failure of a node takes one group of two nodes,
 * so 4 failures stop 2 replicas and no more. */
TEST(a_failed_node_takes_its_group)
{
    struct bed_rows *rows = bed_run(
        BED(.check = true),
        "{'cluster': {'nodes': 4, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm', " NETWORK "}, 'failures': {'causes':"
        " {'fan': {'scope': 'node', 'lifetime': {'mean': '20s'}, 'repair': {'law': 'constant', 'mean': '10000s'}}}},"
        " 'seed': 4, 'until': '400s', 'services': {'chat': {'llm': 'llama-2-7b', 'tensor_parallel': 8, 'replicas': 2,"
        " 'restart': {'delay': '3s'}, " AFFINE ", 'trace': {'format': 'generate', 'duration': '300s', 'arrival':"
        " {'process': 'fixed', 'rate': '1/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 10},"
        " 'output': {'distribution': 'fixed', 'tokens': 2}}}}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK(bed_metric(rows, "failure.replica_stops") >= 2);
    CHECK(bed_metric(rows, "failure.replica_stops") <= 3); /* two whole nodes of two groups may form a third one */
    size_t finished = 0, unfinished = 0;
    for (size_t i = 0; i < rows->n_requests; i++)
        *(strcmp(rows->requests[i].status, "finished") == 0 ? &finished : &unfinished) += 1;
    CHECK(finished > 0 && unfinished > 0);
}

/* Prompts on groups of 8 over two nodes, decoding on 4 of one node, or the other way round. A request with one output
 * token is never handed over; of the others all KV of the prompt crosses the network once. */
TEST(kv_crosses_the_network_between_groups_of_different_width)
{
    static const int widths[][2] = {{8, 4}, {4, 8}, {8, 8}, {16, 4}};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        struct bed_rows *rows = bed_run(
            BED(.check = true),
            "{'cluster': {'nodes': 6, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm', " NETWORK "}, 'seed': 6, 'services':"
            " {'chat': {'llm': 'llama-2-7b', " AFFINE ", 'pools': {'p': {'role': 'prefill', 'tensor_parallel': %d},"
            " 'd': {'role': 'decode', 'tensor_parallel': %d}}, " TRACE(60) "}}}",
            widths[i][0], widths[i][1]);
        CHECK_EQ_INT(rows->code, 0);
        double tokens = 0;
        for (size_t k = 0; k < rows->n_requests; k++)
            if (rows->requests[k].output_tokens > 1) tokens += (double)rows->requests[k].prompt_tokens;
        const double bytes = bed_metric(rows, "request.kv_transfer_bytes.sum");
        CHECK_NEAR(bytes, tokens * 524288.0, 0); /* 32 layers of keys and values of 4096 numbers of 2 bytes */
        CHECK_NEAR(bed_metric(rows, "link.network.bytes"), 2.0 * bytes, 2.0 * 16 * 60); /* leaves and arrives */
    }
}

/* Prompts on a stage of two GPUs of each node, decoding on a stage of the third GPU. The KV of a stage goes to the same
 * stage, so that none crosses the network: each half comes to its GPU over NVLink, at 300 GB/s. From the wrong stage it
 * would take 300 times as long. */
TEST(kv_goes_to_the_stage_with_its_layers)
{
    const double token_bytes = 2.0 * 32 * 32 * 128 * 2; /* Llama-2-7B: keys and values, layers, heads, numbers, bytes */
    struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 2, 'gpus_per_node': 3, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '1GB/s'}},"
        " 'services': {'chat': {'llm': 'llama-2-7b', 'pipeline_parallel': 2, 'pools': {'p': {'role': 'prefill',"
        " 'tensor_parallel': 2}, 'd': {'role': 'decode'}}, " AFFINE ", 'trace': {'format': 'generate', 'count': 1,"
        " 'prompt': {'distribution': 'fixed', 'tokens': 900}, 'output': {'distribution': 'fixed', 'tokens': 2}}}}}");
    CHECK_NEAR(bed_metric(rows, "request.kv_transfer_s.mean"), 900 * token_bytes / 2 / 300e9, 2e-9);
}
