/* The per-request log of a vLLM run, one JSON object per line: {"request_id": "a-0", "input_toks": n, "output_toks": n,
 * "arrival_time": s, "queued_ts": s, "scheduled_ts": s, "first_token_ts": s, "last_token_ts": s}, the times of vLLM's
 * RequestStateStats (vllm/v1/metrics/stats.py), as LLMServingSim's benchmark writes them. Members in any order; others
 * are not read. request_id, queued_ts and scheduled_ts may be absent.
 *
 * arrival_time is by the clock of the day, the others by one of the engine's; the trace's own time starts at the first
 * arrival. */
#include "sim/core/number.h"
#include "traces/formats/file_trace.h"
#include "traces/formats/json_line.h"
#include "traces/formats/log_rows.h"
#include "traces/registry.h"

#include <math.h>
#include <string.h>

enum { LINE, N_COLUMNS };
enum member { ARRIVAL_TIME, QUEUED_TS, SCHEDULED_TS, FIRST_TOKEN_TS, LAST_TOKEN_TS, INPUT_TOKS, OUTPUT_TOKS, REQUEST_ID, N_MEMBERS };

_Static_assert((int)LAST_TOKEN_TS == (int)LOG_LAST_TOKEN, "the times come first, in their order");

static const struct csv_column columns[N_COLUMNS] = {{.name = "arrival_time"}};
static const char *const member_names[N_MEMBERS] = {"arrival_time",  "queued_ts",  "scheduled_ts", "first_token_ts",
                                                    "last_token_ts", "input_toks", "output_toks",  "request_id"};

static const char hint[] = "write {\"request_id\": \"a\", \"input_toks\": 1, \"output_toks\": 1, \"arrival_time\": 0, "
                           "\"first_token_ts\": 0, \"last_token_ts\": 0}";

/* What a line says; LOG_TIME_UNKNOWN where it is silent. */
struct parsed {
    int64_t values[REQUEST_ID]; /* times in ns, tokens */
    struct csv_field id;
};

static bool bad_json(struct reader *reader, const struct json_line *line)
{
    reader_bad_at(reader, (size_t)(line->at - line->start), hint, "expected %s", line->error);
    return false;
}

static enum member find_member(const char *key, size_t n_chars)
{
    int i = 0;
    while (i < N_MEMBERS && (strlen(member_names[i]) != n_chars || memcmp(key, member_names[i], n_chars) != 0)) i++;
    return (enum member)i;
}

static bool read_number(struct reader *reader, struct json_line *line, enum member member, int64_t *value)
{
    const bool tokens = member == INPUT_TOKS || member == OUTPUT_TOKS;
    const int64_t max = tokens ? INT32_MAX : READER_MAX_CALENDAR_NS;
    const char *chars;
    size_t n_chars;
    if (json_line_null(line)) return true;
    if (!json_line_number(line, &chars, &n_chars)) return bad_json(reader, line);
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
    if (member == N_MEMBERS) return json_line_skip(line) || bad_json(reader, line);
    const bool got = json_line_is_string(line) ? json_line_string(line, &parsed->id.chars, &parsed->id.n_chars)
                                               : json_line_number(line, &parsed->id.chars, &parsed->id.n_chars);
    return got || bad_json(reader, line);
}

static bool read_line(struct reader *reader, struct parsed *parsed)
{
    const struct csv_field text = reader_text(reader, LINE);
    struct json_line line;
    const char *key;
    size_t n_chars;
    json_line_init(&line, text.chars, text.n_chars);
    while (json_line_member(&line, &key, &n_chars))
        if (!read_member(reader, &line, find_member(key, n_chars), parsed)) return false;
    return line.error == NULL || bad_json(reader, &line);
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

static enum row_result read_row(struct reader *reader, union trace_record *record)
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

const struct row_format vllm_log_rows = {.csv = {.dialect = CSV_DIALECT_LINES},
                                         .no_header = true,
                                         .from_first = true,
                                         .requests = true,
                                         .columns = columns,
                                         .n_columns = N_COLUMNS,
                                         .row = read_row};

static int open_requests(const void *params, const struct source_options *options, struct request_source **source,
                         struct diag *diag)
{
    struct row_format rows = vllm_log_rows;
    rows.state = log_rows_create(false);
    rows.destroy_state = log_rows_destroy;
    if (rows.state == NULL) return diag_nomem(diag);
    return file_trace_requests(&rows, params, options, source, diag);
}

const struct trace_format trace_vllm_log = {
    .name = "vllm-log",
    .summary = "what vLLM logged of each request, for 'orrery trace replay'",
    .source = "vLLM, RequestStateStats; Cho et al., LLMServingSim 2.0, its benchmark",
    .params = file_trace_unsorted_request_params,
    .params_bytes = sizeof(struct trace_file),
    .open_requests = open_requests};
