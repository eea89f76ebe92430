/* What all kinds of charts share when they draw data: styles, markers, whiskers, tooltips. */
#ifndef ORRERY_ANALYSIS_PLOT_MARK_H
#define ORRERY_ANALYSIS_PLOT_MARK_H

#include "analysis/plot/frame.h"
#include "analysis/plot/plot.h"

/* Sizes, greys, colours of series and of heat maps. */

#define STYLE_INK "#1f2328"
#define STYLE_QUIET "#57606a" /* titles of axes, subtitles */
#define STYLE_AXIS "#6e7781"
#define STYLE_GRID "#e3e6ea"
#define STYLE_MINOR "#f3f4f6"
#define STYLE_MISSING "#f3f4f6" /* cells without a value */

#define STYLE_TITLE_PX 16.0
#define STYLE_TEXT_PX 13.0
#define STYLE_SMALL_PX 11.0
#define STYLE_MARKER_PX 3.6 /* radius */

enum { STYLE_HEAT_LEVELS = 64 };

/* Colour and marker of series i of a chart (see plot_series.colour); dashes only if there are more series than
 * colours. */
struct series_style {
    const char *colour;
    unsigned shape;
    const char *dashes; /* an attribute, or "" */
};

struct series_style style_of_series(const struct plot_chart *chart, size_t i);

/* The dashes of a line of the chart as an attribute: other ones for each limit, the same for ratios; "" if it has
 * none. */
const char *style_dashes_of_line(const struct plot_chart *chart, const struct plot_line *line);

/* #rrggbb of a level, 0 (low, pale) to STYLE_HEAT_LEVELS - 1 (high, dark). */
void style_heat(int level, char colour[8]);

/* Ink or white, whichever contrasts more with a colour #rrggbb. */
const char *style_text_on(const char *colour);

/* Places of the bars of a category, one per series, side by side. */

#define BAR_GROUP_SHARE 0.78 /* of a category's width that its bars take */

/* The number of places in a category, at least 1. A reference shares the bar of its colour; among dots, and without
 * such a bar, it has its own place. */
size_t bar_places(const struct plot_chart *chart);

/* The centre of a series' bars, in places from the middle of the category. */
double bar_place(const struct plot_chart *chart, size_t series);

/* --- Marks --- */

/* With more elements a series is drawn as one path without tooltips: pages stay small. */
enum { MARK_MOST_ELEMENTS = 400 };

/* Adds a <title>: name of the series, label of the entry if it has one, and "x, y" formatted. */
void mark_title(const struct frame *frame, const struct plot_series *series, size_t i);

/* Adds "name: " or nothing. */
void mark_name(struct text *svg, const char *name);

/* Adds a value in the format of the axis. */
void mark_value(struct text *svg, enum plot_scale kind, double value);

/* Adds "<path ...", a marker up to the end of its attributes: filled, or hollow for a reference. */
void mark_shape(struct text *svg, const struct series_style *style, bool is_hollow, double radius, double x, double y);

/* Draws a marker with its <title> at a place within the frame: filled, or hollow for a reference. */
void mark_point(const struct frame *frame, size_t series, size_t i, double x, double y);

/* Draws a vertical interval from low to high, with serifs. */
void mark_whisker(const struct frame *frame, const char *colour, double x, double low, double high);

/* For qsort: points by x, then y. */
int mark_compare_points(const void *left, const void *right);

/* Whether a point in pixels lies within the frame (with a margin for rounding); false for NAN. */
bool mark_is_inside(const struct frame *frame, double x, double y);

/* --- The bars of a Gantt chart in their rows; bars of one row that overlap are stacked in lanes --- */

struct lane_bar {
    size_t row, lane;
    size_t series, entry;
    double from, to;
};

struct lanes {
    struct lane_bar *at; /* by row, then start */
    size_t n;
    unsigned char *n_lanes; /* of every row */
};

/* Lays out the bars that overlap `low` .. `high`. Returns 0 or SIM_E_NOMEM; lanes_fini is due either way. */
int lanes_init(struct lanes *lanes, const struct plot_chart *chart, double low, double high);
void lanes_fini(struct lanes *lanes);

#endif
