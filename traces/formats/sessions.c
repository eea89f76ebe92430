/* Sessions (traces/session.h), one JSON object per line, in order of arrival:
 *
 *     {"arrival_s": 0.5, "class": "agent", "system": "agent", "system_tokens": 4000,
 *      "input": [100, 60, 50], "output": [30, 20, 40], "wait_s": [0, 2.5, 1], "tool": [0, 1, 1],
 *      "parent": [-1, 0, 0], "join": [-1, 2, -1]}
 *
 * The lists have one number per turn: new input tokens; output tokens; seconds from the last answer that the turn
 * needs until it is sent; whether these are a tool call; the turn whose context it continues; the turn that waits for
 * it. Without "parent" each turn continues the one before, without "join" none is joined, without "wait_s" and "tool"
 * there are no pauses. Sessions with one "system" share its "system_tokens" tokens; both may be absent, and so may
 * "class". A member that has another name, or that a line has twice, is an error. */
#include "sim/core/key_map.h"
#include "sim/core/number.h"
#include "traces/formats/file_trace.h"
#include "traces/formats/json_line.h"
#include "traces/registry.h"
#include "traces/session.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <stdio.h>
#include <string.h>

enum { LINE, N_COLUMNS };
enum member { ARRIVAL, CLASS, SYSTEM, SYSTEM_TOKENS, INPUT, OUTPUT, WAIT, TOOL, PARENT, JOIN, N_MEMBERS };
enum { N_LISTS = N_MEMBERS - INPUT };

static const char *const member_names[N_MEMBERS] = {"arrival_s", "class",  "system", "system_tokens", "input",
                                                    "output",    "wait_s", "tool",   "parent",        "join"};
static const struct csv_column columns[N_COLUMNS] = {{.name = "arrival_s"}};
static const char hint[] = "write {\"arrival_s\": 0, \"input\": [100, 20], \"output\": [50, 30], \"wait_s\": [0, 8]}";

struct sessions_params {
    struct trace_file file;
    int64_t block_tokens;
};

/* Numbers of a line: nanoseconds in WAIT. */
struct list {
    size_t n, capacity;
    int64_t *items;
};

struct sessions_reader {
    struct session_maker maker;
    struct stream *rows;
    struct session_plan plan; /* of the latest row */
    struct list lists[N_LISTS];
    struct key_map system_tokens; /* by the address of a system's name, of which there is one */
};

static bool bad_value(struct reader *reader, const struct json_line *line, const char *chars, const char *name,
                      const char *expected)
{
    reader_bad_at(reader, (size_t)(chars - line->start), hint, "'%s' must be %s", name, expected);
    return false;
}

static bool read_whole(struct reader *reader, struct json_line *line, enum member member, int64_t min, int64_t *value)
{
    const char *chars;
    size_t n_chars;
    if (!json_line_number(line, &chars, &n_chars)) return json_line_bad(line, reader, hint);
    if (number_i64(chars, n_chars, value) == NUMBER_OK && *value >= min && *value <= INT32_MAX) return true;
    return bad_value(reader, line, chars, member_names[member],
                     min < 0 ? "a whole number from -1 to 2147483647" : "a whole number from 0 to 2147483647");
}

static bool read_seconds(struct reader *reader, struct json_line *line, enum member member, int64_t *value)
{
    const char *chars;
    size_t n_chars;
    if (!json_line_number(line, &chars, &n_chars)) return json_line_bad(line, reader, hint);
    if (number_ns(chars, n_chars, SIM_NS_PER_S, value) == NUMBER_OK && *value >= 0 && *value <= READER_MAX_NS)
        return true;
    return bad_value(reader, line, chars, member_names[member], "a number of seconds from 0 on, within 73 years");
}

static bool read_list(struct reader *reader, struct json_line *line, enum member member, struct list *list)
{
    bool first = true;
    while (json_line_element(line, &first)) {
        int64_t value = 0;
        if (member == WAIT ? !read_seconds(reader, line, member, &value)
                           : !read_whole(reader, line, member, member >= PARENT ? -1 : 0, &value))
            return false;
        if (member == WAIT && list->n == 0 && value > 0)
            return bad_value(reader, line, line->at, "wait_s", "0 for turn 0, which is sent at 'arrival_s'");
        if (member == TOOL && value > 1) return bad_value(reader, line, line->at, "tool", "0 or 1 for each turn");
        if (list->n == SESSION_MAX_TURNS) return bad_value(reader, line, line->at, "input", "at most 1048576 turns");
        if (vec_push(&list->items, &list->n, &list->capacity, value) != 0) return reader_no_memory(reader);
    }
    return line->error == NULL || json_line_bad(line, reader, hint);
}

