/* The library behind `orrery trace check|stat|convert`. */
#include "sim/core/output.h"
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"
#include "traces/convert.h"
#include "traces/check.h"
#include "traces/stat.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *read_file(const char *path)
{
    static char text[4096];
    FILE *file = fopen(path, "rb");
    size_t n = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL) fclose(file);
    text[n] = 0;
    return text;
}

/* --- check --- */

TEST(a_check_reports_every_bad_row)
{
    const char *path = trace_source_file("azure.csv",
                                         "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,1,1\n"
                                         "2023-11-16 18:15:47,x,1\n2023-11-16 18:15:48,1,1\n"
                                         "2023-11-16 18:15:40,1,1\n2023-11-16 18:15:58,1,1\n");
    SCOPED(trace_source) trace = {0};
    struct trace_check check;
    MUST(trace_source_requests(&trace, 1, "{'format': 'azure-llm', 'path': '%s'}", path) == 0);
    CHECK_EQ_INT(trace_check_requests(trace.requests, &check, &trace.diag), SIM_E_DATA);
    CHECK(check.n_rows == 5 && check.n_records == 3 && check.n_bad_rows == 2 && trace.diag.n_errors == 2);
    CHECK(check.first_ns == 0 && check.last_ns == 12 * SIM_NS_PER_S);
}

/* Tokens are those of all records that are read, right rows only. */
TEST(a_check_sums_up_the_tokens)
{
    static const char rows[] = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,7,2\n"
                               "2023-11-16 18:15:47,x,1\n2023-11-16 18:15:48,20,5\n2023-11-16 18:15:58,100,30\n";
    const char *path = trace_source_file("azure.csv", rows);
    SCOPED(trace_source) trace = {0};
    struct trace_check check;
    MUST(trace_source_requests(&trace, 1, "{'format': 'azure-llm', 'path': '%s'}", path) == 0);
    CHECK_EQ_INT(trace_check_requests(trace.requests, &check, &trace.diag), SIM_E_DATA);
    CHECK_EQ_INT(check.prompt_tokens, 127);
    CHECK_EQ_INT(check.output_tokens, 37);
    CHECK_EQ_INT(check.n_rows, 4);
    CHECK_EQ_INT(check.n_records, 3);
    CHECK_EQ_INT(check.n_bad_rows, 1);
}

static void check_rows(const char *rows, int n_errors, const char *first)
{
    char text[512];
    struct trace_check check;
    SCOPED(trace_source) trace = {0};
    snprintf(text, sizeof text, "arrival_s,prompt_tokens,output_tokens\n%s", rows);
    const char *path = trace_source_file("rows.csv", text);
    MUST(trace_source_requests(&trace, 1, "{'format': 'csv', 'path': '%s'}", path) == 0);
    CHECK_EQ_INT(trace_check_requests(trace.requests, &check, &trace.diag), SIM_E_DATA);
    CHECK_EQ_INT(trace.diag.n_errors, n_errors);
    CHECK_EQ_STR(trace.diag.items[0].text, first);
}

/* No row is right: each kind of error once. A row is right: each error. */
TEST(rows_that_are_wrong_in_one_way_are_one_finding)
{
    static const char first[] = "'output_tokens' must be a whole number, got 'x'";
    check_rows("0,1,x\n1,1,y\n2,1,z\n", 1, "'output_tokens' must be a whole number, got 'x'; 3 rows are like this");
    check_rows("0,1,x\n1,y,1\n2,1,z\n", 2, "'output_tokens' must be a whole number, got 'x'; 2 rows are like this");
    check_rows("0,1,x\n1,1,1\n2,1,z\n", 2, first);
}

TEST(a_check_of_a_sound_trace_is_quiet)
{
    SCOPED(trace_source) trace = {0};
    struct trace_check check;
    MUST(trace_source_jobs(&trace, 1, "{'format': 'generate-jobs', 'mix': 'kalos', 'count': 500}") == 0);
    CHECK_EQ_INT(trace_check_jobs(trace.jobs, &check, &trace.diag), 0);
    CHECK(check.n_records == 500 && check.n_bad_rows == 0 && trace.diag.n_items == 0);
}

/* --- stat --- */

