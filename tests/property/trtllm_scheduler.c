/* The batcher `trtllm`. Exact cases are those of NVIDIA/TensorRT-LLM, cpp/tests/unit_tests/batch_manager:
 * capacitySchedulerTest.cpp @ 08c2acf and microBatchSchedulerTest.cpp @ 05ce661, named as there. Laws on random loads:
 * reservations evict nobody, budgets hold, chunks are whole units, every mode gives the same bytes. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <math.h>

/* Every iteration takes 10 ms, so times count iterations. */
static const char scenario[] =
    "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'keep': 'decisions', 'services': {'s': {"
    "'llm': 'llama-3.1-8b', 'kv': {'blocks': %d, 'block_tokens': 10}, 'batching': {'policy': 'trtllm', %s},"
    " 'cost': {'kind': 'affine', 'prefill': {'fixed': '10ms'}, 'decode': {'fixed': '10ms'}}, 'trace': {'format': 'csv',"
    " 'path': '%s', 'columns': {'arrival': 'arrival', 'prompt': 'prompt', 'output': 'output'}}}}}";

enum { MOST_REQUESTS = 4 };

/* Requests of one size; those from `late` on arrive after 10 iterations. The iteration in which each gets its first
 * token and its last, counted from 1. */
struct exact_case {
    const char *name, *batching;
    int blocks, n, prompt, output, late;
    int first[MOST_REQUESTS], last[MOST_REQUESTS];
};

static const struct exact_case cases[] = {
    {"SimpleShouldFit", "'max_sequences': 2", 20, 2, 10, 80, 2, {1, 1}, {80, 80}},
    {"SimpleShouldFit", "'max_sequences': 2, 'capacity': 'max-utilization'", 20, 2, 10, 80, 2, {1, 1}, {80, 80}},
    {"SimpleShouldFit", "'max_sequences': 2, 'capacity': 'static-batch'", 20, 2, 10, 80, 2, {1, 1}, {80, 80}},
    {"SimpleShouldFitInChunk",
     "'max_sequences': 2, 'token_budget': 40, 'chunked': true, 'chunking': 'equal-progress', 'chunk_unit_tokens': 20", 20,
     2, 50, 40, 2, {3, 3}, {42, 42}},
    {"SimpleDoesntFitMaxUtilization", "'max_sequences': 2, 'capacity': 'max-utilization'", 10, 2, 10, 80, 2, {1, 1},
     {80, 119}},
    {"SimpleDoesntFitGuaranteedCompletion", "'max_sequences': 2", 10, 2, 10, 80, 2, {1, 81}, {80, 160}},
    {"SimpleDoesntFitGuaranteedCompletionInChunk",
     "'max_sequences': 2, 'token_budget': 20, 'chunked': true, 'chunk_unit_tokens': 20", 10, 2, 30, 60, 2, {2, 63},
     {61, 122}},
    {"SimpleDoesntFitAddingNewRequestsMaxUtilization", "'max_sequences': 4, 'capacity': 'max-utilization'", 10, 4, 10, 80,
     2, {1, 1, 11, 11}, {80, 119, 178, 227}},
    {"SimpleNoOverlap", "'max_sequences': 2", 100, 4, 10, 80, 4, {1, 1, 81, 81}, {80, 80, 160, 160}},
    {"SimpleNoOverlapMaxNumTokens",
     "'max_sequences': 2, 'token_budget': 7, 'chunked': true, 'chunking': 'equal-progress', 'chunk_unit_tokens': 5", 100,
     2, 12, 5, 2, {2, 5}, {6, 9}},
    {"SimpleMaxNumTokensBW1", "'max_sequences': 4, 'token_budget': 12", 100, 4, 10, 10, 4, {1, 2, 3, 11},
     {10, 11, 12, 20}},
};

static void check_case(const struct exact_case *of)
{
    SCOPED(text) trace = {0};
    text_printf(&trace, "arrival,prompt,output\n");
    for (int i = 0; i < of->n; i++) text_printf(&trace, "%g,%d,%d\n", i < of->late ? 0.0 : 0.1, of->prompt, of->output);
    const char *batching = test_json("'max_tokens': %d, %s", of->output, of->batching);
    const struct bed_rows *rows = bed_ok(BED(.check = true), scenario, of->blocks, batching,
                                         test_file("requests.csv", "%s", trace.chars));
    for (int i = 0; i < of->n; i++) {
        const struct request_row *row = bed_request(rows, i);
        const double start_s = i < of->late ? 0.0 : 0.1;
        bool holds = CHECK_NEAR(start_s + row->ttft_s, 0.01 * of->first[i], 1e-9);
        holds = CHECK_NEAR(start_s + row->e2e_s, 0.01 * of->last[i], 1e-9) && holds;
        if (!holds) printf("\n  %s, request %d, %s\n", of->name, i, batching);
    }
}

