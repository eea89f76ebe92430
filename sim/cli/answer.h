/* The answer of a verb: tables and values, filled once and printed for people (text, Markdown, LaTeX) or for programs
 * (JSON, CSV).
 *
 * CSV is one table of the answer by RFC 4180: a header of the JSON keys, then the JSON values. An answer with several
 * tables names the one to print. Members of an object in a row are columns "object.member". Null is an empty field, an
 * empty text is quoted. Lists within a row are left out.
 *
 * LaTeX is the tables of the text, each a tabular by the package booktabs. All else becomes comments, so that a paper
 * can \input the answer. */
#ifndef ORRERY_CLI_ANSWER_H
#define ORRERY_CLI_ANSWER_H

#include "sim/core/err.h"
#include "sim/core/json_write.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { ANSWER_MAX_COLUMNS = 32 };

enum column_align { COLUMN_LEFT, COLUMN_RIGHT };

struct table_column {
    const char *title; /* NULL: left out for people */
    const char *key;   /* NULL: left out of JSON and CSV */
    enum column_align align;
};

/* The initialisers of a column: for both readers, or for one of them. A unit stands in the name: "latency_us". */
#define LEFT(name) {name, name, COLUMN_LEFT}
#define RIGHT(name) {name, name, COLUMN_RIGHT}
#define LEFT_SHOWN(title) {title, NULL, COLUMN_LEFT}
#define RIGHT_SHOWN(title) {title, NULL, COLUMN_RIGHT}
#define JSON_ONLY(key) {NULL, key, COLUMN_LEFT}

enum cell_kind { CELL_TEXT, CELL_NUMBER, CELL_NULL };

struct table_cell {
    enum cell_kind kind;
    size_t chars; /* offset of its text */
    size_t shown; /* offset of its text for people, without control characters */
    double number;
};

/* Filled row by row, cell by cell. When memory runs out, `failed` is set, and answer_end reports it. */
struct answer_table {
    const struct table_column *columns;
    size_t n_columns, n_cells, capacity;
    struct table_cell *cells;
    struct text texts;
    bool failed;
};

void table_init(struct answer_table *table, const struct table_column *columns, size_t n_columns);
#define TABLE_INIT(table, columns) table_init(table, columns, sizeof(columns) / sizeof *(columns))
void table_fini(struct answer_table *table);

/* NULL is blank for people, null in JSON. */
void table_text(struct answer_table *table, const char *text);

/* A number: exact in JSON, by text_show_number for people. NAN is blank for people, null in JSON. */
void table_number(struct answer_table *table, double value);

/* A number that people see as `shown`. */
void table_shown(struct answer_table *table, double value, const char *shown);

/* No value: "-" for people, null in JSON. */
void table_undefined(struct answer_table *table);

enum answer_form { ANSWER_TEXT, ANSWER_MARKDOWN, ANSWER_LATEX, ANSWER_JSON, ANSWER_CSV };

/* Their names, for options of kind OPTION_WORD. */
extern const char *const answer_forms[];

static inline bool answer_is_data(enum answer_form form)
{
    return form == ANSWER_JSON || form == ANSWER_CSV;
}

/* Printed by answer_end alone, so that a verb that fails prints nothing. */
struct answer {
    enum answer_form form;
    const char *rows; /* the member that CSV prints; NULL: the whole answer */
    bool failed; /* out of memory */
    struct text text;
    struct text header; /* CSV: of a table without rows */
    struct json_writer json;
};

/* `rows`: the member of the JSON object that is the table of CSV, a list of objects, or an object of named values or
 * rows; NULL: the whole answer. */
void answer_init(struct answer *answer, enum answer_form form, const char *rows);

/* Prints the answer if `code` is 0, and frees it. Returns `code`, SIM_E_NOMEM when filling failed, or SIM_E_CONFIG:
 * the answer holds a text of answer_json that CSV cannot be made of. `diag` may be NULL. */
int answer_end(struct answer *answer, int code, FILE *out, struct diag *diag);

/* As answer_end, into a text. */
int answer_take(struct answer *answer, struct text *out, struct diag *diag);

/* Adds the table and frees it. For people it stands below a blank line and `heading` (NULL: none); a table without
 * rows is left out. In JSON it is the member `key`, an array of objects; with a NULL key, the array is the whole
 * answer. */
void answer_add(struct answer *answer, const char *key, const char *heading, struct answer_table *table);

/* Like answer_add, but in JSON each row is a member of the enclosing object, named by the row's first cell. Its
 * value is the one other cell with a key, or an object of several. */
void answer_members(struct answer *answer, struct answer_table *table);

/* For people alone. answer_end prints control characters, but for line breaks and tabs, as \xNN. */
void answer_say(struct answer *answer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For programs alone: members of an object, '{' to '}', or with a NULL key items of a list, '[' to ']'. A row stands in
 * one line. The object around all members opens and closes itself. */
void answer_open(struct answer *answer, const char *key, char bracket);
void answer_open_row(struct answer *answer, const char *key, char bracket);
void answer_close(struct answer *answer, char bracket);
void answer_text(struct answer *answer, const char *key, const char *value);   /* NULL: null */
void answer_number(struct answer *answer, const char *key, double value);      /* NaN, infinite: null */
void answer_bool(struct answer *answer, const char *key, bool value);
void answer_json(struct answer *answer, const char *key, const char *json);

/* The whole answer of a verb: answer_add and answer_end at once. */
int table_print(struct answer_table *table, int code, enum answer_form form, FILE *out, struct diag *diag);

/* Writes data: as they are to files and pipes, with control characters as \xNN to a terminal. Returns 0 or
 * SIM_E_NOMEM. */
int answer_write(const struct text *data, FILE *out);

/* printf for people, with control characters as answer_end prints them. */
void answer_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
