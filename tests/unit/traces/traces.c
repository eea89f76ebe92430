#include "tests/support/harness.h"
#include "tests/support/trace_source.h"
#include "traces/registry.h"

#define AZURE_HEAD "TIMESTAMP,ContextTokens,GeneratedTokens\n"

/* --- request formats --- */

TEST(azure_rows_become_requests)
{
    const char *path = trace_source_file("azure.csv", AZURE_HEAD "2031-02-03 04:05:06.2500000,301,44\r\n"
                                                                 "2031-02-03 04:05:10.5645790,402,107\r\n"
                                                                 "2031-02-03 04:05:10.6000000,402,0\r\n"
                                                                 "2031-02-03 04:05:10.7918770,880,51");
    SCOPED(trace_source) trace = {0};
    struct request_record r;
    MUST(trace_source_requests(&trace, 1, "{'format': 'azure-llm', 'path': '%s'}", path) == 0);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 1);
    CHECK(r.id == 0 && r.arrival_ns == 0 && r.prompt_tokens == 301 && r.output_tokens == 44);
    CHECK(r.n_prefix_blocks == 0 && r.prefix_blocks == NULL);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 1);
    CHECK(r.id == 1 && r.arrival_ns == 4314579000 && r.prompt_tokens == 402 && r.output_tokens == 107);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 1);
    CHECK(r.id == 3 && r.arrival_ns == 4541877000 && r.prompt_tokens == 880 && r.output_tokens == 51);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 0);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 0);
    CHECK_EQ_INT(trace_source_note(&trace, "no-output"), 1);
    CHECK_EQ_INT(trace.requests->place(trace.requests).row, 4);
    CHECK_NEAR(trace.requests->place(trace.requests).done_frac, 1, 0);
}

TEST(lengths_have_their_own_times_or_a_process)
{
    const char *timed =
        "request_id,arrived_at,num_prefill_tokens,num_decode_tokens\n0,0.209966,321,84\n1,0.5,512,280\n";
    SCOPED(trace_source) trace = {0};
    struct request_record r;
    MUST(trace_source_requests(&trace, 1, "{'format': 'lengths', 'path': '%s'}", trace_source_file("r.csv", timed)) ==
         0);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 1);
    CHECK(r.arrival_ns == 209966000 && r.prompt_tokens == 321 && r.output_tokens == 84);
    trace_source_fini(&trace);

    const char *untimed =
        "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n3772,54,3826,69.8\n9,2,11,4.5\n"
        "7,1,8,7\n";
    const char *path = trace_source_file("l.csv", untimed);
    char expected[1024];
    CHECK_EQ_INT(trace_source_requests(&trace, 1, "{'format': 'lengths', 'path': '%s'}", path), SIM_E_DATA);
    snprintf(expected, sizeof expected,
             "%s:1:1: error: no column 'arrived_at' in the header; set \"arrival\": {\"process\": \"poisson\", "
             "\"rate\": \"4/s\"} in its \"trace\", or --set 'services.trace.trace.arrival={\"process\": "
             "\"poisson\", \"rate\": \"4/s\"}'",
             path);
    CHECK_EQ_STR(trace.message, expected);
    trace_source_fini(&trace);
    MUST(trace_source_requests(&trace, 1,
                               "{'format': 'lengths', 'path': '%s', 'arrival': {'process': 'fixed', 'rate': '4/s'}}",
                               path) == 0);
    struct trace_totals totals = trace_source_totals(&trace);
    CHECK_EQ_INT(totals.n, 3);
    CHECK_EQ_INT(totals.last_ns, 500000000);
    CHECK_EQ_INT(totals.prompt_tokens, 3788);
}

TEST(any_table_of_requests_can_be_named)
{
    const char *path = trace_source_file("mine.tsv", "5\t100\t17\tx\t1 2 3\n7.5\t101\t18\ty\t\n");
    SCOPED(trace_source) trace = {0};
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
    trace_source_fini(&trace);

    CHECK_EQ_INT(trace_source_requests(&trace, 1, "{'format': 'csv', 'path': '%s', 'header': false}", path),
                 SIM_E_CONFIG);
    CHECK_EQ_STR(trace.message, "services.chat.trace: error: without a header, columns are numbers, got 'arrival_s'; "
                                "the first column is \"1\"");
}

