/* Rules of chunk stores in single cases: what routers see, writes under way, sizes of tiers, chunks of other lengths,
 * samples, pools, losses, long prompts, what is told of a prompt. */
#include "sim/world/kv/chunk_attention.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"

#define HEAD "arrival_s,prompt_tokens,output_tokens,chunks\n"
#define CLUSTER                                                                                                        \
    "'cluster': {'gpu': 'h100-sxm', 'gpus_per_node': 8, 'nodes': 2, 'network': {'bandwidth': '40GB/s'}, 'host':"       \
    " {'device': 'host-dram-pcie5'}, 'storage': {'drives': {'device': 'samsung-980-pro'}}}"
#define GPU "'gpu': {'device': 'gpu', 'capacity': '1GB'}"
enum { TOKEN_BYTES = 131072 }; /* Llama 3.1 8B, BF16 */

static const struct bed_options checked = {.check = true};
static const struct bed_options stepped = {.single_step = true, .queue = QUEUE_HEAP};

/* One service with this KV section and these other keys, fed by a table. */
static struct bed_rows *run_table(const char *table, const char *kv, const char *service)
{
    return bed_ok(&checked,
                  "{" CLUSTER ", 'services': {'rag': {'cost': 'roofline', 'batching': 'vllm-v1', 'kv': {%s}, %s,"
                  " 'trace': {'format': 'csv', 'path': '%s'}}}}",
                  kv, service, trace_source_file("chunks.csv", table));
}

static double tokens_of(const struct bed_rows *rows, const char *kind)
{
    char name[64];
    snprintf(name, sizeof name, "chunk.%s_tokens.sum", kind);
    return bed_metric(rows, name);
}

/* --- Routing and pools --- */

/* Both prompts begin at once, so each replica gets one; those that follow go where their chunk is. */
TEST(routers_see_chunks)
{
    struct bed_rows *rows = run_table(HEAD "0,4950,2,1:4900\n0,4950,2,2:4900\n50,4950,2,2:4900\n100,4950,2,2:4900\n"
                                           "150,4950,2,2:4900\n",
                                      "'chunk_store': {'tiers': {" GPU "}}",
                                      "'llm': 'llama-3.1-8b', 'replicas': 2, 'routing': 'prefix-aware'");
    for (int i = 2; i < 5; i++) CHECK_EQ_INT(bed_request(rows, i)->cached_tokens, 4900);
}

/* Those of the service are for replicas that process prompts; of each, a tier takes its capacity. */
TEST(pools_that_only_decode_get_no_store)
{
    static const char *const decode_kv[] = {"", ", 'kv': {'chunk_store': {'tiers': {'host': {'capacity': '3GB'}}}}"};
    for (int i = 0; i < 2; i++) {
        char service[400];
        snprintf(service, sizeof service,
                 "'llm': 'llama-3.1-8b', 'replicas': 1, 'kv_transfer': {'bandwidth': '50GB/s'}, 'pools': {'p': {'role':"
                 " 'prefill'}, 'd': {'role': 'decode'%s}}",
                 decode_kv[i]);
        struct bed_rows *rows = run_table(HEAD "0,520,4,1:500\n9,520,4,1:500\n",
                                          "'chunk_store': {'tiers': {'host': {'capacity': '2GB'}}}", service);
        CHECK_EQ_INT(bed_metric(rows, "tier.dram.used_bytes.max"), i == 0 ? 2e9 : 5e9);
        CHECK_EQ_INT(tokens_of(rows, "transferred"), 500);
    }
}

/* --- Tiers --- */

