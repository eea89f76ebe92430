/* Which kernels of an engine were measured with another library, or with an older release than the engine's. */
#ifndef ORRERY_CATALOG_COST_LIBRARIES_H
#define ORRERY_CATALOG_COST_LIBRARIES_H

#include "sim/catalog/calibration.h"
#include "sim/catalog/engine.h"

/* What is said of them; NULL: nothing. */
struct library_statement {
    const char *misfits; /* "engine vllm-0.12 on h100-sxm is of vLLM 0.12 (2025); older are norm of Vidur (2024)" */
    const char
        *fitting; /* sets of the same GPU that have such a class for the engine: "set 'vllm-0.24' has fitting gemm" */
};

/* Says which of the `needed` classes (by class) are older than the engine, newer by years, or not of its libraries. A
 * class with several libraries is older if one of them is. Classes without a stated library are left out, as is all of
 * a preset without libraries. Texts live in `arena`. Returns 0 or SIM_E_NOMEM. */
int cost_libraries_say(const struct calibration *calibration, const bool *needed, const struct engine_preset *engine,
                       const char *gpu, struct arena *arena, struct library_statement *statement);

#endif
