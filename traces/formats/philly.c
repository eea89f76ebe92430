/* Microsoft Philly jobs (2017) as derived by the Sia simulator: timestamp,duration,num_gpus,gpu_time,virtual_cluster.
 * Not sorted: sorted here by (time, row). Time starts at the earliest submission. Durations are seconds; a duration of
 * 0 stays 0. Ids are rows; gpu_time is not read, it is duration times GPUs. */
#include "traces/formats/file_trace.h"
#include "traces/registry.h"

enum { TIMESTAMP, DURATION, NUM_GPUS, VIRTUAL_CLUSTER, N_COLUMNS };

static const struct csv_column columns[N_COLUMNS] = {
    {.name = "timestamp"}, {.name = "duration"}, {.name = "num_gpus"}, {.name = "virtual_cluster", .optional = true}};

static enum row_result read_row(struct reader *reader, union trace_record *record)
{
    struct job_record *job = &record->job;
    *job = (struct job_record){.id = reader->row};
    if (!reader_time(reader, TIMESTAMP, TIME_CALENDAR, &job->submit_ns) ||
        !reader_duration(reader, DURATION, TIME_S, &job->duration_ns) ||
        !reader_i32(reader, NUM_GPUS, 0, INT32_MAX, &job->gpus) ||
        (job->group = reader_intern(reader, VIRTUAL_CLUSTER)) == NULL) {
        return ROW_BAD;
    }
    return file_trace_job(reader, job);
}

static const struct row_format rows = {.from_first = true, .columns = columns, .n_columns = N_COLUMNS, .row = read_row};

static int open_jobs(const void *params, const struct source_options *options, struct job_source **source,
                     struct diag *diag)
{
    return file_trace_jobs(&rows, params, options, source, diag);
}

const struct trace_format trace_philly = {
    .name = "philly",
    .summary = "Microsoft Philly training jobs of 2017, one row per job",
    .source = "Jeon et al., USENIX ATC 2019; derived list of Jayaram Subramanya et al., Sia, SOSP 2023",
    .params = file_trace_unsorted_job_params,
    .params_bytes = sizeof(struct job_file),
    .open_jobs = open_jobs};
