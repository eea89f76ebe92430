/* The samples of traces/samples are what the commands of their MANIFEST.md write. */
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"
#include "traces/convert.h"

enum { MAX_BYTES = 1 << 20 };

static char *read_file(const char *path, size_t *n)
{
    char *bytes = malloc(MAX_BYTES);
    FILE *file = fopen(path, "rb");
    *n = file != NULL ? fread(bytes, 1, MAX_BYTES, file) : 0;
    if (file != NULL) fclose(file);
    return bytes;
}

/* Closes the trace. */
static void check_sample(struct trace_source *trace, const char *name, const char *writer_name)
{
    char made[512], kept[512];
    const struct trace_writer *writer = trace_writer_find(writer_name);
    int64_t n;
    snprintf(made, sizeof made, "%s/%s", test_tmpdir(), name);
    snprintf(kept, sizeof kept, "traces/samples/%s", name);
    CHECK_EQ_INT(trace->requests != NULL ? trace_convert_requests(trace->requests, writer, made, &n, &trace->diag)
                                         : trace_convert_jobs(trace->jobs, writer, made, &n, &trace->diag),
                 0);
    trace_source_fini(trace);
    size_t n_made, n_kept;
    char *a = read_file(made, &n_made), *b = read_file(kept, &n_kept);
    CHECK_EQ_INT(n_made, n_kept);
    test_check(n_made == n_kept && memcmp(a, b, n_made) == 0, kept, __FILE__, __LINE__);
    free(a);
    free(b);
}

TEST(chat)
{
    struct trace_source trace;
    trace_source_requests(&trace, 1, "{'format': 'generate', 'count': 2000}");
    check_sample(&trace, "chat.csv", "azure-llm");
}

TEST(jobs)
{
    struct trace_source trace;
    trace_source_jobs(&trace, 1, "{'format': 'generate-jobs', 'mix': 'philly', 'count': 500}");
    check_sample(&trace, "jobs.csv", "philly");
}

TEST(sessions)
{
    struct trace_source trace;
    trace_source_requests(&trace, 1,
                          "{'format': 'generate', 'mix': 'mooncake-conversation', 'count': 200,"
                          " 'sessions': {'continue': 0.4}}");
    check_sample(&trace, "sessions.jsonl", "mooncake");
}

TEST(agents)
{
    struct trace_source trace;
    trace_source_requests(&trace, 1,
                          "{'format': 'generate-sessions', 'count': 40, 'arrival': {'process': 'poisson', 'rate':"
                          " '0.2/s'}, 'classes': {'agent': {'shape': 'agent', 'turns': 6}, 'chat': {'turns': 4}}}");
    check_sample(&trace, "agents.jsonl", "sessions");
}