TEST(statistics_of_a_small_trace)
{
    const char *path = trace_source_file("t.csv",
                                         "arrival_s,prompt_tokens,output_tokens\n0.5,10,4\n1.5,20,3\n1.75,30,2\n"
                                         "4.5,40,1\n25.5,50,1\n");
    SCOPED(trace_source) trace = {0};
    struct trace_stat stat;
    MUST(trace_source_requests(&trace, 1, "{'format': 'csv', 'path': '%s'}", path) == 0);
    CHECK_EQ_INT(trace_stat_requests(trace.requests, &stat, &trace.diag), 0);
    CHECK_EQ_INT(stat.n, 5);
    CHECK_NEAR(stat.span_s, 25, 0);
    CHECK_NEAR(stat.rate_per_s, 4.0 / 25, 1e-15);
    /* gaps 1, .25, 2.75, 21: mean 6.25, sum of squares 449.625 */
    CHECK_NEAR(stat.gap_cv, sqrt((449.625 - 4 * 6.25 * 6.25) / 3) / 6.25, 1e-12);
    /* windows of 10 s: 4, 0 and the last, cut one; of 1 s: 1,2,0,0,1 and 20 times 0 */
    CHECK_NEAR(stat.idc[1], 4.0 / 2, 1e-12);
    CHECK_NEAR(stat.idc[0], (6 - 16.0 / 25) / 25 / (4.0 / 25), 1e-12);
    CHECK(isnan(stat.idc[2]) && isnan(stat.idc[3]));
    CHECK_NEAR(stat.prompt_tokens.mean, 30, 1e-12);
    CHECK_NEAR(stat.prompt_tokens.cv, sqrt(250) / 30, 1e-12);
    CHECK(stat.prompt_tokens.min == 10 && stat.prompt_tokens.max == 50);
    CHECK(stat.prompt_tokens.quantiles[0] == 10 && stat.prompt_tokens.quantiles[2] == 30 &&
          stat.prompt_tokens.quantiles[3] == 40 && stat.prompt_tokens.quantiles[6] == 50);
    CHECK(stat.prompt_tokens_sum == 150 && stat.output_tokens_sum == 11);
    /* ranks 0 1 2 3 4 against 4 3 2 .5 .5 */
    CHECK_NEAR(stat.rank_correlation, -9.5 / sqrt(10 * 9.5), 1e-12);
}

TEST(statistics_of_jobs_count_shares_and_gpu_time)
{
    const char *path = trace_source_file("j.csv", "submit_s,duration_s,gpus,gpu_milli\n0,10,1,500\n1,20,4,\n2,30,0,\n");
    SCOPED(trace_source) trace = {0};
    struct trace_stat stat;
    MUST(trace_source_jobs(&trace, 1, "{'format': 'csv-jobs', 'path': '%s'}", path) == 0);
    CHECK_EQ_INT(trace_stat_jobs(trace.jobs, &stat, &trace.diag), 0);
    CHECK_NEAR(stat.gpu_s, 85, 1e-12);
    CHECK_NEAR(stat.gpus.mean, 1.5, 1e-12);
    CHECK_EQ_INT(stat.n_cpu_jobs, 1);
    CHECK_NEAR(stat.duration_s.quantiles[2], 20, 0);
}

TEST(a_trace_beyond_the_sample_has_the_same_statistics)
{
    SCOPED(trace_source) trace = {0};
    struct trace_stat stat;
    enum { COUNT = 400000 };
    MUST(trace_source_requests(&trace, 1,
                               "{'format': 'generate', 'count': %d, 'arrival': {'process': 'poisson', 'rate': '10/s'},"
                               " 'prompt': {'distribution': 'uniform', 'min': 1, 'max': 1000}}",
                               COUNT) == 0);
    CHECK_EQ_INT(trace_stat_requests(trace.requests, &stat, &trace.diag), 0);
    for (int i = 0; i < TRACE_STAT_QUANTILES; i++) {
        double frac = trace_stat_quantile_frac[i];
        CHECK_NEAR(stat.prompt_tokens.quantiles[i], 1000 * frac,
                   1 + 4500 * sqrt(frac * (1 - frac) / TRACE_STAT_SAMPLE));
    }
    CHECK_NEAR(stat.gap_cv, 1, 4.5 * sqrt(2.0 / COUNT));
    for (int i = 0; i < TRACE_STAT_WINDOWS; i++) {
        CHECK_NEAR(stat.idc[i], 1, 4.5 * sqrt(2 * trace_stat_window_s[i] / stat.span_s));
    }
    CHECK_NEAR(stat.rank_correlation, 0, 4.5 / sqrt(TRACE_STAT_SAMPLE));
}

