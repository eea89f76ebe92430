#include "tests/harness.h"

#include "sim/core/mem.h"
#include "tests/trace_source.h"
#include "traces/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AZURE_HEAD "TIMESTAMP,ContextTokens,GeneratedTokens\n"

struct totals {
    int code;
    int64_t n, prompt_tokens, output_tokens, blocks;
    sim_ns first_ns, last_ns;
    bool ordered;
};

static struct totals read_requests(struct trace_source *trace)
{
    struct totals totals = {.ordered = true};
    struct request_record record;
    while ((totals.code = trace_source_request(trace, &record)) == 1) {
        if (totals.n++ == 0) totals.first_ns = record.arrival_ns;
        totals.ordered &= record.arrival_ns >= totals.last_ns;
        totals.last_ns = record.arrival_ns;
        totals.prompt_tokens += record.prompt_tokens;
        totals.output_tokens += record.output_tokens;
        totals.blocks += record.n_prefix_blocks;
    }
    return totals;
}

/* --- request formats --- */

static void azure_rows_become_requests(void)
{
    const char *path = trace_source_file("azure.csv", AZURE_HEAD "2023-11-16 18:15:46.6805900,374,44\r\n"
                                                                 "2023-11-16 18:15:50.9951690,396,109\r\n"
                                                                 "2023-11-16 18:15:51.0000000,396,0\r\n"
                                                                 "2023-11-16 18:15:51.2224670,879,55");
    struct trace_source trace;
    struct request_record r;
    MUST(trace_source_requests(&trace, 1, "{'format': 'azure-llm', 'path': '%s'}", path) == 0);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 1);
    CHECK(r.id == 0 && r.arrival_ns == 0 && r.prompt_tokens == 374 && r.output_tokens == 44);
    CHECK(r.n_prefix_blocks == 0 && r.prefix_blocks == NULL);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 1);
    CHECK(r.id == 1 && r.arrival_ns == 4314579000 && r.prompt_tokens == 396 && r.output_tokens == 109);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 1);
    CHECK(r.id == 3 && r.arrival_ns == 4541877000 && r.prompt_tokens == 879 && r.output_tokens == 55);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 0);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 0);
    CHECK_EQ_INT(trace_source_note(&trace, "no-output"), 1);
    CHECK_EQ_INT(trace.requests->place(trace.requests).row, 4);
    CHECK_NEAR(trace.requests->place(trace.requests).done_frac, 1, 0);
    trace_source_close(&trace);
}

static void lengths_have_their_own_times_or_a_process(void)
{
    const char *timed = "request_id,arrived_at,num_prefill_tokens,num_decode_tokens\n0,0.209966,314,84\n1,0.5,563,280\n";
    struct trace_source trace;
    struct request_record r;
    MUST(trace_source_requests(&trace, 1, "{'format': 'lengths', 'path': '%s'}", trace_source_file("r.csv", timed)) == 0);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 1);
    CHECK(r.arrival_ns == 209966000 && r.prompt_tokens == 314 && r.output_tokens == 84);
    trace_source_close(&trace);

    const char *untimed = "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n3772,54,3826,69.8\n9,2,11,4.5\n"
                          "7,1,8,7\n";
    const char *path = trace_source_file("l.csv", untimed);
    char expected[1024];
    CHECK_EQ_INT(trace_source_requests(&trace, 1, "{'format': 'lengths', 'path': '%s'}", path), SIM_E_DATA);
    snprintf(expected, sizeof expected,
             "%s:1:1: error: no column 'arrived_at' in the header; the columns are "
             "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio",
             path);
    CHECK_EQ_STR(trace.message, expected);
    trace_source_close(&trace);
    MUST(trace_source_requests(&trace, 1,
                               "{'format': 'lengths', 'path': '%s', 'arrival': {'process': 'fixed', 'rate': '4/s'}}",
                               path) == 0);
    struct totals totals = read_requests(&trace);
    CHECK_EQ_INT(totals.n, 3);
    CHECK_EQ_INT(totals.last_ns, 500000000);
    CHECK_EQ_INT(totals.prompt_tokens, 3788);
    trace_source_close(&trace);
}