/* Drives are slower than the variants that fall onto them. */
TEST(writes_under_way_fit_into_their_tier)
{
    static const char *const world =
        "{" CLUSTER ", 'services': {'rag': {'llm': 'llama-3.1-8b', 'cost': 'roofline', 'batching': 'vllm-v1', 'kv':"
        " {'chunk_store': {'tiers': {'gpu': {'device': 'gpu', 'capacity': '100MB'}, 'low': {'device': 'drives',"
        " 'capacity': '200MB'}}}}, 'trace': {'format': 'generate-rag', 'count': 250, 'corpus': 100000, 'arrival':"
        " {'process': 'poisson', 'rate': '12/s'}, 'chunk': {'distribution': 'fixed', 'tokens': 512}, 'question':"
        " {'distribution': 'fixed', 'tokens': 60}, 'output': {'distribution': 'fixed', 'tokens': 9}}}}}";
    struct bed_rows *rows = bed_ok(&checked, "%s", world), *single = bed_ok(&stepped, "%s", world);
    const double most = bed_metric(rows, "chunk.writing_bytes.max[low]");
    CHECK(most > 130e6 && most <= bed_metric(rows, "chunk.used_bytes.max[low]") && most <= 200e6);
    CHECK(bed_metric(rows, "chunk.written_bytes.sum[low]") > 50 * 200e6);
    CHECK(bed_equal(rows, single));
}

/* Four heads of keys and values on eight GPUs: each is there twice. Below GPU memory it is kept once. */
TEST(tiers_in_gpu_memory_hold_all_copies)
{
    struct bed_rows *rows = run_table(HEAD "0,520,4,1:500\n", "'chunk_store': {'tiers': {" GPU "}}",
                                      "'llm': 'qwen3-30b-a3b', 'tensor_parallel': 8");
    struct bed_rows *host = run_table(HEAD "0,520,4,1:500\n", "'chunk_store': {'tiers': {'host': {'capacity': '1GB'}}}",
                                      "'llm': 'qwen3-30b-a3b', 'tensor_parallel': 8");
    CHECK_EQ_INT(bed_metric(rows, "chunk.used_bytes.max[gpu]"), 2 * 98304 * 500);
    CHECK_EQ_INT(bed_metric(host, "chunk.used_bytes.max[host]"), 98304 * 500);
}

/* KV blocks of a replica, as the admission of its first request tells them: all are free. */
static long long free_blocks(const char *kv)
{
    const struct bed_rows *rows = run_table(HEAD "0,520,4,1:500\n", kv, "'llm': 'llama-3.1-8b'");
    for (size_t i = 0; i < rows->n_decisions; i++) {
        const char *text = strstr(rows->decisions[i].reason, " free KV blocks");
        if (strcmp(rows->decisions[i].action, "admit") != 0 || text == NULL) continue;
        while (text[-1] != ' ') text--;
        return atoll(text);
    }
    return -1;
}

TEST(a_tier_in_gpu_memory_takes_blocks_that_were_computed)
{
    const long long computed = free_blocks("'usable_frac': 0.9");
    const long long taken = (1000000000 + 16 * TOKEN_BYTES - 1) / (16 * TOKEN_BYTES);
    CHECK(computed > 10000);
    CHECK_EQ_INT(free_blocks("'chunk_store': {'tiers': {" GPU "}}"), computed - taken);
    CHECK_EQ_INT(free_blocks("'chunk_store': {'tiers': {'host': {'capacity': '1GB'}}}"), computed);
    CHECK_EQ_INT(free_blocks("'blocks': 500, 'chunk_store': {'tiers': {" GPU "}}"), 500); /* all else is beside them */
}

/* --- Chunks --- */

/* The third prompt names another text of 300 tokens; it finds nothing and takes the place of the first. */
TEST(a_chunk_of_another_length_is_another_one)
{
    struct bed_rows *rows = run_table(HEAD "0,520,2,1:500\n50,520,2,1:500\n100,520,2,1:300\n150,520,2,1:300\n"
                                           "200,520,2,1:500\n",
                                      "'chunk_store': {'tiers': {" GPU "}, 'alpha': 0}", "'llm': 'llama-3.1-8b'");
    static const int hits[] = {0, 500, 0, 300, 0};
    for (int i = 0; i < 5; i++) CHECK_EQ_INT(bed_request(rows, i)->cached_tokens, hits[i]);
    CHECK_EQ_INT(tokens_of(rows, "new"), 5 * 520 - 500 - 300);
}

