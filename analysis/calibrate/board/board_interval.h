/* Intervals of a prediction, from the errors of a board: the central TIME_ERROR_SHARE of measured over predicted TPOT,
 * over the judged rows. The prediction of a row is that of the shipped presets. If a fit has seen its group, it is the
 * one without the group.
 *
 * Rows are apart whose GPU is foreign to the preset: its CPU overhead was measured with other GPUs only. What errors
 * have in common is known of a prediction before its error is (Mondrian conformal prediction: Vovk, Gammerman, Shafer,
 * Algorithmic Learning in a Random World, 2005). Few groups have foreign GPUs, and no prediction is surer for want of
 * a measured host: their interval also holds that of the other kind.
 *
 * An interval is judged where it was not made: that of a group comes from all other groups. A row then lies inside or
 * not, and the share of rows inside is the coverage. Every row has the same weight, so large groups count more.
 *
 * Predicted rows with prompts on other GPUs ("disagg") have no part in an interval, since all are suspects. They get
 * the one that judged rows of other groups of their kind make. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_BOARD_BOARD_INTERVAL_H
#define ORRERY_ANALYSIS_CALIBRATE_BOARD_BOARD_INTERVAL_H

#include "analysis/calibrate/board/board.h"
#include "sim/core/text.h"

#include <stddef.h>

enum board_model { BOARD_PRESETS, BOARD_FOREIGN, BOARD_ROOFLINE, N_BOARD_MODELS };

struct board_interval {
    double fast_frac, slow_frac; /* of a predicted TPOT; NAN: no row */
    size_t rows, groups;
    double covered_frac;         /* of the rows, each by the interval from the other groups; NAN: one group only */
};

/* Sets the interval of all judged and all predicted "disagg" rows from the judged rows of other groups (fast_tpot_s,
 * slow_tpot_s), and the interval from all judged rows. Returns 0 or SIM_E_NOMEM. */
int board_find_intervals(struct board *board, struct board_interval intervals[N_BOARD_MODELS]);

/* The cost kind, with an ending for GPUs that are foreign to the preset: "operators", "operators-foreign". */
const char *board_model_name(enum board_model model);

/* The file configs/calibration/releases/in_no_fit.json (sim/catalog/time_error.h), from the intervals of the presets.
 * An interval that leaves out the prediction is widened to it. Returns 0 or SIM_E_NOMEM. */
int board_write_intervals(const struct board *board, const struct board_interval intervals[N_BOARD_MODELS],
                          struct text *json);

#endif
