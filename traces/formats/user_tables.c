/* Tables whose columns the user names: "columns": {"arrival": "TIMESTAMP", ...}, or numbers ("1" is the first) when the
 * file has no header. With the default names, csv and csv-jobs read what `orrery trace convert` writes.
 *
 * Times are seconds, or calendar times if the first row has one; "time_unit" names another unit. Numeric times count
 * from the file's own zero, calendar times and Unix times (seconds from 10^9 on) from the first record; "origin"
 * changes that. The first row shows what separates columns. Lines that begin with '#' are comments. */
#include "traces/formats/file_trace.h"
#include "traces/registry.h"

#include "sim/core/key_map.h"
#include "sim/core/mem.h"
#include "sim/core/number.h"
#include "sim/core/vec.h"

#include <string.h>

enum { ORIGIN_AUTO, ORIGIN_ZERO, ORIGIN_FIRST };
enum { DELIMITER_AUTO, DELIMITER_COMMA, DELIMITER_SEMICOLON, DELIMITER_TAB, DELIMITER_PIPE, DELIMITER_BLANKS };
enum { UNIT_AUTO }; /* of time_unit_names, followed by enum time_unit */

static const char *const delimiter_names[] = {"auto", "comma", "semicolon", "tab", "pipe", "blanks", NULL};
static const char *const origin_names[] = {"auto", "zero", "first", NULL};

struct user_table {
    int time_unit; /* UNIT_AUTO, or enum time_unit + 1 */
    int delimiter; /* of delimiter_names */
    int origin;
    bool header;
};

#define USER_TABLE_PARAMS                                                                                              \
    ROW_CHOICE("time_unit", table.time_unit, DEFAULT("auto"), time_unit_names,                                         \
               "unit of the time column; timestamp: calendar times; auto: these if the first row has one, else s"),    \
        ROW_CHOICE("delimiter", table.delimiter, DEFAULT("auto"), delimiter_names,                                     \
                   "separator of columns; auto: as in the first row"),                                                 \
        ROW_CHOICE("origin", table.origin, DEFAULT("auto"), origin_names,                                              \
                   "time 0 of the run: that of the file (zero) or the first record (first); auto: first for calendar and Unix times, else zero"),                \
        ROW_BOOL("header", table.header, DEFAULT("true"), "the first row names the columns")

/* 0-based; -1 when the text is not the number of a column. */
static int column_number(const char *text)
{
    int64_t number;
    if (number_i64(text, strlen(text), &number) != NUMBER_OK || number < 1 || number > INT32_MAX) return -1;
    return (int)(number - 1);
}

/* Sets how rows and times are written. */
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
    format->guess_unit = table->time_unit == UNIT_AUTO;
    format->time_unit = format->guess_unit ? TIME_S : (enum time_unit)(table->time_unit - 1);
    format->guess_origin = table->origin == ORIGIN_AUTO;
    format->from_first = table->origin == ORIGIN_FIRST ||
                         (table->origin == ORIGIN_AUTO && format->time_unit == TIME_CALENDAR);
}

/* Sets `format` as the user chose, with its columns in the two arrays of `n`. In a file without header, an optional
 * column that is not given as a number is absent. Returns 0 or SIM_E_CONFIG. */
static int user_columns(const struct user_table *table, const char *const *names, const bool *optional, size_t n,
                        const char *where, struct csv_column *columns, int *positions, struct row_format *format,
                        struct diag *diag)
{
    table_rows(table, format);
    format->positions = positions;
    for (size_t i = 0; i < n; i++) {
        columns[i] = (struct csv_column){.name = names[i], .optional = optional[i]};
        positions[i] = column_number(names[i]);
        if (!table->header && positions[i] < 0 && !optional[i]) {
            return diag_error(diag, SIM_E_CONFIG, where, "the first column is \"1\"",
                              "without a header, columns are numbers, got '%s'", names[i]);
        }
    }
    return 0;
}

/* --- csv --- */

/* Any table of requests. By default: arrival_s,prompt_tokens,output_tokens and, if known, prefix_blocks (ids separated
 * by blanks), chunks (id:tokens, separated by blanks) and class. Requests with 0 tokens on either side are left out and
 * counted. */
enum { ARRIVAL, PROMPT, OUTPUT, PREFIX, CHUNKS, CLASS, REQUEST_COLUMNS };

