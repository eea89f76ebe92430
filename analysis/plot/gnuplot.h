/* What the script and the data file for gnuplot share: one block of data per series. */
#ifndef ORRERY_ANALYSIS_PLOT_GNUPLOT_H
#define ORRERY_ANALYSIS_PLOT_GNUPLOT_H

#include "analysis/plot/frame.h"

/* Adds a block for every series (one line of NaN if it is empty), so that block i is series i; then, for points, one
 * per series with its front. */
void gnuplot_data(const struct frame *frame, struct text *data);

/* Whether a series has data, and whether a front. */
bool gnuplot_has_data(const struct plot_chart *chart, const struct plot_series *series);
bool gnuplot_has_front(const struct plot_chart *chart, const struct plot_series *series);

/* The width of a bar, as a share of its category. */
double gnuplot_bar_width(const struct plot_chart *chart);

#endif
