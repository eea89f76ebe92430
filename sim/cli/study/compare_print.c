#include "sim/cli/study/compare_print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    CELL_CHARS = 96,
    N_SINGLE = 6 /* first columns, in the table of changes without an interval */
};

static const char *direction_name(enum compare_direction direction)
{
    static const char *const names[] = {
        [COMPARE_NEUTRAL] = "-", [COMPARE_LOWER] = "lower", [COMPARE_HIGHER] = "higher"};
    return names[direction];
}

/* Text tables omit unmoved metrics, and show changes without an interval in a table of their own. */
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

/* Whether the row has no interval and is of a part of a metric that is compared as well, as "job.jct_s.mean[1 GPU]". */
static bool is_of_part(const struct compare_print *print, const struct compare_row *row)
{
    const char *bracket = strchr(row->metric, '[');
    const size_t n = bracket != NULL ? (size_t)(bracket - row->metric) : 0;
    if (print->parts || bracket == NULL || row->method != COMPARE_SINGLE) return false;
    for (size_t i = 0; i < print->comparison->n_rows; i++) {
        const struct compare_row *whole = &print->comparison->rows[i];
        if (whole->is_primary && strncmp(whole->metric, row->metric, n) == 0 && whole->metric[n] == 0) return true;
    }
    return false;
}

static bool is_shown(const struct compare_print *print, const struct compare_row *row, enum part part)
{
    return has_point(print, row) && part_of(row) == part && row->is_primary && !is_of_part(print, row);
}

/* --- Cells --- */

/* Four digits. */
static const char *show(double value, char cell[CELL_CHARS])
{
    if (isnan(value)) return "-";
    snprintf(cell, CELL_CHARS, fabs(value) >= 1e4 && fabs(value) < 1e9 ? "%.0f" : "%.4g", value + 0.0);
    return cell;
}

/* In percent of the base; NAN if the base is 0. */
static double relative(const struct compare_row *row, double delta)
{
    return fabs(row->base) > 0 ? 100 * delta / fabs(row->base) : (double)NAN;
}

/* Decimals of a percentage: three digits in all, at most two behind the point. */
static int decimals(double percent)
{
    return fabs(percent) >= 99.95 ? 0 : fabs(percent) >= 9.995 ? 1 : 2;
}

/* Whether it is told as a ratio to the base, such as 4.2x, which beyond +200 % says more than a percentage. */
static bool is_ratio(const struct compare_row *row, double delta)
{
    return stats_is_multiple(row->base, row->base + delta);
}

static double ratio(const struct compare_row *row, double delta)
{
    return 1 + delta / row->base;
}

/* Whether the interval of the difference reaches beyond -100 %, which no value does that is never negative. */
static bool falls_below_nothing(const struct compare_row *row)
{
    double low, high;
    compare_ends(row, &low, &high);
    return row->base > 0 && row->changed >= 0 && relative(row, low) < -100 - 1e-9;
}

static const char *unit_of(const struct compare_row *row)
{
    return strcmp(row->unit, "1") != 0 ? row->unit : "";
}

static const char *show_change(const struct compare_row *row, char cell[CELL_CHARS])
{
    char number[CELL_CHARS];
    if (row->delta.mean == 0) return "0";
    if (is_ratio(row, row->delta.mean))
        snprintf(cell, CELL_CHARS, "%.3gx", ratio(row, row->delta.mean));
    else if (falls_below_nothing(row))
        snprintf(cell, CELL_CHARS, "%.40s %.40s", show(row->delta.mean, number), unit_of(row));
    else if (!isnan(relative(row, row->delta.mean)))
        snprintf(cell, CELL_CHARS, "%+.*f %%", decimals(relative(row, row->delta.mean)),
                 relative(row, row->delta.mean));
    else
        snprintf(cell, CELL_CHARS, "%s", show(row->delta.mean, number));
    return cell;
}

