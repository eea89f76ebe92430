/* The inside of a replica: what happens to its requests and their KV (replica_batch.c), batches in
 * flight (replica_flight.c) and the border to the batcher (replica_plan.c). The clock (replica.c) says when. Only the replica*.c
 * files include this. */
#ifndef ORRERY_WORLD_REPLICA_REPLICA_BATCH_H
#define ORRERY_WORLD_REPLICA_REPLICA_BATCH_H

#include "sim/world/replica/replica.h"

#include <math.h>

/* --- replica_plan.c --- */

/* Asks the batcher for a plan for the state as it is, checks it and applies all of it but prefills and decoding. An impossible
 * one gives SIM_E_POLICY with policy, action and reason. */
int replica_plan(struct replica *replica, sim_ns now);

int replica_plan_reserve(struct batch_plan *plan, int64_t n); /* room for n entries of each kind; 0 or SIM_E_NOMEM */
void replica_plan_fini(struct batch_plan *plan);

/* Asks the batcher how many of the sequences that wait for a later stage pass it together: at least one, from the first on. */
int64_t replica_plan_pass(struct replica *replica, struct cohort *waiting, sim_ns now);

/* Whether there is anybody whom a batcher could do something for. */
static inline bool replica_has_work(const struct replica *replica)
{
    return replica->waiting.n + replica->prefilling.n + replica->ready->members.n + replica->paused.n +
               replica->away.n >
           0;
}

/* Whether the plan that was applied starts an iteration; whether it took something off the replica. */
static inline bool replica_plan_starts(const struct replica *replica)
{
    return replica->plan.n_prefills > 0 || (replica->plan.decode && replica->ready->members.n > 0);
}

static inline bool replica_plan_departs(const struct replica *replica)
{
    return replica->plan.n_evictions + replica->plan.n_rejections > 0;
}

/* --- replica_batch.c --- */

/* The model's answer for this work, checked: durations must be finite and at least a nanosecond. *pace is that of the clock which
 * the replica is ordered to keep. */
int replica_cost(const struct replica *replica, const struct iteration_work *work, struct iteration_cost *cost,
                 struct pace *pace);

/* Applies the plan's rejections, evictions, pauses and resumptions. */
int replica_apply_moves(struct replica *replica, sim_ns now);

/* Tells env->on_prefill of the plan's prefills, takes their blocks, adds them to the iteration's work. */
int replica_admit_prefills(struct replica *replica, struct iteration_work *work, sim_ns now);

/* Adds a step of the cohort to the iteration's work and takes its blocks. */
void replica_begin_step(struct replica *replica, struct cohort *cohort, struct iteration_work *work);

/* The prompts have been processed by so many tokens: whoever is through gets its token and joins the decoding, leaves, or is
 * handed over; the others are put back in order. `list`: where they are. */
int replica_complete_prefills(struct replica *replica, const struct batch_prefill *prefills, int32_t n,
                              struct request_list *list, sim_ns now);

/* Members whose last token came at the present step leave. */
int replica_finish_due(struct replica *replica, struct cohort *cohort, sim_ns now);

/* Those whose KV has arrived join the decoding. */
int replica_join_arrived(struct replica *replica);

/* How much of so long a time was extrapolated. */
static inline sim_ns replica_extrapolated_ns(double extrapolated_frac, sim_ns lasted_ns)
{
    return extrapolated_frac < 1 ? llrint(extrapolated_frac * (double)lasted_ns) : lasted_ns;
}

/* --- replica_prefix.c --- */

void replica_prefixes_fini(struct replica *replica);

/* Cached blocks that nobody uses are evicted, until there are free ones for all of them. */
void replica_evict_prefixes(struct replica *replica);

/* Takes free blocks; cached ones that nobody uses are evicted to make them so. */
static inline void replica_take_blocks(struct replica *replica, int64_t blocks)
{
    kvcache_take(&replica->kv, blocks);
    if (replica->prefixes.block_tokens > 0) replica_evict_prefixes(replica);
}

/* A waiting request that is to be admitted gets what is cached of its prompt. Returns 0 or an error (cache.h). */
int replica_acquire_prefix(struct replica *replica, struct request *request);

/* What has been processed of its prompt becomes cached. Returns likewise. */
int replica_publish_prefix(struct replica *replica, struct request *request);

/* A request that is about to lose its blocks has processed so many tokens: where prefixes are cached, its full blocks stay
 * for it, in a chain of its own unless its trace has named its blocks, as long as nobody needs their room. Returns 0 or
 * an error. */
int replica_keep_own_prefix(struct replica *replica, struct request *request, int32_t processed_tokens);