static void any_table_of_requests_can_be_named(void)
{
    const char *path = trace_source_file("mine.tsv", "5\t100\t17\tx\t1 2 3\n7.5\t101\t18\ty\t\n");
    struct trace_source trace;
    struct request_record r;
    MUST(trace_source_requests(&trace, 1,
                               "{'format': 'csv', 'path': '%s', 'header': false, 'delimiter': 'tab', 'time_unit': 'ms',"
                               " 'columns': {'arrival': '1', 'prompt': '3', 'output': '2', 'prefix': '5'}}",
                               path) == 0);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 1);
    CHECK(r.arrival_ns == 5000000 && r.prompt_tokens == 17 && r.output_tokens == 100 && r.n_prefix_blocks == 3);
    CHECK(r.prefix_blocks[0] == 1 && r.prefix_blocks[2] == 3);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 1);
    CHECK(r.arrival_ns == 7500000 && r.n_prefix_blocks == 0 && r.prefix_blocks == NULL);
    trace_source_close(&trace);

    CHECK_EQ_INT(trace_source_requests(&trace, 1, "{'format': 'csv', 'path': '%s', 'header': false}", path),
                 SIM_E_CONFIG);
    CHECK_EQ_STR(trace.message, "services.chat.trace: error: without a header, columns are numbers, got 'arrival_s'; "
                                "the first column is \"1\"");
    trace_source_close(&trace);
}

static void burstgpt_failures_are_a_choice(void)
{
    const char *path = trace_source_file("burst.csv", "Timestamp,Session ID,Model,Request tokens,Response tokens,Total tokens,"
                                                      "Log Type\n5,,ChatGPT,472,18,490,Conversation log\n"
                                                      "45,,GPT-4,1087,0,1087,API log\n1106.0,,ChatGPT,0,0,0,API log\n"
                                                      "1129,,GPT-4,417,276,693,API log\n");
    struct trace_source trace;
    struct request_record r;
    MUST(trace_source_requests(&trace, 1, "{'format': 'burstgpt', 'path': '%s'}", path) == 0);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 1);
    CHECK(r.id == 0 && r.arrival_ns == 5 * SIM_NS_PER_S && r.prompt_tokens == 472 && r.output_tokens == 18);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 1);
    CHECK(r.id == 3 && r.arrival_ns == 1129 * SIM_NS_PER_S);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 0);
    CHECK_EQ_INT(trace_source_note(&trace, "failed-request"), 1);
    CHECK_EQ_INT(trace_source_note(&trace, "no-prompt"), 1);
    trace_source_close(&trace);
    MUST(trace_source_requests(&trace, 1, "{'format': 'burstgpt', 'path': '%s', 'failed': 'prefill', 'model': 'GPT-4'}",
                               path) == 0);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 1);
    CHECK(r.id == 1 && r.prompt_tokens == 1087 && r.output_tokens == 1);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 1);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 0);
    CHECK_EQ_INT(trace_source_note(&trace, "not-chosen"), 2);
    trace_source_close(&trace);
}

static void mooncake_lines_become_requests_with_blocks(void)
{
    const char *path = trace_source_file(
        "m.jsonl", "{\"timestamp\": 0, \"input_length\": 6758, \"output_length\": 500, \"hash_ids\": [0, 1, 2]}\n"
                   "{\"extra\":{\"a\":[1,{}],\"b\":\"}\\\"\"}, \"output_length\":5,\"hash_ids\":[],\"x\":[ ],\"n\":null,"
                   "\"input_length\":7,\"timestamp\":3000}\r\n"
                   "{\"timestamp\":3000,\"input_length\":8,\"output_length\":6,\"hash_ids\":[9223372036854775807]}");
    struct trace_source trace;
    struct request_record r;
    MUST(trace_source_requests(&trace, 1, "{'format': 'mooncake', 'path': '%s'}", path) == 0);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 1);
    CHECK(r.id == 0 && r.arrival_ns == 0 && r.prompt_tokens == 6758 && r.output_tokens == 500);
    CHECK(r.n_prefix_blocks == 3 && r.prefix_blocks[0] == 0 && r.prefix_blocks[2] == 2);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 1);
    CHECK(r.id == 1 && r.arrival_ns == 3 * SIM_NS_PER_S && r.prompt_tokens == 7 && r.output_tokens == 5);
    CHECK(r.n_prefix_blocks == 0 && r.prefix_blocks == NULL);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 1);
    CHECK(r.n_prefix_blocks == 1 && r.prefix_blocks[0] == (uint64_t)INT64_MAX);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 0);
    trace_source_close(&trace);
}

