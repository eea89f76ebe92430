/* The head of a run's page: what was asked, the verdict, the numbers that say most, and the warnings. */
#ifndef ORRERY_ANALYSIS_REPORT_HEAD_H
#define ORRERY_ANALYSIS_REPORT_HEAD_H

#include "analysis/report/source.h"
#include "analysis/report/verdict.h"

#include <stdbool.h>

struct head {
    const struct report_source *source;
    size_t n_runs; /* in the file */
    size_t n_services; /* 0: no rows */
    const struct verdict_trend *services;
    const struct trend_growth *jobs; /* NULL: no rows */
    bool has_time, has_places; /* which sections there are to be led to */
};

/* Opens the page. Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int head_add(const struct head *head, struct text *html);

/* Adds links to sections. Each of the pairs is the id and the title; ended by NULL. */
void head_contents(const char *const (*sections)[2], struct text *html);

#endif
