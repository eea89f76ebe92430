/* The runs of `orrery check`: each scenario in a process of its own, several in parallel. A crash ends one scenario
 * only. Each process works in the baseline's directory, so results do not depend on where the check starts. */
#ifndef ORRERY_CLI_STUDY_CHECK_RUNS_H
#define ORRERY_CLI_STUDY_CHECK_RUNS_H

#include "analysis/gate/gate.h"
#include "sim/cli/cli.h"

/* Runs the scenarios of the baseline that results[i].entry names, `workers` at once (0: one per core), and fills
 * outcomes[i]; texts go to the arena. A scenario that fails is an outcome, not an error. Returns 0,
 * SIM_E_INTERRUPTED, SIM_E_IO (no temporary file, no process) or SIM_E_NOMEM. */
int check_run_all(struct cli *cli, const struct baseline *baseline, const struct gate_result *results, size_t n,
                  int workers, struct arena *arena, struct gate_outcome *outcomes);

#endif
