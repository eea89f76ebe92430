/* Reuse of chunks: every token of a prompt is a hit, transferred, recomputed or new; limits of alpha; equal prompts;
 * closed forms of CFO; single steps, failures, scaling, other parts of the world; what is refused. */
#include "sim/world/kv/chunk_attention.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"

#define CLUSTER                                                                                                        \
    "'cluster': {'gpu': 'h100-sxm', 'gpus_per_node': 8, 'nodes': 2, 'pcie': '50GB/s', 'network': {'bandwidth':"       \
    " '40GB/s'}, 'host': {'device': 'host-dram-pcie5'}, 'storage': {'drives': {'device': 'samsung-980-pro', 'count':" \
    " 4}}}"
#define GPU "'gpu': {'device': 'gpu', 'capacity': '1GB'}"
#define HOST "'host': {'capacity': '4GB'}"
#define RAG                                                                                                            \
    "'trace': {'format': 'generate-rag', 'count': 60, 'arrival': {'process': 'poisson', 'rate': '8/s'}, 'corpus': 40," \
    " 'chunk': {'distribution': 'uniform', 'min': 100, 'max': 500}, 'question': {'distribution': 'uniform', 'min': 1," \
    " 'max': 80}, 'output': {'distribution': 'uniform', 'min': 1, 'max': 60}}"

static const struct bed_options checked = {.check = true};
static const struct bed_options stepped = {.single_step = true, .queue = QUEUE_HEAP};

static struct bed_rows *run(const struct bed_options *options, const char *store, const char *service)
{
    return bed_run(options,
                   "{" CLUSTER ", 'services': {'rag': {'llm': 'llama-3.1-8b', 'cost': 'roofline', 'kv': {'blocks': 2600"
                   "%s%s%s}, %s}}}",
                   store[0] != 0 ? ", 'chunk_store': {" : "", store, store[0] != 0 ? "}" : "", service);
}

static double tokens_of(const struct bed_rows *rows, const char *kind)
{
    char name[64];
    snprintf(name, sizeof name, "chunk.%s_tokens.sum", kind);
    return bed_metric(rows, name);
}

static int64_t prompt_tokens(const struct bed_rows *rows)
{
    int64_t tokens = 0;
    for (size_t i = 0; i < rows->n_requests; i++) tokens += rows->requests[i].prompt_tokens;
    return tokens;
}

static int64_t processed_tokens(const struct bed_rows *rows)
{
    int64_t tokens = 0;
    for (size_t i = 0; i < rows->n_batches; i++) tokens += rows->batches[i].prefill_tokens;
    return tokens;
}

/* --- Tokens --- */

static const char *const stores[] = {
    "'tiers': {" GPU "}", "'tiers': {" HOST "}, 'alpha': 3, 'keeps': 'whole'", "'tiers': {" GPU ", " HOST "}",
    "'tiers': {'gpu': {'device': 'gpu', 'capacity': '200MB'}, 'host': {'capacity': '400MB', 'eviction': 's3-fifo'},"
    " 'disk': {'device': 'drives', 'capacity': '2GB', 'eviction': 'fifo'}}, 'alpha': 2, 'variants': 2, 'chunks': 30"};
enum { N_STORES = sizeof stores / sizeof *stores };

TEST(every_token_is_hit_transferred_recomputed_or_new)
{
    for (int i = 0; i < N_STORES; i++) {
        struct bed_rows *rows = run(&checked, stores[i], "'replicas': 2, 'batching': 'vllm-v1', " RAG);
        MUST(rows->code == 0);
        const double computed = tokens_of(rows, "recomputed") + tokens_of(rows, "new");
        CHECK_EQ_INT(tokens_of(rows, "hit") + tokens_of(rows, "transferred") + computed, prompt_tokens(rows));
        CHECK_EQ_INT(processed_tokens(rows), computed); /* nothing is preempted */
        CHECK_EQ_INT(bed_metric(rows, "replica.preemptions.sum"), 0);
        CHECK((tokens_of(rows, "hit") > 5000) == (i != 1));
        CHECK((tokens_of(rows, "transferred") > 2000) == (i != 0));
        bed_free(rows);
    }
}

