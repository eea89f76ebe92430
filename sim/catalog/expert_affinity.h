/* How tokens go from the experts of one layer to those of the next: by the law of a chain, or by counts from a file.
 *
 * A file has a row for each expert of a layer: how many of its tokens chose each expert of the next layer, at most
 * 1e15. There is no header. The rows of one step, for all steps alike, or those of each step in turn. */
#ifndef ORRERY_CATALOG_EXPERT_AFFINITY_H
#define ORRERY_CATALOG_EXPERT_AFFINITY_H

#include "models/operators/expert_affinity.h"
#include "sim/core/err.h"

struct expert_affinity {
    const char *path;  /* NULL: by the law */
    double affinity;   /* of expert_chain_flows */
    size_t layers, experts; /* >= 1 */
};

/* Fills flows[layers - 1][experts][experts]. Returns 0, SIM_E_IO, SIM_E_DATA (a field is no count, a row has another
 * number of experts, there are too few or too many rows; with the place), or SIM_E_NOMEM. */
int expert_affinity_read(const struct expert_affinity *affinity, double *flows, struct diag *diag);

#endif
