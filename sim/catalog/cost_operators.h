/* A cost model of kind "operators" and the calibration and engine that it was built from. */
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

/* The struct behind a model of this kind; NULL for other kinds. */
const struct cost_operators *cost_operators_of(const struct iteration_model *model);

#endif
