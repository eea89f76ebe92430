/* The limit on the size of a study's results: the files of all workers together. */
#ifndef ORRERY_STUDY_SIZE_LIMIT_H
#define ORRERY_STUDY_SIZE_LIMIT_H

#include "sim/study/shards.h"

/* The rows that a study with this "keep" can do without, as a hint. */
const char *size_limit_hint(const char *keep);

/* The bytes of all runs, if those to come are as large as those that ended. What the latter have, if that tells too
 * little, below a hundredth of the limit. */
double size_limit_predict(const struct sweep_progress *progress, double limit_bytes);

/* Returns 0, or SIM_E_STORE with a finding that predicts the size of all results: the shards exceed the limit. */
int size_limit_check(const struct sweep_options *options, const struct study *study, const struct shards *shards,
                     const struct sweep_progress *progress, struct diag *diag);

#endif