/* --- job formats --- */

static void acme_and_helios_logs_become_jobs(void)
{
    const char *acme = trace_source_file(
        "seren.csv", "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time\n"
                     "dlc1,u1,2,16,64,Pretrain,COMPLETED,2023-03-01 00:10:00+08:00,2023-03-01 00:10:05+08:00,"
                     "2023-03-01 01:10:05+08:00,3600,5,57600\n"
                     "7,u2,1,0,8,Other,COMPLETED,2023-03-01 00:00:00+08:00,2023-03-01 00:00:00+08:00,"
                     "2023-03-01 00:00:30+08:00,,0,0\n"
                     "9,u2,1,8,8,Evaluation,CANCELLED,2023-03-01 00:00:10+08:00,NaT,2023-03-01 00:00:30+08:00,,20,0\n");
    struct trace_source trace;
    struct job_record job;
    MUST(trace_source_jobs(&trace, 1, "{'format': 'acme', 'path': '%s'}", acme) == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 7 && job.submit_ns == 0 && job.duration_ns == 30 * SIM_NS_PER_S && job.gpus == 0 && job.nodes == 1);
    CHECK_EQ_STR(job.group, "Other");
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 0 && job.submit_ns == 600 * SIM_NS_PER_S && job.duration_ns == 3600 * SIM_NS_PER_S && job.gpus == 16);
    CHECK_EQ_STR(job.user, "u1");
    CHECK_EQ_INT(trace_source_job(&trace, &job), 0);
    CHECK_EQ_INT(trace_source_note(&trace, "never-started"), 1);
    trace_source_close(&trace);

    const char *helios = trace_source_file(
        "earth.csv", "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
                     "4,uA,vcX,8,8,1,FAILED,2020-04-01 00:00:08,2020-04-01 00:00:09,2020-04-01 00:00:19,10,1\n"
                     "5,uA,vcX,1,8,1,COMPLETED,2020-04-01 00:00:09,None,None,None,None\n");
    MUST(trace_source_jobs(&trace, 1, "{'format': 'helios', 'path': '%s'}", helios) == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 4 && job.gpus == 8 && job.duration_ns == 10 * SIM_NS_PER_S && job.nodes == 1);
    CHECK_EQ_STR(job.group, "vcX");
    CHECK_EQ_INT(trace_source_job(&trace, &job), 0);
    CHECK_EQ_INT(trace_source_note(&trace, "never-started"), 1);
    trace_source_close(&trace);
}

static void alibaba_tables_become_jobs_with_shares(void)
{
    const char *openb = trace_source_file(
        "pods.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
                    "p1,1,1,1,460,,LS,Running,427061,427100,427062\np0,1,1,8,1000,T4,BE,Pending,100,130,\n"
                    "p2,1,1,0,0,,BE,Failed,500000,500001.0,500000\n");
    struct trace_source trace;
    struct job_record job;
    MUST(trace_source_jobs(&trace, 1, "{'format': 'openb', 'path': '%s', 'cpu_jobs': false}", openb) == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 1 && job.submit_ns == 100 * SIM_NS_PER_S && job.duration_ns == 30 * SIM_NS_PER_S && job.gpus == 8 &&
          job.gpu_milli == 1000);
    CHECK_EQ_STR(job.group, "BE");
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 0 && job.duration_ns == 38 * SIM_NS_PER_S && job.gpus == 1 && job.gpu_milli == 460);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 0);
    CHECK_EQ_INT(trace_source_note(&trace, "never-scheduled"), 1);
    CHECK_EQ_INT(trace_source_note(&trace, "cpu-job"), 1);
    trace_source_close(&trace);

    const char *pai = trace_source_file("pai_task_table.csv", "j1,worker,4.0,Terminated,494935.0,495000.0,600.0,29.2,25.0,T4\n"
                                                              "j2,tensorflow,2.0,Terminated,494930.0,494931.0,600.0,29.2,25.0,T4\n"
                                                              "j3,ps,3.0,Failed,494940.0,494950.0,600.0,29.2,50.0,MISC\n"
                                                              "j4,ps,1.0,Waiting,494940.0,,600.0,29.2,,\n"
                                                              "j5,ps,1.0,Terminated,494950.0,494960.0,600.0,29.2,,\n");
    MUST(trace_source_jobs(&trace, 1, "{'format': 'pai', 'path': '%s'}", pai) == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 1 && job.submit_ns == 0 && job.duration_ns == SIM_NS_PER_S && job.gpus == 1 && job.gpu_milli == 500);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 0 && job.submit_ns == 5 * SIM_NS_PER_S && job.gpus == 1 && job.gpu_milli == 1000);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 2 && job.gpus == 2 && job.gpu_milli == 1000);
    CHECK_EQ_STR(job.group, "MISC");
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 4 && job.gpus == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 0);
    CHECK_EQ_INT(trace_source_note(&trace, "no-run-time"), 1);
    trace_source_close(&trace);
}