struct csv_params {
    struct trace_file file;
    struct user_table table;
    int64_t block_tokens;
    const char *columns[REQUEST_COLUMNS]; /* CLASS: NULL when the user has not named it */
};

struct csv_state {
    struct prefix_blocks *blocks;
    struct prompt_chunk *chunks;
    size_t n_chunks, capacity;
};

static void csv_state_destroy(void *state)
{
    struct csv_state *csv = state;
    if (csv == NULL) return;
    prefix_blocks_destroy(csv->blocks);
    mem_free(csv->chunks);
    mem_free(csv);
}

static void *csv_state_create(void)
{
    struct csv_state *csv = mem_zalloc(1, sizeof *csv);
    if (csv != NULL) csv->blocks = prefix_blocks_create();
    if (csv != NULL && csv->blocks != NULL) return csv;
    csv_state_destroy(csv);
    return NULL;
}

/* "17:512 4:480": the chunks with which the prompt begins. */
static bool read_chunks(struct reader *reader, struct request_record *request)
{
    struct csv_state *csv = reader->format.state;
    const struct csv_field field = reader_text(reader, CHUNKS);
    const char *at = field.chars, *end = at + field.n_chars;
    int64_t sum = 0;
    csv->n_chunks = 0;
    while (at < end) {
        const char *blank = memchr(at, ' ', (size_t)(end - at));
        const size_t n_chars = (size_t)((blank != NULL ? blank : end) - at);
        const char *colon = memchr(at, ':', n_chars);
        const size_t n_id = colon != NULL ? (size_t)(colon - at) : 0;
        int64_t id = -1, tokens = 0;
        const bool is_read = colon != NULL && number_i64(at, n_id, &id) == NUMBER_OK &&
                             number_i64(colon + 1, n_chars - n_id - 1, &tokens) == NUMBER_OK;
        sum += tokens > 0 && tokens <= request->prompt_tokens ? tokens : INT32_MAX;
        if (!is_read || id < 0 || sum > request->prompt_tokens) {
            reader_bad(reader, CHUNKS, NULL, "'%s' must be chunks such as 17:512 within the prompt, got '%.*s'",
                       reader->columns[CHUNKS].name, (int)(n_chars < 60 ? n_chars : 60), at);
            return false;
        }
        const struct prompt_chunk chunk = {(uint64_t)id, (int32_t)tokens};
        if (vec_push(&csv->chunks, &csv->n_chunks, &csv->capacity, chunk) != 0) return reader_no_memory(reader);
        at += n_chars + (blank != NULL);
    }
    request->n_chunks = (int32_t)csv->n_chunks;
    request->chunks = csv->n_chunks > 0 ? csv->chunks : NULL;
    return true;
}

/* "17 4 250": the ids of the prompt's blocks. */
static bool read_prefix(struct reader *reader, int64_t block_tokens, struct request_record *request)
{
    struct csv_state *csv = reader->format.state;
    struct prefix_blocks *blocks = csv->blocks;
    struct csv_field field = reader_text(reader, PREFIX);
    const char *at = field.chars, *end = at + field.n_chars;
    blocks->n = 0;
    while (at < end) {
        const char *blank = memchr(at, ' ', (size_t)(end - at));
        size_t n_chars = (size_t)((blank != NULL ? blank : end) - at);
        int64_t id;
        if (number_i64(at, n_chars, &id) != NUMBER_OK || id < 0) {
            reader_bad(reader, PREFIX, NULL, "'%s' must be block ids separated by blanks, got '%.*s'",
                       reader->columns[PREFIX].name, (int)(n_chars < 60 ? n_chars : 60), at);
            return false;
        }
        if (!prefix_blocks_add(blocks, (uint64_t)id)) return reader_no_memory(reader);
        at += n_chars + (blank != NULL);
    }
    prefix_blocks_give(blocks, block_tokens, request);
    return true;
}

static enum row_result read_request(struct reader *reader, union trace_record *record)
{
    const struct csv_params *params = (const struct csv_params *)reader->file;
    sim_ns arrival_ns;
    int64_t prompt, output;
    if (!reader_table_time(reader, ARRIVAL, &arrival_ns) || !reader_tokens(reader, PROMPT, &prompt) ||
        !reader_tokens(reader, OUTPUT, &output)) {
        return ROW_BAD;
    }
    enum row_result result = reader_request(reader, record, arrival_ns, prompt, output);
    if (result != ROW_KEPT) return result;
    if (!read_prefix(reader, params->block_tokens, &record->request) || !read_chunks(reader, &record->request) ||
        !reader_class(reader, CLASS, &record->request.class_name))
        return ROW_BAD;
    return ROW_KEPT;
}

