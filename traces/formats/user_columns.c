#include "traces/formats/user_columns.h"

#include "sim/core/number.h"

#include <string.h>

enum { DELIMITER_COMMA, DELIMITER_SEMICOLON, DELIMITER_TAB, DELIMITER_BLANKS };

const char *const delimiter_names[] = {"comma", "semicolon", "tab", "blanks", NULL};
const char *const origin_names[] = {"auto", "zero", "first", NULL};

/* 0-based; -1 when the text is not the number of a column. */
static int column_number(const char *text)
{
    int64_t number;
    if (number_i64(text, strlen(text), &number) != NUMBER_OK || number < 1 || number > INT32_MAX) return -1;
    return (int)(number - 1);
}

int user_columns(const struct user_table *table, const char *const *names, const bool *optional, size_t n,
                 const char *where, struct csv_column *columns, int *positions, struct row_format *format,
                 struct diag *diag)
{
    static const char delimiters[] = {[DELIMITER_COMMA] = ',', [DELIMITER_SEMICOLON] = ';', [DELIMITER_TAB] = '\t'};
    bool blanks = table->delimiter == DELIMITER_BLANKS;
    format->csv = (struct csv_options){.dialect = blanks ? CSV_DIALECT_BLANKS : CSV_DIALECT_DELIMITED,
                                       .delimiter = blanks ? 0 : delimiters[table->delimiter]};
    format->no_header = !table->header;
    format->positions = positions;
    format->from_first = table->origin == ORIGIN_FIRST ||
                         (table->origin == ORIGIN_AUTO && table->time_unit == TIME_CALENDAR);
    for (size_t i = 0; i < n; i++) {
        columns[i] = (struct csv_column){.name = names[i], .optional = optional[i]};
        positions[i] = column_number(names[i]);
        if (!table->header && positions[i] < 0 && !optional[i]) {
            return diag_error(diag, SIM_E_CONFIG, where, "the first column is \"1\"",
                              "without a header, columns are numbers, got '%s'", names[i]);
        }
    }
    return 0;
}
