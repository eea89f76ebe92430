/* The part of building a fleet that tells of settings without a reader. */
#ifndef ORRERY_WORLD_SERVICE_FLEET_UNREAD_H
#define ORRERY_WORLD_SERVICE_FLEET_UNREAD_H

#include "sim/world/service/fleet.h"

/* Warns of every setting of the service that a scenario gives and that nothing here reads, with its place. The pools are built
 * and the routers chosen by then. */
void fleet_tell_unread(const struct fleet *fleet);

/* Whether the scenario says otherwise than by default how replicas start again after failures. */
bool fleet_sets_restart(const struct fleet *fleet);

#endif
