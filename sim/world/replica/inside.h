/* The inside of a replica: its requests and their KV (replica_batch.c), batches in flight (replica_inflight.c) and the
 * border to the batcher (replica_plan.c). The clock (replica.c) decides when. */
#ifndef ORRERY_WORLD_REPLICA_INSIDE_H
#define ORRERY_WORLD_REPLICA_INSIDE_H

#include "sim/core/change_log.h"
#include "sim/world/policy/routing.h"
#include "sim/world/replica/replica.h"

#include <math.h>

/* --- replica_plan.c --- */

/* Asks the batcher for a plan for the current state, checks it and applies everything except prefills and decoding. An
 * invalid plan gives SIM_E_POLICY with policy, action and reason. */
int replica_plan(struct replica *replica, sim_ns now);

void replica_plan_fini(struct batch_plan *plan);

/* Asks the batcher (compose_stage) for the size of a later stage's next batch: at least 1 of the waiting sequences,
 * from the first on. */
int64_t replica_plan_stage(struct replica *replica, struct running_batch *waiting, sim_ns now);

/* Reports what the queue waits for from now on, if anybody asks. Returns 0 or a negative code. */
static inline int replica_report_queue(const struct replica *replica, const struct request_view *request, sim_ns now,
                                       enum admission_step step)
{
    return replica->env->on_queue != NULL ? replica->env->on_queue(replica, request, now, step) : 0;
}

/* Whether the batcher has any request to act on. */
static inline bool replica_has_work(const struct replica *replica)
{
    return replica->waiting.n + replica->prefilling.n + replica->ready->members.n + replica->paused.n +
               replica->nonresident.n >
           0;
}

/* Whether the applied plan starts an iteration, and whether it takes requests out of those that can start one. */
static inline bool replica_plan_starts(const struct replica *replica)
{
    return replica->plan.n_prefills > 0 || (replica->plan.decode && replica->ready->members.n > 0);
}

static inline bool replica_plan_departs(const struct replica *replica)
{
    return replica->plan.n_evictions + replica->plan.n_rejections + replica->plan.n_loads > 0;
}

/* --- replica_batch.c --- */

/* The costs of n >= 1 iterations in a row whose drafts are computed ahead, at the full clock and unshared links: those
 * of replica_cost, not checked. All verify equally many drafts of equally many sequences. speculating->now.lacking
 * counts in each of them: it must be empty, unless there is one iteration and it is the one that is next or under
 * way. */
void replica_drafted_costs(const struct replica *replica, const struct iteration_work *works, int32_t n,
                           struct iteration_cost *costs);

/* Seconds of drafting in the first_s that replica_cost gave for this work with this clock state. */
double replica_drafting_s(const struct replica *replica, const struct iteration_work *work,
                          const struct clock_state *clock_state);

/* Durations must be finite and at least a nanosecond. */
static inline bool replica_cost_is_sound(const struct iteration_cost *cost)
{
    return isfinite(cost->first_s) && isfinite(cost->slope_s) && cost->first_s >= 1e-9 && cost->until >= 1;
}

/* A finding about a cost that is not. Returns SIM_E_CONFIG. */
int replica_refuse_cost(const struct replica *replica, const struct iteration_work *work,
                        const struct iteration_cost *cost) __attribute__((cold));

/* The model's cost of this work, checked: durations must be finite and at least a nanosecond. *clock_state is the one
 * under the current order. An iteration of this work begins now: where the replica has shares of links (stream,
 * traffic), its claims begin or change, and the cost is that at its shares. */
int replica_cost(const struct replica *replica, const struct iteration_work *work, struct iteration_cost *cost,
                 struct clock_state *clock_state);

/* Applies the plan's rejections, evictions, pauses and resumptions. */
int replica_apply_moves(struct replica *replica, sim_ns now);

/* Reports the plan's prefills to env->on_prefill, takes their blocks and adds them to the iteration's work. */
int replica_admit_prefills(struct replica *replica, struct iteration_work *work, sim_ns now);

/* Adds a step of the running batch to the iteration's work and takes its blocks. */
void replica_begin_step(struct replica *replica, struct running_batch *running, struct iteration_work *work);

/* The prompts in `list` have been processed by their tokens. A complete prompt yields a token and its request joins
 * the decoding, leaves, or is handed over; the others return to the queue in order. */
int replica_complete_prefills(struct replica *replica, const struct batch_prefill *prefills, int32_t n,
                              struct request_list *list, sim_ns now);