static const char *show_interval(const struct compare_row *row, char cell[CELL_CHARS])
{
    double low, high;
    compare_ends(row, &low, &high);
    if (isnan(row->delta.low)) return "-";
    if (row->delta.low == 0 && row->delta.high == 0) return "0";
    if (is_ratio(row, row->delta.mean))
        snprintf(cell, CELL_CHARS, "%.3g .. %.3gx", ratio(row, low), ratio(row, high));
    else if (falls_below_nothing(row))
        snprintf(cell, CELL_CHARS, "%.4g .. %.4g %s", low, high, unit_of(row));
    else if (!isnan(relative(row, low)))
        snprintf(cell, CELL_CHARS, "%+.*f .. %+.*f %%", decimals(relative(row, low)), relative(row, low),
                 decimals(relative(row, high)), relative(row, high));
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

static void add_row(struct answer_table *table, const struct compare_row *row)
{
    char cell[CELL_CHARS];
    const bool is_single = part_of(row) == PART_SINGLE;
    if (row->point != NULL) snprintf(cell, CELL_CHARS, "%s at %s", is_single ? row->metric : " ", row->point);
    table_text(table, row->point != NULL ? cell : row->metric);
    table_text(table, strcmp(row->unit, "1") != 0 ? row->unit : "");
    table_text(table, direction_name(row->direction));
    table_text(table, show(row->base, cell));
    table_text(table, show(row->changed, cell));
    table_text(table, show_change(row, cell));
    if (table->n_columns == N_SINGLE) return;
    table_text(table, show_interval(row, cell));
    table_text(table, show_worse(row, cell));
    if (row->method != COMPARE_SINGLE)
        snprintf(cell, CELL_CHARS, "%s, n=%zu", compare_method_name(row->method), row->n);
    table_text(table, row->method != COMPARE_SINGLE ? cell : "-");
    table_text(table, show_verdict(row, cell));
}

/* --- Totals --- */

/* Counts the metrics with the verdict: those shown, which are the primary ones, or those that are not. */
static size_t count_verdicts(const struct comparison *comparison, enum compare_verdict verdict, bool shown)
{
    size_t n = 0;
    for (size_t i = 0; i < comparison->n_rows; i++) {
        const struct compare_row *row = &comparison->rows[i];
        n += row->point == NULL && row->is_primary == shown && row->verdict == verdict;
    }
    return n;
}

/* The number of tests that the p-values of the metrics, shown or not, are corrected for. */
static size_t count_tests(const struct comparison *comparison, bool shown)
{
    for (size_t i = 0; i < comparison->n_rows; i++)
        if (comparison->rows[i].point == NULL && comparison->rows[i].is_primary == shown)
            return comparison->rows[i].n_tests;
    return 0;
}

static size_t count_points(const struct comparison *comparison)
{
    size_t n = 0;
    while (n + 1 < comparison->n_rows && comparison->rows[n + 1].point != NULL) n++;
    return n;
}

/* Whether any metric has more than one pair of runs. */
static bool has_several(const struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->n_rows; i++)
        if (comparison->rows[i].n > 1) return true;
    return false;
}

static void say_totals(const struct compare_print *print, struct answer *answer)
{
    static const enum compare_verdict verdicts[] = {COMPARE_BETTER, COMPARE_WORSE, COMPARE_SAME, COMPARE_UNCLEAR,
                                                    COMPARE_DIFFERS};
    bool first = true;
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        const size_t n = count_verdicts(print->comparison, verdicts[i], true);
        if (n == 0) continue;
        answer_say(answer, "%s%zu %s", first ? "" : ", ", n, compare_verdict_name(verdicts[i]));
        first = false;
    }
    const size_t n_tests = count_tests(print->comparison, true);
    if (n_tests == 0 && !first) {
        answer_say(answer, " (margin %g %%; %s)\n", 100 * print->options->margin_frac,
                   has_several(print->comparison)
                       ? "no metric could be tested"
                       : "one pair of runs gives neither intervals nor tests: take several seeds");
        return;
    }
    answer_say(answer, "%s (intervals of %g %%, margin %g %%, Holm's correction for %zu %s)\n",
               first ? "no metric in common" : "", 100 * print->options->level, 100 * print->options->margin_frac,
               n_tests, n_tests == 1 ? "test" : "tests");
}

