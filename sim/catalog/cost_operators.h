/* A cost of kind "operators", and where its numbers come from. */
#ifndef ORRERY_CATALOG_COST_OPERATORS_H
#define ORRERY_CATALOG_COST_OPERATORS_H

#include "models/operators/operators.h"
#include "sim/catalog/calibration.h"
#include "sim/catalog/engine.h"

struct cost_operators {
    struct operators operators; /* the iteration_model's model */
    struct calibration calibration;
    struct engine_preset engine;
};

/* What a model was built from, or NULL when it is of another kind. */
const struct cost_operators *cost_operators_of(const struct iteration_model *model);

#endif
