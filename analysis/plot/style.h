/* How charts look: sizes, greys, the colours of series and of heat. */
#ifndef ORRERY_ANALYSIS_PLOT_STYLE_H
#define ORRERY_ANALYSIS_PLOT_STYLE_H

#include "analysis/plot/plot.h"

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

/* Colour and marker of series i of a chart (see plot_series.colour); dashes only where more series than colours are. */
struct series_style {
    const char *colour;
    unsigned shape;
    const char *dashes; /* an attribute, or "" */
};

struct series_style style_of_series(const struct plot_chart *chart, size_t i);

/* The first series that is no reference and shares its colour number with reference i; n_series when there is none. */
size_t style_partner(const struct plot_chart *chart, size_t i);

/* #rrggbb of a level, 0 (low, pale) to STYLE_HEAT_LEVELS - 1 (high, dark). */
void style_heat(int level, char colour[8]);

/* Ink or white, whichever reads better on a colour #rrggbb. */
const char *style_text_on(const char *colour);

#endif