static int open_requests(const void *params, const struct source_options *options, struct request_source **source,
                         struct diag *diag)
{
    const struct csv_params *csv = params;
    const bool names_class = csv->columns[CLASS] != NULL;
    const bool optional[REQUEST_COLUMNS] = {[PREFIX] = true, [CHUNKS] = true, [CLASS] = !names_class};
    const char *names[REQUEST_COLUMNS];
    struct csv_column columns[REQUEST_COLUMNS];
    int positions[REQUEST_COLUMNS];
    struct row_format rows = {.requests = true,
                              .columns = columns,
                              .n_columns = REQUEST_COLUMNS,
                              .row = read_request,
                              .destroy_state = csv_state_destroy};
    memcpy(names, csv->columns, sizeof names);
    if (!names_class) names[CLASS] = "class";
    int code = user_columns(&csv->table, names, optional, REQUEST_COLUMNS, options->where, columns, positions, &rows,
                            diag);
    if (code != 0) return code;
    rows.state = csv_state_create();
    if (rows.state == NULL) return diag_nomem(diag);
    return file_trace_requests(&rows, &csv->file, options, source, diag);
}

#define ROW_OF struct csv_params
static const struct config_field request_columns[] = {
    ROW_TEXT("arrival", columns[ARRIVAL], DEFAULT("arrival_s"), ANY, "time of arrival"),
    ROW_TEXT("prompt", columns[PROMPT], DEFAULT("prompt_tokens"), ANY, "prompt length in tokens"),
    ROW_TEXT("output", columns[OUTPUT], DEFAULT("output_tokens"), ANY, "output length in tokens"),
    ROW_TEXT("prefix", columns[PREFIX], DEFAULT("prefix_blocks"), ANY, "ids of the prompt's blocks; may be absent"),
    ROW_TEXT("chunks", columns[CHUNKS], DEFAULT("chunks"), ANY, "chunks of the prompt: 17:512; may be absent"),
    ROW_TEXT("class", columns[CLASS], OPTIONAL, WITHIN(1, 4096),
             "class of the request; default: the column \"class\", if present"),
    {0}};

static const struct config_field request_params[] = {
    TRACE_TIME_PARAMS,
    TRACE_LENGTH_PARAMS,
    TRACE_FILE_PARAMS("false"),
    USER_TABLE_PARAMS,
    PREFIX_BLOCK_PARAM,
    {.name = "columns", .kind = CONFIG_SECTION, .fields = request_columns, .help = "names or numbers of the columns"},
    {0}};
#undef ROW_OF

const struct trace_format trace_csv = {.name = "csv",
                                       .summary = "any table of requests, with your own column names",
                                       .source = "",
                                       .params = request_params,
                                       .params_bytes = sizeof(struct csv_params),
                                       .header = "arrival_s,prompt_tokens,output_tokens",
                                       .open_requests = open_requests};

/* --- csv-jobs --- */

/* Any table of jobs. Only submission, duration and GPUs are required. Empty fields of the others mean: the 0-based row
 * (job_id, also where it is no number), free choice (nodes), a whole GPU (gpu_milli), the duration (estimate), no name
 * (group, user, type), completed (fate; the other two are cancelled and failed), no other job (after). A job comes
 * after the jobs of earlier rows whose ids "after" lists, separated by blanks; "7:1.5" adds 1.5 s for the data of job 7
 * to come to another node, "7!" lets job 7 keep its GPUs until this job starts, and "2of 3 7 8" waits for two of
 * three. */
enum { SUBMIT, DURATION, GPUS, ID, NODES, GPU_MILLI, ESTIMATE, GROUP, USER, TYPE, FATE, AFTER, JOB_COLUMNS };

static const struct status_word statuses[] = {
    {"completed", JOB_COMPLETES}, {"cancelled", JOB_IS_CANCELLED}, {"failed", JOB_FAILS}, {NULL, JOB_COMPLETES}};

struct csv_jobs_params {
    struct job_file job_file;
    struct user_table table;
    int duration_unit; /* enum time_unit - 1: a duration is no calendar time */
    const char *columns[JOB_COLUMNS];
};

