#include "sim/world/replica/inside.h"

#include "sim/core/check.h"
#include "sim/world/policy/routing.h"
#include "sim/world/replica/replica_chunks.h"
#include "sim/world/replica/replica_stream.h"
#include "sim/world/replica/replica_traffic.h"

/* --- Transfers of KV ---
 *
 * To the host and back, or from the replica that processed the prompt. env.move_kv decides who moves KV and how fast;
 * this section tracks who waits for it and where it is. */

/* Whether the KV moves to or from the host, not from another replica that processed the prompt. */
static bool is_of_host(const struct kv_move *move)
{
    return !move->request->is_remote;
}

static int start(struct kv_move *move, sim_ns now)
{
    struct replica *replica = move->replica;
    if (move->direction == KV_IN && is_of_host(move)) replica->host_blocks -= move->blocks;
    replica->moving_blocks += move->blocks;
    return replica->env->move_kv(move, now);
}

static int request_move(struct replica *replica, struct request *request, enum kv_direction direction, bool wait,
                        sim_ns now)
{
    struct kv_move *move = pool_take(replica->env->kv_moves), *before = request->move;
    if (move == NULL) return SIM_E_NOMEM;
    int64_t blocks = kvcache_blocks(&replica->kv, request->context_tokens - 1);
    *move = (struct kv_move){.replica = replica, .request = request, .direction = direction, .wait = wait,
                             .blocks = blocks, .bytes = blocks * replica->env->kv_block_bytes};
    replica->n_moves++;
    if (is_of_host(move)) replica->counts.swapped_bytes += move->bytes;
    request->move = move;
    if (wait) {
        move->next = replica->unattached;
        replica->unattached = move;
    }
    if (before == NULL) return start(move, now);
    before->then = move; /* the earlier move has not ended */
    move->before = before;
    return 0;
}

/* Moves the KV of a sequence that has left the batch to the host. */
static int replica_move_out(struct replica *replica, struct request *request, sim_ns now)
{
    return request_move(replica, request, KV_OUT, true, now);
}

/* Moves the KV of a swapped-out or remote sequence into its blocks here. */
static int replica_move_in(struct replica *replica, struct request *request, bool wait, sim_ns now)
{
    return request_move(replica, request, KV_IN, wait, now);
}

static void detach(struct replica *replica, const struct kv_move *move)
{
    struct kv_move **at = &replica->unattached;
    while (*at != NULL && *at != move) at = &(*at)->next;
    if (*at != NULL) *at = move->next;
}

int replica_kv_moved(struct kv_move *move, sim_ns now)
{
    struct replica *replica = move->replica;
    struct request *request = move->request;
    replica->n_moves--;
    replica->moving_blocks -= move->blocks;
    if (move->direction == KV_OUT) replica->host_blocks += move->blocks;
    if (request->move == move) request->move = NULL;
    if (move->then != NULL) move->then->before = NULL;
    int code = move->then != NULL ? start(move->then, now) : 0;
    if (code == 0 && move->inflight != NULL)
        code = replica_inflight_loaded(replica, move->inflight, now);
    else if (move->wait)
        detach(replica, move);
    if (move->direction == KV_IN && !move->wait) {
        request_list_remove(&replica->moving, request);
        request_list_push_back(&replica->arrived, request);
        replica_wake(replica, now, false);
    }
    engine_progress(replica->env->engine);
    pool_give(replica->env->kv_moves, move);
    return code;
}

void replica_enqueue_remote(struct replica *replica, struct request *request, sim_ns now)
{
    if (replica->store != NULL) replica_open_store(replica, now);
    if (replica->chunks != NULL) replica_open_chunks(replica, now);
    request->replica = replica->index;
    request->view.state = REQUEST_NONRESIDENT;
    request->planned = 0; /* not named by a plan of this replica */
    request_list_push_back(&replica->nonresident, request);
    replica->n_remote++;
    replica_add_load(replica, 1, 0, 0);
    replica_wake(replica, now, true);
}

