/* The batching policy of a service that names an engine but no policy: the scheduler in the engine's preset. */
#ifndef ORRERY_WORLD_SERVICE_ENGINE_BATCHING_H
#define ORRERY_WORLD_SERVICE_ENGINE_BATCHING_H

#include "sim/catalog/catalog.h"
#include "sim/core/config/config.h"

/* The batching policy where neither the scenario nor an engine names one. */
#define SERVICE_DEFAULT_BATCHING "vllm-v1"

/* Lays the "batching" of engines under the services and pools of a document that is not bound yet, so that all that
 * reads the document sees the choice. A service, or a pool with a cost model of its own, takes it if its cost model
 * names an engine and no batching policy is named for it. Parameters that the document gives without a policy are of
 * that policy. Those of a service are also of a pool without "batching" whose engine has the policy of the service's.
 * A policy that the document names keeps its own defaults. Below a preset without a scheduler, a pool has what its
 * service has. Presets that cannot be read are left to whoever builds the cost model. Returns 0 or SIM_E_NOMEM. */
int engine_batching_apply(struct config *config, const struct catalog *catalog, struct diag *diag);

#endif
