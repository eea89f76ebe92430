/* Plots as SVG: a frame with two axes, lines, many points, labels. The same input gives the same bytes: coordinates are
 * rounded to a tenth of a pixel.
 *
 * Colours are those of Okabe and Ito (2008), which people tell apart with any kind of colour vision; the background is
 * opaque white, so that a plot looks the same on light and dark pages. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_SVG_H
#define ORRERY_ANALYSIS_CALIBRATE_SVG_H

#include "sim/core/text.h"

#include <stdbool.h>
#include <stddef.h>

#define SVG_INK "#222222"
#define SVG_FAINT "#767676"
#define SVG_GRID "#dddddd"

enum { SVG_COLOURS = 8 };

/* The colour of series i; they repeat after SVG_COLOURS. */
const char *svg_colour(size_t i);

struct plot_axis {
    const char *title; /* with its unit */
    double low, high;  /* of a logarithmic axis above 0 */
    bool is_log;
    bool is_bare; /* no ticks: categories, labelled by the caller */
};

/* The frame lies at `left`, `top` and takes width x height pixels; axes are labelled outside of it. */
struct plot {
    struct text *svg;
    double left, top, width, height;
    struct plot_axis x, y;
};

/* Begins a drawing of that many pixels. `title` stands above the plot and is what screen readers say. */
void svg_open(struct text *svg, double width, double height, const char *title, const char *subtitle);
void svg_close(struct text *svg);

enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };

void svg_label(struct text *svg, double x, double y, enum svg_anchor anchor, const char *colour, const char *label);
void svg_dot(struct text *svg, double x, double y, double radius, const char *colour, bool is_hollow);
void svg_line(struct text *svg, double x1, double y1, double x2, double y2, const char *colour, bool is_dashed);

/* Where a value lies, in pixels. */
double plot_x(const struct plot *plot, double value);
double plot_y(const struct plot *plot, double value);

/* The frame, ticks, grid and titles of both axes. */
void plot_axes(const struct plot *plot);

/* A straight line between two points of the frame, in values. */
void plot_line(const struct plot *plot, double x1, double y1, double x2, double y2, const char *colour, bool is_dashed);

struct plot_point {
    double x, y;
};

/* Dots at the points that lie in the frame; those that would cover each other are drawn once. Sets svg->failed when out
 * of memory. */
void plot_points(const struct plot *plot, const struct plot_point *points, size_t n, const char *colour);

/* Widens low..high to whole decades. */
void plot_fit_decades(double *low, double *high);

/* A round number at or above `value` > 0: 1, 2 or 5 times a power of ten. */
double plot_round_up(double value);

#endif
