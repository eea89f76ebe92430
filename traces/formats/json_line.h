/* Reads one flat JSON object on one line, member by member, without building a tree: for traces in JSON Lines. Integers
 * are exact over all 64 bits. Values of members that are not read are skipped. */
#ifndef ORRERY_TRACES_FORMATS_JSON_LINE_H
#define ORRERY_TRACES_FORMATS_JSON_LINE_H

#include "traces/reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_line {
    const char *start, *at, *end;
    const char *error; /* expected text at `at`; NULL without error */
};

void json_line_init(struct json_line *line, const char *chars, size_t n_chars);

/* Goes to the next member and points at its key, as written between the quotes. False past the last one, which must be
 * the end of the line, and on an error. The value of each member has to be read or skipped before the next call. */
bool json_line_member(struct json_line *line, const char **key, size_t *n_chars);

/* Steps into an object inside the line and over its members, as json_line_element does over elements. */
bool json_line_inner_member(struct json_line *line, bool *first, const char **key, size_t *n_chars);

/* The text of a number, or false with an error. */
bool json_line_number(struct json_line *line, const char **chars, size_t *n_chars);

/* The first character of the next value, or 0 at the end of the line. */
char json_line_peek(struct json_line *line);

/* Whether a string comes next. */
bool json_line_is_string(struct json_line *line);

/* The text of a string, as written between the quotes, or false with an error. */
bool json_line_string(struct json_line *line, const char **chars, size_t *n_chars);

/* Steps over `null`, if that comes next. */
bool json_line_null(struct json_line *line);

/* Steps into an array and over its elements: `first` is set before the first call. True before each element, false past
 * the last one and on an error. */
bool json_line_element(struct json_line *line, bool *first);

/* The index of a key among `n` names, or n. */
int json_line_find(const char *const *names, int n, const char *key, size_t n_chars);

/* Notes the line's error as a problem of the reader's row. Returns false. */
bool json_line_bad(const struct json_line *line, struct reader *reader, const char *hint);

/* Skips a value of any kind, nested at most 64 deep. */
bool json_line_skip(struct json_line *line);

#endif