TEST(cases_of_the_engine)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_case(&cases[i]);
}

/* Both limits count: the request of 81 tokens would have been cut. */
TEST(an_output_above_its_limit_is_rejected)
{
    const char *path = test_file("requests.csv", "arrival,prompt,output\n0,10,80\n0,10,81\n");
    const struct bed_rows *rows = bed_ok(BED(.check = true, .quiet = true), scenario, 100, "'max_tokens': 80", path);
    CHECK_EQ_STR(bed_request(rows, 0)->status, "finished");
    CHECK_EQ_STR(bed_request(rows, 1)->status, "rejected");
}

/* 9 blocks for prompt and limit; 10 without a limit of its own, which is the whole cache. */
TEST(limits_decide_how_many_fit)
{
    const char *path = test_file("requests.csv", "arrival,prompt,output\n0,10,31\n0,10,31\n");
    static const struct {
        const char *batching;
        int blocks;
        bool together;
    } rows_of[] = {{"'max_tokens': 80", 18, true}, {"'max_tokens': 80", 17, false}, {"'max_tokens': 0", 18, false},
                   {"'limits': 'exact'", 10, true}, {"'limits': 'exact'", 9, false}};
    for (size_t i = 0; i < sizeof rows_of / sizeof *rows_of; i++) {
        const struct bed_rows *rows = bed_ok(BED(.check = true), scenario, rows_of[i].blocks, rows_of[i].batching, path);
        CHECK_EQ_INT(bed_request(rows, 1)->ttft_s < 0.015, rows_of[i].together);
    }
}

/* A static batch admits nobody before its last sequence has ended. */
TEST(a_static_batch_ends_before_the_next)
{
    const char *path = test_file("requests.csv", "arrival,prompt,output\n0,10,5\n0,10,20\n0.001,10,5\n");
    const char *batching = "'max_tokens': 20, 'capacity': 'static-batch'";
    const struct bed_rows *rows = bed_ok(BED(.check = true), scenario, 100, batching, path);
    CHECK_NEAR(bed_request(rows, 2)->ttft_s, 0.21 - 0.001, 1e-9);
    const struct bed_rows *other = bed_ok(BED(.check = true), scenario, 100, "'max_tokens': 20", path);
    CHECK_NEAR(bed_request(other, 2)->ttft_s, 0.02 - 0.001, 1e-9);
}

/* As ReusableTokensReduceComputeBudget: of two prompts of 1100 tokens, 1024 are cached and cost no budget. Otherwise
 * the second prompt follows in the next iteration, or after the first request if its token is in the way. */
TEST(cached_tokens_cost_no_budget)
{
    const char *path = test_file(
        "requests.jsonl", "{'timestamp': 0, 'input_length': 1100, 'output_length': 2, 'hash_ids': [1, 2, 3]}\n"
                          "{'timestamp': 500, 'input_length': 1100, 'output_length': 2, 'hash_ids': [1, 2, 4]}\n"
                          "{'timestamp': 500, 'input_length': 1100, 'output_length': 2, 'hash_ids': [1, 2, 5]}\n");
    for (int budget = 1100; budget <= 1200; budget += 100)
        for (int cached = 0; cached < 2; cached++) {
            const struct bed_rows *rows = bed_ok(
                BED(.check = true),
                "{'cluster': {'gpu': 'h100-sxm', 'gpus_per_node': 1}, 'services': {'s': {'llm': 'llama-3.1-8b', 'kv': {"
                "%s}, 'batching': {'policy': 'trtllm', 'max_tokens': 100, 'token_budget': %d}, 'cost': {'kind': 'affine',"
                " 'prefill': {'fixed': '10ms'}, 'decode': {'fixed': '10ms'}}, 'trace': {'format': 'mooncake', 'path':"
                " '%s'}}}}",
                cached ? "'prefix_cache': 'lru'" : "", budget, path);
            CHECK_NEAR(bed_request(rows, 2)->ttft_s, cached ? 0.01 : budget == 1100 ? 0.03 : 0.02, 1e-9);
        }
}

