/* Predictions of a group of rows by constants that were fitted without it. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_BOARD_BOARD_LEFT_OUT_H
#define ORRERY_ANALYSIS_CALIBRATE_BOARD_BOARD_LEFT_OUT_H

#include "analysis/calibrate/board/board_names.h"

/* Whether constants of the preset were fitted to rows of this GPU and LLM. */
bool board_group_is_fitted(const struct board_preset *preset, const char *gpu, const char *llm);

/* Sets left_out_tpot_s of all predicted rows. Where the preset was fitted to rows of the group (GPU, LLM, engine), its
 * recipe is fitted again to its other rows; if these are too few, to those of the other presets. Else it is the
 * prediction itself. Returns 0 or SIM_E_NOMEM. */
int board_leave_out(struct board *board, const struct board_names *names, struct diag *diag);

#endif
