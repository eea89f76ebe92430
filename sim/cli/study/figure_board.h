/* The board of a figure: measured rows and their predictions. */
#ifndef ORRERY_CLI_STUDY_FIGURE_BOARD_H
#define ORRERY_CLI_STUDY_FIGURE_BOARD_H

#include "analysis/calibrate/board/board.h"
#include "analysis/figure/board_page.h"
#include "sim/cli/cli.h"

/* Predicts the rows of the board in the file `path`, and writes them to the database `output`. Returns 0 or a negative
 * code with findings. */
int figure_board_make(struct cli *cli, const char *path, const char *output, bool quiet);

#endif
