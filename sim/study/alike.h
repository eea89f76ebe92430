/* Checks that the runs of one study come from one world: one program, one build of each plug-in, one scenario and
 * equal input files. Reads only what results files store about their runs. */
#ifndef ORRERY_STUDY_ALIKE_H
#define ORRERY_STUDY_ALIKE_H

#include "sim/study/merge.h"
#include "sim/study/sweep.h"

/* Compares the runs of all inputs: versions, plug-ins, scenarios (except the study's varied keys), and input hashes of
 * runs that must have read the same files. Those runs differ in numbers and policies only: any other value may name
 * a file. Returns 0, SIM_E_USAGE, SIM_E_STORE or SIM_E_NOMEM. */
int alike_check(const struct merge *merge, const struct study *study, struct diag *diag);

/* Checks that this program, with its plug-ins, made the runs. Returns like the above. */
int alike_check_program(const struct merge *merge, const struct sweep_runner *runner, struct diag *diag);

#endif
