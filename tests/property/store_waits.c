/* Loads from a prefix store that the request alone waits for: the others go on meanwhile. Times have closed forms;
 * every token of a prompt is a hit, loaded or computed; single steps give the same rows beside all else; a failure
 * takes requests that load. */
#include "tests/support/harness.h"
#include "tests/support/prefix_store_bed.h"

#include <math.h>
#include <stdlib.h>

#define CLUSTER                                                                                                        \
    "'cluster': {'gpu': 'h100-sxm', 'gpus_per_node': 8, 'nodes': 2, 'pcie': '5GB/s',"                                  \
    " 'network': {'bandwidth': '40GB/s'}, 'host': {'device': 'host-dram-pcie5'},"                                      \
    " 'storage': {'drives': {'device': 'samsung-980-pro', 'count': 1}, 'pool': {'device': 'rdma-h800'}}}"

static const struct bed_options checked = {.check = true};
static const struct bed_options stepped = {.single_step = true, .queue = QUEUE_HEAP};

/* --- Times in closed form --- */

/* Of four requests in turn on two replicas the first one stores 7 blocks. The second one decodes on the other replica,
 * when the fourth comes there with these 7 blocks and an eighth. The third one only takes its turn. */
static struct bed_rows *two_in_a_batch(const char *waits, double gb_per_s, const char *failures)
{
    char path[512];
    snprintf(path, sizeof path, "%s/waits.jsonl", test_tmpdir());
    FILE *file = fopen(path, "w");
    if (file == NULL) abort();
    fprintf(file, "{\"timestamp\": 0, \"input_length\": 3584, \"output_length\": 1, \"hash_ids\": [1,2,3,4,5,6,7]}\n");
    fprintf(file, "{\"timestamp\": 99000, \"input_length\": 512, \"output_length\": 300, \"hash_ids\": [11]}\n");
    fprintf(file, "{\"timestamp\": 99100, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [12]}\n");
    fprintf(file,
            "{\"timestamp\": 99200, \"input_length\": 4096, \"output_length\": 2, \"hash_ids\": [1,2,3,4,5,6,7,8]}\n");
    fclose(file);
    const char *const at_once[] = {"services.chat.restart.delay=0s", NULL};
    struct bed_rows *rows = bed_run(
        BED(.check = true, .sets = failures[0] != 0 ? at_once : NULL),
        "{'cluster': {'gpu': 'h100-sxm', 'pcie': '%gGB/s', 'nodes': 1, 'gpus_per_node': 2}, %s'services': {'chat': {'llm':"
        " 'llama-3.1-8b', 'replicas': 2, 'routing': 'round-robin', 'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms',"
        " 'per_token': '60us'}, 'decode': {'fixed': '11ms'}}, 'batching': {'policy': 'vllm-v1', 'token_budget': 8192},"
        " 'kv': {'prefix_cache': 'lru', 'prefix_store': {'waits': '%s', 'tiers': {'host': {'capacity': '10GB',"
        " 'write': 'through', 'scope': 'shared'}}}}, 'trace': {'format': 'mooncake', 'path': '%s'}}}}",
        gb_per_s, failures, waits, path);
    CHECK_EQ_INT(rows->code, 0);
    return rows;
}

/* The fourth request is seen at a boundary of the second one's iterations of 11 ms. Its load of L seconds begins there.
 * Its block that is computed takes 60 us a token, beside the decoding. If the batch waits, that follows at once, and
 * the pause of the second request is L longer. Else it follows at the first boundary after the load. */
TEST(others_go_on_while_a_request_loads)
{
    static const double rates_gb_per_s[] = {0.4, 1, 3, 50};
    const double decode_s = 11e-3, mixed_s = decode_s + 60e-6 * 512, first_s = 99.0 + 9e-3 + 60e-6 * 512;
    const double seen_s = first_s + decode_s * ceil((99.2 - first_s) / decode_s) - 99.2;
    for (size_t i = 0; i < sizeof rates_gb_per_s / sizeof *rates_gb_per_s; i++) {
        const double load_s = 7.0 * (double)BLOCK_BYTES / (rates_gb_per_s[i] * 1e9);
        struct bed_rows *batch = two_in_a_batch("batch", rates_gb_per_s[i], ""),
                        *alone = two_in_a_batch("request", rates_gb_per_s[i], "");
        CHECK_NEAR(bed_request(batch, 3)->ttft_s, seen_s + load_s + mixed_s, 1e-8);
        CHECK_NEAR(bed_request(batch, 1)->max_gap_s, load_s + mixed_s, 1e-8);
        CHECK_NEAR(bed_request(alone, 3)->ttft_s, seen_s + decode_s * ceil(load_s / decode_s) + mixed_s, 1e-8);
        CHECK_NEAR(bed_request(alone, 1)->max_gap_s, mixed_s, 1e-8);
        CHECK_EQ_INT(bed_metric(alone, "store.loaded_tokens.sum"), 7 * BLOCK_TOKENS);
        CHECK_EQ_INT(bed_metric(alone, "prefix.saved_tokens.sum"), 0);
        bed_free(batch);
        bed_free(alone);
    }
}

