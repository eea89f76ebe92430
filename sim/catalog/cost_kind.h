/* One kind of cost model: its parameters and constructor. Private to the cost_*.c files. */
#ifndef ORRERY_CATALOG_COST_KIND_H
#define ORRERY_CATALOG_COST_KIND_H

#include "sim/catalog/cost.h"

struct cost_kind {
    const char *name, *summary;
    const struct config_field *fields;
    size_t params_bytes;
    /* The split was checked. The caller reports SIM_E_NOMEM. */
    int (*build)(const void *params, const struct cost_request *request, struct iteration_model *model);
    /* As cost_time_error. NULL: nobody knows the error of its times. */
    int (*time_error)(const void *params, const struct cost_request *request, const struct iteration_model *model,
                      struct time_error *error);
    /* As cost_engine. NULL: the kind knows no engines. */
    const char *(*engine)(const void *params);
    int64_t (*redundant_experts)(const void *params); /* as cost_redundant_experts; NULL: none */
};

extern const struct cost_kind cost_operators, cost_table;

#endif
