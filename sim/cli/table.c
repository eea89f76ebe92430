#include "sim/cli/table.h"

#include "sim/core/check.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <math.h>
#include <string.h>

void table_init(struct table *table, const struct table_column *columns, size_t n_columns)
{
    SIM_REQUIRE(n_columns <= TABLE_MAX_COLUMNS);
    *table = (struct table){.columns = columns, .n_columns = n_columns};
    text_init(&table->texts);
}

void table_fini(struct table *table)
{
    mem_free(table->cells);
    text_fini(&table->texts);
}

static void add_cell(struct table *table, enum cell_kind kind, const char *text, double number)
{
    if (table->n_cells == table->capacity) {
        size_t capacity = table->capacity > 0 ? 2 * table->capacity : 64;
        struct table_cell *cells = mem_realloc(table->cells, capacity * sizeof *cells);
        if (cells == NULL) {
            table->failed = true;
            return;
        }
        table->cells = cells;
        table->capacity = capacity;
    }
    table->cells[table->n_cells++] =
        (struct table_cell){.kind = kind, .chars = table->texts.length, .number = number};
    text_add_bytes(&table->texts, text, strlen(text) + 1);
    table->failed |= table->texts.failed;
}

void table_text(struct table *table, const char *text)
{
    add_cell(table, text != NULL ? CELL_TEXT : CELL_EMPTY, text != NULL ? text : "", 0);
}

const char *table_show_number(double value, char *buffer, size_t buffer_bytes)
{
    if (value == rint(value) && fabs(value) < 1e15)
        snprintf(buffer, buffer_bytes, "%.0f", value + 0.0);
    else if (fabs(value) >= 1e5 && fabs(value) < 1e15)
        snprintf(buffer, buffer_bytes, "%.0f", value);
    else
        snprintf(buffer, buffer_bytes, "%.5g", value);
    return buffer;
}

void table_number(struct table *table, double value)
{
    char shown[64];
    add_cell(table, isnan(value) ? CELL_EMPTY : CELL_NUMBER,
             isnan(value) ? "" : table_show_number(value, shown, sizeof shown), value);
}

void table_undefined(struct table *table)
{
    add_cell(table, CELL_EMPTY, "-", 0);
}

static const char *cell_text(const struct table *table, size_t row, size_t column)
{
    return table->texts.chars + table->cells[row * table->n_columns + column].chars;
}

/* Columns on a terminal: characters, which in UTF-8 are the bytes that do not continue one. */
static int shown_width(const char *text)
{
    int width = 0;
    for (; *text != 0; text++) width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

static int column_width(const struct table *table, size_t column, size_t n_rows)
{
    int width = shown_width(table->columns[column].title);
    for (size_t row = 0; row < n_rows; row++) {
        int cell = shown_width(cell_text(table, row, column));
        if (cell > width) width = cell;
    }
    return width;
}

static void print_line(const struct table *table, const int *widths, const char *const *texts, FILE *out)
{
    int pending = 0; /* blanks before the next text */
    for (size_t column = 0; column < table->n_columns; column++) {
        if (table->columns[column].json_only) continue;
        int pad = widths[column] - shown_width(texts[column]);
        if (table->columns[column].align == COLUMN_RIGHT) pending += pad;
        if (*texts[column] != 0) {
            fprintf(out, "%*s%s", pending, "", texts[column]);
            pending = 0;
        } else {
            pending += shown_width(texts[column]);
        }
        if (table->columns[column].align == COLUMN_LEFT) pending += pad;
        pending += 2;
    }
    fputc('\n', out);
}

static void print_aligned(const struct table *table, FILE *out)
{
    int widths[TABLE_MAX_COLUMNS] = {0};
    const char *texts[TABLE_MAX_COLUMNS] = {NULL};
    size_t n_rows = table->n_cells / table->n_columns;
    for (size_t column = 0; column < table->n_columns; column++) {
        widths[column] = column_width(table, column, n_rows);
        texts[column] = table->columns[column].title;
    }
    print_line(table, widths, texts, out);
    for (size_t row = 0; row < n_rows; row++) {
        for (size_t column = 0; column < table->n_columns; column++) texts[column] = cell_text(table, row, column);
        print_line(table, widths, texts, out);
    }
}

static void add_json_cell(const struct table *table, size_t row, size_t column, struct text *json)
{
    const struct table_cell *cell = &table->cells[row * table->n_columns + column];
    if (cell->kind == CELL_NUMBER)
        text_json_number(json, cell->number);
    else
        text_json_string(json, cell->kind == CELL_TEXT ? cell_text(table, row, column) : NULL);
}

void table_json(const struct table *table, struct text *json)
{
    text_add(json, "[");
    for (size_t row = 0; row < table->n_cells / table->n_columns; row++) {
        text_add(json, row == 0 ? "\n  {" : ",\n  {");
        for (size_t column = 0; column < table->n_columns; column++) {
            if (column > 0) text_add(json, ", ");
            text_json_string(json, table->columns[column].title);
            text_add(json, ": ");
            add_json_cell(table, row, column, json);
        }
        text_add(json, "}");
    }
    text_add(json, "\n]\n");
}

int table_write(const struct table *table, bool as_json, FILE *out)
{
    if (table->failed) return SIM_E_NOMEM;
    if (!as_json) {
        print_aligned(table, out);
        return 0;
    }
    struct text json;
    text_init(&json);
    table_json(table, &json);
    if (!json.failed) fputs(json.chars, out);
    int code = json.failed ? SIM_E_NOMEM : 0;
    text_fini(&json);
    return code;
}
