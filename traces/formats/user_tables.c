/* Tables whose columns the user names: "columns": {"arrival": "TIMESTAMP", ...}, or numbers ("1" is the first) when
 * the file has no header. With the default names, csv and csv-jobs read what `orrery trace convert` writes.
 *
 * Times are seconds, or calendar times if the first row has one; "time_unit" names another unit. Numeric times count
 * from the file's own zero, calendar times and Unix times (seconds from 10^9 on) from the first record; "origin"
 * changes that, also to a calendar time, which several files may share. The first row shows what separates columns.
 * Lines that begin with '#' are comments. */
#include "traces/formats/user_table.h"

#include "traces/registry.h"

#include "sim/core/key_map.h"
#include "sim/core/mem.h"
#include "sim/core/number.h"

#include <string.h>

enum { DELIMITER_AUTO, DELIMITER_COMMA, DELIMITER_SEMICOLON, DELIMITER_TAB, DELIMITER_PIPE, DELIMITER_BLANKS };
enum { UNIT_AUTO }; /* of time_unit_names, followed by enum time_unit */

const char *const user_delimiter_names[] = {"auto", "comma", "semicolon", "tab", "pipe", "blanks", NULL};

/* 0-based; -1 when the text is not the number of a column. */
static int column_number(const char *text)
{
    int64_t number;
    if (number_i64(text, strlen(text), &number) != NUMBER_OK || number < 1 || number > INT32_MAX) return -1;
    return (int)(number - 1);
}

int user_times(const struct user_time *time, const char *where, struct row_format *format, struct diag *diag)
{
    const bool is_auto = strcmp(time->origin, "auto") == 0, is_first = strcmp(time->origin, "first") == 0;
    format->guess_unit = time->unit == UNIT_AUTO;
    format->time_unit = format->guess_unit ? TIME_S : (enum time_unit)(time->unit - 1);
    format->guess_origin = format->tells_origin = is_auto;
    format->from_first = is_first || (is_auto && format->time_unit == TIME_CALENDAR);
    if (is_auto || is_first || strcmp(time->origin, "zero") == 0) return 0;
    const enum number_status status = number_timestamp(time->origin, strlen(time->origin), &format->origin_ns);
    if (status == NUMBER_OK && format->origin_ns > 0 && format->origin_ns <= READER_MAX_CALENDAR_NS) return 0;
    return diag_error(diag, SIM_E_CONFIG, where, "write auto, zero, first, or a time such as 2026-03-01T00:00:00Z",
                      "'origin' must be a time after 1970 and before 2116, got '%s'", time->origin);
}

/* Sets how rows are written. */
static void table_rows(const struct user_table *table, struct row_format *format)
{
    static const char delimiters[] = {[DELIMITER_COMMA] = ',',
                                      [DELIMITER_SEMICOLON] = ';',
                                      [DELIMITER_TAB] = '\t',
                                      [DELIMITER_PIPE] = '|',
                                      [DELIMITER_BLANKS] = 0};
    const bool blanks = table->delimiter == DELIMITER_BLANKS;
    format->csv = (struct csv_options){.dialect = blanks ? CSV_DIALECT_BLANKS : CSV_DIALECT_DELIMITED,
                                       .delimiter = delimiters[table->delimiter],
                                       .comment = '#',
                                       .guess_delimiter = table->delimiter == DELIMITER_AUTO,
                                       .by_user = true};
    format->no_header = !table->header;
}

/* Whether the user has named the column. A misspelt name must not go unnoticed. */
static bool is_named_by_user(const char *name, const struct config_field *field)
{
    return name[0] != 0 && field->value != NULL && strcmp(name, field->value) != 0;
}

int user_columns(const struct user_table *table, const char *const *names, const bool *optional,
                 const struct config_field *fields, size_t n, const char *where, struct csv_column *columns,
                 int *positions, struct row_format *format, struct diag *diag)
{
    table_rows(table, format);
    format->positions = positions;
    for (size_t i = 0; i < n; i++) {
        const bool may_lack = optional[i] && !is_named_by_user(names[i], &fields[i]);
        columns[i] = (struct csv_column){.name = names[i], .optional = may_lack};
        positions[i] = column_number(names[i]);
        if (!table->header && positions[i] < 0 && !may_lack) {
            return diag_error(diag, SIM_E_CONFIG, where, "the first column is \"1\"",
                              "without a header, columns are numbers, got '%s'", names[i]);
        }
    }
    return 0;
}

/* --- csv-jobs --- */

