#include "sim/study/range.h"

#include "sim/core/rng.h"
#include "sim/study/equal.h"
#include "sim/study/read.h"

#include <gsl/gsl_qrng.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Reads one end in the unit *dim; if that is UNIT_DIM_COUNT, sets it to the first unit that fits. */
static bool read_end(struct config_reading *reading, const struct json_node *node, enum unit_dim *dim, double *value)
{
    char shown[DIAG_TEXT_CHARS / 2];
    const char *why;
    *value = node->number;
    bool any = *dim == UNIT_DIM_COUNT;
    if (node->kind == JSON_NUMBER && (any || *dim == UNIT_NONE)) {
        *dim = UNIT_NONE;
        return true;
    }
    for (int i = UNIT_NONE + 1; node->kind == JSON_STRING && i < UNIT_DIM_COUNT; i++) {
        if ((!any && (int)*dim != i) || unit_parse(node->text, (enum unit_dim)i, value, &why) != 0) continue;
        *dim = (enum unit_dim)i;
        return true;
    }
    json_show(node, shown, sizeof shown);
    if (any)
        config_report(reading, node, "such as 1 or \"5.5/s\"", "an end of a range must be a number or quantity, got %s",
                      shown);
    else
        config_report(reading, node, NULL, "%s is not in the unit of the other end of the range", shown);
    return false;
}

bool range_read(struct config_reading *reading, const struct json_node *from, const struct json_node *to, bool is_log,
                struct range *range)
{
    *range = (struct range){.dim = UNIT_DIM_COUNT, .is_log = is_log};
    if (!read_end(reading, from, &range->dim, &range->from) || !read_end(reading, to, &range->dim, &range->to))
        return false;
    range->is_whole = equal_is_whole(from) && equal_is_whole(to);
    if (is_log && !(range->from > 0 && range->to > 0)) {
        config_report(reading, range->from > 0 ? to : from, NULL, "the ends of a logarithmic range must be above 0");
        return false;
    }
    return true;
}

static double round_digits(double value)
{
    char digits[64];
    snprintf(digits, sizeof digits, "%.12g", value);
    return strtod(digits, NULL);
}

double range_at(const struct range *range, double share)
{
    if (share <= 0) return range->from;
    if (share >= 1) return range->to;
    double value = range->is_log ? range->from * pow(range->to / range->from, share)
                                 : range->from + (range->to - range->from) * share;
    return range->is_whole ? rint(value) : round_digits(value);
}

/* Like range_at, for a sample: all integers, including the last, are equally likely. */
static double sample_at(const struct range *range, double share)
{
    if (!range->is_whole) return range_at(range, share);
    double low = fmin(range->from, range->to), high = fmax(range->from, range->to);
    double value = range->is_log ? exp(log(low) + share * log((high + 1) / low)) : low + share * (high + 1 - low);
    return fmin(floor(value), high);
}

const char *range_show(const struct range *range, double value, struct arena *arena)
{
    char quantity[64];
    struct text text;
    if (range->dim != UNIT_NONE) {
        if (range->like != NULL)
            unit_format_like(value, range->dim, range->like, quantity, sizeof quantity);
        else
            unit_format(value, range->dim, quantity, sizeof quantity);
        return arena_strdup(arena, quantity);
    }
    text_init(&text);
    text_json_number(&text, value);
    const char *shown = text.failed ? NULL : arena_strdup(arena, text.chars);
    text_fini(&text);
    return shown;
}

/* --- Samples --- */

/* The distribution of one key: a range, or the items of a list. */
struct column {
    struct range range;
    size_t n_items;
    const char **items; /* NULL: a range */
};

static void read_items(struct config_reading *reading, const struct json_node *list, struct column *column)
{
    column->items = read_alloc(reading, list->n, sizeof *column->items);
    if (column->items == NULL) return;
    for (const struct json_node *item = list->first; item != NULL; item = item->next)
        column->items[column->n_items++] = read_setting_value(reading, item);
}

static void read_column(struct config_reading *reading, const struct json_node *node, struct column *column)
{
    static const char *const known[] = {"from", "to", "scale", NULL};
    static const char *const scales[] = {"linear", "log", NULL};
    if (node->kind == JSON_LIST && node->n > 0) {
        read_items(reading, node, column);
        return;
    }
    if (!read_object(reading, node, "what is sampled")) return;
    read_keys(reading, node, "a range", known);
    const struct json_node *from = read_member(reading, node, "from", "a range");
    const struct json_node *to = read_member(reading, node, "to", "a range");
    bool is_log = read_choice(reading, node, "scale", scales) == 1;
    if (from != NULL && to != NULL) range_read(reading, from, to, is_log, &column->range);
}

static const char *draw(const struct column *column, double share, struct arena *arena)
{
    if (column->items == NULL) return range_show(&column->range, sample_at(&column->range, share), arena);
    size_t i = (size_t)(share * (double)column->n_items);
    return column->items[i < column->n_items ? i : column->n_items - 1];
}

static void fill_random(struct config_reading *reading, const struct sampling *sampling, const struct column *columns,
                        size_t n_columns, const char **values)
{
    struct rng rng;
    rng_init(&rng, (uint64_t)sampling->seed, 0, "study.sample", sampling->axis);
    for (size_t i = 0; i < sampling->n * n_columns; i++) {
        values[i] = draw(&columns[i % n_columns], rng_uniform(&rng), reading->arena);
        if (values[i] == NULL) config_report_nomem(reading);
    }
}

static void fill_sobol(struct config_reading *reading, const struct sampling *sampling, const struct column *columns,
                       size_t n_columns, const char **values)
{
    double *shares = read_alloc(reading, n_columns, sizeof *shares);
    gsl_qrng *sobol = gsl_qrng_alloc(gsl_qrng_sobol, (unsigned)n_columns);
    if (sobol == NULL) config_report_nomem(reading);
    for (size_t row = 0; shares != NULL && sobol != NULL && row < sampling->n; row++) {
        gsl_qrng_get(sobol, shares);
        for (size_t i = 0; i < n_columns; i++) {
            values[row * n_columns + i] = draw(&columns[i], shares[i], reading->arena);
            if (values[row * n_columns + i] == NULL) config_report_nomem(reading);
        }
    }
    if (sobol != NULL) gsl_qrng_free(sobol);
}

void sample_fill(struct config_reading *reading, const struct sampling *sampling, const struct json_node *ranges,
                 const char **values)
{
    struct column *columns = read_alloc(reading, ranges->n, sizeof *columns);
    size_t n = 0;
    for (const struct json_node *node = ranges->first; columns != NULL && node != NULL; node = node->next)
        read_column(reading, node, &columns[n++]);
    if (sampling->is_sobol && n > gsl_qrng_sobol->max_dimension)
        config_report(reading, ranges, "take \"random\", or more axes", "a Sobol sample has at most %u keys",
                      gsl_qrng_sobol->max_dimension);
    if (reading->code == 0) (sampling->is_sobol ? fill_sobol : fill_random)(reading, sampling, columns, n, values);
}
