/* The public files themselves: rows, sums of tokens and GPU-seconds as counted with awk. */
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"

TEST(azure_conversation_trace)
{
    const char *path = test_shared("request_traces/azure_llm_2023_conversation.csv");
    if (path == NULL) return;
    SCOPED(trace_source) trace;
    MUST(trace_source_requests(&trace, 1, "{'format': 'azure-llm', 'path': '%s'}", path) == 0);
    struct trace_totals totals = trace_source_totals(&trace);
    CHECK_EQ_INT(totals.code, 0);
    CHECK_EQ_INT(totals.n, 19366);
    CHECK_EQ_INT(totals.prompt_tokens, 22361870);
    CHECK_EQ_INT(totals.output_tokens, 4088665);
    CHECK_EQ_INT(totals.first_ns, 0);
    CHECK_EQ_INT(totals.last_ns, 3501721937000); /* 18:15:46.6805900 to 19:14:08.4025270 */
    CHECK(totals.ordered);
}

TEST(philly_trace)
{
    const char *path = test_shared("job_traces/philly_2017_jobs__13_virtual_clusters.csv");
    if (path == NULL) return;
    SCOPED(trace_source) trace = {0};
    struct job_record job;
    int64_t n = 0, gpu_s = 0;
    sim_ns last_ns = 0;
    MUST(trace_source_jobs(&trace, 1, "{'format': 'philly', 'path': '%s'}", path) == 0);
    while (trace_source_job(&trace, &job) == 1) {
        if (n++ == 0) CHECK_EQ_INT(job.submit_ns, 0);
        CHECK(job.submit_ns >= last_ns && job.duration_ns % SIM_NS_PER_S == 0);
        last_ns = job.submit_ns;
        gpu_s += job.duration_ns / SIM_NS_PER_S * job.gpus;
    }
    CHECK_EQ_INT(n, 70783);
    CHECK_EQ_INT(gpu_s, 2303146934);
}

TEST(mooncake_trace)
{
    const char *path = test_shared("request_traces/mooncake_fast25_conversation.jsonl");
    if (path == NULL) return;
    SCOPED(trace_source) trace;
    MUST(trace_source_requests(&trace, 1, "{'format': 'mooncake', 'path': '%s'}", path) == 0);
    struct trace_totals totals = trace_source_totals(&trace);
    CHECK_EQ_INT(totals.code, 0);
    CHECK_EQ_INT(totals.n, 12031);
    CHECK_EQ_INT(totals.prompt_tokens, 144793823);
    CHECK_EQ_INT(totals.output_tokens, 4122048);
    CHECK_EQ_INT(totals.blocks, 288500);
    CHECK(totals.ordered);
}

TEST(openb_trace)
{
    const char *path = test_shared("job_traces/alibaba_openb2023_pods_default.csv");
    if (path == NULL) return;
    SCOPED(trace_source) trace = {0};
    struct job_record job;
    int64_t n = 0, gpus = 0, milli = 0, cpu_jobs = 0;
    MUST(trace_source_jobs(&trace, 1, "{'format': 'openb', 'path': '%s'}", path) == 0);
    while (trace_source_job(&trace, &job) == 1) {
        n++;
        gpus += job.gpus;
        cpu_jobs += job.gpus == 0;
        milli += job.gpus == 1 ? job.gpu_milli : 0;
    }
    CHECK_EQ_INT(n, 8152);
    CHECK_EQ_INT(cpu_jobs, 1088);
    CHECK_EQ_INT(gpus, 7433);
    CHECK_EQ_INT(milli, 5642800);
    CHECK_EQ_INT(trace_source_note(&trace, "never-scheduled"), 897);
}

/* Lists of peers, read by the generic formats. */
TEST(peer_lists)
{
    const char *vidur = test_shared("peers/vidur/r200.csv"), *tiresias = test_shared("peers/tiresias/jobs400.csv");
    if (vidur == NULL || tiresias == NULL) return;
    SCOPED(trace_source) trace;
    MUST(trace_source_requests(&trace, 1,
                               "{'format': 'csv', 'path': '%s', 'columns': {'arrival': 'arrived_at', 'prompt':"
                               " 'num_prefill_tokens', 'output': 'num_decode_tokens'}}",
                               vidur) == 0);
    struct trace_totals totals = trace_source_totals(&trace);
    CHECK_EQ_INT(totals.n, 200);
    CHECK_EQ_INT(totals.first_ns, 209966000);
    CHECK_EQ_INT(totals.last_ns, 51289930000);
    trace_source_fini(&trace);
    struct job_record job;
    int64_t n = 0, gpu_s = 0;
    MUST(trace_source_jobs(&trace, 1, "{'format': 'csv-jobs', 'path': '%s', 'columns': {'gpus': 'num_gpus'}}",
                           tiresias) == 0);
    while (trace_source_job(&trace, &job) == 1) {
        n++;
        gpu_s += job.gpus * (job.duration_ns / SIM_NS_PER_S);
    }
    CHECK_EQ_INT(n, 400);
    CHECK_EQ_INT(gpu_s, 3545922);
}

TEST(length_traces)
{
    const char *path = test_shared("request_traces/arxiv_summarization_lengths_vidur.csv");
    if (path == NULL) return;
    SCOPED(trace_source) trace;
    MUST(trace_source_requests(&trace, 1,
                               "{'format': 'lengths', 'path': '%s', 'arrival': {'process': 'poisson', 'rate': '2/s'}}",
                               path) == 0);
    struct trace_totals totals = trace_source_totals(&trace);
    CHECK_EQ_INT(totals.n, 28257);
    CHECK_EQ_INT(totals.prompt_tokens, 73131321);
    CHECK_EQ_INT(totals.output_tokens, 8234948);
    CHECK_NEAR(sim_s_from_ns(totals.last_ns), 28257 / 2.0, 4 * 168.1 / 2); /* 4 standard errors */
}
