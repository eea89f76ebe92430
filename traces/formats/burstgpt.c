/* BurstGPT: Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type; columns of later releases are not
 * read. Times are seconds from the file's own zero, sorted.
 *
 * Rows without response tokens are requests that failed. By default they are left out and counted, since their cost to
 * the service is unknown. "failed": "prefill" keeps them as requests that end with their first token. Rows without
 * request tokens are always left out and counted. */
#include "traces/formats/file_trace.h"
#include "traces/registry.h"

#include <string.h>

enum { TIMESTAMP, REQUEST_TOKENS, RESPONSE_TOKENS, MODEL, LOG_TYPE, N_COLUMNS };
enum { FAILED_LEAVE_OUT, FAILED_PREFILL };
enum { CLASS_NONE, CLASS_MODEL, CLASS_LOG_TYPE };

struct burstgpt_params {
    struct trace_file file;
    int failed, class_column;
    const char *model, *log_type; /* NULL: all */
};

static const struct csv_column columns[N_COLUMNS] = {{.name = "Timestamp"},
                                                     {.name = "Request tokens"},
                                                     {.name = "Response tokens"},
                                                     {.name = "Model", .optional = true},
                                                     {.name = "Log Type", .optional = true}};

static bool is_chosen(const struct reader *reader, int column, const char *wanted)
{
    struct csv_field field = reader_text(reader, column);
    return wanted == NULL || (strlen(wanted) == field.n_chars && memcmp(wanted, field.chars, field.n_chars) == 0);
}

/* The column that classes come from, or -1. */
static int class_column(const struct burstgpt_params *params)
{
    if (params->class_column == CLASS_NONE) return -1;
    return params->class_column == CLASS_MODEL ? MODEL : LOG_TYPE;
}

static enum row_result read_row(struct reader *reader, union trace_record *record)
{
    const struct burstgpt_params *params = (const struct burstgpt_params *)reader->file;
    sim_ns arrival_ns;
    int64_t prompt, output;
    if (!reader_time(reader, TIMESTAMP, TIME_S, &arrival_ns) || !reader_tokens(reader, REQUEST_TOKENS, &prompt) ||
        !reader_tokens(reader, RESPONSE_TOKENS, &output)) {
        return ROW_BAD;
    }
    if (!is_chosen(reader, MODEL, params->model) || !is_chosen(reader, LOG_TYPE, params->log_type)) {
        return reader_leave_out(reader, "not-chosen", "requests of other models or log types left out");
    }
    if (output == 0 && prompt > 0) {
        if (params->failed == FAILED_LEAVE_OUT) {
            return reader_leave_out(reader, "failed-request", "failed requests (no response tokens) left out");
        }
        reader_note(reader, "failed-request", "failed requests (no response tokens) end with their first token");
        output = 1;
    }
    enum row_result result = reader_request(reader, record, arrival_ns, prompt, output);
    const int column = class_column(params);
    if (result != ROW_KEPT || column < 0) return result;
    return reader_class(reader, column, &record->request.class_name) ? ROW_KEPT : ROW_BAD;
}

static int open_requests(const void *params, const struct source_options *options, struct request_source **source,
                         struct diag *diag)
{
    const int column = class_column(params);
    struct csv_column wanted[N_COLUMNS];
    memcpy(wanted, columns, sizeof wanted);
    if (column >= 0) wanted[column].optional = false;
    const struct row_format rows = {.requests = true, .columns = wanted, .n_columns = N_COLUMNS, .row = read_row};
    return file_trace_requests(&rows, params, options, source, diag);
}

static const char *const failed_names[] = {"leave-out", "prefill", NULL};
static const char *const class_names[] = {"none", "model", "log-type", NULL};

#define ROW_OF struct burstgpt_params
static const struct config_field params[] = {
    TRACE_TIME_PARAMS,
    TRACE_LENGTH_PARAMS,
    TRACE_FILE_PARAMS("false"),
    ROW_CHOICE("failed", failed, DEFAULT("leave-out"), failed_names, "treatment of requests without response tokens"),
    ROW_TEXT("model", model, OPTIONAL, ANY, "only requests of this model, \"ChatGPT\" or \"GPT-4\""),
    ROW_TEXT("log_type", log_type, OPTIONAL, ANY, "only requests of this kind, \"Conversation log\" or \"API log\""),
    ROW_CHOICE("class", class_column, OPTIONAL, class_names, "class of a request: its model or its kind"),
    {0}};
#undef ROW_OF

const struct trace_format trace_burstgpt = {.name = "burstgpt",
                                            .summary = "BurstGPT: ChatGPT and GPT-4 requests of a campus",
                                            .source = "Wang et al., BurstGPT, KDD 2025",
                                            .published = {"https://github.com/HPMLL/BurstGPT",
                                                          "data/BurstGPT_1.csv", NULL},
                                            .params = params,
                                            .params_bytes = sizeof(struct burstgpt_params),
                                            .header = "Timestamp,Request tokens,Response tokens",
                                            .open_requests = open_requests};
