/* KV of sequences that a batcher swaps, on the links of the site: from the replica's GPUs to the memory of their host, and
 * back. Each GPU moves its own share over its own links, which it shares with whoever else uses them. The bytes are taken of
 * the host's memory when a sequence begins to leave, and given back when it has returned. */
#ifndef ORRERY_WORLD_KV_TRANSPORT_H
#define ORRERY_WORLD_KV_TRANSPORT_H

#include "sim/world/replica.h"

/* Starts a move between GPUs and host, for replica_env. Returns 0, SIM_E_CONFIG with a finding when the host's memory is full,
 * or SIM_E_NOMEM. */
int kv_transport_move(struct kv_move *move, sim_ns now);

#endif
