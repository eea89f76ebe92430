#include "analysis/calibrate/lifetimes/lifetimes_read.h"

#include "sim/core/csv.h"
#include "sim/core/mem.h"
#include "sim/core/number.h"
#include "sim/core/vec.h"

#include <math.h>

/* The last ones are no numbers. */
enum { SHIPPED, END, WINDOW, LAG, AGE, FAILED, FROM, NUMBERS, NODE = NUMBERS, DOWN, UP, COLUMNS };

static const struct csv_column columns[COLUMNS] = {{"shipped_h", true}, {"end_h", true},  {"window_h", true},
                                                   {"lag_h", true},     {"age_h", true},  {"failed", true},
                                                   {"from_h", true},    {"node", true},   {"down_at", true},
                                                   {"up_at", true}};

struct reading {
    struct csv *csv;
    struct diag *diag;
    int at[COLUMNS];
    enum { LIVES, SHIPMENTS, LOG } kind;
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
    for (int i = 0; i < NUMBERS && code == 0; i++) code = number_of(reading, i, &values[i]);
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

static struct csv_field field_of(const struct reading *reading, int column)
{
    const int at = reading->at[column];
    if (at < 0 || (size_t)at >= csv_n_fields(reading->csv)) return (struct csv_field){"", 0};
    return csv_fields(reading->csv)[at];
}

/* A time of an event, of the kind that the first one has; NAN: empty. */
static int time_of(const struct reading *reading, int column, struct lifetimes_data *data, double *hours)
{
    const struct csv_field field = field_of(reading, column);
    bool is_calendar;
    *hours = (double)NAN;
    if (field.n_chars == 0) return 0;
    if (!lifetimes_time(field.chars, field.n_chars, hours, &is_calendar))
        return refuse(reading, column, "must be a number of hours, or a time such as 2024-03-01 08:30:00");
    if (data->n == 0 && column == DOWN) data->is_calendar = is_calendar;
    return is_calendar == data->is_calendar ? 0 : refuse(reading, column, "must be of the kind of the times above it");
}

static int add_event(struct reading *reading, struct lifetimes_data *data)
{
    const struct csv_field node = field_of(reading, NODE);
    struct down_event event = {.line = csv_line(reading->csv)};
    int code = time_of(reading, DOWN, data, &event.down_h);
    if (code == 0) code = time_of(reading, UP, data, &event.up_h);
    if (code != 0) return code;
    if (data->lacks_up) event.up_h = event.down_h;
    if (node.n_chars == 0) return refuse(reading, NODE, "is empty");
    if (isnan(event.down_h)) return refuse(reading, DOWN, "is empty");
    if (event.up_h < event.down_h) return refuse(reading, UP, "must not be before 'down_at'");
    event.node = arena_printf(&data->arena, "%.*s", (int)node.n_chars, node.chars);
    if (event.node == NULL) return SIM_E_NOMEM;
    return vec_push(&data->events, &data->n, &reading->capacity, event);
}

/* What the rows are. The columns of units go first: their files may also say on which node a unit was, and when. */
static int find_kind(struct reading *reading, const char *path)
{
    const int needed[] = {END, WINDOW, LAG, AGE};
    const bool has_log = reading->at[DOWN] >= 0 && reading->at[NODE] >= 0;
    reading->kind = reading->at[SHIPPED] >= 0 ? SHIPMENTS : LIVES;
    if (reading->kind == SHIPMENTS) {
        for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
            if (reading->at[needed[i]] < 0)
                return diag_error(reading->diag, SIM_E_DATA, path, NULL, "there is no column '%s'",
                                  columns[needed[i]].name);
        return 0;
    }
    if (reading->at[FAILED] >= 0 && reading->at[AGE] >= 0) return 0;
    if (has_log) {
        reading->kind = LOG;
        return 0;
    }
    if (reading->at[FAILED] >= 0)
        return diag_error(reading->diag, SIM_E_DATA, path, NULL, "there is no column '%s'", columns[AGE].name);
    return diag_error(reading->diag, SIM_E_DATA, path,
                      "columns are age_h,failed[,from_h], node,down_at[,up_at] or "
                      "shipped_h,end_h,window_h,lag_h,age_h",
                      "there is neither a column 'failed' nor a column 'shipped_h', and not both 'node' and 'down_at'");
}

static int add_row(struct reading *reading, struct lifetimes_data *data)
{
    if (reading->kind == LOG) return add_event(reading, data);
    return reading->kind == SHIPMENTS ? add_shipped(reading, data) : add_life(reading, data);
}

int lifetimes_read(const char *path, struct lifetimes_data *data, struct diag *diag)
{
    struct reading reading = {.diag = diag};
    struct input *input;
    *data = (struct lifetimes_data){0};
    arena_init(&data->arena);
    int code = input_open(path, &input, diag);
    if (code == 0) code = csv_create(input, &(struct csv_options){.comment = '#'}, &reading.csv, diag);
    if (code != 0) return code;
    code = csv_read_header(reading.csv, columns, COLUMNS, reading.at, diag);
    if (code == 0) code = find_kind(&reading, path);
    data->lacks_up = reading.at[UP] < 0;
    while (code == 0) {
        const int found = csv_next(reading.csv, diag);
        if (found <= 0) {
            code = found;
            break;
        }
        code = add_row(&reading, data);
    }
    csv_destroy(reading.csv);
    if (code == 0 && data->n == 0) code = diag_error(diag, SIM_E_DATA, path, NULL, "there are no units in it");
    return code;
}

void lifetimes_data_fini(struct lifetimes_data *data)
{
    mem_free(data->lives);
    mem_free(data->shipped);
    mem_free(data->events);
    arena_fini(&data->arena);
}
