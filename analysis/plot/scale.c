/* Axes: the values that they cover, and their pixels. */
#include "analysis/plot/frame.h"

#include "analysis/plot/scale.h"

#include <float.h>
#include <math.h>

/* --- Scales --- */

static const double most = 1e300;      /* beyond it, differences overflow */
static const double far_px = 1e6;      /* beyond it, lines are cut imprecisely */
static const double rounding = 1e-9;   /* tolerance of a value against a step, as a share of the step */
static const double tight_share = 0.2; /* of a step, to which FIT_TIGHT rounds */

bool scale_has(enum plot_scale kind, double value)
{
    if (!(fabs(value) <= most)) return false;
    return kind != PLOT_LOG || value >= 1.0 / most;
}

void extent_init(struct extent *extent, enum plot_scale kind)
{
    *extent = (struct extent){.kind = kind, .low = (double)INFINITY, .high = -(double)INFINITY};
}

void extent_add(struct extent *extent, double value)
{
    if (!scale_has(extent->kind, value)) return;
    extent->low = fmin(extent->low, value);
    extent->high = fmax(extent->high, value);
    extent->has_fraction |= value != floor(value);
}

static double power_of_ten_within(double value)
{
    return pow(10.0, floor(log10(value)));
}

static double round_step_decimal(double value)
{
    static const double steps[] = {1.0, 2.0, 5.0, 10.0};
    const double power = power_of_ten_within(value);
    for (int i = 0; i < 4; i++)
        if (steps[i] * power >= value * (1.0 - 1e-12)) return steps[i] * power;
    return 20.0 * power; /* log10 was rounded down */
}

double scale_round_step(enum plot_scale kind, double value)
{
    static const double clock_s[] = {1,   2,   5,    10,   15,   30,    60,    120,   300,
                                     600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400};
    enum { N = sizeof clock_s / sizeof clock_s[0] };
    if (kind != PLOT_TIME || value <= clock_s[0] * 0.5) return round_step_decimal(value);
    for (int i = 0; i < N; i++)
        if (clock_s[i] >= value * (1.0 - 1e-12)) return clock_s[i];
    return clock_s[N - 1] * round_step_decimal(value / clock_s[N - 1]);
}

/* --- fitting --- */

/* Adds room around data of a single value. */
static void widen_point(double *low, double *high)
{
    const double middle = *low;
    if (*high - *low > fabs(middle) * 1e-9 && *high - *low > 1.0 / most) return;
    const double room = fabs(middle) < 1.0 / most ? 1.0 : 0.1 * fabs(middle);
    *low = middle > 0.0 ? fmax(middle - room, 0.0) : middle - room;
    *high = fmax(*high, middle) + room;
}

static void fit_linear(struct scale *scale, const struct extent *data, enum scale_fit fit, double n_steps)
{
    double low = data->low, high = data->high;
    if (fit == FIT_FROM_ZERO || (fit == FIT_ROUND && low > 0.0 && low < 0.4 * high)) {
        low = fmin(low, 0.0);
        high = fmax(high, 0.0);
    }
    if (low == high && low == 0.0)
        high = 1.0;
    else
        widen_point(&low, &high);
    double step = scale_round_step(scale->kind, (high - low) / n_steps);
    if (fit == FIT_TIGHT || fit == FIT_ROOM) step *= tight_share;
    const double room = fit == FIT_ROOM ? 0.02 * (high - low) : 0.0;
    low -= low >= 0.0 && low < room ? low : room;
    high += room;
    scale->low = floor(low / step + rounding) * step;
    scale->high = ceil(high / step - rounding) * step;
    if (scale->low < scale->high) return;
    scale->low = low;
    scale->high = high;
}

/* Rounds to the next of 1, 2 and 5 times a power of ten. */
static double round_log(double value, bool up)
{
    static const double leads[] = {1.0, 2.0, 5.0, 10.0};
    const double power = power_of_ten_within(value * (1.0 + rounding));
    double rounded = power;
    for (int i = 0; i < 4; i++) {
        if (!up && leads[i] * power <= value * (1.0 + rounding)) rounded = leads[i] * power;
        if (up && leads[i] * power >= value * (1.0 - rounding)) return leads[i] * power;
    }
    return rounded;
}

static void fit_log(struct scale *scale, const struct extent *data)
{
    scale->low = round_log(data->low, false);
    scale->high = round_log(data->high, true);
    if (scale->low < scale->high) return;
    scale->low = data->low / 2.0;
    scale->high = data->high * 2.0;
}