void replica_release_kv(struct replica *replica, struct request *request, sim_ns now)
{
    replica_catch_up(replica, now);
    if (request->prefix != NULL) replica->prefixes.handed_shares -= request->prefix->n_shared;
    kvcache_give(&replica->kv, request->handed_blocks - replica_release_prefix(replica, request));
    replica->handed_blocks -= request->handed_blocks;
    request->handed_blocks = 0;
    replica_wake(replica, now, true);
}

static void divide_cost(struct iteration_cost *cost, double speed_frac)
{
    cost->first_s /= speed_frac;
    cost->slope_s /= speed_frac;
    cost->entry_s /= speed_frac;
}

/* A duration at a lower clock. */
static __attribute__((noinline)) void slow_down(const struct replica *replica, const struct iteration_work *work,
                                                struct iteration_cost *cost, struct clock_state *clock_state)
{
    const struct replica_env *env = replica->env;
    *clock_state = clock_state_of(env->clock_model, env->energy, &replica->order, &env->reads, work,
                                  replica_draft_j(replica, work), cost->first_s);
    if (clock_state->is_slow) divide_cost(cost, clock_state->speed_frac);
}

/* Adds what the model of the LLM leaves out: the seconds of drafting. */
static inline void add_drafting(const struct replica *replica, double draft_s, struct iteration_cost *cost)
{
    cost->first_s += draft_s;
    if (replica->env->speed_frac > 0.0) divide_cost(cost, replica->env->speed_frac);
}

static double draft_s_of(const struct replica *replica, const struct iteration_work *work)
{
    return speculation_draft_s(replica->env->speculation, &replica->speculating->now.plan,
                               &replica->speculating->now.lacking, work);
}

double replica_drafting_s(const struct replica *replica, const struct iteration_work *work,
                          const struct clock_state *clock_state)
{
    if (replica->speculating == NULL) return 0.0;
    double draft_s = draft_s_of(replica, work);
    if (replica->env->speed_frac > 0.0) draft_s /= replica->env->speed_frac;
    return clock_state->is_slow ? draft_s / clock_state->speed_frac : draft_s;
}

/* Without a draft LLM, drafting takes equally long for all batches: they are of equally many sequences. */
void replica_drafted_costs(const struct replica *replica, const struct iteration_work *works, int32_t n,
                           struct iteration_cost *costs)
{
    const struct iteration_model *model = &replica->env->model;
    void *memo = replica->env->speculation->memo;
    const bool varies = replica->env->speculation->draft.cost != NULL;
    const double first_s = draft_s_of(replica, works);
    if (memo != NULL) model->cost_row(model->model, memo, works, n, costs);
    for (int32_t i = 0; i < n; i++) {
        if (memo == NULL) model->cost(model->model, &works[i], &costs[i]);
        add_drafting(replica, varies && i > 0 ? draft_s_of(replica, &works[i]) : first_s, &costs[i]);
    }
}

int replica_refuse_cost(const struct replica *replica, const struct iteration_work *work,
                        const struct iteration_cost *cost)
{
    return diag_error(replica->env->diag, SIM_E_CONFIG, NULL, "check its parameters",
                      "the %s cost of service '%s' gives %g s, then %g s more each time, for %lld iterations of %lld "
                      "prefill tokens and %lld decoding sequences",
                      replica->env->model.kind, replica->env->service, cost->first_s, cost->slope_s,
                      (long long)cost->until, (long long)work->prefill_tokens, (long long)work->decode_sequences);
}

int replica_cost(const struct replica *replica, const struct iteration_work *work, struct iteration_cost *cost,
                 struct clock_state *clock_state)
{
    const struct iteration_model *model = &replica->env->model;
    int code = 0;
    if (replica->stream == NULL && work->decode_drafts > 0) {
        replica_drafted_costs(replica, work, 1, cost);
    } else {
        if (replica->stream != NULL)
            code = replica_stream_cost(replica->stream, work, cost);
        else
            model->cost(model->model, work, cost);
        if (code != 0) return code;
        add_drafting(replica, replica->speculating != NULL ? draft_s_of(replica, work) : 0.0, cost);
    }
    clock_state->is_slow = false;
    if (replica_is_ordered(replica)) slow_down(replica, work, cost, clock_state);
    if (replica->traffic != NULL) code = replica_traffic_cost(replica->traffic, work, cost);
    return code != 0 || replica_cost_is_sound(cost) ? code : replica_refuse_cost(replica, work, cost);
}