/* Arrivals of the table's rows in seconds, or the finding. */
static const char *arrivals_of(const char *more, const char *text)
{
    static char result[512];
    SCOPED(trace_source) trace = {0};
    struct request_record r;
    size_t length = 0;
    result[0] = 0;
    trace_source_requests(&trace, 1,
                          "{'format': 'csv', 'path': '%s', 'columns': {'arrival': 't', 'prompt': 'p', "
                          "'output': 'o'}%s}",
                          trace_source_file("t.csv", text), more);
    while (trace.code == 0 && trace_source_request(&trace, &r) == 1)
        length += (size_t)snprintf(result + length, sizeof result - length, "%g ", sim_s_from_ns(r.arrival_ns));
    if (trace.message[0] != 0) snprintf(result, sizeof result, "%s", strstr(trace.message, "error: "));
    return result;
}

TEST(the_first_row_shows_delimiter_and_unit)
{
    const char *const zones = "# by hand\nt;p;o\n2024-03-01T00:00:01+01:00;9;2\n2024-02-29T23:00:01.250Z;9;2\n";
    CHECK_EQ_STR(arrivals_of("", zones), "0 0.25 ");
    CHECK_EQ_STR(arrivals_of(", 'time_unit': 'timestamp', 'delimiter': 'semicolon'", zones), "0 0.25 ");
    CHECK_EQ_STR(arrivals_of("", "t|p|o\n5|9|2\n7.5|9|2\n"), "5 7.5 ");
    CHECK_EQ_STR(arrivals_of(", 'origin': 'first'", "t\tp\to\n5\t9\t2\n7.5\t9\t2\n"), "0 2.5 ");
    CHECK_EQ_STR(arrivals_of(", 'time_unit': 'ms'", "o p t\n2 9 5000\n2 9 7000\n"), "5 7 ");
    CHECK_EQ_STR(arrivals_of(", 'sort': true", "t,p,o\n20240301T000100Z,9,2\n20240301T000000Z,9,2\n"), "0 60 ");
}

#define FIX_ROW "; correct the row, or let \"allow_bad_rows\" leave such rows out"

TEST(one_unit_holds_for_the_whole_table)
{
    CHECK_EQ_STR(arrivals_of("", "t,p,o\n5,9,2\n2024-03-01T00:01:00Z,9,2\n"),
                 "error: 't' must be a number of seconds, got '2024-03-01T00:01:00Z'" FIX_ROW);
    CHECK_EQ_STR(arrivals_of("", "t,p,o\n2024-03-01T00:01:00Z,9,2\n5,9,2\n"),
                 "error: 't' must be a time such as 2023-11-16 18:15:46.68, got '5'" FIX_ROW);
    CHECK_EQ_STR(arrivals_of("", "t,p,o\nnow,9,2\n"),
                 "error: 't' must be a number of seconds or a time such as 2023-11-16T18:15:46Z, got 'now'" FIX_ROW);
    CHECK_EQ_STR(arrivals_of(", 'allow_bad_rows': 1", "t,p,o\nnow,9,2\n2024-03-01,9,2\n"), "0 ");
}

TEST(tables_of_jobs_have_calendar_times_too)
{
    const char *path = trace_source_file("j.csv", "submit_s;duration_s;gpus\n# two\n2024-03-01 08:00;60;4\n"
                                                  "2024-03-01T09:00+01:00;30;1\n");
    SCOPED(trace_source) trace = {0};
    struct job_record job;
    MUST(trace_source_jobs(&trace, 1, "{'format': 'csv-jobs', 'path': '%s'}", path) == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.submit_ns == 0 && job.duration_ns == 60 * SIM_NS_PER_S && job.gpus == 4);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.submit_ns == 0 && job.gpus == 1);
}