/* Members that got their last token at the present step leave: after the prompts of the iteration, by number. */
int replica_finish_due(struct replica *replica, struct running_batch *running, sim_ns now);

/* The request, of no list or batch, ends here. */
int replica_finish(struct replica *replica, struct request *request, sim_ns now);

/* The request loses its blocks. */
void replica_give_blocks(struct replica *replica, struct request *request);

/* Sequences whose KV has arrived join the decoding. */
int replica_join_arrived(struct replica *replica);

/* Whether a clock or a power limit is ordered. */
static inline bool replica_is_ordered(const struct replica *replica)
{
    return replica->order.clock_frac < 1.0 || replica->order.cap_w < (double)INFINITY;
}

/* The extrapolated part of a duration. */
static inline sim_ns replica_extrapolated_ns(double extrapolated_frac, sim_ns lasted_ns)
{
    return extrapolated_frac < 1 ? llrint(extrapolated_frac * (double)lasted_ns) : lasted_ns;
}

/* Adds to the load that routers see. */
static inline void replica_add_load(struct replica *replica, int64_t outstanding, int64_t waiting,
                                    int64_t queued_tokens)
{
    struct change_log *changed = replica->env->changed_loads;
    replica->load->outstanding += outstanding;
    replica->load->waiting += waiting;
    replica->load->queued_tokens += queued_tokens;
    if (changed != NULL) change_log_add(changed, replica->index);
}

/* --- replica_prefix.c --- */

void replica_prefixes_fini(struct replica *replica);

/* Evicts unused cached blocks until the free blocks cover the unused ones that remain. */
void replica_evict_prefixes(struct replica *replica);

/* Blocks that a nonresident request holds once it resumes: those of its context, or its reservation. */
static inline int64_t replica_resumed_blocks(const struct replica *replica, const struct batch_resumption *resumption)
{
    const struct request *request = (const struct request *)(const void *)resumption->request;
    const int64_t context = request->context_tokens - resumption->wait, held = resumption->hold_tokens;
    return kvcache_blocks(&replica->kv, held > context ? held : context);
}

/* Blocks that a request takes with its first ones for layers with a window: as many as an engine's request holds in
 * the mean, from its prompt to its last token. An engine's grows to the window instead. */
static inline int64_t replica_window_blocks(const struct replica *replica, const struct request *request)
{
    const struct replica_env *env = replica->env;
    if (env->window_share <= 0.0 || request->window_blocks > 0) return 0;
    const int64_t prompt = request->view.prompt_tokens, to_come = request->output_tokens - request->generated_tokens;
    return llm_window_blocks(env->llm, env->window_share, replica->kv.block_tokens, prompt, prompt + to_come - 1);
}

/* Takes free blocks; evicts unused cached blocks to make room. */
static inline void replica_take_blocks(struct replica *replica, int64_t blocks)
{
    kvcache_take(&replica->kv, blocks);
    if (replica->prefixes.block_tokens > 0) replica_evict_prefixes(replica);
}

/* Gives a waiting request, before its admission, the cached part of its prompt, unless it has loaded. Returns 0 or an
 * error (cache.h). */
int replica_acquire_prefix(struct replica *replica, struct request *request);

/* Starts to load the stored part of a waiting request's prompt, which the request waits for alone: it first gets its
 * cached part, later the blocks of its whole prompt (replica_take_load_blocks). Return 0 or a negative
 * code. */
int replica_begin_load(struct replica *replica, struct request *request, sim_ns now);
void replica_take_load_blocks(struct replica *replica, struct request *request);

/* The request leaves the queue. */
static inline void replica_unpark(struct replica *replica, struct request *request)
{
    replica->n_parked -= request->is_parked;
    replica->parked_tokens -= request->is_parked ? request->view.prefilled_tokens : 0;
    request->is_parked = false;
}

/* While a plan is made, checked and applied: requests may share blocks of its first n prefills, if the batcher's
 * engine caches what is scheduled. */
static inline void replica_see_prefills(struct replica *replica, int32_t n)
{
    replica->plan_seen = replica->env->batcher->caches_scheduled && replica->prefixes.block_tokens > 0 ? n : 0;
    if (n < replica->planned.n_prefills) planned_blocks_empty(&replica->planned);
}

/* Before an admitted request takes its blocks: those of its prefix that earlier prefills of the plan compute are
 * cached now, and it holds them. Returns 0 or an error (cache.h). */
int replica_take_expected(struct replica *replica, struct request *request);

