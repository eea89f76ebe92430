/* The rows of a trace file as records.
 *
 * A format describes its columns and converts one row into one record. The reader does the rest: it opens the file,
 * finds the columns, converts fields, reports errors with file:line:col, skips bad rows if that is allowed, counts
 * skipped rows, and checks that time does not run backwards. */
#ifndef ORRERY_TRACES_READER_H
#define ORRERY_TRACES_READER_H

#include "sim/core/csv.h"
#include "sim/core/mem.h"
#include "traces/stream.h"
#include "traces/transform.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { READER_MAX_COLUMNS = 24 };

/* Limits of times in traces, so that no sum of a time and a duration overflows: calendar times from 1970 to 2116,
 * other times and durations of up to 73 years. */
#define READER_MAX_CALENDAR_NS (INT64_MAX / 2)
#define READER_MAX_NS (INT64_MAX / 4)

#define READER_ABSENT SIZE_MAX

struct reader;

enum row_result { ROW_BAD = -1, ROW_LEFT_OUT, ROW_KEPT };

/* Unit of a time column. */
enum time_unit { TIME_CALENDAR, TIME_S, TIME_MS, TIME_US, TIME_NS, TIME_MIN, TIME_H, TIME_D };

/* Names in configurations: "auto" (the first row decides), then those of enum time_unit, NULL. */
extern const char *const time_unit_names[];

struct row_format {
    struct csv_options csv;
    bool no_header;
    const int *positions;             /* of the columns in a file without header; NULL: in order */
    bool from_first;                  /* time starts at the first record, not at the file's own zero */
    enum time_unit time_unit;         /* for reader_table_time */
    bool guess_unit;                  /* the first row decides: calendar times, else time_unit */
    bool guess_origin;                /* ... and calendar and Unix times start at the first record */
    bool tells_origin;                /* the place of the source has the origin, if it was guessed */
    sim_ns origin_ns;                 /* of reader_table_time: this calendar time is time 0; 0: none is stated */
    bool requests;                    /* otherwise jobs */
    bool names_sessions;              /* rows name their sessions */
    bool no_sort;                     /* its parameters have no "sort" */
    const struct csv_column *columns; /* the first one is the time by which the trace is sorted */
    size_t n_columns;
    enum row_result (*row)(struct reader *reader, union trace_record *record);
    void *state;                        /* of the format; owned by the reader, also on failure */
    void (*destroy_state)(void *state); /* may be NULL */
};

/* The first of the rows with the most fields. */
struct widest_row {
    size_t n_fields;
    char where[DIAG_WHERE_CHARS];
};

/* Whether the times of a column name their zones, by the first of them. */
enum column_zones { ZONES_UNKNOWN, ZONES_ABSENT, ZONES_NAMED };

struct reader {
    struct stream stream;
    struct row_format format;
    const struct trace_file *file; /* first member of the format's own parameters */
    const volatile sig_atomic_t *interrupt; /* as in struct source_options */
    struct csv *csv;
    struct csv_column columns[READER_MAX_COLUMNS];
    int positions[READER_MAX_COLUMNS]; /* of each column in a row; -1: absent */
    const struct csv_field *fields;    /* of the current row */
    size_t n_fields;                   /* of the current row */
    struct widest_row widest;
    size_t header_fields; /* of the row that names the columns; 0: there is none, or rows may have more */
    /* In the line, of fields that a format took out of the row's only one, or READER_ABSENT; NULL: there are none. */
    const size_t *offsets;
    const char *latest[READER_MAX_COLUMNS]; /* last interned text of each column, which often repeats */
    enum column_zones zones[READER_MAX_COLUMNS];
    int64_t row;                            /* 0-based, of the current row */
    int64_t n_rows, n_kept, n_bad;
    sim_ns last_ns;
    bool ended;
    struct diag problem; /* of the current row */
    struct notes notes;
    struct arena arena;
    struct interned *interned;
};

/* Opens file->path. `file` and all that the format points to must outlive the reader. Returns 0, SIM_E_IO, SIM_E_DATA
 * (header) or SIM_E_NOMEM. */
int reader_open(const struct row_format *format, const struct trace_file *file, const volatile sig_atomic_t *interrupt,
                struct stream **stream, struct diag *diag);

/* --- for formats: the current row --- */

/* Whether the field is present and not empty, "NA", "NaN", "NaT", "None" or "null". */
bool reader_has(const struct reader *reader, int column);

/* These note the error of a bad field and return false; the format then returns ROW_BAD. */
bool reader_i64(struct reader *reader, int column, int64_t min, int64_t max, int64_t *value);
bool reader_i32(struct reader *reader, int column, int32_t min, int32_t max, int32_t *value);
bool reader_f64(struct reader *reader, int column, double min, double *value);
bool reader_time(struct reader *reader, int column, enum time_unit unit, sim_ns *value);
bool reader_duration(struct reader *reader, int column, enum time_unit unit, sim_ns *value); /* >= 0 */

/* Reads a time in the format's time_unit. With guess_unit, the first row that holds a time sets the unit of all. */
bool reader_table_time(struct reader *reader, int column, sim_ns *value);

/* Whether the field is a whole number >= 0. Notes nothing if it is not. */
bool reader_number(const struct reader *reader, int column, int64_t *value);

/* The field's text, or an empty one. */
struct csv_field reader_text(const struct reader *reader, int column);

/* The field as a string that lives as long as the reader; equal texts share one string. NULL, after noting it, when
 * out of memory. */
const char *reader_intern(struct reader *reader, int column);

/* A name as in reader_class, interned. NULL if it is none, or after noting that memory ran out. */
const char *reader_intern_name(struct reader *reader, const char *chars, size_t n_chars);

/* Notes that the row is bad for a reason of the format. */
enum row_result reader_bad(struct reader *reader, int column, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Like reader_bad, at an offset into the row, for formats of one column. */
enum row_result reader_bad_at(struct reader *reader, size_t offset, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Notes that memory ran out. Returns false. */
bool reader_no_memory(struct reader *reader);

/* Count the row as left out, or as changed in some way. */
enum row_result reader_leave_out(struct reader *reader, const char *code, const char *text);
void reader_note(struct reader *reader, const char *code, const char *text);

/* The same, with the field of the first such row behind the text, in quotes. */
void reader_note_field(struct reader *reader, int column, const char *code, const char *text);

/* Fills the record of a request; its id is the row. Leaves out requests without prompt or output tokens, which no
 * model could serve. */
enum row_result reader_request(struct reader *reader, union trace_record *record, sim_ns arrival_ns,
                               int64_t prompt_tokens, int64_t output_tokens);

/* Reads a number of tokens >= 0. */
bool reader_tokens(struct reader *reader, int column, int64_t *tokens);

/* Reads the class of a request, a name as in configurations; blanks in it become '-'. "default" if the field is empty,
 * NULL without such a column. */
bool reader_class(struct reader *reader, int column, const char **name);

#endif
