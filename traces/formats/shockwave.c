/* The traces of Shockwave's artifact (uw-mad-dash/shockwave, scheduler/traces), as jobs and as batch sizes of their
 * types. Rows have no header and are separated by tabs:
 *
 *     job type, command, folder, argument of steps, needs data, steps, GPUs, mode, priority, SLO, duration, arrival
 *
 * A job type is "LM (batch size 10)". Times are in seconds. The duration is that of all steps at this batch size. The
 * mode says how the batch grows (batch_growth.h). A type here is MODEL-BATCH-GPUS-MODE-EPOCHS, "lm-10-1-gns-23", since
 * the batch sizes of a job depend on all of these. Their speeds are the steps per second of jobs that begin with them.
 *
 * Priorities and SLOs are not read: all jobs of the published traces have the same. */
#include "traces/formats/batch_growth.h"
#include "traces/formats/file_trace.h"
#include "traces/formats/job_profiles.h"
#include "traces/registry.h"

#include "sim/core/number.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ARRIVAL, JOB_TYPE, STEPS, GPUS, MODE, DURATION, N_COLUMNS, MODEL_CHARS = 32, MOST_EPOCHS = 1000000 };

static const struct csv_column columns[N_COLUMNS] = {
    [ARRIVAL] = {.name = "arrival"}, [JOB_TYPE] = {.name = "job type"}, [STEPS] = {.name = "steps"},
    [GPUS] = {.name = "GPUs"},       [MODE] = {.name = "mode"},         [DURATION] = {.name = "duration"}};

static const int positions[N_COLUMNS] = {
    [ARRIVAL] = 11, [JOB_TYPE] = 0, [STEPS] = 5, [GPUS] = 6, [MODE] = 7, [DURATION] = 10};

static const struct csv_options tabs = {.delimiter = '\t'};

/* A row but for its times. */
struct trained {
    const struct growing_model *model;
    enum growth_mode mode;
    int64_t batch, gpus, steps, epochs;
};

/* Reads "LM (batch size 10)". Returns NULL, or what is wrong. */
static const char *read_job_type(struct csv_field field, struct trained *job)
{
    static const char middle[] = " (batch size ";
    char model[MODEL_CHARS];
    size_t n = 0;
    while (n < field.n_chars && n < sizeof model && field.chars[n] != ' ') {
        model[n] = (char)tolower((unsigned char)field.chars[n]);
        n++;
    }
    const size_t before = n + strlen(middle);
    if (field.n_chars < before + 2 || field.chars[field.n_chars - 1] != ')' ||
        memcmp(field.chars + n, middle, strlen(middle)) != 0 ||
        number_i64(field.chars + before, field.n_chars - before - 1, &job->batch) != NUMBER_OK || job->batch < 1 ||
        job->batch > INT32_MAX)
        return "a job type must be written as \"LM (batch size 10)\"";
    job->model = growing_model_find(model, n);
    if (job->model == NULL) return "the model is none of ResNet-18, ResNet-50, Transformer, LM, Recommendation";
    return job->batch <= job->model->largest ? NULL : "the batch size is above the largest of the model";
}

static const char *read_mode(struct csv_field field, struct trained *job)
{
    for (int mode = 0; growth_mode_names[mode] != NULL; mode++)
        if (strlen(growth_mode_names[mode]) == field.n_chars &&
            memcmp(growth_mode_names[mode], field.chars, field.n_chars) == 0) {
            job->mode = (enum growth_mode)mode;
            return NULL;
        }
    return "a mode must be one of static, accordion, gns";
}

/* Writes the name of the job's type. Returns its length. */
static int name_type(const struct trained *job, char name[REQUEST_CLASS_CHARS + 1])
{
    return snprintf(name, REQUEST_CLASS_CHARS + 1, "%s-%" PRId64 "-%" PRId64 "-%s-%" PRId64, job->model->name,
                    job->batch, job->gpus, growth_mode_names[job->mode], job->epochs);
}

/* --- Jobs --- */