TEST(azure_statistics_are_the_known_ones)
{
    static const double prompt[] = {181, 396, 1020, 1189, 2735, 4083, 4142},
                        output[] = {41, 85, 129, 395, 424, 451, 601};
    static const double idc[] = {1.39, 3.86, 16.1, 56.1};
    const char *path = test_shared("request_traces/azure_llm_2023_conversation.csv");
    if (path == NULL) return;
    SCOPED(trace_source) trace = {0};
    struct trace_stat stat;
    MUST(trace_source_requests(&trace, 1, "{'format': 'azure-llm', 'path': '%s'}", path) == 0);
    CHECK_EQ_INT(trace_stat_requests(trace.requests, &stat, &trace.diag), 0);
    for (int i = 0; i < TRACE_STAT_QUANTILES; i++) {
        CHECK_NEAR(stat.prompt_tokens.quantiles[i], prompt[i], 0);
        CHECK_NEAR(stat.output_tokens.quantiles[i], output[i], 0);
    }
    for (int i = 0; i < TRACE_STAT_WINDOWS; i++) CHECK_NEAR(stat.idc[i], idc[i], 0.02 * idc[i]);
    CHECK_NEAR(stat.span_s, 3501.721937, 1e-9);
    CHECK_NEAR(stat.rate_per_s, 5.53, 0.005);
    CHECK_NEAR(stat.gap_cv, 1.09, 0.005);
    CHECK_NEAR(stat.prompt_tokens.cv, 0.96, 0.005);
    CHECK_NEAR(stat.output_tokens.cv, 0.77, 0.005);
    CHECK_NEAR(stat.rank_correlation, 0.07, 0.005);
}

/* --- convert --- */

static int convert_requests(struct trace_source *trace, const char *writer, const char *path, int64_t *n)
{
    return trace_convert_requests(trace->requests, trace_writer_find(writer), path, n, &trace->diag);
}

TEST(records_are_written_in_every_form)
{
    const char *path = trace_source_file("m.jsonl",
                                         "{\"timestamp\": 500, \"input_length\": 600, \"output_length\": 5,"
                                         " \"hash_ids\": [7, 8]}\n"
                                         "{\"timestamp\": 90061001, \"input_length\": 7, \"output_length\": 1}\n");
    static const struct {
        const char *writer, *text;
    } cases[] = {{"csv", "arrival_s,prompt_tokens,output_tokens,prefix_blocks\n0.5,600,5,7 8\n90061.001,7,1,\n"},
                 {"azure-llm", "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-01-01 00:00:00.5000000,600,5\n"
                               "2024-01-02 01:01:01.0010000,7,1\n"},
                 {"mooncake",
                  "{\"timestamp\": 500, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [7, 8]}\n"
                  "{\"timestamp\": 90061001, \"input_length\": 7, \"output_length\": 1, \"hash_ids\": []}\n"}};
    char to[512];
    snprintf(to, sizeof to, "%s/out.csv", test_tmpdir());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(trace_source) trace = {0};
        int64_t n = 0;
        MUST(trace_source_requests(&trace, 1, "{'format': 'mooncake', 'path': '%s'}", path) == 0);
        CHECK_EQ_INT(convert_requests(&trace, cases[i].writer, to, &n), 0);
        CHECK_EQ_INT(n, 2);
        CHECK_EQ_STR(read_file(to), cases[i].text);
    }
}

