/* Any table of requests: the user names the columns. With the default names it reads what `orrery trace convert`
 * writes: arrival_s,prompt_tokens,output_tokens and, if known, prefix_blocks (ids separated by blanks) and class.
 *
 * Numbers of time count from the file's own zero, calendar times from the first request; "origin" changes that.
 * Requests with 0 tokens on either side are left out and counted. */
#include "traces/formats/file_trace.h"
#include "traces/formats/prefix_blocks.h"
#include "traces/formats/user_columns.h"
#include "traces/registry.h"

#include "sim/core/number.h"

#include <string.h>

enum { ARRIVAL, PROMPT, OUTPUT, PREFIX, CLASS, N_COLUMNS };

struct csv_params {
    struct trace_file file;
    struct user_table table;
    int64_t block_tokens;
    const char *columns[N_COLUMNS]; /* CLASS: NULL when the user has not named it */
};

/* "17 4 250": the ids of the prompt's blocks. */
static bool read_prefix(struct reader *reader, int64_t block_tokens, struct request_record *request)
{
    struct prefix_blocks *blocks = reader->format.state;
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

static enum row_result read_row(struct reader *reader, union trace_record *record)
{
    const struct csv_params *params = (const struct csv_params *)reader->file;
    sim_ns arrival_ns;
    int64_t prompt, output;
    if (!reader_time(reader, ARRIVAL, (enum time_unit)params->table.time_unit, &arrival_ns) ||
        !reader_tokens(reader, PROMPT, &prompt) || !reader_tokens(reader, OUTPUT, &output)) {
        return ROW_BAD;
    }
    enum row_result result = reader_request(reader, record, arrival_ns, prompt, output);
    if (result != ROW_KEPT) return result;
    if (!read_prefix(reader, params->block_tokens, &record->request) ||
        !reader_class(reader, CLASS, &record->request.class_name))
        return ROW_BAD;
    return ROW_KEPT;
}

static int open_requests(const void *params, const struct source_options *options, struct request_source **source,
                         struct diag *diag)
{
    const struct csv_params *csv = params;
    const bool names_class = csv->columns[CLASS] != NULL;
    const bool optional[N_COLUMNS] = {[PREFIX] = true, [CLASS] = !names_class};
    const char *names[N_COLUMNS];
    struct csv_column columns[N_COLUMNS];
    int positions[N_COLUMNS];
    struct row_format rows = {.requests = true,
                              .columns = columns,
                              .n_columns = N_COLUMNS,
                              .row = read_row,
                              .destroy_state = prefix_blocks_destroy};
    memcpy(names, csv->columns, sizeof names);
    if (!names_class) names[CLASS] = "class";
    int code = user_columns(&csv->table, names, optional, N_COLUMNS, options->where, columns, positions, &rows, diag);
    if (code != 0) return code;
    rows.state = prefix_blocks_create();
    if (rows.state == NULL) return diag_nomem(diag);
    return file_trace_requests(&rows, &csv->file, options, source, diag);
}

#define ROW_OF struct csv_params
static const struct config_field column_params[] = {
    USER_COLUMN(struct csv_params, ARRIVAL, "arrival", "arrival_s", "time of arrival"),
    USER_COLUMN(struct csv_params, PROMPT, "prompt", "prompt_tokens", "prompt length in tokens"),
    USER_COLUMN(struct csv_params, OUTPUT, "output", "output_tokens", "output length in tokens"),
    USER_COLUMN(struct csv_params, PREFIX, "prefix", "prefix_blocks", "ids of the prompt's blocks; may be absent"),
    ROW_TEXT("class", columns[CLASS], OPTIONAL, WITHIN(1, 4096),
             "class of the request; default: the column \"class\", if present"),
    {0}};
#undef ROW_OF

static const struct config_field params[] = {
    TRACE_TIME_PARAMS,
    TRACE_LENGTH_PARAMS,
    TRACE_FILE_PARAMS("false"),
    USER_TABLE_PARAMS(struct csv_params),
    PREFIX_BLOCK_PARAM(struct csv_params),
    {.name = "columns", .kind = CONFIG_SECTION, .fields = column_params, .help = "names or numbers of the columns"},
    {0}};

const struct trace_format trace_csv = {.name = "csv",
                                       .summary = "any table of requests, with your own column names",
                                       .source = "",
                                       .params = params,
                                       .params_bytes = sizeof(struct csv_params),
                                       .open_requests = open_requests};
