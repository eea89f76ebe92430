/* Alibaba PAI 2020, the task table, which has no header:
 * job_name,task_name,inst_num,status,start_time,end_time,plan_cpu, plan_mem,plan_gpu,gpu_type. Times in seconds; time
 * starts at the earliest row. Sorted here by (start, row).
 *
 * One row is one job, submitted when it started: the table has no earlier time. Its GPUs are inst_num times plan_gpu,
 * which is in percent of a GPU: less than one GPU in all is a share of one, more is rounded up to whole GPUs. Rows
 * without start or end never ran to an end and are left out and counted. An empty plan_gpu is no GPU; jobs without GPUs
 * are kept unless "cpu_jobs" is false. The group is the GPU type, the user is empty, the id is the row. */
#include "traces/formats/file_trace.h"
#include "traces/registry.h"

#include <math.h>

enum { START_TIME, END_TIME, INST_NUM, PLAN_GPU, GPU_TYPE, STATUS, N_COLUMNS };

static const struct csv_column columns[N_COLUMNS] = {
    {.name = "start_time"}, {.name = "end_time"}, {.name = "inst_num"}, {.name = "plan_gpu"}, {.name = "gpu_type"},
    {.name = "status"}};
static const int positions[N_COLUMNS] = {4, 5, 2, 8, 9, 3};

static const struct fate_word states[] = {
    {"Terminated", JOB_COMPLETES}, {"Failed", JOB_FAILS}, {NULL, JOB_COMPLETES}};

static bool read_gpus(struct reader *reader, struct job_record *job)
{
    int64_t instances;
    double percent = 0;
    if (!reader_i64(reader, INST_NUM, 1, 1000000, &instances)) return false;
    if (reader_has(reader, PLAN_GPU) && !reader_f64(reader, PLAN_GPU, 0, &percent)) return false;
    double milli = 10 * percent * (double)instances;
    if (milli > 1000.0 * INT32_MAX) {
        reader_bad(reader, PLAN_GPU, NULL, "'plan_gpu' must be a number of percent, got %g", percent);
        return false;
    }
    bool shared = milli > 0 && milli < 1000;
    job->gpus = (int32_t)ceil(milli / 1000);
    job->gpu_milli = shared ? (int32_t)fmax(1, rint(milli)) : 1000;
    return true;
}

static enum row_result read_row(struct reader *reader, union trace_record *record)
{
    struct job_record *job = &record->job;
    sim_ns end_ns;
    *job = (struct job_record){.id = reader->row};
    if (!reader_has(reader, START_TIME) || !reader_has(reader, END_TIME)) {
        return reader_leave_out(reader, "no-run-time", "tasks without start or end time left out");
    }
    if (!reader_time(reader, START_TIME, TIME_S, &job->submit_ns) || !reader_time(reader, END_TIME, TIME_S, &end_ns) ||
        !read_gpus(reader, job) || (job->group = reader_intern(reader, GPU_TYPE)) == NULL) {
        return ROW_BAD;
    }
    if (end_ns < job->submit_ns) return reader_bad(reader, END_TIME, NULL, "'end_time' is before 'start_time'");
    job->duration_ns = end_ns - job->submit_ns;
    job->fate = file_trace_fate(reader, STATUS, states);
    return file_trace_job(reader, job);
}

static const struct row_format rows = {.no_header = true,
                                       .from_first = true,
                                       .positions = positions,
                                       .columns = columns,
                                       .n_columns = N_COLUMNS,
                                       .row = read_row};

static int open_jobs(const void *params, const struct source_options *options, struct job_source **source,
                     struct diag *diag)
{
    return file_trace_jobs(&rows, params, options, source, diag);
}

const struct trace_format trace_pai = {.name = "pai",
                                       .summary = "Alibaba PAI 2020, the table of tasks",
                                       .source = "Weng et al., MLaaS in the Wild, NSDI 2022; alibaba/clusterdata",
                                       .params = file_trace_unsorted_job_params,
                                       .params_bytes = sizeof(struct job_file),
                                       .open_jobs = open_jobs};
