/* JSON Lines as rows of a table: one object per line, whose keys are the names of the columns.
 *
 * The name "usage.prompt_tokens" is a key of an object inside the object. A string gives the text between its quotes,
 * as written; a number, `true` or `false` its characters; `null` an empty field. In columns that may be lists, a list
 * of numbers and strings gives these with blanks between them, and a list inside the list with colons:
 * [[17, 512], [4, 480]] is "17:512 4:480". So a format reads an object through the same functions as a row of a table.
 * Keys that no column names are skipped. */
#ifndef ORRERY_TRACES_FORMATS_JSON_ROW_H
#define ORRERY_TRACES_FORMATS_JSON_ROW_H

#include "traces/reader.h"

/* The fields of the current line. Zeroed before the first one, but for `lists`. */
struct json_row {
    bool lists[READER_MAX_COLUMNS];              /* whether a value may be a list */
    struct csv_field fields[READER_MAX_COLUMNS]; /* empty if the object lacks the key */
    size_t offsets[READER_MAX_COLUMNS];          /* of each value in the line, or READER_ABSENT */
    size_t n_chars, capacity;
    char *chars; /* of fields that were lists */
};

void json_row_fini(struct json_row *row);

/* Makes fields of the reader's line, which is its only field (CSV_DIALECT_LINES), one for each of its columns. Returns
 * false after noting what is wrong: no such object, a key given twice, an object or a list where a value is expected,
 * or memory that ran out. */
bool json_row_read(struct json_row *row, struct reader *reader, const char *hint);

#endif
