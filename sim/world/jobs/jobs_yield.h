/* Jobs that make room for services: running ones that may be preempted give their GPUs up and wait again. */
#ifndef ORRERY_WORLD_JOBS_JOBS_YIELD_H
#define ORRERY_WORLD_JOBS_JOBS_YIELD_H

#include "sim/world/jobs/jobs.h"

/* Takes jobs off their GPUs until nodes with this type of GPU have so many groups of so many free, each on one node; where GPUs
 * are only counted, until the cluster has as many. Of several types of nodes with that GPU the first that can make all the room
 * makes it, else they do together, in their order. Jobs yield in the order of jobs.yield, those with the lowest priority of their
 * types first; only those do without which there would be no room, and nobody where there is none anyway. Returns how many, 0:
 * there is no room to make, or a negative code. */
int jobs_make_room(struct jobs *jobs, const char *gpu, int32_t gpus, int64_t groups, sim_ns now);

/* GPUs have come from a service, or gone to one: the scheduler is asked what now. */
void jobs_note_capacity(struct jobs *jobs);

#endif