TEST(burstgpt_failures_are_a_choice)
{
    const char *path = trace_source_file("burst.csv",
                                         "Timestamp,Session ID,Model,Request tokens,Response tokens,Total tokens,"
                                         "Log Type\n5,,ChatGPT,472,18,490,Conversation log\n"
                                         "45,,GPT-4,1087,0,1087,API log\n1106.0,,ChatGPT,0,0,0,API log\n"
                                         "1129,,GPT-4,417,276,693,API log\n");
    SCOPED(trace_source) trace = {0};
    struct request_record r;
    MUST(trace_source_requests(&trace, 1, "{'format': 'burstgpt', 'path': '%s'}", path) == 0);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 1);
    CHECK(r.id == 0 && r.arrival_ns == 5 * SIM_NS_PER_S && r.prompt_tokens == 472 && r.output_tokens == 18);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 1);
    CHECK(r.id == 3 && r.arrival_ns == 1129 * SIM_NS_PER_S);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 0);
    CHECK_EQ_INT(trace_source_note(&trace, "failed-request"), 1);
    CHECK_EQ_INT(trace_source_note(&trace, "no-prompt"), 1);
    trace_source_fini(&trace);
    MUST(trace_source_requests(&trace, 1, "{'format': 'burstgpt', 'path': '%s', 'failed': 'prefill', 'model': 'GPT-4'}",
                               path) == 0);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 1);
    CHECK(r.id == 1 && r.prompt_tokens == 1087 && r.output_tokens == 1);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 1);
    CHECK_EQ_INT(trace_source_request(&trace, &r), 0);
    CHECK_EQ_INT(trace_source_note(&trace, "not-chosen"), 2);
}

/* --- classes --- */

/* The classes of the rows in order, each with a blank behind it; "-" for none. */
static const char *classes_of(const char *format, const char *path)
{
    static char text[256];
    SCOPED(trace_source) trace = {0};
    struct request_record r;
    size_t length = 0;
    text[0] = 0;
    trace_source_requests(&trace, 1, format, path);
    while (trace.code == 0 && trace_source_request(&trace, &r) == 1)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s ",
                                   r.class_name != NULL ? r.class_name : "-");
    const char *error = strstr(trace.message, "error: ");
    if (error != NULL) snprintf(text, sizeof text, "%s", error);
    return text;
}

#define CSV_HEAD "arrival_s,prompt_tokens,output_tokens"

TEST(tables_may_name_classes)
{
    const char *path = trace_source_file("c.csv", CSV_HEAD ",class,tier\n0,9,2,chat,a\n1,9,2,,b\n2,9,2,long chat,a\n"
                                                           "2,9,2,chat,NA\n");
    CHECK_EQ_STR(classes_of("{'format': 'csv', 'path': '%s'}", path), "chat default long-chat chat ");
    CHECK_EQ_STR(classes_of("{'format': 'csv', 'path': '%s', 'sort': true, 'columns': {'class': 'tier'}}", path),
                 "a b a NA ");
    CHECK_EQ_STR(classes_of("{'format': 'csv', 'path': '%s', 'columns': {'class': 'user'}}", path),
                 "error: no column 'user' in the header; the columns are " CSV_HEAD
                 ",class,tier; 'columns' names it, as --set columns.KEY=NAME");
    CHECK_EQ_STR(classes_of("{'format': 'csv', 'path': '%s'}", trace_source_file("n.csv", CSV_HEAD "\n0,9,2\n")), "- ");
    path = trace_source_file("h.csv", "0,9,2,x\n1,9,2,y\n");
    CHECK_EQ_STR(classes_of("{'format': 'csv', 'path': '%s', 'header': false, 'columns': {'arrival': '1', 'prompt': '2', "
                            "'output': '3'}}", path), "- - ");
    CHECK_EQ_STR(classes_of("{'format': 'csv', 'path': '%s', 'header': false, 'columns': {'arrival': '1', 'prompt': '2', "
                            "'output': '3', 'class': '4'}}", path), "x y ");
}

TEST(names_of_classes_are_names)
{
    CHECK_EQ_STR(classes_of("{'format': 'csv', 'path': '%s'}", trace_source_file("c.csv", CSV_HEAD ",class\n0,9,2,a/b\n")),
                 "error: 'class' must be a name of at most 64 letters, digits, '_', '.' and '-', got 'a/b'; correct the row, "
                 "or let \"allow_bad_rows\" leave such rows out");
    CHECK_EQ_STR(classes_of("{'format': 'csv', 'path': '%s', 'allow_bad_rows': 1}",
                            trace_source_file("c.csv", CSV_HEAD ",class\n0,9,2,a[0]\n1,9,2,b\n")),
                 "b ");
}

