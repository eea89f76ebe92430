/* One bit of advice with every access to a cache, true except for random errors (Antoniadis et al., "Paging with
 * Succinct Predictions", ICML 2023). The truth comes from the future, so a policy that uses it is an oracle.
 *
 *     discard  1: the best offline policy (Belady's) evicts the item before its next use, or it has none
 *     phase    1: the item is not asked for in the next phase. Phases are the longest stretches of accesses with at
 *              most k different keys, one after the other from the first access on: those of marking algorithms */
#ifndef ORRERY_POLICIES_EVICTION_PREDICTION_H
#define ORRERY_POLICIES_EVICTION_PREDICTION_H

#include "sim/world/policy/eviction.h"

#include <stdbool.h>
#include <stdint.h>

enum prediction_kind { PREDICT_DISCARD, PREDICT_PHASE };

/* Zeroed: nothing is predicted yet. */
struct prediction {
    unsigned char *bits; /* [n_accesses] */
    int64_t wrong_zeros, wrong_ones; /* the paper's eta_0 and eta_1 */
};

/* Predicts all accesses; each bit is wrong with probability `error_frac`, by the random stream "prediction" of the
 * cache. Returns 0, SIM_E_NOMEM, or SIM_E_POLICY if the future is not available. */
int prediction_make(struct prediction *prediction, const struct cache_view *view, enum prediction_kind kind,
                    double error_frac);
void prediction_fini(struct prediction *prediction);

#endif
