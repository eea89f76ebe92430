/* Jobs beside a service that wants their GPUs: who yields, and what becomes of it. */
#include "tests/harness.h"

#include "sim/core/text.h"
#include "tests/bed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define AFFINE                                                                                                         \
    "\"cost\": {\"kind\": \"affine\", \"prefill\": {\"fixed\": \"9ms\", \"per_token\": \"60us\"},"                      \
    " \"decode\": {\"fixed\": \"11ms\", \"per_sequence\": \"20us\", \"per_context_token\": \"30ns\"}}"
#define CLUSTER "\"cluster\": {\"nodes\": 2, \"gpus_per_node\": 4, \"gpu\": \"a100-80-sxm\"}"

/* --- Who yields --- */

/* Four jobs of two GPUs, one after the other, fill the cluster; then a replica wants two. %s: more of the section "jobs". */
static struct bed_rows *run_four(const char *more)
{
    struct text json;
    text_init(&json);
    text_printf(
        &json,
        "{" CLUSTER
        ", \"keep\": \"decisions\", \"services\": {\"chat\": {\"llm\": \"mistral-7b\", \"tensor_parallel\": 2,"
        " \"scaling\": {\"policy\": {\"policy\": \"schedule\", \"steps\": [{\"at\": \"0s\", \"replicas\": 0}, {\"at\": \"100s\","
        " \"replicas\": 1}, {\"at\": \"200s\", \"replicas\": 0}]}, \"min\": 0, \"max\": 1, \"interval\": \"100s\"}, " AFFINE
        ", \"trace\": {\"format\": \"generate\", \"duration\": \"400s\", \"arrival\": {\"process\": \"fixed\", \"rate\":"
        " \"0.0301/s\"}, \"prompt\": {\"distribution\": \"fixed\", \"tokens\": 10}, \"output\": {\"distribution\": \"fixed\","
        " \"tokens\": 2}}}}, \"jobs\": {\"scheduler\": \"fifo-skip\", \"placement\": \"consolidated\","
        " \"restart\": {\"resume\": \"30s\"}, %s \"trace\": {\"format\": \"inline-jobs\", \"jobs\":"
        " [{\"submit\": \"1s\", \"duration\": \"300s\", \"gpus\": 2}, {\"submit\": \"2s\", \"duration\": \"300s\", \"gpus\": 3},"
        " {\"submit\": \"3s\", \"duration\": \"300s\", \"gpus\": 1}, {\"submit\": \"4s\", \"duration\": \"300s\", \"gpus\": 2}]}}}",
        more);
    struct bed_rows *rows = bed_run(json.chars, &(struct bed_options){.check = true});
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(rows->n_jobs, 4);
    text_fini(&json);
    return rows;
}

/* Jobs 0 and 3 are on one node, 1 and 2 on the other: the last one that started has what is wanted. It starts again when the
 * service gives its GPUs back, and waits until it works, and no other job is touched. */
static void the_latest_yields_and_comes_back(void)
{
    struct bed_rows *rows = run_four("\"preemptible\": true,");
    for (int64_t id = 0; id < 4; id++) {
        const struct job_row *job = bed_job(rows, id);
        CHECK_EQ_INT(job->preemptions, id == 3);
        CHECK_NEAR(job->end_s, id == 3 ? 200 + 30 + (300 - 96) : job->submit_s + 300, 1e-6);
    }
    CHECK(bed_metric(rows, "scaling.yielded_jobs.sum") == 1);
    bed_free(rows);
}

/* Of what they have spent on their GPUs, the single one has the least, but its node has then only one free. */
static void who_has_done_least_yields_where_it_helps(void)
{
    struct bed_rows *rows = run_four("\"preemptible\": true, \"yield\": \"least-work\",");
    CHECK_EQ_INT(bed_job(rows, 3)->preemptions, 1);
    CHECK_EQ_INT(bed_job(rows, 2)->preemptions, 0);
    bed_free(rows);
}

/* Then a replica waits until one of them ends. */
static void firm_jobs_do_not_yield(void)
{
    struct bed_rows *rows = run_four("");
    for (int64_t id = 0; id < 4; id++) CHECK_EQ_INT(bed_job(rows, id)->preemptions, 0);
    CHECK_NEAR(bed_metric(rows, "scaling.missing_replica_s.sum"), 100, 1e-9);
    CHECK(bed_metric(rows, "scaling.yielded_jobs.sum") == 0);
    bed_free(rows);
}

TEST_SUITE(yielding)
{
    TEST(the_latest_yields_and_comes_back);
    TEST(who_has_done_least_yields_where_it_helps);
    TEST(firm_jobs_do_not_yield);
}
