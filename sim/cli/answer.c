#include "sim/cli/answer.h"

#include "sim/core/check.h"
#include "sim/core/json_doc.h"
#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

/* --- Tables --- */

void table_init(struct answer_table *table, const struct table_column *columns, size_t n_columns)
{
    SIM_REQUIRE(n_columns <= ANSWER_MAX_COLUMNS);
    *table = (struct answer_table){.columns = columns, .n_columns = n_columns};
    text_init(&table->texts);
}

void table_fini(struct answer_table *table)
{
    mem_free(table->cells);
    text_fini(&table->texts);
    table->cells = NULL;
    table->n_cells = table->capacity = 0;
}

static void add_cell(struct answer_table *table, enum cell_kind kind, const char *text, double number)
{
    struct table_cell cell = {.kind = kind, .chars = table->texts.length, .number = number};
    text_add_bytes(&table->texts, text, strlen(text) + 1);
    cell.shown = table->texts.length;
    text_add_shown(&table->texts, text, "");
    text_add_bytes(&table->texts, "", 1);
    table->failed |= vec_push(&table->cells, &table->n_cells, &table->capacity, cell) != 0 || table->texts.failed;
}

void table_text(struct answer_table *table, const char *text)
{
    add_cell(table, text != NULL ? CELL_TEXT : CELL_NULL, text != NULL ? text : "", 0);
}

void table_number(struct answer_table *table, double value)
{
    char shown[64];
    table_shown(table, value, isnan(value) ? "" : text_show_number(value, shown, sizeof shown));
}

void table_shown(struct answer_table *table, double value, const char *shown)
{
    add_cell(table, isnan(value) ? CELL_NULL : CELL_NUMBER, shown, value);
}

void table_undefined(struct answer_table *table)
{
    add_cell(table, CELL_NULL, "-", 0);
}

static size_t count_rows(const struct answer_table *table)
{
    return table->n_columns > 0 ? table->n_cells / table->n_columns : 0; /* 0: out of memory before the columns */
}

static const char *cell_text(const struct answer_table *table, size_t row, size_t column)
{
    return table->texts.chars + table->cells[row * table->n_columns + column].chars;
}

static const char *shown_text(const struct answer_table *table, size_t row, size_t column)
{
    return table->texts.chars + table->cells[row * table->n_columns + column].shown;
}

/* --- Tables for people --- */

