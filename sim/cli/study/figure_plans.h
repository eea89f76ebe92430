/* The training plans of a figure: priced, and compared with what was measured. */
#ifndef ORRERY_CLI_STUDY_FIGURE_PLANS_H
#define ORRERY_CLI_STUDY_FIGURE_PLANS_H

#include "analysis/calibrate/plans/plans.h"
#include "sim/cli/cli.h"

/* Prices the plans of the file `path`, and writes them to the database `output`. Returns 0 or a negative code with
 * findings. */
int figure_plans_make(struct cli *cli, const char *path, const char *output, bool quiet);

#endif
