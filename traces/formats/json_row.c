#include "traces/formats/json_row.h"

#include "traces/formats/json_line.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <string.h>

enum { MAX_DEPTH = 16 };

/* Keys from the outermost object to the current member. */
struct path {
    int depth;
    struct csv_field keys[MAX_DEPTH];
};

struct walk {
    struct json_row *row;
    struct reader *reader;
    struct json_line line;
    struct path path;
    const char *hint;
};

void json_row_fini(struct json_row *row)
{
    mem_free(row->chars);
}

/* What is left of a column's name behind the path: "" if the path is the name, more behind a '.', NULL if it is not
 * below the path. */
static const char *rest_of(const char *name, const struct path *path)
{
    for (int i = 0; i < path->depth; i++) {
        const struct csv_field *key = &path->keys[i];
        if (i > 0 && *name++ != '.') return NULL;
        if (strncmp(name, key->chars, key->n_chars) != 0 || memchr(key->chars, 0, key->n_chars) != NULL) return NULL;
        name += key->n_chars;
    }
    return *name == 0 || *name == '.' ? name : NULL;
}

static bool bad_value(struct walk *walk, const char *problem)
{
    const struct csv_field *key = &walk->path.keys[walk->path.depth - 1];
    reader_bad_at(walk->reader, (size_t)(walk->line.at - walk->line.start), walk->hint, "'%.*s' %s",
                  (int)(key->n_chars < 40 ? key->n_chars : 40), key->chars, problem);
    return false;
}

static bool bad_line(struct walk *walk)
{
    return json_line_bad(&walk->line, walk->reader, walk->hint);
}

/* --- Values --- */

/* A list is no longer as text than in the line, where it has brackets. */
static void add_chars(struct json_row *row, const char *chars, size_t n_chars)
{
    memcpy(row->chars + row->n_chars, chars, n_chars);
    row->n_chars += n_chars;
}

static bool read_scalar(struct walk *walk, bool may_be_list, struct csv_field *field)
{
    struct json_line *line = &walk->line;
    const char c = json_line_peek(line);
    if (c == '{' || c == '[')
        return bad_value(walk, may_be_list ? "must be a number, a string or a list of these"
                                           : "must be a number or a string");
    if (c == '"') return json_line_string(line, &field->chars, &field->n_chars) || bad_line(walk);
    field->chars = line->at;
    if (!json_line_skip(line)) return bad_line(walk);
    field->n_chars = (size_t)(line->at - field->chars);
    return true;
}

static bool read_item(struct walk *walk, const char *separator, bool is_first)
{
    struct csv_field field = {"", 0};
    if (!read_scalar(walk, true, &field)) return false;
    if (!is_first) add_chars(walk->row, separator, 1);
    add_chars(walk->row, field.chars, field.n_chars);
    return true;
}

/* An element of a list: a value, or a list of values. */
static bool read_element(struct walk *walk, bool is_first)
{
    bool inner_first = true, is_pair_first = true;
    if (json_line_peek(&walk->line) != '[') return read_item(walk, " ", is_first);
    if (!is_first) add_chars(walk->row, " ", 1);
    while (json_line_element(&walk->line, &inner_first)) {
        if (!read_item(walk, ":", is_pair_first)) return false;
        is_pair_first = false;
    }
    return walk->line.error == NULL || bad_line(walk);
}

static bool read_list(struct walk *walk, struct csv_field *field)
{
    struct json_row *row = walk->row;
    bool first = true, is_first_element = true;
    const size_t start = row->n_chars;
    while (json_line_element(&walk->line, &first)) {
        if (!read_element(walk, is_first_element)) return false;
        is_first_element = false;
    }
    if (walk->line.error != NULL) return bad_line(walk);
    *field = (struct csv_field){row->chars + start, row->n_chars - start};
    return true;
}

