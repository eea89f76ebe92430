/* Chunked prefill in one token budget, as in vLLM v1 (vLLM 0.8 and later): there are no prefill and decode phases; an
 * iteration is a number of tokens of each request.
 *
 * Running requests come first, in order of admission: one token and its drafts for each that decodes, the rest of the
 * budget for an unfinished prompt. Blocks are taken for exactly the tokens processed. A sequence that needs a block and
 * finds none preempts the last running one, which restarts from nothing at the head of the queue. If no sequence was
 * preempted, requests are admitted in order of arrival while budget, slots and the blocks of their first chunk allow.
 * The first that does not fit stops admission.
 *
 * Full blocks of a prompt are in the prefix cache from when they are scheduled (allocate_slots). Requests that are
 * admitted after it in the same iteration share them. Requests that end in one iteration release their blocks in order
 * of admission, as they were scheduled (update_from_output).
 *
 * An unfinished prompt is preempted like any other sequence: by one that was admitted before it, or by itself when its
 * next chunk finds no block. All that it has processed is lost, except for full blocks that stay in a prefix cache. In
 * the iteration of a preemption nobody is admitted, so it returns in the next one at the earliest.
 *
 * With pipeline stages vLLM differs in two rules, since it counts tokens as computed when they are scheduled
 * (_update_after_schedule). It schedules the next chunk of a prompt at once, so that chunks of one prompt follow each
 * other through the stages; here a request is in one batch at a time. It preempts sequences in flight too, and removes
 * those that end when they return (update_from_output); here a sequence that would have to preempt itself waits while
 * others are in flight.
 *
 * Where a prefix store lets requests wait for their loads alone, a request with stored tokens is loaded first. It takes
 * the blocks of its whole prompt, but no slot and no tokens of the iteration, and those behind it may be admitted. When
 * it has loaded it needs no blocks, so it is admitted past a request that finds none: in vLLM both could wait for ever.
 *
 * With order "priority" the queue is in order of priority, then of arrival. A running sequence that finds no block
 * preempts the one with the highest number, of these the latest arrival, of these the first in order of admission. That
 * may be one that already has tokens in this iteration, which gives them back. Nobody is preempted for a request that
 * waits. Requests from a prefill pool resume in order of arrival, whatever their priority.
 *
 * Rules of later releases are parameters, off by default. They limit the chunks of long prompts, check the whole
 * prompt at admission, and keep a watermark. With `async` an iteration is scheduled while the one before it runs
 * (step_with_batch_queue). So the slots, tokens and blocks of sequences that have just ended admit no request before
 * the next iteration. A request that has arrived since that iteration began waits for it too, unless nothing else
 * runs. vLLM ends the request's queue time when it schedules. Here it ends when the iteration begins, so
 * `request.queue_s` is longer by up to an iteration. With pipeline stages `async` changes nothing. Read in
 * vllm-project/vllm: vllm/v1/engine/core.py @ 00080ee, vllm/v1/core/sched/scheduler.py @ 00024d3, for priorities @
 * b4622cf (schedule) with request_queue.py @ 0097c7e (PriorityRequestQueue); vllm/v1/core/kv_cache_manager.py @
 * 003df29 (allocate_slots); pull requests 37307 (the check, later on by default) and 27614 (asynchronous scheduling
 * by default). max_num_partial_prefills has no effect in the V1 scheduler (pull request 49244).
 *
 * Cost. With order "priority" each admission visits the whole queue: the cost of an iteration is quadratic in a queue
 * that is admitted at once. */
#include "policies/batching/making_room.h"
#include "policies/batching/priority_order.h"
#include "policies/declared.h"
#include "sim/core/mem.h"
#include "sim/core/vec.h"
#include "sim/world/policy/batching.h"

struct vllm_v1_params {
    int64_t max_sequences, token_budget, long_prefill_tokens;
    double watermark;
    bool reserve_full_prompt, async;
    int order; /* enum order */
    struct config_list priorities; /* struct class_priority */
};

enum order { ORDER_FCFS, ORDER_PRIORITY };
static const char *const orders[] = {"fcfs", "priority", NULL};

