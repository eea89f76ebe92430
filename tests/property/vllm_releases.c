/* Parameters of `vllm-v1` for rules of later releases: their exact bounds, and the same bytes in every mode. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <math.h>

/* Every iteration takes 10 ms. */
static const char scenario[] =
    "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'services': {'s': {"
    "'llm': 'llama-3.1-8b', 'kv': {'blocks': %d, 'block_tokens': 10}, 'batching': {'policy': 'vllm-v1', %s},"
    " 'cost': {'kind': 'affine', 'prefill': {'fixed': '10ms'}, 'decode': {'fixed': '10ms'}}, 'trace': {'format': 'csv',"
    " 'path': '%s', 'columns': {'arrival': 'arrival', 'prompt': 'prompt', 'output': 'output'}}}}}";

static struct bed_rows *run(int blocks, const char *batching, const char *requests)
{
    const char *path = test_file("requests.csv", "arrival,prompt,output\n%s", requests);
    return bed_ok(BED(.check = true), scenario, blocks, batching, path);
}

/* The iteration, counted from 1, in which the request gets its first token. */
static int first_iteration(const struct bed_rows *rows, int id)
{
    const struct request_row *row = bed_request(rows, id);
    return (int)lround((row->arrival_s + row->ttft_s) * 100);
}

/* vllm-project/vllm, tests/v1/core/test_scheduler.py @ 003df29, test_schedule_concurrent_partial_requests: 400, 400 and
 * 224 tokens; again; then a token each and the last 352. */
TEST(long_prompts_share_the_budget)
{
    static const char requests[] = "0,800,5\n0,800,5\n0,800,5\n";
    static const int tokens[] = {1024, 1024, 354};
    const struct bed_rows *rows = run(1000, "'token_budget': 1024, 'long_prefill_tokens': 400", requests);
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        CHECK_EQ_INT(rows->batches[i].prefill_tokens + rows->batches[i].decoding, tokens[i]);
    CHECK_EQ_INT(first_iteration(rows, 0), 2);
    CHECK_EQ_INT(first_iteration(rows, 1), 2);
    CHECK_EQ_INT(first_iteration(rows, 2), 3);
    const struct bed_rows *others = run(1000, "'token_budget': 1024", requests);
    CHECK_EQ_INT(first_iteration(others, 0), 1);
}

/* 100 blocks, of which the first request holds 50. The first chunk of the second one has room, its prompt of 60 blocks
 * does not: it is preempted, or waits until the first request has ended after 5 iterations. */
TEST(a_whole_prompt_may_have_to_fit)
{
    static const char requests[] = "0,495,5\n0.015,600,5\n", plain[] = "'token_budget': 500";
    static const char reserves[] = "'token_budget': 500, 'reserve_full_prompt': true";
    CHECK(bed_request(run(100, plain, requests), 1)->preemptions > 0);
    const struct bed_rows *rows = run(100, reserves, requests);
    CHECK_EQ_INT(bed_request(rows, 1)->preemptions, 0);
    CHECK_EQ_INT(first_iteration(rows, 1), 5 + 2);
    CHECK_EQ_INT(first_iteration(run(110, reserves, requests), 1), 2 + 2);
    CHECK_EQ_INT(first_iteration(run(109, reserves, requests), 1), 5 + 2);
}

/* 10 of 100 blocks stay free beside running requests; a first request may take all. */
TEST(an_admission_leaves_the_watermark_free)
{
    static const char both[] = "'admission_watermark': 0.1";
    CHECK_EQ_INT(first_iteration(run(100, both, "0,450,5\n0,450,5\n"), 1), 1);
    CHECK_EQ_INT(first_iteration(run(100, both, "0,450,5\n0,451,5\n"), 1), 6);
    CHECK_EQ_INT(first_iteration(run(100, both, "0,960,5\n"), 0), 1);
}

TEST(ends_may_be_known_late)
{
    static const char requests[] = "0,10,5\n0,10,50\n0.015,10,5\n";
    CHECK_EQ_INT(first_iteration(run(1000, "'max_sequences': 2", requests), 2), 6);
    CHECK_EQ_INT(first_iteration(run(1000, "'max_sequences': 2, 'async': true", requests), 2), 7);
    /* A request that has just come does not get the slot of a sequence whose end is not known yet. */
    static const char just[] = "0,10,3\n0,10,50\n0.015,10,5\n";
    CHECK_EQ_INT(first_iteration(run(1000, "'max_sequences': 2, 'async': true", just), 2), 5);
}

/* An iteration is scheduled when the one before it begins: the third one at 10 ms. A request of 10 ms is in time for
 * it, one of 15 ms is not. One that finds nothing else at work does not wait. */
