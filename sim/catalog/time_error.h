/* How far measured times lie from predicted ones: the error of a cost model on runs that it was not fitted to.
 *
 * Of the measured times per output token (TPOT), TIME_ERROR_SHARE lie between `fast_frac` and `slow_frac` of the
 * predicted ones. The error of an engine on an LLM and a GPU that its preset was fitted to comes from the preset's
 * held-out rows. For all others it comes from the board, where each group (GPU, LLM, engine) was predicted by fits
 * without the group: the file configs/calibration/releases/in_no_fit.json, written by `orrery calibrate board`:
 *
 *     { "source": "...", "share": 0.9,
 *       "kinds": {"operators": {"rows": 668, "groups": 6, "fast": 0.8401, "slow": 1.19},
 *                 "operators-foreign": {"rows": 269, "groups": 3, "fast": 0.8113, "slow": 1.329}} } */
#ifndef ORRERY_CATALOG_TIME_ERROR_H
#define ORRERY_CATALOG_TIME_ERROR_H

#include "sim/catalog/catalog.h"
#include "sim/catalog/engine.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"
#include "sim/core/text.h"

#include <stdbool.h>

#define TIME_ERROR_SHARE 0.9
#define TIME_ERROR_FOREIGN "-foreign" /* ends the kind of predictions on a GPU that the preset was not measured with */

/* Which times the replicas of a run take: the predicted ones, or those at an end of the interval. */
enum time_case { TIMES_PREDICTED, TIMES_FAST, TIMES_SLOW };

struct time_error {
    double fast_frac, slow_frac; /* of a predicted time; 0: nobody knows */
    const char *basis;           /* the rows behind it, in words */
    const char *engine;          /* name of the preset */
    const char *why;             /* why nobody knows it, in words; NULL: it is known, or the cost kind has no errors */
};

/* What the ends of a run rest on: lists without doubles, separated by "; ". */
struct time_errors {
    struct text *basis;   /* measured rows */
    struct text *systems; /* LLM, GPU and engine of each model with an error */
    struct text *unknown; /* of each without: its times are the predicted ones at both ends */
    struct text *why;     /* reasons why these have none */
};

/* The error of a cost kind ("operators") on what no fit has seen; unknown if the catalog has no
 * in_no_fit.json, or the file lacks the kind. `foreign`: on a GPU that the preset was not measured with; a file without
 * such rows gives the error on other GPUs. The text lives in `arena`. The file does not count as an input of the run.
 * Returns 0, SIM_E_CONFIG, SIM_E_IO or SIM_E_NOMEM. */
int time_error_in_no_fit(const struct catalog *catalog, const char *kind, bool foreign, struct arena *arena,
                         struct time_error *error, struct diag *diag);

/* The error of a preset on a GPU and an LLM that it was fitted to, from its 90th percentile on held-out rows. *found
 * tells whether it was, and has an error below 1. Returns 0 or SIM_E_NOMEM. */
int time_error_of_preset(const struct engine_preset *preset, const char *gpu, const char *llm, struct arena *arena,
                         struct time_error *error, bool *found);

#endif