/* Any table of jobs. Only submission, duration and GPUs are required. A job without GPUs and run time never ran and is
 * left out; a job of CPUs alone has 0 GPUs. Empty fields of the others mean: the 0-based row
 * (job_id, also where it is no number), free choice (nodes), a whole GPU (gpu_milli), the duration (estimate), no name
 * (group, user, type), completed (fate; others are cancelled, failed and the states of Slurm), any model (gpu_models,
 * "V100|A100"), unknown (cpu_milli, memory_bytes), no other job (after). A job comes after the jobs of earlier rows
 * whose ids "after" lists, separated by blanks; "7:1.5" adds 1.5 s for the data of job 7 to come to another node, "7!"
 * lets job 7 keep its GPUs until this job starts, and "2of 3 7 8" waits for two of three. */
enum { SUBMIT, DURATION, GPUS, ID, NODES, GPU_MILLI, ESTIMATE, GROUP, USER, TYPE, FATE, MODELS, CPU_MILLI, MEMORY, AFTER, JOB_COLUMNS };

/* Also those of Slurm, but for jobs that have not ended. */
static const struct status_word statuses[] = {
    {"completed", JOB_COMPLETES}, {"cancelled", JOB_IS_CANCELLED}, {"failed", JOB_FAILS},
    {"timeout", JOB_FAILS},       {"deadline", JOB_FAILS},         {"node_fail", JOB_FAILS},
    {"boot_fail", JOB_FAILS},     {"out_of_memory", JOB_FAILS},    {"preempted", JOB_IS_CANCELLED},
    {NULL, JOB_COMPLETES}};

struct csv_jobs_params {
    struct job_file job_file;
    struct user_time time;
    struct user_table table;
    int duration_unit; /* enum time_unit - 1: a duration is no calendar time */
    int estimate_unit; /* likewise; 0: duration_unit */
    const char *columns[JOB_COLUMNS];
};

#define MOST_CPU_MILLI INT64_C(1000000000000)
#define MOST_MEMORY_BYTES INT64_C(1000000000000000000)

/* --- Fields as sacct writes them --- */

