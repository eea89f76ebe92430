/* Derives the outcomes of a study from the results of its runs: the values that a search found, and the points on
 * the Pareto front of some metrics. */
#ifndef ORRERY_STUDY_OUTCOME_H
#define ORRERY_STUDY_OUTCOME_H

#include "sim/study/merge.h"
#include "sim/study/search.h"

/* The run id of a step of the search at a point. */
int64_t outcome_run_id(const struct study *study, size_t point, size_t step, size_t seed);

/* The run ids of later steps at the same point, *first to *last: they depend on the result of this run. Without a
 * search there are none: *first > *last. */
void outcome_later(const struct study *study, int64_t run_id, int64_t *first, int64_t *last);

/* Replays the search at a point over its finished runs. `state` then holds the next value to try, or is done.
 * Returns 0 or a negative code with findings. */
int outcome_replay(const struct merge *merge, const struct study *study, size_t point, struct bisection *state,
                   struct diag *diag);

/* The note of search_note. If no value of the bracket meets the conditions, it also has the value of each metric that
 * misses its limit at the first step: the mean over the seeds, or that of the first seed which misses it. The note is
 * in the arena or static. Returns 0 or a negative code with findings. */
int outcome_note(const struct merge *merge, const struct study *study, size_t point, const struct bisection *state,
                 struct arena *arena, const char **note, struct diag *diag);

/* The mean of a metric over the seeds of a point, whose first run has this id; NAN where a run lacks it. Returns 0 or
 * a negative code with findings. */
int outcome_mean(const struct merge *merge, const struct study *study, int64_t run_id, const char *metric, double *mean,
                 struct diag *diag);

/* Whether a point meets the conditions of the front, by the means over its seeds. *absent: the first metric of a
 * condition that a run of the point lacks, so that nobody knows; NULL: none, or another condition is missed. May be
 * NULL. Returns like outcome_mean. */
int outcome_meets(const struct merge *merge, const struct study *study, size_t point, bool *meets, const char **absent,
                  struct diag *diag);

/* The values of the other axes at a point, as a JSON object, in the arena; NULL when out of memory. */
const char *outcome_point(const struct study *study, size_t point, struct arena *arena);

/* Writes the rows of the table outcome: points whose search has ended, and the points on the Pareto front that meet the
 * study's conditions, once all runs have ended. */
int outcome_write(const struct merge *merge, const struct study *study, const struct database *output,
                  struct diag *diag);

#endif