/* --- Leaving the batch --- */

void replica_give_blocks(struct replica *replica, struct request *request)
{
    int64_t shared_blocks = replica_leave_group(replica, request) + replica_release_prefix(replica, request);
    kvcache_give(&replica->kv, request->held_blocks + request->window_blocks - shared_blocks);
    replica->window_blocks -= request->window_blocks;
    request->held_blocks = request->window_blocks = 0;
}

int replica_finish(struct replica *replica, struct request *request, sim_ns now)
{
    request->view.state = REQUEST_FINISHED;
    replica_add_load(replica, -1, 0, 0);
    engine_progress(replica->env->engine);
    return replica->env->on_finish(replica, request, now);
}

static int reject(struct replica *replica, struct request *request, const char *reason, sim_ns now)
{
    request_list_remove(&replica->waiting, request);
    request->view.state = REQUEST_REJECTED;
    replica_add_load(replica, -1, -1, -request_unprocessed_tokens(request));
    replica_unpark(replica, request);
    replica_give_blocks(replica, request);
    engine_progress(replica->env->engine);
    return replica->env->on_reject(replica, request, now, reason);
}

/* The next member to finish does. */
static __attribute__((noinline)) int finish_first(struct replica *replica, struct running_batch *running, sim_ns now)
{
    struct request *request = request_order_first(&running->finishing);
    running_leave(running, request);
    const int code = replica_keep_output(replica, request);
    if (code != 0) return code;
    replica_give_blocks(replica, request);
    SIM_ASSERT(request->generated_tokens == request->output_tokens);
    return replica_finish(replica, request, now);
}

int replica_finish_due(struct replica *replica, struct running_batch *running, sim_ns now)
{
    int code = 0;
    while (code == 0 && request_order_least(&running->finishing) <= running->step)
        code = finish_first(replica, running, now);
    if (replica->store != NULL) replica_write_prefixes(replica);
    return code;
}

/* Removes the request from its list or batch; it keeps its blocks and what it has processed. */
static void stop(struct replica *replica, struct request *request)
{
    if (request->view.state == REQUEST_DECODING)
        running_leave(replica->ready, request);
    else if (request->view.state == REQUEST_PAUSED)
        request_list_remove(&replica->paused, request);
    else
        request_list_remove(&replica->prefilling, request);
}

/* The request loses its blocks and returns to the head of the queue, or to its tail, to process again all that it had
 * processed. Its generated tokens become part of its prompt. */
static int recompute(struct replica *replica, struct request *request, bool to_tail)
{
    int32_t unprocessed_tokens = request_unprocessed_tokens(request);
    bool was_prompt = request->view.state == REQUEST_PREFILLING;
    stop(replica, request);
    int32_t processed_tokens = was_prompt ? request->view.prefilled_tokens : request->context_tokens - 1;
    int code = replica_keep_own_prefix(replica, request, processed_tokens);
    if (code != 0) return code;
    replica_give_blocks(replica, request);
    replica->counts.recomputed_tokens += processed_tokens;
    request->draft_tokens = 0;
    if (!was_prompt) request->view.prompt_tokens = request->context_tokens;
    request->view.prefilled_tokens = 0;
    request->view.state = REQUEST_WAITING;
    if (to_tail)
        request_list_push_back(&replica->waiting, request);
    else
        request_list_push_front(&replica->waiting, request);
    replica_add_load(replica, 0, 1, request_unprocessed_tokens(request) - unprocessed_tokens);
    return 0;
}

/* Inserts the request at the head of the nonresident ones, or in order of arrival if the batcher asks for that. */
static void leave_for_host(struct replica *replica, struct request *request)
{
    struct request_list *nonresident = &replica->nonresident;
    struct request *behind = nonresident->head;
    while (replica->env->batcher->order == BATCH_BY_ARRIVAL && behind != NULL &&
           behind->view.arrival_ns < request->view.arrival_ns)
        behind = request_of(behind->view.next);
    request_list_insert_before(nonresident, request, behind);
}