TEST(jobs_are_written_in_every_form)
{
    const char *path = trace_source_file(
        "j.csv", "submit_s,duration_s,gpus,job_id,nodes,gpu_milli,estimate_s,group,user,type,fate,gpu_models,cpu_milli,"
                 "memory_bytes\n0.25,10,1,5,2,500,60,\"a,b\"\"c\",u,sft,failed,V100|A100,1500,7\n"
                 "3661,20.5,4,9,,,,,,,,,,\n");
    static const struct {
        const char *writer, *text;
    } cases[] = {
        {"csv-jobs",
         "job_id,submit_s,duration_s,gpus,nodes,gpu_milli,estimate_s,group,user,type,fate,gpu_models,cpu_milli,"
         "memory_bytes\n5,0.25,10,1,2,500,60,\"a,b\"\"c\",u,sft,failed,V100|A100,1500,7\n"
         "9,3661,20.5,4,0,1000,20.5,,,,completed,,,\n"},
        {"philly", "timestamp,duration,num_gpus,gpu_time,virtual_cluster\n"
                   "2024-01-01 00:00:00,10.0,1,10.0,\"a,b\"\"c\"\n2024-01-01 01:01:01,20.0,4,80.0,\n"}};
    char to[512];
    snprintf(to, sizeof to, "%s/out.csv", test_tmpdir());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(trace_source) trace = {0};
        int64_t n = 0;
        MUST(trace_source_jobs(&trace, 1, "{'format': 'csv-jobs', 'path': '%s'}", path) == 0);
        CHECK_EQ_INT(trace_convert_jobs(trace.jobs, trace_writer_find(cases[i].writer), to, &n, &trace.diag), 0);
        CHECK_EQ_STR(read_file(to), cases[i].text);
    }
}

static bool same_request(const struct request_record *a, const struct request_record *b)
{
    return a->id == b->id && a->arrival_ns == b->arrival_ns && a->prompt_tokens == b->prompt_tokens &&
           a->output_tokens == b->output_tokens && a->n_prefix_blocks == b->n_prefix_blocks &&
           (a->n_prefix_blocks == 0 ||
            memcmp(a->prefix_blocks, b->prefix_blocks, (size_t)a->n_prefix_blocks * sizeof *a->prefix_blocks) == 0);
}

static bool same_chunks(const struct request_record *a, const struct request_record *b)
{
    bool same = a->n_chunks == b->n_chunks;
    for (int32_t i = 0; same && i < a->n_chunks; i++)
        same = a->chunks[i].id == b->chunks[i].id && a->chunks[i].tokens == b->chunks[i].tokens;
    return same;
}

TEST(what_was_written_reads_back_the_same)
{
    static const char *const files[] = {"requests.csv", "requests.csv.gz", "requests.jsonl"};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        for (size_t i = 0; i < 3; i++) {
            const char *const format = i < 2 ? "csv" : "jsonl"; /* also the writer's name */
            struct trace_source made, read;
            struct request_record a, b;
            int64_t n = 0;
            char path[512];
            snprintf(path, sizeof path, "%s/%s", test_tmpdir(), files[i]);
            const char *what = "{'format': 'generate', 'mix': 'mooncake-conversation', 'count': 3000,"
                               " 'sessions': {'continue': 0.4}}";
            MUST(trace_source_requests(&made, seed, "%s", what) == 0);
            CHECK_EQ_INT(convert_requests(&made, format, path, &n), 0);
            trace_source_fini(&made);
            MUST(trace_source_requests(&made, seed, "%s", what) == 0);
            MUST(trace_source_requests(&read, 1, "{'format': '%s', 'path': '%s'}", format, path) == 0);
            bool same = n == 3000;
            while (trace_source_request(&made, &a) == 1)
                same &= trace_source_request(&read, &b) == 1 && same_request(&a, &b);
            CHECK(same && trace_source_request(&read, &b) == 0);
            trace_source_fini(&made);
            trace_source_fini(&read);
        }
    }
}

