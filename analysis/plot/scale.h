/* The axis of a chart: the values that it covers, and their pixels. */
#ifndef ORRERY_ANALYSIS_PLOT_SCALE_H
#define ORRERY_ANALYSIS_PLOT_SCALE_H

#include "analysis/plot/plot.h"

/* low < high, and above 0 if logarithmic. `low` is at from_px, `high` at to_px. */
struct scale {
    enum plot_scale kind;
    double low, high;
    double from_px, to_px;
};

/* The range of values that an axis shows. */
struct extent {
    enum plot_scale kind;
    double low, high; /* low > high: none yet */
    bool has_fraction; /* not all are whole numbers */
};

/* Whether an axis of that kind can show a value. */
bool scale_has(enum plot_scale kind, double value);

void extent_init(struct extent *extent, enum plot_scale kind);
void extent_add(struct extent *extent, double value); /* ignored if the axis cannot show it */

/* The extent of an axis beyond its data. */
enum scale_fit { FIT_TIGHT, FIT_ROOM, FIT_ROUND, FIT_FROM_ZERO };

/* Fits the range that `axis` sets; if it sets none, that of the data, widened to the ticks of an axis of `length_px`
 * with one every `tick_px` (FIT_TIGHT: to a fifth of them; FIT_ROOM: that, with room for markers at the ends).
 * Without data, 0 to 1 (logarithmic: 1 to 10). */
void scale_fit(struct scale *scale, const struct plot_axis *axis, const struct extent *data, enum scale_fit fit,
               double length_px, double tick_px);

/* An axis of n categories: the i-th lies at i, between i - 0.5 and i + 0.5. */
void scale_fit_categories(struct scale *scale, size_t n);

/* The place of a value, at most a million pixels off; NAN if the axis cannot show it. */
double scale_px(const struct scale *scale, double value);

/* The value at a share of the axis, 0 to 1. */
double scale_value(const struct scale *scale, double share);

/* The smallest of 1, 2 and 5 times a power of ten that is at least `value` > 0; for seconds, of the steps of a
 * clock. */
double scale_round_step(enum plot_scale kind, double value);

#endif