/* Chunks whose writes and loads are known: bytes of tiers are bytes of links, of 131,072 for each token. */
TEST(bytes_of_chunks_are_bytes_of_links)
{
    struct bed_rows *rows = run(&checked, stores[1], "'batching': 'vllm-v1', " RAG);
    const double loaded = bed_metric(rows, "chunk.loaded_bytes.sum[host]"),
                 written = bed_metric(rows, "chunk.written_bytes.sum[host]");
    CHECK_EQ_INT(loaded, tokens_of(rows, "transferred") * 131072);
    CHECK_EQ_INT(bed_metric(rows, "link.pcie.bytes"), loaded + written);
    CHECK_EQ_INT(bed_metric(rows, "tier.dram.used_bytes.max"), 4e9);
    bed_free(rows);
}

/* --- Limits --- */

/* Three prompts of the same chunks in other orders, one at a time; all chunks have been seen before. */
static const char *const orders = "arrival_s,prompt_tokens,output_tokens,prefix_blocks,chunks\n"
                                  "0,1000,2,,1:320 2:480 3:192\n"
                                  "100,1010,2,,3:192 1:320 2:480\n"
                                  "200,1020,2,,2:480 3:192 1:320\n";

static struct bed_rows *run_table(const char *name, const char *table, const char *kv)
{
    return bed_ok(&checked,
                  "{" CLUSTER ", 'services': {'rag': {'llm': 'llama-3.1-8b', 'cost': 'roofline', 'batching': 'vllm-v1',"
                  " 'kv': {'blocks': 2600, %s}, 'trace': {'format': 'csv', 'block_tokens': 16, 'path': '%s'}}}}",
                  kv, trace_source_file(name, table));
}

TEST(with_alpha_0_only_questions_are_computed)
{
    struct bed_rows *rows = run_table("orders.csv", orders, "'chunk_store': {'tiers': {" GPU "}, 'alpha': 0}");
    CHECK_EQ_INT(tokens_of(rows, "recomputed"), 0);
    CHECK_EQ_INT(tokens_of(rows, "new"), 1000 + (1010 - 992) + (1020 - 992));
    CHECK_EQ_INT(processed_tokens(rows), 1000 + 18 + 28);
    bed_free(rows);
}

/* No context comes twice, and CFO is 1 in all: rows are those of a service without a store. */
TEST(with_alpha_infinite_everything_is_computed)
{
    static const char *const disjoint = "arrival_s,prompt_tokens,output_tokens,prefix_blocks,chunks\n"
                                        "0,1000,2,,1:320 2:480\n"
                                        "100,1010,2,,3:192 1:320\n"
                                        "200,1020,2,,4:100 2:480\n";
    struct bed_rows *rows = run_table("d.csv", disjoint, "'chunk_store': {'tiers': {" HOST "}, 'alpha': 1e12}");
    struct bed_rows *plain = run_table("d.csv", disjoint, "'usable_frac': 0.9");
    CHECK_EQ_INT(tokens_of(rows, "recomputed"), 320 + 480);
    CHECK_EQ_INT(tokens_of(rows, "hit") + tokens_of(rows, "transferred"), 0);
    CHECK_EQ_INT(processed_tokens(rows), 3030);
    for (int i = 0; i < 3; i++) CHECK_EQ_INT(bed_request(rows, i)->e2e_s == bed_request(plain, i)->e2e_s, true);
    bed_free(rows);
    bed_free(plain);
}