/* Caches the processed part of the request's prompt; publish_scheduled, where the batcher's engine does so, what will
 * have been processed after `tokens` more. Return 0 or an error (cache.h). */
int replica_publish_prefix(struct replica *replica, struct request *request);
int replica_publish_scheduled(struct replica *replica, struct request *request, int32_t tokens);

/* Before a request loses its blocks: if prefixes are cached, keeps its full blocks of `processed_tokens` tokens for
 * it until their room is needed. The chain is its own unless the trace names its blocks. Returns 0 or an error
 * (cache.h). */
int replica_keep_own_prefix(struct replica *replica, struct request *request, int32_t processed_tokens);

/* Before a finished request of a session loses its blocks: caches those of its output, for the next turn. Its last
 * token is not processed, so has no keys and values. Returns 0 or an error (cache.h). */
int replica_keep_output(struct replica *replica, struct request *request);

/* Releases the request's cached blocks. Returns how many of its held blocks these are. */
int64_t replica_release_prefix(struct replica *replica, struct request *request);

/* Gives a sequence the cached prefix of the request that it forks from. Returns 0 or an error (cache.h). */
int replica_fork_prefix(struct replica *replica, const struct request *request, struct request *sibling);

/* KV blocks that the request holds in the prefix cache. */
int64_t replica_prefix_blocks(const struct replica *replica, const struct request *request);

/* Tokens in the blocks that are counted more than once if each sequence counts all of its own. */
int64_t replica_repeated_tokens(const struct replica *replica);

/* Tokens cached once but used by several requests: each use beyond the first counts. */
static inline int64_t replica_duplicate_tokens(const struct replica *replica)
{
    const struct replica_prefixes *prefixes = &replica->prefixes;
    const int64_t blocks = prefixes->shares - prefixes->handed_shares - prefixes->cache.view.held;
    const int64_t repeated_tokens = replica->env->sampling != NULL ? replica_repeated_tokens(replica) : 0;
    return repeated_tokens + (blocks > 0 ? blocks * prefixes->block_tokens : 0);
}

/* Leading blocks of the prompt that are cached; *usable: those that the request may use at all. */
int32_t replica_matched_blocks(const struct replica *replica, const struct request *request, int32_t *usable);

/* --- replica_store.c: all but the first three only if the replica has a store --- */

/* Sets callbacks of the prefix cache, if there is a store. */
void replica_watch_prefixes(struct replica *replica, struct cache_options *options);

/* The boundary of the current run at which the prefix cache evicts a block that the store takes; `end` if that is not
 * before `end`, a later boundary than the present one. */
int64_t replica_first_eviction(const struct replica *replica, int64_t end);

/* Opens the store of a replica that has GPUs and caches prefixes, unless there is none or it is open. */
void replica_open_store(struct replica *replica, sim_ns now);

/* Starts to write what this event has published and evicted. */
void replica_begin_writes(struct replica *replica);
static inline void replica_write_prefixes(struct replica *replica)
{
    if (replica->store->n_wants > 0) replica_begin_writes(replica);
}

/* Of `usable` leading blocks, `hits` of which are cached: those behind them that would be loaded. */
int32_t replica_loadable_blocks(const struct replica *replica, const struct request *request, int32_t hits,
                                int32_t usable);

/* Starts to load n blocks behind `hits`, which the next batch waits for unless the request loads alone. Returns 0 or a
 * negative code. */
int replica_load_blocks(struct replica *replica, struct request *request, int32_t hits, int32_t n);

/* Starts to move so many bytes, of a copy or (NULL) of chunks, from a tier's device to the GPUs. The next batch waits,
 * unless the request loads alone. Returns 0 or a negative code. */
int replica_start_load(struct replica *replica, struct request *request, struct tier *device, int64_t bytes,
                       struct store_copy *copy);

/* Whether requests wait for their loads alone. */
static inline bool replica_loads_alone(const struct replica *replica)
{
    return replica->store != NULL && replica->store->config->waits == STORE_REQUEST_WAITS;
}

/* Abandons the request's loads. Returns 0 or an error (cache.h). */
int replica_drop_loads(struct replica *replica, struct request *request);

/* Begins to fetch what an arriving request will load. Returns whether it waits for that, outside the queue. */
bool replica_fetch_prefix(struct replica *replica, struct request *request, sim_ns now);

/* --- replica_speculate.c: if env->speculation is set; else `speculating` is NULL --- */