TEST(logs_and_public_traces_have_classes)
{
#define LOG_HEAD "id,arrival_s,prompt_tokens,output_tokens,ttft_s,e2e_s,class\n"
    const char *path = trace_source_file("l.csv", LOG_HEAD "0,5,9,2,0.1,0.2,batch\n1,6,9,2,0.1,0.2,\n");
    CHECK_EQ_STR(classes_of("{'format': 'request-log', 'path': '%s'}", path), "batch default ");
    path = trace_source_file("l.csv", LOG_HEAD "0,5,9,2,0.1,0.2,\n1,6,9,2,0.1,0.2,\n");
    CHECK_EQ_STR(classes_of("{'format': 'request-log', 'path': '%s'}", path), "- - ");
    path = trace_source_file("l.csv", LOG_HEAD "0,5,9,2,0.1,0.2,\n1,6,9,2,0.1,0.2,batch\n");
    CHECK_EQ_STR(classes_of("{'format': 'request-log', 'path': '%s'}", path),
                 "error: 'class' is empty in the first row, but not here; write 'default' in the rows before");
    path = trace_source_file("b.csv", "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                                      "5,ChatGPT,472,18,490,Conversation log\n1129,GPT-4,417,276,693,API log\n");
    CHECK_EQ_STR(classes_of("{'format': 'burstgpt', 'path': '%s'}", path), "- - ");
    CHECK_EQ_STR(classes_of("{'format': 'burstgpt', 'path': '%s', 'class': 'model'}", path), "ChatGPT GPT-4 ");
    CHECK_EQ_STR(classes_of("{'format': 'burstgpt', 'path': '%s', 'class': 'log-type'}", path),
                 "Conversation-log API-log ");
    path = trace_source_file("b.csv", "Timestamp,Request tokens,Response tokens\n5,472,18\n");
    CHECK_EQ_STR(classes_of("{'format': 'burstgpt', 'path': '%s', 'class': 'model'}", path),
                 "error: no column 'Model' in the header; the columns are Timestamp,Request tokens,Response tokens");
}

TEST(mooncake_lines_become_requests_with_blocks)
{
    const char *path = trace_source_file(
        "m.jsonl",
        "{\"timestamp\": 0, \"input_length\": 6758, \"output_length\": 500, \"hash_ids\": [0, 1, 2]}\n"
        "{\"extra\":{\"a\":[1,{}],\"b\":\"}\\\"\"}, \"output_length\":5,\"hash_ids\":[],\"x\":[ ],\"n\":null,"
        "\"input_length\":7,\"timestamp\":3000}\r\n"
        "{\"timestamp\":3000,\"input_length\":8,\"output_length\":6,\"hash_ids\":[9223372036854775807]}");
    SCOPED(trace_source) trace = {0};
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
}

/* --- job formats --- */

/* Each column has its own kind of times, and the note is at the first time of the other kind. */
TEST(zones_are_those_of_a_column)
{
    static const struct {
        const char *submits[2], *end, *place; /* place NULL: nothing is noted */
    } cases[] = {{{"2024-03-01 08:00", "2024-03-01 08:00"}, "2024-03-01 09:00Z", NULL},
                 {{"2024-03-01 08:00", "2024-03-01 08:00"}, "2024-03-01 09:00", "seren.csv:3:62"},
                 {{"2024-03-01 08:00", "2024-03-01 08:00Z"}, "2024-03-01 09:00Z", "seren.csv:3:27"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(
            text, sizeof text,
            "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time\n"
            "1,u,1,0,8,Other,COMPLETED,%s,2024-03-01 08:00Z,2024-03-01 09:00Z,,0,0\n"
            "2,u,1,0,8,Other,COMPLETED,%s,2024-03-01 08:00Z,%s,,0,0\n",
            cases[i].submits[0], cases[i].submits[1], cases[i].end);
        SCOPED(trace_source) trace = {0};
        struct job_record job;
        struct source_note note = {0};
        MUST(trace_source_jobs(&trace, 1, "{'format': 'acme', 'path': '%s'}", trace_source_file("seren.csv", text)) ==
             0);
        while (trace_source_job(&trace, &job) == 1) continue;
        CHECK_EQ_INT(trace.code, 0);
        CHECK_EQ_INT(trace_source_note(&trace, "mixed-zones"), cases[i].place != NULL);
        for (size_t k = 0; cases[i].place != NULL && trace.jobs->note(trace.jobs, k, &note); k++)
            if (strcmp(note.code, "mixed-zones") == 0) CHECK(strstr(note.where, cases[i].place) != NULL);
    }
}

TEST(acme_and_helios_logs_become_jobs)
{
    const char *acme = trace_source_file(
        "seren.csv",
        "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time\n"
        "dlc1,u1,2,16,64,Pretrain,COMPLETED,2023-03-01 00:10:00+08:00,2023-03-01 00:10:05+08:00,"
        "2023-03-01 01:10:05+08:00,3600,5,57600\n"
        "7,u2,1,0,8,Other,COMPLETED,2023-03-01 00:00:00+08:00,2023-03-01 00:00:00+08:00,"
        "2023-03-01 00:00:30+08:00,,0,0\n"
        "9,u2,1,8,8,Evaluation,CANCELLED,2023-03-01 00:00:10+08:00,NaT,2023-03-01 00:00:30+08:00,,20,0\n"
        "10,u2,1,8,8,Debug,CANCELLED by 1007,2023-03-01 00:20:00+08:00,,,9,,\n"
        "11,u2,1,8,8,Debug,NODE_FAIL,2023-03-01 00:20:01+08:00,,,9,,\n"
        "12,u2,1,8,8,Debug,HELD,2023-03-01 00:20:02+08:00,,,9,,\n");
    SCOPED(trace_source) trace = {0};
    struct job_record job;
    MUST(trace_source_jobs(&trace, 1, "{'format': 'acme', 'path': '%s'}", acme) == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 7 && job.submit_ns == 0 && job.duration_ns == 30 * SIM_NS_PER_S && job.gpus == 0 && job.nodes == 1);
    CHECK_EQ_STR(job.group, "Other");
    CHECK_EQ_STR(job.type, "Other");
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 0 && job.submit_ns == 600 * SIM_NS_PER_S && job.duration_ns == 3600 * SIM_NS_PER_S &&
          job.gpus == 16);
    CHECK_EQ_STR(job.user, "u1");
    CHECK_EQ_INT(job.status, JOB_COMPLETES);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK_EQ_INT(job.status, JOB_IS_CANCELLED);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK_EQ_INT(job.status, JOB_FAILS);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK_EQ_INT(job.status, JOB_COMPLETES);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 0);
    CHECK_EQ_INT(trace_source_note(&trace, "never-started"), 1);
    CHECK_EQ_INT(trace_source_note(&trace, "unknown-state"), 1);
    trace_source_fini(&trace);

    const char *helios = trace_source_file(
        "earth.csv", "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
                     "4,uA,vcX,8,8,1,FAILED,2020-04-01 00:00:08,2020-04-01 00:00:09,2020-04-01 00:00:19,10,1\n"
                     "5,uA,vcX,1,8,1,COMPLETED,2020-04-01 00:00:09,None,None,None,None\n");
    MUST(trace_source_jobs(&trace, 1, "{'format': 'helios', 'path': '%s'}", helios) == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 4 && job.gpus == 8 && job.duration_ns == 10 * SIM_NS_PER_S && job.nodes == 1);
    CHECK_EQ_STR(job.group, "vcX");
    CHECK_EQ_INT(job.status, JOB_FAILS);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 0);
    CHECK_EQ_INT(trace_source_note(&trace, "never-started"), 1);
}

