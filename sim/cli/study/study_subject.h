/* What the runs of a study are, for people. */
#ifndef ORRERY_CLI_STUDY_STUDY_SUBJECT_H
#define ORRERY_CLI_STUDY_STUDY_SUBJECT_H

#include "sim/core/err.h"

#include <stdio.h>

/* Prints what ran, as of the first run in a results database; values that its study varies are told as such. Returns 0,
 * SIM_E_STORE or SIM_E_NOMEM. */
int study_subject_print(const char *path, FILE *out, struct diag *diag);

#endif