static bool read_optional_i32(struct reader *reader, int column, int32_t max, int32_t *value)
{
    return !reader_has(reader, column) || reader_i32(reader, column, 0, max, value);
}

static bool read_optional(struct reader *reader, const struct csv_jobs_params *params, struct job_record *job)
{
    enum time_unit unit = (enum time_unit)(params->duration_unit + 1);
    if (reader_has(reader, ESTIMATE) && !reader_duration(reader, ESTIMATE, unit, &job->estimate_ns)) return false;
    if (!read_optional_i32(reader, NODES, INT32_MAX, &job->nodes)) return false;
    if (!read_optional_i32(reader, GPU_MILLI, 1000, &job->gpu_milli)) return false;
    job->status = file_trace_status(reader, FATE, statuses);
    return file_trace_names(reader, ID, GROUP, USER, TYPE, job);
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
    if (!reader_table_time(reader, SUBMIT, &job->submit_ns) ||
        !reader_duration(reader, DURATION, (enum time_unit)(params->duration_unit + 1), &job->duration_ns) ||
        !reader_i32(reader, GPUS, 0, INT32_MAX, &job->gpus) || !read_optional(reader, params, job) ||
        !read_needs(reader, job)) {
        return ROW_BAD;
    }
    return file_trace_job(reader, job);
}

static int open_jobs(const void *params, const struct source_options *options, struct job_source **source,
                     struct diag *diag)
{
    static const bool optional[JOB_COLUMNS] = {
        [ID] = true,   [NODES] = true, [GPU_MILLI] = true, [ESTIMATE] = true, [GROUP] = true,
        [USER] = true, [TYPE] = true,  [FATE] = true,      [AFTER] = true};
    const struct csv_jobs_params *jobs = params;
    struct csv_column columns[JOB_COLUMNS];
    int positions[JOB_COLUMNS];
    struct row_format rows = {.columns = columns, .n_columns = JOB_COLUMNS, .row = read_job,
                              .destroy_state = destroy_submissions};
    int code = user_columns(&jobs->table, jobs->columns, optional, JOB_COLUMNS, options->where, columns, positions,
                            &rows, diag);
    if (code != 0) return code;
    rows.state = mem_zalloc(1, sizeof(struct key_map));
    return rows.state == NULL ? diag_nomem(diag) : file_trace_jobs(&rows, &jobs->job_file, options, source, diag);
}

#define ROW_OF struct csv_jobs_params
static const struct config_field job_columns[] = {
    ROW_TEXT("submit", columns[SUBMIT], DEFAULT("submit_s"), ANY, "time of submission"),
    ROW_TEXT("duration", columns[DURATION], DEFAULT("duration_s"), ANY, "run time on the requested GPUs"),
    ROW_TEXT("gpus", columns[GPUS], DEFAULT("gpus"), ANY, "GPUs requested"),
    ROW_TEXT("id", columns[ID], DEFAULT("job_id"), ANY, "number of the job, else of its row (from 0)"),
    ROW_TEXT("nodes", columns[NODES], DEFAULT("nodes"), ANY, "nodes requested"),
    ROW_TEXT("gpu_milli", columns[GPU_MILLI], DEFAULT("gpu_milli"), ANY, "share of a GPU that a job of one GPU requests, in 1/1000"),
    ROW_TEXT("estimate", columns[ESTIMATE], DEFAULT("estimate_s"), ANY, "run time estimated by the user"),
    ROW_TEXT("group", columns[GROUP], DEFAULT("group"), ANY, "virtual cluster, partition or type"),
    ROW_TEXT("user", columns[USER], DEFAULT("user"), ANY, "user that submitted the job"),
    ROW_TEXT("type", columns[TYPE], DEFAULT("type"), ANY, "name of its entry under \"jobs.types\""),
    ROW_TEXT("fate", columns[FATE], DEFAULT("fate"), ANY, "final status: completed, cancelled or failed"),
    ROW_TEXT("after", columns[AFTER], DEFAULT("after"), ANY,
             "ids of the jobs that must have ended before; may be absent"),
    {0}};

static const struct config_field job_params[] = {
    TRACE_TIME_PARAMS,
    TRACE_FILE_PARAMS("false"),
    TRACE_JOB_PARAMS,
    USER_TABLE_PARAMS,
    ROW_CHOICE("duration_unit", duration_unit, DEFAULT("s"), time_unit_names + 2,
               "unit of the duration and estimate columns"),
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
