#include "sim/cli/study/compare_print.h"

#include "sim/cli/table.h"
#include "sim/core/json_write.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { CELL_CHARS = 96 };

static const char *direction_name(enum compare_direction direction)
{
    static const char *const names[] = {
        [COMPARE_NEUTRAL] = "-", [COMPARE_LOWER] = "lower", [COMPARE_HIGHER] = "higher"};
    return names[direction];
}

/* Tables for people leave out what did not move, and have what has no interval by itself. */
enum part { PART_ESTIMATED, PART_SINGLE, PART_UNMOVED };

static enum part part_of(const struct compare_row *row)
{
    if (row->delta.low == 0 && row->delta.high == 0) return PART_UNMOVED;
    return row->method == COMPARE_SINGLE ? PART_SINGLE : PART_ESTIMATED;
}

static bool has_point(const struct compare_print *print, const struct compare_row *row)
{
    return row->point == NULL || print->points || (print->worse_points && row->verdict == COMPARE_WORSE);
}

static bool is_shown(const struct compare_print *print, const struct compare_row *row, enum part part)
{
    return has_point(print, row) && part_of(row) == part;
}

/* --- Cells --- */

/* Four digits: a table of differences is read, not calculated with. */
static const char *show(double value, char cell[CELL_CHARS])
{
    if (isnan(value)) return "-";
    snprintf(cell, CELL_CHARS, fabs(value) >= 1e4 && fabs(value) < 1e9 ? "%.0f" : "%.4g", value + 0.0);
    return cell;
}

/* Relative to the base where there is something to be relative to. */
static double relative(const struct compare_row *row, double delta)
{
    return fabs(row->base) > 0 ? 100 * delta / fabs(row->base) : (double)NAN;
}

/* Of a percentage: three digits, and no more than two behind the point. */
static int decimals(double percent)
{
    return fabs(percent) >= 99.95 ? 0 : fabs(percent) >= 9.995 ? 1 : 2;
}

static const char *show_change(const struct compare_row *row, char cell[CELL_CHARS])
{
    char number[CELL_CHARS];
    if (row->delta.mean == 0) return "0";
    if (!isnan(relative(row, row->delta.mean)))
        snprintf(cell, CELL_CHARS, "%+.*f %%", decimals(relative(row, row->delta.mean)),
                 relative(row, row->delta.mean));
    else
        snprintf(cell, CELL_CHARS, "%s", show(row->delta.mean, number));
    return cell;
}

static const char *show_interval(const struct compare_row *row, char cell[CELL_CHARS])
{
    if (isnan(row->delta.low)) return "-";
    if (row->delta.low == 0 && row->delta.high == 0) return "0";
    if (!isnan(relative(row, row->delta.low)))
        snprintf(cell, CELL_CHARS, "%+.*f .. %+.*f %%", decimals(relative(row, row->delta.low)),
                 relative(row, row->delta.low), decimals(relative(row, row->delta.high)),
                 relative(row, row->delta.high));
    else
        snprintf(cell, CELL_CHARS, "%.4g .. %.4g", row->delta.low, row->delta.high);
    return cell;
}

static const char *show_worse(const struct compare_row *row, char cell[CELL_CHARS])
{
    if (isnan(row->worse_frac)) return "-";
    snprintf(cell, CELL_CHARS, "%.3g %%", 100 * row->worse_frac);
    return cell;
}

static const char *show_verdict(const struct compare_row *row, char cell[CELL_CHARS])
{
    const char *verdict = compare_verdict_name(row->verdict);
    if (row->note == NULL) return verdict;
    snprintf(cell, CELL_CHARS, "%s: %s", verdict, row->note);
    return cell;
}

enum { N_CELLS = 10 };

struct cells {
    char buffers[N_CELLS][CELL_CHARS];
    const char *texts[N_CELLS];
};

static const char *const titles[N_CELLS] = {"metric", "unit",     "better is", "base",   "new",
                                            "change", "interval", "worse",     "method", "verdict"};