/* Chunks come back from csv-chunks and jsonl, and not from csv. */
TEST(chunks_read_back_the_same)
{
    static const char *const what =
        "{'format': 'generate-rag', 'count': 300, 'block_tokens': 16, 'arrival': {'process': 'poisson', 'rate': '4/s'},"
        " 'corpus': 30, 'chunk': {'distribution': 'uniform', 'min': 1, 'max': 99}, 'question': {'distribution':"
        " 'uniform', 'min': 1, 'max': 9}, 'output': {'distribution': 'uniform', 'min': 1, 'max': 9}}";
    const char *const writers[] = {"csv-chunks", "csv", "jsonl"}, *const formats[] = {"csv", "csv", "jsonl"};
    for (int i = 0; i < 3; i++) {
        struct trace_source made, read;
        struct request_record a, b;
        int64_t n = 0, with_chunks = 0;
        char path[512];
        bool same = true;
        snprintf(path, sizeof path, "%s/chunks.csv", test_tmpdir());
        MUST(trace_source_requests(&made, 7, "%s", what) == 0);
        CHECK_EQ_INT(convert_requests(&made, writers[i], path, &n), 0);
        trace_source_fini(&made);
        MUST(trace_source_requests(&made, 7, "%s", what) == 0);
        MUST(trace_source_requests(&read, 1, "{'format': '%s', 'path': '%s'}", formats[i], path) == 0);
        while (trace_source_request(&made, &a) == 1) {
            same &= trace_source_request(&read, &b) == 1 && same_request(&a, &b) && (i == 1 || same_chunks(&a, &b));
            with_chunks += b.n_chunks == 6;
        }
        CHECK(same && trace_source_request(&read, &b) == 0);
        CHECK_EQ_INT(with_chunks, i != 1 ? 300 : 0);
        trace_source_fini(&made);
        trace_source_fini(&read);
    }
}

TEST(jobs_read_back_the_same)
{
    static const char *const mixes[] = {"seren", "kalos", "philly", "helios", "pai"};
    for (size_t i = 0; i < sizeof mixes / sizeof *mixes; i++) {
        struct trace_source made, read;
        struct job_record a, b;
        int64_t n;
        char path[512];
        snprintf(path, sizeof path, "%s/jobs.csv.gz", test_tmpdir());
        MUST(trace_source_jobs(&made, i, "{'format': 'generate-jobs', 'mix': '%s', 'count': 2000}", mixes[i]) == 0);
        CHECK_EQ_INT(trace_convert_jobs(made.jobs, trace_writer_find("csv-jobs"), path, &n, &made.diag), 0);
        trace_source_fini(&made);
        MUST(trace_source_jobs(&made, i, "{'format': 'generate-jobs', 'mix': '%s', 'count': 2000}", mixes[i]) == 0);
        MUST(trace_source_jobs(&read, 1, "{'format': 'csv-jobs', 'path': '%s'}", path) == 0);
        bool same = true;
        while (trace_source_job(&made, &a) == 1) {
            same &= trace_source_job(&read, &b) == 1 && a.id == b.id && a.submit_ns == b.submit_ns &&
                    a.duration_ns == b.duration_ns && a.estimate_ns == b.estimate_ns && a.gpus == b.gpus &&
                    a.nodes == b.nodes && a.gpu_milli == b.gpu_milli && strcmp(a.group, b.group) == 0 &&
                    strcmp(a.user, b.user) == 0 && strcmp(a.type, b.type) == 0 && a.status == b.status;
        }
        CHECK(same && trace_source_job(&read, &b) == 0);
        trace_source_fini(&made);
        trace_source_fini(&read);
    }
}

TEST(a_file_that_cannot_be_finished_is_not_left_behind)
{
    const char *bad = trace_source_file("t.csv", "arrival_s,prompt_tokens,output_tokens\n1,1,1\nx,1,1\n");
    char to[512], from[512], expected[600];
    SCOPED(trace_source) trace = {0};
    int64_t n;
    snprintf(from, sizeof from, "%s", bad);
    snprintf(to, sizeof to, "%s/out.csv", test_tmpdir());
    MUST(trace_source_requests(&trace, 1, "{'format': 'csv', 'path': '%s'}", from) == 0);
    CHECK_EQ_INT(convert_requests(&trace, "csv", to, &n), SIM_E_DATA);
    CHECK(access(to, F_OK) != 0);
    trace_source_fini(&trace);
    MUST(trace_source_requests(&trace, 1, "{'format': 'generate', 'count': 5}") == 0);
    CHECK_EQ_INT(convert_requests(&trace, "csv", "no/such/place.csv", &n), SIM_E_IO);
    diag_format(&trace.diag.items[0], expected, sizeof expected);
    CHECK_EQ_STR(expected, "no/such/place.csv: error: cannot write: No such file or directory; create the "
                           "directory first");
}