/* Of two chunks at most, the third one, for which no tier has room, drops none. */
TEST(a_chunk_that_fits_nowhere_drops_nothing)
{
    struct bed_rows *rows = run_table(HEAD "0,520,2,1:500\n50,520,2,2:500\n100,9000,2,3:8990\n150,520,2,1:500\n"
                                           "200,520,2,2:500\n",
                                      "'chunk_store': {'tiers': {" GPU "}, 'chunks': 2}", "'llm': 'llama-3.1-8b'");
    CHECK_EQ_INT(tokens_of(rows, "hit"), 1000);
    CHECK_EQ_INT(bed_metric(rows, "chunk.kept_variants.sum"), 2);
}

static bool is_told(const struct bed_rows *rows, const char *text)
{
    for (size_t i = 0; i < rows->n_decisions; i++)
        if (strstr(rows->decisions[i].reason, text) != NULL) return true;
    return false;
}

TEST(admissions_tell_of_chunks)
{
    struct bed_rows *rows = run_table(HEAD "0,520,2,1:500\n50,520,2,1:500\n",
                                      "'chunk_store': {'tiers': {'host': {'capacity': '1GB'}}}",
                                      "'llm': 'llama-3.1-8b'");
    CHECK(is_told(rows, "of 520 tokens, 0 reused from chunks, 0 of them loaded,"));
    CHECK(is_told(rows, "of 520 tokens, 500 reused from chunks, 500 of them loaded,"));
}

TEST(a_store_that_no_request_uses_is_warned_of)
{
    for (int i = 0; i < 2; i++) {
        const char *table = i == 0 ? HEAD "0,520,2,\n" : HEAD "0,520,2,1:500\n";
        struct bed_rows *with = run_table(table, "'chunk_store': {'tiers': {" GPU "}}", "'llm': 'llama-3.1-8b'");
        struct bed_rows *without = run_table(table, "'usable_frac': 0.9", "'llm': 'llama-3.1-8b'");
        CHECK_EQ_INT(with->n_warnings - without->n_warnings, i == 0);
    }
}

/* All samples of a prompt have its chunks, and the records of the trace that they come from are not used. */
TEST(samples_have_the_chunks_of_their_prompt)
{
    const char *path = trace_source_file("rl.csv", HEAD "0,420,3,1:400\n1,50,3,2:40\n2,50,3,\n3,50,3,2:40\n");
    struct bed_rows *rows = bed_ok(
        &checked,
        "{'cluster': {'gpu': 'h100-sxm', 'nodes': 2, 'gpus_per_node': 1, 'network': {'bandwidth': '16GB/s'}}, 'rl':"
        " {'service': 'a', 'layout': 'apart', 'gpus': 1, 'update': 'drain', 'prompts': 1, 'samples': 4, 'steps': 1,"
        " 'training': {'llm': 'phi-2', 'sequence_tokens': 512, 'recompute': 'full'}}, 'services': {'a': {'llm':"
        " 'phi-2', 'cost': 'roofline', 'batching': {'policy': 'vllm-v1', 'max_sequences': 1}, 'kv': {'chunk_store':"
        " {'tiers': {" GPU "}}}, 'trace': {'format': 'csv', 'path': '%s'}}}}",
        path);
    CHECK_EQ_INT(tokens_of(rows, "hit"), 3 * 400);
    CHECK_EQ_INT(tokens_of(rows, "new"), 420 + 3 * 20);
}

/* --- Losses --- */

/* The same chunk five times. It is computed again after each failure of the only replica, and each time that the
 * replica has been given back. */
