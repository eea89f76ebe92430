/* What a study says, in sentences that follow from its points by these rules:
 *
 *   size     runs, points, seeds; runs that did not come to their end
 *   best     of the first two metrics with a direction: the best and the worst point (means over seeds)
 *   winners  of each axis of words and metric: the value that is best in most of the comparisons in which all other axes are
 *            equal, and in how many of them the 95 % t-interval of its differences to the next best, under equal seeds,
 *            leaves out zero
 *   front    how many points are on the Pareto front of two metrics */
#ifndef ORRERY_ANALYSIS_REPORT_STUDY_VERDICT_H
#define ORRERY_ANALYSIS_REPORT_STUDY_VERDICT_H

#include "analysis/report/study.h"

/* Adds the sentences as plain text. n_front: 0 when there is no front. Returns 0 or SIM_E_NOMEM. */
int study_verdict(const struct study *study, size_t n_front, size_t metric_a, size_t metric_b, struct arena *arena,
                  struct text *text);

#endif
