/* Laws of drafts over pipeline stages: the last stage alone drafts, and each batch has drafts of its own. The times of
 * all requests stand in tests/oracle/speculation_differential.c. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <stdio.h>
#include <string.h>

#define ALONE "{'process': 'fixed', 'rate': '0.1/s'}"
#define MANY "{'process': 'poisson', 'rate': '40/s'}"

/* Nodes fail under load: a lone request would hardly meet a failure. */
static const char *lifetime_of(const char *arrival)
{
    return strcmp(arrival, MANY) == 0 ? "2s" : "1000h";
}

/* Requests of one service on so many stages. */
static struct bed_rows *run_on(int stages, const struct bed_options *options, const char *more, const char *arrival)
{
    return bed_run(
        options,
        "{'cluster': {'nodes': 4, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '25GB/s'}},"
        " 'failures': {'causes': {'node': {'scope': 'node', 'lifetime': {'law': 'exponential', 'mean': '%s'}}}},"
        " 'services': {'s': {'llm': 'mistral-7b', 'pipeline_parallel': %d, %s"
        " 'trace': {'format': 'generate', 'count': 60, 'arrival': %s,"
        " 'prompt': {'distribution': 'uniform', 'min': 20, 'max': 600},"
        " 'output': {'distribution': 'uniform', 'min': 1, 'max': 60}}}}}",
        lifetime_of(arrival), stages, more, arrival);
}

#define CHAIN "'speculation': {'policy': 'fixed', 'drafts': 3}, 'acceptance': {'rates': [0.8, 0.5]},"
#define FIRST_OF(i) (bed_request(rows[i], r)->ttft_s)
#define WHOLE_OF(i) (bed_request(rows[i], r)->e2e_s)

/* One request at a time. The time of a step is that of the LLM's layers, on whatever stage they are, and of the
 * drafts. So drafts add as much with any number of stages, and as many are right. */
TEST(a_lone_request_pays_for_its_drafts_once)
{
    enum { WIDTHS = 3 };
    static const char drafts[] = CHAIN "'draft': {'pass_overhead': '2ms', 'sequence_overhead': '300us'},";
    static const char cost[] = "'cost': {'kind': 'affine', 'prefill': {'fixed': '8ms'}, 'decode': {'fixed': '16ms'}},";
    for (int drafted = 0; drafted < 2; drafted++) {
        struct bed_rows *rows[WIDTHS];
        char more[400];
        snprintf(more, sizeof more, "%s%s", drafted ? drafts : "", cost);
        for (int i = 0; i < WIDTHS; i++) rows[i] = run_on(1 << i, BED(.check = true), more, ALONE);
        for (int i = 1; i < WIDTHS; i++) {
            CHECK_EQ_INT(rows[i]->code, 0);
            for (int r = 0; r < 60; r++) {
                CHECK_NEAR(FIRST_OF(i), FIRST_OF(0), 1e-9);
                CHECK_NEAR(WHOLE_OF(i), WHOLE_OF(0), 1e-8);
            }
            if (!drafted) continue;
            CHECK_NEAR(bed_metric(rows[i], "speculation.accepted_tokens.sum"),
                       bed_metric(rows[0], "speculation.accepted_tokens.sum"), 0);
            CHECK_NEAR(bed_metric(rows[i], "speculation.drafted_tokens.sum"),
                       bed_metric(rows[0], "speculation.drafted_tokens.sum"), 0);
        }
        for (int i = 0; i < WIDTHS; i++) bed_free(rows[i]);
    }
}

/* A stage computes while it verifies, the last one also while it drafts. Of a lone request that is all of its time, on
 * one stage of so many. */
TEST(stages_take_turns)
{
    static const char *const policies[] = {CHAIN "'draft': {'llm': 'phi-2'},",
                                           "'speculation': 'ngram', 'acceptance': {'rates': [0.6]},",
                                           "'speculation': 'mtp', 'acceptance': {'rates': [0.8]},",
                                           "'speculation': {'policy': 'eagle', 'branches': 2, 'tokens': 6},"
                                           " 'acceptance': {'rates': [0.7], 'rank_power': 0.3},"};
    for (size_t policy = 0; policy < sizeof policies / sizeof *policies; policy++)
        for (int stages = 1; stages <= 4; stages *= 2) {
            struct bed_rows *rows = run_on(stages, BED(.check = true, .quiet = true), policies[policy], ALONE);
            double served_s = 0.0;
            CHECK_EQ_INT(rows->code, 0);
            for (int r = 0; r < 60; r++) served_s += bed_request(rows, r)->e2e_s;
            CHECK_NEAR(bed_metric(rows, "replica.busy_frac") * bed_metric(rows, "sim.end_s") * stages / served_s, 1.0,
                       1e-6);
            CHECK(bed_metric(rows, "speculation.accepted_tokens.sum") > 0);
            bed_free(rows);
        }
}

/* Under load, with nodes that fail and blocks that run short: all invariants hold, each request gets its tokens, and
 * single steps and another queue give the same rows. */
TEST(load_failures_and_single_steps)
{
    static const char *const policies[] = {CHAIN "'draft': {'llm': 'phi-2'},",
                                           "'speculation': 'smartspec', 'acceptance': {'rates': [0.7]},",
                                           "'speculation': 'ngram', 'acceptance': {'rates': [0.6]},",
                                           "'speculation': 'mtp', 'acceptance': {'rates': [0.8]},",
                                           "'speculation': {'policy': 'eagle', 'branches': 3, 'tokens': 9},"
                                           " 'acceptance': {'rates': [0.7], 'rank_power': 0.3},"};
    double restarts = 0.0;
    static const char *const batchers[] = {"vllm-v0", "vllm-v1", "sarathi", "orca", "sglang", "trtllm"};
    for (size_t policy = 0; policy < sizeof policies / sizeof *policies; policy++)
        for (size_t batcher = 0; batcher < sizeof batchers / sizeof *batchers; batcher++) {
            char more[600];
            snprintf(more, sizeof more,
                     "'replicas': 2, 'batching': '%s', 'kv': {'blocks': 120}, %s 'restart': {'delay': '100ms'},",
                     batchers[batcher], policies[policy]);
            const int stages = 2 + (int)(policy + batcher) % 3;
            struct bed_rows *rows = run_on(stages, BED(.check = true, .quiet = true), more, MANY);
            struct bed_rows *single = run_on(stages, BED(.single_step = true, .queue = QUEUE_HEAP, .quiet = true), more,
                                             MANY);
            CHECK_EQ_INT(rows->code, 0);
            CHECK(bed_equal(rows, single));
            CHECK_EQ_INT((int64_t)bed_metric(rows, "request.finished"), 60);
            CHECK(bed_metric(rows, "speculation.drafted_tokens.sum") > 0);
            restarts += bed_metric(rows, "failure.restarted_requests");
            bed_free(rows);
            bed_free(single);
        }
    CHECK(restarts > 50);
}
