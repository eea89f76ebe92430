/* Warnings of defaults that decide a service's result. */
#include "policies/declared.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <stdio.h>

struct seen {
    const char *code;
    int n;
    char text[512]; /* of the latest */
};

static int see(void *context, const struct warning_row *row)
{
    struct seen *seen = context;
    if (strcmp(row->code, seen->code) != 0) return 0;
    seen->n++;
    snprintf(seen->text, sizeof seen->text, "%s", row->text);
    return 0;
}

/* Warnings with this code of a scenario in single quotes, without its braces. */
__attribute__((format(printf, 2, 3))) static struct seen warnings_of(const char *code, const char *format, ...)
{
    char scenario[4096];
    struct seen seen = {.code = code};
    const struct sink sink = {.context = &seen, .warning = see};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(scenario, sizeof scenario, format, arguments);
    va_end(arguments);
    const struct bed_rows *rows = bed_run(BED(.check = true, .also = &sink), "{%s}", scenario);
    CHECK_EQ_INT(rows->code, 0);
    return seen;
}

#define COST                                                                                                           \
    "'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms', 'per_token': '60us'},"                                     \
    " 'decode': {'fixed': '11ms', 'per_sequence': '20us', 'per_context_token': '30ns'}}"
#define TRACE                                                                                                          \
    "'trace': {'format': 'generate', 'duration': '40s', 'arrival': {'process': 'fixed', 'rate': '1/s'},"               \
    " 'prompt': {'distribution': 'fixed', 'tokens': 10}, 'output': {'distribution': 'fixed', 'tokens': 2}}"
#define OUTAGE "'failures': {'outages': {'o': {'node': %d, 'from': '10s', 'until': '20s'}}}"

/* mistral-7b has 14.5 GB of weights in 16 bits: 4.26 s at 3.4 GB/s. */
static struct seen restart(int node, const char *more)
{
    return warnings_of("restart-time",
                       "'cluster': {'nodes': 2, 'gpus_per_node': 2, 'gpu': 'a100-80-sxm'}, " OUTAGE
                       ", 'services': {'chat': {'llm': 'mistral-7b', 'replicas': 2, %s " COST ", " TRACE "}}",
                       node, more);
}

TEST(the_time_of_a_restart_is_told_where_one_is_assumed)
{
    const struct seen seen = restart(0, "");
    CHECK_EQ_INT(seen.n, 1);
    CHECK(strstr(seen.text, "up 4.26 s after") != NULL);
    CHECK(strstr(seen.text, "set restart.delay") != NULL);
    CHECK_EQ_INT(restart(1, "").n, 0); /* no replica is there */
    CHECK_EQ_INT(restart(0, "'restart': {'delay': '20s'},").n, 0);
    CHECK_EQ_INT(restart(0, "'restart': {'load_bandwidth': '10GB/s'},").n, 0);
}

static struct seen only_node_of(const char *cluster, const char *service, const char *failures)
{
    return warnings_of("one-node",
                       "'cluster': {'gpu': 'a100-80-sxm', %s}, %s 'services': {'chat': {'llm': 'mistral-7b',"
                       " %s " COST ", " TRACE "}}",
                       cluster, failures, service);
}

static int only_node(const char *cluster, int replicas, const char *failures)
{
    char service[64];
    snprintf(service, sizeof service, "'replicas': %d,", replicas);
    return only_node_of(cluster, service, failures).n;
}

/* On one node of two, since the other one's GPUs are of another type. */
TEST(replicas_that_are_spread_are_not_told_to_be)
{
    static const char *const hint = "set services.chat.placement to spread";
    const char *two = "'nodes': 1, 'gpus_per_node': 2, 'node_types': {'b': {'nodes': 1, 'gpu': 'h100-sxm'}}";
    const char *fails = "'failures': {'outages': {'o': {'node': 0, 'from': '10s', 'until': '20s'}}},";
    const struct seen packed = only_node_of(two, "'replicas': 2,", fails);
    const struct seen spread = only_node_of(two, "'replicas': 2, 'placement': 'spread',", fails);
    CHECK(packed.n == 1 && spread.n == 1);
    CHECK(strstr(packed.text, hint) != NULL && strstr(spread.text, hint) == NULL);
    CHECK(strstr(spread.text, "; no other node with its GPUs had room for one") != NULL);
}

