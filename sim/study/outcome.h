/* The outcomes of a study, found from the results of its runs: what a search came to at each point, and which points are on
 * the Pareto front of some metrics. */
#ifndef ORRERY_STUDY_OUTCOME_H
#define ORRERY_STUDY_OUTCOME_H

#include "sim/study/merge.h"
#include "sim/study/search.h"

/* The run id of a step of the search at a point. */
int64_t outcome_run_id(const struct study *study, size_t point, size_t step, size_t seed);

/* The run ids of the later steps at the same point, *first to *last: they depend on how this run went. None without a search:
 * *first > *last. */
void outcome_later(const struct study *study, int64_t run_id, int64_t *first, int64_t *last);

/* Goes over the steps of the search at a point as far as their runs have ended. `state` then has the next value to try, or
 * is done. Returns 0 or a negative code with findings. */
int outcome_replay(const struct merge *merge, const struct study *study, size_t point, struct bisection *state,
                   struct diag *diag);

/* The values of the other axes at a point, as a JSON object, in the arena; NULL when out of memory. */
const char *outcome_point(const struct study *study, size_t point, struct arena *arena);

/* Writes the rows of the table outcome: of points whose search has ended, and of the Pareto front if every point has its
 * metrics. */
int outcome_write(const struct merge *merge, const struct study *study, const struct database *output,
                  struct diag *diag);

#endif
