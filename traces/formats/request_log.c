/* A table of requests that an engine has served, with what was measured of each:
 *
 *     id,arrival_s,prompt_tokens,output_tokens,queue_s,ttft_s,tpot_s,e2e_s,class
 *
 * All in seconds; queue, TTFT and end-to-end time count from the arrival. id, queue_s, tpot_s and class may be absent:
 * then TPOT is (e2e_s - ttft_s) / (output_tokens - 1). The trace's own time starts at the first arrival. `orrery
 * export` writes the column class for every run: if it is empty in the first row, the log has no classes. */
#include "traces/formats/file_trace.h"
#include "traces/formats/log_rows.h"
#include "traces/registry.h"

#include <math.h>

enum { ARRIVAL, ID, PROMPT, OUTPUT, QUEUE, TTFT, TPOT, E2E, CLASS, N_COLUMNS };

static const struct csv_column columns[N_COLUMNS] = {[ARRIVAL] = {.name = "arrival_s"},
                                                     [ID] = {.name = "id", .optional = true},
                                                     [PROMPT] = {.name = "prompt_tokens"},
                                                     [OUTPUT] = {.name = "output_tokens"},
                                                     [QUEUE] = {.name = "queue_s", .optional = true},
                                                     [TTFT] = {.name = "ttft_s"},
                                                     [TPOT] = {.name = "tpot_s", .optional = true},
                                                     [E2E] = {.name = "e2e_s"},
                                                     [CLASS] = {.name = "class", .optional = true}};

/* The time that lies `column` after the arrival. */
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

static enum row_result read_row(struct reader *reader, union trace_record *record)
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

const struct row_format request_log_rows = {
    .from_first = true, .requests = true, .columns = columns, .n_columns = N_COLUMNS, .row = read_row};

static int open_requests(const void *params, const struct source_options *options, struct request_source **source,
                         struct diag *diag)
{
    struct row_format rows = request_log_rows;
    rows.state = log_rows_create(false);
    rows.destroy_state = log_rows_destroy;
    if (rows.state == NULL) return diag_nomem(diag);
    return file_trace_requests(&rows, params, options, source, diag);
}

const struct trace_format trace_request_log = {
    .name = "request-log",
    .summary = "a table of served requests with their measured times, for 'orrery trace replay'",
    .source = "",
    .params = file_trace_unsorted_request_params,
    .params_bytes = sizeof(struct trace_file),
    .open_requests = open_requests};
