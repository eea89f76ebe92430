/* A node fails while a request passes through pools: its end in closed form, for a failure at any moment of a
 * layer-wise transfer, and beside a mixed pool; and what of a prefix store a failure under way costs. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <math.h>

#define TOKEN_BYTES (2.0 * 32 * 8 * 128 * 2) /* Mistral 7B: keys and values, layers, heads, numbers, bytes */

enum { PROMPT = 100, OUTPUT = 3, LAYERS = 32 };

/* Seconds of a prompt, a step and the KV of a token on its way. */
static const double prompt_s = 10, step_s = 1, token_s = 0.0601;

/* The only failure before the request ends; replica -1: none. n: failures, also of replicas without a part in it. */
struct strike {
    int n, replica;
    double at_s;
};

static struct strike find_strike(const struct bed_rows *rows, double end_s)
{
    struct strike strike = {0, -1, 0};
    for (size_t i = 0; i < rows->n_decisions; i++) {
        const struct bed_decision *decision = &rows->decisions[i];
        if (strcmp(decision->action, "fail") != 0 || decision->t_s >= end_s) continue;
        strike.n++;
        strike.at_s = decision->t_s;
        if (sscanf(decision->reason, "replica %d:", &strike.replica) != 1) strike.n = INT32_MAX;
    }
    return strike;
}

/* The replica in the text of the first decision of this action about the request; -1: none. */
static int replica_in(const struct bed_rows *rows, const char *action, const char *format)
{
    int replica = -1;
    for (size_t i = 0; i < rows->n_decisions && replica < 0; i++)
        if (strcmp(rows->decisions[i].action, action) == 0 && rows->decisions[i].subject >= 0)
            if (sscanf(rows->decisions[i].reason, format, &replica) != 1) replica = -1;
    return replica;
}

/* One request, a replica to a node, and nodes that fail at random and stay away. */
static struct bed_rows *run(uint64_t seed, const char *pools, const char *mode, double mean_s,
                            const struct bed_options *options)
{
    return bed_run(options,
                   "{'cluster': {'nodes': 4, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'seed': %llu, 'keep':"
                   " 'decisions', 'failures': {'causes': {'x': {'scope': 'node', 'lifetime': {'mean': '%gs'}, 'repair':"
                   " {'law': 'constant', 'mean': '1000s'}}}}, 'services': {'chat': {'llm': 'mistral-7b', 'routing':"
                   " 'least-outstanding', 'restart': {'delay': '3s'}, 'pools': {%s}, 'kv_transfer': {'mode': '%s',"
                   " 'bandwidth': '%.17gB/s'}, 'cost': {'kind': 'affine', 'prefill': {'fixed': '%gs'}, 'decode':"
                   " {'fixed': '%gs'}}, 'trace': {'format': 'generate', 'count': 1, 'arrival': {'process': 'fixed',"
                   " 'rate': '1/s'}, 'prompt': {'distribution': 'fixed', 'tokens': %d}, 'output': {'distribution':"
                   " 'fixed', 'tokens': %d}}}}}",
                   (unsigned long long)seed, mean_s, pools, mode, TOKEN_BYTES / token_s, prompt_s, step_s, PROMPT,
                   OUTPUT);
}

/* --- Layer by layer --- */

/* The end of a request whose prompt of so many tokens begins at a time, after `made` tokens: all layers but the last
 * set out with the prompt, the last one after both. */
static double layer_wise_end_s(double begin_s, int tokens, int made)
{
    const double all_s = tokens * token_s, early_s = all_s - token_s * tokens / LAYERS;
    const int left = OUTPUT - made - 1;
    if (left == 0) return begin_s + prompt_s;
    return begin_s + fmax(prompt_s, early_s) + all_s / LAYERS + left * step_s;
}

/* With the only failure of a replica that processes the prompt, or decodes, at this moment. */
static double struck_end_s(double arrival_s, struct strike strike, bool of_prompt)
{
    const double processed_s = arrival_s + prompt_s, end_s = layer_wise_end_s(arrival_s, PROMPT, 0);
    const double there_s = end_s - 2 * step_s;
    if (of_prompt && strike.at_s >= there_s) return end_s; /* the KV has left it */
    if (of_prompt && strike.at_s < processed_s) return layer_wise_end_s(strike.at_s, PROMPT, 0);
    if (!of_prompt && strike.at_s < processed_s) return processed_s + PROMPT * token_s + 2 * step_s;
    const int made = 1 + (strike.at_s >= there_s + step_s); /* sent, and processed again with the prompt */
    return layer_wise_end_s(strike.at_s, PROMPT + made, made);
}

