/* Charts: what is to be seen, apart from how it is drawn. One chart has one kind, two axes and some series; plot_svg draws
 * it, plot_gnuplot writes it for authors who want their own style.
 *
 * The same chart gives the same bytes: coordinates are rounded to a tenth of a pixel, texts are laid out by a fixed table
 * of widths. Colours are those of Okabe and Ito (2008), which people tell apart with any kind of colour vision; series
 * differ by dash and marker too, so that a chart survives a grey printer. */
#ifndef ORRERY_ANALYSIS_PLOT_PLOT_H
#define ORRERY_ANALYSIS_PLOT_PLOT_H

#include "sim/core/text.h"

#include <stdbool.h>
#include <stddef.h>

enum plot_kind {
    PLOT_LINE,     /* points (x, y) joined in their order; with low/high also a band around the line */
    PLOT_STEP,     /* y holds from its x to the next one: queue lengths, counts */
    PLOT_CDF,      /* the share of the values x that are at most that; y is not given */
    PLOT_BAR,      /* one bar per category and series, y high; low/high are its interval */
    PLOT_HEATMAP,  /* one series: y[i] is the value of cell (x[i], row[i]) */
    PLOT_SCATTER,  /* points; those with `on_front` are joined: a Pareto front */
    PLOT_GANTT     /* from x to x_end on the row of category row[i]; colour by the series */
};

enum plot_scale { PLOT_LINEAR, PLOT_LOG };

struct plot_axis {
    const char *title; /* with its unit */
    enum plot_scale scale;
    double low, high;  /* low == high: from the data, widened to round numbers */
};

/* Arrays have n entries; those that the kind does not use are NULL. NAN leaves a gap. */
struct plot_series {
    const char *name;    /* in the legend; NULL: not listed */
    bool is_reference;   /* what a paper says: hollow markers, never joined */
    size_t n;
    const double *x, *y;
    const double *low, *high; /* interval around y */
    const double *x_end;      /* PLOT_GANTT */
    const size_t *row;        /* PLOT_GANTT, PLOT_HEATMAP: index of the category */
    const bool *on_front;     /* PLOT_SCATTER */
    const char *const *labels; /* said on hovering, beside a Gantt bar or a point; may be NULL */
};

struct plot_chart {
    enum plot_kind kind;
    const char *title, *subtitle; /* subtitle may be NULL */
    struct plot_axis x, y;
    size_t n_categories;          /* of bars (along x), Gantt rows and heat map rows (along y) */
    const char *const *categories;
    size_t n_series;
    const struct plot_series *series;
    double width, height;         /* pixels; 0: 640 x 400, higher for many Gantt rows */
};

/* Adds one <svg> element, without an XML head, so that it can stand in a page and, on its own, in a file. Series of more
 * points than pixels are thinned without losing extremes. svg->failed is set when memory runs out. */
void plot_svg(const struct plot_chart *chart, struct text *svg);

/* Adds a gnuplot script that reads its numbers from the file `data_name`, and that file's contents. */
void plot_gnuplot(const struct plot_chart *chart, const char *data_name, struct text *script, struct text *data);

#endif
