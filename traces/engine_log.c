#include "traces/engine_log.h"

#include "sim/core/number.h"
#include "sim/core/vec.h"
#include "traces/formats/bench_serve.h"
#include "traces/formats/file_trace.h"
#include "traces/formats/json_line.h"
#include "traces/guess.h"
#include "traces/registry.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(bytes) mem_alloc(bytes)
#define uthash_free(block, bytes) mem_free(block)
#include <uthash.h>

/* --- Rows of either format: checked, converted to requests, and optionally kept --- */

/* The times of a request in the order in which they come. */
enum log_time { LOG_ARRIVAL, LOG_QUEUED, LOG_SCHEDULED, LOG_FIRST_TOKEN, LOG_LAST_TOKEN, LOG_TIMES };

#define LOG_TIME_UNKNOWN INT64_MIN

/* One row. If the arrival is stamped by another clock than the other times, it is more than LOG_CLOCKS_NS away. */
struct log_row {
    struct csv_field name; /* empty: the row's number */
    int64_t prompt_tokens, output_tokens;
    sim_ns times_ns[LOG_TIMES];       /* LOG_TIME_UNKNOWN: not logged; never for arrival, first and last token */
    const char *time_names[LOG_TIMES]; /* their names in the log */
    double tpot_s;                    /* NAN: from the times */
};

/* Requests end within a day; unrelated clocks differ by more. */
#define LOG_CLOCKS_NS (86400 * (int64_t)1000000000)

struct kept_row {
    int64_t id;
    const char *name;
    int64_t prompt_tokens, output_tokens;
    sim_ns times_ns[LOG_TIMES];
    double tpot_s;
};

struct known_name {
    UT_hash_handle hh;
    int64_t line;
};

/* The state of both formats (struct row_format, state). */
struct log_rows {
    bool keep;
    int64_t n_taken;
    bool two_clocks; /* for all rows, as in the first one */
    struct kept_row *kept;
    size_t n, capacity;
    struct known_name *names;
    struct arena arena;
};

/* NULL when out of memory. With `keep` the rows are kept for log_rows_entries. */
static struct log_rows *log_rows_create(bool keep)
{
    struct log_rows *rows = mem_zalloc(1, sizeof *rows);
    if (rows == NULL) return NULL;
    rows->keep = keep;
    arena_init(&rows->arena);
    return rows;
}

static void log_rows_destroy(void *state)
{
    struct log_rows *rows = state;
    if (rows == NULL) return;
    HASH_CLEAR(hh, rows->names);
    mem_free(rows->kept);
    arena_fini(&rows->arena);
    mem_free(rows);
}

static bool is_far(sim_ns a, sim_ns b)
{
    return (a > b ? a - b : b - a) > LOG_CLOCKS_NS;
}

/* Times of one clock must be in order; missing ones are skipped. */
static bool check_times(struct reader *reader, const struct log_row *row, bool two_clocks)
{
    int before = two_clocks ? LOG_QUEUED : LOG_ARRIVAL;
    for (int i = before + 1; i < LOG_TIMES; i++) {
        if (row->times_ns[i] == LOG_TIME_UNKNOWN) continue;
        const double back_s = sim_s_from_ns(row->times_ns[before]) - sim_s_from_ns(row->times_ns[i]);
        if (row->times_ns[i] < row->times_ns[before]) {
            reader_bad(reader, 0, NULL, "'%s' is %.9g s before '%s'", row->time_names[i], back_s,
                       row->time_names[before]);
            return false;
        }
        before = i;
    }
    return true;
}

static bool check_clocks(struct reader *reader, struct log_rows *rows, const struct log_row *row)
{
    const bool two_clocks = is_far(row->times_ns[LOG_ARRIVAL], row->times_ns[LOG_FIRST_TOKEN]);
    if (rows->n_taken++ == 0) rows->two_clocks = two_clocks;
    if (two_clocks != rows->two_clocks) {
        reader_bad(
            reader, 0, "a log has either one clock for all its times, or one for all arrivals and one for the rest",
            "'%s' and '%s' are %s a day apart, in the rows above they are %s", row->time_names[LOG_ARRIVAL],
            row->time_names[LOG_FIRST_TOKEN], two_clocks ? "more than" : "less than", two_clocks ? "less" : "more");
        return false;
    }
    if (!two_clocks || row->times_ns[LOG_QUEUED] != LOG_TIME_UNKNOWN) return true;
    reader_bad(reader, 0, NULL, "'%s' and '%s' are by two clocks, and '%s', which would set them, is missing",
               row->time_names[LOG_ARRIVAL], row->time_names[LOG_FIRST_TOKEN], row->time_names[LOG_QUEUED]);
    return false;
}

