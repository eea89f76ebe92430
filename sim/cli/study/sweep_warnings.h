/* The warnings of a sweep's runs: those that `orrery run` prints of a run, each once for all points that have it.
 *
 * A result has the warnings that its simulation finds (table `warning`). What is wrong with an input, such as a
 * setting without effect, no result contains: worker processes note it in memory that they share with the sweep. So
 * nothing is said of the inputs of runs that an earlier sweep finished, or another rank of MPI. */
#ifndef ORRERY_CLI_STUDY_SWEEP_WARNINGS_H
#define ORRERY_CLI_STUDY_SWEEP_WARNINGS_H

#include "sim/core/err.h"
#include "sim/study/study.h"

#include <stdio.h>

/* What is wrong with the inputs of runs. */
struct heard;

/* Memory for the warnings of a study's runs, shared with processes that begin later. Returns 0 or SIM_E_NOMEM;
 * heard_destroy may follow either. */
int heard_create(const struct study *study, struct heard **heard, struct diag *diag);
void heard_destroy(struct heard *heard);

/* Notes the warnings among the findings of a run, from any process. NULL: nobody listens. */
void heard_add(struct heard *heard, int64_t run_id, const struct diag *findings);

/* Prints a line for each distinct warning of the study's finished runs in the database `output`, and of `heard` (may
 * be NULL): at how many points it is, and the first of them. Warnings that differ in their numbers alone are one,
 * with the numbers of the first point. At most ten, then their number. Returns 0 or a negative code with findings. */
int sweep_warnings_print(const struct study *study, const char *output, const struct heard *heard, FILE *err,
                         struct diag *diag);

#endif
