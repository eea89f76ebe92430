#include "traces/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/core/number.h"
#include "traces/guess.h"
#include "traces/reader_width.h"
#include "traces/unread.h"

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(bytes) mem_alloc(bytes)
#define uthash_free(block, bytes) mem_free(block)
#include <uthash.h>

#define FIX_HINT "correct the row, or let \"allow_bad_rows\" leave such rows out"

enum { MAX_QUOTE_CHARS = 60 };

const char *const time_unit_names[] = {"auto", "timestamp", "s", "ms", "us", "ns", "min", "h", "d", NULL};

static const struct {
    sim_ns ns;
    const char *plural;
} units[] = {[TIME_CALENDAR] = {0, ""},
             [TIME_S] = {SIM_NS_PER_S, "seconds"},
             [TIME_MS] = {1000000, "milliseconds"},
             [TIME_US] = {1000, "microseconds"},
             [TIME_NS] = {1, "nanoseconds"},
             [TIME_MIN] = {60 * SIM_NS_PER_S, "minutes"},
             [TIME_H] = {3600 * SIM_NS_PER_S, "hours"},
             [TIME_D] = {86400 * SIM_NS_PER_S, "days"}};

struct interned {
    const char *text;
    UT_hash_handle hh;
};

/* --- the current row --- */

static const char *column_name(const struct reader *reader, int column)
{
    return reader->columns[column].name;
}

static bool is_absent(const struct reader *reader, size_t field)
{
    return reader->offsets != NULL && reader->offsets[field] == READER_ABSENT;
}

/* The place of a field of the current row, at an offset into it. */
static void place_of(const struct reader *reader, int position, size_t offset, char where[DIAG_WHERE_CHARS])
{
    const size_t field = position >= 0 ? (size_t)position : 0;
    if (reader->offsets == NULL)
        csv_where(reader->csv, field, offset, where);
    else
        csv_where(reader->csv, 0, is_absent(reader, field) ? 0 : reader->offsets[field] + offset, where);
}

/* Notes the problem of the current row, at an offset into its field. */
__attribute__((format(printf, 5, 0))) static enum row_result
note_problem(struct reader *reader, int position, size_t offset, const char *hint, const char *format, va_list args)
{
    char where[DIAG_WHERE_CHARS], text[DIAG_TEXT_CHARS];
    place_of(reader, position, offset, where);
    vsnprintf(text, sizeof text, format, args);
    diag_error(&reader->problem, SIM_E_DATA, where, hint != NULL ? hint : FIX_HINT, "%s", text);
    return ROW_BAD;
}

enum row_result reader_bad(struct reader *reader, int column, const char *hint, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    note_problem(reader, reader->positions[column], 0, hint, format, args);
    va_end(args);
    return ROW_BAD;
}

enum row_result reader_bad_at(struct reader *reader, size_t offset, const char *hint, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    note_problem(reader, 0, offset, hint, format, args);
    va_end(args);
    return ROW_BAD;
}

bool reader_no_memory(struct reader *reader)
{
    diag_nomem_at(&reader->problem, csv_name(reader->csv));
    return false;
}

struct csv_field reader_text(const struct reader *reader, int column)
{
    int position = reader->positions[column];
    if (position < 0 || (size_t)position >= reader->n_fields) return (struct csv_field){"", 0};
    return reader->fields[position];
}

bool reader_has(const struct reader *reader, int column)
{
    static const char *const missing[] = {"NA", "N/A", "NaN", "nan", "NaT", "None", "null", "NULL"};
    struct csv_field field = reader_text(reader, column);
    if (field.n_chars == 0) return false;
    if (*field.chars != 'N' && *field.chars != 'n') return true;
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        if (strlen(missing[i]) == field.n_chars && memcmp(missing[i], field.chars, field.n_chars) == 0) return false;
    }
    return true;
}

static void too_short(struct reader *reader, int column)
{
    reader_bad(reader, column, NULL, "row has %zu field%s, but '%s' is column %d", reader->n_fields,
               reader->n_fields == 1 ? "" : "s", column_name(reader, column), reader->positions[column] + 1);
}

