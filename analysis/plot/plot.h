/* Charts, described apart from how they are drawn. A chart has one kind, two axes and some series. plot_svg draws
 * it; plot_gnuplot writes it for authors who want their own style.
 *
 * Equal charts give equal bytes: coordinates are rounded to a tenth of a pixel, texts are laid out by a fixed table
 * of widths. Colours are those of Okabe and Ito (2008), which can be told apart with any kind of colour vision.
 * Series also differ by marker, so that a chart survives a grey printer. NAN, infinities, numbers beyond 1e300 and,
 * on a logarithmic axis, numbers not above 0 leave a gap. */
#ifndef ORRERY_ANALYSIS_PLOT_PLOT_H
#define ORRERY_ANALYSIS_PLOT_PLOT_H

#include "sim/core/text.h"

#include <stdbool.h>
#include <stddef.h>

enum plot_kind {
    PLOT_LINE,     /* points (x, y) joined in their order; with low/high also a band around the line */
    PLOT_STEP,     /* y holds from its x to the next one: queue lengths, counts */
    PLOT_CDF,      /* share of values <= x; y is not given; INFINITY counts, and is never reached */
    PLOT_BAR,      /* one bar per category and series, y high; low/high are its interval */
    PLOT_DOTS,     /* like bars, but a marker at y: for a logarithmic axis, or one that need not start at 0 */
    PLOT_HEATMAP,  /* one series: y[i] is the value of cell (x[i], row[i]) */
    PLOT_SCATTER,  /* points; those with `on_front` are joined: a Pareto front */
    PLOT_GANTT     /* from x to x_end on the row of category row[i]; colour by the series */
};

enum plot_scale {
    PLOT_LINEAR,
    PLOT_LOG,
    PLOT_TIME /* seconds, with units at the ticks: 30 s, 10 min, 6 h, 2 d */
};

struct plot_axis {
    const char *title; /* with its unit, or NULL */
    enum plot_scale scale;
    double low, high;  /* low == high: from the data, widened to round numbers */
    size_t n_ticks;    /* x: where ticks stand, rising, as long as their labels fit; 0: at round values */
    const double *ticks;
};

/* Arrays have n entries; those that the kind does not use are NULL. NAN leaves a gap. */
struct plot_series {
    const char *name;    /* in the legend; NULL: not listed */
    bool is_reference;   /* a paper's points: hollow markers, never joined */
    unsigned colour;     /* 1 .. PLOT_COLOURS; 0: the next one, for a reference that of the series it stands beside: the
                            first reference beside the first series that is none, and so on */
    size_t n;
    const double *x, *y;      /* PLOT_BAR and PLOT_DOTS: y alone, entry i for category i */
    const double *low, *high; /* interval around y */
    const double *x_end;      /* PLOT_GANTT */
    const size_t *row;        /* PLOT_GANTT, PLOT_HEATMAP: index of the category */
    const bool *on_front;     /* PLOT_SCATTER */
    const char *const *labels; /* tooltips of Gantt bars and points, or NULL */
};

enum { PLOT_COLOURS = 8 };

/* A straight line that is no data: a limit, a target, the diagonal. */
struct plot_line {
    enum { PLOT_AT_Y, PLOT_AT_X, PLOT_RATIO } kind; /* y = value; x = value; y = value * x */
    double value;
    const char *name; /* in the legend; NULL: not listed */
    bool is_dashed;
};

/* Moments that are no data: failures, brakes. A row of ticks above the data shows each group. gnuplot leaves them
 * out. */
struct plot_events {
    const char *name; /* in the legend */
    unsigned colour;  /* 0 .. PLOT_EVENT_COLOURS - 1 */
    size_t n;         /* at least 1 */
    const double *x;  /* rising */
};

enum { PLOT_EVENT_COLOURS = 6 };

struct plot_chart {
    enum plot_kind kind;
    const char *title, *subtitle; /* subtitle may be NULL */
    const char *name;             /* of the SVG document; NULL: its title */
    struct plot_axis x, y;
    struct plot_axis z;           /* PLOT_HEATMAP: the scale of colours */
    bool is_square;               /* both axes over the same range, drawn in a square: predicted over measured */
    size_t n_categories;          /* of bars (along x), Gantt rows and heat map rows (along y); other kinds with
                                     categories have them along x, which is then their index */
    const char *const *categories;
    size_t n_series;
    const struct plot_series *series;
    size_t n_lines;
    const struct plot_line *lines;
    size_t n_events;
    const struct plot_events *events;
    double width, height;         /* pixels; 0: 640 x 400, higher for many Gantt rows */
    double zoom;                  /* size of the SVG image over these pixels; 0: 1, of whole pixels */
    const char *font;             /* family of the SVG image; NULL: that of the system */
    bool has_whiskers;            /* PLOT_LINE: low/high are bars at the points and no band */
};

/* Adds one <svg> element without an XML head, usable in a page and as a file. Series with more points than pixels
 * are thinned without losing extremes: each column of pixels keeps its first, lowest, highest and last point; cells
 * of a heat map below two pixels are drawn as their highest. Content that does not fit is cut (texts, complete in
 * the tooltip) or makes the chart higher than requested (legends). Sets svg->failed when memory runs out. */
void plot_svg(const struct plot_chart *chart, struct text *svg);

/* The size that plot_svg gives the chart, in pixels before the zoom: that asked for, or more where the content needs
 * it. */
void plot_size(const struct plot_chart *chart, double *width_px, double *height_px);

/* Adds a gnuplot script that reads its numbers from the file `data_name`, and that file's contents. "gnuplot
 * SCRIPT" draws an SVG beside the data, or a PNG; gnuplot -e "terminal='pdfcairo'; output='x.pdf'" SCRIPT another. A
 * name that begins with '$' is a block of the script itself: it, terminal and output must be set above. */
void plot_gnuplot(const struct plot_chart *chart, const char *data_name, struct text *script, struct text *data);

/* Adds a tikzpicture of pgfplots, `width_cm` x `height_cm`, with its numbers, for \input in a paper: PLOT_LINE,
 * PLOT_BAR and PLOT_DOTS. Fonts are those of the paper. */
void plot_tikz(const struct plot_chart *chart, double width_cm, double height_cm, struct text *tex);

/* Adds a PDF of one page that shows an SVG image of plot_svg. `font` is "Helvetica", "Times" or "Courier", which
 * viewers have: nothing is embedded. Characters outside Latin-1, but for exponents, become '?'. */
void plot_pdf(const struct text *svg, const char *font, struct text *pdf);

#endif
