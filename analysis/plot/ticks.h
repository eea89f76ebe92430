/* The ticks of an axis and their labels. */
#ifndef ORRERY_ANALYSIS_PLOT_TICKS_H
#define ORRERY_ANALYSIS_PLOT_TICKS_H

#include "analysis/plot/scale.h"

enum { TICKS_MAX = 64, MINOR_TICKS_MAX = 320, TICK_LABEL_BYTES = 32 };

struct tick {
    double value;
    char label[TICK_LABEL_BYTES]; /* empty: none */
};

struct ticks {
    size_t n, n_minor;
    struct tick at[TICKS_MAX];     /* rising */
    double minor[MINOR_TICKS_MAX]; /* for thinner lines between */
};

/* Finds ticks at round values, about `tick_px` pixels apart, with labels that do not overlap. `beside`: labels are
 * side by side (x), else one above the other. `whole`: no ticks at fractions. The scale's from_px and to_px must be
 * known, at least their distance. */
void ticks_find(struct ticks *ticks, const struct scale *scale, bool beside, bool whole, double size_px,
                double tick_px);

/* Places ticks side by side at these values, at most TICKS_MAX, rising. False, with nothing placed, if their labels
 * overlap or are equal, or if the scale does not reach one. */
bool ticks_at(struct ticks *ticks, const struct scale *scale, const double *values, size_t n, double size_px);

/* Width of the widest label. */
double ticks_widest_px(const struct ticks *ticks, double size_px);

/* A value on an axis with ticks `step` apart, the largest of them `most`: 0.5, 2,000, 20k, 2×10⁻⁵. */
void tick_number_label(double value, double step, double most, char label[TICK_LABEL_BYTES]);

/* A value in about four digits: 0.1235, 12.3k, 2×10⁻⁵. */
void number_label(double value, char label[TICK_LABEL_BYTES]);

/* Seconds in readable units: 30 s, 1:30 min, 6 h, 1 d 12 h. */
void time_label(double value_s, char label[TICK_LABEL_BYTES]);

#endif
