/* Writes indented JSON into a text: commas, line breaks and indentation follow from what is opened and closed.
 *
 *     {
 *       "nodes": 4,
 *       "window": ["0s", "1h"]
 *     }
 *
 * `key` is NULL for items of lists and at the top. Errors stay in the text (text.failed). */
#ifndef ORRERY_CORE_JSON_WRITE_H
#define ORRERY_CORE_JSON_WRITE_H

#include "sim/core/text.h"

struct json_writer {
    struct text *text;
    int depth;
    int row_depth; /* from this depth on everything stands in one line; 0: nothing does */
    bool is_empty; /* nothing has been written since the last opening */
};

void json_writer_init(struct json_writer *writer, struct text *text);

/* Starts a value: writes what goes before it. The caller adds the value itself to the text. */
void json_write_key(struct json_writer *writer, const char *key);

/* Opens with '{' or '['; a row keeps all that is in it in one line. */
void json_write_open(struct json_writer *writer, const char *key, char bracket);
void json_write_open_row(struct json_writer *writer, const char *key, char bracket);
void json_write_close(struct json_writer *writer, char bracket);

void json_write_string(struct json_writer *writer, const char *key, const char *value); /* NULL: null */
void json_write_number(struct json_writer *writer, const char *key, double value);      /* NaN, infinite: null */
void json_write_bool(struct json_writer *writer, const char *key, bool value);

#endif