static bool read_value(struct walk *walk, bool may_be_list, struct csv_field *field)
{
    if (json_line_null(&walk->line)) {
        *field = (struct csv_field){"", 0};
        return true;
    }
    return may_be_list && json_line_peek(&walk->line) == '[' ? read_list(walk, field)
                                                             : read_scalar(walk, may_be_list, field);
}

/* --- Members --- */

/* Whether the member is a column, or an object that may hold columns. */
static void find_use(const struct walk *walk, bool *is_column, bool *leads_on)
{
    const struct reader *reader = walk->reader;
    *is_column = *leads_on = false;
    for (size_t i = 0; i < reader->format.n_columns; i++) {
        const char *rest = rest_of(reader->columns[i].name, &walk->path);
        if (rest == NULL) continue;
        *is_column |= *rest == 0;
        *leads_on |= *rest != 0;
    }
}

/* Whether a column of this name may be a list. */
static bool may_be_list(const struct walk *walk)
{
    for (size_t i = 0; i < walk->reader->format.n_columns; i++) {
        const char *rest = rest_of(walk->reader->columns[i].name, &walk->path);
        if (rest != NULL && *rest == 0 && walk->row->lists[i]) return true;
    }
    return false;
}

/* Reads a value for all columns of this name. */
static bool read_column(struct walk *walk)
{
    struct json_row *row = walk->row;
    const struct reader *reader = walk->reader;
    struct csv_field field;
    json_line_peek(&walk->line); /* steps over blanks */
    const size_t offset = (size_t)(walk->line.at - walk->line.start);
    if (!read_value(walk, may_be_list(walk), &field)) return false;
    for (size_t i = 0; i < reader->format.n_columns; i++) {
        const char *rest = rest_of(reader->columns[i].name, &walk->path);
        if (rest == NULL || *rest != 0) continue;
        if (row->offsets[i] != READER_ABSENT) return bad_value(walk, "is given twice");
        row->fields[i] = field;
        row->offsets[i] = offset;
    }
    return true;
}

static bool read_members(struct walk *walk);

static bool read_member(struct walk *walk)
{
    bool is_column, leads_on;
    find_use(walk, &is_column, &leads_on);
    if (leads_on && json_line_peek(&walk->line) == '{')
        return walk->path.depth < MAX_DEPTH ? read_members(walk) : bad_value(walk, "is nested more than 16 deep");
    if (is_column) return read_column(walk);
    return json_line_skip(&walk->line) || bad_line(walk);
}

/* The members of an object inside the line; at depth 0 of the line itself. */
static bool read_members(struct walk *walk)
{
    struct path *path = &walk->path;
    struct csv_field key;
    bool first = true;
    const int depth = path->depth++;
    while (depth == 0 ? json_line_member(&walk->line, &key.chars, &key.n_chars)
                      : json_line_inner_member(&walk->line, &first, &key.chars, &key.n_chars)) {
        path->keys[depth] = key;
        if (!read_member(walk)) return false;
    }
    path->depth = depth;
    return walk->line.error == NULL || bad_line(walk);
}

bool json_row_read(struct json_row *row, struct reader *reader, const char *hint)
{
    const struct csv_field text = reader->fields[0];
    struct walk walk = {.row = row, .reader = reader, .hint = hint};
    for (size_t i = 0; i < reader->format.n_columns; i++) {
        row->fields[i] = (struct csv_field){"", 0};
        row->offsets[i] = READER_ABSENT;
    }
    row->n_chars = 0;
    reader->offsets = NULL;
    if (vec_reserve(&row->chars, &row->capacity, text.n_chars + 1) != 0) return reader_no_memory(reader);
    json_line_init(&walk.line, text.chars, text.n_chars);
    struct json_line ahead = walk.line;
    if (json_line_peek(&ahead) == '[') walk.hint = "write one object per line, without a list around them";
    if (!read_members(&walk)) return false;
    reader->fields = row->fields;
    reader->n_fields = reader->format.n_columns;
    reader->offsets = row->offsets;
    return true;
}
