/* `orrery check --by-change`: which of several differences from the baseline's scenario moves what. */
#ifndef ORRERY_CLI_STUDY_CHECK_CHANGES_H
#define ORRERY_CLI_STUDY_CHECK_CHANGES_H

#include "analysis/gate/gate.h"
#include "sim/cli/cli.h"

/* Runs the baseline's scenario of every result that has moved with each difference alone, and with none, and adds their
 * metrics. `workers` as in check_run_all, whose codes it returns. */
int check_changes(struct cli *cli, const struct gate_report *report, int workers, struct arena *arena,
                  struct text *text);

#endif
