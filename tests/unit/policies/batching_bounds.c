/* Batchers at their bounds: two requests arrive together and meet a budget of tokens, of sequences or of KV blocks
 * exactly, or exceed it by one. The bounds are those of the released sources: vLLM @ 0054e1f (core/scheduler.py,
 * core/block_manager.py) and its V1 scheduler, Vidur @ 7d47513 (vllm, sarathi, orca), simdistserve @ 82831f1
 * (base/worker.py), SplitwiseSim @ 8f99e7d (instance.py). */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <math.h>

/* An iteration with a prompt takes 100 ms, one without 10 ms. */
static const char scenario[] =
    "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'services': {'s': {'llm': 'llama-3.1-8b',"
    " 'kv': {'blocks': %d, 'block_tokens': 16}, 'batching': %s, 'cost': {'kind': 'affine', 'prefill': {'fixed':"
    " '100ms'}, 'decode': {'fixed': '10ms'}}, 'trace': {'format': 'csv', 'path': '%s',"
    " 'columns': {'arrival': 'arrival', 'prompt': 'prompt', 'output': 'output'}}}}}";

struct bound {
    const char *batching;
    int blocks, first_tokens, exact_tokens; /* prompts: the second may have exact_tokens, and no more */
};

static struct bed_rows *run(const char *batching, int blocks, int first_tokens, int second_tokens)
{
    const char *path = test_file("requests.csv", "arrival,prompt,output\n0,%d,3\n0,%d,3\n", first_tokens,
                                 second_tokens);
    return bed_ok(BED(.check = true), scenario, blocks, batching, path);
}

/* Whether both have their first token at the end of the first iteration. */
static bool are_together(const char *batching, int blocks, int first_tokens, int second_tokens)
{
    const struct bed_rows *rows = run(batching, blocks, first_tokens, second_tokens);
    if (!CHECK(rows->n_requests == 2)) return false;
    CHECK_NEAR(bed_request(rows, 0)->ttft_s, 0.1, 1e-9);
    return bed_request(rows, 1)->ttft_s < 0.1 + 1e-9;
}

TEST(prompts_may_fill_a_budget_exactly)
{
    static const struct bound bounds[] = {
        {"{'policy': 'vllm-v0', 'max_batched_tokens': 2048}", 1000, 1000, 1048},
        {"{'policy': 'vllm-v0', 'max_batched_tokens': 2048, 'padded': true}", 1000, 1000, 1024},
        {"{'policy': 'vllm-v1', 'token_budget': 512}", 1000, 200, 312},
        {"{'policy': 'sarathi', 'token_budget': 512}", 1000, 200, 312},
        {"{'policy': 'distserve', 'max_batched_tokens': 2000}", 1000, 900, 1100},
        {"{'policy': 'splitwise', 'max_batched_tokens': 2048}", 1000, 1000, 1048},
        {"{'policy': 'vllm-v0', 'watermark': 0.1}", 100, 45 * 16, 45 * 16}, /* 10 blocks stay free */
        {"{'policy': 'sarathi', 'watermark': 0.1, 'token_budget': 4096}", 100, 45 * 16, 45 * 16},
        {"{'policy': 'vllm-v1', 'token_budget': 4096}", 100, 50 * 16, 50 * 16},
        {"{'policy': 'distserve'}", 100, 50 * 16, 50 * 16},
        {"{'policy': 'splitwise'}", 100, 50 * 16, 50 * 16}};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        const struct bound *of = &bounds[i];
        const bool fits = are_together(of->batching, of->blocks, of->first_tokens, of->exact_tokens);
        const bool exceeds = !are_together(of->batching, of->blocks, of->first_tokens, of->exact_tokens + 1);
        if (!CHECK(fits && exceeds)) printf("\n  %s, %d blocks\n", of->batching, of->blocks);
    }
}

/* Reservations of 50 blocks each. */
TEST(reservations_may_fill_the_cache_exactly)
{
    static const char *const batchers[] = {"orca", "fastertransformer"};
    for (size_t i = 0; i < sizeof batchers / sizeof *batchers; i++) {
        const char *batching = test_json("{'policy': '%s', 'max_tokens': 800, 'reservation': 'max'}", batchers[i]);
        CHECK(are_together(batching, 100, 100, 100));
        CHECK(!are_together(batching, 99, 100, 100));
    }
}

TEST(a_batch_may_have_exactly_the_most_sequences)
{
    static const char *const batchers[] = {"vllm-v0'",
                                           "vllm-v1'",
                                           "sarathi'",
                                           "splitwise'",
                                           "orca', 'max_tokens': 800",
                                           "fastertransformer', 'max_tokens': 800"};
    for (size_t i = 0; i < sizeof batchers / sizeof *batchers; i++)
        for (int most = 1; most <= 2; most++) {
            const char *batching = test_json("{'policy': '%s, 'max_sequences': %d}", batchers[i], most);
            if (!CHECK(are_together(batching, 1000, 100, 100) == (most == 2))) printf("\n  %s\n", batchers[i]);
        }
}

/* After their prompts the contexts have 101 tokens each, and then 102. The simulator adds 1 token to contexts that do
 * not count the newest. Sequences that do not fit decode in turns. */
TEST(distserve_decodes_within_exactly_its_budget)
{
    static const struct {
        int budget_tokens;
        double first_s, second_s;
    } bounds[] = {{204, 0.12, 0.12}, {203, 0.12, 0.13}, {202, 0.12, 0.13}, {201, 0.13, 0.14}};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        const char *batching = test_json("{'policy': 'distserve', 'max_context_tokens': %d}", bounds[i].budget_tokens);
        const struct bed_rows *rows = run(batching, 1000, 100, 100);
        CHECK_NEAR(bed_request(rows, 0)->e2e_s, bounds[i].first_s, 1e-9);
        CHECK_NEAR(bed_request(rows, 1)->e2e_s, bounds[i].second_s, 1e-9);
    }
}

/* A plan has room for 65,536 entries of a queue and half as many, and more requests arrive during the first iteration.
 * They get the next plan: each prompt that leaves too little free is rejected, and one that fits is served at last. */
TEST_OPTIMISED(queues_longer_than_a_plan_go_on)
{
    enum { TOO_LONG = 100000 };
    static const char *const batchers[] = {"{'policy': 'vllm-v0', 'watermark': 0.5}",
                                           "{'policy': 'sarathi', 'watermark': 0.5}"};
    const char *path = test_file("requests.csv", "%s", "arrival,prompt,output\n0,10,1\n");
    FILE *file = fopen(path, "a");
    MUST(file);
    for (int i = 0; i < TOO_LONG; i++) fputs("0.05,130,1\n", file);
    fputs("0.05,10,1\n", file);
    MUST(fclose(file) == 0);
    for (size_t i = 0; i < sizeof batchers / sizeof *batchers; i++) {
        struct bed_rows *rows = bed_ok(BED(.check = false), scenario, 10, batchers[i], path);
        size_t n_done = 0;
        for (size_t k = 0; k < rows->n_requests; k++) n_done += isfinite(rows->requests[k].e2e_s);
        CHECK_EQ_INT(rows->n_requests, TOO_LONG + 2);
        CHECK_EQ_INT(n_done, 2);
        bed_free(rows);
    }
}