TEST(alibaba_tables_become_jobs_with_shares)
{
    const char *openb = trace_source_file(
        "pods.csv",
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
        "p1,1,1,1,460,,LS,Running,427061,427100,427062\np0,1,1,8,1000,T4,BE,Pending,100,130,\n"
        "p2,1,1,0,0,,BE,Failed,500000,500001.0,500000\n");
    SCOPED(trace_source) trace = {0};
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
    trace_source_fini(&trace);

    const char *pai = trace_source_file("pai_task_table.csv",
                                        "j1,worker,4.0,Terminated,494935.0,495000.0,600.0,29.2,25.0,T4\n"
                                        "j2,tensorflow,2.0,Terminated,494930.0,494931.0,600.0,29.2,25.0,T4\n"
                                        "j3,ps,3.0,Failed,494940.0,494950.0,600.0,29.2,50.0,MISC\n"
                                        "j4,ps,1.0,Waiting,494940.0,,600.0,29.2,,\n"
                                        "j5,ps,1.0,Terminated,494950.0,494960.0,600.0,29.2,,\n");
    MUST(trace_source_jobs(&trace, 1, "{'format': 'pai', 'path': '%s'}", pai) == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 1 && job.submit_ns == 0 && job.duration_ns == SIM_NS_PER_S && job.gpus == 1 &&
          job.gpu_milli == 500);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 0 && job.submit_ns == 5 * SIM_NS_PER_S && job.gpus == 1 && job.gpu_milli == 1000);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 2 && job.gpus == 2 && job.gpu_milli == 1000);
    CHECK_EQ_STR(job.group, "MISC");
    CHECK_EQ_INT(job.status, JOB_FAILS);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 4 && job.gpus == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 0);
    CHECK_EQ_INT(trace_source_note(&trace, "no-run-time"), 1);
}