/* Whether sacct lists resources of this name: those that Slurm always counts, and of any generic kind. */
static bool is_resource(const char *name, size_t n_chars)
{
    static const char *const names[] = {"cpu", "mem", "node", "billing", "energy", "vmem", "pages"};
    static const char *const kinds[] = {"gres/", "license/", "bb/", "fs/", "ic/"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (n_chars == strlen(names[i]) && memcmp(name, names[i], n_chars) == 0) return true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (n_chars > strlen(kinds[i]) && memcmp(name, kinds[i], strlen(kinds[i])) == 0) return true;
    return false;
}

/* The number behind a name of sacct's list of resources, such as "cpu=64,gres/gpu:a100=8,gres/gpu=8,node=1". Without
 * "gres/gpu" it is the sum over models, "gres/gpu:MODEL"; 0 without either. Returns false if a number or a name is
 * none. */
static bool tres_gpus(struct csv_field field, int64_t *gpus)
{
    static const char name[] = "gres/gpu";
    const size_t n_name = sizeof name - 1;
    const char *at = field.chars, *const end = at + field.n_chars;
    for (*gpus = 0; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma != NULL ? comma : end;
        const char *is = memchr(at, '=', (size_t)(stop - at));
        const size_t n_chars = is != NULL ? (size_t)(is - at) : 0;
        if (!is_resource(at, n_chars)) return false;
        if (n_chars >= n_name && memcmp(at, name, n_name) == 0 && (n_chars == n_name || at[n_name] == ':')) {
            int64_t number;
            if (number_i64(is + 1, (size_t)(stop - is - 1), &number) != NUMBER_OK || number < 0 || number > INT32_MAX)
                return false;
            *gpus = n_chars == n_name ? number : *gpus + number;
            if (n_chars == n_name) return true;
        }
        at = stop + 1;
    }
    return *gpus <= INT32_MAX;
}

static bool has_char(struct csv_field field, char c)
{
    return field.n_chars > 0 && memchr(field.chars, c, field.n_chars) != NULL;
}

/* A number, or sacct's list of resources. */
static bool read_gpus(struct reader *reader, int32_t *gpus)
{
    const struct csv_field field = reader_text(reader, GPUS);
    int64_t number;
    double share;
    if (has_char(field, '=') && tres_gpus(field, &number)) {
        *gpus = (int32_t)number;
        return true;
    }
    if (number_f64(field.chars, field.n_chars, &share) == NUMBER_OK && share > 0 && share < 1) {
        reader_bad(reader, GPUS, "write 1, and the share in a column gpu_milli, in 1/1000",
                   "'%s' must be a whole number, got '%.*s'", reader->columns[GPUS].name, (int)field.n_chars,
                   field.chars);
        return false;
    }
    return reader_i32(reader, GPUS, 0, INT32_MAX, gpus);
}

/* Whether a duration is written as "1-02:30:00", which is refused: sacct has numbers, too. */
static bool is_clock_text(struct reader *reader, int column)
{
    const struct csv_field field = reader_text(reader, column);
    if (!has_char(field, ':')) return false;
    reader_bad(reader, column, "of sacct take ElapsedRaw, in s, or TimelimitRaw, in min",
               "'%s' must be a number, got '%.*s'", reader->columns[column].name,
               field.n_chars < 60 ? (int)field.n_chars : 60, field.chars);
    return true;
}

/* Whether sacct states no time limit. Such a job gets no estimate: that is its run time. */
static bool is_unlimited(struct reader *reader)
{
    static const char *const words[] = {"UNLIMITED", "Partition_Limit"};
    const struct csv_field field = reader_text(reader, ESTIMATE);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (field.n_chars == strlen(words[i]) && memcmp(field.chars, words[i], field.n_chars) == 0) {
            reader_note_field(reader, ESTIMATE, "no-limit",
                              "jobs without a time limit, whose run time is taken for their estimate, such as");
            return true;
        }
    return false;
}

/* A job that ended before it started: of resources that it got, sacct lists none. */
static bool never_ran(const struct reader *reader, const struct job_record *job)
{
    return job->duration_ns == 0 && !reader_has(reader, GPUS) && reader_text(reader, GPUS).n_chars == 0;
}

static bool read_optional_i32(struct reader *reader, int column, int32_t max, int32_t *value)
{
    return !reader_has(reader, column) || reader_i32(reader, column, 0, max, value);
}

static bool read_optional(struct reader *reader, const struct csv_jobs_params *params, struct job_record *job)
{
    int64_t number;
    const int estimate_unit = params->estimate_unit > 0 ? params->estimate_unit : params->duration_unit + 1;
    const enum time_unit unit = (enum time_unit)estimate_unit;
    if (reader_has(reader, ESTIMATE) && !is_unlimited(reader) &&
        (is_clock_text(reader, ESTIMATE) || !reader_duration(reader, ESTIMATE, unit, &job->estimate_ns)))
        return false;
    if (!read_optional_i32(reader, NODES, INT32_MAX, &job->nodes)) return false;
    if (!read_optional_i32(reader, GPU_MILLI, 1000, &job->gpu_milli)) return false;
    if (reader_has(reader, CPU_MILLI) && !reader_i64(reader, CPU_MILLI, 0, MOST_CPU_MILLI, &job->cpu_milli))
        return false;
    if (reader_has(reader, MEMORY) && !reader_i64(reader, MEMORY, 0, MOST_MEMORY_BYTES, &job->memory_bytes))
        return false;
    job->status = file_trace_status(reader, FATE, statuses);
    if (reader_has(reader, MODELS) && (job->gpu_models = reader_intern(reader, MODELS)) == NULL) return false;
    if (!file_trace_names(reader, ID, GROUP, USER, TYPE, job)) return false;
    if (reader_has(reader, ID) && !reader_number(reader, ID, &number))
        reader_note_field(
            reader, ID, "row-number",
            "jobs whose id is no number have that of their row; in a Slurm log, steps are such jobs (sacct "
            "-X lists none); the first id is");
    return true;
}

/* The jobs so far, where a column says what comes after what: the time of submission by id. */
static struct key_map *submissions_of(const struct reader *reader)
{
    return reader->format.state;
}

static void destroy_submissions(void *state)
{
    struct key_map *submissions = state;
    if (submissions != NULL) key_map_fini(submissions);
    mem_free(submissions);
}

/* Keys of a key_map hold numbers >= 0. */
static int64_t submission_number(const struct job_record *job)
{
    return job->submit_ns + READER_MAX_NS;
}

/* One of the jobs in the field: "7", "7:1.5", "7!" or "7:1.5!". */
static bool read_need(struct reader *reader, const struct job_record *job, const char *chars, size_t n_chars,
                      struct job_need *need)
{
    need->keeps_gpus = chars[n_chars - 1] == '!';
    n_chars -= need->keeps_gpus;
    const char *colon = memchr(chars, ':', n_chars);
    const size_t n_id = colon != NULL ? (size_t)(colon - chars) : n_chars;
    double delay_s = 0;
    bool is_good = number_i64(chars, n_id, &need->job) == NUMBER_OK && need->job >= 0;
    if (is_good && colon != NULL)
        is_good = number_f64(colon + 1, n_chars - n_id - 1, &delay_s) == NUMBER_OK && delay_s >= 0 && delay_s <= 9e9;
    if (!is_good) {
        reader_bad(reader, AFTER, "write numbers such as \"3 7:1.5 9!\"; a job without one has that of its row, from 0",
                   "'%s' must be ids of jobs separated by blanks, got '%.*s'", reader->columns[AFTER].name,
                   (int)(n_chars < 60 ? n_chars : 60), chars);
        return false;
    }
    need->delay_ns = sim_ns_from_s(delay_s);
    const int64_t submitted = key_map_find(submissions_of(reader), (uint64_t)need->job);
    if (submitted >= 0 && submitted <= submission_number(job)) return true;
    reader_bad(reader, AFTER, "write each job below those that it comes after",
               submitted < 0 ? "no row above has the job %lld" : "job %lld is submitted later", (long long)need->job);
    return false;
}

/* "2of": so many of the jobs behind it. */
static bool is_enough(const char *chars, size_t n_chars, int32_t *n_enough)
{
    int64_t n;
    if (n_chars < 3 || memcmp(chars + n_chars - 2, "of", 2) != 0) return false;
    if (number_i64(chars, n_chars - 2, &n) != NUMBER_OK || n < 1 || n > INT32_MAX) return false;
    *n_enough = (int32_t)n;
    return true;
}

static bool read_needs(struct reader *reader, struct job_record *job)
{
    const struct csv_field field = reader_text(reader, AFTER);
    const char *at = field.chars, *const end = at + field.n_chars;
    struct job_need *needs = NULL;
    int32_t n_enough = 0;
    if (reader_has(reader, AFTER)) {
        int32_t n_most = 1;
        for (const char *c = at; c < end; c++) n_most += *c == ' ';
        needs = arena_alloc(&reader->arena, (size_t)n_most * sizeof *needs);
        if (needs == NULL) return reader_no_memory(reader);
    }
    while (needs != NULL && at < end) {
        const char *blank = memchr(at, ' ', (size_t)(end - at));
        const size_t n_chars = (size_t)((blank != NULL ? blank : end) - at);
        if (at == field.chars && is_enough(at, n_chars, &job->n_enough))
            n_enough = job->n_enough;
        else if (n_chars > 0 && !read_need(reader, job, at, n_chars, &needs[job->n_needs++]))
            return false;
        at += n_chars + (blank != NULL);
    }
    if (n_enough > job->n_needs) {
        reader_bad(reader, AFTER, "lower it, or name more jobs", "%d of %d jobs cannot end", n_enough, job->n_needs);
        return false;
    }
    job->needs = needs;
    if (reader->positions[AFTER] < 0) return true;
    if (key_map_find(submissions_of(reader), (uint64_t)job->id) >= 0) {
        reader_bad(reader, ID, "give each job a number of its own", "a row above has the job %lld, too",
                   (long long)job->id);
        return false;
    }
    if (key_map_set(submissions_of(reader), (uint64_t)job->id, submission_number(job)) == 0) return true;
    return reader_no_memory(reader);
}

static enum row_result read_job(struct reader *reader, union trace_record *record)
{
    const struct csv_jobs_params *params = (const struct csv_jobs_params *)reader->file;
    struct job_record *job = &record->job;
    *job = (struct job_record){.id = reader->row};
    if (!reader_table_time(reader, SUBMIT, &job->submit_ns) || is_clock_text(reader, DURATION) ||
        !reader_duration(reader, DURATION, (enum time_unit)(params->duration_unit + 1), &job->duration_ns))
        return ROW_BAD;
    if (never_ran(reader, job)) return reader_leave_out(reader, "never-ran", "jobs without GPUs and run time left out");
    if (!read_gpus(reader, &job->gpus) || !read_optional(reader, params, job) || !read_needs(reader, job))
        return ROW_BAD;
    return file_trace_job(reader, job);
}

#define ROW_OF struct csv_jobs_params
static const struct config_field job_columns[] = {
    ROW_TEXT("submit", columns[SUBMIT], DEFAULT("submit_s"), ANY, "time of submission"),
    ROW_TEXT("duration", columns[DURATION], DEFAULT("duration_s"), ANY, "run time on the requested GPUs"),
    ROW_TEXT("gpus", columns[GPUS], DEFAULT("gpus"), ANY, "GPUs requested; Slurm's AllocTRES will do"),
    ROW_TEXT("id", columns[ID], DEFAULT("job_id"), ANY, "number of the job, else of its row (from 0)"),
    ROW_TEXT("nodes", columns[NODES], DEFAULT("nodes"), ANY, "nodes requested"),
    ROW_TEXT("gpu_milli", columns[GPU_MILLI], DEFAULT("gpu_milli"), ANY, "share of a GPU that a job of one GPU requests, in 1/1000"),
    ROW_TEXT("estimate", columns[ESTIMATE], DEFAULT("estimate_s"), ANY, "run time estimated by the user"),
    ROW_TEXT("group", columns[GROUP], DEFAULT("group"), ANY, "virtual cluster, partition or type"),
    ROW_TEXT("user", columns[USER], DEFAULT("user"), ANY, "user that submitted the job"),
    ROW_TEXT("type", columns[TYPE], DEFAULT("type"), ANY, "name of its entry under \"jobs.types\""),
    ROW_TEXT("fate", columns[FATE], DEFAULT("fate"), ANY, "final status: completed, cancelled, failed, or a final state of Slurm"),
    ROW_TEXT("gpu_models", columns[MODELS], DEFAULT("gpu_models"), ANY, "acceptable GPU models, \"V100|A100\", if nodes differ; empty: any"),
    ROW_TEXT("cpu_milli", columns[CPU_MILLI], DEFAULT("cpu_milli"), ANY, "CPU cores requested, over all nodes, in 1/1000"),
    ROW_TEXT("memory_bytes", columns[MEMORY], DEFAULT("memory_bytes"), ANY, "memory requested, over all nodes; counted on nodes with memory_per_node"),
    ROW_TEXT("after", columns[AFTER], DEFAULT("after"), ANY,
             "ids of the jobs that must have ended before; may be absent"),
    {0}};
#undef ROW_OF

static int open_jobs(const void *params, const struct source_options *options, struct job_source **source,
                     struct diag *diag)
{
    static const bool optional[JOB_COLUMNS] = {
        [ID] = true,   [NODES] = true, [GPU_MILLI] = true, [ESTIMATE] = true,  [GROUP] = true,  [USER] = true,
        [TYPE] = true, [FATE] = true,  [MODELS] = true,    [CPU_MILLI] = true, [MEMORY] = true, [AFTER] = true};
    const struct csv_jobs_params *jobs = params;
    struct csv_column columns[JOB_COLUMNS];
    int positions[JOB_COLUMNS];
    struct row_format rows = {.columns = columns, .n_columns = JOB_COLUMNS, .row = read_job,
                              .destroy_state = destroy_submissions};
    int code = user_times(&jobs->time, options->where, &rows, diag);
    if (code == 0)
        code = user_columns(&jobs->table, jobs->columns, optional, job_columns, JOB_COLUMNS, options->where, columns,
                            positions, &rows, diag);
    if (code != 0) return code;
    rows.state = mem_zalloc(1, sizeof(struct key_map));
    return rows.state == NULL ? diag_nomem(diag) : file_trace_jobs(&rows, &jobs->job_file, options, source, diag);
}

/* "as duration", then those of enum time_unit without TIME_CALENDAR. */
static const char *const estimate_unit_names[] = {"as duration", "s", "ms", "us", "ns", "min", "h", "d", NULL};

#define ROW_OF struct csv_jobs_params
static const struct config_field job_params[] = {
    TRACE_TIME_PARAMS,
    TRACE_FILE_PARAMS("false"),
    TRACE_JOB_PARAMS,
    USER_TABLE_PARAMS,
    ROW_CHOICE("duration_unit", duration_unit, DEFAULT("s"), time_unit_names + 2, "unit of the duration column"),
    ROW_CHOICE("estimate_unit", estimate_unit, DEFAULT("as duration"), estimate_unit_names,
               "unit of the estimate column; Slurm's TimelimitRaw is in min"),
    {.name = "columns", .kind = CONFIG_SECTION, .fields = job_columns, .help = "names or numbers of the columns"},
    {0}};
#undef ROW_OF

const struct trace_format trace_csv_jobs = {.name = "csv-jobs",
                                            .summary = "any table of jobs, with your own column names",
                                            .source = "",
                                            .params = job_params,
                                            .params_bytes = sizeof(struct csv_jobs_params),
                                            .header = "submit_s,duration_s,gpus",
                                            .open_jobs = open_jobs};