static bool read_name(struct reader *reader, struct json_line *line, enum member member, const char **name)
{
    const char *chars;
    size_t n_chars;
    if (!json_line_string(line, &chars, &n_chars)) return json_line_bad(line, reader, hint);
    *name = reader_intern_name(reader, chars, n_chars);
    if (*name != NULL) return true;
    return bad_value(reader, line, chars, member_names[member],
                     "a name of at most 64 letters, digits, '_', '.' and '-'");
}

static bool read_member(struct reader *reader, struct json_line *line, enum member member,
                        struct sessions_reader *sessions)
{
    struct session_plan *plan = &sessions->plan;
    int64_t tokens = 0;
    switch (member) {
    case ARRIVAL: return read_seconds(reader, line, member, &plan->arrival_ns);
    case CLASS: return read_name(reader, line, member, &plan->class_name);
    case SYSTEM: return read_name(reader, line, member, &plan->system);
    case SYSTEM_TOKENS:
        if (!read_whole(reader, line, member, 0, &tokens)) return false;
        plan->system_tokens = (int32_t)tokens;
        return true;
    default: return read_list(reader, line, member, &sessions->lists[member - INPUT]);
    }
}

static int64_t item(const struct sessions_reader *sessions, enum member member, size_t i, int64_t otherwise)
{
    const struct list *list = &sessions->lists[member - INPUT];
    return list->n > 0 ? list->items[i] : otherwise;
}

/* Makes turns of the lists. */
static enum row_result link_turns(struct reader *reader, struct sessions_reader *sessions)
{
    struct session_plan *plan = &sessions->plan;
    const size_t n = sessions->lists[0].n;
    char problem[SESSION_PROBLEM_CHARS];
    for (int k = 0; k < N_LISTS; k++)
        if (sessions->lists[k].n != n && (k <= OUTPUT - INPUT || sessions->lists[k].n > 0))
            return reader_bad(reader, LINE, hint, "'%s' has %zu numbers, but 'input' has %zu", member_names[INPUT + k],
                              sessions->lists[k].n, n);
    for (size_t i = 0; i < n; i++) {
        const struct session_turn turn = {.input_tokens = (int32_t)item(sessions, INPUT, i, 0),
                                          .output_tokens = (int32_t)item(sessions, OUTPUT, i, 0),
                                          .wait_ns = item(sessions, WAIT, i, 0),
                                          .is_tool = item(sessions, TOOL, i, 0) > 0,
                                          .parent = (int32_t)item(sessions, PARENT, i, (int64_t)i - 1),
                                          .joined_by = (int32_t)item(sessions, JOIN, i, -1)};
        if (session_plan_add(plan, &turn) != 0) {
            reader_no_memory(reader);
            return ROW_BAD;
        }
    }
    return session_plan_link(plan, problem) ? ROW_KEPT : reader_bad(reader, LINE, hint, "%s", problem);
}

/* A system prompt has one length. */
static enum row_result check_system(struct reader *reader, struct sessions_reader *sessions, bool has_tokens)
{
    static const char how[] =
        "write {\"arrival_s\": 0, \"system\": \"chat\", \"system_tokens\": 200, \"input\": [100], "
        "\"output\": [50]}";
    const struct session_plan *plan = &sessions->plan;
    const uint64_t key = (uint64_t)(uintptr_t)plan->system;
    if (plan->system == NULL && plan->system_tokens > 0)
        return reader_bad(reader, LINE, how, "'system' is missing: the name of what 'system_tokens' are of");
    if (plan->system == NULL) return ROW_KEPT;
    if (!has_tokens)
        return reader_bad(reader, LINE, how, "'system_tokens' is missing: the length of the system prompt '%s'",
                          plan->system);
    const int64_t known = key_map_find(&sessions->system_tokens, key);
    if (known >= 0 && known != plan->system_tokens)
        return reader_bad(reader, LINE, "give other system prompts other names",
                          "system prompt '%s' has %d tokens, and %lld in a row above", plan->system,
                          (int)plan->system_tokens, (long long)known);
    if (known >= 0 || key_map_set(&sessions->system_tokens, key, plan->system_tokens) == 0) return ROW_KEPT;
    reader_no_memory(reader);
    return ROW_BAD;
}

