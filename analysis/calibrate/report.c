#include "analysis/calibrate/report.h"

#include "analysis/calibrate/svg.h"

#include <math.h>
#include <stdio.h>

enum { TITLE_CHARS = 160, LEGEND_STEP = 18 };

static const double us = 1e6;
static const double guide_share = 0.2; /* of the lines beside the diagonal */

static void add_title(struct text *svg, double width, double height, const char *gpu, const char *set, const char *what,
                      const char *subtitle)
{
    char title[TITLE_CHARS];
    snprintf(title, sizeof title, "%s, %s: %s", gpu, set, what);
    svg_open(svg, width, height, title, subtitle);
}

/* --- Predicted over measured --- */

/* What a plot shows for a row, in microseconds: predicted when it was held out, else by the fit. */
static struct plot_point row_point(const struct fold_report *report, size_t row)
{
    const double *predicted_s = report->n_folds > 0 ? report->held_out_s : report->fitted_s;
    return (struct plot_point){us * report->rows[row].measured_s, us * predicted_s[row]};
}

/* The points of an operator; `points` has room for all rows. Returns how many. */
static size_t collect_points(const struct fold_report *report, enum llm_operator op, struct plot_point *points)
{
    size_t n = 0;
    for (size_t i = 0; i < report->n_rows; i++)
        if (report->rows[i].op == op) points[n++] = row_point(report, i);
    return n;
}

/* The decades that all points lie in, the same for both axes. */
static void find_decades(const struct fold_report *report, double *low, double *high)
{
    *low = (double)INFINITY;
    *high = 0.0;
    for (size_t i = 0; i < report->n_rows; i++) {
        const struct plot_point point = row_point(report, i);
        *low = fmin(*low, fmin(point.x, point.y));
        *high = fmax(*high, fmax(point.x, point.y));
    }
    plot_fit_decades(low, high);
}

static void draw_guides(const struct plot *plot, double low, double high)
{
    const double more = 1.0 + guide_share, less = 1.0 - guide_share;
    plot_line(plot, low, low * more, high / more, high, SVG_FAINT, true);
    plot_line(plot, low / less, low, high, high * less, SVG_FAINT, true);
    plot_line(plot, low, low, high, high, SVG_INK, false);
}

static void draw_operators(const struct plot *plot, const struct fold_report *report)
{
    struct plot_point *points = mem_zalloc(report->n_rows + 1, sizeof *points);
    if (points == NULL) {
        plot->svg->failed = true;
        return;
    }
    size_t n_series = 0;
    for (int op = 0; op < LLM_OPERATOR_COUNT; op++) {
        const size_t n = collect_points(report, (enum llm_operator)op, points);
        if (n == 0) continue;
        const double y = plot->top + 18.0 + LEGEND_STEP * (double)n_series;
        plot_points(plot, points, n, svg_colour(n_series));
        svg_dot(plot->svg, plot->left + 16.0, y - 4.0, 4.0, svg_colour(n_series), false);
        svg_label(plot->svg, plot->left + 27.0, y, SVG_START, SVG_INK, llm_operator_name((enum llm_operator)op));
        n_series++;
    }
    mem_free(points);
}

static void describe_error(const struct calibrated_class *class, char subtitle[TITLE_CHARS])
{
    const struct fold_report *report = &class->report;
    const bool is_held_out = report->n_folds > 0;
    const struct fit_error *error = is_held_out ? &report->held_out.cuts[CUT_ALL] : &report->fit.cuts[CUT_ALL];
    snprintf(subtitle, TITLE_CHARS, "%zu rows, %s%s: error median %.1f %%, p90 %.1f %%; dashed: +-20 %%",
             report->n_rows, is_held_out ? "held out by " : "fitted", is_held_out ? class->held_out_by : "",
             100.0 * error->median, 100.0 * error->p90);
}

void report_scatter(const char *gpu, const struct calibrated_set *set, enum kernel_class class, struct text *svg)
{
    const struct calibrated_class *found = set->classes[class];
    double low, high;
    char subtitle[TITLE_CHARS];
    find_decades(&found->report, &low, &high);
    describe_error(found, subtitle);
    add_title(svg, 600.0, 620.0, gpu, set->name, kernel_class_info(class)->name, subtitle);
    const struct plot plot = {.svg = svg, .left = 80.0, .top = 60.0, .width = 490.0, .height = 490.0,
                              .x = {"measured (us)", low, high, true, false},
                              .y = {"predicted (us)", low, high, true, false}};
    plot_axes(&plot);
    draw_operators(&plot, &found->report);
    draw_guides(&plot, low, high);
    svg_close(svg);
}