static enum row_result read_job(struct reader *reader, union trace_record *record)
{
    struct job_record *job = &record->job;
    struct trained trained;
    char name[REQUEST_CLASS_CHARS + 1];
    *job = (struct job_record){.id = reader->row};
    if (!reader_time(reader, ARRIVAL, TIME_S, &job->submit_ns) ||
        !reader_duration(reader, DURATION, TIME_S, &job->duration_ns) ||
        !reader_i32(reader, GPUS, 1, INT32_MAX, &job->gpus) || !reader_i64(reader, STEPS, 1, INT32_MAX, &trained.steps))
        return ROW_BAD;
    const char *problem = read_job_type(reader_text(reader, JOB_TYPE), &trained);
    if (problem != NULL) return reader_bad(reader, JOB_TYPE, NULL, "%s", problem);
    if ((problem = read_mode(reader_text(reader, MODE), &trained)) != NULL)
        return reader_bad(reader, MODE, NULL, "%s", problem);
    if (trained.mode != GROWTH_STATIC)
        reader_note(reader, SOURCE_UNPROFILED, "jobs keep the batch size that they begin with");
    trained.gpus = job->gpus;
    trained.epochs = growth_epochs(trained.model, trained.batch, trained.steps);
    job->type = reader_intern_name(reader, name, (size_t)name_type(&trained, name));
    return job->type != NULL ? file_trace_job(reader, job) : ROW_BAD;
}

static int open_jobs(const void *params, const struct source_options *options, struct job_source **source,
                     struct diag *diag)
{
    static const struct row_format rows = {.csv = {.delimiter = '\t'}, .no_header = true, .positions = positions,
                                           .columns = columns, .n_columns = N_COLUMNS, .row = read_job};
    return file_trace_jobs(&rows, params, options, source, diag);
}

const struct trace_format trace_shockwave = {
    .name = "shockwave",
    .summary = "Shockwave's traces; types are MODEL-BATCH-GPUS-MODE-EPOCHS",
    .source = "Zheng et al., NSDI 2023; uw-mad-dash/shockwave, scheduler/traces",
    .published = {"https://github.com/uw-mad-dash/shockwave", "scheduler/traces/reproduce", "MIT"},
    .params = file_trace_job_params,
    .params_bytes = sizeof(struct job_file),
    .first_row = "^[A-Za-z0-9-]+ \\(batch size [0-9]+\\)\t",
    .open_jobs = open_jobs};

/* --- Batch sizes of types --- */

struct stated_rate {
    const char *type; /* MODEL-BATCH-GPUS */
    double steps_per_s;
};

struct shockwave_params {
    const char *path;
    struct config_list rates; /* struct stated_rate */
};

/* A row of the file. */
struct profiled {
    struct trained job;
    double duration_s;
    int64_t line;
    double steps_per_s; /* of the longest job that begins with this batch on these GPUs */
    bool is_first;      /* of its type in the file */
};

struct shockwave_file {
    const struct shockwave_params *params;
    struct csv *csv;
    struct arena *arena;
    struct config_list rows; /* struct profiled */
    const struct profiled **sorted; /* [rows.n] by model, batch and GPUs, then by type, then by line */
    bool *are_used;          /* of the rates */
};

static int row_error(const struct csv *csv, int column, const char *problem, struct diag *diag)
{
    char where[DIAG_WHERE_CHARS];
    csv_where(csv, (size_t)positions[column], 0, where);
    return diag_error(diag, SIM_E_DATA, where, NULL, "%s", problem);
}

/* A number of at least 1 in the column. */
static bool read_whole(const struct csv *csv, int column, int64_t *value)
{
    const struct csv_field field = csv_fields(csv)[positions[column]];
    return number_i64(field.chars, field.n_chars, value) == NUMBER_OK && *value >= 1 && *value <= INT32_MAX;
}

static int read_row(const struct csv *csv, struct profiled *row, struct diag *diag)
{
    const struct csv_field *fields = csv_fields(csv);
    if (csv_n_fields(csv) <= (size_t)positions[ARRIVAL])
        return row_error(csv, ARRIVAL, "a row must have 12 fields, separated by tabs", diag);
    const char *problem = read_job_type(fields[positions[JOB_TYPE]], &row->job);
    if (problem != NULL) return row_error(csv, JOB_TYPE, problem, diag);
    if ((problem = read_mode(fields[positions[MODE]], &row->job)) != NULL) return row_error(csv, MODE, problem, diag);
    if (!read_whole(csv, STEPS, &row->job.steps))
        return row_error(csv, STEPS, "steps must be a whole number of at least 1", diag);
    if (!read_whole(csv, GPUS, &row->job.gpus))
        return row_error(csv, GPUS, "GPUs must be a whole number of at least 1", diag);
    const struct csv_field duration = fields[positions[DURATION]];
    if (number_f64(duration.chars, duration.n_chars, &row->duration_s) != NUMBER_OK || !(row->duration_s > 0))
        return row_error(csv, DURATION, "a duration must be a number of seconds above 0", diag);
    row->job.epochs = growth_epochs(row->job.model, row->job.batch, row->job.steps);
    row->line = csv_line(csv);
    if (row->job.epochs > MOST_EPOCHS) return row_error(csv, STEPS, "steps are of more than a million epochs", diag);
    return 0;
}

