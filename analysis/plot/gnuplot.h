/* What the two files for gnuplot agree on: one block of data per series. */
#ifndef ORRERY_ANALYSIS_PLOT_GNUPLOT_H
#define ORRERY_ANALYSIS_PLOT_GNUPLOT_H

#include "analysis/plot/frame.h"

/* Adds the block of every series, empty ones included as one line of NaN, so that block i is series i; then, for points,
 * one per series with its front. */
void gnuplot_data(const struct frame *frame, struct text *data);

/* Whether a series has anything to show, and whether a front. */
bool gnuplot_has_data(const struct plot_chart *chart, const struct plot_series *series);
bool gnuplot_has_front(const struct plot_chart *chart, const struct plot_series *series);

/* Width of a bar, of 1 per category. */
double gnuplot_bar_width(const struct plot_chart *chart);

#endif
