/* Results of a sweep as a table or as JSON: the points with the means of their metrics, or the values that a search
 * found. */
#ifndef ORRERY_CLI_STUDY_SWEEP_TABLE_H
#define ORRERY_CLI_STUDY_SWEEP_TABLE_H

#include "sim/cli/answer.h"
#include "sim/study/study.h"

/* Prints the runs of a study without running them. Returns 0 or SIM_E_NOMEM. */
int sweep_table_runs(const struct study *study, enum answer_form form, FILE *out, struct diag *diag);

/* Prints the results of a finished study. Returns 0 or a negative code with findings. */
int sweep_table_results(const struct study *study, const char *output, enum answer_form form, FILE *out,
                        struct diag *diag);

#endif