/* Lets go of its cached blocks, and returns how many of the blocks that it holds these are. */
int64_t replica_release_prefix(struct replica *replica, struct request *request);

/* Tokens that are in the cache once but belong to several requests, each further one counted. */
int64_t replica_duplicate_tokens(const struct replica *replica);

/* --- replica_work.c --- */

/* Counts the work of the latest n iterations of the run under way, none of them counted so far. */
void replica_count_decode_work(struct replica *replica, int64_t n);

/* Counts that of one iteration in `lasted_ns`, with `in_flight_tokens` of KV in batches in flight (replica_flight.c). */
void replica_count_work(struct replica *replica, const struct iteration_work *work, const struct pace *pace,
                        int64_t in_flight_tokens, sim_ns lasted_ns);

/* Whose work it is, done at this pace. */
static inline struct work_of replica_work_of(const struct replica *replica, const struct pace *pace)
{
    return (struct work_of){&replica->env->reads, &replica->kv, replica->env->energy,
                            pace->is_slow ? &pace->law : NULL};
}

/* Something has changed for the batcher. `strictly`: after now, for what the events of this moment's boundaries do. */
void replica_wake(struct replica *replica, sim_ns now, bool strictly);

/* --- replica.c --- */

/* What others move over its links has changed: the iteration under way goes on at another pace. Returns 0 or a negative code. */
int replica_reprice(struct replica *replica, sim_ns now);

/* Tells of and counts what a run or batches under way have done by now; the boundaries of a run up to now must have been stepped
 * through. At the end of a simulation, and where a replica is lost. */
int replica_count_so_far(struct replica *replica, sim_ns now);

void replica_arm(struct replica *replica, sim_ns at_ns);

/* --- replica_flight.c --- */

int replica_flights_init(struct replica *replica); /* 0 or SIM_E_NOMEM */
void replica_flights_fini(struct replica *replica);

/* Whether the plan's iteration is one for a flight: with pipeline stages, KV to wait for, or some of the sequences only. */
static inline bool replica_plan_flies(const struct replica *replica)
{
    const struct batch_plan *plan = &replica->plan;
    return replica->view.stages > 1 || replica->unattached != NULL ||
           (plan->decode && plan->decode_sequences < replica->ready->members.n);
}

/* Sends the plan's batch on its way. */
int replica_take_off(struct replica *replica, sim_ns now);

/* A move that a flight waited for has ended. Returns 0 or a negative code. */
int replica_flight_loaded(struct replica *replica, struct flight *flight, sim_ns now);

/* Batches that have passed all stages by now are taken apart. */
int replica_land(struct replica *replica, sim_ns now);

/* Arms the event of the next landing, if its time is known. */
void replica_arm_landing(struct replica *replica);

/* replica_reprice for the batch in flight, of which there is one at most where weights or KV are offloaded. */
void replica_reprice_flight(struct replica *replica, sim_ns now);

/* What batches in flight have taken by a time beside the power of idling, and what they take at it. */
double replica_flights_j(const struct replica *replica, sim_ns at);
double replica_flights_w(const struct replica *replica, sim_ns at);

/* Prompts in batches in flight. */
int64_t replica_prompts_in_flight(const struct replica *replica);

/* Batches under way are given up: their requests have left them. */
void replica_drop_flights(struct replica *replica);

/* At the end of a simulation. */
int replica_settle_flights(struct replica *replica, sim_ns now);
sim_ns replica_flights_busy_ns(const struct replica *replica, sim_ns at); /* beyond what is counted by then */

/* --- replica_stages.c: where the batcher has `pass` and there are several stages; otherwise replica.line is NULL --- */

int replica_stages_init(struct replica *replica); /* 0 or SIM_E_NOMEM */
void replica_stages_fini(struct replica *replica);

/* Whether another batch may start; and the prompts in the one that passes the first stage. */
bool replica_first_stage_is_free(const struct replica *replica);
int64_t replica_first_stage_prompts(const struct replica *replica);

/* Batches that have passed a stage by now go on, and stages that are free take what waits for them. Arms the next event. */
int replica_stages_step(struct replica *replica, sim_ns now);

/* As replica_drop_flights. */
void replica_stages_drop(struct replica *replica);

/* At the end of a simulation. */
int replica_stages_settle(struct replica *replica, sim_ns now);
sim_ns replica_stages_busy_ns(const struct replica *replica, sim_ns at);

/* Visits the requests in batches that are on their way. */
void replica_stages_each(const struct replica *replica, void (*visit)(void *context, struct request *request),
                         void *context);

#endif