static void swf_lines_become_jobs(void)
{
    const char *swf = trace_source_file("log.swf", "; UnixStartTime: 837504000\n;\n"
                                                   "  1    0  13  1451 128  -1 -1  64 3600 -1 1  9 1 -1 3 -1 -1 -1\n"
                                                   "  2   20  -1    -1  16  -1 -1  16   60 -1 5 10 1 -1 3 -1 -1 -1\n"
                                                   "  3   30   5    10   4  -1 -1  -1   -1 -1 0 10 1 -1 4 -1 -1 -1\n"
                                                   "  4   30   5    10  -1  -1 -1  -1   -1 -1 0 10 1 -1 4 -1 -1 -1\n");
    struct trace_source trace;
    struct job_record job;
    MUST(trace_source_jobs(&trace, 1, "{'format': 'swf', 'path': '%s'}", swf) == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 1 && job.submit_ns == 0 && job.duration_ns == 1451 * SIM_NS_PER_S && job.gpus == 64 &&
          job.estimate_ns == 3600 * SIM_NS_PER_S);
    CHECK_EQ_STR(job.group, "3");
    CHECK_EQ_STR(job.user, "9");
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 3 && job.submit_ns == 30 * SIM_NS_PER_S && job.gpus == 4 && job.estimate_ns == job.duration_ns);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 0);
    CHECK_EQ_INT(trace_source_note(&trace, "no-run-time"), 1);
    CHECK_EQ_INT(trace_source_note(&trace, "no-processors"), 1);
    trace_source_close(&trace);
}

static void philly_rows_are_sorted(void)
{
    const char *path = trace_source_file("philly.csv", "timestamp,duration,num_gpus,gpu_time,virtual_cluster\n"
                                                       "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
                                                       "2017-10-09 06:13:03,2951.0,8,2951.0,6214e9\n"
                                                       "2017-10-09 06:13:03,2759.5,0,2759.0,6214e9\n");
    struct trace_source trace;
    struct job_record a, b, c;
    MUST(trace_source_jobs(&trace, 1, "{'format': 'philly', 'path': '%s'}", path) == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &a), 1);
    CHECK_EQ_INT(trace_source_job(&trace, &b), 1);
    CHECK_EQ_INT(trace_source_job(&trace, &c), 1);
    CHECK(a.id == 1 && a.submit_ns == 0 && a.duration_ns == 2951 * SIM_NS_PER_S && a.gpus == 8);
    CHECK(a.estimate_ns == a.duration_ns && a.gpu_milli == 1000 && a.nodes == 0);
    CHECK_EQ_STR(a.group, "6214e9");
    CHECK_EQ_STR(a.user, "");
    CHECK(b.id == 2 && b.submit_ns == 0 && b.duration_ns == 2759500000000 && b.gpus == 0 && b.group == a.group);
    CHECK(c.id == 0 && c.submit_ns == 2932 * SIM_NS_PER_S);
    CHECK_EQ_INT(trace_source_job(&trace, &a), 0);
    trace_source_close(&trace);
    MUST(trace_source_jobs(&trace, 1, "{'format': 'philly', 'path': '%s', 'cpu_jobs': false}", path) == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &a), 1);
    CHECK_EQ_INT(trace_source_job(&trace, &c), 1);
    CHECK_EQ_INT(trace_source_job(&trace, &b), 0);
    CHECK_EQ_INT(trace_source_note(&trace, "cpu-job"), 1);
    trace_source_close(&trace);
}

