/* The batcher `sglang` at the exact bounds of its admission, and the estimate new_token_ratio against the engine's own
 * unit tests (sgl-project/sglang, files and commits as in policies/batching/sglang.c). */
#include "policies/batching/new_token_ratio.h"
#include "policies/declared.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <math.h>

/* Every iteration takes 10 ms. */
static const char scenario[] =
    "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'services': {'s': {"
    "'llm': 'llama-3.1-8b', 'kv': {'blocks': %d, 'block_tokens': %d}, 'batching': {'policy': 'sglang-uncut', %s},"
    " 'cost': {'kind': 'affine', 'prefill': {'fixed': '10ms'}, 'decode': {'fixed': '10ms'}}, 'trace': {'format': 'csv',"
    " 'path': '%s', 'columns': {'arrival': 'arrival', 'prompt': 'prompt', 'output': 'output'}}}}}";

/* --- The estimate --- */

/* test_new_token_ratio_tracker.py: from_server_args, decay_step, estimate_new_token_ratio_after_retract. */
TEST(ratio_of_the_engines_tests)
{
    const struct new_token_ratio nominal = new_token_ratio_of(1.0), half = new_token_ratio_of(0.5);
    const struct new_token_ratio most = new_token_ratio_of(2.0);
    CHECK_NEAR(nominal.now, 0.7, 1e-15);
    CHECK_NEAR(nominal.least, 0.098, 1e-15);
    CHECK_NEAR(nominal.decay, (0.7 - 0.098) / 600, 1e-15);
    CHECK_NEAR(half.first, 0.35, 1e-15);
    CHECK_NEAR(half.least, 0.35 * 0.14, 1e-15);
    CHECK_NEAR(most.first, 1.0, 1e-15);
    CHECK_NEAR(most.least, 0.14, 1e-15);
    struct new_token_ratio falls = {.now = 0.7, .first = 0.7, .least = 0.1, .decay = 0.2};
    for (int step = 1; step <= 4; step++) {
        new_token_ratio_decay(&falls, 1);
        CHECK_NEAR(falls.now, step < 4 ? 0.7 - 0.2 * step : 0.1, 1e-12);
    }
    struct new_token_ratio below = {.now = 0.4, .first = 0.7, .least = 0.5, .decay = 0.2};
    new_token_ratio_decay(&below, 1);
    CHECK_NEAR(below.now, 0.5, 1e-15);
    CHECK_NEAR(new_token_ratio_after(2, 8, 150), 48.0 / 151, 1e-15);
    CHECK_NEAR(new_token_ratio_after(1, 200, 10), 1.0, 1e-15);
    CHECK_NEAR(new_token_ratio_after(2, 0, 2000), 40.0 / 2001, 1e-15);
    CHECK_NEAR(new_token_ratio_after(0, 0, 0), 0.0, 1e-15);
}

TEST(decay_has_a_closed_form)
{
    struct new_token_ratio by_step = new_token_ratio_of(1.0);
    for (int64_t step = 0; step <= 1000; step++) {
        struct new_token_ratio at_once = new_token_ratio_of(1.0);
        new_token_ratio_decay(&at_once, step);
        CHECK_NEAR(at_once.now, by_step.now, 1e-12);
        new_token_ratio_decay(&by_step, 1);
    }
    CHECK_NEAR(by_step.now, by_step.least, 0);
}

/* --- Admission at its bounds --- */

/* Outputs beyond the limit make blocks short. */
static struct batcher uncut_sglang(void)
{
    struct batcher uncut = batching_sglang;
    uncut.policy.name = "sglang-uncut";
    uncut.most_output_tokens = NULL;
    return uncut;
}

static struct bed_rows *run(int blocks, const char *batching, const char *requests)
{
    const char *path = test_file("requests.csv", "arrival,prompt,output\n%s", requests);
    const struct batcher uncut = uncut_sglang();
    return bed_ok(BED(.check = true, .policy = &uncut.policy), scenario, blocks, 1, batching, path);
}

/* The iteration, counted from 1, in which the request gets its first token. */
static int first_iteration(const struct bed_rows *rows, int id)
{
    const struct request_row *row = bed_request(rows, id);
    return (int)lround((row->arrival_s + row->ttft_s) * 100);
}