void scale_fit(struct scale *scale, const struct plot_axis *axis, const struct extent *data, enum scale_fit fit,
               double length_px, double tick_px)
{
    const bool is_log = axis->scale == PLOT_LOG;
    const struct extent unit = {.low = is_log ? 1.0 : 0.0, .high = is_log ? 10.0 : 1.0};
    scale->kind = axis->scale;
    if (axis->low < axis->high && scale_has(axis->scale, axis->low) && scale_has(axis->scale, axis->high) &&
        axis->high - axis->low > fabs(axis->low) * 1e-9) {
        scale->low = axis->low;
        scale->high = axis->high;
        return;
    }
    const struct extent *shown = data->low <= data->high ? data : &unit;
    if (is_log)
        fit_log(scale, shown);
    else
        fit_linear(scale, shown, fit, fmax(1.0, length_px / tick_px));
}

void scale_fit_categories(struct scale *scale, size_t n)
{
    scale->kind = PLOT_LINEAR;
    scale->low = -0.5;
    scale->high = n > 0 ? (double)n - 0.5 : 0.5;
}

double scale_px(const struct scale *scale, double value)
{
    if (!scale_has(scale->kind, value)) return (double)NAN;
    const bool is_log = scale->kind == PLOT_LOG;
    const double low = is_log ? log10(scale->low) : scale->low, high = is_log ? log10(scale->high) : scale->high;
    const double share = ((is_log ? log10(value) : value) - low) / (high - low);
    const double px = scale->from_px + share * (scale->to_px - scale->from_px);
    return fmin(fmax(px, -far_px), far_px);
}

double scale_value(const struct scale *scale, double share)
{
    if (scale->kind != PLOT_LOG) return scale->low + share * (scale->high - scale->low);
    return pow(10.0, log10(scale->low) + share * (log10(scale->high) - log10(scale->low)));
}

/* --- Extents of a chart --- */

static void add_all(struct extent *extent, const double *values, size_t n)
{
    for (size_t i = 0; values != NULL && i < n; i++) extent_add(extent, values[i]);
}

/* A point counts only if the axes can show both of its numbers. */
static void add_points(const struct plot_series *series, struct extent *x, struct extent *y)
{
    if (series->x == NULL || series->y == NULL) return;
    for (size_t i = 0; i < series->n; i++) {
        if (!scale_has(x->kind, series->x[i]) || !scale_has(y->kind, series->y[i])) continue;
        extent_add(x, series->x[i]);
        extent_add(y, series->y[i]);
        if (series->low != NULL) extent_add(y, series->low[i]);
        if (series->high != NULL) extent_add(y, series->high[i]);
    }
}

static void add_series(const struct plot_chart *chart, const struct plot_series *series, struct extent *x,
                       struct extent *y, struct extent *z)
{
    switch (chart->kind) {
    case PLOT_CDF:
        if (series->y != NULL)
            add_points(series, x, y);
        else
            add_all(x, series->x, series->n);
        break;
    case PLOT_BAR:
    case PLOT_DOTS:
        add_all(y, series->y, series->n);
        add_all(y, series->low, series->n);
        add_all(y, series->high, series->n);
        break;
    case PLOT_HEATMAP:
        add_all(x, series->x, series->n);
        add_all(z, series->y, series->n);
        break;
    case PLOT_GANTT:
        add_all(x, series->x, series->n);
        add_all(x, series->x_end, series->n);
        break;
    case PLOT_LINE:
    case PLOT_STEP:
    case PLOT_SCATTER: add_points(series, x, y); break;
    }
}

static void add_line(const struct plot_line *line, struct extent *x, struct extent *y)
{
    if (line->kind == PLOT_AT_Y) extent_add(y, line->value);
    if (line->kind == PLOT_AT_X) extent_add(x, line->value);
}

void chart_extents(const struct plot_chart *chart, struct extent *x, struct extent *y, struct extent *z)
{
    extent_init(x, chart->x.scale);
    extent_init(y, chart->y.scale);
    extent_init(z, chart->z.scale);
    for (size_t i = 0; i < chart->n_series; i++) add_series(chart, &chart->series[i], x, y, z);
    for (size_t i = 0; i < chart->n_lines; i++) add_line(&chart->lines[i], x, y);
    if (!chart->is_square) return;
    const struct extent of_x = *x;
    extent_add(x, y->low);
    extent_add(x, y->high);
    extent_add(y, of_x.low);
    extent_add(y, of_x.high);
    x->has_fraction = y->has_fraction = x->has_fraction || y->has_fraction;
}
