/* Where a run comes from: all that it takes to repeat it. */
#ifndef ORRERY_ANALYSIS_REPORT_PROVENANCE_H
#define ORRERY_ANALYSIS_REPORT_PROVENANCE_H

#include "analysis/report/source.h"

/* Adds the section. Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int provenance_add(const struct report_source *source, size_t n_runs, struct text *html);

/* Adds a row of a list of terms: nothing when the value is empty. */
void provenance_term(const char *term, const char *value, struct text *html);

#endif
