#include "sim/core/csv.h"

#include "sim/core/lines.h"
#include "sim/core/mem.h"
#include "sim/core/text.h"

#include <csv.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_FIELDS = 32, FIELD_BLOCK_BYTES = 1 << 16, MAX_NAMES_CHARS = 200 };

struct position {
    int64_t line;
    size_t column; /* 1-based */
};

struct csv {
    struct lines lines;
    struct csv_options options;
    struct csv_field *fields;
    struct position *positions; /* of the fields of a row that libcsv parsed */
    size_t n_fields, capacity;
    int64_t line; /* where the row starts */
    const char *line_chars;
    size_t n_line_chars;
    bool quoted;    /* libcsv parsed this row */
    bool row_ended; /* libcsv has seen its end */
    bool failed;    /* out of memory in a callback */
    struct csv_parser parser;
    struct text text; /* of the fields of a quoted row */
    size_t *ends;     /* of each field in text */
};

static inline bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The field between two delimiters, without the blanks around it. */
static inline struct csv_field trim(const char *start, const char *end)
{
    while (start < end && is_blank(*start)) start++;
    while (start < end && is_blank(end[-1])) end--;
    return (struct csv_field){start, (size_t)(end - start)};
}

static int no_memory(const struct csv *csv, struct diag *diag)
{
    return diag_nomem_at(diag, csv_name(csv));
}

static bool reserve_fields(struct csv *csv, size_t n)
{
    if (n <= csv->capacity) return true;
    size_t capacity = csv->capacity ? csv->capacity * 2 : FIRST_FIELDS;
    struct csv_field *fields = mem_realloc(csv->fields, capacity * sizeof *fields);
    if (fields != NULL) csv->fields = fields;
    struct position *positions = mem_realloc(csv->positions, capacity * sizeof *positions);
    if (positions != NULL) csv->positions = positions;
    size_t *ends = mem_realloc(csv->ends, capacity * sizeof *ends);
    if (ends != NULL) csv->ends = ends;
    if (fields == NULL || positions == NULL || ends == NULL) return false;
    csv->capacity = capacity;
    return true;
}

static int is_row_end(unsigned char c)
{
    return c == '\n';
}

static int start_parser(struct csv *csv, struct diag *diag)
{
    if (csv_init(&csv->parser, CSV_STRICT | CSV_STRICT_FINI) != 0) return no_memory(csv, diag);
    csv_set_delim(&csv->parser, (unsigned char)csv->options.delimiter);
    csv_set_term_func(&csv->parser, is_row_end);
    csv_set_blk_size(&csv->parser, FIELD_BLOCK_BYTES); /* by so much a field's memory grows, by half if it is long */
    csv_set_realloc_func(&csv->parser, mem_realloc);
    csv_set_free_func(&csv->parser, mem_free);
    return 0;
}

/* The delimiter that occurs most often outside quotes, the first of several; 0: none occurs. */
static char most_frequent_delimiter(const char *chars, size_t n_chars)
{
    static const char delimiters[] = ",;\t|";
    size_t counts[sizeof delimiters] = {0}, best = 0;
    bool inside = false;
    for (size_t i = 0; i < n_chars; i++) {
        const char *found = chars[i] != 0 ? strchr(delimiters, chars[i]) : NULL;
        if (chars[i] == '"') inside = !inside;
        if (found != NULL && !inside) counts[found - delimiters]++;
    }
    for (size_t i = 1; i < sizeof delimiters - 1; i++)
        if (counts[i] > counts[best]) best = i;
    return counts[best] > 0 ? delimiters[best] : 0;
}

static bool is_comment(const struct csv *csv)
{
    return csv->n_line_chars > 0 && csv->options.comment != 0 && *csv->line_chars == csv->options.comment;
}

/* Looks ahead to the first row. A file without rows has no delimiter to find. */
static int guess_delimiter(struct csv *csv, struct diag *diag)
{
    int code;
    lines_mark(&csv->lines);
    do {
        code = lines_next(&csv->lines, &csv->line_chars, &csv->n_line_chars, diag);
    } while (code == 1 && (is_comment(csv) || trim(csv->line_chars, csv->line_chars + csv->n_line_chars).n_chars == 0));
    if (code < 0) return code;
    const char delimiter = code == 1 ? most_frequent_delimiter(csv->line_chars, csv->n_line_chars) : ',';
    lines_rewind(&csv->lines);
    if (delimiter == 0) csv->options.dialect = CSV_DIALECT_BLANKS;
    csv->options.delimiter = delimiter;
    return 0;
}