static int swap(struct replica *replica, struct request *request, sim_ns now)
{
    stop(replica, request);
    replica_give_blocks(replica, request);
    request->draft_tokens = 0;
    request->view.state = REQUEST_NONRESIDENT;
    leave_for_host(replica, request);
    replica->counts.swaps++;
    return replica_move_out(replica, request, now);
}

/* Reserves host memory for a sequence. Returns 1, 0 if there is no room, or a negative code. */
static int take_host(struct replica *replica, const struct request *request, sim_ns now)
{
    const struct replica_env *env = replica->env;
    int64_t tokens = replica_view_context_tokens(&replica->view, &request->view) - 1;
    return env->take_host == NULL
               ? 1
               : env->take_host(replica, kvcache_blocks(&replica->kv, tokens) * env->kv_block_bytes, now);
}

static int evict(struct replica *replica, const struct batch_eviction *eviction, sim_ns now)
{
    struct request *request = request_of(eviction->request);
    if (request->view.state == REQUEST_FINISHED) return 0; /* another beam of its request was evicted before it */
    const struct replica_env *env = replica->env;
    const bool is_swap = eviction->kind == EVICT_SWAP;
    const int room = is_swap ? take_host(replica, request, now) : 0;
    if (room < 0) return room;
    request->view.preemptions++;
    replica->counts.preemptions++;
    replica_drop_beams(replica, request);
    int code = 0;
    if (room > 0)
        code = swap(replica, request, now);
    else
        code = recompute(replica, request, eviction->kind == EVICT_REQUEUE);
    if (code == 0)
        code = env->on_preempt(replica, request, now,
                               is_swap && room == 0 ? "no room on the host for what is to be swapped"
                                                    : eviction->reason);
    return code == 0 && room > 0 && env->on_move != NULL ? env->on_move(replica, request, now, "swap") : code;
}

static int pause_decoding(struct replica *replica, struct request *request, sim_ns now)
{
    running_leave(replica->ready, request);
    request->view.state = REQUEST_PAUSED;
    request_list_push_back(&replica->paused, request);
    return replica->env->on_move != NULL ? replica->env->on_move(replica, request, now, "pause") : 0;
}

/* Counts a reservation beyond the tokens that a request has, and the tokens that it comes to. */
static void count_reservation(struct replica *replica, const struct request *request, int64_t hold_tokens,
                              int64_t tokens)
{
    if (hold_tokens <= tokens) return;
    replica->counts.reserved_tokens += hold_tokens;
    replica->counts.reserving_tokens += tokens + request->output_tokens - request->generated_tokens;
    replica->counts.reserving++;
}

static int resume(struct replica *replica, const struct batch_resumption *resumption, sim_ns now)
{
    struct request *request = request_of(resumption->request);
    const bool is_paused = request->view.state == REQUEST_PAUSED;
    int code = 0;
    if (replica->env->on_move != NULL)
        code = replica->env->on_move(replica, request, now, is_paused ? "continue" : "resume");
    if (code != 0) return code;
    if (is_paused) {
        request_list_remove(&replica->paused, request);
        return running_join(replica->ready, request, replica->env->batcher->order);
    }
    request_list_remove(&replica->nonresident, request);
    replica->n_remote -= request->is_remote;
    request->view.admission = ++replica->admissions;
    /* During the transfer no other sequence gets the block that its next token may need. */
    request->held_blocks = replica_resumed_blocks(replica, resumption);
    count_reservation(replica, request, resumption->hold_tokens, request->context_tokens);
    replica_take_blocks(replica, request->held_blocks);
    code = replica_move_in(replica, request, resumption->wait, now);
    if (code != 0) return code;
    if (resumption->wait) return running_join(replica->ready, request, replica->env->batcher->order);
    request->view.state = REQUEST_MOVING;
    request_list_push_back(&replica->moving, request);
    return 0;
}

