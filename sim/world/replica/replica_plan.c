/* The border between a replica and its batcher: the view of the batcher, and the check of its plan. */
#include "sim/core/check.h"
#include "sim/core/mem.h"
#include "sim/world/kv/offload.h"
#include "sim/world/policy/instance.h"
#include "sim/world/replica/inside.h"

#include <stddef.h>
#include <string.h>

enum { MIN_PLAN_ENTRIES = 64, MAX_PLANNED_FROM_QUEUE = 1 << 16 };

/* --- The view --- */

int64_t replica_view_context_tokens(const struct replica_view *view, const struct request_view *request)
{
    const struct request *member = request_of(request);
    switch (request->state) {
    case REQUEST_DECODING: return member->context_tokens + view->decode_step - member->joined_step;
    case REQUEST_PREFILLING: return request->prefilled_tokens;
    case REQUEST_PAUSED:
    case REQUEST_NONRESIDENT:
    case REQUEST_MOVING: return member->context_tokens;
    default: return 0;
    }
}

sim_ns replica_view_last_began_ns(const struct replica_view *view)
{
    const struct replica *replica = (const struct replica *)((uintptr_t)view - offsetof(struct replica, view));
    const int64_t before = replica->run_steps > 0 ? replica->run_steps - 1 : 0;
    return run_clock_boundary_ns(&replica->clock, before);
}

int64_t replica_view_generated_tokens(const struct replica_view *view, const struct request_view *request)
{
    (void)view;
    return replica_generated_tokens(request_of(request));
}

bool replica_view_is_remote(const struct replica_view *view, const struct request_view *request)
{
    (void)view;
    return request_of(request)->is_remote;
}

bool replica_view_kv_is_pushed(const struct replica_view *view, const struct request_view *request)
{
    (void)view;
    return request_of(request)->kv_is_pushed;
}

bool replica_view_decodes_here(const struct replica_view *view, const struct request_view *request)
{
    (void)view;
    return request_of(request)->decode_replica == request_of(request)->replica;
}

double replica_view_iteration_s(const struct replica_view *view, const struct batch_plan *plan)
{
    const struct replica *replica = (const struct replica *)((uintptr_t)view - offsetof(struct replica, view));
    const struct running_batch *ready = replica->ready;
    struct iteration_work work = {.prefill_sequences = 0};
    struct iteration_cost cost;
    for (int32_t i = 0; i < plan->n_prefills && i < plan->capacity; i++) {
        const struct request_view *request = plan->prefills[i].request;
        if (request == NULL) continue; /* the check of the plan says so */
        iteration_add_prompt(&work, plan->prefills[i].tokens,
                             request->prefilled_tokens + replica_view_cached_tokens(view, request));
    }
    if (plan->decode) {
        work.decode_sequences = ready->members.n;
        work.decode_context_tokens = ready->context_tokens;
        work.decode_longest_tokens = running_longest_tokens(ready);
    }
    if (work.prefill_tokens + work.decode_sequences == 0) return 0;
    replica->env->model.cost(replica->env->model.model, &work, &cost);
    return replica->env->speed_frac > 0.0 ? cost.first_s / replica->env->speed_frac : cost.first_s;
}

bool replica_view_grows(const struct replica_view *view, const struct request_view *request)
{
    const struct request *member = request_of(request);
    if (member->is_watched && replica_copies(member, replica_view_context_tokens(view, request), view->block_tokens))
        return true;
    if (!member->grows) return false;
    return (member->context_tokens + view->decode_step - member->joined_step) % view->block_tokens ==
           1 % view->block_tokens;
}

int64_t replica_view_blocks(const struct replica_view *view, const struct request_view *request)
{
    const struct request *member = request_of(request);
    if (!member->grows) return member->held_blocks;
    return blocks_for_tokens(view, replica_view_context_tokens(view, request) - 1);
}

int64_t replica_view_output_tokens(const struct replica_view *view, const struct request_view *request)
{
    struct replica *replica = (struct replica *)((uintptr_t)view - offsetof(struct replica, view));
    const struct request *member = request_of(request);
    if (!(replica->env->batcher->policy.oracle & ORACLE_OUTPUT)) replica->asked_oracle = request;
    return member->output_tokens - replica_generated_tokens(member);
}

