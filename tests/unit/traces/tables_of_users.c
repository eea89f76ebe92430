/* Tables as users and Slurm write them: rows wider than their header, ids and states of other kinds, two units. */
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"

#define HEADER "submit_s,duration_s,gpus,job_id,estimate_s,fate\n"

/* Opens jobs of a table; `keys` begin with a comma. */
static int open_jobs(struct trace_source *trace, const char *rows, const char *keys)
{
    char text[1024];
    snprintf(text, sizeof text, HEADER "%s", rows);
    return trace_source_jobs(trace, 1, "{'format': 'csv-jobs', 'path': '%s'%s}", trace_source_file("t.csv", text),
                             keys);
}

/* A comma in a number makes a field too many. What is empty beyond the header is no field. */
TEST(rows_wider_than_their_header_are_wrong)
{
    static const struct {
        const char *text;
        int code;
    } cases[] = {{"arrival_s,prompt_tokens,output_tokens\n1,1,200,5\n", SIM_E_DATA},
                 {"arrival_s,prompt_tokens,output_tokens\n1,\"1\",5\n", 0},
                 {"arrival_s,prompt_tokens,output_tokens\n1,1,5,,\n", 0},
                 {"arrival_s,prompt_tokens,output_tokens,x\n1,1,5,7\n", 0},
                 {"arrival_s,prompt_tokens,output_tokens\n1,1,5\n2,1,5,0\n", SIM_E_DATA}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(trace_source) trace = {0};
        MUST(trace_source_requests(&trace, 1, "{'format': 'csv', 'path': '%s'}",
                                   trace_source_file("w.csv", cases[i].text)) == 0);
        CHECK_EQ_INT(trace_source_totals(&trace).code, cases[i].code);
        if (cases[i].code != 0) CHECK(strstr(trace.message, "row has 4 fields, but the header has 3") != NULL);
    }
    SCOPED(trace_source) bare = {0};
    MUST(trace_source_requests(&bare, 1,
                               "{'format': 'csv', 'path': '%s', 'header': false, 'columns': {'arrival': '1',"
                               " 'prompt': '2', 'output': '3'}}",
                               trace_source_file("b.csv", "1,1,5,9\n")) == 0);
    CHECK_EQ_INT(trace_source_totals(&bare).code, 0); /* nothing says how wide rows are */
}

TEST(ids_that_are_no_numbers_are_told)
{
    SCOPED(trace_source) steps = {0}, numbers = {0};
    struct job_record job;
    MUST(open_jobs(&steps, "0,1,1,1000,,\n0,1,1,1000.batch,,\n0,1,1,1001_7,,\n0,1,1,,,\n", "") == 0);
    for (int64_t i = 0; i < 4; i++) CHECK(trace_source_job(&steps, &job) == 1 && job.id == (i == 0 ? 1000 : i));
    CHECK_EQ_INT(trace_source_job(&steps, &job), 0);
    CHECK_EQ_INT(trace_source_note(&steps, "row-number"), 2);
    MUST(open_jobs(&numbers, "0,1,1,7,,\n0,1,1,,,\n", "") == 0);
    while (trace_source_job(&numbers, &job) == 1) continue;
    CHECK_EQ_INT(trace_source_note(&numbers, "row-number"), 0);
}

TEST(states_of_slurm_are_known)
{
    static const struct {
        const char *state;
        enum job_status status;
        bool is_known;
    } cases[] = {{"COMPLETED", JOB_COMPLETES, true},  {"completed", JOB_COMPLETES, true},
                 {"FAILED", JOB_FAILS, true},         {"Failed", JOB_FAILS, true},
                 {"TIMEOUT", JOB_FAILS, true},        {"OUT_OF_MEMORY", JOB_FAILS, true},
                 {"NODE_FAIL", JOB_FAILS, true},      {"CANCELLED by 1001", JOB_IS_CANCELLED, true},
                 {"PREEMPTED", JOB_IS_CANCELLED, true}, {"RUNNING", JOB_COMPLETES, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char row[128];
        SCOPED(trace_source) trace = {0};
        struct job_record job;
        snprintf(row, sizeof row, "0,1,1,,,%s\n", cases[i].state);
        MUST(open_jobs(&trace, row, "") == 0 && trace_source_job(&trace, &job) == 1);
        CHECK_EQ_INT(job.status, cases[i].status);
        CHECK_EQ_INT(trace_source_job(&trace, &job), 0);
        CHECK_EQ_INT(trace_source_note(&trace, "unknown-state"), !cases[i].is_known);
    }
}

TEST(estimates_may_have_a_unit_of_their_own)
{
    static const struct {
        const char *keys;
        sim_ns duration_s, estimate_s;
    } cases[] = {{"", 30, 2},
                 {", 'duration_unit': 'min'", 1800, 120},
                 {", 'estimate_unit': 'min'", 30, 120},
                 {", 'duration_unit': 'h', 'estimate_unit': 's'", 108000, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(trace_source) trace = {0};
        struct job_record job;
        MUST(open_jobs(&trace, "0,30,1,,2,\n", cases[i].keys) == 0 && trace_source_job(&trace, &job) == 1);
        CHECK_EQ_INT(job.duration_ns, cases[i].duration_s * SIM_NS_PER_S);
        CHECK_EQ_INT(job.estimate_ns, cases[i].estimate_s * SIM_NS_PER_S);
    }
}
