/* The page of a study: many runs that differ in what the study varies, and in their seeds. */
#ifndef ORRERY_ANALYSIS_REPORT_STUDY_PAGE_H
#define ORRERY_ANALYSIS_REPORT_STUDY_PAGE_H

#include "analysis/report/source.h"

/* Adds the whole page. Returns 0, SIM_E_STORE, SIM_E_USAGE (no run has a metric that was asked for) or SIM_E_NOMEM. */
int study_page(const struct report_source *source, struct text *html);

#endif