#define ROW_OF struct vllm_v1_params
static const struct config_field vllm_v1_fields[] = {
    ROW_INT("max_sequences", max_sequences, DEFAULT("256"), WITHIN(1, 65536),
            "most running sequences (vLLM: max_num_seqs)"),
    ROW_INT("token_budget", token_budget, DEFAULT("2048"), WITHIN(1, 1e9),
            "most tokens in an iteration, at least max_sequences (vLLM: max_num_batched_tokens)"),
    ROW_INT("long_prefill_tokens", long_prefill_tokens, DEFAULT("0"), WITHIN(0, 1e9),
            "most tokens of one prompt in an iteration (vLLM: long_prefill_token_threshold); 0: no limit"),
    ROW_BOOL("reserve_full_prompt", reserve_full_prompt, DEFAULT("false"),
             "admit a request only if its whole prompt fits (vLLM: scheduler_reserve_full_isl, on in releases since April "
             "2026)"),
    ROW_REAL("admission_watermark", watermark, DEFAULT("0"), WITHIN(0, 1),
             "share of the KV blocks that an admission beside running requests leaves free (vLLM: watermark)"),
    ROW_BOOL("async", async, DEFAULT("false"),
             "what arrives or ends in an iteration is known one later; not with stages (vLLM: async_scheduling)"),
    ROW_CHOICE("order", order, DEFAULT("fcfs"), orders,
               "queue and preemption (vLLM: scheduling_policy); priority: slow with long queues"),
    ROW_CLASSES("priorities", priorities, OPTIONAL, ANY, struct class_priority, class_priority_fields,
                "by class of requests; default: 0"),
    {0}};
#undef ROW_OF

/* A running sequence in an iteration with priorities. */
struct turn {
    const struct request_view *request;
    int64_t tokens, blocks; /* that it gets */
    bool is_prompt, is_scheduled, is_evicted;
};

struct vllm_v1 {
    struct vllm_v1_params params;
    struct turn *turns; /* of the running sequences, by admission; valid within a plan */
    size_t n_turns, capacity;
    int64_t expected;    /* sequences that decode after the last plan if none ends */
    int64_t free_blocks; /* after the first iteration of the last plan if no sequence ends in it */
    int64_t decode_step; /* at the last plan */
    bool left_over;      /* requests wait that the last plan could not admit */
};

static int vllm_v1_init(void *state, const void *params, struct diag *diag)
{
    struct vllm_v1 *batcher = state;
    const struct vllm_v1_params *own = params;
    *batcher = (struct vllm_v1){.params = *own};
    priority_warn("vllm-v1", own->order == ORDER_PRIORITY, &own->priorities, diag);
    if (own->token_budget >= own->max_sequences) return 0;
    return diag_error(diag, SIM_E_CONFIG, NULL, "raise token_budget or lower max_sequences",
                      "vllm-v1: token_budget (%lld) is less than max_sequences (%lld)", (long long)own->token_budget,
                      (long long)own->max_sequences);
}

/* Budget left in this iteration. */
struct budget {
    int64_t tokens, free_blocks;
    int64_t chunk_tokens; /* most of one prompt */
};

/* Plans the request's next chunk; false when there are no blocks for it. */
static bool take_chunk(const struct replica_view *view, struct batch_plan *plan, const struct request_view *request,
                       struct budget *budget)
{
    int32_t tokens = prompt_chunk(view, request,
                                  budget->tokens < budget->chunk_tokens ? budget->tokens : budget->chunk_tokens);
    int64_t held_tokens = prompt_done(view, request) + tokens;
    int64_t needed = replica_view_needed_blocks(view, request, held_tokens);
    if (needed > budget->free_blocks) return false;
    budget->free_blocks -= needed;
    budget->tokens -= tokens;
    batch_plan_prefill_holding(plan, request, tokens, held_tokens);
    return true;
}

/* The running sequences from both ends: next to be scheduled, and next to be evicted. */
struct walk {
    const struct replica_view *view;
    struct batch_plan *plan;
    const struct request_view *decoding, *prompt;           /* next */
    const struct request_view *last_decoding, *last_prompt; /* evicted next */
    int64_t n_decoding, n_prompts;                          /* not scheduled, not evicted */
    struct budget budget;
    struct room room;
    bool waits; /* a sequence waits for blocks of sequences in flight */
};

static bool came_before(const struct request_view *a, const struct request_view *b)
{
    return a->admission < b->admission;
}

static bool last_is_prompt(const struct walk *walk)
{
    return walk->n_decoding == 0 || (walk->n_prompts > 0 && came_before(walk->last_decoding, walk->last_prompt));
}