static int compare_whole(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* By what jobs begin with: model, batch and GPUs. */
static int compare_begins(const struct trained *a, const struct trained *b)
{
    const int models = strcmp(a->model->name, b->model->name);
    if (models != 0) return models;
    return a->batch != b->batch ? compare_whole(a->batch, b->batch) : compare_whole(a->gpus, b->gpus);
}

static int compare_types(const struct trained *a, const struct trained *b)
{
    const int begins = compare_begins(a, b);
    if (begins != 0) return begins;
    return a->mode != b->mode ? (int)a->mode - (int)b->mode : compare_whole(a->epochs, b->epochs);
}

static int compare_rows(const void *one, const void *other)
{
    const struct profiled *a = *(const struct profiled *const *)one, *b = *(const struct profiled *const *)other;
    const int types = compare_types(&a->job, &b->job);
    return types != 0 ? types : compare_whole(a->line, b->line);
}

/* Whether `row` tells the speed more exactly: it is longer, or as long and earlier in the file. */
static bool is_better(const struct profiled *row, const struct profiled *best)
{
    return row->duration_s > best->duration_s || (row->duration_s == best->duration_s && row->line < best->line);
}

/* Sorts the rows; notes of each the speed of those that begin alike, and whether it is the first of its type. */
static int sort_rows(struct shockwave_file *file)
{
    struct profiled *rows = file->rows.items;
    const size_t n = file->rows.n;
    struct profiled **sorted = arena_alloc(file->arena, (n + 1) * sizeof *sorted);
    if (sorted == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n; i++) sorted[i] = &rows[i];
    qsort(sorted, n, sizeof *sorted, compare_rows);
    for (size_t i = 0, end; i < n; i = end) {
        const struct profiled *best = sorted[i];
        for (end = i; end < n && compare_begins(&sorted[end]->job, &sorted[i]->job) == 0; end++)
            if (is_better(sorted[end], best)) best = sorted[end];
        for (size_t k = i; k < end; k++) {
            sorted[k]->steps_per_s = (double)best->job.steps / best->duration_s;
            sorted[k]->is_first = k == 0 || compare_types(&sorted[k - 1]->job, &sorted[k]->job) != 0;
        }
    }
    file->sorted = (const struct profiled **)sorted;
    return 0;
}

/* Some row that begins with this batch on the GPUs of the job; NULL: none does. */
static const struct profiled *find_row(const struct shockwave_file *file, const struct trained *job, int64_t batch)
{
    struct trained wanted = *job;
    size_t low = 0, high = file->rows.n;
    wanted.batch = batch;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = compare_begins(&file->sorted[middle]->job, &wanted);
        if (order == 0) return file->sorted[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Steps per second with this batch size: as `rates` states, else of the longest job that begins with it, whose rounded
 * duration is the most exact. 0: there is none. */
static double rate_of(const struct shockwave_file *file, const struct trained *job, int64_t batch)
{
    char name[REQUEST_CLASS_CHARS + 1];
    snprintf(name, sizeof name, "%s-%" PRId64 "-%" PRId64, job->model->name, batch, job->gpus);
    const struct stated_rate *rate = file->params->rates.items;
    for (size_t i = 0; i < file->params->rates.n; i++, rate++)
        if (strcmp(rate->type, name) == 0) {
            file->are_used[i] = true;
            return rate->steps_per_s;
        }
    const struct profiled *row = find_row(file, job, batch);
    return row != NULL ? row->steps_per_s : 0.0;
}

/* Appends the regimes of a job: runs of epochs with one batch size. */
static int add_regimes(const struct shockwave_file *file, const struct profiled *row, struct config_list *regimes,
                       struct diag *diag)
{
    const struct trained *job = &row->job;
    const double first_per_s = rate_of(file, job, job->batch);
    for (int64_t from = 0, to; from < job->epochs; from = to) {
        const int64_t batch = growth_batch(job->model, job->mode, job->batch, job->gpus, job->epochs, from);
        for (to = from + 1; to < job->epochs; to++)
            if (growth_batch(job->model, job->mode, job->batch, job->gpus, job->epochs, to) != batch) break;
        const double per_s = rate_of(file, job, batch);
        if (!(per_s > 0))
            return diag_error(diag, SIM_E_DATA, file->params->path, "state it in 'rates'",
                              "line %" PRId64 ": no job begins as %s-%" PRId64 "-%" PRId64
                              ", so its steps per second are unknown",
                              row->line, job->model->name, batch, job->gpus);
        const double speed = per_s * (double)batch / (first_per_s * (double)job->batch);
        if (!(speed >= 1e-3 && speed <= 1e3))
            return diag_error(diag, SIM_E_DATA, file->params->path, "look at its steps and duration, or at 'rates'",
                              "line %" PRId64 ": with batch size %" PRId64 " the job is %g times as fast as at first",
                              row->line, batch, speed);
        const struct job_regime regime = {.epochs = (double)(to - from), .steps_per_s = per_s,
                                          .speed = speed};
        if (config_list_append(regimes, file->arena, &regime, sizeof regime) != 0) return diag_nomem(diag);
    }
    return 0;
}

/* Adds the type of a row, unless an earlier row has it. */
static int add_type(const struct shockwave_file *file, const struct profiled *row, struct config_list *profiles,
                    struct diag *diag)
{
    char name[REQUEST_CLASS_CHARS + 1];
    if (!row->is_first) return 0;
    name_type(&row->job, name);
    struct job_profile profile = {.type = arena_printf(file->arena, "%s", name)};
    if (profile.type == NULL) return diag_nomem(diag);
    int code = add_regimes(file, row, &profile.regimes, diag);
    if (code != 0) return code;
    return config_list_append(profiles, file->arena, &profile, sizeof profile) == 0 ? 0 : diag_nomem(diag);
}

static void warn_unused(const struct shockwave_file *file, struct diag *diag)
{
    const struct stated_rate *rates = file->params->rates.items;
    for (size_t i = 0; i < file->params->rates.n; i++)
        if (!file->are_used[i])
            diag_warning(diag, file->params->path, "names are MODEL-BATCH-GPUS, such as lm-40-1",
                         "no job has a batch of '%s', which 'rates' names", rates[i].type);
}

static int read_types(const void *params, struct arena *arena, struct config_list *profiles, struct diag *diag)
{
    struct shockwave_file file = {.params = params, .arena = arena};
    struct input *input;
    *profiles = (struct config_list){0};
    int code = input_open(file.params->path, &input, diag);
    if (code == 0) code = csv_create(input, &tabs, &file.csv, diag);
    if (code != 0) return code;
    file.are_used = arena_alloc(arena, (file.params->rates.n + 1) * sizeof *file.are_used);
    if (file.are_used == NULL) code = diag_nomem(diag);
    for (size_t i = 0; code == 0 && i < file.params->rates.n; i++) file.are_used[i] = false;
    while (code == 0 && (code = csv_next(file.csv, diag)) == 1) {
        struct profiled row = {0};
        code = read_row(file.csv, &row, diag);
        if (code == 0 && config_list_append(&file.rows, arena, &row, sizeof row) != 0) code = diag_nomem(diag);
        if (code != 0) break;
    }
    if (code == 0 && sort_rows(&file) != 0) code = diag_nomem(diag);
    for (size_t i = 0; i < file.rows.n && code == 0; i++)
        code = add_type(&file, (const struct profiled *)file.rows.items + i, profiles, diag);
    if (code == 0) warn_unused(&file, diag);
    csv_destroy(file.csv);
    return code;
}

#define ROW_OF struct stated_rate
static const struct config_field rate_item[] = {
    {.kind = CONFIG_REAL, .offset = offsetof(struct stated_rate, steps_per_s), .min = 1e-9, .max = 1e9,
     .help = "steps per second"},
    {0}};
#undef ROW_OF

#define ROW_OF struct shockwave_params
static const struct config_field type_params[] = {
    ROW_PATH("path", path, REQUIRED, "the file, plain or gzip-compressed"),
    ROW_MAP("rates", rates, OPTIONAL, ANY, struct stated_rate, rate_item,
            "steps per second of MODEL-BATCH-GPUS, instead of those of the file's jobs"),
    {0}};
#undef ROW_OF

const struct job_profile_format job_profile_shockwave = {
    .name = "shockwave",
    .summary = "Shockwave's trace: batch sizes of its jobs, and their speeds",
    .source = "Zheng et al., NSDI 2023; uw-mad-dash/shockwave, scheduler/utils.py",
    .params = type_params,
    .params_bytes = sizeof(struct shockwave_params),
    .read = read_types};