/* Notes that a field is not as expected ("a whole number"): absent, empty, or something else. Returns false. */
static bool unexpected(struct reader *reader, int column, const char *expected)
{
    struct csv_field field = reader_text(reader, column);
    const char *name = column_name(reader, column);
    if (reader->positions[column] >= 0 && (size_t)reader->positions[column] >= reader->n_fields) {
        too_short(reader, column);
    } else if (is_absent(reader, (size_t)reader->positions[column])) {
        reader_bad(reader, column, "\"columns\" names its key, as --set columns.KEY=NAME",
                   "'%s' is missing; expected %s", name, expected);
    } else if (field.n_chars == 0) {
        reader_bad(reader, column, NULL, "'%s' is empty; expected %s", name, expected);
    } else {
        int n_shown = field.n_chars < MAX_QUOTE_CHARS ? (int)field.n_chars : MAX_QUOTE_CHARS;
        reader_bad(reader, column, NULL, "'%s' must be %s, got '%.*s'", name, expected, n_shown, field.chars);
    }
    return false;
}

bool reader_i64(struct reader *reader, int column, int64_t min, int64_t max, int64_t *value)
{
    struct csv_field field = reader_text(reader, column);
    enum number_status status = number_i64(field.chars, field.n_chars, value);
    if (status == NUMBER_OK && *value >= min && *value <= max) return true;
    char expected[64] = "a whole number";
    if (status == NUMBER_OK && *value < min) snprintf(expected, sizeof expected, "at least %" PRId64, min);
    if (status == NUMBER_OK && *value > max) snprintf(expected, sizeof expected, "at most %" PRId64, max);
    if (status == NUMBER_RANGE) snprintf(expected, sizeof expected, "a number of at most 18 digits");
    return unexpected(reader, column, expected);
}

bool reader_number(const struct reader *reader, int column, int64_t *value)
{
    struct csv_field field = reader_text(reader, column);
    return number_i64(field.chars, field.n_chars, value) == NUMBER_OK && *value >= 0;
}

bool reader_i32(struct reader *reader, int column, int32_t min, int32_t max, int32_t *value)
{
    int64_t wide;
    if (!reader_i64(reader, column, min, max, &wide)) return false;
    *value = (int32_t)wide;
    return true;
}

bool reader_f64(struct reader *reader, int column, double min, double *value)
{
    struct csv_field field = reader_text(reader, column);
    if (number_f64(field.chars, field.n_chars, value) != NUMBER_OK) return unexpected(reader, column, "a number");
    if (*value >= min) return true;
    char expected[64];
    snprintf(expected, sizeof expected, "at least %g", min);
    return unexpected(reader, column, expected);
}

/* Counts times that have a zone where the column's first one has none, or none where that has one. */
static void see_zone(struct reader *reader, int column, bool has_zone)
{
    enum column_zones *zones = &reader->zones[column];
    const enum column_zones mine = has_zone ? ZONES_NAMED : ZONES_ABSENT;
    if (*zones == ZONES_UNKNOWN) *zones = mine;
    if (*zones == mine) return;
    char *where = notes_count(&reader->notes, "mixed-zones",
                              "times with and without a zone are in one column: those without are taken as UTC");
    if (where != NULL) place_of(reader, reader->positions[column], 0, where);
}

static bool read_calendar(struct reader *reader, int column, sim_ns *value)
{
    struct csv_field field = reader_text(reader, column);
    bool has_zone;
    enum number_status status = number_timestamp_zoned(field.chars, field.n_chars, value, &has_zone);
    if (status == NUMBER_BAD) return unexpected(reader, column, "a time such as 2023-11-16 18:15:46.68");
    see_zone(reader, column, has_zone);
    bool fits = status == NUMBER_OK && *value >= 0 && *value <= READER_MAX_CALENDAR_NS;
    return fits || unexpected(reader, column, "between the years 1970 and 2116");
}

bool reader_time(struct reader *reader, int column, enum time_unit unit, sim_ns *value)
{
    if (unit == TIME_CALENDAR) return read_calendar(reader, column, value);
    struct csv_field field = reader_text(reader, column);
    enum number_status status = number_ns(field.chars, field.n_chars, units[unit].ns, value);
    if (status == NUMBER_OK && *value >= -READER_MAX_NS && *value <= READER_MAX_NS) return true;
    char expected[96];
    snprintf(expected, sizeof expected, "a number of %s%s", units[unit].plural,
             status == NUMBER_BAD ? "" : " within 73 years ('time_unit' tells of another unit, such as \"ms\")");
    return unexpected(reader, column, expected);
}

