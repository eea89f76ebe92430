/* The power of a site: domains, their power, telemetry, and commands that limit power.
 *
 *     GPU -> server -> rack -> row -> site      by server number; cluster.power.level: the domains with a budget
 *
 * A domain draws the power of its servers (power_config.h) and of their GPUs. GPUs of replicas draw by their work,
 * GPUs of jobs by the job's type (job_types.h), GPUs without a holder their bare idle power. Power is evaluated on
 * demand, in closed form since the latest change, so it ends no run of iterations. Energy is the state: a reading is
 * a difference of energies, and the energy of the site is the integral of its power (INV-11).
 *
 * Telemetry: every period a reading of each domain, the mean over a window, which policies see after a delay.
 * Commands take effect after a latency, on all GPUs of their group at once; a replica follows at its next boundary
 * between iterations. Under the brake all GPUs have its clock, or that of their lock if lower. A breaker heats up by
 * the square of the current above its rating. A trip is counted and warned of. Then the domain stays on, or, with
 * breaker.outage, is dark until the breaker is reset: its nodes fail, and nothing there draws power.
 *
 * Nodes that are down or spare stay switched on: their servers and GPUs idle.
 *
 * Readings and commands in flight keep no run alive. A replica on GPUs of several domains obeys the domain of its
 * first GPU. */
#ifndef ORRERY_WORLD_POWER_POWER_H
#define ORRERY_WORLD_POWER_POWER_H

#include "sim/catalog/catalog.h"
#include "sim/core/engine.h"
#include "sim/world/cluster/cluster.h"
#include "sim/world/power/power_config.h"
#include "sim/world/rows/component.h"
#include "sim/world/rows/site_env.h"

struct power;

struct power_env {
    struct site_env *site;
    struct holders *holders; /* of the site */
    bool has_jobs;
    const struct cluster_config *cluster;
    const struct server_power_config *server_power;
    const struct power_config *power;
    bool checks_energy; /* the run visits every boundary, and its state is checked after every event */
};

/* Creates the domains and watches who holds GPUs (holder.h). Returns 0 or a negative code with findings; *power is NULL
 * if the scenario has no section "power". */
int power_create(const struct power_env *env, struct power **power);

/* Warns of GPUs that the brake does not slow, as the rows of a run do. */
void power_warn_brake(const struct power *power, struct diag *diag);

/* The highest TDP of the site's GPUs. */
double power_most_tdp_w(const struct power *power);

/* Energy and power of the site at a time at which no event is pending. */
double power_site_j(struct power *power, sim_ns at);
double power_site_w(struct power *power, sim_ns at);

/* At the start it applies the policies' initial settings and schedules the first reading; at the end it emits metrics
 * and warnings. It checks INV-11 (world.h) if env.checks_energy. Its series: the power of the site, and of each domain
 * if there are at most POWER_SAMPLED_DOMAINS. */
enum { POWER_SAMPLED_DOMAINS = 8 };
extern const struct component power_component;

#endif
