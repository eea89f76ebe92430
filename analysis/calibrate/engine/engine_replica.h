/* The replicas that measured rows were taken on, as the simulator models them: GPU time from the calibration that an
 * engine's preset names (models/operators/operators.h). Each is made once. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_ENGINE_ENGINE_REPLICA_H
#define ORRERY_ANALYSIS_CALIBRATE_ENGINE_ENGINE_REPLICA_H

#include "analysis/calibrate/engine/measured.h"
#include "models/operators/operators.h"
#include "sim/catalog/engine.h"

struct engine_replica; /* one of them */

struct engine_replicas {
    const struct catalog *catalog;
    struct arena *arena;
    struct engine_replica *first;
};

void engine_replicas_init(struct engine_replicas *replicas, const struct catalog *catalog, struct arena *arena);

/* The operators of the row's GPU, LLM and split, without any host; NULL for MEASURED_HOST, which has none. Lives in the
 * arena. Returns 0, SIM_E_CONFIG, SIM_E_IO or SIM_E_NOMEM. */
int engine_replicas_find(struct engine_replicas *replicas, const struct engine_preset *preset,
                         const struct measured_row *row, const struct operators **operators, struct diag *diag);

#endif