/* Checks that the id occurs in no earlier row. */
static bool check_name(struct reader *reader, struct log_rows *rows, const struct csv_field *name)
{
    struct known_name *known = NULL;
    HASH_FIND(hh, rows->names, name->chars, name->n_chars, known);
    if (known != NULL) {
        reader_bad(reader, 0, NULL, "request '%.*s' is also in line %" PRId64,
                   (int)(name->n_chars < 60 ? name->n_chars : 60), name->chars, known->line);
        return false;
    }
    known = arena_alloc(&rows->arena, sizeof *known);
    char *text = arena_alloc(&rows->arena, name->n_chars + 1);
    if (known == NULL || text == NULL) return reader_no_memory(reader);
    memcpy(text, name->chars, name->n_chars);
    known->line = csv_line(reader->csv);
    HASH_ADD_KEYPTR(hh, rows->names, text, name->n_chars, known);
    return HASH_COUNT(rows->names) > 0 && known->hh.tbl != NULL ? true : reader_no_memory(reader);
}

static const char *name_of(struct log_rows *rows, const struct csv_field *name, int64_t id)
{
    if (name->n_chars == 0) return arena_printf(&rows->arena, "%" PRId64, id);
    return arena_printf(&rows->arena, "%.*s", (int)name->n_chars, name->chars);
}

static int keep(struct log_rows *rows, const struct log_row *row, int64_t id)
{
    if (vec_reserve(&rows->kept, &rows->capacity, rows->n + 1) != 0) return SIM_E_NOMEM;
    struct kept_row *kept = &rows->kept[rows->n];
    *kept = (struct kept_row){.id = id,
                              .name = name_of(rows, &row->name, id),
                              .prompt_tokens = row->prompt_tokens,
                              .output_tokens = row->output_tokens,
                              .tpot_s = row->tpot_s};
    memcpy(kept->times_ns, row->times_ns, sizeof kept->times_ns);
    rows->n += kept->name != NULL;
    return kept->name != NULL ? 0 : SIM_E_NOMEM;
}

/* Checks a row, keeps it, and converts it to a request. */
static enum row_result log_rows_take(struct reader *reader, const struct log_row *row, union trace_record *record)
{
    struct log_rows *rows = reader->format.state;
    if (!check_clocks(reader, rows, row) || !check_times(reader, row, rows->two_clocks)) return ROW_BAD;
    if (row->name.n_chars > 0 && !check_name(reader, rows, &row->name)) return ROW_BAD;
    const enum row_result result = reader_request(reader, record, row->times_ns[LOG_ARRIVAL], row->prompt_tokens,
                                                  row->output_tokens);
    if (result != ROW_KEPT || !rows->keep || keep(rows, row, record->any.id) == 0) return result;
    reader_no_memory(reader);
    return ROW_BAD;
}

/* Offset from the arrivals' clock to that of the other times. */
static sim_ns clock_offset_ns(const struct log_rows *rows)
{
    sim_ns least_ns = INT64_MAX;
    if (!rows->two_clocks) return 0;
    for (size_t i = 0; i < rows->n; i++) {
        const sim_ns *times_ns = rows->kept[i].times_ns;
        const sim_ns wait_ns = times_ns[LOG_QUEUED] - times_ns[LOG_ARRIVAL];
        if (wait_ns < least_ns) least_ns = wait_ns;
    }
    return least_ns;
}

