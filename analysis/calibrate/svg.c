#include "analysis/calibrate/svg.h"

#include "sim/core/mem.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINEAR_TICKS = 5, CELLS_PER_PIXEL = 2, TICK_PX = 5 };

const char *svg_colour(size_t i)
{
    static const char *const colours[SVG_COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                     "#e69f00", "#56b4e9", "#000000", "#8c8c8c"};
    return colours[i % SVG_COLOURS];
}

/* A coordinate: at most one decimal, and none of ".0". */
static void add_px(struct text *svg, const char *before, double px)
{
    const long tenths = lrint(px * 10.0);
    const long whole = labs(tenths) / 10, rest = labs(tenths) % 10;
    text_printf(svg, "%s%s%ld", before, tenths < 0 ? "-" : "", whole);
    if (rest != 0) text_printf(svg, ".%ld", rest);
}

/* Text of an element. */
static void add_escaped(struct text *svg, const char *chars)
{
    for (; *chars != 0; chars++) {
        if (*chars == '&')
            text_add(svg, "&amp;");
        else if (*chars == '<')
            text_add(svg, "&lt;");
        else
            text_add_bytes(svg, chars, 1);
    }
}

void svg_open(struct text *svg, double width, double height, const char *title, const char *subtitle)
{
    text_printf(svg,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
                "font-family=\"DejaVu Sans, Verdana, sans-serif\" font-size=\"12\">\n<title>",
                width, height, width, height);
    add_escaped(svg, title);
    text_printf(svg, "</title>\n<rect width=\"%.0f\" height=\"%.0f\" fill=\"#ffffff\"/>\n", width, height);
    text_printf(svg, "<text x=\"16\" y=\"24\" font-size=\"15\" font-weight=\"bold\" fill=\"%s\">", SVG_INK);
    add_escaped(svg, title);
    text_add(svg, "</text>\n");
    if (subtitle != NULL) svg_label(svg, 16.0, 43.0, SVG_START, SVG_FAINT, subtitle);
}

void svg_close(struct text *svg)
{
    text_add(svg, "</svg>\n");
}

void svg_label(struct text *svg, double x, double y, enum svg_anchor anchor, const char *colour, const char *label)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    add_px(svg, "<text x=\"", x);
    add_px(svg, "\" y=\"", y);
    if (anchor != SVG_START) text_printf(svg, "\" text-anchor=\"%s", anchors[anchor]);
    text_printf(svg, "\" fill=\"%s\">", colour);
    add_escaped(svg, label);
    text_add(svg, "</text>\n");
}

void svg_dot(struct text *svg, double x, double y, double radius, const char *colour, bool is_hollow)
{
    add_px(svg, "<circle cx=\"", x);
    add_px(svg, "\" cy=\"", y);
    add_px(svg, "\" r=\"", radius);
    text_printf(svg, "\" fill=\"%s\" stroke=\"%s\" stroke-width=\"1.5\"/>\n", is_hollow ? "#ffffff" : colour, colour);
}

void svg_line(struct text *svg, double x1, double y1, double x2, double y2, const char *colour, bool is_dashed)
{
    add_px(svg, "<path d=\"M", x1);
    add_px(svg, " ", y1);
    add_px(svg, "L", x2);
    add_px(svg, " ", y2);
    text_printf(svg, "\" stroke=\"%s\"%s/>\n", colour, is_dashed ? " stroke-dasharray=\"5 4\"" : "");
}

/* Share of the axis at which a value lies. */
static double axis_share(const struct plot_axis *axis, double value)
{
    if (axis->is_log) return log(value / axis->low) / log(axis->high / axis->low);
    return (value - axis->low) / (axis->high - axis->low);
}

double plot_x(const struct plot *plot, double value)
{
    return plot->left + plot->width * axis_share(&plot->x, value);
}

double plot_y(const struct plot *plot, double value)
{
    return plot->top + plot->height * (1.0 - axis_share(&plot->y, value));
}

static void add_tick(const struct plot *plot, bool is_x, double value)
{
    const double right = plot->left + plot->width, bottom = plot->top + plot->height;
    char label[32];
    snprintf(label, sizeof label, "%g", value);
    if (is_x) {
        const double x = plot_x(plot, value);
        svg_line(plot->svg, x, plot->top, x, bottom + TICK_PX, SVG_GRID, false);
        svg_label(plot->svg, x, bottom + 19.0, SVG_MIDDLE, SVG_INK, label);
    } else {
        const double y = plot_y(plot, value);
        svg_line(plot->svg, plot->left - TICK_PX, y, right, y, SVG_GRID, false);
        svg_label(plot->svg, plot->left - 9.0, y + 4.0, SVG_END, SVG_INK, label);
    }
}