TEST(a_node_with_all_replicas_is_told_where_it_failed)
{
    const char *two = "'nodes': 2, 'gpus_per_node': 2";
    const char *fails = "'failures': {'outages': {'o': {'node': 0, 'from': '10s', 'until': '20s'}}},";
    const char *elsewhere = "'failures': {'outages': {'o': {'node': 1, 'from': '10s', 'until': '20s'}}},";
    CHECK_EQ_INT(only_node(two, 2, fails), 1);
    CHECK_EQ_INT(only_node(two, 2, elsewhere), 0);
    CHECK_EQ_INT(only_node(two, 2, ""), 0);
    CHECK_EQ_INT(only_node(two, 3, fails), 0);
    CHECK_EQ_INT(only_node(two, 1, fails), 0); /* no other place would help */
    CHECK_EQ_INT(only_node("'nodes': 1, 'gpus_per_node': 2", 2, fails), 0);
}

/* 12 tokens at most, and the context of mistral-7b is 32768. */
static struct seen reservation(const char *batching)
{
    return warnings_of(
        "reservation",
        "'cluster': {'gpu': 'a100-80-sxm'}, 'services': {'chat': {'llm': 'mistral-7b', 'batching': %s, " COST ", " TRACE
        "}}",
        batching);
}

TEST(a_reservation_of_the_whole_context_is_told)
{
    const struct seen seen = reservation("'trtllm'");
    CHECK_EQ_INT(seen.n, 1);
    CHECK(strstr(seen.text, "KV of 32768 tokens for a request, which comes to 12 ") != NULL);
    CHECK_EQ_INT(reservation("{'policy': 'trtllm', 'max_tokens': 90}").n, 0);
    CHECK_EQ_INT(reservation("{'policy': 'trtllm', 'max_tokens': 120}").n, 1);
    CHECK_EQ_INT(reservation("{'policy': 'trtllm', 'limits': 'exact'}").n, 0);
    CHECK_EQ_INT(reservation("{'policy': 'trtllm', 'capacity': 'max-utilization'}").n, 0);
    CHECK_EQ_INT(reservation("'orca'").n, 1);
    CHECK_EQ_INT(reservation("'vllm-v1'").n, 0);
}

/* 40 requests of 2 output tokens: the sum of their output tokens, and the warning of those that a limit cuts. */
static double outputs_of(const char *batching, struct seen *seen)
{
    *seen = (struct seen){.code = "clipped"};
    const struct sink sink = {.context = seen, .warning = see};
    struct bed_rows *rows = bed_ok(BED(.check = true, .also = &sink),
                                   "{'cluster': {'gpu': 'a100-80-sxm'}, 'services': {'chat': {'llm': 'mistral-7b',"
                                   " 'batching': %s, " COST ", " TRACE "}}}",
                                   batching);
    const double sum = bed_metric(rows, "request.output_tokens.sum");
    bed_free(rows);
    return sum;
}

/* SGLang's check_finished: a request ends with max_new_tokens. */
TEST(requests_end_with_the_limit_that_they_state)
{
    struct seen seen;
    CHECK_NEAR(outputs_of("{'policy': 'sglang', 'max_tokens': 1}", &seen), 40.0, 0.0);
    CHECK_EQ_INT(seen.n, 1);
    CHECK(strstr(seen.text, "end after 1 tokens, the limit that batching policy 'sglang' has them state "
                            "(services.chat.batching)") != NULL);
    CHECK_NEAR(outputs_of("{'policy': 'sglang', 'max_tokens': 2}", &seen), 80.0, 0.0);
    CHECK_EQ_INT(seen.n, 0);
    CHECK_NEAR(outputs_of("'sglang'", &seen), 80.0, 0.0);
    CHECK_EQ_INT(seen.n, 0);
}

/* Output tokens of one request of 5,000 whose limit is this. */
static double long_output(const char *limit)
{
    return bed_metric(
        bed_ok(BED(.check = true),
               "{'cluster': {'gpu': 'a100-80-sxm'}, 'services': {'chat': {'llm': 'mistral-7b', 'batching': {'policy':"
               " 'sglang'%s}, " COST ", 'trace': {'format': 'generate', 'count': 1, 'arrival': {'process': 'fixed',"
               " 'rate': '1/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 10}, 'output': {'distribution':"
               " 'fixed', 'tokens': 5000}}}}}",
               limit),
        "request.output_tokens.sum");
}

/* SGLang's admission counts at most 4,096 tokens of a limit (CLIP_MAX_NEW_TOKENS); the limit itself is the end. */
TEST(limits_and_outputs_above_what_admission_counts_are_kept)
{
    CHECK_NEAR(long_output(", 'max_tokens': 4500"), 4500, 0.0);
    CHECK_NEAR(long_output(", 'max_tokens': 6000"), 5000, 0.0);
    CHECK_NEAR(long_output(""), 5000, 0.0);
}