/* Columns on a terminal: characters, which in UTF-8 are the bytes that do not continue one. */
static int shown_width(const char *text)
{
    int width = 0;
    for (; *text != 0; text++) width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

static int column_width(const struct answer_table *table, size_t column)
{
    int width = shown_width(table->columns[column].title);
    for (size_t row = 0; row < count_rows(table); row++) {
        int cell = shown_width(shown_text(table, row, column));
        if (cell > width) width = cell;
    }
    return width;
}

/* A row, or the titles for row -1. Two blanks between columns, none at the end of the line. */
static void add_line(const struct answer_table *table, const int *widths, size_t row, struct text *text)
{
    int pending = 0; /* blanks before the next cell */
    for (size_t i = 0; i < table->n_columns; i++) {
        const struct table_column *column = &table->columns[i];
        if (column->title == NULL) continue;
        const char *cell = row == SIZE_MAX ? column->title : shown_text(table, row, i);
        const int pad = widths[i] - shown_width(cell);
        if (column->align == COLUMN_RIGHT) pending += pad;
        if (*cell != 0) {
            text_printf(text, "%*s%s", pending, "", cell);
            pending = 0;
        }
        if (column->align == COLUMN_LEFT) pending += pad;
        pending += 2;
    }
    text_add(text, "\n");
}

static void add_aligned(const struct answer_table *table, struct text *text)
{
    int widths[ANSWER_MAX_COLUMNS] = {0};
    for (size_t i = 0; i < table->n_columns; i++)
        if (table->columns[i].title != NULL) widths[i] = column_width(table, i);
    add_line(table, widths, SIZE_MAX, text);
    for (size_t row = 0; row < count_rows(table); row++) add_line(table, widths, row, text);
}

/* A cell of Markdown: a bar within it would end it. */
static void add_markdown_cell(struct text *text, const char *cell)
{
    text_add(text, "| ");
    for (const char *bar; (bar = strchr(cell, '|')) != NULL; cell = bar + 1) {
        text_add_bytes(text, cell, (size_t)(bar - cell));
        text_add(text, "\\|");
    }
    text_printf(text, "%s ", cell);
}

static void add_markdown(const struct answer_table *table, struct text *text)
{
    const struct table_column *columns = table->columns;
    for (size_t i = 0; i < table->n_columns; i++)
        if (columns[i].title != NULL) text_printf(text, "| %s ", columns[i].title);
    text_add(text, "|\n");
    for (size_t i = 0; i < table->n_columns; i++)
        if (columns[i].title != NULL) text_add(text, columns[i].align == COLUMN_RIGHT ? "|---:" : "|---");
    text_add(text, "|\n");
    for (size_t row = 0; row < count_rows(table); row++) {
        for (size_t i = 0; i < table->n_columns; i++)
            if (columns[i].title != NULL) add_markdown_cell(text, shown_text(table, row, i));
        text_add(text, "|\n");
    }
}

/* One row, or the titles for row SIZE_MAX. */
static void add_latex_line(const struct answer_table *table, size_t row, struct text *text)
{
    const char *separator = "";
    for (size_t i = 0; i < table->n_columns; i++) {
        if (table->columns[i].title == NULL) continue;
        text_add(text, separator);
        text_latex(text, row == SIZE_MAX ? table->columns[i].title : shown_text(table, row, i));
        separator = " & ";
    }
    text_add(text, " \\\\\n");
}

static void add_latex(const struct answer_table *table, struct text *text)
{
    text_add(text, "\\begin{tabular}{");
    for (size_t i = 0; i < table->n_columns; i++)
        if (table->columns[i].title != NULL) text_add(text, table->columns[i].align == COLUMN_RIGHT ? "r" : "l");
    text_add(text, "}\n\\toprule\n");
    add_latex_line(table, SIZE_MAX, text);
    text_add(text, "\\midrule\n");
    for (size_t row = 0; row < count_rows(table); row++) add_latex_line(table, row, text);
    text_add(text, "\\bottomrule\n\\end{tabular}\n");
}

static void show_table(struct answer *answer, const char *heading, const struct answer_table *table)
{
    const struct text *text = &answer->text;
    if (table->n_cells == 0) return;
    if (text->length > 0 && (text->length < 2 || strcmp(text->chars + text->length - 2, "\n\n") != 0))
        answer_say(answer, "\n");
    if (heading != NULL) answer_say(answer, "%s\n", heading);
    if (answer->form == ANSWER_MARKDOWN)
        add_markdown(table, &answer->text);
    else if (answer->form == ANSWER_LATEX)
        add_latex(table, &answer->text);
    else
        add_aligned(table, &answer->text);
}

/* --- Tables for programs --- */

static void write_cell(struct json_writer *json, const char *key, const struct answer_table *table, size_t row,
                       size_t column)
{
    const struct table_cell *cell = &table->cells[row * table->n_columns + column];
    json_write_key(json, key);
    if (cell->kind == CELL_NUMBER)
        text_json_number(json->text, cell->number);
    else
        text_json_string(json->text, cell->kind == CELL_TEXT ? cell_text(table, row, column) : NULL);
}

static void write_cells(struct json_writer *json, const struct answer_table *table, size_t row, size_t first)
{
    for (size_t i = first; i < table->n_columns; i++)
        if (table->columns[i].key != NULL) write_cell(json, table->columns[i].key, table, row, i);
}

static void write_rows(struct json_writer *json, const char *key, const struct answer_table *table)
{
    json_write_open(json, key, '[');
    for (size_t row = 0; row < count_rows(table); row++) {
        json_write_open_row(json, NULL, '{');
        write_cells(json, table, row, 0);
        json_write_close(json, '}');
    }
    json_write_close(json, ']');
}

/* The column of a table's only values, 0 when it has several. */
static size_t only_column(const struct answer_table *table)
{
    size_t found = 0, n = 0;
    for (size_t i = 1; i < table->n_columns; i++) {
        if (table->columns[i].key == NULL) continue;
        found = i;
        n++;
    }
    return n == 1 ? found : 0;
}

static void add_header(const struct answer_table *table, struct text *header)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        if (table->columns[i].key == NULL) continue;
        if (header->length > 0) text_add(header, ",");
        text_csv_field(header, table->columns[i].key);
    }
    text_add(header, "\r\n");
}