static void fill_cells(const struct compare_row *row, struct cells *cells)
{
    size_t i = 0;
    if (row->point != NULL)
        snprintf(cells->buffers[0], CELL_CHARS, "%s at %s", part_of(row) == PART_SINGLE ? row->metric : " ",
                 row->point);
    cells->texts[i++] = row->point != NULL ? cells->buffers[0] : row->metric;
    cells->texts[i++] = strcmp(row->unit, "1") != 0 ? row->unit : "";
    cells->texts[i++] = direction_name(row->direction);
    cells->texts[i] = show(row->base, cells->buffers[i]), i++;
    cells->texts[i] = show(row->changed, cells->buffers[i]), i++;
    cells->texts[i] = show_change(row, cells->buffers[i]), i++;
    cells->texts[i] = show_interval(row, cells->buffers[i]), i++;
    cells->texts[i] = show_worse(row, cells->buffers[i]), i++;
    if (row->method != COMPARE_SINGLE)
        snprintf(cells->buffers[i], CELL_CHARS, "%s, n=%zu", compare_method_name(row->method), row->n);
    cells->texts[i] = row->method != COMPARE_SINGLE ? cells->buffers[i] : "-", i++;
    cells->texts[i] = show_verdict(row, cells->buffers[i]);
}

/* --- What the rows amount to --- */

static size_t count_verdicts(const struct comparison *comparison, enum compare_verdict verdict)
{
    size_t n = 0;
    for (size_t i = 0; i < comparison->n_rows; i++)
        n += comparison->rows[i].point == NULL && comparison->rows[i].verdict == verdict;
    return n;
}

static size_t count_tests(const struct comparison *comparison)
{
    size_t n = 0;
    for (size_t i = 0; i < comparison->n_rows; i++)
        n += comparison->rows[i].point == NULL && !isnan(comparison->rows[i].p);
    return n;
}

static size_t count_points(const struct comparison *comparison)
{
    size_t n = 0;
    while (n + 1 < comparison->n_rows && comparison->rows[n + 1].point != NULL) n++;
    return n;
}

static void print_totals(const struct compare_print *print, FILE *out)
{
    static const enum compare_verdict verdicts[] = {COMPARE_BETTER, COMPARE_WORSE, COMPARE_SAME, COMPARE_UNCLEAR,
                                                    COMPARE_DIFFERS};
    bool first = true;
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        const size_t n = count_verdicts(print->comparison, verdicts[i]);
        if (n == 0) continue;
        fprintf(out, "%s%zu %s", first ? "" : ", ", n, compare_verdict_name(verdicts[i]));
        first = false;
    }
    fprintf(out, "%s (intervals of %g %%, margin %g %%, Holm's correction for %zu tests)\n",
            first ? "no metric in common" : "", 100 * print->options->level, 100 * print->options->margin_frac,
            count_tests(print->comparison));
}

static bool has_hidden_points(const struct compare_print *print)
{
    return !print->points && count_points(print->comparison) > 0;
}

/* --- For people --- */

static int print_estimated(const struct compare_print *print, FILE *out)
{
    static const struct table_column columns[N_CELLS] = {
        {"metric", COLUMN_LEFT, false},    {"unit", COLUMN_LEFT, false},   {"better is", COLUMN_LEFT, false},
        {"base", COLUMN_RIGHT, false},     {"new", COLUMN_RIGHT, false},   {"change", COLUMN_RIGHT, false},
        {"interval", COLUMN_RIGHT, false}, {"worse", COLUMN_RIGHT, false}, {"method", COLUMN_LEFT, false},
        {"verdict", COLUMN_LEFT, false}};
    struct table table;
    struct cells cells;
    table_init(&table, columns, N_CELLS);
    for (size_t i = 0; i < print->comparison->n_rows; i++) {
        if (!is_shown(print, &print->comparison->rows[i], PART_ESTIMATED)) continue;
        fill_cells(&print->comparison->rows[i], &cells);
        for (size_t k = 0; k < N_CELLS; k++) table_text(&table, cells.texts[k]);
    }
    if (table.n_cells > 0) fputc('\n', out);
    const int code = table.n_cells > 0 ? table_write(&table, false, out) : 0;
    table_fini(&table);
    return code;
}

