/* Prompts that begin alike and are admitted at once. An engine that caches blocks when it schedules them (vLLM V1)
 * computes the common prefix once; the others compute it for each. Times and tokens have closed forms. */
#include "sim/core/rng.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <stdio.h>
#include <stdlib.h>

enum { BLOCK_TOKENS = 512, KEYS = 6, PROMPT = 3300, OUTPUT = 3 }; /* 6 full blocks and 228 tokens */
enum { KV_BLOCK = 16, PREFIX = KEYS * BLOCK_TOKENS, OWN = PROMPT - PREFIX };

static const double prefill_s = 9e-3, decode_s = 11e-3, token_s = 60e-6;

/* `n` prompts at time 0; `n_keys` blocks of theirs are the same, and all behind these differ. NULL: OUTPUT each. */
static const char *write_outputs(int n, int n_keys, const int *outputs)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/alike.jsonl", test_tmpdir());
    FILE *file = fopen(path, "w");
    if (file == NULL) abort();
    for (int i = 0; i < n; i++) {
        fprintf(file, "{\"timestamp\": 0, \"input_length\": %d, \"output_length\": %d, \"hash_ids\": [", PROMPT,
                outputs == NULL ? OUTPUT : outputs[i]);
        for (int k = 0; k <= KEYS; k++) fprintf(file, "%s%d", k > 0 ? "," : "", k < n_keys ? k + 1 : 100 * (i + 1) + k);
        fprintf(file, "]}\n");
    }
    fclose(file);
    return path;
}

static const char *write_prompts(int n, int n_keys)
{
    return write_outputs(n, n_keys, NULL);
}

static struct bed_rows *run(const struct bed_options *options, const char *batching, const char *kv, const char *trace)
{
    struct bed_rows *rows = bed_run(
        options,
        "{'cluster': {'gpu': 'h100-sxm', 'nodes': 1, 'gpus_per_node': 1}, 'services': {'chat': {'llm': 'llama-3.1-8b',"
        " 'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms', 'per_token': '60us'}, 'decode': {'fixed': '11ms'}},"
        " 'batching': %s, 'kv': {'block_tokens': 16, 'prefix_cache': 'lru', %s}, 'trace': {'format': 'mooncake',"
        " 'path': '%s'}}}}",
        batching, kv, trace);
    CHECK_EQ_INT(rows->code, 0);
    return rows;
}

static const struct bed_options checked = {.check = true}, stepped = {.single_step = true, .queue = QUEUE_HEAP};

static void check_equal(struct bed_rows *a, struct bed_rows *b)
{
    CHECK(bed_equal(a, b));
    bed_free(a);
    bed_free(b);
}

#define V1(budget) "{'policy': 'vllm-v1', 'token_budget': " #budget "}"

/* Of n equal prompts the first one computes all of its tokens, each other one those behind the prefix. If the budget
 * holds them, one iteration does it: all have their first token at its end. Each KV block of the prefix exists once. */
TEST(equal_prompts_compute_their_prefix_once)
{
    for (int n = 1; n <= 24; n += n < 4 ? 1 : 10) {
        struct bed_rows *rows = run(&checked, V1(100000), "'blocks': 4000", write_prompts(n, KEYS));
        const int64_t saved = (int64_t)(n - 1) * PREFIX, computed = (int64_t)n * PROMPT - saved;
        const double first_s = prefill_s + token_s * (double)computed;
        CHECK_EQ_INT(bed_metric(rows, "prefix.saved_tokens.sum"), saved);
        CHECK_EQ_INT(bed_metric(rows, "replica.prefill_iterations.sum"), 1);
        for (size_t i = 0; i < rows->n_requests; i++) {
            CHECK_EQ_INT(rows->requests[i].cached_tokens, rows->requests[i].id == 0 ? 0 : PREFIX);
            CHECK_NEAR(rows->requests[i].ttft_s, first_s, 1e-8);
            CHECK_NEAR(rows->requests[i].e2e_s, first_s + (OUTPUT - 1) * decode_s, 1e-8);
        }
        CHECK_EQ_INT(bed_metric(rows, "prefix.cached_blocks.sum"), PREFIX / KV_BLOCK);
        bed_free(rows);
    }
}

/* Any budget: chunks end anywhere in a block, and those behind the first prompt share what it has got so far. The sum
 * stays. Single steps give the same rows. */
