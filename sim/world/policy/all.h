/* All families of policies, for the list of policies, plug-ins and the conformance suite. Others include single
 * families. */
#ifndef ORRERY_WORLD_POLICY_ALL_H
#define ORRERY_WORLD_POLICY_ALL_H

#include "sim/world/policy/autoscaling.h"
#include "sim/world/policy/batching.h"
#include "sim/world/policy/checkpointing.h"
#include "sim/world/policy/eviction.h"
#include "sim/world/policy/kv_offload.h"
#include "sim/world/policy/placement.h"
#include "sim/world/policy/power_cap.h"
#include "sim/world/policy/rental.h"
#include "sim/world/policy/routing.h"
#include "sim/world/policy/scheduler.h"
#include "sim/world/policy/speculation.h"

#endif
