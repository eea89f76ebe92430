/* `orrery compare RUN LOG`: a stored run that replayed an engine's log or benchmark, against its measured times. */
#ifndef ORRERY_CLI_STUDY_COMPARE_LOG_H
#define ORRERY_CLI_STUDY_COMPARE_LOG_H

#include "sim/cli/answer.h"
#include "sim/cli/cli.h"

#include <stdbool.h>

/* Whether the file is a log with measured times. False for one that cannot be read. */
bool compare_log_is(const char *path);

/* Refuses a trace without measured times. Returns 0 for other files, or SIM_E_USAGE with a finding. */
int compare_log_refuse(const char *path, struct diag *diag);

/* Prints the comparison. `run` is "results.db:3". Returns 0 or a negative code with findings. */
int compare_log(struct cli *cli, const char *run, const char *log, enum answer_form form);

#endif