/* Evicts the last running sequence; at least one has not been scheduled. */
static const struct request_view *evict_last(struct walk *walk)
{
    bool is_prompt = last_is_prompt(walk);
    const struct request_view **last = is_prompt ? &walk->last_prompt : &walk->last_decoding, *victim = *last;
    *last = victim->prev;
    --*(is_prompt ? &walk->n_prompts : &walk->n_decoding);
    batch_plan_evict(walk->plan, victim, "no free KV block");
    walk->budget.free_blocks += replica_view_freed_blocks(walk->view, victim);
    walk->room.running--;
    return victim;
}

static bool take_turn(struct walk *walk, const struct request_view *member, bool is_prompt)
{
    if (is_prompt) return take_chunk(walk->view, walk->plan, member, &walk->budget);
    bool grows = replica_view_grows(walk->view, member);
    if (grows && walk->budget.free_blocks < 1) return false;
    walk->budget.free_blocks -= grows;
    const int64_t tokens = walk->view->decode_tokens_each; /* a small budget cuts no drafts */
    walk->budget.tokens -= tokens < walk->budget.tokens ? tokens : walk->budget.tokens;
    walk->room.decoding++;
    return true;
}

static void run_in_order(struct walk *walk)
{
    while (walk->budget.tokens > 0 && walk->n_decoding + walk->n_prompts > 0) {
        bool is_prompt = walk->n_decoding == 0 || (walk->n_prompts > 0 && came_before(walk->prompt, walk->decoding));
        const struct request_view **next = is_prompt ? &walk->prompt : &walk->decoding, *member = *next;
        while (!take_turn(walk, member, is_prompt)) {
            const struct request_view *last = last_is_prompt(walk) ? walk->last_prompt : walk->last_decoding;
            walk->waits = last == member && walk->view->n_in_flight > 0;
            if (walk->waits || evict_last(walk) == member) return;
        }
        *next = member->next;
        --*(is_prompt ? &walk->n_prompts : &walk->n_decoding);
    }
}

/* --- Priorities --- */

static int add_turn(struct vllm_v1 *batcher, const struct request_view *request, bool is_prompt)
{
    const struct turn turn = {.request = request, .is_prompt = is_prompt};
    return vec_push(&batcher->turns, &batcher->n_turns, &batcher->capacity, turn);
}

static int list_turns(struct vllm_v1 *batcher, const struct walk *walk)
{
    const struct request_view *decoding = walk->decoding, *prompt = walk->prompt;
    int64_t n_decoding = walk->view->n_decoding, n_prompts = walk->view->n_prefilling;
    int code = 0;
    batcher->n_turns = 0;
    while (code == 0 && n_decoding + n_prompts > 0) {
        const bool is_prompt = n_decoding == 0 || (n_prompts > 0 && came_before(prompt, decoding));
        const struct request_view **next = is_prompt ? &prompt : &decoding;
        code = add_turn(batcher, *next, is_prompt);
        *next = (*next)->next;
        --*(is_prompt ? &n_prompts : &n_decoding);
    }
    return code;
}

/* The running sequence that goes first when blocks are short. */
static struct turn *last_in_priority(const struct vllm_v1 *batcher)
{
    const struct config_list *priorities = &batcher->params.priorities;
    struct turn *last = NULL;
    for (struct turn *turn = batcher->turns; turn < batcher->turns + batcher->n_turns; turn++) {
        if (turn->is_evicted) continue;
        if (last == NULL || priority_yields(priorities, turn->request, last->request)) last = turn;
    }
    return last;
}

/* What a sequence would take; it has the tokens that the budget had before anybody made room for it. */
static void ask_for(const struct walk *walk, struct turn *turn)
{
    const struct replica_view *view = walk->view;
    const int64_t budget = walk->budget.tokens, chunk = walk->budget.chunk_tokens;
    if (turn->is_prompt) {
        turn->tokens = prompt_chunk(view, turn->request, budget < chunk ? budget : chunk);
        turn->blocks = replica_view_needed_blocks(view, turn->request, prompt_done(view, turn->request) + turn->tokens);
    } else {
        turn->tokens = view->decode_tokens_each < budget ? view->decode_tokens_each : budget;
        turn->blocks = replica_view_grows(view, turn->request);
    }
}

