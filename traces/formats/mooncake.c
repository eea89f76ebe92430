/* Mooncake traces, one JSON object per line: {"timestamp": ms, "input_length": n, "output_length": n, "hash_ids":
 * [...]}. Members in any order; others are not read. hash_ids names the prompt's blocks of 512 tokens, the same id for
 * the same prefix; it may be absent. Times are milliseconds from the file's own zero, sorted.
 *
 * The clock of the published times ticks every 3 s: "jitter": "3s" spreads them. Requests with 0 tokens on either side
 * are left out and counted. */
#include "sim/core/number.h"
#include "traces/formats/file_trace.h"
#include "traces/formats/json_line.h"
#include "traces/registry.h"

#include <string.h>

enum { LINE, N_COLUMNS };
enum member { TIMESTAMP, INPUT_LENGTH, OUTPUT_LENGTH, HASH_IDS, N_MEMBERS };

struct mooncake_params {
    struct trace_file file;
    int64_t block_tokens;
};

static const struct csv_column columns[N_COLUMNS] = {{.name = "timestamp"}};
static const char *const member_names[N_MEMBERS] = {"timestamp", "input_length", "output_length", "hash_ids"};

static const char hint[] = "write {\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": []}";

/* A whole number from 0 to `max`. */
static bool read_number(struct reader *reader, struct json_line *line, const char *name, int64_t max, int64_t *value)
{
    const char *chars;
    size_t n_chars;
    if (!json_line_number(line, &chars, &n_chars)) return json_line_bad(line, reader, hint);
    if (number_i64(chars, n_chars, value) == NUMBER_OK && *value >= 0 && *value <= max) return true;
    reader_bad_at(reader, (size_t)(chars - line->start), hint, "'%s' must be a whole number from 0 to %lld, got '%.*s'",
                  name, (long long)max, (int)(n_chars < 40 ? n_chars : 40), chars);
    return false;
}

static bool read_blocks(struct reader *reader, struct json_line *line)
{
    struct prefix_blocks *blocks = reader->format.state;
    bool first = true;
    while (json_line_element(line, &first)) {
        int64_t id = 0;
        if (!read_number(reader, line, "hash_ids", INT64_MAX, &id)) return false;
        if (!prefix_blocks_add(blocks, (uint64_t)id)) return reader_no_memory(reader);
    }
    return line->error == NULL || json_line_bad(line, reader, hint);
}

static bool read_member(struct reader *reader, struct json_line *line, enum member member, int64_t *values)
{
    if (member == HASH_IDS) return read_blocks(reader, line);
    if (member < N_MEMBERS) {
        int64_t max = member == TIMESTAMP ? READER_MAX_NS / 1000000 : INT32_MAX;
        return read_number(reader, line, member_names[member], max, &values[member]);
    }
    return json_line_skip(line) || json_line_bad(line, reader, hint);
}

static enum row_result read_row(struct reader *reader, union trace_record *record)
{
    const struct mooncake_params *params = (const struct mooncake_params *)reader->file;
    struct prefix_blocks *blocks = reader->format.state;
    struct csv_field text = reader_text(reader, LINE);
    struct json_line line;
    int64_t values[N_MEMBERS] = {-1, -1, -1, 0};
    const char *key;
    size_t n_chars;
    blocks->n = 0;
    json_line_init(&line, text.chars, text.n_chars);
    while (json_line_member(&line, &key, &n_chars)) {
        if (!read_member(reader, &line, (enum member)json_line_find(member_names, N_MEMBERS, key, n_chars), values))
            return ROW_BAD;
    }
    if (line.error != NULL) {
        json_line_bad(&line, reader, hint);
        return ROW_BAD;
    }
    for (int i = 0; i < HASH_IDS; i++) {
        if (values[i] < 0) return reader_bad(reader, LINE, hint, "'%s' is missing", member_names[i]);
    }
    enum row_result result = reader_request(reader, record, values[TIMESTAMP] * 1000000, values[INPUT_LENGTH],
                                            values[OUTPUT_LENGTH]);
    if (result == ROW_KEPT) prefix_blocks_give(blocks, params->block_tokens, &record->request);
    return result;
}

static int open_requests(const void *params, const struct source_options *options, struct request_source **source,
                         struct diag *diag)
{
    struct row_format rows = {.csv = {.dialect = CSV_DIALECT_LINES},
                              .no_header = true,
                              .requests = true,
                              .columns = columns,
                              .n_columns = N_COLUMNS,
                              .row = read_row,
                              .state = prefix_blocks_create(),
                              .destroy_state = prefix_blocks_destroy};
    if (rows.state == NULL) return diag_nomem(diag);
    return file_trace_requests(&rows, params, options, source, diag);
}

#define ROW_OF struct mooncake_params
static const struct config_field mooncake_fields[] = {TRACE_TIME_PARAMS,
                                                      TRACE_LENGTH_PARAMS,
                                                      TRACE_FILE_PARAMS("false"),
                                                      PREFIX_BLOCK_PARAM,
                                                      {0}};
#undef ROW_OF

const struct trace_format trace_mooncake = {
    .name = "mooncake",
    .summary = "Mooncake (Kimi) requests with the hashes of their prefix blocks",
    .source = "Qin et al., Mooncake, USENIX FAST 2025",
    .published = {"https://github.com/kvcache-ai/Mooncake",
                  "FAST25-release/traces/conversation_trace.jsonl", "Apache-2.0"},
    .params = mooncake_fields,
    .params_bytes = sizeof(struct mooncake_params),
    .members = "timestamp,input_length,output_length",
    .open_requests = open_requests};