/* Names the first metrics that are not shown and have the verdict, in a line of their own. */
static void say_hidden_names(const struct comparison *comparison, enum compare_verdict verdict, const char *bullet,
                             struct answer *answer)
{
    enum { MOST = 5 };
    size_t n = 0;
    const size_t n_all = count_verdicts(comparison, verdict, false);
    if (n_all == 0) return;
    answer_say(answer, "%s%zu of them %s %s, corrected for all %zu tests:", bullet, n_all, n_all == 1 ? "is" : "are",
               compare_verdict_name(verdict), count_tests(comparison, false));
    for (size_t i = 0; i < comparison->n_rows && n < MOST; i++) {
        const struct compare_row *row = &comparison->rows[i];
        if (row->point != NULL || row->is_primary || row->verdict != verdict) continue;
        answer_say(answer, "%s %s", n++ == 0 ? "" : ",", row->metric);
    }
    if (n_all > MOST) answer_say(answer, " and %zu more", n_all - MOST);
    answer_say(answer, "\n");
}

/* Says how many metrics are not shown, and which of them are worse or better. */
static void say_hidden(const struct compare_print *print, const char *bullet, struct answer *answer)
{
    const struct comparison *comparison = print->comparison;
    size_t n = 0;
    for (size_t i = 0; i < comparison->n_rows; i++)
        n += comparison->rows[i].point == NULL && !comparison->rows[i].is_primary;
    if (n == 0) return;
    answer_say(answer, "%s%zu more metric%s: --all shows them, -m NAME some\n", *bullet != 0 ? bullet : "\n", n,
               n == 1 ? "" : "s");
    say_hidden_names(comparison, COMPARE_WORSE, bullet, answer);
    say_hidden_names(comparison, COMPARE_BETTER, bullet, answer);
}

static bool has_hidden_points(const struct compare_print *print)
{
    return !print->points && count_points(print->comparison) > 0;
}

/* Points that no verdict is possible on: the correction is for all of them, so one that is compared alone after a look
 * at the others would have a verdict that it does not deserve. */
static void say_points(const struct compare_print *print, struct answer *answer)
{
    const struct compare_row *row = NULL;
    for (size_t i = 0; i < print->comparison->n_rows && print->points; i++) {
        const struct compare_row *of = &print->comparison->rows[i];
        if (of->point != NULL && strncmp(of->note != NULL ? of->note : "", "no verdict possible", 19) == 0) row = of;
    }
    if (row == NULL) return;
    answer_say(
        answer,
        "note: each configuration is a test: %zu of them need %.0f replicates. One alone, by keys in -b and -n, could "
        "have a verdict if chosen before any result was seen; chosen from this table it proves nothing\n",
        row->n_tests, ceil(2 * (double)row->n_tests / (1 - print->options->level) - 1e-9));
}

/* --- For people --- */

static const struct table_column columns[] = {LEFT("metric"), LEFT("unit"),    LEFT("better is"), RIGHT("base"),
                                              RIGHT("new"),   RIGHT("change"), RIGHT("interval"), RIGHT("worse"),
                                              LEFT("method"), LEFT("verdict")};

static void add_part(const struct compare_print *print, enum part part, const char *heading, struct answer *answer)
{
    struct answer_table table;
    table_init(&table, columns, part == PART_SINGLE ? N_SINGLE : sizeof columns / sizeof *columns);
    for (size_t i = 0; i < print->comparison->n_rows; i++)
        if (is_shown(print, &print->comparison->rows[i], part)) add_row(&table, &print->comparison->rows[i]);
    answer_add(answer, NULL, heading, &table);
}