static void any_table_of_jobs_can_be_named(void)
{
    const char *tiresias = trace_source_file("jobs.csv", "job_id,submit_s,num_gpus,duration_s\n40,13,8,1197\n41,54,4,706\n");
    struct trace_source trace;
    struct job_record job;
    MUST(trace_source_jobs(&trace, 1, "{'format': 'csv-jobs', 'path': '%s', 'columns': {'gpus': 'num_gpus'}}", tiresias) ==
         0);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 40 && job.submit_ns == 13 * SIM_NS_PER_S && job.gpus == 8 &&
          job.duration_ns == 1197 * SIM_NS_PER_S && job.estimate_ns == job.duration_ns);
    trace_source_close(&trace);

    const char *full = trace_source_file("full.csv", "submit_s,duration_s,gpus,job_id,nodes,gpu_milli,estimate_s,group,user\n"
                                                     "1,2,1,,3,250,4,a,u1\n1,2,2,9,NA,250,,b,u1\n");
    struct job_record second;
    MUST(trace_source_jobs(&trace, 1,
                           "{'format': 'csv-jobs', 'path': '%s', 'duration_unit': 'min', 'origin': 'first'}", full) == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 0 && job.submit_ns == 0 && job.duration_ns == 120 * SIM_NS_PER_S && job.nodes == 3 &&
          job.gpu_milli == 250 && job.estimate_ns == 240 * SIM_NS_PER_S);
    CHECK_EQ_INT(trace_source_job(&trace, &second), 1);
    CHECK(second.id == 9 && second.nodes == 0 && second.gpu_milli == 1000 && second.estimate_ns == second.duration_ns);
    CHECK_EQ_STR(second.group, "b");
    CHECK(second.user == job.user);
    trace_source_close(&trace);
}

/* --- bad input --- */

/* The first finding of reading an Azure file with these rows. */
static void check_azure(const char *rows, int expected_code, const char *expected)
{
    char text[1024], message[1024];
    snprintf(text, sizeof text, "%s%s", AZURE_HEAD, rows);
    const char *path = trace_source_file("azure.csv", text);
    struct trace_source trace;
    struct totals totals = {0};
    if (trace_source_requests(&trace, 1, "{'format': 'azure-llm', 'path': '%s'}", path) == 0) {
        totals = read_requests(&trace);
        CHECK_EQ_INT(totals.code, expected_code);
    }
    snprintf(message, sizeof message, "%s%s", path, expected);
    CHECK_EQ_STR(trace.message, message);
    trace_source_close(&trace);
}

#define FIX "; correct the row, or let \"allow_bad_rows\" leave such rows out"

static void bad_rows_say_where_and_what_was_expected(void)
{
    check_azure("2023-11-16 18:15:46.68,37x4,44\n", SIM_E_DATA,
                ":2:24: error: 'ContextTokens' must be a whole number, got '37x4'" FIX);
    check_azure("2023-11-16 18:15:46.68,374,-5\n", SIM_E_DATA,
                ":2:28: error: 'GeneratedTokens' must be at least 0, got '-5'" FIX);
    check_azure("2023-11-16 18:15:46.68,3000000000,5\n", SIM_E_DATA,
                ":2:24: error: 'ContextTokens' must be at most 2147483647, got '3000000000'" FIX);
    check_azure("2023-11-16 18:15:46.68,30000000000000000000,5\n", SIM_E_DATA,
                ":2:24: error: 'ContextTokens' must be a number of at most 18 digits, got '30000000000000000000'" FIX);
    check_azure("2023-11-16 18:15:46.68,,44\n", SIM_E_DATA,
                ":2:24: error: 'ContextTokens' is empty; expected a whole number" FIX);
    check_azure("2023-11-16 18:15:46.68,374\n", SIM_E_DATA,
                ":2:27: error: row has 2 fields, but 'GeneratedTokens' is column 3" FIX);
    check_azure("16.11.2023,374,44\n", SIM_E_DATA,
                ":2:1: error: 'TIMESTAMP' must be a time such as 2023-11-16 18:15:46.68, got '16.11.2023'" FIX);
    check_azure("2023-11-16 18:15:46.5,1,1\n2023-11-16 18:15:45.25,1,1\n", SIM_E_DATA,
                ":3:1: error: 'TIMESTAMP' runs backwards: 1.25 s before the row above; sort the file, or set \"sort\": true");
    check_azure("", SIM_E_DATA, ": error: trace is empty; expected rows of data");
    check_azure("2023-11-16 18:15:46.5,1,0\n", SIM_E_DATA,
                ": error: none of the 1 rows can be used; requests without output tokens left out");
}