/* Whole blocks of chunks, then less than a block of a question. */
TEST(an_equal_prompt_hits_what_prefix_caching_hits)
{
    static const char *const table = "arrival_s,prompt_tokens,output_tokens,prefix_blocks,chunks\n"
                                     "0,108,2,1 2 3 4 5 6,7:32 8:64\n"
                                     "100,108,2,1 2 3 4 5 6,7:32 8:64\n"
                                     "200,96,2,1 2 3 4 5 6,7:32 8:64\n";
    struct bed_rows *chunks = run_table("equal.csv", table, "'chunk_store': {'tiers': {" GPU "}, 'alpha': 1e12}");
    struct bed_rows *prefixes = run_table("equal.csv", table, "'prefix_cache': 'lru'");
    for (int i = 0; i < 2; i++) {
        CHECK_EQ_INT(bed_request(chunks, i)->cached_tokens, bed_request(prefixes, i)->cached_tokens);
        CHECK(bed_request(chunks, i)->ttft_s == bed_request(prefixes, i)->ttft_s);
    }
    CHECK_EQ_INT(bed_request(chunks, 1)->cached_tokens, 96);
    CHECK_EQ_INT(bed_request(prefixes, 2)->cached_tokens, 80); /* a block is whole */
    CHECK_EQ_INT(bed_request(chunks, 2)->cached_tokens, 95);   /* one token is always computed */
    bed_free(chunks);
    bed_free(prefixes);
}

/* --- The equations --- */

static double cfo_in(const struct chunk_attention *model, double cci, struct chunk_neighbour *old, int32_t n_old,
                     const struct prompt_chunk *context, int32_t n)
{
    struct chunk_place places[8];
    int32_t counts[9];
    struct chunk_order order = {.places = places, .counts = counts};
    chunk_order_fill(&order, context, n);
    return chunk_attention_cfo(model, cci, old, n_old, &order, n);
}

TEST(cfo_has_its_closed_forms)
{
    const struct prompt_chunk abc[] = {{1, 100}, {2, 200}, {3, 300}}, cba[] = {{3, 300}, {2, 200}, {1, 100}};
    const struct prompt_chunk other[] = {{7, 100}, {8, 10}};
    struct chunk_neighbour old[3];
    struct chunk_attention even = {.alpha = 0.5, .inter = 0.2}; /* sigma 0: all pairs are alike */
    const double cci = chunk_attention_observe(&even, 9, abc, 3, old);
    CHECK_NEAR(cci, 1 / (1 + exp(-0.6)), 1e-12);
    CHECK(cfo_in(&even, cci, old, 3, abc, 3) == 0);                             /* the same context */
    CHECK_NEAR(cfo_in(&even, cci, old, 3, other, 2), 0.5 * cci, 1e-12);         /* nothing in common */
    CHECK_NEAR(cfo_in(&even, cci, old, 3, cba, 3), 0.5 * cci, 1e-12);           /* gamma 1 */
    CHECK_NEAR(cfo_in(&even, cci, old, 3, abc + 1, 2), 0.5 * cci / 6, 1e-12);   /* beta 5/6 */
    CHECK_NEAR(cfo_in(&even, cci, old, 3, cba, 2), 0.5 * cci, 1e-12);           /* two, swapped */
    CHECK_NEAR(cfo_in(&even, 0.5, old, 0, abc, 3), 0.25, 1e-12);                /* it stood first */
    CHECK(cfo_in(&even, 0.5, old, 0, abc, 0) == 0);
    const struct prompt_chunk acb[] = {{1, 100}, {3, 300}, {5, 9}, {2, 200}};
    CHECK_NEAR(cfo_in(&even, cci, old, 3, acb, 4), 0.5 * cci / 3, 1e-12); /* one pair of three */
    const struct prompt_chunk aab[] = {{1, 90}, {1, 100}, {2, 200}, {1, 100}};
    CHECK_NEAR(cfo_in(&even, cci, old, 3, aab, 4), 0.5 * cci / 2, 1e-12); /* a chunk of another length is another one */
    CHECK_NEAR(cfo_in(&even, cci, old, 3, aab, 1), 0.5 * cci, 1e-12);
    even.alpha = 1e12;
    CHECK(cfo_in(&even, cci, old, 3, other, 2) == 1);
}