static const struct request_view *view_of(const struct request *request)
{
    return request != NULL ? &request->view : NULL;
}

static void refresh_view(struct replica *replica, sim_ns now)
{
    struct replica_view *view = &replica->view;
    const struct running_batch *ready = replica->ready;
    view->now_ns = now;
    view->free_blocks = replica->kv.free_blocks;
    view->n_waiting = replica->waiting.n;
    view->n_prefilling = replica->prefilling.n;
    view->n_decoding = ready->members.n;
    view->n_paused = replica->paused.n;
    view->n_nonresident = replica->nonresident.n;
    view->n_remote = replica->n_remote;
    view->n_moving = replica->moving.n + replica->arrived.n;
    view->n_in_flight = replica->in_flight;
    view->decode_context_tokens = ready->context_tokens;
    view->growing = kv_growth_at(&ready->growth, ready->step) + (ready->n_watched > 0 ? replica_copies_of(ready) : 0);
    view->n_parked = replica->n_parked;
    view->n_unforked = replica->env->sampling != NULL ? replica_unforked_sequences(replica) : 0;
    view->waiting = view_of(replica->waiting.head);
    view->prefilling = view_of(replica->prefilling.head);
    view->last_prefilling = view_of(replica->prefilling.tail);
    view->oldest_decoding = view_of(ready->members.head);
    view->youngest_decoding = view_of(ready->members.tail);
    view->paused = view_of(replica->paused.head);
    view->nonresident = view_of(replica->nonresident.head);
    view->decode_step = ready->step;
    view->decode_tokens_each = replica_drafts(replica) ? 1 + replica->speculating->now.plan.tokens : 1;
}

/* --- The check --- */

/* Room left after the actions of a plan that have been checked. */
struct room {
    int64_t free_blocks, growth, resumed_growth, decoding;
};

static int plan_fault(const struct replica *replica, sim_ns now, const char *action, int64_t id, const char *why)
{
    return diag_error(replica->env->diag, SIM_E_POLICY, NULL, NULL,
                      "batching policy '%s' asked to %s request %lld on replica %d at %.9f s, but %s",
                      replica->env->batcher->policy.name, action, (long long)id, replica->index, sim_s_from_ns(now),
                      why);
}

/* A plan may name requests of its own replica only, each once. */
static int check_named(const struct replica *replica, sim_ns now, const char *action,
                       const struct request_view *request)
{
    if (request == NULL || request_of(request)->replica != replica->index)
        return plan_fault(replica, now, action, request == NULL ? -1 : request->id,
                          "it is not a request of this replica");
    struct request *member = request_of(request);
    if (member->planned == replica->plan_number)
        return plan_fault(replica, now, action, request->id, "it has named it already");
    if (member->in_flight || (member->running != NULL && member->running != replica->ready))
        return plan_fault(replica, now, action, request->id, "it is in a batch under way");
    member->planned = replica->plan_number;
    return 0;
}

static int check_rejections(const struct replica *replica, sim_ns now)
{
    for (int32_t i = 0; i < replica->plan.n_rejections; i++) {
        const struct request_view *request = replica->plan.rejections[i].request;
        int code = check_named(replica, now, "reject", request);
        if (code != 0) return code;
        if (request->state != REQUEST_WAITING)
            return plan_fault(replica, now, "reject", request->id, "it is not waiting");
    }
    return 0;
}

static int check_eviction(const struct replica *replica, sim_ns now, const struct batch_eviction *eviction,
                          struct room *room)
{
    const struct request_view *request = eviction->request;
    bool swap = eviction->kind == EVICT_SWAP;
    int code = check_named(replica, now, swap ? "swap" : "evict", request);
    if (code != 0) return code;
    if (request->state != REQUEST_DECODING && request->state != REQUEST_PAUSED &&
        (swap || request->state != REQUEST_PREFILLING))
        return plan_fault(replica, now, swap ? "swap" : "evict", request->id,
                          swap ? "it does not decode" : "it is neither decoding nor prefilling");
    if (swap && !replica->env->batcher->resumes_swapped)
        return plan_fault(replica, now, "swap", request->id, "its policy does not say that it resumes_swapped");
    if (swap && replica->env->move_kv == NULL)
        return plan_fault(replica, now, "swap", request->id, "there is nowhere to move its KV to");
    room->free_blocks += replica_view_freed_blocks(&replica->view, request);
    if (request->state == REQUEST_DECODING) room->decoding--;
    room->growth -= replica_view_grows(&replica->view, request);
    return 0;
}

