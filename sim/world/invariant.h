/* The numbered laws of the world. A violation is our bug: it ends the process with the number of the law. They are checked
 * at the end of every run, and after every event with `--check event`.
 *
 *     INV-1  requests are conserved: in the pool = at the replicas = queued + running + paused + away; each is where it says
 *     INV-2  KV is conserved: a replica's blocks = free + held by its requests + held for requests handed over; those on the
 *            host and on their way belong to requests that are away or that wait for them
 *     INV-3  a decoding sequence has tokens to come, and the order of finishing knows it
 *     INV-4  processed tokens of the decoding sequences add up to the aggregate that costs are computed from
 *     INV-5  sequences by phase of block growth add up to the decoding sequences that grow
 *     INV-6  GPUs are conserved: total = free + in use + away, and no node has more free than it has
 *     INV-7  Little's law, exactly: integral over time of the requests in the system = sum of their stays so far
 *     INV-8  what links carried is what transfers moved, to the byte: by kind of link, over each link of their ways
 *     INV-9  a tier holds no less than nothing and no more than it can
 *     INV-10 a replica that is not up has no requests, and all GPUs it needs or none: none while it is down
 *     INV-11 the energy of the site is the integral of its power, to 1e-9: in runs that visit every boundary (power.c)
 *     INV-12 leases add up: the leased GPUs and the bill are the sums over leases and over offers, to the micro-dollar */
#ifndef ORRERY_WORLD_INVARIANT_H
#define ORRERY_WORLD_INVARIANT_H

#include "sim/world/cluster/cluster.h"
#include "sim/world/links/tier.h"
#include "sim/world/replica/replica.h"

void invariant_check_requests(int64_t in_pool, int64_t in_replicas); /* INV-1 */
void invariant_check_replica(const struct replica *replica);         /* INV-1 to INV-5 */
void invariant_check_cluster(const struct cluster *cluster);         /* INV-6 */
void invariant_check_little(const struct level *in_system, tally_int128 stay_ns, sim_ns now); /* INV-7 */
void invariant_check_links(int64_t carried_bytes, int64_t moved_bytes); /* INV-8 */
void invariant_check_absent(const struct replica *replica);              /* INV-10: it is down, or starts */
void invariant_check_seat(const struct replica *replica, int64_t gpus);  /* INV-10: it holds so many */
void invariant_check_tier(const struct tier *tier);                      /* INV-9 */
void invariant_check_leases(int64_t leased, int64_t by_lease, int64_t by_offer); /* INV-12, in 1e-6 GPUs */
void invariant_check_bill(int64_t uusd, int64_t by_offer_uusd);           /* INV-12 */

#endif
