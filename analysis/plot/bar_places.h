/* Where the bars of a category stand, one per series, side by side. */
#ifndef ORRERY_ANALYSIS_PLOT_BAR_PLACES_H
#define ORRERY_ANALYSIS_PLOT_BAR_PLACES_H

#include "analysis/plot/plot.h"

#define BAR_GROUP_SHARE 0.78 /* of a category's width that its bars take */

/* How many stand side by side, at least 1. A reference stands upon the bar of its colour and takes no place of its own;
 * among dots, and without such a bar, it does. */
size_t bar_places(const struct plot_chart *chart);

/* The centre of a series' bars, in places from the middle of the category. */
double bar_place(const struct plot_chart *chart, size_t series);

#endif