/* Runs before blocks are taken, so that cached blocks which the plan counts on are not evicted. */
static int acquire_prefix(struct replica *replica, const struct batch_prefill *prefill)
{
    if (prefill->request->state != REQUEST_WAITING) return 0;
    if (replica->chunks != NULL) return replica_reuse_chunks(replica, request_of(prefill->request));
    return replica_acquire_prefix(replica, request_of(prefill->request));
}

int replica_apply_moves(struct replica *replica, sim_ns now)
{
    const struct batch_plan *plan = &replica->plan;
    int code = 0;
    for (int32_t i = 0; code == 0 && i < plan->n_rejections; i++)
        code = reject(replica, request_of(plan->rejections[i].request), plan->rejections[i].reason, now);
    for (int32_t i = 0; code == 0 && i < plan->n_evictions; i++) code = evict(replica, &plan->evictions[i], now);
    for (int32_t i = 0; code == 0 && i < plan->n_pauses; i++)
        code = pause_decoding(replica, request_of(plan->pauses[i]), now);
    for (int32_t i = 0; code == 0 && i < plan->n_loads; i++)
        code = replica_begin_load(replica, request_of(plan->loads[i]), now);
    for (int32_t i = 0; code == 0 && i < plan->n_prefills; i++) {
        replica_see_prefills(replica, i);
        code = acquire_prefix(replica, &plan->prefills[i]);
    }
    for (int32_t i = 0; code == 0 && i < plan->n_resumptions; i++) code = resume(replica, &plan->resumptions[i], now);
    for (int32_t i = 0; code == 0 && i < plan->n_loads; i++)
        replica_take_load_blocks(replica, request_of(plan->loads[i]));
    replica_free_dropped(replica);
    if (replica->store != NULL) replica_write_prefixes(replica); /* not before: the plan counts on what is stored */
    return code;
}

/* --- Joining the batch --- */

static void admit(struct replica *replica, struct request *request, sim_ns now)
{
    request_list_remove(&replica->waiting, request);
    request_list_insert(&replica->prefilling, request, BATCH_BY_RETURN);
    replica_unpark(replica, request);
    replica_add_load(replica, 0, -1, 0);
    request->view.admission = ++replica->admissions;
    request->view.state = REQUEST_PREFILLING;
    if (request->scheduled_ns == TIME_UNSET) request->scheduled_ns = now;
}

int replica_admit_prefills(struct replica *replica, struct iteration_work *work, sim_ns now)
{
    const struct batch_plan *plan = &replica->plan;
    for (int32_t i = 0; i < plan->n_prefills; i++) {
        const struct batch_prefill *prefill = &plan->prefills[i];
        struct request *request = request_of(prefill->request);
        int64_t needed = replica_view_needed_blocks(&replica->view, prefill->request, prefill->hold_tokens);
        const int64_t windows = replica_window_blocks(replica, request);
        const bool is_new = request->view.state == REQUEST_WAITING;
        int code = is_new && !request->is_parked ? replica_take_expected(replica, request) : 0;
        if (code == 0 && replica->env->on_prefill != NULL)
            code = replica->env->on_prefill(replica, prefill, replica->kv.free_blocks, now);
        if (code != 0) return code;
        if (is_new) count_reservation(replica, request, prefill->hold_tokens, request->view.prompt_tokens);
        if (is_new) admit(replica, request, now);
        replica_take_blocks(replica, needed);
        request->held_blocks += needed - windows;
        request->window_blocks += windows;
        replica->window_blocks += windows;
        if ((code = replica_publish_scheduled(replica, request, prefill->tokens)) != 0) return code;
        iteration_add_prompt(work, prefill->tokens, request->view.prefilled_tokens);
    }
    return 0;
}

void replica_begin_step(struct replica *replica, struct running_batch *running, struct iteration_work *work)
{
    work->decode_sequences = running->members.n;
    work->decode_context_tokens = running->context_tokens;
    work->decode_longest_tokens = running_longest_tokens(running);
    if (replica_drafts(replica) && running->n_watched == 0)
        replica_begin_drafts(replica, running, work);
    else
        replica_take_blocks(replica, kv_growth_at(&running->growth, running->step));
    if (running->n_watched > 0) replica_write_groups(replica, running);
}

