#include "analysis/plot/mark.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- Styles --- */

/* Okabe and Ito, Color Universal Design (2008), without yellow, which is invisible on white; with black as ink, and
 * a grey. */
static const char *const colours[PLOT_COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                  "#e69f00", "#56b4e9", "#000000", "#8c8c8c"};

/* The number of references, or of other series, before series i. */
static unsigned rank_among(const struct plot_chart *chart, size_t i)
{
    unsigned rank = 0;
    for (size_t k = 0; k < i; k++) rank += chart->series[k].is_reference == chart->series[i].is_reference;
    return rank;
}

static unsigned colour_number(const struct plot_chart *chart, size_t i)
{
    const unsigned asked = chart->series[i].colour;
    return asked > 0 ? asked - 1 : rank_among(chart, i);
}

struct series_style style_of_series(const struct plot_chart *chart, size_t i)
{
    static const char *const dashes[] = {"", " stroke-dasharray=\"7 3\"", " stroke-dasharray=\"2 3\""};
    const unsigned number = colour_number(chart, i);
    const unsigned round = number / PLOT_COLOURS;
    return (struct series_style){colours[number % PLOT_COLOURS], number, dashes[round < 3 ? round : 2]};
}

const char *style_dashes_of_line(const struct plot_chart *chart, const struct plot_line *line)
{
    static const char *const dashes[] = {" stroke-dasharray=\"5 4\"", " stroke-dasharray=\"2 3\"",
                                         " stroke-dasharray=\"10 4\"", " stroke-dasharray=\"10 3 2 3\""};
    size_t n = 0;
    if (!line->is_dashed) return "";
    for (const struct plot_line *before = chart->lines; before < line; before++)
        n += before->is_dashed && before->kind != PLOT_RATIO;
    return dashes[line->kind == PLOT_RATIO ? 0 : n % (sizeof dashes / sizeof *dashes)];
}

/* The first non-reference series with the colour number of reference i; n_series if there is none. */
static size_t partner_of(const struct plot_chart *chart, size_t i)
{
    const unsigned number = colour_number(chart, i);
    for (size_t k = 0; k < chart->n_series; k++)
        if (!chart->series[k].is_reference && colour_number(chart, k) == number) return k;
    return chart->n_series;
}

/* From pale yellow over green to deep blue, in even steps of lightness in OKLab (Ottosson 2020), 0.965 to 0.28:
 * lightness alone tells values apart, with any kind of colour vision and in grey. */
void style_heat(int level, char colour[8])
{
    static const int anchors[][3] = {{248, 246, 204}, {188, 231, 161}, {102, 214, 151}, {0, 192, 160}, {0, 163, 171},
                                     {0, 129, 171},   {0, 94, 153},    {8, 62, 118},    {30, 38, 72}};
    enum { PARTS = sizeof anchors / sizeof anchors[0] - 1 };
    const double place = (double)level * PARTS / (STYLE_HEAT_LEVELS - 1);
    const int part = place < PARTS ? (int)place : PARTS - 1;
    int mixed[3];
    for (int i = 0; i < 3; i++)
        mixed[i] = (int)lrint(anchors[part][i] + (place - part) * (anchors[part + 1][i] - anchors[part][i]));
    snprintf(colour, 8, "#%02x%02x%02x", (unsigned)mixed[0] & 0xffU, (unsigned)mixed[1] & 0xffU,
             (unsigned)mixed[2] & 0xffU);
}

const char *style_text_on(const char *colour)
{
    static const double weights[] = {0.0722, 0.7152, 0.2126}; /* of blue, green and red, as in WCAG 2.1 */
    unsigned long rgb = strtoul(colour + 1, NULL, 16);
    double luminance = 0.0;
    for (int i = 0; i < 3; i++, rgb >>= 8) luminance += weights[i] * pow((double)(rgb & 0xff) / 255.0, 2.2);
    return luminance > 0.215 ? STYLE_INK : "#ffffff"; /* the luminance at which both contrast equally */
}

/* --- Places of bars --- */

static bool has_place(const struct plot_chart *chart, size_t i)
{
    return !chart->series[i].is_reference || chart->kind == PLOT_DOTS || partner_of(chart, i) == chart->n_series;
}

static size_t places_before(const struct plot_chart *chart, size_t series)
{
    size_t n = 0;
    for (size_t i = 0; i < series; i++) n += has_place(chart, i);
    return n;
}

size_t bar_places(const struct plot_chart *chart)
{
    const size_t n = places_before(chart, chart->n_series);
    return n > 0 ? n : 1;
}

double bar_place(const struct plot_chart *chart, size_t series)
{
    if (!has_place(chart, series)) series = partner_of(chart, series);
    return (double)places_before(chart, series) - ((double)bar_places(chart) - 1.0) / 2.0;
}