/* Two replicas of prompts, two that decode. If the one that decodes fails before the prompt is processed, another one
 * gets all the KV afterwards. Any other loss of the KV starts the request anew. */
TEST_SIZED(a_failure_at_any_moment_of_a_layer_wise_transfer)
{
    static const char pools[] = "'p': {'role': 'prefill', 'replicas': 2}, 'd': {'role': 'decode', 'replicas': 2}";
    int n_prompt = 0, n_decode = 0, n_moving = 0;
    for (uint64_t seed = 1; seed <= (uint64_t)test_part(250); seed++) {
        struct bed_rows *rows = run(seed, pools, "layer-wise", 60, BED(.check = true));
        CHECK_EQ_INT(rows->code, 0);
        const struct request_row *row = bed_request(rows, 0);
        MUST(row != NULL);
        const double end_s = row->arrival_s + row->e2e_s;
        const struct strike strike = find_strike(rows, end_s);
        const int prompts_at = replica_in(rows, "route", "to replica %d of");
        const int decodes_at = strike.replica == 2 || prompts_at < 0 ? 2 : 3;
        const bool of_prompt = strike.replica == prompts_at, of_decode = strike.replica >= 2 && decodes_at == 2;
        if (strike.n == 1 && strike.at_s > row->arrival_s && (of_prompt || of_decode)) {
            const double moved_s = strike.at_s - row->arrival_s;
            CHECK_NEAR(end_s, struck_end_s(row->arrival_s, strike, of_prompt), 1e-6);
            n_prompt += of_prompt;
            n_decode += of_decode;
            n_moving += moved_s < prompt_s + token_s * PROMPT / LAYERS;
        } else if (strike.n == 0) {
            CHECK_NEAR(end_s, layer_wise_end_s(row->arrival_s, PROMPT, 0), 1e-6);
        }
        bed_free(rows);
    }
    CHECK_WHOLE(n_prompt > 10 && n_decode > 10 && n_moving > 20);
}

/* --- Beside a mixed pool --- */

/* A replica of prompts and a mixed one, the only one that decodes. If the first fails before its KV has left, the
 * second does all. If the second fails, the first processes the prompt again, with what had been made, and its KV waits
 * until the second has started on a free node: 3 s later, to the nanosecond after. */
static double mixed_end_s(double arrival_s, struct strike strike)
{
    const double processed_s = arrival_s + prompt_s, there_s = processed_s + PROMPT * token_s;
    const double back_s = strike.at_s + 3 + 1e-9;
    if (strike.replica == 0 && strike.at_s >= there_s) return there_s + 2 * step_s;
    if (strike.replica == 0 && strike.at_s < processed_s) return strike.at_s + prompt_s + 2 * step_s;
    if (strike.replica == 0) return strike.at_s + prompt_s + step_s; /* one token had been made */
    if (strike.at_s < processed_s) return fmax(processed_s, back_s) + PROMPT * token_s + 2 * step_s;
    const int made = 1 + (strike.at_s >= there_s + step_s);
    const double again_s = strike.at_s + prompt_s;
    if (made + 1 == OUTPUT) return again_s;
    return fmax(again_s, back_s) + (PROMPT + made) * token_s + (OUTPUT - made - 1) * step_s;
}

TEST(a_failure_beside_a_mixed_pool)
{
    static const char pools[] = "'p': {'role': 'prefill', 'replicas': 1}, 'm': {'role': 'mixed', 'replicas': 1}";
    int n_prompt = 0, n_mixed = 0;
    for (uint64_t seed = 1; seed <= 250; seed++) {
        struct bed_rows *rows = run(seed, pools, "serial", 60, BED(.check = true));
        CHECK_EQ_INT(rows->code, 0);
        const struct request_row *row = bed_request(rows, 0);
        MUST(row != NULL);
        const double end_s = row->arrival_s + row->e2e_s;
        const struct strike strike = find_strike(rows, end_s);
        if (strike.n == 1 && strike.at_s > row->arrival_s) {
            CHECK_NEAR(end_s, mixed_end_s(row->arrival_s, strike), 1e-6);
            n_prompt += strike.replica == 0;
            n_mixed += strike.replica == 1;
        }
        bed_free(rows);
    }
    CHECK(n_prompt > 10 && n_mixed > 10);
}

