/* Settings of jobs, failures and power that nothing reads in a scenario: those listed here get a warning that they
 * have no effect, and why. So do a power that no GPU draws, and a scheduler that goes by deadlines where no job has
 * one. Those of a service are in service/fleet_unread.c, those of offers in market/market_offers.c. */
#ifndef ORRERY_WORLD_UNREAD_H
#define ORRERY_WORLD_UNREAD_H

#include "sim/core/config/config.h"
#include "sim/core/err.h"

#include <stdbool.h>

struct cluster;
struct scenario;

struct unread_env {
    const struct scenario *scenario;
    const struct config *config;   /* that the scenario was bound from; NULL: no value counts as given */
    const struct cluster *cluster; /* as built: a network may have given it racks */
    double most_tdp_w;             /* of the site's GPUs; NAN: the power of the site is not simulated */
    bool reads_estimates;          /* the scheduler reads estimates of run times */
    bool may_migrate;              /* it may move running jobs to other nodes */
    struct diag *diag;
};

void scenario_warn_unread(const struct unread_env *env);

#endif