TEST(swf_lines_become_jobs)
{
    const char *swf = trace_source_file("log.swf", "; UnixStartTime: 837504000\n;\n"
                                                   "  1    0  13  1451 128  -1 -1  64 3600 -1 1  9 1 -1 3 -1 -1 -1\n"
                                                   "  2   20  -1    -1  16  -1 -1  16   60 -1 5 10 1 -1 3 -1 -1 -1\n"
                                                   "  3   30   5    10   4  -1 -1  -1   -1 -1 0 -1 1 -1 -1 -1 -1 -1\n"
                                                   "  4   30   5    10  -1  -1 -1  -1   -1 -1 0 10 1 -1 4 -1 -1 -1\n");
    SCOPED(trace_source) trace = {0};
    struct job_record job;
    MUST(trace_source_jobs(&trace, 1, "{'format': 'swf', 'path': '%s'}", swf) == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 1 && job.submit_ns == 0 && job.duration_ns == 1451 * SIM_NS_PER_S && job.gpus == 64 &&
          job.estimate_ns == 3600 * SIM_NS_PER_S);
    CHECK_EQ_STR(job.group, "3");
    CHECK_EQ_STR(job.user, "9");
    CHECK_EQ_INT(job.status, JOB_COMPLETES);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 3 && job.submit_ns == 30 * SIM_NS_PER_S && job.gpus == 4 && job.estimate_ns == job.duration_ns);
    CHECK(job.group[0] == '\0' && job.user[0] == '\0'); /* not known */
    CHECK_EQ_INT(job.status, JOB_FAILS);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 0);
    CHECK_EQ_INT(trace_source_note(&trace, "no-run-time"), 1);
    CHECK_EQ_INT(trace_source_note(&trace, "no-processors"), 1);
}

TEST(philly_rows_are_sorted)
{
    const char *path = trace_source_file("philly.csv", "timestamp,duration,num_gpus,gpu_time,virtual_cluster\n"
                                                       "2030-10-09 07:01:55,61.0,1,61.0,abc123\n"
                                                       "2030-10-09 06:13:03,2900.0,8,2900.0,def456\n"
                                                       "2030-10-09 06:13:03,2700.5,0,2700.0,def456\n");
    SCOPED(trace_source) trace = {0};
    struct job_record a, b, c;
    MUST(trace_source_jobs(&trace, 1, "{'format': 'philly', 'path': '%s'}", path) == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &a), 1);
    CHECK_EQ_INT(trace_source_job(&trace, &b), 1);
    CHECK_EQ_INT(trace_source_job(&trace, &c), 1);
    CHECK(a.id == 1 && a.submit_ns == 0 && a.duration_ns == 2900 * SIM_NS_PER_S && a.gpus == 8);
    CHECK(a.estimate_ns == a.duration_ns && a.gpu_milli == 1000 && a.nodes == 0);
    CHECK_EQ_STR(a.group, "def456");
    CHECK_EQ_STR(a.user, "");
    CHECK(b.id == 2 && b.submit_ns == 0 && b.duration_ns == 2700500000000 && b.gpus == 0 && b.group == a.group);
    CHECK(c.id == 0 && c.submit_ns == 2932 * SIM_NS_PER_S);
    CHECK_EQ_INT(trace_source_job(&trace, &a), 0);
    trace_source_fini(&trace);
    MUST(trace_source_jobs(&trace, 1, "{'format': 'philly', 'path': '%s', 'cpu_jobs': false}", path) == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &a), 1);
    CHECK_EQ_INT(trace_source_job(&trace, &c), 1);
    CHECK_EQ_INT(trace_source_job(&trace, &b), 0);
    CHECK_EQ_INT(trace_source_note(&trace, "cpu-job"), 1);
}

