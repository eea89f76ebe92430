/* Peer equivalence: SplitwiseSim (Patel et al., ISCA 2024) with its measured table, in means within half a percent, and
 * beside it what the same machine would do physically.
 *
 * The simulator's token curve is made over prompt_size x batch_size tokens, but asked with the number of decoding
 * requests, which lies left of it: a batch of any size costs about as much as one request. That is the `artifact`;
 * physically the curve is one over the batch. Requests and the peer's answers are in tests/fixtures/splitwise: the
 * first two as published with the peers' data, cases/ computed by the same revision (Mutinifni/splitwise-sim @ 8f99e7d,
 * its code as it is, the configuration composed by other means) for three times the rate and more machines. The table
 * is in shared data. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#define TABLE "llm_end_to_end/splitwise__llama2-70b__latency_and_power.csv"

enum { REQUESTS = 200 };

struct means {
    double ttft_s, tbt_s, response_s;
};

struct outcome {
    double response_s, ttft_s;
};

/* request_ids, response_times, ttft_times, tbt_times; rows in order of completion. The peer divides what follows the
 * first token by all tokens. Returns their means. */
static struct means read_expected(const char *path, struct outcome outcomes[REQUESTS])
{
    struct means sum = {0};
    char line[256];
    int n = 0;
    FILE *file = fopen(path, "r");
    if (!CHECK(file != NULL) || !CHECK(fgets(line, sizeof line, file) != NULL)) return sum;
    for (; fgets(line, sizeof line, file) != NULL; n++) {
        double id, response_s, ttft_s, tbt_s;
        CHECK_EQ_INT(sscanf(line, "%lf,%lf,%lf,%lf", &id, &response_s, &ttft_s, &tbt_s), 4);
        if (id >= 0 && id < REQUESTS) outcomes[(int)id] = (struct outcome){response_s, ttft_s};
        sum.response_s += response_s / REQUESTS;
        sum.ttft_s += ttft_s / REQUESTS;
        sum.tbt_s += tbt_s / REQUESTS;
    }
    fclose(file);
    CHECK_EQ_INT(n, REQUESTS);
    return sum;
}

static struct means means_of(const struct bed_rows *rows)
{
    struct means sum = {0};
    for (size_t i = 0; i < rows->n_requests; i++) {
        const struct request_row *row = &rows->requests[i];
        sum.response_s += row->e2e_s / REQUESTS;
        sum.ttft_s += row->ttft_s / REQUESTS;
        sum.tbt_s += (row->e2e_s - row->ttft_s) / (double)row->output_tokens / REQUESTS;
    }
    return sum;
}

/* Requests whose TTFT and response are the peer's to a tenth of a millisecond. */
static int same_requests(const struct bed_rows *rows, const struct outcome outcomes[REQUESTS])
{
    int same = 0;
    for (int i = 0; i < REQUESTS; i++) {
        const struct request_row *row = bed_request(rows, i);
        same += row != NULL && fabs(row->ttft_s - outcomes[i].ttft_s) < 1e-4 &&
                fabs(row->e2e_s - outcomes[i].response_s) < 1e-4;
    }
    return same;
}

static const char baseline[] =
    "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'h100-sxm'}, 'services': {'peer': {'llm': 'llama-2-70b',"
    " 'tensor_parallel': 8, 'batching': 'splitwise', 'cost': {'kind': 'table', 'file': {'path': '%s',"
    " 'where': ['hardware=h100-80gb', 'tensor_parallel=8'], 'tokens': ['prompt_size', 'batch_size'],"
    " 'prefill_time': 'prompt_time', 'decode_time': 'token_time'%s}}, 'trace': {'format': 'csv',"
    " 'path': 'tests/fixtures/vidur/r200.csv', 'columns': {'arrival': 'arrived_at',"
    " 'prompt': 'num_prefill_tokens', 'output': 'num_decode_tokens'}} }}}";

