/* Which rows of a board are evidence, and predictions of a group of rows by constants that were fitted without it. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_BOARD_BOARD_LEFT_OUT_H
#define ORRERY_ANALYSIS_CALIBRATE_BOARD_BOARD_LEFT_OUT_H

#include "analysis/calibrate/board/board_names.h"

/* Whether constants of the preset were fitted to rows of this GPU and LLM. */
bool board_group_is_fitted(const struct board_preset *preset, const char *gpu, const char *llm);

/* Makes rows suspect whose configuration occurs with times that contradict each other (board_contradictions.c). Returns
 * 0 or SIM_E_NOMEM. */
int board_find_contradictions(struct board *board);

/* Sets left_out_tpot_s of all predicted rows: the kernels of the row's preset, and one constant of the engine, the CPU
 * overhead of an iteration, fitted to the judged rows of all other groups (GPU, LLM, engine) of the engine. Where there
 * are none, to those of all other engines; where there are none either, it is 0. Returns 0 or SIM_E_NOMEM. */
int board_leave_out(struct board *board, const struct board_names *names, struct diag *diag);

#endif
