/* Workloads of the simulators of Pollux (petuum/adaptdl, simulator/workloads*) and Sia (siasosp23/artifacts):
 *
 *     name,time,application,num_replicas,batch_size
 *
 * Times are in seconds. A type is an application with a batch size, "cifar10-2048". The files have no run times: the
 * simulators replay the training. So the scenario states them, by type and number of GPUs. Several workloads may stand
 * in one table, with the columns relative_load and workload. */
#include "traces/formats/file_trace.h"
#include "traces/registry.h"

#include <string.h>

enum { TIME, APPLICATION, REPLICAS, BATCH, LOAD, WORKLOAD, N_COLUMNS };

static const struct csv_column columns[N_COLUMNS] = {{.name = "time"},
                                                     {.name = "application"},
                                                     {.name = "num_replicas"},
                                                     {.name = "batch_size"},
                                                     {.name = "relative_load", .optional = true},
                                                     {.name = "workload", .optional = true}};

struct run_time {
    int64_t gpus;
    sim_ns time_ns;
};

struct typed_run_times {
    const char *type;           /* its key */
    struct config_list by_gpus; /* struct run_time */
};

struct pollux_params {
    struct job_file job_file;
    const char *load, *workload; /* NULL: all */
    struct config_list types;    /* struct typed_run_times */
};

static bool is_chosen(const struct reader *reader, int column, const char *wanted)
{
    const struct csv_field field = reader_text(reader, column);
    return wanted == NULL || (strlen(wanted) == field.n_chars && memcmp(wanted, field.chars, field.n_chars) == 0);
}

/* The run time of the job; -1 after noting that the scenario states none. */
static sim_ns find_run_time(struct reader *reader, const struct job_record *job)
{
    const struct pollux_params *params = (const struct pollux_params *)reader->file;
    const struct typed_run_times *type = params->types.items;
    size_t n = params->types.n;
    for (; n > 0 && strcmp(type->type, job->type) != 0; type++) n--;
    const struct run_time *time = n > 0 ? type->by_gpus.items : NULL;
    for (size_t i = 0; n > 0 && i < type->by_gpus.n; i++, time++)
        if (time->gpus == job->gpus) return time->time_ns;
    reader_bad(reader, n > 0 ? REPLICAS : APPLICATION, "add it to 'types' of the trace",
               "there is no run time of '%s' on %d GPUs", job->type, (int)job->gpus);
    return -1;
}

static enum row_result read_job(struct reader *reader, union trace_record *record)
{
    const struct pollux_params *params = (const struct pollux_params *)reader->file;
    struct job_record *job = &record->job;
    int64_t batch;
    *job = (struct job_record){.id = reader->row};
    if (!is_chosen(reader, LOAD, params->load) || !is_chosen(reader, WORKLOAD, params->workload))
        return reader_leave_out(reader, "not-chosen", "jobs of other workloads left out");
    if (!reader_time(reader, TIME, TIME_S, &job->submit_ns) ||
        !reader_i32(reader, REPLICAS, 1, INT32_MAX, &job->gpus) || !reader_i64(reader, BATCH, 1, INT64_MAX, &batch))
        return ROW_BAD;
    if ((job->type = file_trace_type(reader, APPLICATION, batch)) == NULL) return ROW_BAD;
    if ((job->duration_ns = find_run_time(reader, job)) < 0) return ROW_BAD;
    return file_trace_job(reader, job);
}

static int open_jobs(const void *params, const struct source_options *options, struct job_source **source,
                     struct diag *diag)
{
    const struct pollux_params *pollux = params;
    struct csv_column wanted[N_COLUMNS];
    memcpy(wanted, columns, sizeof wanted);
    wanted[LOAD].optional = pollux->load == NULL;
    wanted[WORKLOAD].optional = pollux->workload == NULL;
    const struct row_format rows = {.columns = wanted, .n_columns = N_COLUMNS, .row = read_job};
    return file_trace_jobs(&rows, &pollux->job_file, options, source, diag);
}

#define ROW_OF struct run_time
static const struct config_field run_time_fields[] = {
    ROW_INT("gpus", gpus, REQUIRED, WITHIN(1, INT32_MAX), "GPUs requested"),
    ROW_TIME("time", time_ns, REQUIRED, WITHIN(0, 9e9), "run time on them"),
    {0}};
#undef ROW_OF

#define ROW_OF struct typed_run_times
static const struct config_field type_fields[] = {
    ROW_LIST("run_times", by_gpus, REQUIRED, WITHIN(1, 1000), struct run_time, run_time_fields,
             "run times by the number of GPUs"),
    {0}};
#undef ROW_OF

#define ROW_OF struct pollux_params
static const struct config_field params_fields[] = {
    TRACE_TIME_PARAMS,
    TRACE_FILE_PARAMS("true"),
    TRACE_JOB_PARAMS,
    ROW_TEXT("relative_load", load, OPTIONAL, WITHIN(1, 64), "only jobs with this text in the column relative_load"),
    ROW_TEXT("workload", workload, OPTIONAL, WITHIN(1, 64), "only jobs with this text in the column workload"),
    ROW_MAP("types", types, REQUIRED, ANY, struct typed_run_times, type_fields,
            "run times of types, which are APPLICATION-BATCH"),
    {0}};
#undef ROW_OF

const struct trace_format trace_pollux = {
    .name = "pollux",
    .summary = "workloads of Pollux and Sia",
    .source = "Qiao et al., OSDI 2021; Jayaram Subramanya et al., SOSP 2023; petuum/adaptdl, siasosp23/artifacts",
    .published = {"https://github.com/siasosp23/artifacts",
                  "sia-simulator/workloads/saturn/workload-1.csv", "none stated"},
    .params = params_fields,
    .params_bytes = sizeof(struct pollux_params),
    .header = "name,time,application,num_replicas,batch_size",
    .open_jobs = open_jobs};
