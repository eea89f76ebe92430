/* What all rooms of a run share: engine, inputs, outputs, and the numbers that identify runs and owners. The world
 * fills it in once; every room keeps a pointer to it. */
#ifndef ORRERY_WORLD_ROWS_SITE_ENV_H
#define ORRERY_WORLD_ROWS_SITE_ENV_H

#include "sim/catalog/time_error.h"
#include "sim/core/engine.h"
#include "sim/world/rows/sink.h"

#include <stdint.h>

struct arena;
struct catalog;
struct config;

struct site_env {
    struct engine *engine;
    struct diag *diag;
    const struct catalog *catalog;
    const volatile sig_atomic_t *interrupt; /* as in struct source_options */
    const struct config *config;  /* the scenario's document: places of findings */
    const struct sink *sink;      /* empty until the run begins */
    struct arena *arena;          /* lives as long as the run */
    uint64_t seed;
    uint32_t run;                 /* replication: selects the random substreams */
    sim_ns warmup_ns;             /* what arrives before counts in no metric */
    bool single_step;             /* visit every iteration boundary */
    bool strict_domain;           /* refuse cost models that are not calibrated */
    enum time_case time_case;     /* of the iterations of services */
    bool each_replica;            /* samples are of every replica, however many a service has */
    uint32_t next_owner_id;       /* of owners that last as long as the run */
    uint64_t next_serial;         /* of passing owners, all services together */
};

/* Reserves n owner ids. Returns the first. */
static inline uint32_t site_env_owner_ids(struct site_env *site, uint32_t n)
{
    site->next_owner_id += n;
    return site->next_owner_id - n;
}

#endif