/* --- Marks --- */

int mark_compare_points(const void *left, const void *right)
{
    const struct px_point *a = left, *b = right;
    if (a->x != b->x) return (a->x > b->x) - (a->x < b->x);
    return (a->y > b->y) - (a->y < b->y);
}

bool mark_is_inside(const struct frame *frame, double x, double y)
{
    const struct px_rect *data = &frame->data;
    return x >= data->left - 0.05 && x <= data->right + 0.05 && y >= data->top - 0.05 && y <= data->bottom + 0.05;
}

void mark_value(struct text *svg, enum plot_scale kind, double value)
{
    char label[TICK_LABEL_BYTES];
    if (!scale_has(PLOT_LINEAR, value)) return;
    if (kind == PLOT_TIME)
        time_label(value, label);
    else
        number_label(value, label);
    text_add(svg, label);
}

void mark_name(struct text *svg, const char *name)
{
    if (name == NULL) return;
    draw_escaped(svg, name);
    text_add(svg, ": ");
}

static void add_interval(const struct frame *frame, const struct plot_series *series, size_t i)
{
    if (series->low == NULL || series->high == NULL) return;
    if (!scale_has(PLOT_LINEAR, series->low[i]) || !scale_has(PLOT_LINEAR, series->high[i])) return;
    text_add(frame->svg, " (");
    mark_value(frame->svg, frame->chart->y.scale, series->low[i]);
    text_add(frame->svg, " to ");
    mark_value(frame->svg, frame->chart->y.scale, series->high[i]);
    text_add(frame->svg, ")");
}

void mark_title(const struct frame *frame, const struct plot_series *series, size_t i)
{
    struct text *svg = frame->svg;
    const bool is_bar = frame->chart->kind == PLOT_BAR || frame->chart->kind == PLOT_DOTS;
    text_add(svg, "<title>");
    mark_name(svg, series->name);
    if (series->labels != NULL) mark_name(svg, series->labels[i]);
    if (is_bar || frame->x_is_named)
        draw_escaped(svg, frame_category(frame, is_bar ? i : (size_t)fmax(0.0, rint(series->x[i]))));
    else
        mark_value(svg, frame->chart->x.scale, series->x[i]);
    text_add(svg, ", ");
    mark_value(svg, frame->chart->y.scale, series->y[i]);
    add_interval(frame, series, i);
    text_add(svg, "</title>");
}

void mark_shape(struct text *svg, const struct series_style *style, bool is_hollow, double radius, double x, double y)
{
    text_add(svg, "<path d=\"");
    draw_marker(svg, style->shape, x, y, radius);
    text_printf(svg, "\" fill=\"%s\" stroke=\"%s\" stroke-width=\"%s\"",
                is_hollow ? "#ffffff\" fill-opacity=\"0.5" : style->colour, is_hollow ? style->colour : "#ffffff",
                is_hollow ? "1.6" : "0.8");
}

void mark_point(const struct frame *frame, size_t series, size_t i, double x, double y)
{
    const struct series_style style = style_of_series(frame->chart, series);
    const bool is_hollow = frame->chart->series[series].is_reference;
    if (!mark_is_inside(frame, x, y)) return;
    mark_shape(frame->svg, &style, is_hollow, is_hollow ? STYLE_MARKER_PX + 0.6 : STYLE_MARKER_PX, x, y);
    text_add(frame->svg, ">");
    mark_title(frame, &frame->chart->series[series], i);
    text_add(frame->svg, "</path>\n");
}

void mark_whisker(const struct frame *frame, const char *colour, double x, double low, double high)
{
    const struct px_rect *data = &frame->data;
    const double serif_px = 4.0;
    const double a = scale_px(&frame->y, low), b = scale_px(&frame->y, high);
    if (isnan(a) || isnan(b) || !mark_is_inside(frame, x, data->top)) return;
    const double down = fmin(fmax(a, b), data->bottom), up = fmax(fmin(a, b), data->top);
    if (down < up) return;
    struct text *svg = frame->svg;
    text_add(svg, "<path fill=\"none\" stroke-width=\"1.4\" d=\"");
    draw_place(svg, "M", x, down);
    draw_px(svg, "V", up);
    for (int end = 0; end < 2; end++) {
        const double y = end == 0 ? a : b;
        if (y < data->top || y > data->bottom) continue; /* it extends beyond the frame */
        draw_place(svg, "M", fmax(x - serif_px, data->left), y);
        draw_px(svg, "H", fmin(x + serif_px, data->right));
    }
    text_printf(svg, "\" stroke=\"%s\"/>\n", colour);
}