static int check_pause(const struct replica *replica, sim_ns now, const struct request_view *request, struct room *room)
{
    int code = check_named(replica, now, "pause", request);
    if (code != 0) return code;
    if (request->state != REQUEST_DECODING) return plan_fault(replica, now, "pause", request->id, "it does not decode");
    room->growth -= replica_view_grows(&replica->view, request);
    room->decoding--;
    return 0;
}

/* Whether held blocks suffice to the end of a request, if they are more than those of the tokens it has. */
static bool lasts(const struct replica *replica, const struct request *request, int64_t held, int64_t tokens)
{
    const int64_t left = request->output_tokens - request->generated_tokens;
    return held <= kvcache_blocks(&replica->kv, tokens) || held >= kvcache_blocks(&replica->kv, tokens + left - 1);
}

static int check_resumption(const struct replica *replica, sim_ns now, const struct batch_resumption *resumption,
                            struct room *room)
{
    const struct request_view *request = resumption->request;
    int code = check_named(replica, now, "resume", request);
    if (code != 0) return code;
    if (request->state != REQUEST_PAUSED && request->state != REQUEST_NONRESIDENT)
        return plan_fault(replica, now, "resume", request->id, "it is neither paused nor swapped out");
    bool nonresident = request->state == REQUEST_NONRESIDENT;
    if (nonresident && resumption->wait && !(replica->plan.decode && replica->plan.decode_sequences == INT64_MAX))
        return plan_fault(replica, now, "resume", request->id, "the iteration that waits for it does not decode");
    if (nonresident && resumption->wait && replica->pipeline != NULL)
        return plan_fault(replica, now, "resume", request->id, "no batch of stages that batch for themselves waits");
    int64_t context = request_of(request)->context_tokens;
    int64_t kv_blocks = replica_resumed_blocks(replica, resumption);
    if (nonresident) room->free_blocks -= kv_blocks;
    if (nonresident && !lasts(replica, request_of(request), kv_blocks, context))
        return plan_fault(replica, now, "resume", request->id, "its reservation would not last to its end");
    if (!nonresident || resumption->wait) {
        int64_t held = nonresident ? kv_blocks : request_of(request)->held_blocks;
        room->resumed_growth += held < kvcache_blocks(&replica->kv, context) ||
                                replica_copies(request_of(request), context, replica->kv.block_tokens);
        room->decoding++;
    }
    if (room->free_blocks < 0)
        return plan_fault(replica, now, "resume", request->id, "there are too few free KV blocks");
    return 0;
}

/* A reservation beyond the prompt must last to the end of the request, if that is here. */
static int check_reservation(const struct replica *replica, sim_ns now, const struct batch_prefill *prefill)
{
    const struct request *request = request_of(prefill->request);
    int64_t held = kvcache_blocks(&replica->kv, prefill->hold_tokens);
    if (held < request->held_blocks) held = request->held_blocks;
    if (!replica_view_decodes_here(&replica->view, &request->view)) return 0;
    if (lasts(replica, request, held, request->view.prompt_tokens)) return 0;
    return plan_fault(replica, now, "prefill", request->view.id, "its reservation would not last to its end");
}

static int check_prefill(const struct replica *replica, sim_ns now, const struct batch_prefill *prefill,
                         struct room *room)
{
    const struct request_view *request = prefill->request;
    int code = check_named(replica, now, "prefill", request);
    if (code != 0) return code;
    if (request->state != REQUEST_WAITING && request->state != REQUEST_PREFILLING)
        return plan_fault(replica, now, "prefill", request->id, "it is neither waiting nor prefilling");
    int64_t processed = request->prefilled_tokens + replica_view_cached_tokens(&replica->view, request);
    if (prefill->tokens < 1 || prefill->tokens > request->prompt_tokens - processed)
        return plan_fault(replica, now, "prefill", request->id, "its prompt has no such number of tokens left");
    if (prefill->hold_tokens < processed + prefill->tokens)
        return plan_fault(replica, now, "prefill", request->id, "it would not hold the KV blocks of these tokens");
    if (replica->env->batcher->caches_scheduled && prefill->hold_tokens > processed + prefill->tokens)
        return plan_fault(replica, now, "prefill", request->id,
                          "it would hold KV blocks of more tokens, while its policy says that it caches_scheduled");
    room->free_blocks -= replica_view_needed_blocks(&replica->view, request, prefill->hold_tokens);
    if (room->free_blocks < 0)
        return plan_fault(replica, now, "prefill", request->id, "there are too few free KV blocks");
    return check_reservation(replica, now, prefill);
}