/* In lines of at most 120 columns. */
static void say_unmoved(const struct compare_print *print, struct answer *answer)
{
    enum { LINE_CHARS = 118 };
    size_t column = 0;
    for (size_t i = 0; i < print->comparison->n_rows; i++) {
        const struct compare_row *row = &print->comparison->rows[i];
        if (row->point != NULL || part_of(row) != PART_UNMOVED || !row->is_primary || is_of_part(print, row)) continue;
        const char *head = column == 0 ? "\nunmoved:" : column + 2 + strlen(row->metric) > LINE_CHARS ? "\n " : "";
        if (*head != 0) column = strlen(head) - 1;
        answer_say(answer, "%s %s", head, row->metric);
        column += 1 + strlen(row->metric);
    }
    if (column > 0) answer_say(answer, "\n");
}

/* Says how many parts of metrics moved that are not shown. */
static void say_parts(const struct compare_print *print, struct answer *answer)
{
    const struct compare_row *first = NULL;
    size_t n = 0;
    for (size_t i = 0; i < print->comparison->n_rows; i++) {
        const struct compare_row *row = &print->comparison->rows[i];
        if (row->point != NULL || part_of(row) != PART_SINGLE || !row->is_primary || !is_of_part(print, row)) continue;
        if (n++ == 0) first = row;
    }
    if (n > 0)
        answer_say(answer, "\n%zu change%s of parts without an interval, such as %s: --all shows them\n", n,
                   n == 1 ? "" : "s", first->metric);
}

/* The one metric shown, of requests or of jobs: end-to-end or completion time if compared, else the first. */
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

static void add_worst(const struct comparison *comparison, bool jobs, struct answer *answer)
{
    static const struct table_column worst_columns[] = {LEFT("service"), RIGHT("id"), RIGHT("base"), RIGHT("new"),
                                                        RIGHT("delta")};
    char heading[CELL_CHARS];
    const char *metric = worst_metric(comparison, jobs);
    if (metric == NULL) return;
    struct answer_table table;
    TABLE_INIT(&table, worst_columns);
    for (size_t i = 0; i < comparison->n_worst; i++) {
        const struct compare_regression *worst = &comparison->worst[i];
        if (strcmp(worst->metric, metric) != 0) continue;
        table_text(&table, worst->service[0] != 0 ? worst->service : "-");
        table_number(&table, (double)worst->id);
        table_number(&table, worst->base);
        table_number(&table, worst->changed);
        table_number(&table, worst->changed - worst->base);
    }
    snprintf(heading, sizeof heading, "worst regressions in %s", metric);
    answer_add(answer, NULL, heading, &table);
}

static void show_text(const struct compare_print *print, struct answer *answer)
{
    const struct comparison *comparison = print->comparison;
    answer_say(answer, "base  %s\nnew   %s\n", comparison->base, comparison->changed);
    say_totals(print, answer);
    add_part(print, PART_ESTIMATED, NULL, answer);
    add_part(print, PART_SINGLE, "moved, without an interval: unclear", answer);
    say_unmoved(print, answer);
    say_parts(print, answer);
    say_hidden(print, "", answer);
    add_worst(comparison, false, answer);
    add_worst(comparison, true, answer);
    if (comparison->n_remarks > 0 || has_hidden_points(print)) answer_say(answer, "\n");
    for (size_t i = 0; i < comparison->n_remarks; i++) answer_say(answer, "note: %s\n", comparison->remarks[i]);
    say_points(print, answer);
    if (has_hidden_points(print))
        answer_say(answer, "note: --points shows each of the %zu configurations\n", count_points(comparison));
}

static void show_markdown(const struct compare_print *print, struct answer *answer)
{
    const struct comparison *comparison = print->comparison;
    struct answer_table table;
    answer_say(answer, "**%s** against **%s**: ", comparison->changed, comparison->base);
    say_totals(print, answer);
    TABLE_INIT(&table, columns);
    for (size_t i = 0; i < comparison->n_rows; i++)
        if (has_point(print, &comparison->rows[i]) && part_of(&comparison->rows[i]) != PART_UNMOVED &&
            comparison->rows[i].is_primary)
            add_row(&table, &comparison->rows[i]);
    answer_add(answer, NULL, NULL, &table);
    answer_say(answer, "\n- metrics that did not move at all are left out\n");
    say_hidden(print, "- ", answer);
    for (size_t i = 0; i < comparison->n_remarks; i++) answer_say(answer, "- %s\n", comparison->remarks[i]);
}

