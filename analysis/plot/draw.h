/* Marks on paper: rounded coordinates, texts, rectangles, markers, and paths that are cut at the frame and thinned. */
#ifndef ORRERY_ANALYSIS_PLOT_DRAW_H
#define ORRERY_ANALYSIS_PLOT_DRAW_H

#include "sim/core/text.h"

#include <stdbool.h>
#include <stddef.h>

struct px_point {
    double x, y;
};

struct px_rect {
    double left, top, right, bottom;
};

/* Adds the text of an element, escaped; characters that XML excludes become U+FFFD. */
void draw_escaped(struct text *svg, const char *chars);

/* `before`, then a coordinate with at most one decimal. */
void draw_px(struct text *svg, const char *before, double px);

/* `before`, then two coordinates with a space between. */
void draw_place(struct text *svg, const char *before, double x, double y);

/* x="" y="" width="" height="" of a <rect, with corners rounded to a tenth, so that neighbours touch. */
void draw_rect_place(struct text *svg, const struct px_rect *rect);

/* Adds a text at a place with more attributes (" fill=..." or ""). A text wider than `most_px` (0: no limit) is cut
 * and complete in the tooltip. */
void draw_label(struct text *svg, double x, double y, const char *attributes, const char *chars, double size_px,
                double most_px);

enum { DRAW_MARKERS = 6 };

/* Adds the outline of marker `shape` (modulo DRAW_MARKERS) as a closed part of a path. */
void draw_marker(struct text *svg, unsigned shape, double x, double y, double radius);

/* --- lines --- */

/* Draws the data of a path: cuts it at a rectangle and skips repeated points. */
struct pen {
    struct text *svg;
    struct px_rect clip;
    bool is_down, has_drawn;
    struct px_point at; /* the last point, as given */
    long x_tenths, y_tenths; /* the last point, as drawn */
};

void pen_init(struct pen *pen, struct text *svg, const struct px_rect *clip);
void pen_lift(struct pen *pen); /* begins another line */
void pen_to(struct pen *pen, double x, double y);

/* Passes to a pen the first, lowest, highest and last of consecutive points in one column of pixels, in their order:
 * the drawing reaches as far up and down in every column as all points would. */
struct thinner {
    struct pen *pen;
    double column;
    size_t n; /* points of this column so far */
    struct px_point first, last, low, high;
    size_t low_at, high_at;
};

void thinner_init(struct thinner *thinner, struct pen *pen);
void thinner_to(struct thinner *thinner, double x, double y);
void thinner_end(struct thinner *thinner); /* ends a line: draws the pending points and lifts the pen */

/* Widths of texts, by a fixed table: no font is asked, so that a chart has the same bytes everywhere. */

/* The width of n bytes of UTF-8 in regular type. The table is that of DejaVu Sans, the widest of the usual system
 * fonts: in others a text takes less. */
double text_width_px(const char *chars, size_t n_bytes, double size_px);

/* The bytes of the longest prefix of `chars` within `most_px`, whole characters. */
size_t text_fit_bytes(const char *chars, double size_px, double most_px);

/* The byte after the blank that breaks `chars` into two lines of which the longer is shortest; 0: it has no blank. */
size_t text_halve(const char *chars);

#endif