static void write_members(struct json_writer *json, const struct answer_table *table)
{
    const size_t only = only_column(table);
    for (size_t row = 0; row < count_rows(table); row++) {
        const char *key = cell_text(table, row, 0);
        if (only > 0) {
            write_cell(json, key, table, row, only);
            continue;
        }
        json_write_open(json, key, '{');
        write_cells(json, table, row, 1);
        json_write_close(json, '}');
    }
}

/* --- CSV --- */

struct csv_column {
    const char *name;
    const struct json_node *value; /* of the row visited last that has one */
    size_t row;                    /* this row's number, from 1 */
};

struct csv_writer {
    struct arena arena;
    struct csv_column *columns;
    size_t n_columns, capacity;
    size_t next; /* the column expected next */
    bool failed;
};

/* The column, in the order in which names first occur. NULL when out of memory. */
static struct csv_column *find_column(struct csv_writer *csv, const char *name)
{
    for (size_t i = 0; i < csv->n_columns; i++) {
        struct csv_column *column = &csv->columns[(csv->next + i) % csv->n_columns];
        if (strcmp(column->name, name) != 0) continue;
        csv->next = (csv->next + i + 1) % csv->n_columns;
        return column;
    }
    const struct csv_column column = {.name = name};
    csv->next = 0;
    csv->failed |= vec_push(&csv->columns, &csv->n_columns, &csv->capacity, column) != 0;
    return csv->failed ? NULL : &csv->columns[csv->n_columns - 1];
}

static void visit_value(struct csv_writer *csv, const char *name, const struct json_node *value, size_t row)
{
    if (value->kind == JSON_LIST || csv->failed) return;
    if (value->kind != JSON_OBJECT) {
        struct csv_column *column = find_column(csv, name != NULL ? name : "value");
        if (column == NULL) return;
        column->value = value;
        column->row = row;
        return;
    }
    for (const struct json_node *member = value->first; member != NULL && !csv->failed; member = member->next) {
        const char *full = name != NULL ? arena_printf(&csv->arena, "%s.%s", name, member->key) : member->key;
        csv->failed |= full == NULL;
        if (!csv->failed) visit_value(csv, full, member, row);
    }
}

static void add_csv_row(const struct csv_writer *csv, bool has_names, const char *name, size_t row, struct text *text)
{
    if (has_names) text_csv_field(text, name);
    for (size_t i = 0; i < csv->n_columns; i++) {
        const struct csv_column *column = &csv->columns[i];
        if (has_names || i > 0) text_add(text, ",");
        if (row == 0)
            text_csv_field(text, column->name);
        else if (column->row == row && column->value->kind != JSON_NULL)
            text_csv_field(text, column->value->text);
    }
    text_add(text, "\r\n");
}

/* The rows of a list or, behind the column "name", of an object. All rows are visited twice: for the header first. */
static void add_csv(struct csv_writer *csv, const struct json_node *rows, struct text *text)
{
    const bool has_names = rows->kind == JSON_OBJECT;
    size_t n = 0;
    for (const struct json_node *row = rows->first; row != NULL; row = row->next) visit_value(csv, NULL, row, ++n);
    if (n > 0) add_csv_row(csv, has_names, "name", 0, text);
    for (const struct json_node *row = rows->first; row != NULL && !csv->failed; row = row->next) {
        visit_value(csv, NULL, row, ++n);
        add_csv_row(csv, has_names, row->key, n, text);
    }
}

