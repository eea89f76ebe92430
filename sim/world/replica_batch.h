/* What happens to the batch of a replica: members join, get tokens, are preempted, finish. The clock (replica.c) says
 * when. Only the replica*.c files include this. */
#ifndef ORRERY_WORLD_REPLICA_BATCH_H
#define ORRERY_WORLD_REPLICA_BATCH_H

#include "sim/world/replica.h"

/* The model's answer for this work, checked: durations must be finite and at least a nanosecond. */
int replica_cost(const struct replica *replica, const struct iteration_work *work, struct iteration_cost *cost);

/* Whether the plan is possible on this state; an impossible one gives SIM_E_POLICY with policy, action and reason. */
int replica_check_plan(struct replica *replica, sim_ns now);

/* Applies the plan's rejections and evictions. */
int replica_apply_departures(struct replica *replica, sim_ns now);

/* Tells env->on_prefill of the plan's prefills, before they are applied. */
int replica_tell_prefills(const struct replica *replica, sim_ns now);

/* Takes the blocks of the plan's prefills (and of the decoding beside them); returns the iteration's work. */
struct iteration_work replica_admit_prefills(struct replica *replica, sim_ns now);

/* The prompts of the plan have been processed: whoever is through gets its token and joins the decoding, or leaves. */
int replica_complete_prefills(struct replica *replica, sim_ns now);

/* Members whose last token came at the present step leave. */
int replica_finish_due(struct replica *replica, sim_ns now);

/* Accounts the gaps before the tokens of n boundaries of the run, after the first `counted` ones. */
int replica_count_gaps(struct replica *replica, int64_t counted, int64_t n);

#endif