/* What has a name before stays as it is until there is something to replace it. */
TEST(a_failed_conversion_leaves_the_old_file)
{
    SCOPED(trace_source) trace = {0};
    int64_t n;
    char path[512], part[600], *base;
    const char *old = "arrival_s,prompt_tokens,output_tokens\n1,1,1\nx,1,1\n";
    snprintf(path, sizeof path, "%s", trace_source_file("t.csv", old));
    MUST(trace_source_requests(&trace, 1, "{'format': 'csv', 'path': '%s'}", path) == 0);
    CHECK_EQ_INT(convert_requests(&trace, "csv", path, &n), SIM_E_DATA);
    CHECK_EQ_STR(read_file(path), old);
    trace_source_fini(&trace);
    MUST(trace_source_requests(&trace, 1, "{'format': 'csv', 'path': '%s', 'allow_bad_rows': 1}", path) == 0);
    CHECK_EQ_INT(convert_requests(&trace, "csv", path, &n), 0);
    CHECK_EQ_STR(read_file(path), "arrival_s,prompt_tokens,output_tokens,prefix_blocks\n1,1,1,\n");
    base = strrchr(path, '/') + 1;
    snprintf(part, sizeof part, "%.*s.%s.0.orrery-part", (int)(base - path), path, base);
    CHECK(access(part, F_OK) != 0);
}

TEST(a_link_is_followed_and_permissions_stay)
{
    SCOPED(trace_source) trace = {0};
    struct stat status;
    int64_t n;
    char path[512], link[512];
    snprintf(path, sizeof path, "%s", trace_source_file("old.csv", "old"));
    snprintf(link, sizeof link, "%s/link.csv", test_tmpdir());
    MUST(chmod(path, 0640) == 0 && symlink(path, link) == 0);
    MUST(trace_source_requests(&trace, 1, "{'format': 'generate', 'count': 1}") == 0);
    CHECK_EQ_INT(convert_requests(&trace, "csv", link, &n), 0);
    CHECK(lstat(link, &status) == 0 && S_ISLNK(status.st_mode));
    CHECK(lstat(path, &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 0777) == 0640);
    CHECK(strncmp(read_file(path), "arrival_s,", 10) == 0);
}

/* Devices and pipes are neither replaced nor removed, also when writing fails. */
TEST(pipes_are_written_as_they_are)
{
    struct output *output;
    struct diag diag = {0};
    struct stat status;
    char path[512], got[8] = "";
    snprintf(path, sizeof path, "%s/pipe", test_tmpdir());
    MUST(mkfifo(path, 0600) == 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    MUST(reader >= 0);
    for (int failed = 0; failed < 2; failed++) {
        MUST(output_open(path, &output, &diag) == 0);
        text_add(output_text(output), "abc");
        CHECK_EQ_INT(output_close(output, failed, &diag), 0);
        CHECK(stat(path, &status) == 0 && S_ISFIFO(status.st_mode));
    }
    CHECK_EQ_INT(read(reader, got, sizeof got - 1), 3);
    CHECK_EQ_STR(got, "abc");
    close(reader);
}

TEST(a_full_disk_is_reported)
{
    char link[512], text[600];
    SCOPED(trace_source) trace = {0};
    int64_t n;
    snprintf(link, sizeof link, "%s/full.csv", test_tmpdir());
    if (access("/dev/full", W_OK) != 0 || symlink("/dev/full", link) != 0) {
        test_skip("needs /dev/full");
        return;
    }
    MUST(trace_source_requests(&trace, 1, "{'format': 'generate', 'count': 50000}") == 0);
    CHECK_EQ_INT(convert_requests(&trace, "csv", link, &n), SIM_E_IO);
    diag_format(&trace.diag.items[0], text, sizeof text);
    CHECK(strstr(text, "full.csv: error: cannot write: No space left on device") != NULL);
    CHECK(access(link, W_OK) == 0);
}

TEST(writers_are_listed)
{
    size_t n = 0;
    for (const struct trace_writer *writer; (writer = trace_writer_at(n)) != NULL; n++) {
        CHECK(trace_writer_find(writer->name) == writer);
        CHECK((writer->request != NULL) + (writer->session != NULL) + (writer->job != NULL) == 1);
    }
    CHECK_EQ_INT(n, 9);
    CHECK(trace_writer_find("swf") == NULL);
}