/* A request that loads takes the blocks of its prompt at once. A plan that evicts may change what is cached. */
static int check_load(const struct replica *replica, sim_ns now, const struct request_view *request, struct room *room)
{
    int code = check_named(replica, now, "load", request);
    if (code != 0) return code;
    if (request->state != REQUEST_WAITING) return plan_fault(replica, now, "load", request->id, "it is not waiting");
    if (replica->plan.n_evictions > 0)
        return plan_fault(replica, now, "load", request->id, "this plan evicts a request");
    if (replica_view_stored_tokens(&replica->view, request) == 0)
        return plan_fault(replica, now, "load", request->id, "it has no stored tokens to wait for");
    room->free_blocks -= replica_view_needed_blocks(&replica->view, request, request->prompt_tokens);
    return room->free_blocks >= 0 ? 0
                                  : plan_fault(replica, now, "load", request->id, "there are too few free KV blocks");
}

static bool too_many(const struct batch_plan *plan)
{
    return plan->n_prefills > plan->capacity || plan->n_evictions > plan->capacity ||
           plan->n_rejections > plan->capacity || plan->n_pauses > plan->capacity ||
           plan->n_resumptions > plan->capacity || plan->n_loads > plan->capacity;
}

/* What is said to end the admissions, and where. */
static int check_limit(const struct replica *replica, sim_ns now)
{
    const struct batch_plan *plan = &replica->plan;
    if ((unsigned)plan->limit >= N_BATCH_LIMITS)
        return diag_error(replica->env->diag, SIM_E_POLICY, NULL, "use a value of enum batch_limit",
                          "batching policy '%s' names limit %u at %.9f s; the last one is %d",
                          replica->env->batcher->policy.name, (unsigned)plan->limit, sim_s_from_ns(now),
                          N_BATCH_LIMITS - 1);
    if (plan->limited == NULL || request_of(plan->limited)->replica == replica->index) return 0;
    return plan_fault(replica, now, "end admissions at", plan->limited->id, "it is not a request of this replica");
}

/* Checks of how long the choice holds, of sizes, and of what ends the admissions. */
static int check_terms(const struct replica *replica, sim_ns now, bool names_requests)
{
    const struct batch_plan *plan = &replica->plan;
    const char *policy = replica->env->batcher->policy.name;
    if (replica->asked_oracle != NULL)
        return plan_fault(replica, now, "see the output length of", replica->asked_oracle->id,
                          "it has not declared ORACLE_OUTPUT");
    if (names_requests && too_many(plan))
        return diag_error(replica->env->diag, SIM_E_POLICY, NULL, "ask batch_plan_full before adding",
                          "batching policy '%s' made a plan of more than %d entries of a kind at %.9f s", policy,
                          plan->capacity, sim_s_from_ns(now));
    if (plan->iterations < 1 || plan->keep_free_blocks < 0 || plan->decode_sequences < 1)
        return diag_error(replica->env->diag, SIM_E_POLICY, NULL, NULL,
                          "batching policy '%s' says at %.9f s that its choice stands for %lld iterations of %lld "
                          "sequences, while %lld blocks stay free; these must be at least 1, 1 and 0",
                          policy, sim_s_from_ns(now), (long long)plan->iterations, (long long)plan->decode_sequences,
                          (long long)plan->keep_free_blocks);
    return check_limit(replica, now);
}