TEST(arrivals_may_be_known_late)
{
    static const struct {
        const char *requests;
        int first, first_async; /* iteration of the second request */
    } cases[] = {{"0,10,50\n0.015,10,5\n", 3, 4},  {"0,10,50\n0.010,10,5\n", 2, 3},
                 {"0,10,50\n0.0100001,10,5\n", 3, 4}, {"0,10,50\n0.195,10,5\n", 21, 22},
                 {"0,10,2\n0.015,10,5\n", 3, 3},  {"0,10,3\n0.015,10,5\n", 3, 4},
                 {"0.5,10,5\n0.5,10,5\n", 51, 51}, {"0,10,3\n0.025,10,5\n0.026,10,5\n", 4, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_EQ_INT(first_iteration(run(1000, "'max_sequences': 8", cases[i].requests), 1), cases[i].first);
        CHECK_EQ_INT(first_iteration(run(1000, "'async': true", cases[i].requests), 1), cases[i].first_async);
    }
}

enum { PLACES = 16, MANY = 600 };

/* All requests wait from the start for 16 places, in which a sequence ends in nearly every iteration. A sequence leaves
 * its place for the iteration after its last, or `late_iterations` later. The next one in the queue takes the first
 * place that is free. */
static void check_places(int blocks, const char *batching, int late_iterations, int most_outputs)
{
    SCOPED(text) trace = {0};
    struct rng rng = test_rng(1, "vllm places", 0);
    int outputs[MANY], free_from[PLACES];
    for (int i = 0; i < MANY; i++) {
        outputs[i] = 2 + (int)rng_below(&rng, (uint64_t)(most_outputs - 1));
        text_printf(&trace, "0,1,%d\n", outputs[i]);
    }
    for (int i = 0; i < PLACES; i++) free_from[i] = 1;
    const struct bed_rows *rows = run(blocks, batching, trace.chars);
    for (int i = 0; i < MANY; i++) {
        int *place = &free_from[0];
        for (int at = 1; at < PLACES; at++)
            if (free_from[at] < *place) place = &free_from[at];
        if (!CHECK_EQ_INT(first_iteration(rows, i), *place)) return;
        *place += outputs[i] + late_iterations;
    }
}

TEST(each_end_is_known_one_iteration_late)
{
    check_places(1000, "'max_sequences': 16", 0, 20);
    check_places(1000, "'max_sequences': 16, 'async': true", 1, 20);
    check_places(PLACES, "'max_sequences': 256", 0, 9); /* a block for each */
    check_places(PLACES, "'max_sequences': 256, 'async': true", 1, 9);
}

TEST(every_mode_gives_the_same_bytes)
{
    double preemptions = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        SCOPED(text) trace = {0};
        struct rng rng = test_rng(seed, "vllm releases", 0);
        double now_s = 0;
        for (int n = 10 + (int)rng_below(&rng, 100); n > 0; n--) {
            if (rng_below(&rng, 4) > 0) now_s += rng_exponential(&rng, 0.05);
            text_printf(&trace, "%.9f,%d,%d\n", now_s, 1 + (int)rng_below(&rng, 150), 1 + (int)rng_below(&rng, 60));
        }
        const int blocks = 22 + (int)rng_below(&rng, 40), most = 1 + (int)rng_below(&rng, 20);
        const char *batching = test_json("'max_sequences': %d, 'token_budget': %d, 'long_prefill_tokens': %d,"
                                         " 'reserve_full_prompt': %s, 'admission_watermark': %g, 'async': %s",
                                         most, most + (int)rng_below(&rng, 100), (int)rng_below(&rng, 3) * 20,
                                         rng_below(&rng, 2) > 0 ? "true" : "false", rng_uniform(&rng) * 0.2,
                                         rng_below(&rng, 2) > 0 ? "true" : "false");
        const char *path = test_file("requests.csv", "arrival,prompt,output\n%s", trace.chars);
        const struct bed_rows *macro = bed_ok(BED(.check = true), scenario, blocks, batching, path);
        const struct bed_rows *single = bed_ok(BED(.check = true, .single_step = true, .queue = QUEUE_HEAP), scenario,
                                               blocks, batching, path);
        if (!CHECK(bed_equal(macro, single))) printf("\n  seed %d: %s\n", (int)seed, batching);
        for (size_t i = 0; i < macro->n_requests; i++) CHECK_EQ_STR(macro->requests[i].status, "finished");
        preemptions += bed_metric(macro, "request.preemptions.sum");
    }
    CHECK(preemptions > 100); /* the loads do run out of blocks */
}
