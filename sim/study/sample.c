#include "sim/study/sample.h"

#include "sim/core/rng.h"
#include "sim/study/range.h"

#include <gsl/gsl_qrng.h>
#include <string.h>

/* What one key is drawn from: a range, or the items of a list. */
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
    bool is_log = read_choice(reading, node, "scale", scales, "linear") == 1;
    if (from != NULL && to != NULL) range_read(reading, from, to, is_log, &column->range);
}

static const char *draw(const struct column *column, double share, struct arena *arena)
{
    if (column->items == NULL) return range_show(&column->range, range_sample(&column->range, share), arena);
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