static struct bed_rows *run(const char *scenario, const char *table, const char *more,
                            const struct bed_options *options)
{
    struct bed_rows *rows = bed_ok(options, scenario, table, more);
    CHECK_EQ_INT(rows->n_requests, REQUESTS);
    return rows;
}

static void check_means(const struct means *ours, const struct means *theirs)
{
    CHECK_NEAR(ours->ttft_s / theirs->ttft_s, 1, 0.005);
    CHECK_NEAR(ours->tbt_s / theirs->tbt_s, 1, 0.005);
    CHECK_NEAR(ours->response_s / theirs->response_s, 1, 0.005);
}

TEST(one_machine_with_mixed_batches)
{
    const char *table = test_shared(TABLE);
    struct outcome outcomes[REQUESTS] = {{0}};
    if (table == NULL) return;
    struct means peer = read_expected("tests/fixtures/splitwise/token_jsq_r200.csv", outcomes);
    CHECK_NEAR(peer.response_s, 6.058971, 1e-6); /* as the peer summed it up */
    struct bed_rows *artifact = run(baseline, table, "", NULL);
    struct bed_rows *single = run(baseline, table, "", &(struct bed_options){.single_step = true, .check = true});
    struct bed_rows *physical = run(baseline, table,
                                    ", 'decode_tokens': ['batch_size'], 'decode_where': ['prompt_size=512']", NULL);
    struct means ours = means_of(artifact), real = means_of(physical);
    check_means(&ours, &peer);
    CHECK(bed_equal(artifact, single));
    CHECK_EQ_INT(same_requests(artifact, outcomes), REQUESTS); /* and each of them, too */
    CHECK_NEAR(real.tbt_s, 0.042688, 1e-5);                    /* the artifact is 13 % faster than its measurements */
    CHECK_NEAR(real.response_s, 6.963986, 1e-3);
}

/* --- A prompt pool of H100s and a token pool of A100s, KV at 200 GiB/s --- */

#define POOL_COST(gpu)                                                                                                 \
    "'cost': {'kind': 'table', 'file': {'path': '%s', 'where': ['hardware=" gpu "', 'tensor_parallel=8'],"             \
    " 'tokens': ['prompt_size', 'batch_size'], 'prefill_time': 'prompt_time', 'decode_time': 'token_time'%s}}"

/* The peer's KV has 64 heads where the LLM has 8: 200 GiB/s carry its tokens as fast as 25 GiB/s carry ours. */
static const char two_pools[] =
    "{'cluster': {'nodes': %d, 'gpus_per_node': 8, 'gpu': 'h100-sxm',"
    " 'node_types': {'ampere': {'nodes': %d, 'gpu': 'a100-80-sxm'}}},"
    " 'services': {'peer': {'llm': 'llama-2-70b', 'tensor_parallel': 8, 'batching': 'splitwise', 'routing': 'splitwise',"
    " 'kv': {'blocks': 13165}, 'kv_transfer': {'start': 'push', 'bandwidth': '25GiB/s'},"
    " 'pools': {'prompts': {'role': 'prefill', 'gpu': 'h100-sxm', 'replicas': %d, " POOL_COST("h100-80gb") "}, 'tokens': {'role': 'decode', 'gpu': 'a100-80-sxm', 'replicas': %d, " POOL_COST(
        "a100-80gb") "}},"
                     " 'trace': {'format': 'csv', 'path': 'tests/fixtures/vidur/r200.csv', 'rate_scale': %d,"
                     " 'columns': {'arrival': 'arrived_at', 'prompt': 'num_prefill_tokens', 'output': 'num_decode_tokens'}} }}}";

static struct bed_rows *run_pools(int h100s, int a100s, int rate_scale, const char *table, const char *more,
                                  const struct bed_options *options)
{
    struct bed_rows *rows = bed_ok(options, two_pools, h100s, a100s, h100s, table, more, a100s, table, more,
                                   rate_scale);
    CHECK_EQ_INT(rows->n_requests, REQUESTS);
    return rows;
}

