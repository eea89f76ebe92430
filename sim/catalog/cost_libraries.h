/* Which kernels of an engine were measured with another library, or with an older release than the engine's. */
#ifndef ORRERY_CATALOG_COST_LIBRARIES_H
#define ORRERY_CATALOG_COST_LIBRARIES_H

#include "sim/catalog/calibration.h"
#include "sim/catalog/engine.h"

/* Sets *text to half a sentence about those of the `needed` classes (by class) that are older than the engine, or not
 * of its libraries: "engine vllm-0.12 is of vLLM 0.12 (2025); older are norm, rotary of Vidur (2024)". A class with
 * several libraries is older if one of them is. Classes without a stated library are left out. NULL: no class is so, or
 * the preset states no libraries. The text lives in `arena`. Returns 0 or SIM_E_NOMEM. */
int cost_libraries_say(const struct calibration *calibration, const bool *needed, const struct engine_preset *engine,
                       struct arena *arena, const char **text);

#endif