/* --- Error by band --- */

enum { BANDS = CUT_LARGE - CUT_1_16 };

static const struct fit_error *band_error(const struct fit_cuts *cuts, int band)
{
    return &cuts->cuts[CUT_1_16 + band];
}

static bool has_bands(const struct calibrated_class *class)
{
    for (int band = 0; class != NULL && band < BANDS; band++)
        if (band_error(&class->report.fit, band)->rows > 0) return true;
    return false;
}

/* The largest p90 of all bands, in percent. */
static double worst_p90(const struct calibrated_set *set)
{
    double worst = 0.01;
    for (int i = 0; i < KERNEL_CLASS_COUNT; i++) {
        if (set->classes[i] == NULL) continue;
        const struct fold_report *report = &set->classes[i]->report;
        for (int band = 0; band < BANDS; band++) {
            worst = fmax(worst, band_error(&report->fit, band)->p90);
            worst = fmax(worst, band_error(&report->held_out, band)->p90);
        }
    }
    return 100.0 * worst;
}

/* A whisker from the median up to the p90, with a dot at each. */
static void draw_error(const struct plot *plot, double x, const struct fit_error *error, const char *colour,
                       bool is_hollow)
{
    if (error->rows == 0) return;
    const double median = plot_y(plot, 100.0 * error->median), p90 = plot_y(plot, 100.0 * error->p90);
    svg_line(plot->svg, x, median, x, p90, colour, is_hollow);
    svg_line(plot->svg, x - 3.0, p90, x + 3.0, p90, colour, false);
    svg_dot(plot->svg, x, median, 4.0, colour, is_hollow);
}

static void draw_class(const struct plot *plot, const struct fold_report *report, size_t series, size_t n_series,
                       const char *name)
{
    const char *colour = svg_colour(series);
    const double slot = plot->width / BANDS, step = 0.8 * slot / (double)n_series;
    for (int band = 0; band < BANDS; band++) {
        const double x = plot->left + slot * (band + 0.1) + step * ((double)series + 0.3);
        draw_error(plot, x, band_error(&report->fit, band), colour, false);
        draw_error(plot, x + 0.4 * step, band_error(&report->held_out, band), colour, true);
    }
    const double y = plot->top + 18.0 + LEGEND_STEP * (double)series;
    svg_dot(plot->svg, plot->left + plot->width + 16.0, y - 4.0, 4.0, colour, false);
    svg_label(plot->svg, plot->left + plot->width + 27.0, y, SVG_START, SVG_INK, name);
}

void report_bands(const char *gpu, const struct calibrated_set *set, struct text *svg)
{
    add_title(svg, 860.0, 460.0, gpu, set->name, "error by tokens per call",
              "dot: median, bar: p90; filled: fit, hollow and dashed: held out");
    const struct plot plot = {.svg = svg, .left = 80.0, .top = 60.0, .width = 600.0, .height = 330.0,
                              .x = {"tokens per call", 0.0, BANDS, false, true},
                              .y = {"|predicted / measured - 1| (%)", 0.0, plot_round_up(worst_p90(set)), false, false}};
    plot_axes(&plot);
    for (int band = 0; band < BANDS; band++) {
        const double slot = plot.width / BANDS, x = plot.left + slot * band;
        svg_label(svg, x + slot / 2.0, plot.top + plot.height + 19.0, SVG_MIDDLE, SVG_INK,
                  fit_cut_name((enum fit_cut)(CUT_1_16 + band)));
        if (band > 0) svg_line(svg, x, plot.top, x, plot.top + plot.height, SVG_GRID, false);
    }
    size_t n_series = 0, series = 0;
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++) n_series += has_bands(set->classes[c]);
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++)
        if (has_bands(set->classes[c]))
            draw_class(&plot, &set->classes[c]->report, series++, n_series,
                       kernel_class_info((enum kernel_class)c)->name);
    svg_close(svg);
}