/* --- Random loads --- */

struct load {
    const char *path;
    char batching[256];
    int blocks, token_budget, unit_tokens;
    bool reserves;
};

static const char *write_requests(struct rng *rng)
{
    SCOPED(text) trace = {0};
    double now_s = 0;
    text_printf(&trace, "arrival,prompt,output\n");
    for (int n = 10 + (int)rng_below(rng, 120); n > 0; n--) {
        if (rng_below(rng, 4) > 0) now_s += rng_exponential(rng, 0.05);
        text_printf(&trace, "%.9f,%d,%d\n", now_s, 1 + (int)rng_below(rng, 150), 1 + (int)rng_below(rng, 60));
    }
    return test_file("requests.csv", "%s", trace.chars);
}

static struct load random_load(struct rng *rng)
{
    static const char *const capacities[] = {"guaranteed-no-evict", "max-utilization", "static-batch"};
    const int capacity = (int)rng_below(rng, 3);
    struct load load = {.path = write_requests(rng), .blocks = 22 + (int)rng_below(rng, 40),
                        .token_budget = 30 + (int)rng_below(rng, 200), .unit_tokens = 1 + (int)rng_below(rng, 30),
                        .reserves = capacity != 1};
    const int max_tokens = rng_below(rng, 2) > 0 ? 60 + (int)rng_below(rng, 60) : 0;
    snprintf(load.batching, sizeof load.batching,
             "'max_sequences': %d, 'token_budget': %d, 'chunked': true, 'chunk_unit_tokens': %d, 'chunking': '%s',"
             " 'capacity': '%s', 'max_tokens': %d, 'limits': '%s'",
             1 + (int)rng_below(rng, 20), load.token_budget, load.unit_tokens,
             rng_below(rng, 2) > 0 ? "equal-progress" : "first-come-first-served", capacities[capacity], max_tokens,
             rng_below(rng, 3) > 0 ? "max" : "exact");
    return load;
}

/* A chunk is of whole units, or ends its prompt. */
static void check_chunks(const struct bed_rows *rows, int unit_tokens)
{
    for (size_t i = 0; i < rows->n_decisions; i++) {
        const char *reason = rows->decisions[i].reason;
        int first = 1, last, prompt;
        if (sscanf(reason, "replica 0 of s: tokens %d to %d of %d", &first, &last, &prompt) == 3 ||
            sscanf(reason, "replica 0 of s: prefills %d of %d", &last, &prompt) == 2)
            CHECK(last == prompt || (last - first + 1) % unit_tokens == 0);
    }
}

static void check_budget(const struct bed_rows *rows, int token_budget)
{
    for (size_t i = 0; i < rows->n_batches; i++) {
        const struct batch_row *batch = &rows->batches[i];
        CHECK(batch->prefill_tokens + batch->decoding <= token_budget);
        CHECK(batch->prefill_tokens > 0 || batch->decoding > 0);
    }
}

TEST(laws_on_random_loads)
{
    double pauses = 0, chunks = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct rng rng = test_rng(seed, "trtllm", 0);
        const struct load load = random_load(&rng);
        struct bed_rows *macro = bed_ok(BED(.check = true), scenario, load.blocks, load.batching, load.path);
        struct bed_rows *single = bed_ok(BED(.check = true, .single_step = true, .queue = QUEUE_HEAP), scenario,
                                         load.blocks, load.batching, load.path);
        if (!CHECK(bed_equal(macro, single))) printf("\n  seed %d: %s\n", (int)seed, load.batching);
        const double preemptions = bed_metric(macro, "request.preemptions.sum");
        if (load.reserves)
            CHECK_EQ_INT(preemptions, 0);
        else
            pauses += preemptions;
        for (size_t i = 0; i < macro->n_requests; i++) CHECK_EQ_STR(macro->requests[i].status, "finished");
        chunks += (double)bed_decisions(macro, "chunk", -1);
        check_budget(macro, load.token_budget);
        check_chunks(macro, load.unit_tokens);
        bed_free(macro);
        bed_free(single);
    }
    CHECK(pauses > 50 && chunks > 500); /* the loads do exercise these rules */
}