static struct log_entry entry_of(const struct kept_row *row, sim_ns offset_ns, sim_ns origin_ns)
{
    const sim_ns *times_ns = row->times_ns;
    const sim_ns arrival_ns = times_ns[LOG_ARRIVAL] + offset_ns;
    const bool decodes = row->output_tokens > 1;
    double tpot_s = row->tpot_s;
    if (isnan(tpot_s))
        tpot_s = sim_s_from_ns(times_ns[LOG_LAST_TOKEN] - times_ns[LOG_FIRST_TOKEN]) / (double)(row->output_tokens - 1);
    return (struct log_entry){
        .id = row->id,
        .name = row->name,
        .arrival_ns = times_ns[LOG_ARRIVAL] - origin_ns,
        .prompt_tokens = row->prompt_tokens,
        .output_tokens = row->output_tokens,
        .queue_s = times_ns[LOG_SCHEDULED] != LOG_TIME_UNKNOWN ? sim_s_from_ns(times_ns[LOG_SCHEDULED] - arrival_ns)
                                                               : (double)NAN,
        .ttft_s = sim_s_from_ns(times_ns[LOG_FIRST_TOKEN] - arrival_ns),
        .tpot_s = decodes ? tpot_s : (double)NAN,
        .e2e_s = sim_s_from_ns(times_ns[LOG_LAST_TOKEN] - arrival_ns),
    };
}

/* The rows that were kept, as entries in `arena`. Returns 0 or SIM_E_NOMEM. */
static int log_rows_entries(const struct log_rows *rows, struct arena *arena, struct engine_log *log)
{
    const sim_ns offset_ns = clock_offset_ns(rows);
    sim_ns origin_ns = INT64_MAX;
    log->n = rows->n;
    log->entries = arena_alloc(arena, (rows->n + 1) * sizeof *log->entries);
    if (log->entries == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < rows->n; i++)
        if (rows->kept[i].times_ns[LOG_ARRIVAL] < origin_ns) origin_ns = rows->kept[i].times_ns[LOG_ARRIVAL];
    for (size_t i = 0; i < rows->n; i++) {
        log->entries[i] = entry_of(&rows->kept[i], offset_ns, origin_ns);
        log->entries[i].name = arena_strdup(arena, rows->kept[i].name);
        if (log->entries[i].name == NULL) return SIM_E_NOMEM;
    }
    return 0;
}

static int open_log(const struct row_format *format, const void *params, const struct source_options *options,
                    struct request_source **source, struct diag *diag)
{
    struct row_format rows = *format;
    rows.state = log_rows_create(false);
    rows.destroy_state = log_rows_destroy;
    if (rows.state == NULL) return diag_nomem(diag);
    return file_trace_requests(&rows, params, options, source, diag);
}

/* --- request-log --- */

/* A table of requests served by an engine, with the measurements of each:
 *
 *     id,arrival_s,prompt_tokens,output_tokens,queue_s,ttft_s,tpot_s,e2e_s,class
 *
 * All in seconds; queue, TTFT and end-to-end time count from the arrival. id, queue_s, tpot_s and class may be absent.
 * Without tpot_s, TPOT is (e2e_s - ttft_s) / (output_tokens - 1). The trace's own time starts at the first arrival.
 * `orrery export` writes the column class for every run: if it is empty in the first row, the log has no classes. */
enum { ARRIVAL, ID, PROMPT, OUTPUT, QUEUE, TTFT, TPOT, E2E, CLASS, REQUEST_LOG_COLUMNS };

static const struct csv_column request_log_columns[REQUEST_LOG_COLUMNS] = {[ARRIVAL] = {.name = "arrival_s"},
                                                     [ID] = {.name = "id", .optional = true},
                                                     [PROMPT] = {.name = "prompt_tokens"},
                                                     [OUTPUT] = {.name = "output_tokens"},
                                                     [QUEUE] = {.name = "queue_s", .optional = true},
                                                     [TTFT] = {.name = "ttft_s"},
                                                     [TPOT] = {.name = "tpot_s", .optional = true},
                                                     [E2E] = {.name = "e2e_s"},
                                                     [CLASS] = {.name = "class", .optional = true}};

/* Sets the time that lies the span in `column` after the arrival. */
static bool read_span(struct reader *reader, int column, sim_ns arrival_ns, sim_ns *time_ns)
{
    sim_ns span_ns;
    if (!reader_duration(reader, column, TIME_S, &span_ns)) return false;
    *time_ns = arrival_ns + span_ns;
    return true;
}