TEST(any_table_of_jobs_can_be_named)
{
    const char *tiresias = trace_source_file("jobs.csv",
                                             "job_id,submit_s,num_gpus,duration_s\n40,13,8,1197\n41,54,4,706\n");
    SCOPED(trace_source) trace = {0};
    struct job_record job;
    MUST(trace_source_jobs(&trace, 1, "{'format': 'csv-jobs', 'path': '%s', 'columns': {'gpus': 'num_gpus'}}",
                           tiresias) == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 40 && job.submit_ns == 13 * SIM_NS_PER_S && job.gpus == 8 &&
          job.duration_ns == 1197 * SIM_NS_PER_S && job.estimate_ns == job.duration_ns);
    trace_source_fini(&trace);

    const char *full = trace_source_file("full.csv",
                                         "submit_s,duration_s,gpus,job_id,nodes,gpu_milli,estimate_s,group,user\n"
                                         "1,2,1,,3,250,4,a,u1\n1,2,2,9,NA,250,,b,u1\n");
    struct job_record second;
    MUST(trace_source_jobs(&trace, 1, "{'format': 'csv-jobs', 'path': '%s', 'duration_unit': 'min', 'origin': 'first'}",
                           full) == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.id == 0 && job.submit_ns == 0 && job.duration_ns == 120 * SIM_NS_PER_S && job.nodes == 3 &&
          job.gpu_milli == 250 && job.estimate_ns == 240 * SIM_NS_PER_S);
    CHECK_EQ_INT(trace_source_job(&trace, &second), 1);
    CHECK(second.id == 9 && second.nodes == 0 && second.gpu_milli == 1000 && second.estimate_ns == second.duration_ns);
    CHECK_EQ_STR(second.group, "b");
    CHECK(second.user == job.user && job.gpu_models == NULL);
}

/* Fields of sacct: resources, jobs that never started, time limits that are none. */
TEST(a_table_of_slurm_is_read_as_it_is)
{
    const char *path = trace_source_file(
        "sacct.txt", "JobIDRaw|Submit|ElapsedRaw|TimelimitRaw|State|AllocTRES\n"
                     "1|2026-03-01T20:00:00|60|240|COMPLETED|cpu=64,gres/gpu:a100=8,gres/gpu=8,node=1\n"
                     "2|2026-03-01T20:00:01|60|UNLIMITED|TIMEOUT|gres/gpu:a100=2,gres/gpu:v100=3,cpu=8\n"
                     "3|2026-03-01T20:00:02|0|60|CANCELLED by 7|\n"
                     "4|2026-03-01T20:00:03|9|Partition_Limit|COMPLETED|billing=8,cpu=8,gres/gpumem=4\n");
    static const int gpus[] = {8, 5, 0};
    static const int64_t ids[] = {1, 2, 4}, estimates_s[] = {240 * 60, 60, 9};
    SCOPED(trace_source) trace = {0};
    MUST(trace_source_jobs(&trace, 1,
                           "{'format': 'csv-jobs', 'path': '%s', 'estimate_unit': 'min', 'columns': {'id':"
                           " 'JobIDRaw', 'submit': 'Submit', 'duration': 'ElapsedRaw', 'gpus': 'AllocTRES',"
                           " 'estimate': 'TimelimitRaw', 'fate': 'State'}}",
                           path) == 0);
    for (size_t i = 0; i < 3; i++) {
        struct job_record job;
        CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
        CHECK_EQ_INT(job.id, ids[i]);
        CHECK_EQ_INT(job.gpus, gpus[i]);
        CHECK_EQ_INT(job.estimate_ns, estimates_s[i] * SIM_NS_PER_S);
    }
    struct job_record none;
    CHECK_EQ_INT(trace_source_job(&trace, &none), 0);
    CHECK_EQ_INT(trace_source_note(&trace, "never-ran"), 1);
    CHECK_EQ_INT(trace_source_note(&trace, "no-limit"), 2);
}

