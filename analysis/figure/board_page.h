/* A board as one page: its groups with medians and 90th percentiles of their errors, and every row of it. */
#ifndef ORRERY_ANALYSIS_FIGURE_BOARD_PAGE_H
#define ORRERY_ANALYSIS_FIGURE_BOARD_PAGE_H

#include "analysis/figure/data.h"
#include "sim/core/text.h"

/* Adds the page of the board that is study number `index` of the figure. The figure's views have the view
 * `board_groups`. Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int figure_board_page(const struct figure_data *data, size_t index, struct text *html, struct diag *diag);

#endif