TEST(chunks_share_what_is_scheduled)
{
    static const int budgets[] = {300, 512, 1000, 3300, 3301, 3600, 7000};
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        char batching[96];
        snprintf(batching, sizeof batching, "{'policy': 'vllm-v1', 'token_budget': %d}", budgets[i]);
        const char *path = write_prompts(5, KEYS);
        struct bed_rows *rows = run(&checked, batching, "'blocks': 4000", path);
        CHECK_EQ_INT(bed_metric(rows, "prefix.saved_tokens.sum"), 4 * PREFIX);
        check_equal(rows, run(&stepped, batching, "'blocks': 4000", path));
    }
}

/* Blocks behind the common ones are each request's own: nothing more is shared than is the same. */
TEST(only_common_blocks_are_shared)
{
    for (int n_keys = 0; n_keys <= KEYS; n_keys += 2) {
        struct bed_rows *rows = run(&checked, V1(100000), "'blocks': 4000", write_prompts(7, n_keys));
        CHECK_EQ_INT(bed_metric(rows, "prefix.saved_tokens.sum"), 6 * n_keys * BLOCK_TOKENS);
        bed_free(rows);
    }
}

/* Requests that share need blocks for their own tokens only. With room for the first prompt and four times 228 tokens
 * (each in 15 blocks, with its output) five are admitted at once; with a block less, four. */
TEST(shared_blocks_are_taken_once)
{
    enum { WHOLE = (PROMPT + KV_BLOCK - 1) / KV_BLOCK, REST = WHOLE - PREFIX / KV_BLOCK };
    for (int lacking = 0; lacking <= 1; lacking++) {
        char kv[32];
        snprintf(kv, sizeof kv, "'blocks': %d", WHOLE + 4 * REST - lacking);
        struct bed_rows *rows = run(&checked, V1(100000), kv, write_prompts(5, KEYS));
        int at_once = 0;
        for (size_t i = 0; i < rows->n_requests; i++) at_once += rows->requests[i].queue_s == 0;
        CHECK_EQ_INT(at_once, 5 - lacking);
        bed_free(rows);
    }
}

/* The other engines cache what has been computed: each prompt of a first batch computes all, those after it share. */
TEST(other_engines_share_what_has_been_computed)
{
    static const char *const batchers[] = {"{'policy': 'vllm-v0', 'max_batched_tokens': 100000}",
                                           "{'policy': 'sglang', 'chunked_prefill_tokens': 100000,"
                                           " 'max_prefill_tokens': 100000}",
                                           "{'policy': 'trtllm', 'token_budget': 100000, 'max_tokens': 16}"};
    for (size_t i = 0; i < sizeof batchers / sizeof *batchers; i++) {
        struct bed_rows *rows = run(&checked, batchers[i], "'blocks': 8000", write_prompts(6, KEYS));
        CHECK_EQ_INT(bed_metric(rows, "prefix.saved_tokens.sum"), 0);
        CHECK_EQ_INT(bed_metric(rows, "replica.prefill_iterations.sum"), 1);
        bed_free(rows);
    }
}

/* A block of a prefix goes to a tier with "through" once. The oracle store_differential follows when. */
TEST(a_store_gets_scheduled_blocks_once)
{
    static const char kv[] = "'blocks': 4000, 'prefix_store': {'tiers': {'host': {'capacity': '10GB', 'write': "
                             "'through'}}}";
    struct bed_rows *rows = run(&checked, V1(100000), kv, write_prompts(4, KEYS));
    const int64_t computed = 4 * PROMPT - 3 * PREFIX;
    CHECK_EQ_INT(bed_metric(rows, "store.computed_tokens.sum"), computed);
    CHECK_EQ_INT(bed_metric(rows, "store.written_bytes.sum[host]"), PREFIX * 131072);
    check_equal(rows, run(&stepped, V1(100000), kv, write_prompts(4, KEYS)));
}

/* Two sequences at most. The first one ends with its prompt, which makes room for the third: at once, or with `async`
 * an iteration later. Whatever the prompts share, those are the times. */
TEST(a_late_end_is_known_whatever_prompts_share)
{
    static const int outputs[] = {1, 20, 5};
    for (int n_keys = 0; n_keys <= KEYS; n_keys += 2) {
        for (int async = 0; async <= 1; async++) {
            char batching[128];
            snprintf(batching, sizeof batching,
                     "{'policy': 'vllm-v1', 'token_budget': 100000, 'max_sequences': 2, 'async': %s}",
                     async ? "true" : "false");
            const char *path = write_outputs(3, n_keys, outputs);
            struct bed_rows *rows = run(&checked, batching, "'blocks': 4000", path);
            const double rest = PROMPT - n_keys * BLOCK_TOKENS, both_s = prefill_s + token_s * (PROMPT + rest);
            const double third_s = both_s + (async ? decode_s : 0), first_s = third_s + decode_s + token_s * rest;
            CHECK_NEAR(bed_request(rows, 0)->e2e_s, both_s, 1e-8);
            CHECK_NEAR(bed_request(rows, 1)->e2e_s, both_s + (outputs[1] - 1) * decode_s + token_s * rest, 1e-8);
            CHECK_NEAR(bed_request(rows, 2)->queue_s, third_s, 1e-8);
            CHECK_NEAR(bed_request(rows, 2)->ttft_s, first_s, 1e-8);
            CHECK_NEAR(bed_request(rows, 2)->e2e_s, first_s + (outputs[2] - 1) * decode_s, 1e-8);
            check_equal(rows, run(&stepped, batching, "'blocks': 4000", path));
        }
    }
}

