/* Any table of jobs: the user names the columns. With the default names it reads what `orrery trace convert` writes.
 * Only the submission, duration and GPUs have to be there. Empty fields of the others stand for the 0-based row
 * (job_id, also where it is no number), free choice (nodes), a whole GPU (gpu_milli), the duration (estimate), no name
 * (group, user, type), completed (fate; the others are cancelled and failed).
 *
 * Numbers of time count from the file's own zero, calendar times from the first job; "origin" changes that. */
#include "traces/formats/file_trace.h"
#include "traces/formats/user_columns.h"
#include "traces/registry.h"

enum { SUBMIT, DURATION, GPUS, ID, NODES, GPU_MILLI, ESTIMATE, GROUP, USER, TYPE, FATE, N_COLUMNS };

static const struct fate_word fates[] = {
    {"completed", JOB_COMPLETES}, {"cancelled", JOB_IS_CANCELLED}, {"failed", JOB_FAILS}, {NULL, JOB_COMPLETES}};

struct csv_jobs_params {
    struct job_file job_file;
    struct user_table table;
    int duration_unit; /* enum time_unit - 1: a duration is no calendar time */
    const char *columns[N_COLUMNS];
};

static bool read_optional_i32(struct reader *reader, int column, int32_t max, int32_t *value)
{
    return !reader_has(reader, column) || reader_i32(reader, column, 0, max, value);
}

static bool read_optional(struct reader *reader, const struct csv_jobs_params *params, struct job_record *job)
{
    enum time_unit unit = (enum time_unit)(params->duration_unit + 1);
    int64_t id;
    if (reader_number(reader, ID, &id)) job->id = id;
    if (reader_has(reader, ESTIMATE) && !reader_duration(reader, ESTIMATE, unit, &job->estimate_ns)) return false;
    if (!read_optional_i32(reader, NODES, INT32_MAX, &job->nodes)) return false;
    if (!read_optional_i32(reader, GPU_MILLI, 1000, &job->gpu_milli)) return false;
    job->group = reader_intern(reader, GROUP);
    job->user = reader_intern(reader, USER);
    job->type = reader_intern(reader, TYPE);
    job->fate = file_trace_fate(reader, FATE, fates);
    return job->group != NULL && job->user != NULL && job->type != NULL;
}

static enum row_result read_row(struct reader *reader, union trace_record *record)
{
    const struct csv_jobs_params *params = (const struct csv_jobs_params *)reader->file;
    struct job_record *job = &record->job;
    *job = (struct job_record){.id = reader->row};
    if (!reader_time(reader, SUBMIT, (enum time_unit)params->table.time_unit, &job->submit_ns) ||
        !reader_duration(reader, DURATION, (enum time_unit)(params->duration_unit + 1), &job->duration_ns) ||
        !reader_i32(reader, GPUS, 0, INT32_MAX, &job->gpus) || !read_optional(reader, params, job)) {
        return ROW_BAD;
    }
    return file_trace_job(reader, job);
}

static int open_jobs(const void *params, const struct source_options *options, struct job_source **source,
                     struct diag *diag)
{
    static const bool optional[N_COLUMNS] = {
        [ID] = true, [NODES] = true, [GPU_MILLI] = true, [ESTIMATE] = true, [GROUP] = true, [USER] = true, [TYPE] = true, [FATE] = true};
    const struct csv_jobs_params *jobs = params;
    struct csv_column columns[N_COLUMNS];
    int positions[N_COLUMNS];
    struct row_format rows = {.columns = columns, .n_columns = N_COLUMNS, .row = read_row};
    int code = user_columns(&jobs->table, jobs->columns, optional, N_COLUMNS, options->where, columns, positions, &rows,
                            diag);
    return code != 0 ? code : file_trace_jobs(&rows, &jobs->job_file, options, source, diag);
}

static const struct config_field column_params[] = {
    USER_COLUMN(struct csv_jobs_params, SUBMIT, "submit", "submit_s", "time of submission"),
    USER_COLUMN(struct csv_jobs_params, DURATION, "duration", "duration_s", "run time on the GPUs asked for"),
    USER_COLUMN(struct csv_jobs_params, GPUS, "gpus", "gpus", "GPUs asked for"),
    USER_COLUMN(struct csv_jobs_params, ID, "id", "job_id", "number of the job"),
    USER_COLUMN(struct csv_jobs_params, NODES, "nodes", "nodes", "nodes asked for"),
    USER_COLUMN(struct csv_jobs_params, GPU_MILLI, "gpu_milli", "gpu_milli", "share of the one GPU, in 1/1000"),
    USER_COLUMN(struct csv_jobs_params, ESTIMATE, "estimate", "estimate_s", "what the user said it would take"),
    USER_COLUMN(struct csv_jobs_params, GROUP, "group", "group", "virtual cluster, partition or type"),
    USER_COLUMN(struct csv_jobs_params, USER, "user", "user", "user who submitted the job"),
    USER_COLUMN(struct csv_jobs_params, TYPE, "type", "type", "name of its entry under \"jobs.types\""),
    USER_COLUMN(struct csv_jobs_params, FATE, "fate", "fate", "completed, cancelled or failed at the end of its run time"),
    {0}};

#define ROW_OF struct csv_jobs_params
static const struct config_field params[] = {
    TRACE_TIME_PARAMS,
    TRACE_FILE_PARAMS("false"),
    TRACE_JOB_PARAMS,
    USER_TABLE_PARAMS(struct csv_jobs_params),
    ROW_CHOICE("duration_unit", duration_unit, DEFAULT("s"), time_unit_names + 1,
               "unit of the duration and estimate columns"),
    {.name = "columns", .kind = CONFIG_SECTION, .fields = column_params, .help = "names or numbers of the columns"},
    {0}};
#undef ROW_OF

const struct trace_format trace_csv_jobs = {.name = "csv-jobs",
                                            .summary = "any table of jobs, with your own column names",
                                            .source = "",
                                            .params = params,
                                            .params_bytes = sizeof(struct csv_jobs_params),
                                            .open_jobs = open_jobs};
