/* Requests of the user's own: csv, a table with any names of columns (user_tables.c), and jsonl, JSON Lines with any
 * keys (json_row.h). Both have the same columns, of which a row needs the first three:
 *
 *     arrival_s, prompt_tokens, output_tokens
 *     prefix_blocks   ids of the prompt's blocks: "17 4 250", or [17, 4, 250]
 *     chunks          chunks with which the prompt begins: "17:512 4:480", or [[17, 512], [4, 480]]
 *     class           class of the request; read if present, unless it has another name
 *     (session)       the conversation of the request, any text; read if it is named
 *
 * Requests with 0 tokens on either side are left out and counted. Objects may lack keys: the first object that is no
 * bad row decides whether requests have classes, unless the user has named the key. */
#include "traces/formats/json_row.h"
#include "traces/formats/user_table.h"
#include "traces/registry.h"

#include "sim/core/key_map.h"
#include "sim/core/mem.h"
#include "sim/core/number.h"
#include "sim/core/vec.h"

#include <string.h>

enum { ARRIVAL, PROMPT, OUTPUT, PREFIX, CHUNKS, CLASS, SESSION, REQUEST_COLUMNS };

struct user_requests {
    struct trace_file file;
    struct user_time time;
    struct user_table table; /* of csv */
    int64_t block_tokens;
    const char *columns[REQUEST_COLUMNS]; /* CLASS, SESSION: NULL when the user has not named it */
};

/* --- Columns --- */

#define ROW_OF struct user_requests
static const struct config_field request_columns[] = {
    ROW_TEXT("arrival", columns[ARRIVAL], DEFAULT("arrival_s"), ANY, "time of arrival"),
    ROW_TEXT("prompt", columns[PROMPT], DEFAULT("prompt_tokens"), ANY, "prompt length in tokens"),
    ROW_TEXT("output", columns[OUTPUT], DEFAULT("output_tokens"), ANY, "output length in tokens"),
    ROW_TEXT("prefix", columns[PREFIX], DEFAULT("prefix_blocks"), ANY, "ids of the prompt's blocks; may be absent"),
    ROW_TEXT("chunks", columns[CHUNKS], DEFAULT("chunks"), ANY, "chunks of the prompt: 17:512; may be absent"),
    ROW_TEXT("class", columns[CLASS], OPTIONAL, WITHIN(1, 4096),
             "class of the request; default: the column \"class\", if present"),
    ROW_TEXT("session", columns[SESSION], OPTIONAL, WITHIN(1, 4096),
             "conversation of the request, any text; default: requests are of no session"),
    {0}};
#undef ROW_OF

struct requests_state {
    struct prefix_blocks *blocks;
    struct prompt_chunk *chunks;
    size_t n_chunks, capacity;
    int64_t n_sessions;
    struct key_map sessions; /* numbers from 1 on, by the address of the interned text */
    struct json_row row;     /* of jsonl */
    bool is_begun;           /* jsonl: an object has been read that is no bad row */
};

static void state_destroy(void *of)
{
    struct requests_state *state = of;
    if (state == NULL) return;
    prefix_blocks_destroy(state->blocks);
    mem_free(state->chunks);
    key_map_fini(&state->sessions);
    json_row_fini(&state->row);
    mem_free(state);
}

static void *state_create(void)
{
    struct requests_state *state = mem_zalloc(1, sizeof *state);
    if (state != NULL) state->row.lists[PREFIX] = state->row.lists[CHUNKS] = true;
    if (state != NULL) state->blocks = prefix_blocks_create();
    if (state != NULL && state->blocks != NULL) return state;
    state_destroy(state);
    return NULL;
}

/* --- Rows --- */

/* "17:512 4:480": the chunks with which the prompt begins. */
static bool read_chunks(struct reader *reader, struct request_record *request)
{
    struct requests_state *state = reader->format.state;
    const struct csv_field field = reader_text(reader, CHUNKS);
    const char *at = field.chars, *end = at + field.n_chars;
    int64_t sum = 0;
    state->n_chunks = 0;
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
        if (vec_push(&state->chunks, &state->n_chunks, &state->capacity, chunk) != 0) return reader_no_memory(reader);
        at += n_chars + (blank != NULL);
    }
    request->n_chunks = (int32_t)state->n_chunks;
    request->chunks = state->n_chunks > 0 ? state->chunks : NULL;
    return true;
}

