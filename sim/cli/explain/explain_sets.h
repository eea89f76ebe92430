/* How far the measurements of one GPU disagree: the operators of an iteration by each set of its calibrations. */
#ifndef ORRERY_CLI_EXPLAIN_EXPLAIN_SETS_H
#define ORRERY_CLI_EXPLAIN_EXPLAIN_SETS_H

#include "sim/catalog/cost_operators.h"

struct sets_span {
    double least_s, most_s; /* of the operator, by the sets that measured its class */
    int n_sets;
};

/* Fills spans[breakdown->n], one for each operator of `breakdown`, which is that of `work` by `cost`. Sets of the file
 * that the cost names count, those of the GPU's own file, and those of the GPU that it is like. Attention that writes
 * the KV cache is compared only with such. All is zero for a GPU without measurements. Texts live in `arena`.
 * Returns 0, SIM_E_CONFIG, SIM_E_IO or SIM_E_NOMEM. */
int explain_sets_find(const struct catalog *catalog, const struct cost_operators *cost,
                      const struct iteration_work *work, const struct iteration_breakdown *breakdown,
                      struct arena *arena, struct sets_span *spans, struct diag *diag);

#endif