/* Seconds from 1970 to 2001: numbers from there on are Unix times. */
enum { UNIX_LEAST_S = 1000000000 };

/* Whether the field settles the unit: it is a calendar time, or a number. */
static bool settle_unit(struct reader *reader, int column)
{
    struct row_format *format = &reader->format;
    const struct csv_field field = reader_text(reader, column);
    sim_ns value; /* of a number, without its fraction */
    const enum number_status status = number_ns(field.chars, field.n_chars, 1, &value);
    if (status == NUMBER_BAD) {
        if (number_timestamp(field.chars, field.n_chars, &value) == NUMBER_BAD) return false;
        format->time_unit = TIME_CALENDAR;
    }
    format->guess_unit = false;
    return true;
}

/* Calendar and Unix times start at the first record. */
static void settle_origin(struct row_format *format, sim_ns first_ns)
{
    format->from_first = format->time_unit == TIME_CALENDAR || first_ns >= UNIX_LEAST_S * INT64_C(1000000000);
    format->guess_origin = false;
}

/* The unit in which a number, which is too large for seconds, would be a Unix time of this century; NULL: none. */
static const char *unix_unit(struct csv_field field)
{
    static const char *const names[] = {"ms", "us", "ns"};
    sim_ns value;
    if (number_ns(field.chars, field.n_chars, 1, &value) != NUMBER_OK) return NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        value /= 1000;
        if (value >= UNIX_LEAST_S && value < 4 * (sim_ns)UNIX_LEAST_S) return names[i];
    }
    return NULL;
}

bool reader_table_time(struct reader *reader, int column, sim_ns *value)
{
    const bool guesses = reader->format.guess_unit;
    if (guesses && !settle_unit(reader, column))
        return unexpected(reader, column, "a number of seconds or a time such as 2023-11-16T18:15:46Z");
    const char *unit = guesses && reader->format.time_unit == TIME_S ? unix_unit(reader_text(reader, column)) : NULL;
    if (unit != NULL) {
        char expected[96];
        snprintf(expected, sizeof expected, "a number of seconds; for a Unix time in %s set time_unit to \"%s\"", unit,
                 unit);
        return unexpected(reader, column, expected);
    }
    if (!reader_time(reader, column, reader->format.time_unit, value)) return false;
    *value -= reader->format.origin_ns;
    if (reader->format.guess_origin) settle_origin(&reader->format, *value);
    return true;
}

bool reader_duration(struct reader *reader, int column, enum time_unit unit, sim_ns *value)
{
    if (!reader_time(reader, column, unit, value)) return false;
    return *value >= 0 || unexpected(reader, column, "0 or more");
}

bool reader_tokens(struct reader *reader, int column, int64_t *tokens)
{
    return reader_i64(reader, column, 0, INT32_MAX, tokens);
}

static const char *intern(struct reader *reader, const struct csv_field *field)
{
    struct interned *found = NULL;
    HASH_FIND(hh, reader->interned, field->chars, field->n_chars, found);
    if (found != NULL) return found->text;
    found = arena_alloc(&reader->arena, sizeof *found);
    char *text = arena_alloc(&reader->arena, field->n_chars + 1);
    if (found == NULL || text == NULL) {
        reader_no_memory(reader);
        return NULL;
    }
    memcpy(text, field->chars, field->n_chars);
    found->text = text;
    HASH_ADD_KEYPTR(hh, reader->interned, found->text, field->n_chars, found);
    return text;
}

const char *reader_intern(struct reader *reader, int column)
{
    struct csv_field field = reader_text(reader, column);
    const char **latest = &reader->latest[column];
    if (field.n_chars == 0) return "";
    bool same = *latest != NULL && strncmp(*latest, field.chars, field.n_chars) == 0 && (*latest)[field.n_chars] == 0;
    if (!same) *latest = intern(reader, &field);
    return *latest;
}