static void add_ticks(const struct plot *plot, bool is_x)
{
    const struct plot_axis *axis = is_x ? &plot->x : &plot->y;
    if (axis->is_bare) return;
    const double step = plot_round_up((axis->high - axis->low) / LINEAR_TICKS * (1.0 - 1e-9));
    const int first = axis->is_log ? (int)ceil(log10(axis->low) - 1e-9) : (int)ceil(axis->low / step - 1e-9);
    const int last = axis->is_log ? (int)floor(log10(axis->high) + 1e-9) : (int)floor(axis->high / step + 1e-9);
    for (int i = first; i <= last; i++) add_tick(plot, is_x, axis->is_log ? pow(10.0, i) : i * step);
}

void plot_axes(const struct plot *plot)
{
    struct text *svg = plot->svg;
    const double centre = plot->top + plot->height / 2.0;
    add_ticks(plot, true);
    add_ticks(plot, false);
    add_px(svg, "<rect x=\"", plot->left);
    add_px(svg, "\" y=\"", plot->top);
    add_px(svg, "\" width=\"", plot->width);
    add_px(svg, "\" height=\"", plot->height);
    text_printf(svg, "\" fill=\"none\" stroke=\"%s\"/>\n", SVG_INK);
    svg_label(svg, plot->left + plot->width / 2.0, plot->top + plot->height + 42.0, SVG_MIDDLE, SVG_INK, plot->x.title);
    add_px(svg, "<g transform=\"translate(20 ", centre);
    text_add(svg, ") rotate(-90)\">");
    svg_label(svg, 0.0, 0.0, SVG_MIDDLE, SVG_INK, plot->y.title);
    text_add(svg, "</g>\n");
}

void plot_line(const struct plot *plot, double x1, double y1, double x2, double y2, const char *colour, bool is_dashed)
{
    svg_line(plot->svg, plot_x(plot, x1), plot_y(plot, y1), plot_x(plot, x2), plot_y(plot, y2), colour, is_dashed);
}

static int compare_cells(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* The cell of half a pixel that a point falls into: row in the upper half, column in the lower. */
static bool find_cell(const struct plot *plot, const struct plot_point *point, uint32_t *cell)
{
    if (!(point->x >= plot->x.low && point->x <= plot->x.high)) return false;
    if (!(point->y >= plot->y.low && point->y <= plot->y.high)) return false;
    const uint32_t column = (uint32_t)lrint(plot_x(plot, point->x) * CELLS_PER_PIXEL);
    const uint32_t row = (uint32_t)lrint(plot_y(plot, point->y) * CELLS_PER_PIXEL);
    *cell = row << 16 | column;
    return true;
}

void plot_points(const struct plot *plot, const struct plot_point *points, size_t n, const char *colour)
{
    uint32_t *cells = mem_zalloc(n + 1, sizeof *cells);
    if (cells == NULL) {
        plot->svg->failed = true;
        return;
    }
    size_t n_cells = 0;
    for (size_t i = 0; i < n; i++) n_cells += find_cell(plot, &points[i], &cells[n_cells]);
    qsort(cells, n_cells, sizeof *cells, compare_cells);
    text_add(plot->svg, "<path d=\"");
    for (size_t i = 0; i < n_cells; i++) {
        if (i > 0 && cells[i] == cells[i - 1]) continue;
        add_px(plot->svg, "M", (double)(cells[i] & 0xffff) / CELLS_PER_PIXEL);
        add_px(plot->svg, " ", (double)(cells[i] >> 16) / CELLS_PER_PIXEL);
        text_add(plot->svg, "h0");
    }
    text_printf(plot->svg,
                "\" stroke=\"%s\" stroke-width=\"3\" stroke-linecap=\"round\" stroke-opacity=\"0.5\" fill=\"none\"/>\n",
                colour);
    mem_free(cells);
}

void plot_fit_decades(double *low, double *high)
{
    *low = pow(10.0, floor(log10(*low) + 1e-9));
    *high = pow(10.0, ceil(log10(*high) - 1e-9));
    if (*high <= *low) *high = *low * 10.0;
}

double plot_round_up(double value)
{
    const double power = pow(10.0, floor(log10(value)));
    static const double steps[] = {1.0, 2.0, 5.0};
    for (int i = 0; i < 3; i++)
        if (steps[i] * power >= value * (1.0 - 1e-12)) return steps[i] * power;
    return 10.0 * power;
}