/* The node fails at 99.9 s, while the fourth request loads alone for 1.2 s from its memory. All is lost with the node:
 * the fourth request computes its prompt of 8 blocks, and the replica loads nothing any more. Tokens that were still
 * on their way are not lost, only those of the second request, which decodes in 11 ms. */
TEST(a_failure_ends_a_load_for_good)
{
    struct bed_rows *rows = two_in_a_batch("request", 0.4,
                                           "'failures': {'causes': {'node': {'scope': 'node', 'lifetime':"
                                           " {'law': 'constant', 'mean': '99.9s'}}}}, ");
    const struct request_row *loads = bed_request(rows, 3);
    const double prompts_s = 9e-3 + 60e-6 * 512 * 8;
    CHECK(loads->ttft_s > 0.7 + prompts_s && loads->ttft_s < 0.7 + prompts_s + 60e-6 * 900);
    CHECK_EQ_INT(bed_metric(rows, "failure.restarted_requests"), 2);
    CHECK_NEAR(bed_metric(rows, "failure.lost_kv_tokens"), 512 + (99.9 - 99.0 - 9e-3 - 60e-6 * 512) / 11e-3, 2);
    CHECK_EQ_INT(bed_metric(rows, "request.finished"), 4);
    bed_free(rows);
}

/* --- Conservation, and the same in single steps --- */

enum { WHEN_FASTER = 3, N_STORES };
static const char *const stores[N_STORES] = {
    "'waits': 'request', 'tiers': {'host': {'capacity': '8GB'}, 'disk': {'device': 'drives', 'capacity': '30GB'}}",
    "'waits': 'request', 'tiers': {'host': {'capacity': '8GB', 'write': 'through', 'eviction': 'fifo'},"
    " 'disk': {'device': 'drives', 'capacity': '30GB', 'write': 'through', 'scope': 'shared', 'eviction': 's3-fifo'}}",
    "'waits': 'request', 'tiers': {'host': {'capacity': '4GB', 'scope': 'shared'}, 'pool': {'device': 'pool',"
    " 'capacity': '60GB', 'write': 'through'}}, 'prefetch': true",
    "'waits': 'request', 'tiers': {'host': {'capacity': '2GB', 'write': 'through'}, 'disk': {'device': 'drives',"
    " 'capacity': '4GB'}, 'pool': {'device': 'pool', 'capacity': '60GB'}}, 'load': 'when-faster'"};

static struct bed_rows *run(const char *service, const char *store, const struct bed_options *options)
{
    char text[1024];
    snprintf(text, sizeof text, service, store);
    return bed_run(options, "{" CLUSTER ", 'services': {'chat': {'llm': 'llama-3.1-8b', 'cost': 'roofline', %s}}}",
                   text);
}

TEST(every_token_is_found_loaded_or_computed_by_requests_that_wait_alone)
{
    for (int i = 0; i < N_STORES; i++) {
        struct bed_rows *rows = run(
            "'replicas': 2, 'kv': {'blocks': 2600, 'prefix_cache': 'lru', 'prefix_store': {%s}},"
            " 'trace': {" SESSIONS ", 'rate_scale': 0.05}",
            stores[i], &checked);
        CHECK_EQ_INT(rows->code, 0);
        store_check_tokens(rows);
        CHECK(bed_metric(rows, "store.loaded_tokens.sum") > 10000);
        bed_free(rows);
    }
}