int replica_speculation_init(struct replica *replica); /* 0 or a negative code */
void replica_speculation_fini(struct replica *replica);

/* Asks the speculation policy for the drafts of the next iteration and checks its plan. Returns 0 or a negative
 * code. */
int replica_speculate(struct replica *replica, sim_ns now);

/* Whether the next iteration is planned with drafts. */
static inline bool replica_drafts(const struct replica *replica)
{
    return replica->speculating != NULL && replica->speculating->now.plan.depth > 0;
}

/* Takes the blocks of a step of the running batch with its drafts, which are adapted to the free blocks, and adds the
 * drafts to the work. */
void replica_begin_drafts(struct replica *replica, struct running_batch *running, struct iteration_work *work);

/* The members of the running batch have got their token: they get those of their drafts that are right, and unused
 * blocks are free again. Returns 0 or SIM_E_NOMEM. */
int replica_end_drafts(struct replica *replica, struct running_batch *running);

/* What the members of a batch got. */
struct drafted_gains {
    int64_t used_blocks, accepted;
    int64_t with_right[SPECULATION_MAX_DEPTH + 1]; /* members with so many right drafts, summed over iterations */
};

/* Counts iterations of the running batch with drafts, in which members made so many steps together. Returns 0 or
 * SIM_E_NOMEM. */
int replica_count_drafts(struct replica *replica, const struct running_batch *running, int64_t iterations,
                         int64_t steps, const struct drafted_gains *gains);

/* Joules of the draft model for an iteration with this work, beside those of its time. */
static inline double replica_draft_j(const struct replica *replica, const struct iteration_work *work)
{
    if (replica->speculating == NULL || replica->env->energy == NULL) return 0.0;
    return speculation_draft_j(replica->env->speculation, &replica->speculating->now.plan,
                               &replica->speculating->now.lacking, work);
}

/* --- replica_fork.c: requests that decode as several sequences --- */

/* Requests that are ready to decode become several sequences. Returns 0 or a negative code. */
int replica_fork_ready(struct replica *replica, sim_ns now);

/* Sequences that running requests will have beside one each. */
int64_t replica_unforked_sequences(const struct replica *replica);

/* Before a request loses its blocks: it no longer shares any with others of its group. Returns how many of its blocks
 * they hold. */
int64_t replica_leave_group(struct replica *replica, struct request *request);

/* Blocks that the request shares with others of its group. */
int64_t replica_group_blocks(const struct request *request);

/* Whether the request copies a block in the iteration that adds token `context_tokens` to its KV; and how many members
 * would, were each the first. */
bool replica_copies(const struct request *request, int64_t context_tokens, int64_t block_tokens);
int64_t replica_copies_of(const struct running_batch *running);

/* The members write their newest tokens: takes the blocks that this copies. */
void replica_write_groups(struct replica *replica, struct running_batch *running);

/* Beams that have got a token continue the histories of their parents. */
void replica_resample_beams(struct replica *replica, struct running_batch *running);

/* Before a beam loses its KV: the others of its request leave the batch for good. They are freed by
 * replica_free_dropped. */
void replica_drop_beams(struct replica *replica, struct request *survivor);
void replica_free_dropped(struct replica *replica);

/* The replica of a beam is lost. Returns whether the beam stays, as its request: of each group one does. */
bool replica_keep_beam(struct replica *replica, struct request *beam);

/* --- drafted_run.c: if env->speculation is set --- */

void replica_drafted_run_fini(struct drafted_run *run);

/* An iteration with drafts has begun: computes those up to the next change of the batch, if nobody waits for one, and
 * arms the event. Returns 0 or a negative code. */
int replica_start_drafts(struct replica *replica);

/* The event has come: the replica steps into the last computed iteration. *goes_on: more have been computed; otherwise
 * the batcher decides after this one. Returns 0 or a negative code. */
int replica_end_drafts_ahead(struct replica *replica, bool *goes_on);

/* Steps the replica into the iteration that is under way at a time, which is now or a time with no event pending. What
 * was computed ahead is no state of its own, so this may be called for a replica that is only read. */
void replica_follow_drafts(const struct replica *replica, sim_ns at);

/* Something has changed: the batcher decides after the iteration under way. */
void replica_cut_drafts(struct replica *replica, sim_ns now);

/* Whether iterations with drafts are computed ahead. */
static inline bool replica_is_ahead(const struct replica *replica)
{
    return replica->speculating != NULL && replica->speculating->run.n > 1;
}