static int print_single(const struct compare_print *print, FILE *out)
{
    enum { N_SINGLE = 6 }; /* the first of the cells */
    static const struct table_column columns[N_SINGLE] = {
        {"moved, without an interval: unclear", COLUMN_LEFT, false}, {"unit", COLUMN_LEFT, false},
        {"better is", COLUMN_LEFT, false}, {"base", COLUMN_RIGHT, false},
        {"new", COLUMN_RIGHT, false}, {"change", COLUMN_RIGHT, false}};
    struct table table;
    struct cells cells;
    table_init(&table, columns, N_SINGLE);
    for (size_t i = 0; i < print->comparison->n_rows; i++) {
        if (!is_shown(print, &print->comparison->rows[i], PART_SINGLE)) continue;
        fill_cells(&print->comparison->rows[i], &cells);
        for (size_t k = 0; k < N_SINGLE; k++) table_text(&table, cells.texts[k]);
    }
    if (table.n_cells > 0) fputc('\n', out);
    const int code = table.n_cells > 0 ? table_write(&table, false, out) : 0;
    table_fini(&table);
    return code;
}

/* In lines of at most 120 columns. */
static void print_unmoved(const struct compare_print *print, FILE *out)
{
    enum { LINE_CHARS = 118 };
    size_t column = 0;
    for (size_t i = 0; i < print->comparison->n_rows; i++) {
        const struct compare_row *row = &print->comparison->rows[i];
        if (row->point != NULL || part_of(row) != PART_UNMOVED) continue;
        if (column == 0) column = (size_t)fprintf(out, "\nunmoved:") - 1;
        if (column + 2 + strlen(row->metric) > LINE_CHARS) column = (size_t)fprintf(out, "\n ") - 1;
        column += (size_t)fprintf(out, " %s", row->metric);
    }
    if (column > 0) fputc('\n', out);
}

/* One metric of requests and one of jobs, for all of them would be a long list: end-to-end time and completion time where
 * these are compared, else the first one. */
static const char *worst_metric(const struct comparison *comparison, bool jobs)
{
    const char *whole = jobs ? "job.jct_s" : "request.e2e_s", *first = NULL;
    for (size_t i = 0; i < comparison->n_worst; i++) {
        const char *metric = comparison->worst[i].metric;
        if (strcmp(metric, whole) == 0) return metric;
        if (first == NULL && (strncmp(metric, "job.", 4) == 0) == jobs) first = metric;
    }
    return first;
}

static int print_worst(const struct comparison *comparison, bool jobs, FILE *out)
{
    static const struct table_column columns[] = {{"service", COLUMN_LEFT, false}, {"id", COLUMN_RIGHT, false},
                                                  {"base", COLUMN_RIGHT, false},   {"new", COLUMN_RIGHT, false},
                                                  {"delta", COLUMN_RIGHT, false}};
    const char *metric = worst_metric(comparison, jobs);
    if (metric == NULL) return 0;
    struct table table;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < comparison->n_worst; i++) {
        const struct compare_regression *worst = &comparison->worst[i];
        if (strcmp(worst->metric, metric) != 0) continue;
        table_text(&table, worst->service[0] != 0 ? worst->service : "-");
        table_number(&table, (double)worst->id);
        table_number(&table, worst->base);
        table_number(&table, worst->changed);
        table_number(&table, worst->changed - worst->base);
    }
    fprintf(out, "\nworst regressions in %s\n", metric);
    const int code = table_write(&table, false, out);
    table_fini(&table);
    return code;
}

int compare_print_tables(const struct compare_print *print, FILE *out)
{
    const struct comparison *comparison = print->comparison;
    fprintf(out, "base  %s\nnew   %s\n", comparison->base, comparison->changed);
    print_totals(print, out);
    int code = print_estimated(print, out);
    if (code == 0) code = print_single(print, out);
    if (code == 0) print_unmoved(print, out);
    if (code == 0) code = print_worst(comparison, false, out);
    if (code == 0) code = print_worst(comparison, true, out);
    if (comparison->n_remarks > 0 || has_hidden_points(print)) fputc('\n', out);
    for (size_t i = 0; i < comparison->n_remarks; i++) fprintf(out, "note: %s\n", comparison->remarks[i]);
    if (has_hidden_points(print))
        fprintf(out, "note: --points shows each of the %zu points\n", count_points(comparison));
    return code;
}