/* Two pools, of which the first has this role, under 40 requests of 2 output tokens. */
static const struct bed_rows *pair_of(const char *role, const char *first, const char *second)
{
    return bed_run(BED(.check = true),
                   "{'cluster': {'gpu': 'a100-80-sxm', 'gpus_per_node': 8}, 'services': {'chat': {'llm': 'mistral-7b',"
                   " 'pools': {'one': {'role': '%s', 'batching': %s}, 'two': {'role': '%s', 'batching': %s}}, " COST
                   ", " TRACE "}}}",
                   role, first, strcmp(role, "prefill") == 0 ? "decode" : role, second);
}

#define LIMITED "{'policy': 'sglang', 'max_tokens': 1}"

/* Either pool may decode a request, so that its end must not depend on which one does. */
TEST(pools_that_decode_end_requests_at_one_limit)
{
    CHECK_NEAR(bed_metric(pair_of("mixed", LIMITED, LIMITED), "request.output_tokens.sum"), 40.0, 0.0);
    CHECK_NEAR(bed_metric(pair_of("mixed", "'sglang'", "'vllm-v1'"), "request.output_tokens.sum"), 80.0, 0.0);
    const struct bed_rows *rows = pair_of("mixed", LIMITED, "'vllm-v1'");
    CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
    CHECK(strstr(rows->diag.items[0].text, "pools that may decode disagree: requests end after 1 tokens in pool 'one',"
                                           " and where the trace ends them in pool 'two'") != NULL);
    CHECK_EQ_INT(pair_of("mixed", LIMITED, "{'policy': 'sglang', 'max_tokens': 2}")->code, SIM_E_CONFIG);
}

/* A pool that only reads prompts ends no request by its limit. */
TEST(the_limit_of_a_pool_that_decodes_nothing_does_not_count)
{
    CHECK_NEAR(bed_metric(pair_of("prefill", LIMITED, "'vllm-v1'"), "request.output_tokens.sum"), 80.0, 0.0);
    const struct bed_rows *rows = pair_of("prefill", "'vllm-v1'", LIMITED);
    CHECK_NEAR(bed_metric(rows, "request.output_tokens.sum"), 40.0, 0.0);
    CHECK(strstr(bed_warning(rows, "clipped"), "'sglang' has them state (services.chat.pools.two.batching)") != NULL);
}

static int64_t at_most_one(const void *params)
{
    (void)params;
    return 1;
}

/* A batcher that names its limit otherwise, or has it built in. Its pools may take it from the service. */
TEST(a_limit_of_outputs_is_told_by_the_policy_that_sets_it)
{
    struct batcher other = batching_vllm_v1;
    other.policy.name = "short";
    other.most_output_tokens = at_most_one;
    const struct bed_rows *rows = bed_ok(
        BED(.check = true, .policy = &other.policy),
        "{'cluster': {'gpu': 'a100-80-sxm', 'gpus_per_node': 8}, 'services': {'chat': {'llm': 'mistral-7b', 'batching':"
        " 'short', 'pools': {'one': {}, 'two': {}}, " COST ", " TRACE "}}}");
    const char *text = bed_warning(rows, "clipped");
    CHECK_NEAR(bed_metric(rows, "request.output_tokens.sum"), 40.0, 0.0);
    CHECK(strstr(text, "policy 'short' has them state (services.chat.batching)") != NULL);
    CHECK(strstr(text, "max_tokens") == NULL);
}

/* What was never measured, of pools with these GPUs; equal ones are of one type of nodes. */
static const char *never_measured(const char *prompts, const char *tokens)
{
    const bool are_equal = strcmp(prompts, tokens) == 0;
    const char *types = test_json(", 'node_types': {'b': {'nodes': 1, 'gpus_per_node': 8, 'gpu': '%s'}}", tokens);
    const struct bed_rows *rows = bed_ok(
        BED(.quiet = true),
        "{'cluster': {'nodes': %d, 'gpus_per_node': 8, 'gpu': '%s', 'network': {'bandwidth': '25GB/s'}%s}, 'services':"
        " {'chat': {'llm': 'mixtral-8x7b', 'pools': {'p': {'role': 'prefill', 'tensor_parallel': 8, 'gpu': '%s'},"
        " 'd': {'role': 'decode', 'tensor_parallel': 8, 'gpu': '%s'}}, 'trace': {'format': 'generate', 'count': 3,"
        " 'arrival': {'process': 'fixed', 'rate': '2/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 500}, 'output':"
        " {'distribution': 'fixed', 'tokens': 9}}}}}",
        are_equal ? 2 : 1, prompts, are_equal ? "" : types, prompts, tokens);
    const char *text = bed_warning(rows, "extrapolated"), *never = text != NULL ? strstr(text, "; never") : NULL;
    return never != NULL ? never : "";
}