int csv_create(struct input *input, const struct csv_options *options, struct csv **csv, struct diag *diag)
{
    struct csv *new = mem_zalloc(1, sizeof *new);
    if (new == NULL) {
        int code = diag_nomem_at(diag, input_name(input));
        input_close(input);
        return code;
    }
    new->options = *options;
    if (new->options.delimiter == 0) new->options.delimiter = ',';
    text_init(&new->text);
    int code = lines_init(&new->lines, input, diag);
    if (code == 0 && options->guess_delimiter) code = guess_delimiter(new, diag);
    if (code == 0) code = start_parser(new, diag);
    if (code == 0 && !reserve_fields(new, 1)) code = no_memory(new, diag);
    if (code != 0) {
        csv_destroy(new);
        return code;
    }
    *csv = new;
    return 0;
}

void csv_destroy(struct csv *csv)
{
    if (csv == NULL) return;
    csv_free(&csv->parser);
    text_fini(&csv->text);
    lines_fini(&csv->lines);
    mem_free(csv->fields);
    mem_free(csv->positions);
    mem_free(csv->ends);
    mem_free(csv);
}

/* --- rows without quotes --- */

static bool add_field(struct csv *csv, const char *start, const char *end)
{
    if (csv->n_fields == csv->capacity && !reserve_fields(csv, csv->n_fields + 1)) return false;
    csv->fields[csv->n_fields++] = trim(start, end);
    return true;
}