/* Counts what the sequence takes, or gives back (-1). */
static void count_turn(struct walk *walk, struct turn *turn, int sign)
{
    turn->is_scheduled = sign > 0;
    walk->budget.free_blocks -= sign * turn->blocks;
    walk->budget.tokens -= sign * turn->tokens;
    if (turn->is_prompt) return;
    walk->room.decoding += sign;
    walk->n_decoding -= sign;
}

static void preempt(struct walk *walk, struct turn *turn)
{
    if (turn->is_scheduled) count_turn(walk, turn, -1);
    turn->is_evicted = true;
    if (!turn->is_prompt) walk->n_decoding--;
    batch_plan_evict(walk->plan, turn->request, "no free KV block, and the lowest priority");
    walk->budget.free_blocks += replica_view_freed_blocks(walk->view, turn->request);
    walk->room.running--;
}

/* Makes room for a sequence. Returns false if it is preempted itself, or waits for sequences in flight. */
static bool make_room_for(const struct vllm_v1 *batcher, struct walk *walk, struct turn *turn)
{
    while (turn->blocks > walk->budget.free_blocks) {
        struct turn *last = last_in_priority(batcher);
        walk->waits = last == turn && walk->view->n_in_flight > 0;
        if (walk->waits) return false;
        preempt(walk, last);
        if (last == turn) return false;
    }
    return true;
}

/* As run_in_order, with any sequence to be preempted. Returns 0 or SIM_E_NOMEM. */
static int run_by_priority(struct vllm_v1 *batcher, struct walk *walk)
{
    const int code = list_turns(batcher, walk);
    if (code != 0) return code;
    for (size_t i = 0; i < batcher->n_turns && walk->budget.tokens > 0; i++) {
        struct turn *turn = &batcher->turns[i];
        if (turn->is_evicted) continue;
        ask_for(walk, turn);
        if (!make_room_for(batcher, walk, turn)) break;
        count_turn(walk, turn, 1);
    }
    for (const struct turn *turn = batcher->turns; turn < batcher->turns + batcher->n_turns; turn++)
        if (turn->is_prompt && turn->is_scheduled)
            batch_plan_prefill_holding(walk->plan, turn->request, (int32_t)turn->tokens,
                                       prompt_done(walk->view, turn->request) + turn->tokens);
    return 0;
}

/* --- Plans --- */

/* Plans the running sequences. Returns 0 or SIM_E_NOMEM. */
static int go_on(struct vllm_v1 *batcher, const struct replica_view *view, struct batch_plan *plan, struct walk *walk)
{
    const struct vllm_v1_params *params = &batcher->params;
    const bool by_priority = params->order == ORDER_PRIORITY;
    *walk = (struct walk){.view = view, .plan = plan, .decoding = view->oldest_decoding, .prompt = view->prefilling,
                            .last_decoding = view->youngest_decoding, .last_prompt = view->last_prefilling,
                            .n_decoding = view->n_decoding, .n_prompts = view->n_prefilling,
                            .budget = {params->token_budget, view->free_blocks,
                                       params->long_prefill_tokens > 0 ? params->long_prefill_tokens : INT64_MAX},
                            .room = {.running = replica_view_running(view)}};
    bool in_order = view->n_prefilling == 0 || view->n_decoding == 0 ||
                    came_before(view->youngest_decoding, view->prefilling);
    const int64_t decode_tokens = view->n_decoding * view->decode_tokens_each;
    const bool has_tokens = view->decode_tokens_each == 1 || decode_tokens <= walk->budget.tokens;
    if (in_order && has_tokens && view->free_blocks >= view->growing && (!by_priority || view->n_prefilling == 0)) {
        walk->budget.free_blocks -= view->growing;
        walk->budget.tokens -= decode_tokens;
        walk->room.decoding = view->n_decoding;
        walk->n_decoding = 0;
    }
    const int code = by_priority && walk->n_decoding + walk->n_prompts > 0 ? run_by_priority(batcher, walk) : 0;
    if (!by_priority) run_in_order(walk);
    plan->decode = walk->room.decoding > 0;
    if (plan->decode && walk->n_decoding > 0) plan->decode_sequences = walk->room.decoding;
    if (plan->n_evictions > 0) plan->iterations = 1;
    walk->room.free_blocks = walk->budget.free_blocks;
    return code;
}

/* Whether the whole prompt, if that counts, leaves the watermark free. */
static bool leaves_room(const struct vllm_v1_params *params, const struct replica_view *view,
                        const struct request_view *request, int64_t watermark, const struct budget *budget)
{
    if (!params->reserve_full_prompt) return true;
    return replica_view_needed_blocks(view, request, request->prompt_tokens) + watermark <= budget->free_blocks;
}