/* Copies a name, with '-' for blanks. Returns false when it is too long, or has other characters than names have. */
static bool copy_name(const struct csv_field *field, char name[REQUEST_CLASS_CHARS + 1])
{
    static const char chars[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    if (field->n_chars > REQUEST_CLASS_CHARS) return false;
    for (size_t i = 0; i < field->n_chars; i++) name[i] = field->chars[i] == ' ' ? '-' : field->chars[i];
    name[field->n_chars] = '\0';
    return strspn(name, chars) == field->n_chars;
}

bool reader_class(struct reader *reader, int column, const char **name)
{
    const struct csv_field field = reader_text(reader, column);
    const char **latest = &reader->latest[column];
    char copy[REQUEST_CLASS_CHARS + 1];
    *name = reader->positions[column] < 0 ? NULL : "default";
    if (*name == NULL || field.n_chars == 0) return true;
    if (!copy_name(&field, copy))
        return unexpected(reader, column, "a name of at most 64 letters, digits, '_', '.' and '-'");
    if (*latest == NULL || strcmp(*latest, copy) != 0)
        *latest = intern(reader, &(struct csv_field){copy, field.n_chars});
    *name = *latest;
    return *name != NULL;
}

const char *reader_intern_name(struct reader *reader, const char *chars, size_t n_chars)
{
    const struct csv_field field = {chars, n_chars};
    char copy[REQUEST_CLASS_CHARS + 1];
    return n_chars > 0 && copy_name(&field, copy) ? intern(reader, &(struct csv_field){copy, n_chars}) : NULL;
}

void reader_note(struct reader *reader, const char *code, const char *text)
{
    char *where = notes_count(&reader->notes, code, text);
    if (where != NULL) csv_where(reader->csv, 0, 0, where);
}

void reader_note_field(struct reader *reader, int column, const char *code, const char *text)
{
    char *where = notes_count(&reader->notes, code, text);
    if (where == NULL) return;
    const struct csv_field field = reader_text(reader, column);
    const int n_shown = field.n_chars < MAX_QUOTE_CHARS ? (int)field.n_chars : MAX_QUOTE_CHARS;
    const char *whole = arena_printf(&reader->arena, "%s '%.*s'", text, n_shown, field.chars);
    place_of(reader, reader->positions[column], 0, where);
    if (whole != NULL) reader->notes.items[reader->notes.n - 1].text = whole;
}

enum row_result reader_leave_out(struct reader *reader, const char *code, const char *text)
{
    reader_note(reader, code, text);
    return ROW_LEFT_OUT;
}

enum row_result reader_request(struct reader *reader, union trace_record *record, sim_ns arrival_ns,
                               int64_t prompt_tokens, int64_t output_tokens)
{
    if (prompt_tokens == 0) return reader_leave_out(reader, "no-prompt", "requests without prompt tokens left out");
    if (output_tokens == 0) return reader_leave_out(reader, "no-output", "requests without output tokens left out");
    record->request = (struct request_record){.id = reader->row,
                                              .arrival_ns = arrival_ns,
                                              .prompt_tokens = (int32_t)prompt_tokens,
                                              .output_tokens = (int32_t)output_tokens};
    return ROW_KEPT;
}

/* --- the rows of a file --- */

/* Reports the problem of the current row, or counts it if bad rows may be left out. A row of several lines counts each
 * line: two stray quotes join all lines between them. Returns 0 to continue. */
static int give_up_row(struct reader *reader, struct diag *diag)
{
    const struct diag_item problem = reader->problem.items[0];
    diag_init(&reader->problem);
    int64_t n_lines = csv_n_lines(reader->csv);
    if (problem.code == SIM_E_DATA && n_lines <= reader->file->allow_bad_rows - reader->n_bad) {
        reader->n_bad += n_lines;
        for (int64_t i = 0; i < n_lines; i++) {
            char *where = notes_count(&reader->notes, "bad-row", "rows that cannot be read left out");
            if (where != NULL) snprintf(where, DIAG_WHERE_CHARS, "%s", problem.where);
        }
        return 0;
    }
    if (problem.code != SIM_E_DATA) reader->ended = true;
    return diag_error(diag, problem.code, problem.where, problem.hint, "%s", problem.text);
}

static enum row_result check_order(struct reader *reader, const union trace_record *record)
{
    sim_ns back_ns = reader->last_ns - record->any.time_ns;
    bool first = reader->n_kept == 0;
    if (reader->file->sort || first || back_ns <= 0) return ROW_KEPT;
    return reader_bad(reader, 0, reader->format.no_sort ? "sort the file" : "sort the file, or set \"sort\": true",
                      "'%s' runs backwards: %.9g s before the latest row above", column_name(reader, 0),
                      sim_s_from_ns(back_ns));
}

/* Times that count from the file's own zero must not precede it. */
static enum row_result check_sign(struct reader *reader, const union trace_record *record)
{
    if (reader->format.from_first || record->any.time_ns >= 0) return ROW_KEPT;
    if (reader->format.origin_ns > 0 && reader->format.time_unit != TIME_CALENDAR &&
        record->any.time_ns + reader->format.origin_ns < UNIX_LEAST_S * INT64_C(1000000000))
        return reader_bad(reader, 0, "leave \"origin\" out",
                          "'%s' is no calendar time, which a time as \"origin\" needs", column_name(reader, 0));
    if (reader->format.origin_ns > 0)
        return reader_bad(reader, 0, "choose an earlier \"origin\"", "'%s' is %.9g s before the \"origin\"",
                          column_name(reader, 0), -sim_s_from_ns(record->any.time_ns));
    return reader_bad(reader, 0, NULL, "'%s' must be 0 or more, got %.9g s", column_name(reader, 0),
                      sim_s_from_ns(record->any.time_ns));
}

static int end_of_file(struct reader *reader, struct diag *diag)
{
    bool first_time = !reader->ended;
    reader->ended = true;
    if (!first_time) return 0;
    if (reader->n_kept > 0) return reader_check_numbers(reader, diag);
    const char *name = csv_name(reader->csv);
    if (reader->n_rows == 0) return diag_error(diag, SIM_E_DATA, name, NULL, "trace is empty; expected rows of data");
    return diag_error(diag, SIM_E_DATA, name, reader->notes.n > 0 ? reader->notes.items[0].text : NULL,
                      "none of the %" PRId64 " rows can be used", reader->n_rows);
}

/* The run of a trace whose times count from 1970 begins then, unless a window cuts that off. */
static void see_epoch(struct reader *reader, sim_ns first_ns)
{
    const struct row_format *format = &reader->format;
    const bool is_from_epoch = format->time_unit == TIME_CALENDAR && !format->from_first && format->origin_ns == 0;
    if (is_from_epoch && first_ns > UNIX_LEAST_S * INT64_C(1000000000) && reader->file->transform.window.n == 0)
        reader_note(reader, "since-1970",
                    "time 0 is 1970, by \"origin\": a time there, or a window, begins the run later");
}

static int reader_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct reader *reader = (struct reader *)stream;
    while (!reader->ended) {
        if (source_is_interrupted(reader->interrupt)) return SIM_E_INTERRUPTED;
        int code = csv_next(reader->csv, &reader->problem);
        if (code == 0) break;
        reader->row = reader->n_rows++;
        reader->fields = csv_fields(reader->csv);
        reader->offsets = NULL;
        reader->n_fields = csv_n_fields(reader->csv);
        if (code == 1) reader_see_width(&reader->widest, reader->csv);
        enum row_result result = code == 1 ? reader_check_width(reader) : ROW_BAD;
        if (result == ROW_KEPT) result = reader->format.row(reader, record);
        if (result == ROW_KEPT) result = check_sign(reader, record);
        if (result == ROW_KEPT) result = check_order(reader, record);
        if (result == ROW_KEPT) {
            reader->last_ns = record->any.time_ns;
            if (reader->n_kept++ == 0) see_epoch(reader, record->any.time_ns);
            return 1;
        }
        code = result == ROW_BAD ? give_up_row(reader, diag) : 0;
        if (code != 0) return code;
    }
    return end_of_file(reader, diag);
}