static bool read_times(struct reader *reader, struct log_row *row)
{
    sim_ns *times_ns = row->times_ns;
    if (!reader_time(reader, ARRIVAL, TIME_S, &times_ns[LOG_ARRIVAL])) return false;
    const sim_ns arrival_ns = times_ns[LOG_ARRIVAL];
    times_ns[LOG_QUEUED] = times_ns[LOG_SCHEDULED] = LOG_TIME_UNKNOWN;
    if (reader_has(reader, QUEUE) && !read_span(reader, QUEUE, arrival_ns, &times_ns[LOG_SCHEDULED])) return false;
    if (!read_span(reader, TTFT, arrival_ns, &times_ns[LOG_FIRST_TOKEN]) ||
        !read_span(reader, E2E, arrival_ns, &times_ns[LOG_LAST_TOKEN]))
        return false;
    row->tpot_s = (double)NAN;
    return !reader_has(reader, TPOT) || reader_f64(reader, TPOT, 0.0, &row->tpot_s);
}

/* Reads the class of a request, NULL in a log without classes. */
static bool read_class(struct reader *reader, const char **name)
{
    const bool none_yet = reader->latest[CLASS] == NULL, named = reader_text(reader, CLASS).n_chars > 0;
    if (none_yet && named && reader->n_kept > 0) {
        reader_bad(reader, CLASS, "write 'default' in the rows before",
                   "'class' is empty in the first row, but not here");
        return false;
    }
    *name = NULL;
    return (none_yet && !named) || reader_class(reader, CLASS, name);
}

static enum row_result request_log_row(struct reader *reader, union trace_record *record)
{
    static const char *const names[LOG_TIMES] = {"arrival_s", "arrival_s", "queue_s", "ttft_s", "e2e_s"};
    struct log_row row = {.name = reader_text(reader, ID)};
    for (int i = 0; i < LOG_TIMES; i++) row.time_names[i] = names[i];
    if (!reader_tokens(reader, PROMPT, &row.prompt_tokens) || !reader_tokens(reader, OUTPUT, &row.output_tokens) ||
        !read_times(reader, &row))
        return ROW_BAD;
    const enum row_result result = log_rows_take(reader, &row, record);
    return result != ROW_KEPT || read_class(reader, &record->request.class_name) ? result : ROW_BAD;
}

static const struct row_format request_log_rows = {
    .from_first = true, .requests = true, .columns = request_log_columns, .n_columns = REQUEST_LOG_COLUMNS, .row = request_log_row};

static int open_request_log(const void *params, const struct source_options *options, struct request_source **source,
                            struct diag *diag)
{
    return open_log(&request_log_rows, params, options, source, diag);
}

const struct trace_format trace_request_log = {
    .name = "request-log",
    .summary = "table of served requests with measured times, for 'orrery trace replay'",
    .source = "",
    .params = file_trace_unsorted_request_params,
    .params_bytes = sizeof(struct trace_file),
    .header = "arrival_s,prompt_tokens,output_tokens,ttft_s,e2e_s",
    .open_requests = open_request_log};

/* --- vllm-log --- */

/* The per-request log of a vLLM run, one JSON object per line: {"request_id": "a-0", "input_toks": n, "output_toks": n,
 * "arrival_time": s, "queued_ts": s, "scheduled_ts": s, "first_token_ts": s, "last_token_ts": s}, the times of vLLM's
 * RequestStateStats (vllm/v1/metrics/stats.py), as LLMServingSim's benchmark writes them. Members in any order; others
 * are not read. request_id, queued_ts and scheduled_ts may be absent.
 *
 * arrival_time is by the wall clock, the other times by a clock of the engine. The trace's time starts at the first
 * arrival. */
enum { LINE, VLLM_LOG_COLUMNS };
enum member { ARRIVAL_TIME, QUEUED_TS, SCHEDULED_TS, FIRST_TOKEN_TS, LAST_TOKEN_TS, INPUT_TOKS, OUTPUT_TOKS, REQUEST_ID, N_MEMBERS };

