/* The cost models that a scenario may choose: `"cost": {"kind": "roofline", ...}`.
 *
 * Each kind has a table of parameters, which config binds to the params of the variant. */
#ifndef ORRERY_CATALOG_COST_H
#define ORRERY_CATALOG_COST_H

#include "models/hardware.h"
#include "models/iteration.h"
#include "models/transformer.h"
#include "sim/catalog/catalog.h"
#include "sim/catalog/time_error.h"
#include "sim/core/config/config.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The index-th kind of the family "cost" (tag "kind"). Returns false past the last one. */
bool cost_alternative(size_t index, struct config_alternative *alternative);

/* What a model is made for: one replica, its GPU, its LLM, and how it is split over GPUs. The model lives in
 * `arena`. */
struct cost_request {
    const struct catalog *catalog;
    const struct gpu_spec *gpu;
    const struct llm_spec *llm;
    int64_t tensor_parallel, pipeline_parallel, data_parallel; /* the last: 0 as 1 */
    struct gpu_nodes nodes; /* zero: all its GPUs are on one node */
    bool host_waits; /* no iteration is scheduled before the last one has ended, though the engine could */
    bool no_overhead;       /* times without the CPU overhead of iterations and sequences: passes of a draft model */
    const char *where; /* of the variant, for findings */
    const char *tensor_where, *pipeline_where; /* of two kinds of parallelism; NULL: as the variant */
    struct arena *arena;
    struct diag *diag;
};

/* Makes the model that `cost` describes. Returns 0, SIM_E_CONFIG (an impossible split, wrong parameters), SIM_E_IO or
 * SIM_E_DATA (a file that cannot be read), or SIM_E_NOMEM. */
int cost_build(const struct config_variant *cost, const struct cost_request *request, struct iteration_model *model);

/* How far measured times lie from those of `model`, which cost_build made of the same request. Nothing that it
 * reads counts as an input of the run. Returns what cost_build returns. */
int cost_time_error(const struct config_variant *cost, const struct cost_request *request,
                    const struct iteration_model *model, struct time_error *error);

/* The serving engine whose overhead the model adds, as the scenario names it; NULL: the kind knows no engines. */
const char *cost_engine(const struct config_variant *cost);

/* Copies of experts in each layer that the scenario asks for, beside the LLM's own; 0: none. */
int64_t cost_redundant_experts(const struct config_variant *cost);

#endif
