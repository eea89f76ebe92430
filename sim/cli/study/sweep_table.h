/* What a sweep came to, for people and for programs: the points with the means of their metrics, or what a search found. */
#ifndef ORRERY_CLI_STUDY_SWEEP_TABLE_H
#define ORRERY_CLI_STUDY_SWEEP_TABLE_H

#include "sim/study/study.h"

#include <stdbool.h>
#include <stdio.h>

/* The runs of a study, without doing them. Returns 0 or SIM_E_NOMEM. */
int sweep_table_runs(const struct study *study, bool as_json, FILE *out);

/* The results of a study that has been done. Returns 0 or a negative code with findings. */
int sweep_table_results(const struct study *study, const char *output, bool as_json, FILE *out, struct diag *diag);

#endif