/* Prompts of two classes that go on from one of three beginnings. Returns their tokens. */
static int64_t write_mixed(const char *path, int n, uint64_t seed)
{
    struct rng rng;
    int64_t sum = 0;
    FILE *file = fopen(path, "w");
    if (file == NULL) abort();
    rng_init(&rng, seed, 0, "mixed", 0);
    fprintf(file, "arrival_s,prompt_tokens,output_tokens,prefix_blocks,class\n");
    double at_s = 0;
    for (int i = 0; i < n; i++) {
        const int n_keys = 1 + (int)(rng_uniform(&rng) * KEYS), beginning = (int)(rng_uniform(&rng) * 3);
        const int prompt = n_keys * BLOCK_TOKENS + (int)(rng_uniform(&rng) * (BLOCK_TOKENS - 1));
        if (rng_uniform(&rng) < 0.3) at_s += rng_uniform(&rng);
        fprintf(file, "%.3f,%d,%d,", at_s, prompt, 1 + (int)(rng_uniform(&rng) * rng_uniform(&rng) * 900));
        for (int k = 0; k < n_keys; k++)
            fprintf(file, "%s%d", k > 0 ? " " : "", 1 + 10 * beginning + k + (k > 3 ? 100 * (i + 1) : 0));
        fprintf(file, ",%s\n", rng_uniform(&rng) < 0.5 ? "interactive" : "batch");
        sum += prompt;
    }
    fclose(file);
    return sum;
}

/* What the rules of later releases, priorities and samples change is the same in single steps. Every request ends. Each
 * token of a prompt is cached, loaded or computed, and more than once only if requests were preempted. */
TEST(all_rules_conserve_requests_and_tokens)
{
    static const char *const rules[] = {"'async': true", "'long_prefill_tokens': 700, 'async': true",
                                        "'order': 'priority', 'priorities': {'batch': 2}",
                                        "'order': 'priority', 'priorities': {'batch': 2}, 'async': true,"
                                        " 'reserve_full_prompt': true, 'admission_watermark': 0.05"};
    static const char *const samples[] = {"", "'sampling': {'search': 'parallel', 'sequences': 2}, "};
    enum { N = 40 };
    double preempted = 0, saved = 0;
    for (int i = 0; i < 16; i++) {
        char path[512], text[2048];
        snprintf(path, sizeof path, "%s/mixed.csv", test_tmpdir());
        const int64_t tokens = write_mixed(path, N, (uint64_t)i);
        snprintf(text, sizeof text,
                 "{'cluster': {'gpu': 'h100-sxm', 'nodes': 1, 'gpus_per_node': 1}, 'services': {'chat': {%s'llm':"
                 " 'llama-3.1-8b', 'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms', 'per_token': '60us'},"
                 " 'decode': {'fixed': '11ms'}}, 'batching': {'policy': 'vllm-v1', 'max_sequences': 8, %s}, 'kv':"
                 " {'blocks': %d, 'prefix_cache': 'lru', 'prefix_store': {'tiers': {'host': {'capacity': '2GB'}}}},"
                 " 'trace': {'format': 'csv', 'block_tokens': %d, 'path': '%s'}}}}",
                 samples[i / 4 % 2], rules[i % 4], i < 8 ? 400 : 4000, BLOCK_TOKENS, path);
        struct bed_rows *rows = bed_run(&checked, "%s", text);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(bed_metric(rows, "request.finished"), N);
        const double preemptions = bed_metric(rows, "request.preemptions.sum");
        const double seen = bed_metric(rows, "prefix.saved_tokens.sum") + bed_metric(rows, "store.loaded_tokens.sum") +
                            bed_metric(rows, "store.computed_tokens.sum");
        CHECK(preemptions > 0 ? seen >= (double)tokens : seen == (double)tokens);
        preempted += preemptions;
        saved += bed_metric(rows, "prefix.saved_tokens.sum");
        check_equal(rows, bed_run(&stepped, "%s", text));
    }
    CHECK(preempted > 20);
    CHECK(saved > 100000);
}