/* A lognormal number of mean `inter` for each pair, whoever asks first. */
TEST(attention_between_chunks_is_drawn_once_for_a_pair)
{
    const struct chunk_attention model = {.alpha = 1, .inter = 0.4, .sigma = 0.8, .seed = 5};
    double sum = 0, squares = 0;
    enum { PAIRS = 40000 };
    for (uint64_t i = 0; i < PAIRS; i++) {
        const double pair = chunk_attention_pair(&model, i % 200, i / 200);
        sum += log(pair);
        squares += log(pair) * log(pair);
    }
    const double mean = sum / PAIRS, deviation = sqrt(squares / PAIRS - mean * mean);
    CHECK_NEAR(mean, log(0.4) - 0.32, 5 * 0.8 / sqrt(PAIRS)); /* so that the mean is 0.4 */
    CHECK_NEAR(deviation, 0.8, 5 * 0.8 / sqrt(2 * PAIRS));
    CHECK(chunk_attention_pair(&model, 3, 4) == chunk_attention_pair(&model, 3, 4));
    CHECK(chunk_attention_pair(&model, 3, 4) != chunk_attention_pair(&model, 4, 3));
}

/* --- With the rest of the world --- */

TEST(single_steps_give_the_same_rows)
{
    static const char *const services[] = {
        "'replicas': 2, 'routing': 'prefix-aware', 'batching': 'vllm-v1', " RAG,
        "'batching': {'policy': 'vllm-v0', 'preemption': 'recompute', 'max_sequences': 24}, 'tensor_parallel': 2, " RAG,
        "'batching': 'sarathi', 'pipeline_parallel': 2, " RAG,
        "'batching': 'sglang', " RAG,
        "'batching': 'vllm-v1', 'sampling': {'sequences': 3, 'length_sigma': 0.4}, " RAG,
        "'replicas': 1, 'kv_transfer': {'bandwidth': '50GB/s'}, 'pools': {'p': {'role': 'prefill'}, 'd': {'role':"
        " 'decode', 'batching': 'vllm-v1'}}, " RAG};
    for (size_t i = 0; i < sizeof services / sizeof *services; i++) {
        const char *store = stores[i % 2 == 0 ? 3 : 2];
        struct bed_rows *macro = run(&checked, store, services[i]), *single = run(&stepped, store, services[i]);
        CHECK_EQ_INT(macro->code, 0);
        CHECK_EQ_INT(bed_metric(macro, "request.unfinished"), 0);
        CHECK(tokens_of(macro, "hit") > 2000);
        CHECK(bed_equal(macro, single));
        bed_free(macro);
        bed_free(single);
    }
}

/* Few blocks: requests are preempted, and take again what is left of their chunks. */
TEST(preempted_requests_reuse_again)
{
    static const char *const world =
        "{" CLUSTER ", 'services': {'rag': {'llm': 'llama-3.1-8b', 'cost': 'roofline', 'batching': {'policy':"
        " 'vllm-v1', 'max_sequences': 32}, 'kv': {'blocks': 620, 'chunk_store': {'tiers': {" HOST
        "}}}, 'trace': {'format':"
        " 'generate-rag', 'count': 60, 'arrival': {'process': 'poisson', 'rate': '40/s'}, 'corpus': 20, 'retrieved': 3,"
        " 'chunk': {'distribution': 'fixed', 'tokens': 200}, 'question': {'distribution': 'fixed', 'tokens': 8},"
        " 'output': {'distribution': 'fixed', 'tokens': 400}}}}}";
    struct bed_rows *macro = bed_ok(&checked, "%s", world), *single = bed_ok(&stepped, "%s", world);
    CHECK(bed_metric(macro, "replica.preemptions.sum") > 5);
    CHECK(tokens_of(macro, "hit") == 0 && tokens_of(macro, "transferred") > (double)prompt_tokens(macro) / 2);
    const double computed = tokens_of(macro, "recomputed") + tokens_of(macro, "new");
    CHECK_EQ_INT(processed_tokens(macro), computed); /* all that was admitted is processed */
    CHECK(bed_equal(macro, single));
    bed_free(macro);
    bed_free(single);
}

