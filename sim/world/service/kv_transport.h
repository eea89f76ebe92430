/* KV of sequences that a batcher swaps, on the links of the site: from the replica's GPUs to the memory of their host, and
 * back. Each GPU moves its own share over its own links, which it shares with whoever else uses them. The bytes are taken of
 * the host's memory when a sequence is to leave, and given back when it has returned. */
#ifndef ORRERY_WORLD_SERVICE_KV_TRANSPORT_H
#define ORRERY_WORLD_SERVICE_KV_TRANSPORT_H

#include "sim/world/replica/replica.h"

/* Takes the bytes of a sequence of the host's memory. Returns 1; 0 when there are not so many, taking none; or SIM_E_NOMEM. */
int kv_transport_take_room(struct replica *replica, int64_t bytes, sim_ns now);

/* Gives back what a sequence had taken of it, which is lost. Returns 0 or SIM_E_NOMEM. */
int kv_transport_give_room(struct replica *replica, int64_t bytes, sim_ns now);

/* Starts a move between GPUs and host, for replica_env; out, its bytes have been taken. Returns 0 or SIM_E_NOMEM. */
int kv_transport_move(struct kv_move *move);

#endif