static enum row_result read_row(struct reader *reader, union trace_record *record)
{
    struct sessions_reader *sessions = reader->format.state;
    struct csv_field text = reader_text(reader, LINE);
    struct json_line line;
    const char *key;
    size_t n_chars;
    unsigned seen = 0;
    sessions->plan = (struct session_plan){
        .arrival_ns = -1, .turns = sessions->plan.turns, .capacity = sessions->plan.capacity};
    for (int k = 0; k < N_LISTS; k++) sessions->lists[k].n = 0;
    json_line_init(&line, text.chars, text.n_chars);
    while (json_line_member(&line, &key, &n_chars)) {
        const enum member member = (enum member)json_line_find(member_names, N_MEMBERS, key, n_chars);
        if (member == N_MEMBERS || (seen >> member & 1) != 0)
            return reader_bad_at(reader, (size_t)(key - line.start), hint,
                                 member == N_MEMBERS ? "a session has no '%.*s'" : "'%.*s' is given twice",
                                 (int)(n_chars < 40 ? n_chars : 40), key);
        seen |= 1U << member;
        if (!read_member(reader, &line, member, sessions)) return ROW_BAD;
    }
    if (line.error != NULL) {
        json_line_bad(&line, reader, hint);
        return ROW_BAD;
    }
    const struct session_plan *plan = &sessions->plan;
    if (plan->arrival_ns < 0) return reader_bad(reader, LINE, hint, "'arrival_s' is missing");
    const enum row_result system = check_system(reader, sessions, (seen >> SYSTEM_TOKENS & 1) != 0);
    if (system != ROW_KEPT) return system;
    record->request = (struct request_record){.id = reader->row, .arrival_ns = plan->arrival_ns};
    return link_turns(reader, sessions);
}

/* --- As a maker of plans --- */

static int make(struct session_maker *maker, struct session_plan *plan, struct diag *diag)
{
    struct sessions_reader *sessions = (struct sessions_reader *)maker;
    union trace_record record;
    const int code = stream_next(sessions->rows, &record, diag);
    if (code != 1) return code;
    /* Both memories of turns stay in use. */
    const struct session_plan spare = *plan;
    *plan = sessions->plan;
    sessions->plan = spare;
    return 1;
}

static struct source_place place(const struct session_maker *maker)
{
    const struct stream *rows = ((const struct sessions_reader *)maker)->rows;
    return rows->ops->place(rows);
}

static bool note(const struct session_maker *maker, size_t index, struct source_note *note)
{
    const struct stream *rows = ((const struct sessions_reader *)maker)->rows;
    return rows->ops->note(rows, index, note);
}

static void sessions_close(struct session_maker *maker)
{
    struct sessions_reader *sessions = (struct sessions_reader *)maker;
    stream_close(sessions->rows);
    session_plan_fini(&sessions->plan);
    key_map_fini(&sessions->system_tokens);
    for (int k = 0; k < N_LISTS; k++) mem_free(sessions->lists[k].items);
    mem_free(sessions);
}

static const struct session_maker_ops maker_ops = {.make = make, .place = place, .note = note, .close = sessions_close};

static int open_requests(const void *params, const struct source_options *options, struct request_source **source,
                         struct diag *diag)
{
    const struct sessions_params *of = params;
    struct sessions_reader *sessions = mem_zalloc(1, sizeof *sessions);
    if (sessions == NULL) return diag_nomem(diag);
    sessions->maker.ops = &maker_ops;
    const struct row_format rows = {.csv = {.dialect = CSV_DIALECT_LINES},
                                    .no_header = true,
                                    .no_sort = true,
                                    .requests = true,
                                    .columns = columns,
                                    .n_columns = N_COLUMNS,
                                    .row = read_row,
                                    .state = sessions};
    const int code = reader_open(&rows, &of->file, options->interrupt, &sessions->rows, diag);
    if (code != 0) {
        sessions_close(&sessions->maker);
        return code;
    }
    return session_requests_open(&sessions->maker, of->block_tokens, &of->file.transform, options, source, diag);
}

#define ROW_OF struct sessions_params
static const struct config_field params[] = {
    TRACE_TIME_PARAMS,
    ROW_PATH("path", file.path, REQUIRED, "the file, plain or gzip-compressed"),
    ROW_INT("allow_bad_rows", file.allow_bad_rows, DEFAULT("0"), WITHIN(0, 1e15),
            "most unreadable rows left out with a warning; more are an error"),
    SESSION_BLOCK_PARAM,
    {0}};
#undef ROW_OF

const struct trace_format trace_sessions = {.name = "sessions",
                                            .summary = "sessions of several turns, with pauses and branches",
                                            .source = "",
                                            .params = params,
                                            .params_bytes = sizeof(struct sessions_params),
                                            .members = "arrival_s,input,output",
                                            .open_requests = open_requests};
