/* The cost models that a scenario may choose, `"cost": {"kind": "roofline", ...}`, and their making.
 *
 * Each kind brings its table of parameters, bound by config to the variant's params. */
#ifndef ORRERY_CATALOG_COST_H
#define ORRERY_CATALOG_COST_H

#include "models/hardware.h"
#include "models/iteration.h"
#include "models/transformer.h"
#include "sim/core/config.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The index-th kind of the family "cost" (tag "kind"). Returns false past the last one. */
bool cost_alternative(size_t index, struct config_alternative *alternative);

/* Makes the model that `cost` describes for one replica: a GPU, an LLM, and how it is split. `where` is the place of
 * the variant, for findings. The model lives in `arena`. Returns 0, SIM_E_CONFIG (an impossible split, wrong
 * parameters), SIM_E_IO or SIM_E_DATA (a table that cannot be read), or SIM_E_NOMEM. */
int cost_build(const struct config_variant *cost, const struct gpu_spec *gpu, const struct llm_spec *llm,
               int64_t tensor_parallel, int64_t pipeline_parallel, const char *where, struct arena *arena,
               struct iteration_model *model, struct diag *diag);

#endif
