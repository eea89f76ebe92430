/* The datacenter: built from a scenario, run to its end, rows to a sink.
 *
 * world_create checks everything that can be checked before the first event: catalog names, GPUs, cost models, traces. So the
 * caller can open its results only after that. */
#ifndef ORRERY_WORLD_WORLD_H
#define ORRERY_WORLD_WORLD_H

#include "sim/catalog/catalog.h"
#include "sim/core/engine.h"
#include "sim/world/rows/sink.h"
#include "sim/world/scenario.h"

struct world;

struct world_progress {
    sim_ns now_ns;
    uint64_t events;
    double done_frac; /* of the traces, the least of all sources */
};

struct world_options {
    const struct config *config;   /* what the scenario was bound from: for the places of findings */
    const struct catalog *catalog;
    uint32_t run;                  /* number of the replication: selects the random substreams */
    enum queue_kind queue;
    bool single_step;              /* visit every iteration boundary */
    bool strict_domain;            /* refuse cost models that are not calibrated: they have no range to keep to */
    uint64_t stall_events;         /* watchdog, as in struct engine_options */
    bool check;                    /* check the invariants at every look and at the end */
    const volatile sig_atomic_t *interrupt;
    void (*look)(void *context, const struct world_progress *progress); /* now and then; may be NULL */
    void *look_context;
};

struct world_result {
    sim_ns end_ns;
    double extrapolated_frac; /* of the kernels' time, over all replicas; NAN: unknown, a cost model is not calibrated */
    struct engine_stats engine;
};

/* Both pointers, the scenario's arena and `diag` must outlive the world. Returns 0 or a negative code with findings; then
 * there is nothing to destroy. */
int world_create(const struct scenario *scenario, const struct world_options *options, struct world **world,
                 struct diag *diag);
void world_destroy(struct world *world);

/* Runs once. Also after an interrupt or a stall the rows and metrics of what has happened are emitted. Returns 0,
 * SIM_E_INTERRUPTED, SIM_E_STALLED, SIM_E_POLICY, SIM_E_DATA, the sink's code, or SIM_E_NOMEM. */
int world_run(struct world *world, const struct sink *sink, struct world_result *result);

#endif