/* --- For programs --- */

static void write_row(struct answer *answer, const struct compare_row *row)
{
    answer_open_row(answer, NULL, '{');
    answer_text(answer, "metric", row->metric);
    answer_text(answer, "unit", row->unit);
    answer_text(answer, "point", row->point);
    answer_text(answer, "better_is", row->direction == COMPARE_NEUTRAL ? NULL : direction_name(row->direction));
    answer_number(answer, "base", row->base);
    answer_number(answer, "new", row->changed);
    answer_number(answer, "base_run", row->base_run);
    answer_number(answer, "new_run", row->changed_run);
    answer_number(answer, "base_recorded", row->recorded_base);
    answer_number(answer, "new_recorded", row->recorded_changed);
    answer_number(answer, "delta", row->delta.mean);
    answer_number(answer, "low", row->delta.low);
    answer_number(answer, "high", row->delta.high);
    answer_number(answer, "ratio_low", row->ratio_low);
    answer_number(answer, "ratio_high", row->ratio_high);
    answer_number(answer, "p", row->p);
    answer_number(answer, "tests", (double)row->n_tests);
    answer_number(answer, "worse_frac", row->worse_frac);
    answer_text(answer, "method", compare_method_name(row->method));
    answer_number(answer, "n", (double)row->n);
    answer_text(answer, "verdict", compare_verdict_name(row->verdict));
    answer_text(answer, "note", row->note);
    answer_close(answer, '}');
}

static void write_worst(struct answer *answer, const struct compare_regression *worst)
{
    answer_open_row(answer, NULL, '{');
    answer_text(answer, "metric", worst->metric);
    answer_text(answer, "service", worst->service[0] != 0 ? worst->service : NULL);
    answer_number(answer, "id", (double)worst->id);
    answer_number(answer, "base", worst->base);
    answer_number(answer, "new", worst->changed);
    answer_close(answer, '}');
}

static void write_out(const struct compare_print *print, struct answer *answer)
{
    const struct comparison *comparison = print->comparison;
    answer_text(answer, "base", comparison->base);
    answer_text(answer, "new", comparison->changed);
    answer_number(answer, "level", print->options->level);
    answer_number(answer, "margin_frac", print->options->margin_frac);
    answer_number(answer, "pairs", (double)comparison->n_pairs);
    answer_number(answer, "unpaired_runs", (double)comparison->n_unpaired);
    answer_number(answer, "unfinished_runs", (double)comparison->n_unfinished_runs);
    answer_number(answer, "paired_rows", (double)comparison->n_paired_rows);
    answer_number(answer, "unpaired_rows", (double)comparison->n_unpaired_rows);
    answer_number(answer, "base_rejected_frac", comparison->rejected_frac[0]);
    answer_number(answer, "new_rejected_frac", comparison->rejected_frac[1]);
    answer_open(answer, "metrics", '[');
    for (size_t i = 0; i < comparison->n_rows; i++) write_row(answer, &comparison->rows[i]);
    answer_close(answer, ']');
    answer_open(answer, "worst", '[');
    for (size_t i = 0; i < comparison->n_worst; i++) write_worst(answer, &comparison->worst[i]);
    answer_close(answer, ']');
    answer_open(answer, "remarks", '[');
    for (size_t i = 0; i < comparison->n_remarks; i++) answer_text(answer, NULL, comparison->remarks[i]);
    answer_close(answer, ']');
}

int compare_print(const struct compare_print *print, enum answer_form form, FILE *out, struct diag *diag)
{
    static void (*const parts[])(const struct compare_print *, struct answer *) = {
        [ANSWER_TEXT] = show_text, [ANSWER_MARKDOWN] = show_markdown, [ANSWER_LATEX] = show_text, [ANSWER_JSON] = write_out, [ANSWER_CSV] = write_out};
    struct answer answer;
    answer_init(&answer, form, "metrics");
    parts[form](print, &answer);
    return answer_end(&answer, 0, out, diag);
}