/* The first finding of a Mooncake line. */
static void check_mooncake(const char *line, const char *expected)
{
    char message[1024];
    const char *path = trace_source_file("m.jsonl", line);
    struct trace_source trace;
    MUST(trace_source_requests(&trace, 1, "{'format': 'mooncake', 'path': '%s'}", path) == 0);
    CHECK_EQ_INT(read_requests(&trace).code, SIM_E_DATA);
    snprintf(message, sizeof message, "%s%s", path, expected);
    CHECK_EQ_STR(trace.message, message);
    trace_source_close(&trace);
}

#define FIX_JSON "; write {\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": []}"

static void bad_json_lines_say_where_and_what_was_expected(void)
{
    check_mooncake("{\"timestamp\": 0, \"input_length\": 6758.5, \"output_length\": 500}",
                   ":1:34: error: 'input_length' must be a whole number from 0 to 2147483647, got '6758.5'" FIX_JSON);
    check_mooncake("{\"timestamp\": 0, \"input_length\": -1, \"output_length\": 500}",
                   ":1:34: error: 'input_length' must be a whole number from 0 to 2147483647, got '-1'" FIX_JSON);
    check_mooncake("{\"timestamp\": \"0\"}", ":1:15: error: expected a number" FIX_JSON);
    check_mooncake("{\"timestamp\": 0, \"input_length\": 1}", ":1:1: error: 'output_length' is missing" FIX_JSON);
    check_mooncake("{\"timestamp\": 0, \"hash_ids\": [1 2]}", ":1:33: error: expected ',' or ']'" FIX_JSON);
    check_mooncake("{\"timestamp\": 0, \"hash_ids\": [1,]}", ":1:33: error: expected a number" FIX_JSON);
    check_mooncake("{\"timestamp\": 0, \"hash_ids\": 1}", ":1:30: error: expected '['" FIX_JSON);
    check_mooncake("{\"timestamp\": 0} x", ":1:18: error: expected the end of the line" FIX_JSON);
    check_mooncake("{\"timestamp\" 0}", ":1:14: error: expected ':'" FIX_JSON);
    check_mooncake("{\"timestamp", ":1:12: error: expected the closing quote of a string" FIX_JSON);
    check_mooncake("timestamp,input_length\n", ":1:1: error: expected '{'" FIX_JSON);
    check_mooncake("{\"x\": tru}", ":1:7: error: expected a value" FIX_JSON);
    check_mooncake("{\"x\": [[}", ":1:10: error: expected a value" FIX_JSON);
}

static void missing_files_and_columns_say_so(void)
{
    struct trace_source trace;
    CHECK_EQ_INT(trace_source_requests(&trace, 1, "{'format': 'azure-llm', 'path': 'no/trace.csv'}"), SIM_E_IO);
    CHECK_EQ_STR(trace.message, "no/trace.csv: error: cannot open: No such file or directory");
    trace_source_close(&trace);
    const char *path = trace_source_file("azure.csv", "TIMESTAMP,ContextToken,GeneratedTokens\n");
    char expected[1024];
    CHECK_EQ_INT(trace_source_requests(&trace, 1, "{'format': 'azure-llm', 'path': '%s'}", path), SIM_E_DATA);
    snprintf(expected, sizeof expected,
             "%s:1:1: error: no column 'ContextTokens' in the header; did you mean 'ContextToken'?", path);
    CHECK_EQ_STR(trace.message, expected);
    trace_source_close(&trace);
}

