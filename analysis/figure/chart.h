/* A figure's charts: the paper's points as hollow markers beside ours. */
#ifndef ORRERY_ANALYSIS_FIGURE_CHART_H
#define ORRERY_ANALYSIS_FIGURE_CHART_H

#include "analysis/figure/data.h"
#include "sim/core/text.h"

/* Adds chart number `index` as an <svg> element. Returns 0 or SIM_E_NOMEM. */
int figure_chart_svg(const struct figure_data *data, size_t index, struct text *svg);

/* Adds it as a gnuplot script and the numbers that it reads from `data_name`. */
int figure_chart_gnuplot(const struct figure_data *data, size_t index, const char *data_name, struct text *script,
                         struct text *numbers);

#endif