/* Transfers under way are abandoned; what replicas have lost is computed again (chunk_rules.c counts it). */
TEST(failures_and_scaling_abandon_transfers)
{
    static const char *const parts[] = {
        "'failures': {'causes': {'node': {'scope': 'node', 'lifetime': {'law': 'exponential', 'mean': '1s'}}}},"
        " 'services': {'rag': {'replicas': 2, 'tensor_parallel': 8, 'restart': {'delay': '0s'},",
        "'services': {'rag': {'scaling': {'policy': 'target-outstanding', 'min': 1, 'max': 4, 'interval': '1s',"
        " 'start_delay': '0.5s'},"};
    for (int i = 0; i < 2; i++) {
        struct bed_rows *rows[2];
        for (int s = 0; s < 2; s++)
            rows[s] = bed_run(s == 0 ? &checked : &stepped,
                              "{" CLUSTER ", %s 'llm': 'llama-3.1-8b', 'cost': 'roofline', 'kv': {'blocks': 2600,"
                              " 'chunk_store': {%s}}, " RAG "}}}",
                              parts[i], stores[3]);
        CHECK_EQ_INT(rows[0]->code, 0);
        CHECK(i == 1 || bed_metric(rows[0], "failure.restarted_requests") > 2);
        CHECK_EQ_INT(bed_metric(rows[0], "request.unfinished"), 0);
        CHECK(tokens_of(rows[0], "hit") + tokens_of(rows[0], "transferred") > 1000);
        CHECK(bed_equal(rows[0], rows[1]));
        bed_free(rows[0]);
        bed_free(rows[1]);
    }
}

/* --- Traces --- */

/* What csv-chunks would write: the generated prompts have their chunks first, and keys that agree where texts do. */
TEST(generated_prompts_share_keys_where_they_share_text)
{
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    uint64_t first_keys[2] = {0, 0};
    int n = 0, with_system = 0;
    MUST(trace_source_requests(
             &trace, 3,
             "{'format': 'generate-rag', 'count': 200, 'arrival': {'process': 'fixed', 'rate':"
             " '1/s'}, 'corpus': 6, 'retrieved': 6, 'popularity': 2, 'system_tokens': 32, 'block_tokens': 16,"
             " 'chunk': {'distribution': 'fixed', 'tokens': 24}, 'question': {'distribution':"
             " 'fixed', 'tokens': 9}, 'output': {'distribution': 'fixed', 'tokens': 1}}") == 0);
    for (; trace_source_request(&trace, &record) == 1; n++) {
        uint64_t seen = 0;
        CHECK_EQ_INT(record.prompt_tokens, 32 + 6 * 24 + 9);
        CHECK_EQ_INT(record.n_chunks, 7);
        CHECK_EQ_INT(record.n_prefix_blocks, record.prompt_tokens / 16);
        for (int i = 0; i < record.n_chunks; i++) seen |= UINT64_C(1) << record.chunks[i].id;
        CHECK_EQ_INT(seen, 0x7f); /* all chunks of the corpus, and the system prompt */
        for (int i = 0; i < 2 && n == 0; i++) first_keys[i] = record.prefix_blocks[i];
        with_system += record.prefix_blocks[0] == first_keys[0] && record.prefix_blocks[1] == first_keys[1];
    }
    CHECK_EQ_INT(n, 200);
    CHECK_EQ_INT(with_system, 200);
}