_Static_assert((int)LAST_TOKEN_TS == (int)LOG_LAST_TOKEN, "the times come first, in their order");

static const struct csv_column vllm_log_columns[VLLM_LOG_COLUMNS] = {{.name = "arrival_time"}};
static const char *const member_names[N_MEMBERS] = {"arrival_time",  "queued_ts",  "scheduled_ts", "first_token_ts",
                                                    "last_token_ts", "input_toks", "output_toks",  "request_id"};

static const char hint[] = "write {\"request_id\": \"a\", \"input_toks\": 1, \"output_toks\": 1, \"arrival_time\": 0, "
                           "\"first_token_ts\": 0, \"last_token_ts\": 0}";

/* Values of a line; LOG_TIME_UNKNOWN if missing. */
struct parsed {
    int64_t values[REQUEST_ID]; /* times in ns, tokens */
    struct csv_field id;
};

static bool read_number(struct reader *reader, struct json_line *line, enum member member, int64_t *value)
{
    const bool tokens = member == INPUT_TOKS || member == OUTPUT_TOKS;
    const int64_t max = tokens ? INT32_MAX : READER_MAX_CALENDAR_NS;
    const char *chars;
    size_t n_chars;
    if (json_line_null(line)) return true;
    if (!json_line_number(line, &chars, &n_chars)) return json_line_bad(line, reader, hint);
    const enum number_status status = tokens ? number_i64(chars, n_chars, value)
                                             : number_ns(chars, n_chars, SIM_NS_PER_S, value);
    if (status == NUMBER_OK && *value >= 0 && *value <= max) return true;
    reader_bad_at(reader, (size_t)(chars - line->start), hint, "'%s' must be %s, got '%.*s'", member_names[member],
                  tokens ? "a whole number from 0 to 2147483647" : "a number of seconds from 0, within 146 years",
                  (int)(n_chars < 40 ? n_chars : 40), chars);
    return false;
}

static bool read_member(struct reader *reader, struct json_line *line, enum member member, struct parsed *parsed)
{
    if (member < REQUEST_ID) return read_number(reader, line, member, &parsed->values[member]);
    if (member == N_MEMBERS) return json_line_skip(line) || json_line_bad(line, reader, hint);
    const bool got = json_line_is_string(line) ? json_line_string(line, &parsed->id.chars, &parsed->id.n_chars)
                                               : json_line_number(line, &parsed->id.chars, &parsed->id.n_chars);
    return got || json_line_bad(line, reader, hint);
}

static bool read_line(struct reader *reader, struct parsed *parsed)
{
    const struct csv_field text = reader_text(reader, LINE);
    struct json_line line;
    const char *key;
    size_t n_chars;
    json_line_init(&line, text.chars, text.n_chars);
    while (json_line_member(&line, &key, &n_chars))
        if (!read_member(reader, &line, (enum member)json_line_find(member_names, N_MEMBERS, key, n_chars), parsed))
            return false;
    return line.error == NULL || json_line_bad(&line, reader, hint);
}

static bool check_members(struct reader *reader, const struct parsed *parsed)
{
    for (int i = 0; i < REQUEST_ID; i++) {
        if (i == QUEUED_TS || i == SCHEDULED_TS || parsed->values[i] != LOG_TIME_UNKNOWN) continue;
        reader_bad(reader, LINE,
                   "a request that was not served has no place in the log, or is left out with \"allow_bad_rows\"",
                   "'%s' is missing", member_names[i]);
        return false;
    }
    return true;
}

static enum row_result vllm_log_row(struct reader *reader, union trace_record *record)
{
    struct parsed parsed = {.id = {0}};
    for (int i = 0; i < REQUEST_ID; i++) parsed.values[i] = LOG_TIME_UNKNOWN;
    if (!read_line(reader, &parsed) || !check_members(reader, &parsed)) return ROW_BAD;
    struct log_row row = {.name = parsed.id,
                          .prompt_tokens = parsed.values[INPUT_TOKS],
                          .output_tokens = parsed.values[OUTPUT_TOKS],
                          .tpot_s = (double)NAN};
    memcpy(row.times_ns, parsed.values, sizeof row.times_ns);
    memcpy(row.time_names, member_names, sizeof row.time_names);
    return log_rows_take(reader, &row, record);
}