TEST(stepping_is_the_same_while_requests_load)
{
    static const char *const services[] = {
        "'kv': {'blocks': 700, 'prefix_cache': 'lru', 'prefix_store': {%s}}, 'trace': {'format': 'mooncake', 'path':"
        " 'traces/samples/sessions.jsonl', 'max_prompt_tokens': 3000, 'rate_scale': 4}",
        "'pipeline_parallel': 2, 'kv': {'blocks': 2600, 'prefix_cache': 'lru', 'prefix_store': {%s}}, 'trace': {" SESSIONS
        "}",
        "'pools': {'p': {'role': 'prefill'}, 'd': {'role': 'decode'}}, 'routing': 'prefix-aware', 'replicas': 2,"
        " 'tensor_parallel': 2, 'kv': {'blocks': 3000, 'prefix_cache': 'lru', 'prefix_store': {%s}}, 'trace': {" SESSIONS
        ", 'rate_scale': 0.5}",
        "'batching': {'policy': 'vllm-v1', 'async': true, 'admission_watermark': 0.05, 'token_budget': 512,"
        " 'max_sequences': 16}, 'speculation': {'policy': 'fixed', 'drafts': 3}, 'acceptance': {'rates': [0.7]},"
        " 'draft': {'llm': 'phi-2'}, 'kv': {'blocks': 1200, 'prefix_cache': 'lru', 'prefix_store': {%s}},"
        " 'trace': {'format': 'mooncake', 'path': 'traces/samples/sessions.jsonl', 'max_prompt_tokens': 6000,"
        " 'rate_scale': 0.5}",
        "'batching': {'policy': 'vllm-v1', 'order': 'priority', 'priorities': {'chat': 1}}, 'kv': {'blocks':"
        " 1200, 'prefix_cache': 'lru', 'prefix_store': {%s}}, 'trace': {'format': 'generate-sessions', 'count': 40,"
        " 'arrival': {'process': 'poisson', 'rate': '3/s'}, 'block_tokens': 512, 'classes': {'chat': {'max_context':"
        " 8000}, 'agents': {'shape': 'agent', 'max_context': 8000}}}"};
    double preemptions = 0.0;
    for (size_t i = 0; i < sizeof services / sizeof *services; i++)
        for (int k = 0; k < N_STORES; k++) {
            struct bed_rows *macro = run(services[i], stores[k], BED(.check = true, .no_rows = i == 4)),
                            *single = run(services[i], stores[k],
                                          BED(.single_step = true, .queue = QUEUE_HEAP, .no_rows = i == 4));
            CHECK_EQ_INT(macro->code, 0);
            CHECK_EQ_INT(bed_metric(macro, "request.unfinished"), 0);
            CHECK(bed_metric(macro, "store.loaded_tokens.sum") > 0 || k == WHEN_FASTER);
            CHECK(bed_equal(macro, single));
            preemptions += bed_metric(macro, "replica.preemptions.sum");
            bed_free(macro);
            bed_free(single);
        }
    CHECK(preemptions > 20);
}

/* --- Ends of an iteration --- */

/* In blocks of 8 tokens, of which GPU memory has 10. The third request decodes; the fourth has a prompt of 2 blocks
 * and one token of output. Both end in the same iteration, before which the fourth loads its first block if there is
 * a store. The fifth takes room of three blocks: the last one of the second request, and those used least recently of
 * the other two. The sixth has the prompt of the fourth. */
static struct bed_rows *two_that_end_at_once(const char *batcher, const char *store)
{
    const char *path = test_file("ends.jsonl",
                                 "{'timestamp': 0, 'input_length': 8, 'output_length': 1, 'hash_ids': [1]}\n"
                                 "{'timestamp': 500, 'input_length': 80, 'output_length': 1, 'hash_ids':"
                                 " [31,32,33,34,35,36,37,38,39,40]}\n"
                                 "{'timestamp': 1000, 'input_length': 40, 'output_length': 11, 'hash_ids':"
                                 " [11,12,13,14,15]}\n"
                                 "{'timestamp': 1095, 'input_length': 16, 'output_length': 1, 'hash_ids': [1,2]}\n"
                                 "{'timestamp': 2000, 'input_length': 40, 'output_length': 1, 'hash_ids':"
                                 " [21,22,23,24,25]}\n"
                                 "{'timestamp': 3000, 'input_length': 24, 'output_length': 1, 'hash_ids': [1,2,3]}\n");
    return bed_ok(&checked,
                  "{'cluster': {'gpu': 'h100-sxm', 'nodes': 1, 'gpus_per_node': 1}, 'services': {'chat': {'llm':"
                  " 'llama-3.1-8b', 'cost': {'kind': 'affine', 'prefill': {'fixed': '10ms'}, 'decode': {'fixed':"
                  " '10ms'}}, 'batching': '%s', 'kv': {'blocks': 10, 'block_tokens': 8, 'prefix_cache': 'lru'%s},"
                  " 'trace': {'format': 'mooncake', 'block_tokens': 8, 'path': '%s'}}}}",
                  batcher, store, path);
}

/* vLLM V1 lets them end as it scheduled them, in order of admission: the blocks of the third request are used less
 * recently. Elsewhere prompts end first: then those of the fourth are. So it is also in an iteration that waits for a
 * load. */