TEST(replicas_that_leave_lose_their_variants)
{
    static const char *const table = HEAD "0,520,2,1:500\n100,520,2,1:500\n1000,520,2,1:500\n1100,520,2,1:500\n"
                                          "1200,520,2,1:500\n";
    static const struct {
        const char *site, *service;
        int losses;
    } cases[] = {
        {"", "'replicas': 1", 0},
        {"'failures': {'causes': {'rack': {'scope': 'site', 'lifetime': {'law': 'constant', 'mean': '500s'}, 'repair':"
         " {'law': 'constant', 'mean': '10s'}}}},",
         "'tensor_parallel': 8, 'restart': {'delay': '0s'}", 2}, /* at 500 s, and at 1010 s */
        {"",
         "'replicas': 1, 'scaling': {'policy': {'policy': 'target-outstanding', 'down_window': '300s'}, 'min': 0,"
         " 'max': 1, 'interval': '10s', 'start_delay': '1s'}",
         1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bed_rows *rows = bed_ok(&checked,
                                       "{" CLUSTER
                                       ", %s 'services': {'rag': {'llm': 'llama-3.1-8b', 'cost': 'roofline',"
                                       " 'batching': 'vllm-v1', 'kv': {'chunk_store': {'tiers': {" GPU "}}}, %s,"
                                       " 'trace': {'format': 'csv', 'path': '%s'}}}}",
                                       cases[i].site, cases[i].service, trace_source_file("loss.csv", table));
        CHECK_EQ_INT(tokens_of(rows, "hit"), (4 - cases[i].losses) * 500);
        CHECK_EQ_INT(bed_metric(rows, "chunk.kept_variants.sum"), 1 + cases[i].losses);
    }
}

/* --- Long prompts --- */

enum { LONG = 120 };

static void shuffle(struct rng *rng, struct prompt_chunk *chunks, int n)
{
    for (int i = n - 1; i > 0; i--) {
        const int k = (int)rng_below(rng, (uint64_t)i + 1);
        const struct prompt_chunk kept = chunks[i];
        chunks[i] = chunks[k];
        chunks[k] = kept;
    }
}

/* The order of common chunks is counted pair by pair. */
TEST(swapped_pairs_are_counted_like_one_by_one)
{
    const struct chunk_attention model = {.alpha = 0.5, .inter = 0.1};
    for (uint64_t number = 0; number < 30; number++) {
        struct rng rng = test_rng(number, "swapped", 0);
        struct prompt_chunk chunks[LONG], old[LONG];
        struct chunk_neighbour neighbours[LONG];
        struct chunk_place places[LONG];
        int32_t counts[LONG + 1];
        struct chunk_order order = {.places = places, .counts = counts};
        for (int i = 0; i < LONG; i++) chunks[i] = (struct prompt_chunk){(uint64_t)i, 10};
        shuffle(&rng, chunks, LONG);
        memcpy(old, chunks, sizeof old);
        shuffle(&rng, old, LONG);
        const int n_old = (int)rng_below(&rng, LONG) + 1, n = (int)rng_below(&rng, LONG) + 1;
        const double cci = chunk_attention_observe(&model, 999, old, n_old, neighbours);
        int place[LONG] = {0}, common = 0, pairs = 0, swapped = 0;
        for (int i = 0; i < LONG; i++) place[chunks[i].id] = i;
        for (int i = 0; i < n_old; i++) {
            common += place[old[i].id] < n;
            for (int k = 0; k < i && place[old[i].id] < n; k++) {
                pairs += place[old[k].id] < n;
                swapped += place[old[k].id] < n && place[old[k].id] > place[old[i].id];
            }
        }
        const double gamma = pairs > 0 ? (double)swapped / pairs : 0, beta = (double)common / n_old;
        chunk_order_fill(&order, chunks, LONG);
        CHECK_NEAR(chunk_attention_cfo(&model, cci, neighbours, n_old, &order, n), 0.5 * cci * (1 - beta * (1 - gamma)),
                   1e-12);
    }
}

/* Pair by pair, a match of such a prompt would take 10^9 steps for each of its variants. */
TEST(prompts_of_a_thousand_chunks_are_matched)
{
    struct bed_rows *rows = bed_ok(
        BED(.no_detail = true),
        "{" CLUSTER ", 'services': {'rag': {'llm': 'llama-3.1-8b', 'cost': 'roofline', 'batching': 'vllm-v1', 'kv':"
        " {'chunk_store': {'tiers': {" GPU "}}}, 'trace': {'format': 'generate-rag', 'count': 3, 'corpus': 1100,"
        " 'retrieved': 1000, 'arrival': {'process': 'fixed', 'rate': '0.1/s'}, 'chunk': {'distribution': 'fixed',"
        " 'tokens': 2}, 'question': {'distribution': 'fixed', 'tokens': 5}, 'output': {'distribution': 'fixed',"
        " 'tokens': 2}}}}}");
    CHECK(bed_metric(rows, "chunk.found_frac") > 0.55);
}
