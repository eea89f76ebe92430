/* One kind of cost model: its parameters, and how it is made. Shared by the cost_*.c files, of no use to others. */
#ifndef ORRERY_CATALOG_COST_KIND_H
#define ORRERY_CATALOG_COST_KIND_H

#include "models/hardware.h"
#include "models/iteration.h"
#include "models/transformer.h"
#include "sim/core/config.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"

/* What a model is made for. The split is possible. */
struct cost_request {
    const struct gpu_spec *gpu;
    const struct llm_spec *llm;
    int64_t tensor_parallel, pipeline_parallel;
    const char *where;
    struct arena *arena;
    struct diag *diag;
};

struct cost_kind {
    const char *name, *summary;
    const struct config_field *fields;
    size_t params_bytes;
    int (*build)(const void *params, const struct cost_request *request, struct iteration_model *model);
};

extern const struct cost_kind cost_roofline, cost_affine, cost_table;

#endif
