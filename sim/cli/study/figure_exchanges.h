/* The published bandwidths of a figure: predicted, and stored beside the predictions. */
#ifndef ORRERY_CLI_STUDY_FIGURE_EXCHANGES_H
#define ORRERY_CLI_STUDY_FIGURE_EXCHANGES_H

#include "analysis/calibrate/exchanges/exchanges.h"
#include "sim/cli/cli.h"

/* Predicts the rows of the file at `path` and writes them to a database at `output`. Returns 0 or a negative code. */
int figure_exchanges_make(struct cli *cli, const char *path, const char *output, bool quiet);

#endif
