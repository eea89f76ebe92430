/* A scenario: the site, what arrives there, and the policies that run it. The tables of the rooms bind it from a
 * config document. */
#ifndef ORRERY_WORLD_SCENARIO_H
#define ORRERY_WORLD_SCENARIO_H

#include "sim/core/config/config.h"
#include "sim/world/cluster_section.h"
#include "sim/world/failures/failure_config.h"
#include "sim/world/jobs/jobs.h"
#include "sim/world/market/market_config.h"
#include "sim/world/rl/rl_config.h"
#include "sim/world/rows/sampler.h"
#include "sim/world/service/service.h"

enum scenario_keep { SCENARIO_KEEP_METRICS, SCENARIO_KEEP_CURVES, SCENARIO_KEEP_ROWS, SCENARIO_KEEP_DECISIONS };

struct scenario {
    const char *name;
    struct cluster_section cluster;
    struct config_list services; /* struct service_config */
    struct jobs_config jobs;     /* trace.entry is NULL when there are none */
    struct failures_config failures;
    struct market_config market; /* renting.entry is NULL when nothing is rented */
    struct rl_config rl;         /* service is NULL when there is none */
    int64_t seed;
    sim_ns warmup_ns, until_ns;  /* until 0: to the end */
    int keep;                    /* enum scenario_keep */
    struct sample_config sample;
};

struct policy;

extern const struct config_field scenario_fields[];

/* Binds the document and checks what no single field can: something arrives, the warm-up ends before the run. MIG
 * profiles come from the catalog, and so do the batching policies of engines, which join the document. Returns 0 or a
 * negative code with findings. */
int scenario_bind(struct config *config, const struct config_families *families, const struct catalog *catalog,
                  struct arena *arena, struct scenario *scenario, struct diag *diag);

static inline const struct service_config *scenario_service(const struct scenario *scenario, size_t i)
{
    return (const struct service_config *)scenario->services.items + i;
}

/* The policies in force, one "services.chat.batching=vllm-v0" each, separated by blanks. */
void scenario_policies(const struct scenario *scenario, struct text *text);

/* The oracle knowledge that they use. */
uint32_t scenario_oracle(const struct scenario *scenario);

/* Whether this policy is in force. */
bool scenario_uses(const struct scenario *scenario, const struct policy *policy);

#endif
