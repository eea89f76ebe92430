/* The power of a site: domains from the GPU to the site, what they draw, how that is read, and commands that hold it down.
 *
 *     GPU -> server -> rack -> row -> site      servers by their numbers; cluster.power.level says which domains have a budget
 *
 * A domain draws what its servers do (power_config.h) on top of their GPUs: replicas by what they compute (replica_drawn_j), GPUs
 * that nobody holds their bare idle power, jobs what their type says (job_types.h). Power is evaluated when somebody looks, in closed form since the latest change, so it ends no run
 * of iterations and costs by the look. Energy is what is kept: a reading is a difference of energies, and the energy of the
 * site is the integral of its power (INV-11).
 *
 * Telemetry: every period a reading of each domain, the mean over a window, which is seen after a delay. No policy sees any
 * earlier. Commands take effect late, on all GPUs of their group at once, and a replica follows at its next boundary between
 * iterations. Under the brake all GPUs keep its clock, or the lower one of their lock. A breaker heats up by the square of the
 * current beyond its rating; when it trips that is counted and warned of, and the domain goes on, or (breaker.outage) goes dark until it is reset: its
 * nodes fail (failure.h), and nothing there draws power.
 *
 * Nodes that have failed, or wait as spare ones, stay switched on: their servers and GPUs idle.
 *
 * Readings and commands on their way keep no run going. A replica on GPUs of several domains obeys that of its first GPU. */
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

/* Makes the domains, and watches who holds GPUs (holder.h). Returns 0 or a negative code with findings; *power is NULL where the scenario has no section "power". */
int power_create(const struct power_env *env, struct power **power);

/* Energy and power of the site at a time at which no event is pending. */
double power_site_j(struct power *power, sim_ns at);
double power_site_w(struct power *power, sim_ns at);

/* Sends the policies' first commands and takes the first reading at the start; metrics and warnings at the end. Checks INV-11
 * (world.h) where env.checks_energy says so. Its series are the power of the site, and of each domain where they are at most
 * POWER_SAMPLED_DOMAINS. */
enum { POWER_SAMPLED_DOMAINS = 8 };
extern const struct component power_component;

#endif
