/* Charts of every kind, of made-up numbers that are the same everywhere. */
#ifndef ORRERY_TESTS_SUPPORT_PLOT_FIXTURE_H
#define ORRERY_TESTS_SUPPORT_PLOT_FIXTURE_H

#include "analysis/plot/plot.h"

/* Calls `use` with every chart in turn, a name for it, and `context`. */
void plot_fixture_each(void (*use)(const char *name, const struct plot_chart *chart, void *context), void *context);

#endif