/* Each GPU once, in the order of the pools. */
TEST(kernels_without_measurements_are_told_once)
{
    const char *both = never_measured("a40", "rtx-4090"), *of_one = never_measured("rtx-4090", "rtx-4090");
    CHECK(strncmp(both, "; never measured on a40: ", 25) == 0 &&
          strstr(both, "; never measured on rtx-4090: ") != NULL);
    CHECK(strncmp(of_one, "; never measured on rtx-4090: ", 30) == 0 && strstr(of_one + 1, "; never") == NULL);
    CHECK_EQ_STR(strstr(both, "; never measured on rtx-4090: "), of_one);
}

/* Products need units of their format on the GPU: those of FP8 came with Ada, those of NVFP4 with Blackwell. */
TEST(weights_that_a_gpu_widens_are_told)
{
    static const struct {
        const char *gpu, *weights;
        int n;
    } cases[] = {
        {"a100-80-sxm", "fp8", 1},   {"a100-80-sxm", "fp8_block", 1}, {"a100-80-sxm", "nvfp4", 1},
        {"a100-80-sxm", "int8", 0},  {"a100-80-sxm", "int4", 0},      {"a100-80-sxm", "bf16", 0},
        {"v100-32-sxm", "fp8", 1},   {"h100-sxm", "fp8", 0},          {"h100-sxm", "fp8_block", 0},
        {"h100-sxm", "nvfp4", 1},    {"l40s", "fp8", 0},              {"b200-sxm", "nvfp4", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char said[64];
        snprintf(said, sizeof said, "has no units for products in %s:", cases[i].weights);
        const struct seen seen = warnings_of("emulated",
                                             "'cluster': {'gpu': '%s'}, 'services': {'chat': {'llm': 'mistral-7b',"
                                             " 'formats': {'weights': '%s'}, " COST ", " TRACE "}}",
                                             cases[i].gpu, cases[i].weights);
        CHECK_EQ_INT(seen.n, cases[i].n);
        CHECK(seen.n == 0 || strstr(seen.text, said) != NULL);
    }
}

static struct seen group_limits(int groups, const char *batching)
{
    return warnings_of("group-limits",
                       "'cluster': {'gpu': 'h200-sxm'}, 'services': {'chat': {'llm': 'qwen3-30b-a3b',"
                       " 'tensor_parallel': %d, 'data_parallel': %d, 'batching': %s, " COST ", " TRACE "}}",
                       groups, groups, batching);
}

TEST(limits_that_all_attention_groups_share_are_told)
{
    const struct seen seen = group_limits(8, "'vllm-v1'");
    CHECK_EQ_INT(seen.n, 1);
    CHECK(strstr(seen.text, "of batching max_sequences 256 and token_budget 2048, as by default") != NULL);
    CHECK(strstr(seen.text, "all 8 groups") != NULL);
    CHECK_EQ_INT(group_limits(1, "'vllm-v1'").n, 0);
    CHECK_EQ_INT(group_limits(8, "{'policy': 'vllm-v1', 'token_budget': 16384, 'max_sequences': 2048}").n, 0);
    const struct seen one = group_limits(8, "{'policy': 'vllm-v1', 'token_budget': 16384}");
    CHECK(one.n == 1 && strstr(one.text, "max_sequences 256, as") != NULL && strstr(one.text, "token") == NULL);
}

static struct seen assumed_drafts(const char *speculation)
{
    return warnings_of("acceptance",
                       "'cluster': {'gpu': 'a100-80-sxm'}, 'services': {'chat': {'llm': 'mistral-7b',"
                       " 'speculation': %s, " COST ", 'trace': {'format': 'generate', 'count': 2, 'arrival':"
                       " {'process': 'fixed', 'rate': '1/s'}, 'output': {'distribution': 'fixed', 'tokens': 20}}}}",
                       speculation);
}

/* Without rates of candidates a tree of drafts gives no more tokens than a chain of its depth. */
TEST(branches_of_a_tree_that_are_never_right_are_told)
{
    const struct seen chain = assumed_drafts("{'policy': 'eagle', 'depth': 3}");
    const struct seen tree = assumed_drafts("{'policy': 'eagle', 'depth': 3, 'branches': 4, 'tokens': 16}");
    CHECK(chain.n == 1 && strstr(chain.text, "rank_power") == NULL);
    CHECK(tree.n == 1 && strstr(tree.text, "set acceptance.rates and acceptance.rank_power") != NULL);
}