/* --- replica_work.c --- */

/* Counts the work of the latest n iterations of the current run, none of them counted so far. They lasted
 * lasted_ns. */
void replica_count_decode_work(struct replica *replica, int64_t n, sim_ns lasted_ns);

/* Counts the work of one iteration of `lasted_ns`, with `in_flight_tokens` tokens of KV in batches in flight. */
void replica_count_work(struct replica *replica, const struct iteration_work *work,
                        const struct clock_state *clock_state, int64_t in_flight_tokens, sim_ns lasted_ns);

/* Joules of an iteration from start_ns to `at`, and watts now, if it draws `whole_j` until end_ns. They are spread
 * evenly. From a change of its speed on, what is left is spread over the time that is left. */
double replica_spread_j(const struct replica *replica, sim_ns start_ns, sim_ns end_ns, double whole_j, sim_ns at);
double replica_spread_w(const struct replica *replica, sim_ns start_ns, sim_ns end_ns, double whole_j);

/* Keeps what an iteration has drawn, before its end changes. */
void replica_keep_drawn(struct replica *replica, sim_ns start_ns, sim_ns end_ns, double whole_j, sim_ns now);
/* The same of the iteration of the current run that begins at a boundary. */
void replica_keep_run_drawn(struct replica *replica, int64_t boundary, sim_ns now);

/* Tokens of KV here of sequences that do not decode now. */
int64_t replica_idle_tokens(const struct replica *replica);

/* The work of this replica, done at this clock state. */
static inline struct work_of replica_work_of(const struct replica *replica, const struct clock_state *clock_state)
{
    return (struct work_of){&replica->env->reads, &replica->kv, replica->env->energy,
                            clock_state->is_slow ? &clock_state->energy : NULL, 0.0};
}

/* Something has changed for the batcher. strictly: decide after now, because events of this moment are still to
 * come. */
void replica_wake(struct replica *replica, sim_ns now, bool strictly);

/* --- replica.c --- */

/* The replica's share of its links has changed: the current iteration continues at another speed. Returns 0 or a
 * negative code. */
int replica_reprice(struct replica *replica, sim_ns now);

/* Its claims on links end: it is idle, or waits. */
void replica_end_claims(struct replica *replica);

/* The share of links has changed during an iteration of this work, which was to end at end_ns. Returns its new end.
 * The replica streams weights, or its collectives are on links, but not both: offloading is of one node. */
sim_ns replica_end_at_share(struct replica *replica, const struct iteration_work *work, sim_ns now, sim_ns end_ns);

/* Reports and counts what the current run or batches have done up to now. All boundaries of a run up to now must have
 * been visited. Called at the end of a simulation and when a replica is lost. */
int replica_count_so_far(struct replica *replica, sim_ns now);

void replica_arm(struct replica *replica, sim_ns at_ns);

/* Counts part of the current run; the parts add up to the same however the run is cut. */
void replica_count_busy(struct replica *replica, sim_ns begin, sim_ns end);

/* --- replica_inflight.c --- */

int replica_inflight_init(struct replica *replica); /* 0 or SIM_E_NOMEM */
void replica_inflight_fini(struct replica *replica);

/* Whether the plan's iteration is a batch in flight: with pipeline stages, KV to wait for, or only some of the
 * decoding sequences. */
static inline bool replica_plan_is_inflight(const struct replica *replica)
{
    const struct batch_plan *plan = &replica->plan;
    return replica->view.stages > 1 || replica->unattached != NULL ||
           (plan->decode && plan->decode_sequences < replica->ready->members.n);
}

/* Starts the plan's batch. */
int replica_start_inflight(struct replica *replica, sim_ns now);

/* A move that a batch in flight waited for has ended. Returns 0 or a negative code. */
int replica_inflight_loaded(struct replica *replica, struct inflight_batch *inflight, sim_ns now);

/* Completes batches that have passed all stages by now. */
int replica_complete_inflight(struct replica *replica, sim_ns now);

/* Arms the event of the next completion, if its time is known. */
void replica_arm_completion(struct replica *replica);

/* replica_reprice for the batch in flight; with offloading there is at most one. */
void replica_reprice_inflight(struct replica *replica, sim_ns now);

/* Joules above idle that batches in flight have drawn by a time, and watts above idle at that time. */
double replica_inflight_j(const struct replica *replica, sim_ns at);
double replica_inflight_w(const struct replica *replica, sim_ns at);

