/* Standard Workload Format: 18 numbers per line, comments start with ';', -1 is "not known". Sorted by submission, in
 * seconds from the file's own zero. Processors stand for GPUs.
 *
 * The GPUs are the processors asked for (field 8), else those allocated (5); the run time is field 4, the estimate is
 * the time asked for (9), else the run time. Jobs without run time or processors are left out and counted. The group is
 * the queue (15), the user is the user id (12), both as numbers. Of the states
 * (11) 0 is failed and 5 cancelled; the others, which tell of parts of a job too, count as completed. */
#include "traces/formats/file_trace.h"
#include "traces/registry.h"

enum { SUBMIT, ID, RUN_TIME, ALLOCATED, REQUESTED, REQUESTED_TIME, USER, QUEUE, STATUS, N_COLUMNS };

static const struct csv_column columns[N_COLUMNS] = {{.name = "submit time"},
                                                     {.name = "job number"},
                                                     {.name = "run time"},
                                                     {.name = "allocated processors"},
                                                     {.name = "requested processors"},
                                                     {.name = "requested time"},
                                                     {.name = "user id"},
                                                     {.name = "queue number"},
                                                     {.name = "status"}};
static const int positions[N_COLUMNS] = {1, 0, 3, 4, 7, 8, 11, 14, 10};

enum { STATUS_FAILED = 0, STATUS_CANCELLED = 5 };

static enum job_fate fate_of(int32_t status)
{
    if (status == STATUS_CANCELLED) return JOB_IS_CANCELLED;
    return status == STATUS_FAILED ? JOB_FAILS : JOB_COMPLETES;
}

static enum row_result read_row(struct reader *reader, union trace_record *record)
{
    struct job_record *job = &record->job;
    int32_t allocated, requested, status;
    *job = (struct job_record){.id = reader->row};
    if (!reader_time(reader, SUBMIT, TIME_S, &job->submit_ns) || !reader_i64(reader, ID, 0, INT64_MAX, &job->id) ||
        !reader_time(reader, RUN_TIME, TIME_S, &job->duration_ns) ||
        !reader_time(reader, REQUESTED_TIME, TIME_S, &job->estimate_ns) ||
        !reader_i32(reader, ALLOCATED, -1, INT32_MAX, &allocated) ||
        !reader_i32(reader, REQUESTED, -1, INT32_MAX, &requested) ||
        !reader_i32(reader, STATUS, -1, INT32_MAX, &status) || (job->group = reader_intern(reader, QUEUE)) == NULL ||
        (job->user = reader_intern(reader, USER)) == NULL) {
        return ROW_BAD;
    }
    if (job->duration_ns < 0) return reader_leave_out(reader, "no-run-time", "jobs without run time left out");
    job->gpus = requested > 0 ? requested : allocated;
    if (job->gpus <= 0) return reader_leave_out(reader, "no-processors", "jobs without processors left out");
    if (job->estimate_ns < 0) job->estimate_ns = 0;
    job->fate = fate_of(status);
    return file_trace_job(reader, job);
}

static const struct row_format rows = {.csv = {.dialect = CSV_DIALECT_BLANKS, .comment = ';'},
                                       .no_header = true,
                                       .positions = positions,
                                       .columns = columns,
                                       .n_columns = N_COLUMNS,
                                       .row = read_row};

static int open_jobs(const void *params, const struct source_options *options, struct job_source **source,
                     struct diag *diag)
{
    return file_trace_jobs(&rows, params, options, source, diag);
}

const struct trace_format trace_swf = {.name = "swf",
                                       .summary = "Standard Workload Format of batch logs; processors stand for GPUs",
                                       .source = "Chapin et al., JSSPP 1999; Parallel Workloads Archive",
                                       .params = file_trace_job_params,
                                       .params_bytes = sizeof(struct job_file),
                                       .open_jobs = open_jobs};
