/* The layout of a chart: title and legend above, axes around, data within. */
#ifndef ORRERY_ANALYSIS_PLOT_FRAME_H
#define ORRERY_ANALYSIS_PLOT_FRAME_H

#include "analysis/plot/draw.h"
#include "analysis/plot/plot.h"
#include "analysis/plot/ticks.h"

#define FRAME_MARGIN_PX 14.0

/* The names of categories beside an axis. */
struct category_labels {
    size_t every;     /* one in `every` is named */
    bool is_slanted;  /* along x, if they do not fit side by side */
    int n_lines;      /* along x, broken between words */
    double most_px;   /* longer ones are cut */
    double depth_px;  /* extent away from the axis */
};

struct frame {
    const struct plot_chart *chart;
    struct text *svg;
    double width, height;  /* of the drawing */
    struct px_rect data;   /* where the axes are */
    size_t y_title_break;  /* byte where the second line of the title of y begins; 0: it has one line */
    double legend_top;     /* of its first row */
    struct scale x, y, z;
    struct ticks x_ticks, y_ticks, z_ticks;
    bool x_is_named, y_is_named; /* by categories */
    bool is_apart;               /* series with error bars stand side by side */
    struct category_labels names;
};

/* Lays a chart out; nothing is drawn yet. */
void frame_init(struct frame *frame, const struct plot_chart *chart, struct text *svg);

/* Draw background, titles, grid, and axes with ticks and names; frame_draw_over: the parts that lie over the data. */
void frame_draw(const struct frame *frame);
void frame_draw_over(const struct frame *frame);

/* The name of a category, "" if it has none. */
const char *frame_category(const struct frame *frame, size_t i);

/* The extents of a chart's data, before layout. */
void chart_extents(const struct plot_chart *chart, struct extent *x, struct extent *y, struct extent *z);

/* --- the legend --- */

/* The number of rows of a legend `width_px` wide. */
size_t legend_rows(const struct plot_chart *chart, double width_px);
void legend_draw(const struct frame *frame);

#define LEGEND_ROW_PX 20.0

/* --- rows of events, above the data --- */

#define EVENTS_ROW_PX 9.0

const char *events_colour(unsigned colour); /* #rrggbb */
void events_draw(const struct frame *frame);

/* --- names of categories --- */

void names_fit_x(struct category_labels *names, const struct plot_chart *chart, double slot_px);
void names_fit_y(struct category_labels *names, const struct plot_chart *chart, double slot_px, double most_px);
void names_draw(const struct frame *frame);

/* --- the data, by kind --- */

void draw_lines(const struct frame *frame);   /* line, step, CDF */
void draw_bars(const struct frame *frame);    /* bars and dots */
void draw_scatter(const struct frame *frame);
void draw_heatmap(const struct frame *frame);
void draw_gantt(const struct frame *frame);

#endif