/* Blocks that the first n remaining sequences take, without the resumed ones. */
static int64_t growth_of_first(const struct replica *replica, int64_t n)
{
    int64_t growth = 0;
    for (const struct request_view *r = replica->view.oldest_decoding; r != NULL && n > 0; r = r->next) {
        if (request_of(r)->planned == replica->plan_number) continue; /* it leaves */
        growth += replica_view_grows(&replica->view, r);
        n--;
    }
    return growth;
}

static int check_decode(const struct replica *replica, sim_ns now, struct room *room)
{
    const struct batch_plan *plan = &replica->plan;
    bool some = plan->decode_sequences < room->decoding;
    room->free_blocks -= some ? growth_of_first(replica, plan->decode_sequences) + room->resumed_growth
                              : room->growth + room->resumed_growth;
    if (room->decoding == 0 || room->free_blocks >= 0) return 0;
    const struct request_view *first = replica->view.oldest_decoding;
    return plan_fault(replica, now, "decode", first != NULL ? first->id : -1, "there are too few free KV blocks");
}

/* Requests that leave the batch, or return to it. */
static int check_moves(const struct replica *replica, sim_ns now, struct room *room)
{
    const struct batch_plan *plan = &replica->plan;
    int code = check_rejections(replica, now);
    for (int32_t i = 0; code == 0 && i < plan->n_evictions; i++)
        code = check_eviction(replica, now, &plan->evictions[i], room);
    for (int32_t i = 0; code == 0 && i < plan->n_pauses; i++) code = check_pause(replica, now, plan->pauses[i], room);
    for (int32_t i = 0; code == 0 && i < plan->n_resumptions; i++)
        code = check_resumption(replica, now, &plan->resumptions[i], room);
    return code;
}

/* Prompts that load or are processed. */
static int check_prompts(struct replica *replica, sim_ns now, struct room *room)
{
    const struct batch_plan *plan = &replica->plan;
    int code = 0;
    for (int32_t i = 0; code == 0 && i < plan->n_loads; i++) code = check_load(replica, now, plan->loads[i], room);
    for (int32_t i = 0; code == 0 && i < plan->n_prefills; i++) {
        replica_see_prefills(replica, i);
        code = check_prefill(replica, now, &plan->prefills[i], room);
    }
    replica_see_prefills(replica, 0);
    return code;
}

static int check_plan(struct replica *replica, sim_ns now, bool names_requests)
{
    struct room room = {replica->kv.free_blocks, replica->view.growing, 0, replica->view.n_decoding};
    int code = check_terms(replica, now, names_requests);
    if (code == 0 && names_requests) code = check_moves(replica, now, &room);
    if (code == 0 && replica->plan.decode) code = check_decode(replica, now, &room);
    if (code == 0 && names_requests) code = check_prompts(replica, now, &room);
    return code;
}

/* --- Asking --- */

static int array_reserve(void *array, size_t n, size_t bytes_each)
{
    void *grown, *old;
    memcpy(&old, array, sizeof old);
    if ((grown = mem_realloc(old, n * bytes_each)) == NULL) return SIM_E_NOMEM;
    memcpy(array, &grown, sizeof grown);
    return 0;
}

/* Makes room for n entries of each kind. Returns 0 or SIM_E_NOMEM. */
static int reserve_entries(struct batch_plan *plan, int64_t n)
{
    if (n <= plan->capacity) return 0;
    n += n / 2;
    if (array_reserve(&plan->prefills, (size_t)n, sizeof *plan->prefills) != 0 ||
        array_reserve(&plan->evictions, (size_t)n, sizeof *plan->evictions) != 0 ||
        array_reserve(&plan->rejections, (size_t)n, sizeof *plan->rejections) != 0 ||
        array_reserve(&plan->pauses, (size_t)n, sizeof(struct request_view *)) != 0 ||
        array_reserve(&plan->resumptions, (size_t)n, sizeof *plan->resumptions) != 0 ||
        array_reserve(&plan->loads, (size_t)n, sizeof(struct request_view *)) != 0)
        return SIM_E_NOMEM;
    plan->capacity = (int32_t)n;
    return 0;
}

void replica_plan_fini(struct batch_plan *plan)
{
    mem_free(plan->prefills);
    mem_free(plan->evictions);
    mem_free(plan->rejections);
    mem_free((void *)plan->pauses);
    mem_free((void *)plan->loads);
    mem_free(plan->resumptions);
}

