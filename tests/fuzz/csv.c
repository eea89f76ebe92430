/* Any bytes as a table, the first one choosing the delimiter: the rows up to the first malformed one are those that
 * libcsv finds in the whole text. (Carriage returns, which are read as part of the line end, are left out of the
 * comparison.) */
#include "tests/fuzz/fuzz.h"

#include "sim/core/csv.h"
#include "sim/core/text.h"

#include <csv.h>
#include <string.h>

/* Rows in one text: every field with its length before it, a bar after each row. */
struct rows {
    struct text text;
    size_t n_kept; /* length up to the last whole row */
};

static void add_field(struct rows *rows, const char *chars, size_t n_chars)
{
    text_printf(&rows->text, "%zu:", n_chars);
    text_add_bytes(&rows->text, chars, n_chars);
}

static void end_row(struct rows *rows)
{
    text_add(&rows->text, "|");
    rows->n_kept = rows->text.length;
}

static void take_field(void *chars, size_t n_chars, void *context)
{
    add_field(context, chars, n_chars);
}

static void take_row_end(int end, void *context)
{
    (void)end;
    end_row(context);
}

static int is_line_end(unsigned char c)
{
    return c == '\n';
}

static bool read_libcsv(const char *chars, size_t n_chars, char delimiter, struct rows *rows)
{
    struct csv_parser parser;
    csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI);
    csv_set_delim(&parser, (unsigned char)delimiter);
    csv_set_term_func(&parser, is_line_end);
    bool whole = csv_parse(&parser, chars, n_chars, take_field, take_row_end, rows) == n_chars &&
                 csv_fini(&parser, take_field, take_row_end, rows) == 0;
    csv_free(&parser);
    return whole;
}

static bool read_own(const char *chars, size_t n_chars, char delimiter, struct rows *rows, bool *sound)
{
    struct diag diag = {0};
    struct input *input;
    struct csv *csv;
    if (input_open_memory("fuzz", chars, n_chars, &input, &diag) != 0) return false;
    if (csv_create(input, &(struct csv_options){.delimiter = delimiter}, &csv, &diag) != 0) return false;
    int code;
    bool whole = true, placed = true;
    while ((code = csv_next(csv, &diag)) == 1 || code == SIM_E_DATA) {
        char where[DIAG_WHERE_CHARS];
        whole &= code == 1;
        for (size_t i = 0; code == 1 && i < csv_n_fields(csv); i++) {
            csv_where(csv, i, 0, where);
            placed &= strncmp(where, "fuzz:", 5) == 0 && strcmp(strrchr(where, ':'), ":0") != 0;
            if (whole) add_field(rows, csv_fields(csv)[i].chars, csv_fields(csv)[i].n_chars);
        }
        if (whole) end_row(rows);
    }
    csv_destroy(csv);
    *sound = placed && code == 0 && whole == (diag.n_errors == 0);
    return whole;
}

FUZZ_TARGET(csv)
{
    static const char delimiters[] = {',', ';', '\t'};
    if (bytes == 0) return true;
    char delimiter = delimiters[data[0] % sizeof delimiters];
    const char *chars = (const char *)data + 1;
    size_t n_chars = bytes - 1;
    struct rows own = {0}, reference = {0};
    bool sound, own_whole = read_own(chars, n_chars, delimiter, &own, &sound);
    bool comparable = memchr(chars, '\r', n_chars) == NULL && (n_chars < 3 || memcmp(chars, "\xEF\xBB\xBF", 3) != 0);
    if (comparable) {
        bool whole = read_libcsv(chars, n_chars, delimiter, &reference);
        sound = sound && whole == own_whole && own.n_kept == reference.n_kept &&
                (own.n_kept == 0 || memcmp(own.text.chars, reference.text.chars, own.n_kept) == 0);
    }
    text_fini(&own.text);
    text_fini(&reference.text);
    return sound;
}
