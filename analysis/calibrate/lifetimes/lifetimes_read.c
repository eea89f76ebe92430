#include "analysis/calibrate/lifetimes/lifetimes_read.h"

#include "sim/core/csv.h"
#include "sim/core/mem.h"
#include "sim/core/number.h"
#include "sim/core/vec.h"

#include <math.h>

enum { SHIPPED, END, WINDOW, LAG, AGE, FAILED, FROM, COLUMNS };

static const struct csv_column columns[COLUMNS] = {{"shipped_h", true}, {"end_h", true},  {"window_h", true},
                                                   {"lag_h", true},     {"age_h", false}, {"failed", true},
                                                   {"from_h", true}};

struct reading {
    struct csv *csv;
    struct diag *diag;
    int at[COLUMNS];
    size_t capacity;
};

static int refuse(const struct reading *reading, int column, const char *text)
{
    char where[DIAG_WHERE_CHARS];
    csv_where(reading->csv, reading->at[column] >= 0 ? (size_t)reading->at[column] : 0, 0, where);
    return diag_error(reading->diag, SIM_E_DATA, where, NULL, "'%s' %s", columns[column].name, text);
}

/* The number of a column; NAN: empty or absent. */
static int number_of(const struct reading *reading, int column, double *value)
{
    const struct csv_field *fields = csv_fields(reading->csv);
    const int at = reading->at[column];
    *value = (double)NAN;
    if (at < 0 || (size_t)at >= csv_n_fields(reading->csv) || fields[at].n_chars == 0) return 0;
    if (number_f64(fields[at].chars, fields[at].n_chars, value) == NUMBER_OK && *value >= 0.0 && !isinf(*value))
        return 0;
    return refuse(reading, column, "must be a number from 0");
}

static int read_numbers(const struct reading *reading, double *values)
{
    int code = 0;
    for (int i = 0; i < COLUMNS && code == 0; i++) code = number_of(reading, i, &values[i]);
    return code;
}

static int add_life(struct reading *reading, struct lifetimes_data *data)
{
    double values[COLUMNS];
    const int code = read_numbers(reading, values);
    if (code != 0) return code;
    const struct observed_life life = {isnan(values[FROM]) ? 0.0 : values[FROM], values[AGE], values[FAILED] == 1.0};
    if (values[FAILED] != 0.0 && values[FAILED] != 1.0) return refuse(reading, FAILED, "must be 0 or 1");
    if (!(life.to > life.from)) return refuse(reading, AGE, "must be above 'from_h', or above 0");
    return vec_push(&data->lives, &data->n, &reading->capacity, life);
}

static int add_shipped(struct reading *reading, struct lifetimes_data *data)
{
    double values[COLUMNS];
    const int code = read_numbers(reading, values);
    if (code != 0) return code;
    for (int i = SHIPPED; i <= WINDOW; i++)
        if (isnan(values[i])) return refuse(reading, i, "is missing");
    const struct shipped_unit unit = {values[SHIPPED], values[END], values[WINDOW], values[LAG], values[AGE]};
    if (isnan(unit.lag) != isnan(unit.life)) return refuse(reading, LAG, "and 'age_h' must both be given, or neither");
    if (!(unit.window > 0.0)) return refuse(reading, WINDOW, "must be above 0");
    if (unit.life > unit.window || unit.shipped + unit.lag + unit.life > unit.end || unit.life == 0.0)
        return refuse(reading, AGE, "must be above 0, and end within 'window_h' and before 'end_h'");
    return vec_push(&data->shipped, &data->n, &reading->capacity, unit);
}

static int check_columns(const struct reading *reading, const char *path)
{
    const bool is_shipped = reading->at[SHIPPED] >= 0;
    const int needed[] = {END, WINDOW, LAG};
    if (!is_shipped && reading->at[FAILED] < 0)
        return diag_error(reading->diag, SIM_E_DATA, path,
                          "columns are age_h,failed[,from_h] or shipped_h,end_h,window_h,lag_h,age_h",
                          "there is neither a column 'failed' nor a column 'shipped_h'");
    for (size_t i = 0; i < 3 && is_shipped; i++)
        if (reading->at[needed[i]] < 0)
            return diag_error(reading->diag, SIM_E_DATA, path, NULL, "there is no column '%s'",
                              columns[needed[i]].name);
    return 0;
}

int lifetimes_read(const char *path, struct lifetimes_data *data, struct diag *diag)
{
    struct reading reading = {.diag = diag};
    struct input *input;
    *data = (struct lifetimes_data){0};
    int code = input_open(path, &input, diag);
    if (code == 0) code = csv_create(input, &(struct csv_options){.comment = '#'}, &reading.csv, diag);
    if (code != 0) return code;
    code = csv_read_header(reading.csv, columns, COLUMNS, reading.at, diag);
    if (code == 0) code = check_columns(&reading, path);
    while (code == 0) {
        const int found = csv_next(reading.csv, diag);
        if (found <= 0) {
            code = found;
            break;
        }
        code = reading.at[SHIPPED] >= 0 ? add_shipped(&reading, data) : add_life(&reading, data);
    }
    csv_destroy(reading.csv);
    if (code == 0 && data->n == 0) code = diag_error(diag, SIM_E_DATA, path, NULL, "there are no units in it");
    return code;
}

void lifetimes_data_fini(struct lifetimes_data *data)
{
    mem_free(data->lives);
    mem_free(data->shipped);
}
