/* Prompts in one pool, decoding in another: closed forms of transfers and queues, conservation under random pools,
 * batchers and ways of transfer, equal results in every mode, Splitwise's lending of machines, and what is found
 * wrong. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

enum { TOKEN_BYTES = 2 * 32 * 1024 * 2 }; /* KV of a token of mistral-7b: K and V, 32 layers, 8 heads of 128, fp16 */

#define CLUSTER                                                                                                        \
    "'cluster': {'nodes': 2, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'network': {'bandwidth':"                       \
    " '10GB/s', 'latency': '0s'}}"
#define AFFINE                                                                                                         \
    "'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms', 'per_token': '60us'},"                                     \
    " 'decode': {'fixed': '11ms', 'per_sequence': '20us', 'per_context_token': '30ns'}}"
#define TWO_POOLS                                                                                                      \
    "'pools': {'prompts': {'role': 'prefill'}, 'tokens': {'role': 'decode'}}"

/* %: the rest of the service, its trace included. */
__attribute__((format(printf, 2, 3))) static struct bed_rows *run(const struct bed_options *options, const char *format,
                                                                  ...)
{
    char service[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(service, sizeof service, format, arguments);
    va_end(arguments);
    return bed_run(options, "{" CLUSTER ", 'services': {'chat': {'llm': 'mistral-7b', %s}}}", service);
}

#define TRACE(count, rate, prompt, output)                                                                             \
    "'trace': {'format': 'generate', 'count': " #count ", 'arrival': {'process': 'poisson', 'rate': '" rate            \
    "'}, 'prompt': " prompt ", 'output': " output "}"
#define FIXED(tokens) "{'distribution': 'fixed', 'tokens': " #tokens "}"
#define UNIFORM(min, max) "{'distribution': 'uniform', 'min': " #min ", 'max': " #max "}"

/* --- Closed forms --- */

/* Lonely requests: seconds from prompt to KV, with 1000 tokens of prompt. */
static double lonely_transfer_s(const char *mode, const char *prefill, double gb_per_s, const char *latency)
{
    struct bed_rows *rows = run(NULL,
                                TWO_POOLS ", 'cost': {'kind': 'affine', 'prefill': {'fixed': '%s'},"
                                          " 'decode': {'fixed': '1ms'}}, 'kv_transfer': {%s, 'bandwidth':"
                                          " '%gGB/s', 'latency': '%s'}, " TRACE(20, "0.01/s", FIXED(1000), FIXED(9)),
                                prefill, mode, gb_per_s, latency);
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(rows->n_requests, 20);
    double mean_s = bed_metric(rows, "request.kv_transfer_s.mean");
    CHECK_NEAR(bed_metric(rows, "request.kv_transfer_bytes.sum"), 20.0 * 1000 * TOKEN_BYTES, 0.5);
    for (size_t i = 0; i < rows->n_requests; i++) {
        const struct request_row *row = &rows->requests[i];
        CHECK_EQ_INT(row->replica, 1);
        CHECK_NEAR(row->max_gap_s, mean_s + 0.001, 3e-9);
        CHECK_NEAR(row->e2e_s, row->ttft_s + mean_s + 8 * 0.001, 3e-9);
    }
    return mean_s;
}

/* A prompt takes the state of linear attention along, besides keys and values: of qwen3.5-27b those of 16 layers with
 * 4 heads of 256, and in 48 layers 48 states of 128 x 128 in fp32 beside three tokens of 10,240 numbers. A cache of
 * prefixes would need a state at every block. */
TEST(states_are_handed_over)
{
    const double token_bytes = 2 * 16 * 1024 * 2, state_bytes = 48.0 * (48 * 128 * 128 * 4 + 3 * 10240 * 2);
    struct bed_rows *rows = bed_run(
        NULL, "{" CLUSTER ", 'services': {'chat': {'llm': 'qwen3.5-27b', 'tensor_parallel': 4, " TWO_POOLS ", " AFFINE
              ", 'kv': {'prefix_cache': 'lru'}, " TRACE(20, "0.01/s", FIXED(1000), FIXED(9)) "}}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(bed_metric(rows, "request.kv_transfer_bytes.sum"), 20.0 * (1000 * token_bytes + state_bytes), 0.5);
    CHECK(bed_warning(rows, "kv-states") != NULL);
    bed_free(rows);
}

TEST(transfers_take_what_they_should)
{
    double bytes = 1000.0 * TOKEN_BYTES;
    CHECK_NEAR(lonely_transfer_s("'mode': 'serial'", "100ms", 10, "0s"), bytes / 10e9, 2e-9);
    CHECK_NEAR(lonely_transfer_s("'mode': 'serial', 'start': 'push'", "100ms", 10, "3ms"), bytes / 10e9 + 0.003, 2e-9);
    /* The early layers are through before the prompt is: only the last one is seen. */
    CHECK_NEAR(lonely_transfer_s("'mode': 'layer-wise'", "100ms", 10, "0s"), bytes / 32 / 10e9, 2e-9);
    /* They are not: all but what moved beside the prompt is seen. */
    CHECK_NEAR(lonely_transfer_s("'mode': 'layer-wise'", "10ms", 10, "0s"), bytes / 10e9 - 0.010, 3e-9);
    CHECK_NEAR(lonely_transfer_s("'mode': 'layer-wise', 'layer_wise_from': 1001", "10ms", 10, "0s"), bytes / 10e9,
               3e-9);
    CHECK_NEAR(lonely_transfer_s("'mode': 'layer-wise', 'layer_wise_from': 1000", "10ms", 10, "0s"),
               bytes / 10e9 - 0.010, 3e-9);
}

/* The links of the site: two transfers at once share the NICs of the prompts' GPUs, and take twice as long. */
TEST(transfers_share_links)
{
    static const char two[] =
        "'tensor_parallel': 8, 'pools': {'prompts': {'role': 'prefill', 'batching': {'policy': 'vllm-v0'}},"
        " 'tokens': {'role': 'decode'}}, 'cost': {'kind': 'affine', 'prefill': {'fixed': '50ms'},"
        " 'decode': {'fixed': '1ms'}}, 'kv': {'blocks': 5000}, 'kv_transfer': {'start': 'push'},"
        " 'trace': {'format': 'generate', 'count': %d, 'arrival': {'process': 'fixed', 'rate':"
        " '1000000000/s'}, 'prompt': " FIXED(8000) ", 'output': " FIXED(9) "}";
    struct bed_rows *one = run(NULL, two, 1), *both = run(NULL, two, 3);
    double bytes = 8000.0 * TOKEN_BYTES, alone_s = bed_metric(one, "request.kv_transfer_s.max");
    CHECK_NEAR(alone_s, bytes / 80e9, 1e-6); /* a NIC of 10 GB/s beside each of eight GPUs */
    CHECK_EQ_INT(both->n_requests, 3); /* the first prompt is processed alone, the others together */
    CHECK_NEAR(bed_metric(both, "request.kv_transfer_s.max"), 2 * alone_s, 1e-6);
    CHECK_NEAR(bed_metric(both, "request.kv_transfer_s.mean"), 5 * alone_s / 3, 1e-6);
    CHECK_NEAR(bed_metric(both, "link.network.bytes"), 2 * 3 * bytes, 64); /* out of one NIC, into another */
}

/* DistServe, section 3.1: prompts of one length in a pool of their own wait as in M/D/1, whatever the decoding does:
 * mean TTFT = D + R D^2 / (2 (1 - R D)). */
TEST(prompts_of_their_own_are_md1)
{
    static const char many[] =
        "'pools': {'prompts': {'role': 'prefill', 'batching': {'policy': 'vllm-v0', 'max_batched_tokens':"
        " 500}}, 'tokens': {'role': 'decode'}}, 'kv': {'blocks': 20000}, " AFFINE
        ", 'kv_transfer': {'mode': '%s'}, 'batching': '%s', " TRACE(20000, "18/s", FIXED(500), UNIFORM(1, 60));
    double d_s = 0.009 + 500 * 60e-6, rate = 18, expected_s = d_s + rate * d_s * d_s / (2 * (1 - rate * d_s));
    struct bed_rows *serial = run(&(struct bed_options){.no_detail = true}, many, "serial", "vllm-v0");
    struct bed_rows *layers = run(&(struct bed_options){.no_detail = true}, many, "layer-wise", "vllm-v1");
    double ttft_s = bed_metric(serial, "request.ttft_s.mean");
    CHECK_NEAR(ttft_s, expected_s, 0.03 * expected_s);
    CHECK_NEAR(bed_metric(layers, "request.ttft_s.mean"), ttft_s, 1e-9 * ttft_s);
    CHECK(bed_metric(layers, "request.ttft_s.p99") == bed_metric(serial, "request.ttft_s.p99"));
    CHECK(bed_metric(layers, "request.kv_transfer_s.mean") < bed_metric(serial, "request.kv_transfer_s.mean"));
}

/* --- Conservation --- */

static const char *pick(struct rng *rng, const char *const *choices, uint64_t n)
{
    return choices[rng_below(rng, n)];
}

/* A random service with pools: %s of the text are drawn. */
static void random_service(struct rng *rng, struct text *text)
{
    static const char *const batchers[] = {"vllm-v0", "vllm-v1", "sarathi"};
    static const char *const routers[] = {"round-robin",  "random",   "least-outstanding", "jsq-tokens",
                                          "power-of-two", "least-kv", "splitwise",         "splitwise"};
    static const char *const transfers[] = {"'mode': 'serial'", "'mode': 'serial', 'start': 'push'",
                                            "'mode': 'layer-wise', 'layer_wise_from': 100",
                                            "'mode': 'layer-wise', 'bandwidth': '3GB/s', 'latency': '2ms'"};
    static const char *const roles[] = {"prefill", "decode", "mixed"};
    static const char *const delays[] = {"0s", "0s", "100ms"};
    bool mixed = rng_below(rng, 2) == 0;
    text_printf(text, "'routing': '%s', 'kv_transfer': {%s}, 'information_delay': '%s', 'pools': {",
                pick(rng, routers, 8), pick(rng, transfers, 4), pick(rng, delays, 3));
    for (int i = 0; i < 2 + mixed; i++)
        text_printf(text,
                    "%s'p%d': {'role': '%s', 'replicas': %d, 'batching': '%s', 'kv': {'blocks': %d,"
                    " 'block_tokens': %d}}",
                    i > 0 ? ", " : "", i, roles[i], 1 + (int)rng_below(rng, 3), pick(rng, batchers, 3),
                    200 + (int)rng_below(rng, 200), rng_below(rng, 2) ? 16 : 8);
    text_printf(text, "}, " AFFINE ", " TRACE(80, "40/s", UNIFORM(1, 700), UNIFORM(1, 150)));
}

/* Every request that was handed over arrived, once, after that; the KV of its prompt went with it. */
static double check_handovers(const struct bed_rows *rows)
{
    double bytes = 0;
    size_t n = 0;
    for (size_t i = 0; i < rows->n_decisions; i++) {
        const struct bed_decision *decision = &rows->decisions[i];
        long long moved;
        int from, to;
        if (strcmp(decision->action, "handover") != 0) continue;
        CHECK_EQ_INT(bed_decisions(rows, "arrived", decision->subject),
                     bed_decisions(rows, "handover", decision->subject));
        CHECK_EQ_INT(sscanf(decision->reason, "from replica %d to %d of chat: %lld bytes", &from, &to, &moved), 3);
        CHECK(from != to);
        CHECK_EQ_INT(bed_request(rows, decision->subject)->replica, to);
        bytes += (double)moved;
        n++;
    }
    CHECK_EQ_INT(n, bed_decisions(rows, "arrived", -1));
    return bytes;
}

TEST(random_pools_lose_nothing)
{
    double handed_bytes = 0;
    int64_t preempted = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        SCOPED(text) text = {0};
        struct rng rng = test_rng(seed, "random pools", 0);
        random_service(&rng, &text);
        struct bed_rows *macro = run(&(struct bed_options){.check = true}, "%s", text.chars);
        struct bed_rows *single = run(&(struct bed_options){.single_step = true, .queue = QUEUE_HEAP}, "%s", text.chars);
        if (!CHECK_EQ_INT(macro->code, 0) || !CHECK(bed_equal(macro, single))) printf("\n  %s", text.chars);
        CHECK_EQ_INT(macro->n_requests, 80);
        for (int64_t id = 0; id < 80; id++) CHECK_EQ_STR(bed_request(macro, id)->status, "finished");
        double bytes = check_handovers(macro), told = bed_metric(macro, "request.kv_transfer_bytes.sum");
        CHECK(bytes == (isnan(told) ? 0 : told));
        handed_bytes += bytes;
        preempted += (int64_t)bed_metric(macro, "request.preemptions.sum");
    }
    CHECK(handed_bytes > 1e9);
    CHECK(preempted > 10);
}

/* --- Splitwise --- */

static int prompts_at(const struct bed_rows *rows, int64_t replica)
{
    int n = 0;
    for (size_t i = 0; i < rows->n_decisions; i++) {
        int to;
        if (strcmp(rows->decisions[i].action, "route") == 0 &&
            sscanf(rows->decisions[i].reason, "to replica %d of", &to) == 1)
            n += to == replica;
    }
    return n;
}

TEST(splitwise_lends_machines)
{
    static const char service[] = "'routing': {'policy': 'splitwise', 'max_pending_tokens': %d}, " TWO_POOLS
                                  ", 'kv': {'blocks': %d}, " AFFINE ", " TRACE(60, "%g/s", FIXED(1000), FIXED(50));
    struct bed_rows *calm = run(NULL, service, 8192, 4000, 0.5);
    CHECK_EQ_INT(prompts_at(calm, 0), 60); /* everything in its home pool */
    for (size_t i = 0; i < calm->n_requests; i++) CHECK_EQ_INT(calm->requests[i].replica, 1);
    struct bed_rows *rush = run(NULL, service, 2500, 4000, 25.0);
    CHECK(prompts_at(rush, 1) > 5); /* the token machine helps out */
    CHECK(prompts_at(rush, 0) > prompts_at(rush, 1));
    struct bed_rows *patient = run(NULL, service, 1000000, 4000, 25.0);
    CHECK_EQ_INT(prompts_at(patient, 0), 60); /* a long queue is not too long */
    struct bed_rows *full = run(NULL, service, 1000000, 140, 8.0);
    int at_home = 0;
    for (size_t i = 0; i < full->n_requests; i++) at_home += full->requests[i].replica == 1;
    CHECK(at_home > 5);
    CHECK(at_home < 55); /* two full KV caches fill the token machine: others decode where their prompt was */
}

/* --- What is wrong --- */

static void check_refused(const char *text, const char *service)
{
    struct bed_rows *rows = run(&(struct bed_options){.quiet = true}, "%s, %s, %s", service, AFFINE,
                                TRACE(5, "1/s", FIXED(100), FIXED(5)));
    CHECK(rows->code < 0);
    if (!CHECK(rows->diag.n_items > 0 && strstr(rows->diag.items[0].text, text) != NULL) && rows->diag.n_items > 0)
        printf("\n  %s", rows->diag.items[0].text);
}

TEST(impossible_pools_are_refused)
{
    check_refused("no pool of service 'chat' decodes what its prefill pools have processed",
                  "'pools': {'a': {'role': 'prefill'}, 'b': {'role': 'prefill'}}");
    check_refused("no pool of service 'chat' processes prompts", "'pools': {'a': {'role': 'decode'}}");
    check_refused("routing policy 'splitwise' chooses both replicas on arrival",
                  TWO_POOLS ", 'decode_routing': 'splitwise'");
    check_refused("role", "'pools': {'a': {'role': 'prompt'}}");
    check_refused("bandwidth", TWO_POOLS ", 'kv_transfer': {'bandwidth': 5}");
}

static const char lone_nodes[] =
    "{'cluster': {'nodes': 2, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'services': {'chat': {'llm':"
    " 'mistral-7b', " TWO_POOLS ", " AFFINE ", " TRACE(5, "1/s", FIXED(100), FIXED(5)) "}}}";

TEST(nodes_need_a_network)
{
    struct bed_rows *rows = bed_run(BED(.quiet = true), "%s", lone_nodes);
    CHECK(rows->code < 0);
    CHECK(rows->diag.n_errors > 0);
    static const char *const sets[] = {"services.chat.kv_transfer.bandwidth=1GB/s", NULL};
    rows = bed_ok(BED(.sets = sets), "%s", lone_nodes);
}
