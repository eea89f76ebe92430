/* A figure's charts: the paper's points as hollow markers beside ours. */
#ifndef ORRERY_ANALYSIS_FIGURE_CHART_H
#define ORRERY_ANALYSIS_FIGURE_CHART_H

#include "analysis/figure/data.h"
#include "sim/core/text.h"

/* Adds chart number `index` as an <svg> element. Returns 0 or SIM_E_NOMEM. */
int figure_chart_svg(const struct figure_data *data, size_t index, struct text *svg);

#endif
