/* Warnings that follow from a run's numbers: made for a summary or a page, stored nowhere.
 *
 *   incomplete   the run did not reach its end
 *   unmeasured   no request arrived, or no job was submitted, after the warm-up
 *   saturated    requests or jobs come faster than they are served, too many are left, or the load of jobs exceeds 1
 *                (verdict.h)
 *   rejected     at least 5 % of the requests were rejected, or all jobs
 *   braked       the power brake was in force for at least 5 % of the run, summed over power domains
 *   over-budget  a reading of a domain is at least twice its budget
 *   unpaid       failures took at least 5 % of the cluster's GPU time, and no lease pays for it
 *   no-prefix-hits  prompts of sessions repeat tokens, and below 5 % of these were in a prefix cache
 *   exact-estimates  the scheduler reads estimates of run times, and every one was the run time */
#ifndef ORRERY_ANALYSIS_REPORT_CAUTION_H
#define ORRERY_ANALYSIS_REPORT_CAUTION_H

#include "analysis/report/verdict.h"

enum { CAUTION_CHARS = 400, CAUTIONS_MAX = 12 };

/* All of them put the numbers of the run in question. */
struct caution {
    const char *code;
    char text[CAUTION_CHARS];
};

/* Writes the warnings of the run to `cautions`. Returns their number. */
size_t cautions_find(const struct verdict_facts *facts, struct caution cautions[CAUTIONS_MAX]);

#endif