static void bad_rows_can_be_left_out_up_to_a_number(void)
{
    const char *path = trace_source_file("azure.csv", AZURE_HEAD "2023-11-16 18:15:46.5,1,1\n2023-11-16 18:15:47.5,x,1\n"
                                                                 "2023-11-16 18:15:48.5,\"1,1\n\"2023-11-16 18:15:49.5,2,1\n"
                                                                 "2023-11-16 18:15:40.5,3,1\n2023-11-16 18:15:50.5,4,1\n");
    struct trace_source trace;
    MUST(trace_source_requests(&trace, 1, "{'format': 'azure-llm', 'path': '%s', 'allow_bad_rows': 3}", path) == 0);
    struct totals totals = read_requests(&trace);
    CHECK_EQ_INT(totals.code, 0);
    CHECK_EQ_INT(totals.n, 2);
    CHECK_EQ_INT(totals.prompt_tokens, 5);
    CHECK_EQ_INT(trace_source_note(&trace, "bad-row"), 3);
    trace_source_close(&trace);
    MUST(trace_source_requests(&trace, 1, "{'format': 'azure-llm', 'path': '%s', 'allow_bad_rows': 2}", path) == 0);
    CHECK_EQ_INT(read_requests(&trace).code, SIM_E_DATA);
    CHECK_EQ_INT(read_requests(&trace).n, 1);
    trace_source_close(&trace);
}

static void all_bad_rows_can_be_reported_in_one_pass(void)
{
    const char *path = trace_source_file("azure.csv", AZURE_HEAD "2023-11-16 18:15:46.5,1,x\n2023-11-16 18:15:47.5,x,1\n"
                                                                 "2023-11-16 18:15:48.5,5,1\nx,1,1\n");
    struct trace_source trace;
    struct request_record record;
    MUST(trace_source_requests(&trace, 1, "{'format': 'azure-llm', 'path': '%s'}", path) == 0);
    CHECK_EQ_INT(trace_source_request(&trace, &record), SIM_E_DATA);
    CHECK_EQ_INT(trace_source_request(&trace, &record), SIM_E_DATA);
    CHECK_EQ_INT(trace_source_request(&trace, &record), 1);
    CHECK_EQ_INT(record.id, 2);
    CHECK_EQ_INT(trace_source_request(&trace, &record), SIM_E_DATA);
    CHECK_EQ_INT(trace_source_request(&trace, &record), 0);
    CHECK_EQ_INT(trace.diag.n_errors, 3);
    trace_source_close(&trace);
}

static void memory_failures_are_reported_at_every_allocation(void)
{
    const char *path = trace_source_file("p.csv", "timestamp,duration,num_gpus,gpu_time,virtual_cluster\n"
                                                  "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n");
    struct trace_source trace;
    struct job_record job;
    MUST(trace_source_jobs(&trace, 1, "{'format': 'philly', 'path': '%s'}", path) == 0);
    const struct trace_format *format = trace.variant.entry;
    bool read = false;
    for (long n = 0; n < 60 && !read; n++) {
        struct job_source *source;
        struct diag diag = {0};
        mem_fail_after(n);
        int code = format->open_jobs(trace.variant.params, &trace.options, &source, &diag);
        if (code == 0) {
            code = source->next(source, &job, &diag);
            read = code == 1;
            source->close(source);
        }
        mem_fail_never();
        if (!read) CHECK_EQ_INT(code, SIM_E_NOMEM);
    }
    CHECK(read);
    trace_source_close(&trace);
}

/* --- public files --- */

static void azure_conversation_trace(void)
{
    const char *path = test_shared("request_traces/azure_llm_2023_conversation.csv");
    if (path == NULL) return;
    struct trace_source trace;
    MUST(trace_source_requests(&trace, 1, "{'format': 'azure-llm', 'path': '%s'}", path) == 0);
    struct totals totals = read_requests(&trace);
    CHECK_EQ_INT(totals.code, 0);
    CHECK_EQ_INT(totals.n, 19366);
    CHECK_EQ_INT(totals.prompt_tokens, 22361870);
    CHECK_EQ_INT(totals.output_tokens, 4088665);
    CHECK_EQ_INT(totals.first_ns, 0);
    CHECK_EQ_INT(totals.last_ns, 3501721937000); /* 18:15:46.6805900 to 19:14:08.4025270 */
    CHECK(totals.ordered);
    trace_source_close(&trace);
}

static void philly_trace(void)
{
    const char *path = test_shared("job_traces/philly_2017_jobs__13_virtual_clusters.csv");
    if (path == NULL) return;
    struct trace_source trace;
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
    trace_source_close(&trace);
}

static void mooncake_trace(void)
{
    const char *path = test_shared("request_traces/mooncake_fast25_conversation.jsonl");
    if (path == NULL) return;
    struct trace_source trace;
    MUST(trace_source_requests(&trace, 1, "{'format': 'mooncake', 'path': '%s'}", path) == 0);
    struct totals totals = read_requests(&trace);
    CHECK_EQ_INT(totals.code, 0);
    CHECK_EQ_INT(totals.n, 12031);
    CHECK_EQ_INT(totals.prompt_tokens, 144793823);
    CHECK_EQ_INT(totals.output_tokens, 4122048);
    CHECK_EQ_INT(totals.blocks, 288500);
    CHECK(totals.ordered);
    trace_source_close(&trace);
}

