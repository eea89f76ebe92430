/* Reads JSON documents of any length piece by piece, in bounded memory: for traces that are one document or several,
 * one after another. Nothing is kept but the text of the present key, string or number.
 *
 * Takes what Python's json module writes, also NaN and Infinity. Members of one name may occur twice. A function that
 * fails reports file:line:col and returns false; all later calls then return false too. Columns count characters. */
#ifndef ORRERY_TRACES_FORMATS_JSON_STREAM_H
#define ORRERY_TRACES_FORMATS_JSON_STREAM_H

#include "sim/core/err.h"
#include "sim/core/input.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JSON_STREAM_TEXT_CHARS = 128 };

struct json_place_in_file {
    int64_t line, column;
};

struct json_stream {
    struct input *input; /* owned */
    char *buffer;
    size_t at, end; /* bytes at .. end of the buffer are not read yet */
    bool ended;
    bool first; /* the present object or list has had no member or element yet */
    struct json_place_in_file place, token; /* of the next byte; where the latest key, string or number began */
    char text[JSON_STREAM_TEXT_CHARS];      /* of it, cut at the end */
    size_t n_chars;                         /* of a string, in code points, however long */
    const char *hint;                       /* for all errors */
    struct diag *diag;                      /* of the present call; NULL: errors are not reported */
    int code;                               /* 0, or of the error */
};

/* Takes the input over, also when it fails. `hint` must outlive the stream. Returns 0 or SIM_E_NOMEM. */
int json_stream_open(struct input *input, const char *hint, struct json_stream *stream, struct diag *diag);
void json_stream_close(struct json_stream *stream);

/* The next character that is not blank, which stays unread; 0 at the end of the file and after an error. */
char json_stream_peek(struct json_stream *stream);

/* Steps into an object or list, which begins with `bracket`. */
bool json_stream_enter(struct json_stream *stream, char bracket);

/* Goes to the next member of an object and puts its key into `text`; the value must be read or skipped before the next
 * call. False past the last one and on an error. */
bool json_stream_member(struct json_stream *stream);

/* Goes to the next element of a list. False past the last one and on an error. */
bool json_stream_element(struct json_stream *stream);

/* Reads a number or a word into `text`. */
bool json_stream_scalar(struct json_stream *stream);

/* Reads a string into `text`, decoded, and counts its code points. */
bool json_stream_string(struct json_stream *stream);

/* Skips a value of any kind, nested at most 64 deep. */
bool json_stream_skip(struct json_stream *stream);

/* Reports an error at the latest key, string or number. Returns false. */
bool json_stream_bad(struct json_stream *stream, const char *hint, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "file:line:col" of the latest key, string or number. Returns `where`. */
const char *json_stream_where(const struct json_stream *stream, char where[DIAG_WHERE_CHARS]);

#endif
