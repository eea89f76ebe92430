/* What a written table keeps of jobs, and what it says of the rest. */
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"
#include "traces/convert.h"

#include <unistd.h>

static const char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", test_tmpdir(), name);
    return path;
}

/* Converts the jobs of a trace section. */
static int convert(struct trace_source *trace, const char *section, const char *writer, const char *path)
{
    int64_t n;
    if (!CHECK(trace_source_jobs(trace, 1, "%s", section) == 0)) return -1;
    return trace_convert_jobs(trace->jobs, trace_writer_find(writer), path, &n, &trace->diag);
}

static const char *or_empty(const char *chars)
{
    return chars != NULL ? chars : "";
}

static bool same_job(const struct job_record *a, const struct job_record *b)
{
    bool same = a->submit_ns == b->submit_ns && a->duration_ns == b->duration_ns && a->gpus == b->gpus &&
                a->estimate_ns == b->estimate_ns && a->nodes == b->nodes && a->gpu_milli == b->gpu_milli &&
                a->cpu_milli == b->cpu_milli && a->memory_bytes == b->memory_bytes && a->status == b->status &&
                a->n_needs == b->n_needs && a->n_enough == b->n_enough &&
                strcmp(or_empty(a->group), or_empty(b->group)) == 0 &&
                strcmp(or_empty(a->user), or_empty(b->user)) == 0 &&
                strcmp(or_empty(a->type), or_empty(b->type)) == 0 &&
                strcmp(or_empty(a->gpu_models), or_empty(b->gpu_models)) == 0;
    for (int32_t i = 0; same && i < a->n_needs; i++)
        same = a->needs[i].job == b->needs[i].job && a->needs[i].delay_ns == b->needs[i].delay_ns &&
               a->needs[i].keeps_gpus == b->needs[i].keeps_gpus;
    return same;
}

/* Everything that jobs may ask for, written into the scenario. */
TEST(what_jobs_ask_for_reads_back)
{
    static const char jobs[] =
        "{'format': 'inline-jobs', 'jobs': ["
        "{'duration': '10s', 'gpus': 4, 'nodes': 2, 'cpus': 12.5, 'memory': '300GB'},"
        "{'submit': '1s', 'duration': '1.5s', 'gpu_share': 0.25, 'gpu_models': 'v100|a100', 'estimate': '9s'},"
        "{'submit': '2s', 'duration': '3s', 'memory': '1B', 'type': 'sft'},"
        "{'submit': '2s', 'duration': '3s', 'cpus': 0.001}%s]}";
    static const char *const more[] = {
        "", ", {'submit': '4s', 'duration': '1s', 'after': [{'job': 0, 'delay': '2s'}, {'job': 2}]}"};
    static const char *const writers[] = {"csv-jobs", "csv-graphs"};
    for (int i = 0; i < 2; i++) {
        char section[1024], back[700];
        const char *path = path_of("jobs.csv");
        SCOPED(trace_source) first = {0}, made = {0}, read = {0};
        struct job_record a, b;
        int n = 0;
        snprintf(section, sizeof section, jobs, more[i]);
        snprintf(back, sizeof back, "{'format': 'csv-jobs', 'path': '%s'}", path);
        CHECK_EQ_INT(convert(&first, section, writers[i], path), 0);
        CHECK_EQ_INT(first.diag.n_warnings, 0);
        MUST(trace_source_jobs(&made, 1, "%s", section) == 0 && trace_source_jobs(&read, 1, "%s", back) == 0);
        for (; trace_source_job(&made, &a) == 1; n++) CHECK(trace_source_job(&read, &b) == 1 && same_job(&a, &b));
        CHECK_EQ_INT(n, 4 + i);
        CHECK(trace_source_job(&read, &b) == 0);
    }
}

/* Each loss of a Philly list is told once; csv-jobs loses but the loss of a trial. */
TEST(what_is_left_out_is_told)
{
    static const struct {
        const char *jobs, *philly, *csv_jobs; /* NULL: nothing */
    } cases[] = {{"{'duration': '1s', 'gpus': 2}", NULL, NULL},
                 {"{'duration': '1s', 'gpu_share': 0.5}, {'duration': '1s', 'gpu_share': 0.5}",
                  "shares of GPUs become whole GPUs", NULL},
                 {"{'duration': '1s', 'gpu_models': 'v100'}", "the GPU models that its jobs accept are left out", NULL},
                 {"{'duration': '1s', 'cpus': 1}", "the CPUs and the memory of its jobs are left out", NULL},
                 {"{'duration': '1s', 'memory': '1GB'}", "the CPUs and the memory of its jobs are left out", NULL},
                 {"{'duration': '1s', 'nodes': 1}", "the numbers of nodes that its jobs ask for are left out", NULL},
                 {"{'duration': '1s', 'estimate': '2s'}", "the run times that its users estimated are left out", NULL},
                 {"{'duration': '1s', 'type': 'sft'}", "the users or types of its jobs are left out", NULL},
                 {"{'duration': '1s', 'loss': 0.5}", "the losses at the end of its trials are left out",
                  "the losses at the end of its trials are left out"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int exact = 0; exact < 2; exact++) {
            const char *expected = exact ? cases[i].csv_jobs : cases[i].philly;
            char section[512];
            SCOPED(trace_source) trace = {0};
            snprintf(section, sizeof section, "{'format': 'inline-jobs', 'jobs': [%s]}", cases[i].jobs);
            CHECK_EQ_INT(convert(&trace, section, exact ? "csv-jobs" : "philly", path_of("out.csv")), 0);
            CHECK_EQ_INT(trace.diag.n_warnings, expected != NULL);
            if (expected != NULL) CHECK(strstr(trace.diag.items[0].text, expected) != NULL);
        }
}

TEST(that_jobs_failed_is_told)
{
    char section[600];
    SCOPED(trace_source) trace = {0};
    snprintf(section, sizeof section, "{'format': 'csv-jobs', 'path': '%s'}",
             trace_source_file("f.csv", "submit_s,duration_s,gpus,fate\n1,1,1,\n1,1,1,cancelled\n2,1,1,failed\n"));
    CHECK_EQ_INT(convert(&trace, section, "philly", path_of("out.csv")), 0);
    CHECK_EQ_INT(trace.diag.n_warnings, 1);
    CHECK(strstr(trace.diag.items[0].text, "that some of its jobs were cancelled or failed is left out") != NULL);
}

/* Steps are no run time: no table says them, and no file is left. */
TEST(jobs_without_a_run_time_are_refused)
{
    static const char *const jobs[] = {"{'steps': 100, 'type': 't'}", "{'type': 't'}"};
    static const char *const writers[] = {"csv-jobs", "csv-graphs", "philly"};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++) {
            char section[512];
            const char *path = path_of("none.csv");
            SCOPED(trace_source) trace = {0};
            snprintf(section, sizeof section, "{'format': 'inline-jobs', 'jobs': [{'duration': '1s'}, %s]}", jobs[i]);
            CHECK_EQ_INT(convert(&trace, section, writers[k], path), SIM_E_USAGE);
            CHECK(trace.diag.n_errors == 1 && strstr(trace.diag.items[0].text, "no run time before it runs") != NULL);
            CHECK(access(path, F_OK) != 0);
        }
}