static const struct row_format vllm_log_rows = {.csv = {.dialect = CSV_DIALECT_LINES},
                                         .no_header = true,
                                         .from_first = true,
                                         .requests = true,
                                         .columns = vllm_log_columns,
                                         .n_columns = VLLM_LOG_COLUMNS,
                                         .row = vllm_log_row};

static int open_vllm_log(const void *params, const struct source_options *options, struct request_source **source,
                         struct diag *diag)
{
    return open_log(&vllm_log_rows, params, options, source, diag);
}

const struct trace_format trace_vllm_log = {
    .name = "vllm-log",
    .summary = "per-request log of vLLM, for 'orrery trace replay'",
    .source = "vLLM, RequestStateStats; Cho et al., LLMServingSim 2.0, its benchmark",
    .params = file_trace_unsorted_request_params,
    .params_bytes = sizeof(struct trace_file),
    .members = "arrival_time,first_token_ts,last_token_ts,input_toks,output_toks",
    .open_requests = open_vllm_log};

/* --- Reading a log with its measurements --- */

static const struct {
    const char *name;
    const struct row_format *rows; /* NULL: a document of benchmarks */
} logs[] = {{"vllm-log", &vllm_log_rows}, {"request-log", &request_log_rows}, {"vllm-bench", NULL}, {"sglang-bench", NULL}};

enum { N_LOGS = sizeof logs / sizeof *logs };

/* The place of a format among the logs, or -1. */
static int find_log(const char *format)
{
    for (int i = 0; i < N_LOGS; i++)
        if (strcmp(logs[i].name, format) == 0) return i;
    return -1;
}

bool engine_log_is(const char *format)
{
    return find_log(format) >= 0;
}

bool engine_log_has_rows(const char *format)
{
    const int at = find_log(format);
    return at >= 0 && logs[at].rows != NULL;
}

/* Of a file that begins as JSON. */
static const char *guess_json(const char *path)
{
    const struct trace_format *format;
    if (trace_guess(path, TRACE_REQUESTS, NULL, &format, NULL) != 0 || !engine_log_is(format->name))
        return logs[0].name;
    return logs[find_log(format->name)].name;
}

int engine_log_guess(const char *path, const char **format, struct diag *diag)
{
    struct input *input;
    char first = ' ';
    size_t n = 1;
    int code = input_open(path, &input, diag);
    if (code != 0) return code;
    while (code == 0 && n == 1 && strchr(" \t\r\n", first) != NULL) code = input_read(input, &first, 1, &n, diag);
    input_close(input);
    if (code == 0 && n == 0) return diag_error(diag, SIM_E_DATA, path, NULL, "the log is empty");
    if (code == 0) *format = first == '{' || first == '[' ? guess_json(path) : logs[1].name;
    return code;
}

/* Reads all rows of an open stream, sorted or not. */
static int read_all(struct stream *stream, struct diag *diag)
{
    union trace_record record;
    int code;
    while ((code = stream_next(stream, &record, diag)) == 1) continue;
    return code;
}

int engine_log_read(const char *path, const char *format, int64_t allow_bad_rows, struct arena *arena,
                    struct engine_log *log, struct diag *diag)
{
    const struct trace_file file = {.path = path, .sort = true, .allow_bad_rows = allow_bad_rows};
    *log = (struct engine_log){.format = format};
    if (!engine_log_has_rows(format)) return bench_log_read(path, arena, log, diag);
    struct row_format rows = *logs[find_log(format)].rows;
    struct log_rows *state = log_rows_create(true);
    struct stream *stream;
    if (state == NULL) return diag_nomem(diag);
    rows.state = state;
    rows.destroy_state = log_rows_destroy;
    int code = reader_open(&rows, &file, NULL, &stream, diag);
    if (code != 0) return code;
    code = read_all(stream, diag);
    if (code == 0 && log_rows_entries(state, arena, log) != 0) code = diag_nomem(diag);
    stream_close(stream);
    return code;
}