/* --- Prefix stores --- */

/* Two requests with one prefix of 7 blocks come to a single replica, at 0 and 100 s; its node fails after so many
 * seconds, and is back at once. The GPU's cache is lost in between. Drives keep the blocks, which the second request
 * loads. Host memory loses them, and it computes all: 9 ms and 60 us for each of 4096 tokens. */
static struct bed_rows *twice(double life_s, const char *tier, const struct bed_options *options)
{
    return bed_run(
        options,
        "{'cluster': {'gpu': 'h100-sxm', 'pcie': '50GB/s', 'nodes': 1, 'gpus_per_node': 1, 'storage': {'drives':"
        " {'device': 'samsung-980-pro', 'count': 4}}}, 'failures': {'causes': {'x': {'scope': 'node', 'lifetime':"
        " {'law': 'constant', 'mean': '%gs'}}}}, 'services': {'chat': {'llm': 'llama-3.1-8b', 'restart': {'delay':"
        " '0s'}, 'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms', 'per_token': '60us'}, 'decode': {'fixed':"
        " '11ms'}}, 'batching': {'policy': 'vllm-v1', 'token_budget': 8192}, 'kv': {'prefix_cache': 'lru',"
        " 'prefix_store': {'tiers': {'t': {%s'capacity': '10GB', 'write': 'through', 'scope': 'shared'}}}}, 'trace':"
        " {'format': 'generate', 'count': 2, 'arrival': {'process': 'fixed', 'rate': '0.01/s'}, 'prompt':"
        " {'distribution': 'fixed', 'tokens': 4096}, 'output': {'distribution': 'fixed', 'tokens': 2}, 'sessions':"
        " {'continue': 1e-9, 'block_tokens': 512, 'system_blocks': 7}}}}}",
        life_s, tier);
}

TEST(drives_outlive_the_cache_of_a_failed_node)
{
    const struct bed_rows *host = twice(60, "", BED(.check = true));
    const struct bed_rows *drives = twice(60, "'device': 'drives', ", BED(.check = true));
    const double all_s = 0.009 + 4096 * 60e-6;
    CHECK(bed_equal(drives, twice(60, "'device': 'drives', ", BED(.single_step = true, .queue = QUEUE_HEAP))));
    MUST(host->n_requests == 2 && drives->n_requests == 2);
    CHECK_NEAR(host->requests[0].ttft_s, all_s, 1e-8);
    CHECK_NEAR(host->requests[1].ttft_s, all_s, 1e-8);
    CHECK_EQ_INT(bed_metric(host, "store.loaded_tokens.sum"), 0);
    CHECK_EQ_INT(bed_metric(drives, "store.loaded_tokens.sum"), 7 * 512);
    CHECK(drives->requests[1].ttft_s > 0.009 + 512 * 60e-6);
}

/* The second failure finds the second request while it loads, 10 ms after its arrival: a nanosecond later it begins
 * again, and loads again. */
TEST(a_failure_while_blocks_are_loaded_starts_anew)
{
    const struct bed_rows *plain = twice(60, "'device': 'drives', ", BED(.check = true));
    const struct bed_rows *struck = twice(50.005, "'device': 'drives', ", BED(.check = true));
    MUST(plain->n_requests == 2 && struck->n_requests == 2);
    CHECK_NEAR(struck->requests[1].arrival_s, 100, 1e-9);
    CHECK(plain->requests[1].ttft_s > 0.05);
    CHECK_EQ_INT(bed_metric(struck, "failure.restarted_requests"), 1);
    CHECK_NEAR(struck->requests[1].ttft_s, 0.01 + 1e-9 + plain->requests[1].ttft_s, 1e-8);
    CHECK(bed_equal(struck, twice(50.005, "'device': 'drives', ", BED(.single_step = true, .queue = QUEUE_HEAP))));
}