/* In a valid plan: the offloader chooses the place of evicted decoding sequences, if the batcher takes them back from
 * there. */
static void ask_offloader(struct replica *replica)
{
    const struct replica_env *env = replica->env;
    struct batch_plan *plan = &replica->plan;
    if (!env->batcher->resumes_swapped || env->offload == NULL || env->move_kv == NULL) return;
    for (int32_t i = 0; i < plan->n_evictions; i++) {
        struct batch_eviction *eviction = &plan->evictions[i];
        if (eviction->kind == EVICT_RECOMPUTE && eviction->request->state == REQUEST_DECODING &&
            offload_evicted(env->offload, eviction->request) == OFFLOAD_HOST)
            eviction->kind = EVICT_SWAP;
    }
}

int64_t replica_plan_stage(struct replica *replica, struct running_batch *waiting, sim_ns now)
{
    struct running_batch *ready = replica->ready;
    replica->ready = waiting;
    refresh_view(replica, now);
    int64_t n = replica->env->batcher->compose_stage(replica->batcher_state, &replica->view);
    replica->ready = ready;
    return n > 0 ? n : 1;
}

/* Room for every request, up to a limit for long queues. A replica without requests so far has no room: of a large
 * fleet most may be idle. */
static int reserve(struct replica *replica)
{
    if (replica->plan.capacity == 0 && reserve_entries(&replica->plan, MIN_PLAN_ENTRIES) != 0) return SIM_E_NOMEM;
    int64_t queued = replica->waiting.n + replica->nonresident.n;
    if (queued > MAX_PLANNED_FROM_QUEUE) queued = MAX_PLANNED_FROM_QUEUE;
    return reserve_entries(&replica->plan,
                           replica->ready->members.n + replica->prefilling.n + replica->paused.n + queued + 1);
}

/* Most plans only decode. */
static bool plan_names_requests(const struct batch_plan *plan)
{
    return plan->n_prefills + plan->n_evictions + plan->n_rejections + plan->n_pauses + plan->n_resumptions +
               plan->n_loads >
           0;
}

int replica_plan(struct replica *replica, sim_ns now)
{
    struct batch_plan *plan = &replica->plan;
    const struct batcher *batcher = replica->env->batcher;
    int64_t step = replica->ready->step;
    int code = replica->env->sampling != NULL ? replica_fork_ready(replica, now) : 0;
    if (code == 0 && reserve(replica) != 0) return SIM_E_NOMEM;
    if (code == 0 && replica->speculating != NULL) code = replica_speculate(replica, now);
    if (code != 0) return code;
    refresh_view(replica, now);
    plan->n_prefills = plan->n_evictions = plan->n_rejections = plan->n_pauses = plan->n_resumptions = 0;
    plan->n_loads = 0;
    plan->decode = plan->recheck_on_arrival = false;
    plan->decode_sequences = INT64_MAX;
    plan->keep_free_blocks = 0;
    plan->iterations = INT64_MAX;
    plan->limit = BATCH_LIMIT_UNSTATED;
    plan->limited = NULL;
    replica->plan_number++;
    if (replica->env->on_compose != NULL && (code = replica->env->on_compose(replica, now)) != 0) return code;
    replica_see_prefills(replica, INT32_MAX);
    code = batcher->compose(replica->batcher_state, &replica->view, plan);
    replica_see_prefills(replica, 0);
    if (code != 0) return policy_failed(&batcher->policy, "compose", code, now, replica->env->diag);
    const bool names_requests = plan_names_requests(plan);
    code = check_plan(replica, now, names_requests);
    if (code == 0 && replica->env->on_queue != NULL)
        code = replica->env->on_queue(replica, plan->limited, now, ADMISSION_PLANNED);
    if (code != 0) return code;
    if (plan->n_evictions > 0) ask_offloader(replica);
    if (names_requests) code = replica_apply_moves(replica, now);
    replica_see_prefills(replica, 0);
    int64_t iterations = plan->iterations;
    if (replica->speculating != NULL && replica->speculating->now.plan.iterations < iterations)
        iterations = replica->speculating->now.plan.iterations;
    replica->plan_end_step = iterations < INT64_MAX - step ? step + iterations : INT64_MAX;
    return code;
}