/* Zipf's law over 50 chunks with exponent 1: the first is retrieved with probability 1 / H(50) = 0.22228. */
TEST(popular_chunks_are_retrieved_as_zipf_says)
{
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    int n = 0, firsts = 0;
    MUST(trace_source_requests(&trace, 4,
                               "{'format': 'generate-rag', 'count': 20000, 'arrival': {'process': 'fixed', 'rate':"
                               " '1/s'}, 'corpus': 50, 'retrieved': 1, 'system_tokens': 0, 'chunk': {'distribution':"
                               " 'fixed', 'tokens': 24}, 'question': {'distribution': 'fixed', 'tokens': 9}, 'output':"
                               " {'distribution': 'fixed', 'tokens': 1}}") == 0);
    for (; trace_source_request(&trace, &record) == 1; n++) firsts += record.chunks[0].id == 1;
    CHECK_NEAR((double)firsts / n, 0.22228, 5 * sqrt(0.22228 * 0.77772 / 20000));
}

/* A clipped prompt keeps the chunks that it still has whole. */
TEST(clipped_prompts_lose_chunks)
{
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    const char *path = trace_source_file("c.csv", orders);
    MUST(trace_source_requests(&trace, 1, "{'format': 'csv', 'path': '%s', 'max_prompt_tokens': 800}", path) == 0);
    MUST(trace_source_request(&trace, &record) == 1);
    CHECK_EQ_INT(record.n_chunks, 2);
    MUST(trace_source_request(&trace, &record) == 1);
    CHECK_EQ_INT(record.n_chunks, 2);
    CHECK_EQ_INT(record.chunks[1].tokens, 320);
    MUST(trace_source_request(&trace, &record) == 1);
    CHECK_EQ_INT(record.n_chunks, 2);
}

/* --- Errors --- */

static void check_error_in(const char *cluster, const char *kv, const char *text)
{
    struct bed_rows *rows = bed_run(BED(.quiet = true),
                                    "{%s, 'services': {'rag': {'llm': 'llama-3.1-8b', 'kv': {%s}, " RAG "}}}", cluster,
                                    kv);
    char message[1024];
    CHECK(rows->code < 0);
    MUST(rows->diag.n_items > 0);
    diag_format(&rows->diag.items[0], message, sizeof message);
    if (!CHECK(strstr(message, text) != NULL)) fprintf(stderr, "  got: %s\n", message);
    bed_free(rows);
}

static void check_error(const char *kv, const char *text)
{
    check_error_in(CLUSTER, kv, text);
}

TEST(chunk_stores_that_cannot_be_are_refused)
{
    check_error_in("'cluster': {'gpu': 'h100-sxm', 'storage': {'gpu': {'device': 'samsung-980-pro'}}}",
                   "'chunk_store': {'tiers': {" GPU "}}", "is GPU memory and a device of cluster.storage");
    check_error("'prefix_cache': 'lru', 'chunk_store': {'tiers': {" GPU "}}", "would keep the same KV a second time");
    check_error("'chunk_store': {'tiers': {" HOST ", " GPU "}}", "in GPU memory is below another one");
    check_error("'chunk_store': {'tiers': {'a': {'capacity': '1GB'}, 'b': {'capacity': '1GB'}}}", "are on one device");
    check_error("'chunk_store': {'tiers': {'a': {'device': 'tape', 'capacity': '1GB'}}}", "cluster.storage does not");
    check_error("'chunk_store': {'tiers': {'a': {'device': 'gpu', 'capacity': '100GB'}}}", "no GPU memory for KV");
    check_error("'chunk_store': {'tiers': {'a': {'capacity': '900TB'}}}", "takes 900000000000000 bytes of 'host'");
    check_error("'chunk_store': {'tiers': {'a': {'capacity': '1GB', 'eviction': 'belady'}}}", "still to come");
}
