/* The page of one run. */
#ifndef ORRERY_ANALYSIS_REPORT_RUN_PAGE_H
#define ORRERY_ANALYSIS_REPORT_RUN_PAGE_H

#include "analysis/report/source.h"

/* Adds the whole page of the run that the source has; `n_runs` are in the file. Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int run_page(const struct report_source *source, size_t n_runs, struct text *html);

#endif
