/* What a sweep refuses before its first run: a value of an axis, or a scenario, with which no run can be loaded. */
#ifndef ORRERY_CLI_STUDY_SWEEP_REFUSED_H
#define ORRERY_CLI_STUDY_SWEEP_REFUSED_H

#include "sim/cli/cli.h"
#include "sim/study/study.h"

/* An error if every point of the study fails to load, or every point with one of the values: findings tell why, and
 * where the value is written. Of values that begin with a letter, such as names of policies and GPUs, the world is
 * built, too, unless plug-ins are given or a trace is a pipe. Such a value in more than a hundred points is refused if
 * a few of them blame it; all else that a hundred points do not decide is left to the runs, and so is a study with a
 * search. Returns 0, SIM_E_CONFIG or SIM_E_NOMEM. */
int sweep_refused(const struct cli *cli, const struct study *study, struct diag *diag);

#endif