static struct source_place reader_place(const struct stream *stream)
{
    const struct reader *reader = (const struct reader *)stream;
    return (struct source_place){.row = reader->n_rows, .done_frac = csv_done_frac(reader->csv),
                                 .origin_ns = reader->format.origin_ns};
}

static bool reader_note_at(const struct stream *stream, size_t index, struct source_note *note)
{
    return notes_get(&((const struct reader *)stream)->notes, index, note);
}

static void destroy_state(const struct row_format *format)
{
    if (format->destroy_state != NULL) format->destroy_state(format->state);
}

static void reader_close(struct stream *stream)
{
    struct reader *reader = (struct reader *)stream;
    destroy_state(&reader->format);
    HASH_CLEAR(hh, reader->interned);
    arena_fini(&reader->arena);
    csv_destroy(reader->csv);
    mem_free(reader);
}

static const struct stream_ops reader_ops = {
    .next = reader_next, .place = reader_place, .note = reader_note_at, .close = reader_close};

/* Whether the file is a trace of the other kind, jobs for requests, which this then reports. */
static bool report_other_kind(const struct reader *reader, struct diag *diag)
{
    const struct trace_format *other;
    const bool requests = reader->format.requests;
    if (trace_guess(reader->file->path, requests ? TRACE_REQUESTS : TRACE_JOBS, NULL, &other, NULL) == 0) return false;
    if (trace_guess(reader->file->path, requests ? TRACE_JOBS : TRACE_REQUESTS, NULL, &other, NULL) != 0) return false;
    diag_error(diag, SIM_E_DATA, reader->file->path,
               requests ? "the section 'jobs' has a 'trace' for it" : "services have a 'trace' for it",
               "this is a trace of %s, format %s; expected %s", requests ? "jobs" : "requests", other->name,
               requests ? "requests" : "jobs");
    return true;
}