static void openb_trace(void)
{
    const char *path = test_shared("job_traces/alibaba_openb2023_pods_default.csv");
    if (path == NULL) return;
    struct trace_source trace;
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
    trace_source_close(&trace);
}

/* Lists of peers, read by the generic formats. */
static void peer_lists(void)
{
    const char *vidur = test_shared("peers/vidur/r200.csv"), *tiresias = test_shared("peers/tiresias/jobs400.csv");
    if (vidur == NULL || tiresias == NULL) return;
    struct trace_source trace;
    MUST(trace_source_requests(&trace, 1,
                               "{'format': 'csv', 'path': '%s', 'columns': {'arrival': 'arrived_at', 'prompt':"
                               " 'num_prefill_tokens', 'output': 'num_decode_tokens'}}",
                               vidur) == 0);
    struct totals totals = read_requests(&trace);
    CHECK_EQ_INT(totals.n, 200);
    CHECK_EQ_INT(totals.first_ns, 209966000);
    CHECK_EQ_INT(totals.last_ns, 51289930000);
    trace_source_close(&trace);
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
    trace_source_close(&trace);
}

static void length_traces(void)
{
    const char *path = test_shared("request_traces/arxiv_summarization_lengths_vidur.csv");
    if (path == NULL) return;
    struct trace_source trace;
    MUST(trace_source_requests(&trace, 1,
                               "{'format': 'lengths', 'path': '%s', 'arrival': {'process': 'poisson', 'rate': '2/s'}}",
                               path) == 0);
    struct totals totals = read_requests(&trace);
    CHECK_EQ_INT(totals.n, 28257);
    CHECK_EQ_INT(totals.prompt_tokens, 73131321);
    CHECK_EQ_INT(totals.output_tokens, 8234948);
    CHECK_NEAR(sim_s_from_ns(totals.last_ns), 28257 / 2.0, 4 * 168.1 / 2); /* 4 standard errors */
    trace_source_close(&trace);
}

/* --- registry --- */

static void formats_have_one_open_function_and_unique_names(void)
{
    for (size_t i = 0; i < trace_format_count(); i++) {
        const struct trace_format *format = trace_format_at(i);
        CHECK((format->open_requests != NULL) != (format->open_jobs != NULL));
        CHECK(format->summary[0] != 0 && format->params != NULL && format->params_bytes > 0);
        CHECK(trace_format_find(format->name) == format);
    }
    CHECK(trace_format_find("nope") == NULL);
    struct config_alternative alternative;
    CHECK(!trace_alternative(NULL, "batching", 0, &alternative));
    size_t n = 0;
    while (trace_alternative(NULL, "request-trace", n, &alternative)) n++;
    CHECK(n > 0 && n < trace_format_count());
}

TEST_SUITE(traces)
{
    TEST(azure_rows_become_requests);
    TEST(lengths_have_their_own_times_or_a_process);
    TEST(any_table_of_requests_can_be_named);
    TEST(burstgpt_failures_are_a_choice);
    TEST(mooncake_lines_become_requests_with_blocks);
    TEST(philly_rows_are_sorted);
    TEST(acme_and_helios_logs_become_jobs);
    TEST(alibaba_tables_become_jobs_with_shares);
    TEST(swf_lines_become_jobs);
    TEST(any_table_of_jobs_can_be_named);
    TEST(bad_rows_say_where_and_what_was_expected);
    TEST(bad_json_lines_say_where_and_what_was_expected);
    TEST(missing_files_and_columns_say_so);
    TEST(bad_rows_can_be_left_out_up_to_a_number);
    TEST(all_bad_rows_can_be_reported_in_one_pass);
    TEST(memory_failures_are_reported_at_every_allocation);
    TEST(azure_conversation_trace);
    TEST(philly_trace);
    TEST(mooncake_trace);
    TEST(openb_trace);
    TEST(peer_lists);
    TEST(length_traces);
    TEST(formats_have_one_open_function_and_unique_names);
}