/* Replaces the JSON text of the answer by the CSV of its rows. */
static int convert_to_csv(struct answer *answer, struct diag *diag)
{
    static const struct json_source source = {.name = "the answer as CSV", .directory = "."};
    struct csv_writer csv = {0};
    struct json_node *root;
    struct text text;
    arena_init(&csv.arena);
    text_init(&text);
    int code = json_parse(&csv.arena, &source, answer->text.chars, answer->text.length, &root, diag);
    const struct json_node *rows = code == 0 && answer->rows != NULL ? json_member(root, answer->rows) : root;
    if (code == 0 && rows != NULL) add_csv(&csv, rows, &text);
    if (text.length == 0 && answer->header.length > 0) text_add(&text, answer->header.chars);
    text_fini(&answer->text);
    answer->text = text;
    mem_free(csv.columns);
    arena_fini(&csv.arena);
    return code != 0 ? code : csv.failed ? SIM_E_NOMEM : 0;
}

/* --- Answers --- */

const char *const answer_forms[] = {
    [ANSWER_TEXT] = "text", [ANSWER_MARKDOWN] = "markdown", [ANSWER_LATEX] = "latex", [ANSWER_JSON] = "json", [ANSWER_CSV] = "csv", NULL};

void answer_init(struct answer *answer, enum answer_form form, const char *rows)
{
    *answer = (struct answer){.form = form, .rows = rows};
    text_init(&answer->text);
    text_init(&answer->header);
    json_writer_init(&answer->json, &answer->text);
}

/* Where a member or item goes; NULL: there are none for people. */
static struct json_writer *inside(struct answer *answer, const char *key)
{
    if (!answer_is_data(answer->form)) return NULL;
    if (answer->json.depth == 0 && key != NULL) json_write_open(&answer->json, NULL, '{');
    return &answer->json;
}

/* What a terminal would act on stands in names: of scenarios, of policies, in a database from elsewhere. */
static int print_shown(const char *chars, const char *kept, FILE *out)
{
    struct text shown;
    text_init(&shown);
    text_add_shown(&shown, chars, kept);
    const int code = shown.failed ? SIM_E_NOMEM : 0;
    if (code == 0) fwrite(shown.chars, 1, shown.length, out);
    text_fini(&shown);
    return code;
}

int answer_write(const struct text *data, FILE *out)
{
    if (isatty(fileno(out))) return print_shown(data->chars, "\r\n\t", out);
    fwrite(data->chars, 1, data->length, out);
    return 0;
}

static int print_text(const struct answer *answer, FILE *out)
{
    if (answer->text.length == 0) return 0;
    if (!answer_is_data(answer->form)) return print_shown(answer->text.chars, "\n\t", out);
    return answer_write(&answer->text, out);
}

void answer_print(FILE *out, const char *format, ...)
{
    struct text text;
    text_init(&text);
    va_list arguments;
    va_start(arguments, format);
    text_vprintf(&text, format, arguments);
    va_end(arguments);
    if (text.length > 0) print_shown(text.chars, "\n\t", out);
    text_fini(&text);
}

/* Completes the text of the answer. */
static int complete(struct answer *answer, int code, struct diag *diag)
{
    if (answer_is_data(answer->form)) {
        if (answer->json.depth > 0) json_write_close(&answer->json, '}');
        text_add(&answer->text, "\n");
    }
    if (code == 0 && (answer->failed || answer->text.failed)) code = SIM_E_NOMEM;
    if (code == 0 && answer->form == ANSWER_CSV) code = convert_to_csv(answer, diag);
    return code == 0 && (answer->text.failed || answer->header.failed) ? SIM_E_NOMEM : code;
}

static void fini(struct answer *answer)
{
    text_fini(&answer->text);
    text_fini(&answer->header);
}