static int read_header(struct reader *reader, struct diag *diag)
{
    struct diag found = {0};
    const int code = csv_read_header(reader->csv, reader->columns, reader->format.n_columns, reader->positions, &found);
    if (code == SIM_E_DATA && report_other_kind(reader, diag)) return code;
    const struct trace_format *other = NULL;
    const bool is_of_another = found.n_items > 1 ||
                               (found.n_items == 1 && strstr(found.items[0].text, "no column") == NULL);
    if (code == SIM_E_DATA && is_of_another)
        trace_guess(reader->file->path, reader->format.requests ? TRACE_REQUESTS : TRACE_JOBS, NULL, &other, NULL);
    for (int i = 0; i < found.n_items; i++)
        diag_error(diag, found.items[i].code, found.items[i].where, found.items[i].hint, "%s%s%s", found.items[i].text,
                   other != NULL ? "; the file is of the format " : "", other != NULL ? other->name : "");
    if (code != 0 || !reader->format.csv.by_user) return code;
    reader->header_fields = csv_n_fields(reader->csv);
    return unread_warn(reader->csv, reader->columns, reader->format.n_columns, reader->positions, diag);
}

static int find_columns(struct reader *reader, struct diag *diag)
{
    if (!reader->format.no_header) return read_header(reader, diag);
    const int *positions = reader->format.positions;
    for (size_t i = 0; i < reader->format.n_columns; i++)
        reader->positions[i] = positions != NULL ? positions[i] : (int)i;
    return 0;
}

/* Takes ownership of `input`. */
static int open_input(const struct row_format *format, const struct trace_file *file, struct input *input,
                      const volatile sig_atomic_t *interrupt, struct stream **stream, struct diag *diag)
{
    struct csv *csv;
    int code = csv_create(input, &format->csv, &csv, diag);
    if (code != 0) {
        destroy_state(format);
        return code;
    }
    struct reader *reader = mem_zalloc(1, sizeof *reader);
    if (reader == NULL) {
        csv_destroy(csv);
        destroy_state(format);
        return diag_nomem_at(diag, file->path);
    }
    reader->stream.ops = &reader_ops;
    reader->format = *format;
    reader->file = file;
    reader->interrupt = interrupt;
    reader->csv = csv;
    memcpy(reader->columns, format->columns, format->n_columns * sizeof *format->columns);
    arena_init(&reader->arena);
    code = find_columns(reader, diag);
    if (code == 0) code = reader_check_numbers_ahead(reader, diag);
    if (code != 0) {
        reader_close(&reader->stream);
        return code;
    }
    *stream = &reader->stream;
    return 0;
}

int reader_open(const struct row_format *format, const struct trace_file *file, const volatile sig_atomic_t *interrupt,
                struct stream **stream, struct diag *diag)
{
    struct input *input;
    int code = input_open(file->path, &input, diag);
    if (code == 0) return open_input(format, file, input, interrupt, stream, diag);
    destroy_state(format);
    return code;
}
