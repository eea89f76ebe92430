/* Peer equivalence: Vidur's vLLM scheduler with a closed-form batch time, request by request, to a microsecond. The inputs
 * and Vidur's own outputs are in tests/fixtures/vidur. */
#include "tests/harness.h"

#include "tests/bed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char scenario[] =
    "{ 'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'},"
    "  'services': { 'peer': {"
    "    'llm': 'llama-2-7b', 'kv': {'blocks': 7424, 'block_tokens': 16},"
    "    'batching': {'policy': 'vllm-v0', 'max_sequences': 128, 'max_batched_tokens': 4096, 'padded': true},"
    "    'cost': {'kind': 'affine',"
    "      'prefill': {'fixed': '5ms', 'per_token': '50us', 'per_sequence': '20us', 'per_pair': '2ns'},"
    "      'decode': {'fixed': '5ms', 'per_token': '50us', 'per_sequence': '20us', 'per_context_token': '100ns'}},"
    "    'trace': {'format': 'csv', 'path': '%s', 'columns': {'arrival': 'arrived_at',"
    "              'prompt': 'num_prefill_tokens', 'output': 'num_decode_tokens'}} }}}";

static struct bed_rows *run_case(const char *input, const struct bed_options *options)
{
    char text[2048];
    snprintf(text, sizeof text, scenario, input);
    for (char *c = text; *c; c++)
        if (*c == '\'') *c = '"';
    return bed_run(text, options);
}

static void check_case(const char *input, const char *expected_path, int expected_rows)
{
    struct bed_rows *rows = run_case(input, NULL);
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(rows->n_requests, expected_rows);
    FILE *file = fopen(expected_path, "r");
    char line[512];
    int n = 0;
    if (!CHECK(file != NULL) || !CHECK(fgets(line, sizeof line, file) != NULL)) return;
    while (fgets(line, sizeof line, file) != NULL) {
        double v[7];
        char *at = line;
        long id = strtol(at, &at, 10);
        for (int i = 0; i < 7; i++) v[i] = strtod(at + 1, &at);
        const struct request_row *row = bed_request(rows, id);
        if (!CHECK(row != NULL)) break;
        CHECK_NEAR(row->arrival_s, v[0], 1e-9);
        CHECK_NEAR(row->arrival_s + row->queue_s, v[1], 1e-6);
        CHECK_NEAR(row->ttft_s, v[4], 1e-6);
        CHECK_NEAR(row->e2e_s, v[5], 1e-6);
        CHECK_EQ_INT(row->preemptions, v[6]);
        n++;
    }
    CHECK_EQ_INT(n, expected_rows);
    fclose(file);
    bed_free(rows);
}

static void vllm_200_requests(void)
{
    check_case("tests/fixtures/vidur/r200.csv", "tests/fixtures/vidur/case1_requests.csv", 200);
}

static void vllm_burst_of_64(void)
{
    check_case("tests/fixtures/vidur/burst64.csv", "tests/fixtures/vidur/case5_requests.csv", 64);
}

static void batches_are_as_many_as_vidurs(void)
{
    struct bed_rows *rows = run_case("tests/fixtures/vidur/r200.csv", NULL);
    CHECK_EQ_INT(bed_metric(rows, "replica.iterations.sum"), 8157); /* summary.json of the case */
    bed_free(rows);
}

static void every_mode_gives_the_same_bytes(void)
{
    struct bed_rows *macro = run_case("tests/fixtures/vidur/r200.csv", NULL);
    struct bed_rows *single = run_case("tests/fixtures/vidur/r200.csv",
                                       &(struct bed_options){.single_step = true, .queue = QUEUE_HEAP});
    struct bed_rows *checked = run_case("tests/fixtures/vidur/r200.csv", &(struct bed_options){.check = true});
    CHECK(bed_equal(macro, single));
    CHECK(bed_equal(macro, checked));
    CHECK(macro->engine.fired * 4 < single->engine.fired);
    bed_free(macro);
    bed_free(single);
    bed_free(checked);
}

TEST_SUITE(vidur)
{
    TEST(vllm_200_requests);
    TEST(vllm_burst_of_64);
    TEST(batches_are_as_many_as_vidurs);
    TEST(every_mode_gives_the_same_bytes);
}