/* "17 4 250": the ids of the prompt's blocks. */
static bool read_prefix(struct reader *reader, int64_t block_tokens, struct request_record *request)
{
    struct requests_state *state = reader->format.state;
    struct prefix_blocks *blocks = state->blocks;
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

/* Numbers the sessions in the order of their first rows. An empty field: the request is of no session. */
static bool read_session(struct reader *reader, struct request_record *request)
{
    struct requests_state *state = reader->format.state;
    if (!reader->format.names_sessions || !reader_has(reader, SESSION)) return true;
    const char *name = reader_intern(reader, SESSION);
    if (name == NULL) return false;
    const uint64_t key = (uint64_t)(uintptr_t)name;
    int64_t number = key_map_find(&state->sessions, key);
    if (number < 0) {
        number = ++state->n_sessions;
        if (key_map_set(&state->sessions, key, number) != 0) return reader_no_memory(reader);
    }
    request->session_id = number;
    request->session_is_logged = true;
    return true;
}

static enum row_result read_request(struct reader *reader, union trace_record *record)
{
    const struct user_requests *params = (const struct user_requests *)reader->file;
    struct request_record *request = &record->request;
    sim_ns arrival_ns;
    int64_t prompt, output;
    if (!reader_table_time(reader, ARRIVAL, &arrival_ns) || !reader_tokens(reader, PROMPT, &prompt) ||
        !reader_tokens(reader, OUTPUT, &output)) {
        return ROW_BAD;
    }
    enum row_result result = reader_request(reader, record, arrival_ns, prompt, output);
    if (result != ROW_KEPT) return result;
    if (!read_prefix(reader, params->block_tokens, request) || !read_chunks(reader, request) ||
        !reader_class(reader, CLASS, &request->class_name) || !read_session(reader, request))
        return ROW_BAD;
    return ROW_KEPT;
}

static const char object_hint[] =
    "write {\"arrival_s\": 0, \"prompt_tokens\": 9, \"output_tokens\": 5}, or name your keys by \"columns\"";

/* Whether requests have classes: as in the first object, if the user has not said so. */
static bool settle_class(struct reader *reader)
{
    struct requests_state *state = reader->format.state;
    const bool is_first = !state->is_begun, has = state->row.offsets[CLASS] != READER_ABSENT;
    if (((const struct user_requests *)reader->file)->columns[CLASS] != NULL) return true;
    if (is_first) reader->positions[CLASS] = has ? CLASS : -1;
    if (!has || reader->positions[CLASS] >= 0) return true;
    reader_bad(reader, ARRIVAL, "set columns.class to \"class\": objects without it are then of the class \"default\"",
               "this object has a 'class', and the first one has none");
    return false;
}

/* Whether the user has named a key that objects may lack. */
static bool names_key(const struct user_requests *params, int column)
{
    const char *name = params->columns[column];
    return name != NULL && (request_columns[column].value == NULL || strcmp(name, request_columns[column].value) != 0);
}

/* A key that the user named and no object has would go unnoticed. */
static void note_absent(struct reader *reader)
{
    const struct requests_state *state = reader->format.state;
    const struct user_requests *params = (const struct user_requests *)reader->file;
    bool lacks = false;
    for (int i = PREFIX; i <= SESSION; i++) lacks |= names_key(params, i) && state->row.offsets[i] == READER_ABSENT;
    if (lacks) reader_note(reader, "no-key", "objects without a key that \"columns\" names");
}

static enum row_result read_object(struct reader *reader, union trace_record *record)
{
    struct requests_state *state = reader->format.state;
    if (!json_row_read(&state->row, reader, object_hint) || !settle_class(reader)) return ROW_BAD;
    const enum row_result result = read_request(reader, record);
    state->is_begun |= result != ROW_BAD;
    if (result == ROW_KEPT) note_absent(reader);
    return result;
}

/* --- Opening --- */

/* The names of the columns, and which rows need not have. */
static void name_columns(const struct user_requests *params, const char *names[REQUEST_COLUMNS],
                         bool optional[REQUEST_COLUMNS])
{
    memcpy(names, params->columns, sizeof params->columns);
    for (int i = 0; i < REQUEST_COLUMNS; i++) optional[i] = i == PREFIX || i == CHUNKS || names[i] == NULL;
    if (names[CLASS] == NULL) names[CLASS] = "class";
}

/* Without the last one, SESSION, if the user has not named it. */
static size_t count_columns(const struct user_requests *params)
{
    return params->columns[SESSION] != NULL ? REQUEST_COLUMNS : SESSION;
}

/* Opens the rows, whose columns are known. Takes rows->state over. */
static int open_rows(const struct user_requests *params, const struct source_options *options, struct row_format *rows,
                     struct request_source **source, struct diag *diag)
{
    const int code = user_times(&params->time, options->where, rows, diag);
    if (code != 0) return code;
    rows->requests = true;
    rows->names_sessions = params->columns[SESSION] != NULL;
    rows->n_columns = count_columns(params);
    rows->destroy_state = state_destroy;
    rows->state = state_create();
    if (rows->state == NULL) return diag_nomem(diag);
    return file_trace_requests(rows, &params->file, options, source, diag);
}

static int open_table(const void *params, const struct source_options *options, struct request_source **source,
                      struct diag *diag)
{
    const struct user_requests *requests = params;
    const char *names[REQUEST_COLUMNS];
    bool optional[REQUEST_COLUMNS];
    struct csv_column columns[REQUEST_COLUMNS];
    int positions[REQUEST_COLUMNS];
    struct row_format rows = {.columns = columns, .row = read_request};
    name_columns(requests, names, optional);
    const int code = user_columns(&requests->table, names, optional, request_columns, count_columns(requests),
                                  options->where, columns, positions, &rows, diag);
    return code != 0 ? code : open_rows(requests, options, &rows, source, diag);
}

static int open_objects(const void *params, const struct source_options *options, struct request_source **source,
                        struct diag *diag)
{
    const char *names[REQUEST_COLUMNS];
    bool optional[REQUEST_COLUMNS];
    struct csv_column columns[REQUEST_COLUMNS];
    struct row_format rows = {
        .csv = {.dialect = CSV_DIALECT_LINES}, .no_header = true, .columns = columns, .row = read_object};
    name_columns(params, names, optional);
    for (size_t i = 0; i < count_columns(params); i++)
        columns[i] = (struct csv_column){.name = names[i], .optional = optional[i]};
    return open_rows(params, options, &rows, source, diag);
}

/* --- Parameters --- */

#define ROW_OF struct user_requests
static const struct config_field table_params[] = {
    TRACE_TIME_PARAMS,
    TRACE_LENGTH_PARAMS,
    TRACE_FILE_PARAMS("false"),
    USER_TABLE_PARAMS,
    PREFIX_BLOCK_PARAM,
    {.name = "columns", .kind = CONFIG_SECTION, .fields = request_columns, .help = "names or numbers of the columns"},
    {0}};

static const struct config_field object_params[] = {
    TRACE_TIME_PARAMS,
    TRACE_LENGTH_PARAMS,
    TRACE_FILE_PARAMS("false"),
    USER_TIME_UNIT,
    USER_TIME_ORIGIN,
    PREFIX_BLOCK_PARAM,
    {.name = "columns",
     .kind = CONFIG_SECTION,
     .fields = request_columns,
     .help = "keys of the objects; \"usage.prompt_tokens\" is one of an object inside"},
    {0}};
#undef ROW_OF

const struct trace_format trace_csv = {.name = "csv",
                                       .summary = "any table of requests, with your own column names",
                                       .source = "",
                                       .params = table_params,
                                       .params_bytes = sizeof(struct user_requests),
                                       .header = "arrival_s,prompt_tokens,output_tokens",
                                       .open_requests = open_table};

const struct trace_format trace_jsonl = {.name = "jsonl",
                                         .summary = "any JSON Lines of requests, with your own keys",
                                         .source = "",
                                         .params = object_params,
                                         .params_bytes = sizeof(struct user_requests),
                                         .members = "arrival_s,prompt_tokens,output_tokens",
                                         .open_requests = open_objects};