/* The gap between the last token before a preemption and the first one after it. */
static int count_gap_of_preemption(struct replica *replica, struct request *request, sim_ns now)
{
    sim_ns gap_ns = now - request->joined_ns;
    request->max_gap = token_wait_longer(request->max_gap, (struct token_wait){gap_ns, request->joined_ns});
    return histogram_add(replica->env->token_gap_s, sim_s_from_ns(gap_ns), 1);
}

/* The request decodes elsewhere; its blocks stay taken until its KV has moved there. */
static int hand_over(struct replica *replica, struct request *request, sim_ns now)
{
    request->view.state = REQUEST_NONRESIDENT;
    request->is_remote = true;
    request->handed_blocks = request->held_blocks;
    request->held_blocks = 0;
    replica->handed_blocks += request->handed_blocks;
    if (request->prefix != NULL) replica->prefixes.handed_shares += request->prefix->n_shared;
    replica_add_load(replica, -1, 0, 0);
    return replica->env->on_handover(replica, request, now);
}

/* The prompt is processed and has yielded a token: the first one, or the next one after a preemption. */
static int end_prefill(struct replica *replica, struct request *request, sim_ns now)
{
    int code = 0;
    request->generated_tokens++;
    if (request->first_token_ns == TIME_UNSET)
        request->first_token_ns = now;
    else
        code = count_gap_of_preemption(replica, request, now);
    if (code != 0) return code;
    request->joined_ns = now;
    request->context_tokens = request->view.prompt_tokens + 1;
    engine_progress(replica->env->engine);
    const struct batcher *batcher = replica->env->batcher;
    if (request->generated_tokens == request->output_tokens) {
        /* It ends among those that decode: replica_finish_due. */
        if (batcher->ends_as_scheduled) return running_join(replica->ready, request, batcher->order);
        replica_give_blocks(replica, request);
        return replica_finish(replica, request, now);
    }
    if (replica->env->on_prefilled != NULL) code = replica->env->on_prefilled(replica, request, now);
    if (code < 0) return code;
    return code == 1 ? hand_over(replica, request, now) : running_join(replica->ready, request, batcher->order);
}

int replica_complete_prefills(struct replica *replica, const struct batch_prefill *prefills, int32_t n,
                              struct request_list *list, sim_ns now)
{
    int code = 0;
    for (int32_t i = 0; code == 0 && i < n; i++) {
        struct request *request = request_of(prefills[i].request);
        request->view.prefilled_tokens += prefills[i].tokens;
        replica->counts.computed_tokens += prefills[i].tokens;
        replica_add_load(replica, 0, 0, -prefills[i].tokens);
        if ((code = replica_publish_prefix(replica, request)) != 0) return code;
        bool ended = request->view.prefilled_tokens == request->view.prompt_tokens;
        if (ended && replica->chunks != NULL && (code = replica_keep_chunks(replica, request)) != 0) return code;
        if (!ended && list == &replica->prefilling) continue;
        request_list_remove(list, request);
        request->in_flight = false;
        if (ended)
            code = end_prefill(replica, request, now);
        else
            request_list_insert(&replica->prefilling, request, replica->env->batcher->order);
    }
    if (replica->store != NULL) replica_write_prefixes(replica);
    return code;
}

int replica_join_arrived(struct replica *replica)
{
    int code = 0;
    while (code == 0 && replica->arrived.n > 0) {
        struct request *request = replica->arrived.head;
        const bool reserves = request->held_blocks > kvcache_blocks(&replica->kv, request->context_tokens);
        const int64_t context_blocks = kvcache_blocks(&replica->kv, request->context_tokens - 1);
        const int64_t surplus_blocks = reserves ? 0 : request->held_blocks - context_blocks;
        request_list_remove(&replica->arrived, request);
        kvcache_give(&replica->kv, surplus_blocks); /* for its first step to take */
        request->held_blocks -= surplus_blocks;
        code = running_join(replica->ready, request, replica->env->batcher->order);
    }
    return code;
}