int answer_end(struct answer *answer, int code, FILE *out, struct diag *diag)
{
    code = complete(answer, code, diag);
    if (code == 0) code = print_text(answer, out);
    fini(answer);
    return code;
}

int answer_take(struct answer *answer, struct text *out, struct diag *diag)
{
    const int code = complete(answer, 0, diag);
    if (code == 0 && answer->text.length > 0) text_add_bytes(out, answer->text.chars, answer->text.length);
    fini(answer);
    return code;
}

static bool is_csv_table(const struct answer *answer, const char *key)
{
    if (answer->form != ANSWER_CSV || (key == NULL) != (answer->rows == NULL)) return false;
    return key == NULL || strcmp(key, answer->rows) == 0;
}

void answer_add(struct answer *answer, const char *key, const char *heading, struct answer_table *table)
{
    answer->failed |= table->failed;
    if (!table->failed && !answer_is_data(answer->form)) show_table(answer, heading, table);
    if (!table->failed && answer_is_data(answer->form)) write_rows(inside(answer, key), key, table);
    if (is_csv_table(answer, key) && table->n_cells == 0) add_header(table, &answer->header);
    table_fini(table);
}

void answer_members(struct answer *answer, struct answer_table *table)
{
    answer->failed |= table->failed;
    if (!table->failed && !answer_is_data(answer->form)) show_table(answer, NULL, table);
    if (!table->failed && answer_is_data(answer->form)) write_members(inside(answer, ""), table);
    table_fini(table);
}

/* Adds lines as comments of LaTeX; the text may end within a line, which the next one goes on with. */
static void add_comment(struct text *text, const char *lines)
{
    for (size_t n; *lines != 0; lines += n) {
        const bool starts = text->length == 0 || text->chars[text->length - 1] == '\n';
        n = strcspn(lines, "\n");
        if (starts && n > 0) text_add(text, "% ");
        n += lines[n] == '\n';
        text_add_bytes(text, lines, n);
    }
}

void answer_say(struct answer *answer, const char *format, ...)
{
    if (answer_is_data(answer->form)) return;
    struct text said;
    text_init(&said);
    va_list arguments;
    va_start(arguments, format);
    text_vprintf(&said, format, arguments);
    va_end(arguments);
    answer->failed |= said.failed;
    if (said.length > 0 && !said.failed)
        (answer->form == ANSWER_LATEX ? add_comment : text_add)(&answer->text, said.chars);
    text_fini(&said);
}

void answer_open(struct answer *answer, const char *key, char bracket)
{
    struct json_writer *json = inside(answer, key);
    if (json != NULL) json_write_open(json, key, bracket);
}

void answer_open_row(struct answer *answer, const char *key, char bracket)
{
    struct json_writer *json = inside(answer, key);
    if (json != NULL) json_write_open_row(json, key, bracket);
}

void answer_close(struct answer *answer, char bracket)
{
    if (answer_is_data(answer->form)) json_write_close(&answer->json, bracket);
}

void answer_text(struct answer *answer, const char *key, const char *value)
{
    struct json_writer *json = inside(answer, key);
    if (json != NULL) json_write_string(json, key, value);
}

void answer_number(struct answer *answer, const char *key, double value)
{
    struct json_writer *json = inside(answer, key);
    if (json != NULL) json_write_number(json, key, value);
}

void answer_bool(struct answer *answer, const char *key, bool value)
{
    struct json_writer *json = inside(answer, key);
    if (json != NULL) json_write_bool(json, key, value);
}

void answer_json(struct answer *answer, const char *key, const char *json)
{
    struct json_writer *writer = inside(answer, key);
    if (writer == NULL) return;
    json_write_key(writer, key);
    text_add(&answer->text, json);
}

int table_print(struct answer_table *table, int code, enum answer_form form, FILE *out, struct diag *diag)
{
    struct answer answer;
    answer_init(&answer, form, NULL);
    answer_add(&answer, NULL, NULL, table);
    return answer_end(&answer, code, out, diag);
}