/* Two prompts of 100 tokens with limits of 50: each counts with one page more, and less than what remains. */
TEST(prompt_limit_and_page_must_be_less_than_what_remains)
{
    static const char requests[] = "0,100,20\n0,100,20\n", batching[] = "'max_tokens': 50";
    CHECK_EQ_INT(first_iteration(run(303, batching, requests), 1), 1);
    CHECK_EQ_INT(first_iteration(run(302, batching, requests), 1), 2); /* counts with the ratio from now on */
}

/* The second prompt comes when the first request has decoded 10 times and made 11 of at most 50 tokens. Of the other 39
 * it counts 1 - 10 x 0.86 / 600, which is 38.44 tokens: 300 tokens suffice. Without the decay it would need 301. */
TEST(running_requests_count_with_the_decayed_ratio)
{
    static const char requests[] = "0,100,40\n0.105,100,20\n", batching[] = "'max_tokens': 50, 'conservativeness': 2";
    CHECK_EQ_INT(first_iteration(run(300, batching, requests), 1), 12);
    CHECK_EQ_INT(first_iteration(run(299, batching, requests), 1), 41);
}

/* Without a limit of its own a request counts 4096 tokens to come. */
TEST(limits_count_up_to_4096_tokens)
{
    static const char requests[] = "0,100,20\n0,100,20\n";
    CHECK_EQ_INT(first_iteration(run(2 * (100 + 4096 + 1) + 1, "'max_tokens': 0", requests), 1), 1);
    CHECK_EQ_INT(first_iteration(run(2 * (100 + 4096 + 1), "'max_tokens': 0", requests), 1), 2);
}

/* The first request lets the ratio fall to its least. The second one comes to an idle replica, so the third one counts
 * the 499 tokens that may come of it by 0.7 again. */
TEST(an_idle_replica_resets_the_ratio)
{
    static const char requests[] = "0,10,700\n10,400,20\n10.005,100,20\n";
    CHECK_EQ_INT(first_iteration(run(1351, "'max_tokens': 500", requests), 2), 1002);
    CHECK_EQ_INT(first_iteration(run(1350, "'max_tokens': 500", requests), 2), 1021);
}

/* test_prefill_adder.py @ 16e83e0, test_mixed_chunk_prefill_budgets: of 64 tokens, 8 decoding sequences leave 56, and 5
 * leave 59. */