int compare_print_markdown(const struct compare_print *print, FILE *out)
{
    const struct comparison *comparison = print->comparison;
    struct cells cells;
    fprintf(out, "**%s** against **%s**: ", comparison->changed, comparison->base);
    print_totals(print, out);
    fputc('\n', out);
    for (size_t k = 0; k < N_CELLS; k++) fprintf(out, "| %s ", titles[k]);
    fprintf(out, "|\n|---|---|---|---:|---:|---:|---:|---:|---|---|\n");
    for (size_t i = 0; i < comparison->n_rows; i++) {
        if (!has_point(print, &comparison->rows[i])) continue;
        if (part_of(&comparison->rows[i]) == PART_UNMOVED) continue;
        fill_cells(&comparison->rows[i], &cells);
        for (size_t k = 0; k < N_CELLS; k++) fprintf(out, "| %s ", cells.texts[k]);
        fprintf(out, "|\n");
    }
    fputc('\n', out);
    fprintf(out, "- metrics that did not move at all are left out\n");
    for (size_t i = 0; i < comparison->n_remarks; i++) fprintf(out, "- %s\n", comparison->remarks[i]);
    return 0;
}

/* --- For programs --- */

static void write_row(struct json_writer *json, const struct compare_row *row)
{
    json_write_open_row(json, NULL, '{');
    json_write_string(json, "metric", row->metric);
    json_write_string(json, "unit", row->unit);
    json_write_string(json, "point", row->point);
    json_write_string(json, "better_is", row->direction == COMPARE_NEUTRAL ? NULL : direction_name(row->direction));
    json_write_number(json, "base", row->base);
    json_write_number(json, "new", row->changed);
    json_write_number(json, "base_run", row->base_run);
    json_write_number(json, "new_run", row->changed_run);
    json_write_number(json, "delta", row->delta.mean);
    json_write_number(json, "low", row->delta.low);
    json_write_number(json, "high", row->delta.high);
    json_write_number(json, "p", row->p);
    json_write_number(json, "worse_frac", row->worse_frac);
    json_write_string(json, "method", compare_method_name(row->method));
    json_write_number(json, "n", (double)row->n);
    json_write_string(json, "verdict", compare_verdict_name(row->verdict));
    json_write_string(json, "note", row->note);
    json_write_close(json, '}');
}

static void write_worst(struct json_writer *json, const struct comparison *comparison)
{
    json_write_open(json, "worst", '[');
    for (size_t i = 0; i < comparison->n_worst; i++) {
        const struct compare_regression *worst = &comparison->worst[i];
        json_write_open_row(json, NULL, '{');
        json_write_string(json, "metric", worst->metric);
        json_write_string(json, "service", worst->service[0] != 0 ? worst->service : NULL);
        json_write_number(json, "id", (double)worst->id);
        json_write_number(json, "base", worst->base);
        json_write_number(json, "new", worst->changed);
        json_write_close(json, '}');
    }
    json_write_close(json, ']');
}

int compare_print_json(const struct compare_print *print, FILE *out)
{
    const struct comparison *comparison = print->comparison;
    struct text text;
    struct json_writer json;
    text_init(&text);
    json_writer_init(&json, &text);
    json_write_open(&json, NULL, '{');
    json_write_string(&json, "base", comparison->base);
    json_write_string(&json, "new", comparison->changed);
    json_write_number(&json, "level", print->options->level);
    json_write_number(&json, "margin_frac", print->options->margin_frac);
    json_write_number(&json, "pairs", (double)comparison->n_pairs);
    json_write_number(&json, "unpaired_runs", (double)comparison->n_unpaired);
    json_write_number(&json, "unfinished_runs", (double)comparison->n_unfinished_runs);
    json_write_number(&json, "paired_rows", (double)comparison->n_paired_rows);
    json_write_number(&json, "unpaired_rows", (double)comparison->n_unpaired_rows);
    json_write_open(&json, "metrics", '[');
    for (size_t i = 0; i < comparison->n_rows; i++) write_row(&json, &comparison->rows[i]);
    json_write_close(&json, ']');
    write_worst(&json, comparison);
    json_write_open(&json, "remarks", '[');
    for (size_t i = 0; i < comparison->n_remarks; i++) json_write_string(&json, NULL, comparison->remarks[i]);
    json_write_close(&json, ']');
    json_write_close(&json, '}');
    if (!text.failed) fprintf(out, "%s\n", text.chars);
    const int code = text.failed ? SIM_E_NOMEM : 0;
    text_fini(&text);
    return code;
}
