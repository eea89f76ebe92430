/* Whether runs of one study were made from one world: by one program, with one build of each plug-in, from one scenario and
 * the same input files. Told from what results files say of their runs. */
#ifndef ORRERY_STUDY_ALIKE_H
#define ORRERY_STUDY_ALIKE_H

#include "sim/study/merge.h"
#include "sim/study/sweep.h"

/* Compares the runs of all inputs with each other: versions, plug-ins, scenarios but for what the study varies, and the hashes
 * of input files of runs that must have read the same. Those are runs whose values differ in numbers and policies at most:
 * any other value may name a file. Returns 0, SIM_E_USAGE, SIM_E_STORE or SIM_E_NOMEM. */
int alike_check(const struct merge *merge, const struct study *study, struct diag *diag);

/* Whether this program, with its plug-ins, is the one that made the runs. Returns the same. */
int alike_check_program(const struct merge *merge, const struct sweep_runner *runner, struct diag *diag);

#endif
