/* Rows as one tabular of LaTeX, in the style of the package booktabs. Numbers are rounded for reading. */
#include "analysis/export/inside.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NUMBER_CHARS = 64 };

/* By the column's type in its table, or else by its value in the first row. */
static bool is_number(sqlite3_stmt *query, int column)
{
    const char *declared = sqlite3_column_decltype(query, column);
    const int type = sqlite3_data_count(query) > 0 ? sqlite3_column_type(query, column) : SQLITE_NULL;
    if (declared != NULL) return strcmp(declared, "INTEGER") == 0 || strcmp(declared, "REAL") == 0;
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

static void add_cell(struct text *latex, sqlite3_stmt *query, int column)
{
    char number[NUMBER_CHARS];
    switch (sqlite3_column_type(query, column)) {
    case SQLITE_INTEGER:
        snprintf(number, sizeof number, "%" PRId64, (int64_t)sqlite3_column_int64(query, column));
        text_latex(latex, number);
        break;
    case SQLITE_FLOAT:
        text_latex(latex, text_show_number(sqlite3_column_double(query, column), number, sizeof number));
        break;
    case SQLITE_NULL: break;
    default: text_latex(latex, (const char *)sqlite3_column_text(query, column));
    }
}

static void add_row(struct text *latex, sqlite3_stmt *query, int n_columns)
{
    for (int i = 0; i < n_columns; i++) {
        if (i > 0) text_add(latex, " & ");
        add_cell(latex, query, i);
    }
    text_add(latex, " \\\\\n");
}

static void add_head(struct text *latex, sqlite3_stmt *query, int n_columns)
{
    text_add(latex, "\\begin{tabular}{");
    for (int i = 0; i < n_columns; i++) text_add(latex, is_number(query, i) ? "r" : "l");
    text_add(latex, "}\n\\toprule\n");
    for (int i = 0; i < n_columns; i++) {
        if (i > 0) text_add(latex, " & ");
        text_latex(latex, sqlite3_column_name(query, i));
    }
    text_add(latex, " \\\\\n\\midrule\n");
}

static void add_end(struct text *latex)
{
    text_add(latex, "\\bottomrule\n\\end{tabular}\n");
}

const struct row_writer latex_writer = {add_head, add_row, add_end};