/* The next eight bytes of text, the first one lowest; zeros after the end. */
static inline uint64_t load_8(const char *at, const char *end)
{
    uint64_t word = 0;
    memcpy(&word, at, end - at < 8 ? (size_t)(end - at) : 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* The top bit of every byte of `word` that equals the same byte of `pattern`. */
static inline uint64_t equal_bytes(uint64_t word, uint64_t pattern)
{
    const uint64_t low_bits = UINT64_C(0x7F7F7F7F7F7F7F7F);
    uint64_t difference = word ^ pattern;
    return ~(((difference & low_bits) + low_bits) | difference | low_bits);
}

/* Eight bytes at a time: fields are short, and a processor guesses wrong where each of them ends. */
static bool split_delimited(struct csv *csv)
{
    const char *start = csv->line_chars, *end = start + csv->n_line_chars;
    const uint64_t pattern = (unsigned char)csv->options.delimiter * UINT64_C(0x0101010101010101);
    size_t n = 0;
    for (const char *at = start; at < end; at += 8) {
        if (csv->capacity - n < 9 && !reserve_fields(csv, n + 9)) return false;
        struct csv_field *fields = csv->fields;
        for (uint64_t found = equal_bytes(load_8(at, end), pattern); found != 0; found &= found - 1) {
            const char *delimiter = at + __builtin_ctzll(found) / 8;
            fields[n++] = trim(start, delimiter);
            start = delimiter + 1;
        }
    }
    csv->fields[n++] = trim(start, end);
    csv->n_fields = n;
    return true;
}

static bool split_blanks(struct csv *csv)
{
    const char *at = csv->line_chars, *end = at + csv->n_line_chars;
    for (;;) {
        while (at < end && is_blank(*at)) at++;
        if (at == end) return true;
        const char *start = at;
        while (at < end && !is_blank(*at)) at++;
        if (!add_field(csv, start, at)) return false;
    }
}

/* --- rows with quotes --- */

static void take_field(void *chars, size_t n_chars, void *context)
{
    struct csv *csv = context;
    if (csv->failed || !reserve_fields(csv, csv->n_fields + 1)) {
        csv->failed = true;
        return;
    }
    text_add_bytes(&csv->text, chars, n_chars);
    csv->ends[csv->n_fields++] = csv->text.length;
}

static void take_row_end(int terminator, void *context)
{
    (void)terminator;
    ((struct csv *)context)->row_ended = true;
}

/* Notes where the fields of this line start: libcsv does not say. *n counts them over the lines of a row. */
static bool note_positions(struct csv *csv, bool *inside, size_t *n)
{
    for (size_t i = 0; i < csv->n_line_chars; i++) {
        char c = csv->line_chars[i];
        if (c == '"') *inside = !*inside;
        if (c != csv->options.delimiter || *inside) continue;
        if (!reserve_fields(csv, *n + 1)) return false;
        csv->positions[(*n)++] = (struct position){csv->lines.number, i + 2};
    }
    return true;
}

#define QUOTE_HINT "a field with quotes is quoted as a whole, with \"\" for each quote in it"

/* A malformed row leaves the parser in the middle of it: start afresh. */
__attribute__((format(printf, 5, 6))) static int malformed(struct csv *csv, struct position at, struct diag *diag,
                                                           const char *hint, const char *format, ...)
{
    char where[DIAG_WHERE_CHARS], text[DIAG_TEXT_CHARS];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    diag_place(where, sizeof where, csv_name(csv), (long long)at.line, (long long)at.column);
    csv->n_fields = 0;
    csv_free(&csv->parser);
    int code = start_parser(csv, diag);
    return code != 0 ? code : diag_error(diag, SIM_E_DATA, where, hint, "%s", text);
}

/* Feeds the present line and its line end. `open` is the field that a line behind the row's first one goes on with. */
static int parse_line(struct csv *csv, struct position open, struct diag *diag)
{
    size_t n = csv_parse(&csv->parser, csv->line_chars, csv->n_line_chars, take_field, take_row_end, csv);
    if (n == csv->n_line_chars) csv_parse(&csv->parser, "\n", 1, take_field, take_row_end, csv);
    csv_set_blk_size(&csv->parser, FIELD_BLOCK_BYTES + csv_get_buffer_size(&csv->parser) / 2);
    if (csv->failed || csv->text.failed || csv_error(&csv->parser) == CSV_ENOMEM) return no_memory(csv, diag);
    if (csv_error(&csv->parser) == CSV_SUCCESS) return 0;
    struct position at = {csv->lines.number, n + 1};
    if (at.line == csv->line) return malformed(csv, at, diag, QUOTE_HINT, "quote in the wrong place");
    return malformed(csv, open, diag, "close it with a quote, in the same line if it holds no line break",
                     "quoted field runs into a quote in the wrong place at %lld:%zu", (long long)at.line, at.column);
}

static void finish_quoted(struct csv *csv)
{
    size_t start = 0;
    for (size_t i = 0; i < csv->n_fields; i++) {
        csv->fields[i] = (struct csv_field){csv->text.chars + start, csv->ends[i] - start};
        start = csv->ends[i];
    }
}

/* Parses lines up to the one that ends the row. */
static int parse_lines(struct csv *csv, struct diag *diag)
{
    bool inside = false;
    size_t n_positions = 1;
    csv->positions[0] = (struct position){csv->line, 1};
    for (;;) {
        struct position open = csv->positions[n_positions - 1];
        if (!note_positions(csv, &inside, &n_positions)) return no_memory(csv, diag);
        int code = parse_line(csv, open, diag);
        if (code != 0) return code;
        if (csv->row_ended) return 1;
        code = lines_next(&csv->lines, &csv->line_chars, &csv->n_line_chars, diag);
        if (code < 0) return code;
        if (code == 0) {
            return malformed(csv, csv->positions[n_positions - 1], diag, "close it with a quote",
                             "quoted field has no end");
        }
    }
}

/* A quote that is not closed costs its own line only. The lines behind it are looked at twice at most, however many
 * such quotes there are: a line with an even number of quotes cannot leave one open, and one with an odd number ends
 * the search. */
static int parse_quoted(struct csv *csv, struct diag *diag)
{
    csv->quoted = true;
    csv->row_ended = false;
    csv->text.length = 0;
    lines_mark(&csv->lines);
    int code = parse_lines(csv, diag);
    if (code == 1) finish_quoted(csv);
    if (code == SIM_E_DATA) {
        lines_rewind(&csv->lines);
    } else {
        lines_release(&csv->lines);
    }
    return code;
}

/* --- rows --- */

static bool is_empty_line(const struct csv *csv)
{
    for (size_t i = 0; i < csv->n_line_chars; i++) {
        if (!is_blank(csv->line_chars[i]) || csv->line_chars[i] == csv->options.delimiter) return false;
    }
    return true;
}

int csv_next(struct csv *csv, struct diag *diag)
{
    for (;;) {
        int code = lines_next(&csv->lines, &csv->line_chars, &csv->n_line_chars, diag);
        csv->line = csv->lines.number;
        if (code <= 0) return code;
        if (!is_comment(csv) && !is_empty_line(csv)) break;
    }
    csv->n_fields = 0;
    csv->quoted = false;
    bool ok = true;
    switch (csv->options.dialect) {
    case CSV_DIALECT_DELIMITED:
        if (memchr(csv->line_chars, '"', csv->n_line_chars) != NULL) return parse_quoted(csv, diag);
        ok = split_delimited(csv);
        break;
    case CSV_DIALECT_BLANKS: ok = split_blanks(csv); break;
    case CSV_DIALECT_LINES: ok = add_field(csv, csv->line_chars, csv->line_chars + csv->n_line_chars); break;
    }
    return ok ? 1 : no_memory(csv, diag);
}

const struct csv_field *csv_fields(const struct csv *csv)
{
    return csv->fields;
}

size_t csv_n_fields(const struct csv *csv)
{
    return csv->n_fields;
}

const char *csv_name(const struct csv *csv)
{
    return input_name(csv->lines.input);
}

int64_t csv_line(const struct csv *csv)
{
    return csv->line;
}

int64_t csv_n_lines(const struct csv *csv)
{
    return csv->lines.number - csv->line + 1;
}

double csv_done_frac(const struct csv *csv)
{
    return input_done_frac(csv->lines.input);
}

void csv_where(const struct csv *csv, size_t field, size_t offset, char where[DIAG_WHERE_CHARS])
{
    struct position position = {csv->line, csv->n_line_chars + 1};
    if (field < csv->n_fields && csv->quoted) position = csv->positions[field];
    if (field < csv->n_fields && !csv->quoted) {
        position.column = (size_t)(csv->fields[field].chars - csv->line_chars) + 1;
    }
    diag_place(where, DIAG_WHERE_CHARS, csv_name(csv), (long long)position.line,
               (long long)position.column + (long long)offset);
}

/* --- header --- */

static bool is_named(const struct csv_field *field, const char *name)
{
    return strlen(name) == field->n_chars && memcmp(field->chars, name, field->n_chars) == 0;
}

/* Writes that the header seems to have another delimiter. Returns false if it is no single field with delimiters. */
static bool hint_delimiter(const struct csv *csv, char *hint, size_t hint_bytes)
{
    const struct csv_field *field = &csv->fields[0];
    const char c = csv->n_fields == 1 ? most_frequent_delimiter(field->chars, field->n_chars) : 0;
    if (c == 0 || c == csv->options.delimiter) return false;
    snprintf(hint, hint_bytes, "the row looks separated by %s; format csv or csv-jobs without \"delimiter\" finds that",
             c == ';'    ? "semicolons"
             : c == '\t' ? "tabs"
             : c == '|'  ? "'|'"
                         : "commas");
    return true;
}

/* What to do about a column that is not there: another delimiter, the nearest name, else all of them. */
static int missing_column(struct csv *csv, const struct csv_column *column, struct diag *diag)
{
    const char *name = column->name;
    char where[DIAG_WHERE_CHARS], hint[DIAG_TEXT_CHARS];
    struct text names;
    text_init(&names);
    const char **candidates = mem_zalloc(csv->n_fields, sizeof *candidates);
    for (size_t i = 0; i < csv->n_fields; i++) {
        text_add_bytes(&names, csv->fields[i].chars, csv->fields[i].n_chars);
        text_add_bytes(&names, "", 1);
    }
    if (candidates == NULL || names.failed) {
        mem_free(candidates);
        text_fini(&names);
        return no_memory(csv, diag);
    }
    const char *next = names.chars;
    for (size_t i = 0; i < csv->n_fields; i++, next += strlen(next) + 1) candidates[i] = next;
    const char *nearest = text_nearest(name, candidates, csv->n_fields);
    if (hint_delimiter(csv, hint, sizeof hint)) {
        /* the names are in one field */
    } else if (nearest != NULL) {
        snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    } else {
        for (size_t i = 0; i + 1 < names.length; i++) {
            if (names.chars[i] == 0) names.chars[i] = ',';
        }
        snprintf(hint, sizeof hint, "the columns are %.*s", MAX_NAMES_CHARS, names.chars);
    }
    const size_t n_hint = strlen(hint);
    if (csv->options.by_user)
        snprintf(hint + n_hint, sizeof hint - n_hint, "%s%s", n_hint > 0 && hint[n_hint - 1] == '?' ? " " : "; ",
                 strspn(name, "0123456789") == strlen(name) ? "numbers of columns need \"header\": false"
                                                            : "'columns' names it, as --set columns.KEY=NAME");
    csv_where(csv, 0, 0, where);
    mem_free(candidates);
    text_fini(&names);
    return diag_error(diag, SIM_E_DATA, where, hint, "no column '%s' in the header", name);
}

static int find_column(struct csv *csv, const struct csv_column *column, int *position, struct diag *diag)
{
    *position = -1;
    for (size_t i = 0; i < csv->n_fields; i++) {
        if (!is_named(&csv->fields[i], column->name)) continue;
        if (*position >= 0) {
            char where[DIAG_WHERE_CHARS];
            csv_where(csv, i, 0, where);
            return diag_error(diag, SIM_E_DATA, where, "rename one of them", "column '%s' appears twice", column->name);
        }
        *position = (int)i;
    }
    return *position >= 0 || column->optional ? 0 : missing_column(csv, column, diag);
}

int csv_read_header(struct csv *csv, const struct csv_column *columns, size_t n_columns, int *positions,
                    struct diag *diag)
{
    int result = csv_next(csv, diag);
    if (result == 0) {
        return diag_error(diag, SIM_E_DATA, csv_name(csv), NULL,
                          "file is empty; expected a header with the column names");
    }
    if (result < 0) return result;
    result = 0;
    for (size_t i = 0; i < n_columns; i++) {
        int code = find_column(csv, &columns[i], &positions[i], diag);
        if (code != 0) result = code;
    }
    return result;
}
