/* The trace of Muri's testbed (Rivendile/Muri, cluster_exp/trace-data/cluster_trace.csv), as jobs and as speeds of
 * their types:
 *
 *     job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,resource_time_0,
 *     resource_time_1,resource_time_2,priority
 *
 * Times are in milliseconds. A type is a model on a number of GPUs, "vgg16-8". The three resource times are those of an
 * iteration: storage and CPU together, GPU, network. The authors' matching has four resources and lets the first time
 * last for two of them. The phases of a type therefore are half of it, half of it, and the other two. */
#include "traces/formats/file_trace.h"
#include "traces/formats/job_profiles.h"
#include "traces/registry.h"

#include "sim/core/number.h"

#include <string.h>

/* --- Jobs --- */

enum { SUBMIT, DURATION, GPUS, MODEL, ID, JOB_COLUMNS };

static const struct csv_column job_columns[JOB_COLUMNS] = {{.name = "submit_time"},
                                                           {.name = "duration"},
                                                           {.name = "num_gpu"},
                                                           {.name = "model_name"},
                                                           {.name = "job_id", .optional = true}};

static enum row_result read_job(struct reader *reader, union trace_record *record)
{
    struct job_record *job = &record->job;
    *job = (struct job_record){.id = reader->row};
    if (!reader_time(reader, SUBMIT, TIME_MS, &job->submit_ns) ||
        !reader_duration(reader, DURATION, TIME_MS, &job->duration_ns) ||
        !reader_i32(reader, GPUS, 1, INT32_MAX, &job->gpus))
        return ROW_BAD;
    if ((job->type = file_trace_type(reader, MODEL, job->gpus)) == NULL) return ROW_BAD;
    reader_number(reader, ID, &job->id);
    return file_trace_job(reader, job);
}

static int open_jobs(const void *params, const struct source_options *options, struct job_source **source,
                     struct diag *diag)
{
    static const struct row_format rows = {.columns = job_columns, .n_columns = JOB_COLUMNS, .row = read_job};
    return file_trace_jobs(&rows, params, options, source, diag);
}

const struct trace_format trace_muri = {.name = "muri",
                                        .summary = "Muri's testbed; types are MODEL-GPUS",
                                        .source = "Zhao et al., SIGCOMM 2022; Rivendile/Muri, cluster_exp/trace-data",
                                        .published = {"https://github.com/Rivendile/Muri",
                                                      "cluster_exp/trace-data/cluster_trace.csv", "Apache-2.0"},
                                        .params = file_trace_unsorted_job_params,
                                        .params_bytes = sizeof(struct job_file),
                                        .header = "num_gpu,submit_time,model_name,duration,resource_time_0",
                                        .open_jobs = open_jobs};

/* --- Speeds of types --- */

enum { TYPE_MODEL, TYPE_GPUS, FIRST_TIME, SECOND_TIME, THIRD_TIME, TYPE_COLUMNS, N_PHASES = 4 };

static const struct csv_column type_columns[TYPE_COLUMNS] = {{.name = "model_name"},
                                                             {.name = "num_gpu"},
                                                             {.name = "resource_time_0"},
                                                             {.name = "resource_time_1"},
                                                             {.name = "resource_time_2"}};

struct muri_params {
    const char *path;
};

static struct csv_field field_at(const struct csv *csv, int position)
{
    return (size_t)position < csv_n_fields(csv) ? csv_fields(csv)[position] : (struct csv_field){.chars = ""};
}

static int row_error(const struct csv *csv, int position, const char *problem, struct diag *diag)
{
    char where[DIAG_WHERE_CHARS];
    csv_where(csv, (size_t)position, 0, where);
    return diag_error(diag, SIM_E_DATA, where, NULL, "%s", problem);
}

static int read_phases(const struct csv *csv, const int *positions, double *phases_s, struct diag *diag)
{
    double times_ms[3];
    for (int i = 0; i < 3; i++) {
        const struct csv_field field = field_at(csv, positions[FIRST_TIME + i]);
        if (number_f64(field.chars, field.n_chars, &times_ms[i]) != NUMBER_OK || !(times_ms[i] >= 0) ||
            times_ms[i] > 1e12)
            return row_error(csv, positions[FIRST_TIME + i], "a time of a resource must be a number of milliseconds",
                             diag);
    }
    phases_s[0] = phases_s[1] = times_ms[0] / 2 / 1000;
    phases_s[2] = times_ms[1] / 1000;
    phases_s[3] = times_ms[2] / 1000;
    return 0;
}

static const struct job_profile *find_profile(const struct config_list *profiles, const char *type)
{
    const struct job_profile *profile = profiles->items;
    for (size_t i = 0; i < profiles->n; i++, profile++)
        if (strcmp(profile->type, type) == 0) return profile;
    return NULL;
}

/* Adds the type of the row, unless it is there; another row of the type must have equal times. */
static int add_row(const struct csv *csv, const int *positions, struct arena *arena, struct config_list *profiles,
                   struct diag *diag)
{
    const struct csv_field model = field_at(csv, positions[TYPE_MODEL]), gpus = field_at(csv, positions[TYPE_GPUS]);
    double phases_s[N_PHASES];
    int64_t n_gpus;
    if (number_i64(gpus.chars, gpus.n_chars, &n_gpus) != NUMBER_OK || n_gpus < 1)
        return row_error(csv, positions[TYPE_GPUS], "'num_gpu' must be a whole number of at least 1", diag);
    int code = read_phases(csv, positions, phases_s, diag);
    if (code != 0) return code;
    struct job_profile profile = {.type = arena_printf(arena, "%.*s-%lld", (int)model.n_chars, model.chars,
                                                       (long long)n_gpus)};
    if (profile.type == NULL) return diag_nomem(diag);
    const struct job_profile *known = find_profile(profiles, profile.type);
    if (known != NULL && memcmp(known->phases.items, phases_s, sizeof phases_s) == 0) return 0;
    if (known != NULL)
        return row_error(csv, positions[FIRST_TIME],
                         "an earlier row with this model and number of GPUs has other times", diag);
    for (int i = 0; i < N_PHASES && code == 0; i++)
        code = config_list_append(&profile.phases, arena, &phases_s[i], sizeof *phases_s);
    if (code == 0) code = config_list_append(profiles, arena, &profile, sizeof profile);
    return code == 0 ? 0 : diag_nomem(diag);
}

static int read_types(const void *params, struct arena *arena, struct config_list *profiles, struct diag *diag)
{
    const struct muri_params *muri = params;
    int positions[TYPE_COLUMNS];
    struct input *input;
    struct csv *csv;
    *profiles = (struct config_list){0};
    int code = input_open(muri->path, &input, diag);
    if (code == 0) code = csv_create(input, &(struct csv_options){0}, &csv, diag);
    if (code != 0) return code;
    code = csv_read_header(csv, type_columns, TYPE_COLUMNS, positions, diag);
    while (code == 0 && (code = csv_next(csv, diag)) == 1) code = add_row(csv, positions, arena, profiles, diag);
    csv_destroy(csv);
    return code;
}

#define ROW_OF struct muri_params
static const struct config_field type_params[] = {
    ROW_PATH("path", path, REQUIRED, "the file, plain or gzip-compressed"), {0}};
#undef ROW_OF

const struct job_profile_format job_profile_muri = {
    .name = "muri",
    .summary = "Muri's trace: seconds of an iteration on four resources",
    .source = "Zhao et al., SIGCOMM 2022; Rivendile/Muri, cluster_exp/trace-data",
    .params = type_params,
    .params_bytes = sizeof(struct muri_params),
    .read = read_types};
