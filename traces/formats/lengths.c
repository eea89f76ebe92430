/* Request lengths without times, or with times in seconds, as Vidur has them:
 * [arrived_at,]num_prefill_tokens,num_decode_tokens. Further columns are not read.
 *
 * Arrivals come from the column, counted from the file's own zero, or from an arrival process ("arrival"), which takes
 * precedence. Rows with 0 tokens on either side are left out and counted. */
#include "traces/formats/file_trace.h"
#include "traces/generate/arrival.h"
#include "traces/registry.h"

#include <string.h>

enum { ARRIVED_AT, PREFILL_TOKENS, DECODE_TOKENS, N_COLUMNS };

struct lengths_params {
    struct trace_file file;
    struct config_variant arrival; /* struct arrival_process, or none */
};

static enum row_result fail_late(struct reader *reader)
{
    char where[DIAG_WHERE_CHARS];
    csv_where(reader->csv, 0, 0, where);
    arrivals_out_of_time(where, &reader->problem);
    return ROW_BAD;
}

static enum row_result read_row(struct reader *reader, union trace_record *record)
{
    struct arrivals *arrivals = reader->format.state;
    sim_ns arrival_ns = 0;
    int64_t prompt, output;
    if (arrivals == NULL && !reader_time(reader, ARRIVED_AT, TIME_S, &arrival_ns)) return ROW_BAD;
    if (!reader_tokens(reader, PREFILL_TOKENS, &prompt) || !reader_tokens(reader, DECODE_TOKENS, &output)) {
        return ROW_BAD;
    }
    enum row_result result = reader_request(reader, record, arrival_ns, prompt, output);
    if (result != ROW_KEPT || arrivals == NULL) return result;
    record->request.arrival_ns = arrivals_next(arrivals);
    return record->request.arrival_ns < SIM_NS_MAX ? ROW_KEPT : fail_late(reader);
}

static void destroy_state(void *state)
{
    arrivals_destroy(state);
}

static int open_requests(const void *params, const struct source_options *options, struct request_source **source,
                         struct diag *diag)
{
    const struct lengths_params *lengths = params;
    bool generated = lengths->arrival.entry != NULL;
    const struct csv_column columns[N_COLUMNS] = {
        {.name = "arrived_at", .optional = generated}, {.name = "num_prefill_tokens"}, {.name = "num_decode_tokens"}};
    struct row_format rows = {
        .requests = true, .columns = columns, .n_columns = N_COLUMNS, .row = read_row, .destroy_state = destroy_state};
    struct arrivals *arrivals;
    int code = file_trace_arrivals(&lengths->arrival, options, &arrivals, diag);
    rows.state = arrivals;
    if (code != 0) return code;
    const int first = diag != NULL ? diag->n_items : 0;
    code = file_trace_requests(&rows, &lengths->file, options, source, diag);
    if (code == SIM_E_DATA && diag != NULL && first < diag->n_items &&
        strstr(diag->items[first].text, "no column 'arrived_at'") != NULL)
        file_trace_arrival_hint(options, "poisson", "4/s", diag->items[first].hint, sizeof diag->items[first].hint);
    return code;
}

#define ROW_OF struct lengths_params
static const struct config_field params[] = {
    TRACE_TIME_PARAMS,
    TRACE_LENGTH_PARAMS,
    TRACE_FILE_PARAMS("false"),
    ROW_VARIANT("arrival", arrival, OPTIONAL, "arrival", "process",
                "arrival process, instead of the column arrived_at"),
    {0}};
#undef ROW_OF

const struct trace_format trace_lengths = {
    .name = "lengths",
    .summary = "prompt and output lengths, with times of arrival or an arrival process",
    .source = "Agrawal et al., Vidur, MLSys 2024",
    .published = {"https://github.com/microsoft/vidur",
                  "data/processed_traces/arxiv_summarization_stats_llama2_tokenizer_filtered_v2.csv", "MIT"},
    .params = params,
    .params_bytes = sizeof(struct lengths_params),
    .header = "num_prefill_tokens,num_decode_tokens",
    .open_requests = open_requests};
