/* Jobs of a run: distributions over finished jobs, and whether waiting grew. The rows are read once. */
#ifndef ORRERY_ANALYSIS_REPORT_JOBS_H
#define ORRERY_ANALYSIS_REPORT_JOBS_H

#include "analysis/report/page.h"
#include "analysis/report/source.h"
#include "analysis/report/verdict.h"
#include "sim/core/tally.h"

enum job_quantity { JOB_JCT, JOB_QUEUE, JOB_SLOWDOWN, JOB_QUANTITIES };

struct jobs {
    size_t n_rows;
    struct page_query span, scan; /* the statements */
    struct histogram histograms[JOB_QUANTITIES];
    struct trend trend;
    struct trend_growth growth;
};

/* Returns 0, SIM_E_STORE or SIM_E_NOMEM; jobs_fini is needed either way. */
int jobs_read(const struct report_source *source, struct jobs *jobs);
void jobs_fini(struct jobs *jobs);

/* Adds the figures of the distributions. */
int jobs_distributions(const struct report_source *source, const struct jobs *jobs, struct text *html);

#endif