/* Prompts in batches in flight. */
int64_t replica_prompts_in_flight(const struct replica *replica);

/* Abandons the batches in flight: their requests have left them. */
void replica_drop_inflight(struct replica *replica);

/* At the end of a simulation: counts the busy time of batches that are still in flight, and reports each of them.
 * Returns 0 or the sink's code. */
int replica_settle_inflight(struct replica *replica, sim_ns now);

/* Busy time of batches in flight up to `at`, which the counts do not have yet. */
sim_ns replica_inflight_busy_ns(const struct replica *replica, sim_ns at);

/* --- replica_stages.c: if the batcher has compose_stage and there are several stages; else pipeline is NULL --- */

int replica_stages_init(struct replica *replica); /* 0 or SIM_E_NOMEM */
void replica_stages_fini(struct replica *replica);

/* Whether another batch may start; and the prompts in the batch on the first stage. */
bool replica_first_stage_is_free(const struct replica *replica);
int64_t replica_first_stage_prompts(const struct replica *replica);

/* Batches that have passed a stage by now move on, and free stages take what waits for them. Arms the next event. */
int replica_stages_step(struct replica *replica, sim_ns now);

/* Abandons the batches on their stages. */
void replica_stages_drop(struct replica *replica);

/* At the end of a simulation: counts the busy time of batches that are still on a stage, and reports each of them.
 * Returns 0 or the sink's code. */
int replica_stages_settle(struct replica *replica, sim_ns now);

/* Busy time of batches on stages up to `at`, which the counts do not have yet. */
sim_ns replica_stages_busy_ns(const struct replica *replica, sim_ns at);

/* Tokens in the cache of all sequences on the stages or between them. */
int64_t replica_stages_held_tokens(const struct replica *replica);

/* Visits the requests of batches that are on a stage or wait for one. */
void replica_stages_each(const struct replica *replica, void (*visit)(void *context, struct request *request),
                         void *context);

/* --- A batch in flight, for replica_inflight.c and replica_stages.c --- */

struct inflight_batch {
    struct running_batch *decoding; /* NULL: none */
    struct request_list prefilling;
    struct batch_prefill *chunks; /* [n_chunks] */
    int32_t n_chunks, capacity;
    int32_t n_moves; /* moves of KV that it waits for */
    bool is_timed;
    sim_ns entry_ns, stage_ns, last_ns; /* time on the first stage, one between, the last of several */
    sim_ns busy_ns;            /* mean over the stages */
    struct drafting *drafting; /* with speculation and several stages; else NULL */
    double draft_j;            /* of its drafts, beside the joules of their time */
    sim_ns start_ns, end_ns;
    double extrapolated_frac;
    struct iteration_work work;
    struct clock_state clock_state;
    struct inflight_batch *next; /* waiting for the same stage, or spare (replica_stages.c) */
};

/* Fills an empty in-flight batch with the plan's batch. Returns 0 or a negative code. */
int inflight_fill(struct replica *replica, struct inflight_batch *inflight, sim_ns now);

/* Moves the first n members of the running batch, or all of them, to the batch. Returns 0 or SIM_E_NOMEM. */
int inflight_fill_decoding(struct replica *replica, struct inflight_batch *inflight, struct running_batch **from,
                           int64_t n);

/* Tokens in the cache of the sequences in the batch. */
int64_t inflight_held_tokens(const struct inflight_batch *inflight);

/* Sets the batch's times from its work. Returns 0 or a negative code. */
int inflight_set_times(struct replica *replica, struct inflight_batch *inflight);

/* As running_init, which see. */
int replica_init_batch(const struct replica *replica, struct running_batch *running);

/* Takes an empty running batch, NULL when out of memory; returns an empty one to the spares. */
struct running_batch *replica_take_spare_batch(struct replica *replica);
void replica_give_spare_batch(struct replica *replica, struct running_batch *running);
void running_free(struct running_batch *running);

/* Reports the batch to env->on_batch. */
int inflight_report(const struct replica *replica, const struct inflight_batch *inflight, int64_t n, sim_ns end_ns);

/* All sequences of the batch have their token: they return to the replica, are handed over or finish. Returns 0 or a
 * negative code. */
int inflight_complete(struct replica *replica, struct inflight_batch *inflight, sim_ns now);

/* Empties a batch whose requests have left it. */
void inflight_drop(struct replica *replica, struct inflight_batch *inflight);

/* Frees the batch's memory. */
void inflight_fini(struct inflight_batch *inflight);

#endif