TEST(a_prompt_and_a_token_pool)
{
    const char *table = test_shared(TABLE);
    struct outcome outcomes[REQUESTS] = {{0}};
    if (table == NULL) return;
    struct means peer = read_expected("tests/fixtures/splitwise/mixed_pool_r200.csv", outcomes);
    CHECK_NEAR(peer.response_s, 6.960295, 1e-6); /* as the peer summed it up */
    struct bed_rows *artifact = run_pools(1, 1, 1, table, "", NULL);
    struct bed_rows *single = run_pools(1, 1, 1, table, "",
                                        &(struct bed_options){.single_step = true, .check = true});
    struct bed_rows *physical = run_pools(1, 1, 1, table,
                                          ", 'decode_tokens': ['batch_size'], 'decode_where': ['prompt_size=512']", NULL);
    struct means ours = means_of(artifact), real = means_of(physical);
    check_means(&ours, &peer);
    CHECK(bed_equal(artifact, single));
    CHECK_EQ_INT(same_requests(artifact, outcomes), REQUESTS);
    CHECK_NEAR(real.ttft_s, peer.ttft_s, 1e-6); /* prompts wait for no decoding */
    CHECK_NEAR(real.tbt_s, 0.053920, 1e-5);     /* the artifact is 21 % faster than its own measurements */
    CHECK_NEAR(real.response_s, 8.768763, 1e-3);
}

/* Three times the rate: the pools lend each other no machine, and none has more prompts than its batch holds. */
TEST(more_machines)
{
    static const int machines[][2] = {{2, 1}, {1, 2}, {2, 3}};
    const char *table = test_shared(TABLE);
    struct outcome outcomes[REQUESTS] = {{0}};
    if (table == NULL) return;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        char path[128];
        snprintf(path, sizeof path, "tests/fixtures/splitwise/cases/mixed-pool-r200-3-%d-%d.csv", machines[i][0],
                 machines[i][1]);
        struct means peer = read_expected(path, outcomes);
        struct bed_rows *rows = run_pools(machines[i][0], machines[i][1], 3, table, "", NULL);
        struct means ours = means_of(rows);
        check_means(&ours, &peer);
        CHECK_EQ_INT(same_requests(rows, outcomes), REQUESTS);
    }
}

/* Its baselines on three machines, at three times the rate. */
TEST(mixed_machines_in_turn_and_by_queue)
{
    static const struct {
        const char *name, *routing;
    } cases[] = {{"round-robin", "'round-robin'"}, {"token-jsq", "{'policy': 'jsq-tokens', 'sequence_weight': 1}"}};
    const char *table = test_shared(TABLE);
    struct outcome outcomes[REQUESTS] = {{0}};
    if (table == NULL) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[128], routing[128];
        snprintf(path, sizeof path, "tests/fixtures/splitwise/cases/%s-r200-3-3-0.csv", cases[i].name);
        snprintf(routing, sizeof routing, "services.peer.routing=%s", cases[i].routing);
        test_quotes(routing);
        const char *const sets[] = {"cluster.nodes=3", "services.peer.replicas=3", "services.peer.trace.rate_scale=3",
                                    routing, NULL};
        read_expected(path, outcomes);
        struct bed_rows *rows = run(baseline, table, "", &(struct bed_options){.sets = sets});
        CHECK_EQ_INT(same_requests(rows, outcomes), REQUESTS);
    }
}

/* Prompts leave some of the budget, but too little for all who decode. */
TEST(one_machine_overloaded)
{
    static const char *const sets[] = {"services.peer.trace.rate_scale=3", NULL};
    const char *table = test_shared(TABLE);
    struct outcome outcomes[REQUESTS] = {{0}};
    if (table == NULL) return;
    struct means peer = read_expected("tests/fixtures/splitwise/cases/token-jsq-r200-3-1-0.csv", outcomes);
    struct bed_rows *rows = run(baseline, table, "", &(struct bed_options){.sets = sets, .check = true});
    struct means ours = means_of(rows);
    check_means(&ours, &peer);
}
