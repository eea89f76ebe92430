/* The axis of a chart: which values it covers and where they lie. */
#ifndef ORRERY_ANALYSIS_PLOT_SCALE_H
#define ORRERY_ANALYSIS_PLOT_SCALE_H

#include "analysis/plot/plot.h"

/* low < high, and above 0 when logarithmic. from_px is where `low` lies, to_px where `high` does. */
struct scale {
    enum plot_scale kind;
    double low, high;
    double from_px, to_px;
};

/* The values that an axis has to show. */
struct extent {
    enum plot_scale kind;
    double low, high; /* low > high: none yet */
    bool has_fraction; /* not all are whole numbers */
};

/* Whether an axis of that kind has a place for a value. */
bool scale_has(enum plot_scale kind, double value);

void extent_init(struct extent *extent, enum plot_scale kind);
void extent_add(struct extent *extent, double value); /* ignored when the axis has no place for it */

/* How far an axis reaches beyond its data. */
enum scale_fit { FIT_TIGHT, FIT_ROOM, FIT_ROUND, FIT_FROM_ZERO };

/* Covers the range that `axis` asks for; without one that of the data, widened to the ticks that an axis of `length_px`
 * with one every `tick_px` would have (FIT_TIGHT: to a fifth of them; FIT_ROOM: that, with room
 * for markers at the ends). Without data, 0 to 1 (logarithmic: 1 to 10). */
void scale_fit(struct scale *scale, const struct plot_axis *axis, const struct extent *data, enum scale_fit fit,
               double length_px, double tick_px);

/* An axis of n categories: the i-th lies at i, between i - 0.5 and i + 0.5. */
void scale_fit_categories(struct scale *scale, size_t n);

/* Where a value lies, at most a million pixels off; NAN when the axis has no place for it. */
double scale_px(const struct scale *scale, double value);

/* The value at a share of the axis, 0 to 1. */
double scale_value(const struct scale *scale, double share);

/* The smallest of 1, 2 and 5 times a power of ten that is at least `value` > 0. For seconds: of the steps of a clock. */
double scale_round_step(enum plot_scale kind, double value);

#endif