/* Begins to load the request if it has stored tokens: with the blocks of its whole prompt, outside of the running
 * requests. Returns 1 if so, 0 if it is to be admitted, or -1 if there are no blocks for it. */
static int take_load(const struct replica_view *view, struct batch_plan *plan, const struct request_view *request,
                     struct budget *budget)
{
    if (replica_view_stored_tokens(view, request) == 0) return 0;
    const int64_t needed = replica_view_needed_blocks(view, request, request->prompt_tokens);
    if (needed > budget->free_blocks) return -1;
    budget->free_blocks -= needed;
    batch_plan_load(plan, request);
    return 1;
}

/* The next request of the queue behind `last`; NULL: its head. */
static const struct request_view *next_of(const struct vllm_v1_params *params, const struct replica_view *view,
                                          const struct request_view *last)
{
    if (params->order == ORDER_PRIORITY) return priority_next(&params->priorities, view->waiting, last);
    return last != NULL ? last->next : view->waiting;
}

/* When this iteration was scheduled: it has no request that arrived later. SIM_NS_MAX: it is scheduled now. */
static sim_ns scheduled_ns(const struct vllm_v1_params *params, const struct replica_view *view, int64_t running)
{
    const bool is_ahead = params->async && view->stages == 1 && running > 0;
    return is_ahead ? replica_view_last_began_ns(view) : SIM_NS_MAX;
}

/* Returns whether requests are left that only a change at this replica can admit. */
static bool admit_from_head(const struct vllm_v1_params *params, const struct replica_view *view,
                            struct batch_plan *plan, int64_t running, struct budget *budget)
{
    const sim_ns known_ns = scheduled_ns(params, view, running);
    int64_t n_parked = view->n_parked;
    bool is_blocked = false, is_late = false;
    for (const struct request_view *r = next_of(params, view, NULL); r != NULL && (!is_blocked || n_parked > 0);
         r = next_of(params, view, r)) {
        const bool is_parked = r->prefilled_tokens > 0;
        n_parked -= is_parked;
        if (r->state == REQUEST_LOADING || (is_blocked && !is_parked)) continue;
        if (r->arrival_ns > known_ns) {
            batch_plan_limit(plan, NULL, BATCH_LIMIT_LATE);
            is_late = true;
            plan->iterations = 1;
            continue;
        }
        const int64_t watermark = running > 0 ? (int64_t)(params->watermark * (double)view->total_blocks) : 0;
        const int64_t with_it = running + request_view_sequences(r);
        const bool has_slot = with_it <= params->max_sequences || running == 0;
        if (!has_slot || budget->tokens == 0 || batch_plan_full(plan)) {
            const bool has_tokens = budget->tokens > 0;
            if (!has_slot || !has_tokens)
                batch_plan_limit(plan, r, has_slot ? BATCH_LIMIT_TOKENS : BATCH_LIMIT_SEQUENCES);
            return true;
        }
        is_blocked = is_blocked || !leaves_room(params, view, r, watermark, budget);
        if (is_blocked) batch_plan_limit(plan, r, BATCH_LIMIT_KV_BLOCKS);
        if (is_blocked && !is_parked) continue;
        budget->free_blocks -= watermark;
        const int loads = take_load(view, plan, r, budget);
        const bool is_taken = loads == 1 || (loads == 0 && take_chunk(view, plan, r, budget));
        budget->free_blocks += watermark;
        is_blocked = is_blocked || !is_taken;
        if (!is_taken) batch_plan_limit(plan, r, BATCH_LIMIT_KV_BLOCKS);
        if (is_taken && loads == 0) running = with_it;
    }
    return is_blocked || is_late;
}

/* --- Ends that are known late --- */

/* What the engine will know to be free in the next iteration only: that of the sequences that have just ended. */
struct late {
    int64_t sequences, blocks; /* blocks INT64_MAX: no request is admitted */
};

/* With `async`. A plan of several iterations left over requests for which nothing but an end can make room. */
static struct late known_late(const struct vllm_v1 *batcher, const struct replica_view *view)
{
    const int64_t ended = batcher->expected - view->n_decoding, freed = view->free_blocks - batcher->free_blocks;
    if (!batcher->params.async || !batcher->left_over || view->stages > 1 || ended <= 0) return (struct late){0};
    if (view->n_decoding + view->n_prefilling == 0) return (struct late){0};
    if (view->decode_step - batcher->decode_step > 1) return (struct late){ended, INT64_MAX};
    return (struct late){ended, freed > 0 ? freed : 0};
}

