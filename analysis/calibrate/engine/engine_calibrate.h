/* Making the preset of an engine from files of measured iterations, and writing it. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_ENGINE_ENGINE_CALIBRATE_H
#define ORRERY_ANALYSIS_CALIBRATE_ENGINE_ENGINE_CALIBRATE_H

#include "analysis/calibrate/engine/engine_fit.h"
#include "sim/core/text.h"

/* A preset, its errors, and the measurements behind it; all in one arena. */
struct engine_calibration {
    struct engine_preset preset;  /* with its errors */
    struct measured *files;       /* rows of other engines are left out */
    size_t n_files;
    struct engine_point *points;  /* of the engine, of all files */
    size_t n_points;
};

/* Fits the recipe to every `step`-th row of its engine in the files. Returns 0, SIM_E_DATA (no rows of the engine, a
 * broken file), SIM_E_CONFIG, SIM_E_IO or SIM_E_NOMEM. */
int engine_calibrate(const struct engine_recipe *recipe, const struct catalog *catalog, const char *const *paths,
                     size_t n_paths, size_t step, struct arena *arena, struct engine_calibration *calibration,
                     struct diag *diag);

/* The preset's file. Returns 0 or SIM_E_NOMEM. */
int engine_preset_write(const struct engine_preset *preset, struct text *json);

#endif
