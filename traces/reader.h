/* The rows of a trace file as records.
 *
 * A format describes its columns and turns one row into one record; the reader does what all formats have in common:
 * opening, finding the columns, converting fields, saying file:line:col and what was expected, leaving out bad rows
 * when that was allowed, counting what was left out, and checking that time does not run backwards. */
#ifndef ORRERY_TRACES_READER_H
#define ORRERY_TRACES_READER_H

#include "sim/core/csv.h"
#include "sim/core/mem.h"
#include "traces/stream.h"
#include "traces/transform.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { READER_MAX_COLUMNS = 16 };

/* Limits of what traces may say, so that no sum of a time and a duration overflows: calendar times from 1970 to 2116,
 * other times and durations of 73 years. */
#define READER_MAX_CALENDAR_NS (INT64_MAX / 2)
#define READER_MAX_NS (INT64_MAX / 4)

struct reader;

enum row_result { ROW_BAD = -1, ROW_LEFT_OUT, ROW_KEPT };

/* What the numbers of a time column count. Their names in configs: time_unit_names. */
enum time_unit { TIME_CALENDAR, TIME_S, TIME_MS, TIME_US, TIME_NS, TIME_MIN, TIME_H, TIME_D };
extern const char *const time_unit_names[]; /* "timestamp", "s", "ms" ..., NULL */

struct row_format {
    struct csv_options csv;
    bool no_header;
    const int *positions;             /* of the columns, when there is no header; NULL: in their order */
    bool from_first;                  /* time starts at the first record, not at the file's own zero */
    bool requests;                    /* else jobs */
    const struct csv_column *columns; /* the first one is the time by which the trace is sorted */
    size_t n_columns;
    enum row_result (*row)(struct reader *reader, union trace_record *record);
    void *state;                        /* of the format, for its rows; taken over by the reader, also when it fails */
    void (*destroy_state)(void *state); /* NULL: there is none */
};

struct reader {
    struct stream stream;
    struct row_format format;
    const struct trace_file *file; /* and the format's own parameters behind it */
    struct csv *csv;
    struct csv_column columns[READER_MAX_COLUMNS];
    int positions[READER_MAX_COLUMNS]; /* of each column in a row; -1: absent */
    const struct csv_field *fields;    /* of the row in hand */
    size_t n_fields;
    const char *latest[READER_MAX_COLUMNS]; /* interned text of each column: often the next row has the same */
    int64_t row;                            /* 0-based, of the row in hand */
    int64_t n_rows, n_kept, n_bad;
    sim_ns last_ns;
    bool ended;
    struct diag problem; /* of the row in hand */
    struct notes notes;
    struct arena arena;
    struct interned *interned;
};

/* Opens file->path. `file` and all that the format points to must outlive the reader. Returns 0, SIM_E_IO, SIM_E_DATA
 * (header) or SIM_E_NOMEM. */
int reader_open(const struct row_format *format, const struct trace_file *file, struct stream **stream,
                struct diag *diag);

/* --- for formats: the row in hand --- */

/* Whether the field is there and not empty, "NA", "NaN", "NaT", "None" or "null". */
bool reader_has(const struct reader *reader, int column);

/* These return false after noting what is wrong with the field; the row is then to be given up with ROW_BAD. */
bool reader_i64(struct reader *reader, int column, int64_t min, int64_t max, int64_t *value);
bool reader_i32(struct reader *reader, int column, int32_t min, int32_t max, int32_t *value);
bool reader_f64(struct reader *reader, int column, double min, double *value);
bool reader_time(struct reader *reader, int column, enum time_unit unit, sim_ns *value);
bool reader_duration(struct reader *reader, int column, enum time_unit unit, sim_ns *value); /* >= 0 */

/* Whether the field is a whole number of 0 or more; nothing is noted when it is not. */
bool reader_number(const struct reader *reader, int column, int64_t *value);

/* The field's text, or an empty one. */
struct csv_field reader_text(const struct reader *reader, int column);

/* The same as a string that lives as long as the reader; equal texts are one string. NULL when out of memory, which is
 * noted. */
const char *reader_intern(struct reader *reader, int column);

/* Notes that the row is bad for a reason of the format's own. */
enum row_result reader_bad(struct reader *reader, int column, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same at an offset into the row, for formats of one column. */
enum row_result reader_bad_at(struct reader *reader, size_t offset, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Notes that memory ran out. Returns false. */
bool reader_no_memory(struct reader *reader);

/* Counts the row as left out, or something about it as changed. */
enum row_result reader_leave_out(struct reader *reader, const char *code, const char *text);
void reader_note(struct reader *reader, const char *code, const char *text);

/* Fills the record of a request: the id is the row. One without prompt or output tokens is left out: there is nothing
 * that a model could do for it. */
enum row_result reader_request(struct reader *reader, union trace_record *record, sim_ns arrival_ns,
                               int64_t prompt_tokens, int64_t output_tokens);

/* Reads a count of tokens, 0 or more. */
bool reader_tokens(struct reader *reader, int column, int64_t *tokens);

/* Reads the class of a request, a name as in configurations; blanks in it become '-'. "default" where the field is empty, NULL
 * without such a column. */
bool reader_class(struct reader *reader, int column, const char **name);

#endif