static void look_ahead(struct vllm_v1 *batcher, const struct replica_view *view, const struct batch_plan *plan,
                       int64_t free_blocks)
{
    batcher->free_blocks = free_blocks;
    batcher->decode_step = view->decode_step;
    batcher->expected = view->n_decoding;
    for (int32_t i = 0; i < plan->n_evictions && i < plan->capacity; i++)
        batcher->expected -= plan->evictions[i].request->state == REQUEST_DECODING;
    for (int32_t i = 0; i < plan->n_prefills && i < plan->capacity; i++) /* a prefill holds what it has processed */
        batcher->expected += plan->prefills[i].hold_tokens == plan->prefills[i].request->prompt_tokens;
}

/* Admits with the slots, tokens and blocks that the engine knows to be free. */
static bool admit_known(const struct vllm_v1_params *params, const struct replica_view *view, struct batch_plan *plan,
                        const struct late *late, struct walk *walk)
{
    struct budget *budget = &walk->budget;
    if (late->blocks > budget->free_blocks || late->sequences > budget->tokens) {
        batch_plan_limit(plan, NULL, BATCH_LIMIT_LATE);
        return true;
    }
    budget->free_blocks -= late->blocks;
    budget->tokens -= late->sequences;
    const bool left_over = admit_from_head(params, view, plan, walk->room.running + late->sequences, budget);
    budget->free_blocks += late->blocks;
    return left_over;
}

static void vllm_v1_fini(void *state)
{
    mem_free(((struct vllm_v1 *)state)->turns);
}

/* Requests whose KV is elsewhere resume with what is left. */
static void resume(const struct vllm_v1_params *params, const struct replica_view *view, struct batch_plan *plan,
                   struct walk *walk)
{
    const int64_t decoding = walk->room.decoding;
    const struct room_rules rules = {.max_batch = decoding + walk->budget.tokens / view->decode_tokens_each};
    resume_requests(view, plan, &rules, params->max_sequences, 0, &walk->room);
    walk->budget.tokens -= (walk->room.decoding - decoding) * view->decode_tokens_each;
    walk->budget.free_blocks = walk->room.free_blocks;
}

static int vllm_v1_compose(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    struct vllm_v1 *batcher = state;
    const struct vllm_v1_params *params = &batcher->params;
    const struct late late = known_late(batcher, view);
    struct walk walk;
    const int code = go_on(batcher, view, plan, &walk);
    if (code != 0) return code;
    if (walk.waits || plan->n_evictions > 0) batch_plan_limit(plan, NULL, BATCH_LIMIT_KV_BLOCKS);
    if (walk.waits) return 0;
    if (view->n_nonresident > 0) resume(params, view, plan, &walk);
    batcher->left_over = plan->n_evictions > 0 || admit_known(params, view, plan, &late, &walk);
    if (late.sequences > 0 || plan->n_loads > 0) plan->iterations = 1; /* what loads hold, others can share then */
    plan->recheck_on_arrival = !batcher->left_over || params->order == ORDER_PRIORITY; /* it may be the first */
    if (params->async) look_ahead(batcher, view, plan, walk.budget.free_blocks);
    return 0;
}

static bool vllm_v1_schedules_ahead(const void *given)
{
    const struct vllm_v1_params *params = given;
    return params->async;
}

const struct batcher batching_vllm_v1 = {
    .policy = {POLICY_HEAD(batcher, POLICY_BATCHING),
               .name = "vllm-v1",
               .summary = "prompts in chunks beside decoding in one token budget, paged KV, preemption by recomputation",
               .source = "vLLM 0.8, V1 scheduler",
               .params = vllm_v1_fields,
               .params_bytes = sizeof(struct vllm_v1_params),
               .state_bytes = sizeof(struct vllm_v1),
               .init = vllm_v1_init,
               .fini = vllm_v1_fini},
    .compose = vllm_v1_compose,
    .accepts_remote = true,
    .forks = true,
    .loads = true,
    .caches_scheduled = true,
    .ends_as_scheduled = true,
    .schedules_ahead = vllm_v1_schedules_ahead,
    .order = BATCH_BY_ADMISSION,
};
