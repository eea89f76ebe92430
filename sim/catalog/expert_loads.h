/* How much busier than the mean the busiest GPU is, that holds experts: by Zipf's law, or by counts from a file.
 *
 * A file has a row for each layer with experts, or one row for all of them. A row has a number for each expert: how
 * many tokens chose it, at most 1e15. There is no header. Every layer has a placement of its own, and waits for its own
 * busiest GPU: the mean over the layers counts. */
#ifndef ORRERY_CATALOG_EXPERT_LOADS_H
#define ORRERY_CATALOG_EXPERT_LOADS_H

#include "sim/core/err.h"

#include <stdint.h>

/* At most so many copies, the experts themselves included. */
enum { EXPERT_LOADS_MOST = 2048 };

struct expert_loads {
    const char *path; /* NULL: by Zipf's law */
    double skew;      /* its exponent */
    int64_t layers;          /* that have experts */
    int64_t experts, copies; /* of a layer; beside them */
    int64_t chosen;          /* experts of a token */
    int64_t gpus;
    int64_t groups, nodes; /* of EPLB's hierarchical policy; 0 groups: its global policy */
};

/* Why the experts cannot be placed so, as a static text, or NULL if they can. */
const char *expert_loads_problem(const struct expert_loads *loads);

/* Sets *imbalance >= 1. The copies are placed by models/operators/expert_placement.h. Returns 0, SIM_E_IO, SIM_E_DATA
 * (a field is no load, a row has another number of experts, or there are too few or too many rows; with the place), or
 * SIM_E_NOMEM. */
int expert_loads_imbalance(const struct expert_loads *loads, double *imbalance, struct diag *diag);

#endif