/* What is no list of resources is no job without GPUs. */
TEST(a_text_with_an_equals_sign_is_no_list_of_resources)
{
    static const char *const texts[] = {"ngpus=4", "gpu=8,cpu=4", "=", "cpu=4,=8", "gres/gpu=x", "cpu=4,gpus"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        SCOPED(trace_source) trace = {0};
        struct job_record job;
        char text[200];
        snprintf(text, sizeof text, "submit_s;duration_s;gpus\n1;2;%s\n", texts[i]);
        MUST(trace_source_jobs(&trace, 1, "{'format': 'csv-jobs', 'path': '%s'}", trace_source_file("bad.csv", text)) ==
             0);
        CHECK_EQ_INT(trace_source_job(&trace, &job), SIM_E_DATA);
    }
}

TEST(a_table_of_jobs_names_gpu_models)
{
    const char *path = trace_source_file("models.csv",
                                         "submit_s,duration_s,gpus,gpu_models,kind\n1,2,1,V100|A100,T4\n2,2,1,,\n");
    SCOPED(trace_source) trace = {0};
    struct job_record job;
    MUST(trace_source_jobs(&trace, 1, "{'format': 'csv-jobs', 'path': '%s'}", path) == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK_EQ_STR(job.gpu_models, "V100|A100");
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK(job.gpu_models == NULL);
    trace_source_fini(&trace);
    MUST(trace_source_jobs(&trace, 1, "{'format': 'csv-jobs', 'path': '%s', 'columns': {'gpu_models': 'kind'}}",
                           path) == 0);
    CHECK_EQ_INT(trace_source_job(&trace, &job), 1);
    CHECK_EQ_STR(job.gpu_models, "T4");
}

/* --- registry --- */

TEST(formats_have_one_open_function_and_unique_names)
{
    for (size_t i = 0; i < trace_format_count(); i++) {
        const struct trace_format *format = trace_format_at(i);
        CHECK((format->open_requests != NULL) != (format->open_jobs != NULL));
        CHECK(format->summary[0] != 0 && format->params != NULL && format->params_bytes > 0);
        CHECK(trace_format_find(format->name) == format);
        const struct public_trace *published = &format->published;
        CHECK((published->path == NULL && published->licence == NULL) || published->address != NULL);
        if (published->address == NULL) continue;
        CHECK(strncmp(published->address, "https://", 8) == 0 && format->source != NULL);
        CHECK(format->header != NULL || format->members != NULL || format->first_row != NULL); /* they are recognised */
    }
    CHECK(trace_format_find("nope") == NULL);
    struct config_alternative alternative;
    CHECK(!trace_alternative(NULL, "batching", 0, &alternative));
    size_t n = 0;
    while (trace_alternative(NULL, "request-trace", n, &alternative)) n++;
    CHECK(n > 0 && n < trace_format_count());
}

/* Prompts of one length are never longer than an earlier one: no session goes on, and the trace says so. */
TEST(sessions_that_cannot_go_on_are_told)
{
    static const struct {
        const char *keys;
        bool is_told;
    } cases[] = {{"'prompt': {'distribution': 'fixed', 'tokens': 600}, 'sessions': {'continue': 0.8}", true},
                 {"'prompt': {'distribution': 'fixed', 'tokens': 600}, 'sessions': {'continue': 0}", false},
                 {"'prompt': {'distribution': 'uniform', 'min': 1, 'max': 9000}, 'sessions': {'continue': 0.8}", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(trace_source) trace = {0};
        struct request_record r;
        MUST(trace_source_requests(&trace, 1,
                                   "{'format': 'generate', 'count': 200, 'arrival': {'process': 'poisson', 'rate':"
                                   " '1/s'}, %s}",
                                   cases[i].keys) == 0);
        while (trace_source_request(&trace, &r) == 1) continue;
        const int64_t n_told = trace_source_note(&trace, "not-continued");
        CHECK(cases[i].is_told ? n_told > 130 && n_told < 190 : n_told == 0);
    }
}
