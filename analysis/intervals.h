/* The stored intervals of a run's metrics, by the error of the cost models. */
#ifndef ORRERY_ANALYSIS_INTERVALS_H
#define ORRERY_ANALYSIS_INTERVALS_H

#include "sim/core/database.h"
#include "sim/core/intervals.h"
#include "sim/core/mem.h"

/* Reads the intervals of a run into the arena; empty, without a basis, if it has none. Returns 0, SIM_E_STORE or
 * SIM_E_NOMEM. */
int intervals_read(const struct database *database, int64_t run_id, struct arena *arena,
                   struct run_intervals *intervals, struct diag *diag);

/* The interval of a metric, or NULL. */
const struct metric_interval *intervals_of(const struct run_intervals *intervals, const char *metric);

#endif