TEST(those_that_end_at_once_end_as_scheduled_or_prompts_first)
{
    static const char *const with_loads[] = {
        "", ", 'prefix_store': {'waits': 'batch', 'tiers': {'host': {'capacity': '1GB', 'write': 'through'}}}"};
    static const char *const batchers[] = {"vllm-v1", "sarathi"};
    for (size_t i = 0; i < 4; i++) {
        const bool has_store = i % 2 == 1, as_scheduled = i < 2;
        struct bed_rows *rows = two_that_end_at_once(batchers[i / 2], with_loads[i % 2]);
        const struct request_row *decodes = bed_request(rows, 2), *prompt = bed_request(rows, 3);
        CHECK_NEAR(decodes->arrival_s + decodes->e2e_s, prompt->arrival_s + prompt->e2e_s, 1e-9);
        CHECK_EQ_INT(bed_request(rows, 5)->cached_tokens, as_scheduled ? 2 * 8 : 0);
        if (has_store) CHECK_EQ_INT(bed_metric(rows, "store.loaded_blocks.sum[host]"), as_scheduled ? 1 : 1 + 2);
        bed_free(rows);
    }
}

/* --- Failures --- */

/* A node fails every 4 s, while requests of its replica load from slow memory behind the network. */
TEST(a_failure_takes_requests_that_load)
{
    static const char *const waits[] = {"batch", "request"};
    for (int i = 0; i < 2; i++) {
        struct bed_rows *rows[2];
        for (int s = 0; s < 2; s++)
            rows[s] = bed_run(
                s == 0 ? &checked : &stepped,
                "{" CLUSTER
                ", 'failures': {'causes': {'node': {'scope': 'node', 'lifetime': {'law': 'constant', 'mean':"
                " '4s'}}}}, 'services': {'chat': {'llm': 'llama-3.1-8b', 'cost': 'roofline', 'replicas': 2,"
                " 'tensor_parallel': 8, 'restart': {'delay': '0s'}, 'kv': {'blocks': 2600, 'prefix_cache': 'lru',"
                " 'prefix_store': {'waits': '%s', 'tiers': {'t': {'device': 'pool', 'capacity': '60GB', 'write':"
                " 'through'}}}}, 'trace': {" SESSIONS ", 'rate_scale': 0.4}}}}",
                waits[i]);
        CHECK_EQ_INT(rows[0]->code, 0);
        CHECK(bed_metric(rows[0], "failure.restarted_requests") > 5);
        CHECK(bed_metric(rows[0], "store.loaded_tokens.sum") > 10000);
        CHECK_EQ_INT(bed_metric(rows[0], "request.unfinished"), 0);
        CHECK(bed_equal(rows[0], rows[1]));
        bed_free(rows[0]);
        bed_free(rows[1]);
    }
}

/* --- Which is better --- */

/* Slow drives below a busy replica: where batches wait, all that decode pause for each load. */
TEST(pauses_are_shorter_where_requests_wait_alone)
{
    double gap_s[2], e2e_s[2];
    for (int i = 0; i < 2; i++) {
        char store[256];
        snprintf(store, sizeof store, "'waits': '%s', 'tiers': {'disk': {'device': 'drives', 'capacity': '60GB'}}",
                 i == 0 ? "batch" : "request");
        struct bed_rows *rows = run(
            "'kv': {'blocks': 2600, 'prefix_cache': 'lru', 'prefix_store': {%s}}, 'trace': {" SESSIONS
            ", 'rate_scale': 0.5}",
            store, &checked);
        CHECK_EQ_INT(rows->code, 0);
        CHECK(bed_metric(rows, "store.loaded_tokens.sum") > 10000);
        gap_s[i] = bed_metric(rows, "request.max_gap_s.mean");
        e2e_s[i] = bed_metric(rows, "request.e2e_s.mean");
        bed_free(rows);
    }
    CHECK(gap_s[1] < gap_s[0] && e2e_s[1] < e2e_s[0]);
}

/* --- Errors --- */

TEST(a_batcher_that_loads_no_requests_is_refused)
{
    const struct bed_rows *rows = bed_run(
        &(struct bed_options){.quiet = true},
        "{" CLUSTER
        ", 'services': {'chat': {'llm': 'llama-3.1-8b', 'batching': 'sarathi', 'kv': {'prefix_cache': 'lru',"
        " 'prefix_store': {'waits': 'request', 'tiers': {'host': {'capacity': '8GB'}}}}, 'trace': {" SESSIONS "}}}}");
    CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
    MUST(rows->diag.n_items > 0);
    CHECK(strstr(rows->diag.items[0].text, "does not load requests while others run") != NULL);
}
