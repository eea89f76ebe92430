/* Every metric of a service where it can be worked out by hand: requests come once a second, a prefill lasts 100 ms,
 * each of the ten decode iterations 10 ms, so every request is alone and served in 200 ms. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

static const char scenario[] =
    "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm'}, 'services': {'chat': {'llm': 'llama-3.1-8b',"
    " 'kv': {'blocks': 40}, 'cost': {'kind': 'affine', 'prefill': {'fixed': '100ms'}, 'decode': {'fixed': '10ms'}},"
    " 'trace': {'format': 'csv', 'path': '%s'}}}}";

static struct bed_rows *run(int n_requests, const char *const *sets)
{
    char path[512];
    snprintf(path, sizeof path, "%s/trace.csv", test_tmpdir());
    FILE *file = fopen(path, "w");
    if (file == NULL) return NULL;
    fprintf(file, "arrival_s,prompt_tokens,output_tokens\n");
    for (int i = 0; i < n_requests; i++) fprintf(file, "%d,160,11\n", i);
    fclose(file);
    return bed_run(BED(.sets = sets, .check = true, .no_detail = true), scenario, path);
}

static void check_metric(const struct bed_rows *rows, const char *name, double expected)
{
    double found = bed_metric(rows, name);
    if (!(fabs(found - expected) <= 1e-12 * fabs(expected))) printf("\n  %s", name);
    CHECK_NEAR(found, expected, 1e-12 * fabs(expected));
}

/* Percentiles come from buckets of 0.1 %. */
static void check_percentile(const struct bed_rows *rows, const char *name, double expected)
{
    CHECK_NEAR(bed_metric(rows, name), expected, 1e-3 * expected);
}

TEST(of_ten_lonely_requests)
{
    struct bed_rows *rows = run(10, NULL);
    MUST(rows->code == 0);
    check_metric(rows, "request.arrived", 10);
    check_metric(rows, "request.finished", 10);
    check_metric(rows, "request.prompt_tokens.sum", 1600);
    check_metric(rows, "request.output_tokens.sum", 110);
    check_metric(rows, "request.queue_s.max", 0);
    check_metric(rows, "request.ttft_s.mean", 0.1);
    check_metric(rows, "request.tpot_s.mean", 0.01);
    check_metric(rows, "request.e2e_s.max", 0.2);
    check_metric(rows, "request.max_gap_s.mean", 0.01);
    check_percentile(rows, "token.gap_s.p50", 0.01);
    check_percentile(rows, "token.gap_s.p99", 0.01);
    check_percentile(rows, "request.e2e_s.p90", 0.2);
    check_metric(rows, "sim.end_s", 9.2);
    check_metric(rows, "request.in_system.mean", 10 * 0.2 / 9.2);
    check_metric(rows, "replica.busy_frac", 10 * 0.2 / 9.2);
    check_metric(rows, "replica.iterations.sum", 110);
    check_metric(rows, "replica.prefill_iterations.sum", 10);
    check_metric(rows, "replica.decode_batch.mean", 1);
    check_metric(rows, "replica.kv_peak_frac", 11.0 / 40); /* 170 tokens in blocks of 16 */
    check_metric(rows, "service.requests_per_s", 10 / 9.2);
    check_metric(rows, "service.output_tokens_per_s", 110 / 9.2);
    check_metric(rows, "model.extrapolated_frac", 0);
    check_metric(rows, "cluster.gpus_in_use.mean", 1);
    check_metric(rows, "cluster.gpu_util", 0.25);
}

/* The warm-up leaves out who arrived before, but counts what comes out after it. */
TEST(after_a_warm_up)
{
    static const char *const sets[] = {"warmup=4.15s", NULL};
    struct bed_rows *rows = run(10, sets);
    MUST(rows->code == 0);
    check_metric(rows, "request.arrived", 5);
    check_metric(rows, "request.finished", 5);
    check_metric(rows, "request.output_tokens.sum", 55);
    check_metric(rows, "service.requests_per_s", 6 / (9.2 - 4.15));
    check_metric(rows, "service.output_tokens_per_s", 66 / (9.2 - 4.15));
    CHECK_EQ_INT(rows->n_requests, 10); /* rows are of all */
}

/* In the middle of the third prefill. */
TEST(cut_off_in_a_prefill)
{
    static const char *const sets[] = {"until=2.06s", NULL};
    struct bed_rows *rows = run(10, sets);
    MUST(rows->code == 0);
    check_metric(rows, "request.finished", 2);
    check_metric(rows, "request.unfinished", 1);
    check_metric(rows, "sim.end_s", 2.06);
    check_metric(rows, "replica.busy_frac", (0.2 + 0.2 + 0.06) / 2.06);
    const struct request_row *last = bed_request(rows, 2);
    MUST(last != NULL);
    CHECK_EQ_STR(last->status, "unfinished");
    CHECK_EQ_INT(last->output_tokens, 0);
    CHECK(isnan(last->ttft_s) && isnan(last->e2e_s));
}

/* Exactly on a boundary: that token has come. Half an iteration later: no other one. */
TEST(cut_off_in_a_decode)
{
    static const char *const on[] = {"until=2.13s", NULL}, *const after[] = {"until=2.135s", NULL};
    struct bed_rows *a = run(10, on), *b = run(10, after);
    MUST(a->code == 0 && b->code == 0);
    CHECK_EQ_INT(bed_request(a, 2)->output_tokens, 4);
    CHECK_EQ_INT(bed_request(b, 2)->output_tokens, 4);
    CHECK_NEAR(bed_request(b, 2)->ttft_s, 0.1, 1e-12);
    check_metric(a, "replica.busy_frac", (0.4 + 0.13) / 2.13);
    check_metric(b, "replica.busy_frac", (0.4 + 0.135) / 2.135);
}

/* A request that decodes, a crowd that no prefill can take, and one that can be served at once. */
TEST(rejected_requests_delay_no_other_request)
{
    char path[512];
    static const char *const sets[] = {"services.chat.kv.blocks=4000", "services.chat.batching=vllm-v0",
                                       "services.chat.batching.max_batched_tokens=512", NULL};
    snprintf(path, sizeof path, "%s/trace.csv", test_tmpdir());
    FILE *file = fopen(path, "w");
    MUST(file != NULL);
    fprintf(file, "arrival_s,prompt_tokens,output_tokens\n0,100,1000\n");
    for (int i = 0; i < 500; i++) fprintf(file, "1,600,5\n");
    fprintf(file, "1,100,5\n");
    fclose(file);
    struct bed_rows *rows = bed_run(BED(.sets = sets, .check = true, .no_detail = true), scenario, path);
    MUST(rows->code == 0);
    check_metric(rows, "request.rejected", 500);
    CHECK(bed_request(rows, 501)->queue_s < 0.1);
    CHECK_EQ_INT(rows->n_decisions, 500);
}

/* Alone and larger than the cache allows to grow: it preempts itself and must come back by itself. */
TEST(a_request_that_preempts_itself_resumes)
{
    static const char *const sets[] = {"services.chat.kv.blocks=10", "services.chat.batching=vllm-v0",
                                       "services.chat.batching.watermark=0", NULL};
    const char *path = test_file("trace.csv", "arrival_s,prompt_tokens,output_tokens\n0,16,144\n100,16,1\n");
    struct bed_rows *rows = bed_run(BED(.sets = sets, .check = true, .no_detail = true), scenario, path);
    MUST(rows->code == 0);
    check_metric(rows, "request.finished", 2);
    CHECK(bed_metric(rows, "request.preemptions.sum") >= 1);
    CHECK(bed_metric(rows, "request.max_gap_s.max") < 1);
}