TEST(decoding_takes_from_the_chunk_of_mixed_prompts)
{
    static const struct {
        int decoding, prompt, iterations;
    } cases[] = {{8, 56, 1}, {8, 57, 2}, {5, 59, 1}, {5, 60, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(text) requests = {0};
        for (int n = 0; n < cases[i].decoding; n++) text_printf(&requests, "0,1,50\n");
        text_printf(&requests, "0.055,%d,2\n", cases[i].prompt);
        const struct bed_rows *rows = run(1000, "'mixed': true, 'max_tokens': 50, 'chunked_prefill_tokens': 64",
                                          requests.chars);
        CHECK_EQ_INT(first_iteration(rows, cases[i].decoding), 6 + cases[i].iterations);
        CHECK_NEAR(bed_request(rows, 0)->e2e_s, 0.5, 1e-9); /* decoding never waits */
    }
}

/* A full batch learns one iteration later that the first sequence has ended, after 5 iterations. */
TEST(a_full_batch_learns_late)
{
    static const char requests[] = "0,10,5\n0,10,50\n0.015,10,5\n";
    CHECK_EQ_INT(first_iteration(run(1000, "'max_sequences': 2, 'max_tokens': 50, 'overlap': false", requests), 2), 6);
    CHECK_EQ_INT(first_iteration(run(1000, "'max_sequences': 2, 'max_tokens': 50", requests), 2), 7);
}

/* --- Order of the queue --- */

/* Prompts of two prefix blocks and 76 tokens more. The first request leaves its prefix in the cache; behind it wait one
 * with another prefix, `others` like that, and one with the same prefix. Returns whether the latter is served before
 * the second. */
static bool prefers_the_cached(const char *order, int others)
{
    SCOPED(text) trace = {0};
    for (int i = 0; i < 3 + others; i++) {
        const int first = i == 0 || i == 2 + others ? 0 : 2 * i;
        text_printf(&trace, "{'timestamp': %d, 'input_length': 1100, 'output_length': 5, 'hash_ids': [%d, %d, %d]}\n",
                    i > 0, first, first + 1, 1000 + i);
    }
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'gpu': 'h100-sxm', 'gpus_per_node': 1}, 'services': {'s': {'llm': 'llama-3.1-8b', 'kv': {"
        "'prefix_cache': 'lru'}, 'batching': {'policy': 'sglang', 'max_sequences': 1, 'order': '%s'}, 'cost': {"
        "'kind': 'affine', 'prefill': {'fixed': '10ms'}, 'decode': {'fixed': '10ms'}}, 'trace': {'format': 'mooncake',"
        " 'path': '%s'}}}}",
        order, test_file("requests.jsonl", "%s", trace.chars));
    CHECK(bed_request(rows, 2 + others)->cached_tokens == 1024);
    return bed_request(rows, 2 + others)->ttft_s < bed_request(rows, 1)->ttft_s;
}

/* SGLang sorts no longer queues (_determine_active_policy). */
TEST(the_longest_cached_prefix_goes_first_in_queues_of_at_most_128)
{
    CHECK(!prefers_the_cached("fcfs", 0));
    CHECK(prefers_the_cached("lpm", 0));
    CHECK(prefers_the_cached("lpm", 126));
    CHECK(!prefers_the_cached("lpm", 127));
}

/* --- Retraction --- */

/* Three prompts of 30, 20 and 20 tokens fill 120 slots after 16 decode iterations. The longest prompt goes first; then,
 * of two equal sequences, the younger. */
TEST(the_longest_prompt_then_the_youngest_are_retracted)
{
    const struct bed_rows *rows = run(120, "'max_tokens': 10, 'conservativeness': 0",
                                      "0,30,60\n0,20,60\n0,20,60\n0.005,1,1\n");
    CHECK_EQ_INT(bed_request(rows, 1)->preemptions, 0);
    CHECK_EQ_INT(rows->n_decisions >= 2, 1);
    int64_t order[2] = {-1, -1};
    for (size_t i = 0, n = 0; i < rows->n_decisions && n < 2; i++)
        if (strcmp(rows->decisions[i].action, "preempt") == 0) order[n++] = rows->decisions[i].subject;
    CHECK_EQ_INT(order[0], 0);
    CHECK_EQ_INT(order[1], 2);
}

/* A request that came later has fewer output tokens: it goes, though its prompt is shorter. */
TEST(the_fewest_output_tokens_are_retracted)
{
    const struct bed_rows *rows = run(120, "'max_tokens': 10, 'conservativeness': 0", "0,40,60\n0.055,10,60\n");
    CHECK_EQ_INT(bed_request(rows, 0)->preemptions, 0);
    CHECK(bed_request(rows, 1)->preemptions > 0);
}

/* A sequence and a prompt that goes on beside it take a block each, until none is free. No sequence but the last one
 * decodes, so that the prompt gives its blocks away: the sequence never waits. */
TEST(the_last_sequence_takes_the_blocks_of_a_cut_prompt)
{
    const struct bed_rows *rows = run(108,
                                      "'mixed': true, 'chunked_prefill_tokens': 2, 'max_tokens': 1,"
                                      " 'conservativeness': 0",
                                      "0,1,90\n0.005,100,1\n");
    CHECK_NEAR(bed_request(rows, 0)->e2e_s, 0.9, 1e-9);
    CHECK_EQ_INT(bed_request(rows, 1)->preemptions, 1);
}

/* --- Pipeline stages --- */

enum { STAGED_REQUESTS = 60 };

/* Requests that finish, of those in the trace. */
static int64_t finished_of(int stages, int blocks, const char *batching, const char *requests)
{
    struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}, 'services': {'s': {'llm': 'llama-3.1-8b',"
        " 'pipeline_parallel': %d, 'kv': {'blocks': %d, 'block_tokens': 1}, 'batching': {'policy': 'sglang'%s}, 'cost':"
        " {'kind': 'affine', 'prefill': {'fixed': '10ms'}, 'decode': {'fixed': '10ms'}}, 'trace': {'format': 'csv',"
        " 'path': '%s', 'columns': {'arrival': 'arrival', 'prompt': 'prompt', 'output': 'output'}}}}}",
        stages, blocks, batching, test_file("requests.csv", "arrival,prompt,output\n%s", requests));
    int64_t finished = 0;
    for (size_t i = 0; i < rows->n_requests; i++) finished += strcmp(rows->requests[i].status, "finished") == 0;
    bed_free(rows);
    return finished;
}

/* A cut prompt in flight holds blocks, and the batcher cannot see it. Another one must not be cut meanwhile: each would
 * hold blocks that no other can do without, and none would end. */
TEST(six_prompts_in_chunks_end_with_every_number_of_stages)
{
    static const char requests[] = "0,900,20\n0,900,20\n0,900,20\n0,900,20\n0,900,20\n0,900,20\n";
    for (int stages = 1; stages <= 4; stages *= 2)
        CHECK_EQ_INT(finished_of(stages, 1200, ", 'chunked_prefill_tokens': 100, 'max_tokens': 30", requests), 6);
}

TEST(every_request_ends_with_stages_chunks_and_scarce_blocks)
{
    for (uint64_t seed = 0; seed < 24; seed++) {
        SCOPED(text) trace = {0};
        struct rng rng = test_rng(seed, "sglang stages", 0);
        const bool is_long = seed < 3, bursts = rng_below(&rng, 2) == 0;
        const int stages = 1 << (seed % 3), blocks = is_long ? 120000 : 1000 + (int)rng_below(&rng, 2000);
        const int shortest = is_long ? 20000 : 1, longest = is_long ? 100000 : 900;
        double now_s = 0;
        for (int i = 0; i < STAGED_REQUESTS; i++) {
            if (!bursts) now_s += rng_exponential(&rng, 0.03);
            text_printf(&trace, "%.9f,%d,%d\n", now_s, shortest + (int)rng_below(&rng, (uint64_t)(longest - shortest)),
                        1 + (int)rng_below(&rng, 80));
        }
        const char *others = test_json(", 'chunked_prefill_tokens': %d, 'max_tokens': %d, 'mixed': %s",
                                       100 + (int)rng_below(&rng, 300), 30 + (int)rng_below(&rng, 60),
                                       rng_below(&rng, 2) == 0 ? "true" : "false");
        const char *batching = is_long ? "" : others;
        if (!CHECK_EQ_INT(finished_of(stages, blocks, batching, trace.chars), STAGED_REQUESTS))
            printf("\n  seed %d, %d stages, %d blocks%s\n", (int)seed, stages, blocks, batching);
    }
}

/* --- Slots --- */

/* Requests of one prompt token that have their first token after the first iteration, of 4300 that come at once. The
 * cache holds `tokens` tokens of an LLM with a context of 2048. */
static int first_ones(int tokens, int stages)
{
    SCOPED(text) requests = {0};
    for (int i = 0; i < 4300; i++) text_add(&requests, "0,1,1\n");
    const char *path = test_file("requests.csv", "arrival,prompt,output\n%s", requests.chars);
    struct bed_rows *rows = bed_ok(
        BED(.no_detail = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 2, 'gpu': 'a100-80-sxm'}, 'services': {'s': {'llm': 'phi-2',"
        " 'pipeline_parallel': %d, 'kv': {'blocks': %d, 'block_tokens': 1}, 'batching': {'policy': 'sglang', 'max_tokens':"
        " 1}, 'cost': {'kind': 'affine', 'prefill': {'fixed': '10ms'}, 'decode': {'fixed': '10ms'}}, 'trace': {'format':"
        " 'csv', 'path': '%s', 'columns': {'arrival': 'arrival', 'prompt': 'prompt', 'output': 'output'}}}}}",
        stages, tokens, path);
    int n = 0;
    for (size_t i = 0; i < rows->n_requests; i++) n += rows->requests[i].ttft_s < 0.0101;
    bed_free(rows);
    return n;
}

/* 512 slots for each context that the cache holds, 2048 to 4096; stages share them. */
TEST(slots_follow_the_contexts_that_fit)
{
    CHECK_EQ_INT(first_ones(10240, 1), 2560);
    CHECK_EQ_INT(first_ones(9000, 1), 2250);
    CHECK_EQ_INT(first_ones(20480, 1), 4096);
    CHECK_EQ_INT(first_ones(10240, 2), 1280);
}

/* --- Cached prefixes --- */

/* The first request leaves 64 pages of its prefix in the cache, without a user. The second one holds 7 pages. Of the
 * third one 76 tokens are not cached; behind it comes a prompt of 20. Returns how many of these two have their first
 * token while the second one runs. */
static int joins_beside(int blocks)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'gpu': 'h100-sxm', 'gpus_per_node': 1}, 'services': {'s': {'llm': 'llama-3.1-8b', 'kv': {"
        "'prefix_cache': 'lru', 'blocks': %d, 'block_tokens': 16}, 'batching': {'policy': 'sglang', 'max_tokens': 50,"
        " 'conservativeness': 0}, 'cost': {'kind': 'affine', 'prefill': {'fixed': '10ms'}, 'decode': {'fixed': '10ms'}},"
        " 'trace': {'format': 'mooncake', 'path': '%s'}}}}",
        blocks,
        test_file("requests.jsonl",
                  "{'timestamp': 0, 'input_length': 1100, 'output_length': 2, 'hash_ids': [0, 1, 2]}\n"
                  "{'timestamp': 100, 'input_length': 100, 'output_length': 12, 'hash_ids': [3]}\n"
                  "{'timestamp': 115, 'input_length': 1100, 'output_length': 2, 'hash_ids': [0, 1, 4]}\n"
                  "{'timestamp': 115, 'input_length': 20, 'output_length': 2, 'hash_ids': [5]}\n"));
    int n = 0;
    for (int i = 2; i < 4; i++) n += bed_request(rows, i)->ttft_s < 0.02;
    CHECK(bed_request(rows, 2)->cached_tokens == 1024);
    return n;
}

/* Cached pages without a user are free until a request takes them: beside its 76 tokens, its limit of 50 and a page it
 * needs these 1024 tokens. 73 pages are more, and 72 are not. What it takes is 80 tokens in pages, 50 and 16: the next
 * one needs 20, 50 and 16 of what is left, for which 79 pages are more and 78 are not. */
TEST(cached_pages_are_no_longer_free)
{
    CHECK_EQ_INT(joins_beside(7 + 72), 0);
    CHECK_EQ_INT(joins_beside(7 + 73), 1);
    CHECK_EQ_INT(joins_beside(7 + 78), 1);
    CHECK_EQ_INT(joins_beside(7 + 79), 2);
}

/* Chunks of 8 tokens, of pages of 16: where nothing else runs, a prompt of 20 is processed in three. */
TEST(chunks_below_a_page_get_on_alone)
{
    const struct batcher uncut = uncut_sglang();
    struct bed_rows *rows = bed_ok(BED(.check = true, .policy = &uncut.policy), scenario, 100, 16, "'chunked_prefill_tokens': 8, 'max_tokens': 5",
                                   test_file("requests.csv", "arrival,prompt,output\n0,20,2\n"));
    CHECK_NEAR(bed_request(rows, 0)->ttft_s, 0.03, 1e-9);
}

/* --- Mixed iterations --- */

/* Beside a sequence that decodes, 40 prompt tokens are 39, of which a prompt takes 20. Another one needs fewer than
 * the 19 that are left. */
TEST(decoding_takes_from_the_tokens_of_whole_prompts)
{
    const struct batcher uncut = uncut_sglang();
    for (int last = 18; last <= 19; last++) {
        struct bed_rows *rows = bed_ok(
            BED(.policy = &uncut.policy), scenario, 1000, 1,
            "'mixed': true, 'chunked_prefill_tokens': 0, 'max_prefill_tokens': 40, 'max_tokens': 50",
            test_file("requests.csv", "arrival,prompt,output\n0,10,50\n0.055,20,1\n0.055,%d,1\n", last));
        CHECK_NEAR(bed_request(rows, 1)->ttft_s, 0.015, 1e-9);
        CHECK_NEAR(bed_request(rows, 2)->ttft_s, last == 18 ? 0.015 : 0.025, 1e-9);
    }
}

/* Ten sequences each take another page at 20 ms, of 12 that are free. A prompt of seven pages, whose tokens would do,
 * has to wait until they end at 180 ms. */
TEST(pages_of_decoding_sequences_are_not_for_prompts)
{
    SCOPED(text) requests = {0};
    text_add(&requests, "arrival,prompt,output\n");
    for (int i = 0; i < 10; i++) text_add(&requests, "0,15,18\n");
    text_add(&requests, "0.015,100,1\n");
    const struct batcher uncut = uncut_sglang();
    struct bed_rows *rows = bed_ok(BED(.check = true, .policy = &uncut.policy), scenario, 22, 16,
                                   "'mixed': true, 'max_tokens': 1, 'conservativeness': 0",
                                   test_file("requests.csv", "%s", requests.chars));
    for (int i = 0; i < 10; i++) CHECK_NEAR(bed_request(rows, i)->e2e_s, 0.18, 1e-9);
    CHECK_NEAR(bed_request(rows, 10)->arrival_s + bed_request(rows, 10)->ttft_s, 0.19, 1e-9);
}
