/* In-flight batching of TensorRT-LLM 1.0. A capacity scheduler chooses the requests that KV blocks suffice for. A
 * micro-batch scheduler chooses what of them an iteration processes.
 *
 * Capacity.
 *   guaranteed-no-evict: requests join in order of arrival. One joins if the blocks for its prompt and its limit of
 *     output tokens are free beyond those reserved for others. The first that does not fit stops admission. Nobody is
 *     ever evicted.
 *   static-batch: the same, but requests join only while no sequence decodes.
 *   max-utilization: a request joins if the blocks of its prompt are free, and takes the others one by one. A sequence
 *     that finds none pauses the latest arrival, finally itself. A paused request loses its blocks and is recomputed
 *     from the head of the queue. No request joins in that iteration.
 *
 * Micro-batch. Decoding sequences come first, one token each, then prompts, up to token_budget tokens and max_sequences
 * requests. Prompts are whole; the first that does not fit ends the batch. With `chunked` they are cut, in chunks of
 * whole units unless the chunk ends the prompt: first come first served, or a unit for each in turn. A prompt holds all
 * its blocks from its first chunk on.
 *
 * Read in NVIDIA/TensorRT-LLM, cpp/tensorrt_llm/batch_manager: capacityScheduler.cpp @ 02a10fe, microBatchScheduler.cpp
 * @ 0a949d3, scheduledBlocksManager.h @ 1ce9149, kvCacheManager.cpp (getRemainingBlocksToCompletion). Defaults:
 * tensorrt_llm/llmapi/llm_args.py of 1.0.
 *
 * Requests whose prompt was processed in a prefill pool (state DISAGG_GENERATION_INIT) need the blocks to their limit,
 * under max-utilization those of their context. They join in their order, before all waiting prompts. One that does
 * not fit holds up those behind it, but no prompt. So does capacityScheduler.cpp for guaranteed-no-evict and
 * static-batch: it goes through its pendingDisGenInitRequests first.
 *
 * The limit of a request is `max_tokens`, for all alike, or exactly its output (`limits`). ORACLE_OUTPUT serves the
 * second. It also serves the rejection of requests whose output exceeds the limit: the engine would have cut them.
 *
 * Differences from the engine:
 * - Under max-utilization the engine has one order for requests that were handed over and for prompts that wait. Here
 *   the former overtake the latter, in pools that do both.
 * - Reserved blocks are taken at admission, so that they cannot hold cached prefixes meanwhile. The engine counts them.
 * - A request is not held back to reuse the prefix of one that is being processed (capacityScheduler.cpp,
 *   beneficialToSkip). So prompts that are admitted together compute a common prefix each, as they would there if they
 *   were not held back: blocks can be hit in the next step (trtGptModelInflightBatching.cpp @ 00825c4,
 *   storeContextBlocks). There that takes the prompt's last chunk, here each chunk.
 * - With pipeline stages max-utilization looks one step ahead, not two.
 * - Without `chunked`, a prompt longer than the token budget is cut instead of refused.
 * - A request takes no blocks from a shorter one that has overtaken it in the rest of a unit. */
#include "policies/batching/making_room.h"
#include "policies/declared.h"
#include "sim/world/policy/batching.h"

struct trtllm {
    int64_t max_sequences, token_budget, chunk_unit_tokens, max_tokens;
    int capacity, chunking, limits; /* indices of the names below */
    bool chunked;
};

static const char *const capacities[] = {"guaranteed-no-evict", "max-utilization", "static-batch", NULL};
static const char *const chunkings[] = {"first-come-first-served", "equal-progress", NULL};
static const char *const limit_kinds[] = {"max", "exact", NULL};
enum { NO_EVICT, MAX_UTILIZATION, STATIC_BATCH };
enum { FIRST_COME_FIRST_SERVED, EQUAL_PROGRESS };
enum { LIMIT_MAX, LIMIT_EXACT };

#define ROW_OF struct trtllm
static const struct config_field trtllm_fields[] = {
    ROW_INT("max_sequences", max_sequences, DEFAULT("2048"), WITHIN(1, 65536),
            "most requests in a batch (TensorRT-LLM: max_batch_size); with pipeline stages there are as many batches"),
    ROW_INT("token_budget", token_budget, DEFAULT("8192"), WITHIN(1, 1e9),
            "most tokens in an iteration (TensorRT-LLM: max_num_tokens)"),
    ROW_CHOICE("capacity", capacity, DEFAULT("guaranteed-no-evict"), capacities,
               "KV blocks: reserved for prompt and limit, taken one by one with pauses, or reserved for one batch at a "
               "time"),
    ROW_INT("max_tokens", max_tokens, DEFAULT("0"), WITHIN(0, 1e9),
            "output tokens that each request states as its limit, others are rejected; 0: up to the LLM's context"),
    ROW_CHOICE("limits", limits, DEFAULT("max"), limit_kinds,
               "limit of a request: max_tokens, or exactly its output, as benchmarks state it"),
    ROW_BOOL("chunked", chunked, DEFAULT("false"),
             "cut prompts to fill the budget (TensorRT-LLM: enable_chunked_prefill)"),
    ROW_CHOICE("chunking", chunking, DEFAULT("first-come-first-served"), chunkings,
               "budget of cut prompts: in order of arrival, or a unit for each in turn"),
    ROW_INT("chunk_unit_tokens", chunk_unit_tokens, DEFAULT("0"), WITHIN(0, 1e9),
            "tokens of which chunks are multiples, at most token_budget; 0: those of a KV block"),
    {0}};
#undef ROW_OF

static int trtllm_init(void *state, const void *params, struct diag *diag)
{
    struct trtllm *batcher = state;
    *batcher = *(const struct trtllm *)params;
    if (batcher->chunk_unit_tokens <= batcher->token_budget) return 0;
    return diag_error(diag, SIM_E_CONFIG, NULL, "no chunk would fit; raise token_budget or lower chunk_unit_tokens",
                      "trtllm: chunk_unit_tokens (%lld) is more than token_budget (%lld)",
                      (long long)batcher->chunk_unit_tokens, (long long)batcher->token_budget);
}

static int64_t unit_tokens(const struct trtllm *params, const struct replica_view *view)
{
    return params->chunk_unit_tokens > 0 ? params->chunk_unit_tokens
                                         : min_i64(view->block_tokens, params->token_budget);
}

/* --- Blocks --- */

/* Output tokens that a waiting request may still make, by its limit. */
static int64_t limit_left(const struct trtllm *params, const struct replica_view *view,
                          const struct request_view *request)
{
    if (params->limits == LIMIT_EXACT) return replica_view_output_tokens(view, request);
    if (params->max_tokens == 0) return INT32_MAX;
    return params->max_tokens - replica_view_generated_tokens(view, request);
}

/* Tokens that the request's blocks have room for from its admission on. */
static int64_t held_tokens(const struct trtllm *params, const struct replica_view *view,
                           const struct request_view *request)
{
    const int64_t prompt = request->prompt_tokens, whole = view->total_blocks * view->block_tokens;
    if (params->capacity == MAX_UTILIZATION || !replica_view_decodes_here(view, request)) return prompt;
    return min_i64(min_i64(prompt + limit_left(params, view, request), view->max_context_tokens), whole);
}

/* The same of a request that another replica has processed the prompt of. One whose output exceeds its limit goes on:
 * it cannot be refused any more. */
static int64_t resumed_tokens(const struct trtllm *params, const struct replica_view *view,
                              const struct request_view *request)
{
    const int64_t context = replica_view_context_tokens(view, request);
    const int64_t whole = view->total_blocks * view->block_tokens;
    const int64_t output = replica_view_output_tokens(view, request), limit = limit_left(params, view, request);
    if (params->capacity == MAX_UTILIZATION) return context;
    return min_i64(min_i64(context + (limit > output ? limit : output), view->max_context_tokens), whole);
}

/* Why the request is never served; NULL: it is. */
static const char *refusal(const struct trtllm *params, const struct replica_view *view,
                           const struct request_view *request)
{
    if (params->max_tokens > 0 && params->limits == LIMIT_MAX && replica_view_decodes_here(view, request) &&
        replica_view_output_tokens(view, request) > limit_left(params, view, request))
        return "output exceeds max_tokens";
    return NULL;
}

/* --- Prompts of a micro-batch --- */

/* Room for prompts. */
struct micro_batch {
    const struct trtllm *params;
    const struct replica_view *view;
    struct batch_plan *plan;
    int64_t tokens, sequences; /* left in this batch */
    int64_t first_units;       /* equal progress: tokens that the first unit of each prompt leaves */
    int64_t running;           /* left at the replica */
    int64_t free_blocks;
    const struct request_view *behind; /* equal progress: the first waiting request that gets no tokens for sure */
};

static bool shares_equally(const struct trtllm *params)
{
    return params->chunked && params->chunking == EQUAL_PROGRESS;
}

/* Equal progress: plans an empty chunk, which is filled later. Prompts that find no token left for their first unit
 * get none at all. */
static bool add_empty(struct micro_batch *batch, const struct request_view *request, int64_t hold_tokens, int64_t left)
{
    const int64_t first = min_i64(unit_tokens(batch->params, batch->view), left);
    batch_plan_prefill_holding(batch->plan, request, 0, hold_tokens);
    if (first <= batch->first_units) batch->first_units -= first;
    return batch->first_units > 0;
}

/* Admissions end at this prompt, if it is not one of those that go on. */
static void end_at(struct batch_plan *plan, const struct request_view *request, enum batch_limit limit)
{
    batch_plan_limit(plan, request->state == REQUEST_WAITING ? request : NULL, limit);
}

/* Plans a chunk of the prompt. Returns whether further prompts may follow. */
static bool add_prompt(struct micro_batch *batch, const struct request_view *request, int64_t hold_tokens)
{
    const struct trtllm *params = batch->params;
    const int64_t left = request->prompt_tokens - prompt_done(batch->view, request);
    int64_t tokens = min_i64(left, batch->tokens);
    const bool is_whole = tokens == left || params->chunked || request->prompt_tokens > params->token_budget;
    if (batch->sequences <= 0 || !is_whole) {
        end_at(batch->plan, request, is_whole ? BATCH_LIMIT_SEQUENCES : BATCH_LIMIT_TOKENS);
        return false;
    }
    if (tokens < left) tokens = tokens / unit_tokens(params, batch->view) * unit_tokens(params, batch->view);
    batch->sequences--;
    if (shares_equally(params)) return add_empty(batch, request, hold_tokens, left);
    if (tokens == 0)
        end_at(batch->plan, request, BATCH_LIMIT_TOKENS);
    else
        batch_plan_prefill_holding(batch->plan, request, (int32_t)tokens, hold_tokens);
    batch->tokens -= tokens;
    return batch->tokens > 0;
}

/* Adds waiting requests in order of arrival. Returns whether one is left over that only a change at this replica can
 * admit. */
static bool add_waiting(struct micro_batch *batch)
{
    for (const struct request_view *r = batch->view->waiting; r != NULL; r = r->next) {
        if (batch_plan_full(batch->plan)) {
            batch->plan->iterations = 1; /* the rest of the queue waits for the next plan */
            return true;
        }
        const char *reason = refusal(batch->params, batch->view, r);
        if (reason != NULL) {
            batch_plan_reject(batch->plan, r, reason);
            continue;
        }
        const int64_t hold_tokens = held_tokens(batch->params, batch->view, r);
        const int64_t needed = replica_view_needed_blocks(batch->view, r, hold_tokens);
        if (batch->running <= 0 || needed > batch->free_blocks) {
            batch_plan_limit(batch->plan, r, batch->running <= 0 ? BATCH_LIMIT_SEQUENCES : BATCH_LIMIT_KV_BLOCKS);
            return true;
        }
        batch->running--;
        batch->free_blocks -= needed;
        if (add_prompt(batch, r, hold_tokens)) continue;
        batch->behind = r->next;
        if (!shares_equally(batch->params)) batch_plan_limit(batch->plan, r->next, BATCH_LIMIT_TOKENS);
        return true;
    }
    return false;
}

static int64_t prompt_left(const struct micro_batch *batch, const struct batch_prefill *prefill)
{
    return prefill->request->prompt_tokens - prompt_done(batch->view, prefill->request) - prefill->tokens;
}

/* Gives whole units to all unfinished prompts at once, for as many rounds as none of them ends and the budget
 * lasts. */
static void share_rounds(const struct micro_batch *batch, int64_t unit, int64_t *left_tokens)
{
    const struct batch_plan *plan = batch->plan;
    int64_t rounds = INT64_MAX, prompts = 0;
    for (int32_t i = 0; i < plan->n_prefills; i++) {
        const int64_t left = prompt_left(batch, &plan->prefills[i]);
        if (left > 0) rounds = min_i64(rounds, left / unit);
        prompts += left > 0;
    }
    if (prompts == 0) return;
    rounds = min_i64(rounds, *left_tokens / (prompts * unit));
    if (rounds == 0) return;
    for (int32_t i = 0; i < plan->n_prefills; i++)
        if (prompt_left(batch, &plan->prefills[i]) > 0) plan->prefills[i].tokens += (int32_t)(rounds * unit);
    *left_tokens -= rounds * prompts * unit;
}

/* A unit for each prompt in turn. Returns whether any has got tokens. */
static bool share_round(const struct micro_batch *batch, int64_t unit, int64_t *left_tokens)
{
    bool grows = false;
    for (int32_t i = 0; i < batch->plan->n_prefills; i++) {
        struct batch_prefill *prefill = &batch->plan->prefills[i];
        const int64_t more = min_i64(unit, prompt_left(batch, prefill));
        if (more == 0 || more > *left_tokens) continue;
        prefill->tokens += (int32_t)more;
        *left_tokens -= more;
        grows = true;
    }
    return grows;
}

/* Units in turn, until the budget is used up or all prompts end. Rounds in which no prompt ends go at once. */
static void share_budget(const struct micro_batch *batch)
{
    const int64_t unit = unit_tokens(batch->params, batch->view);
    int64_t left_tokens = batch->tokens;
    do share_rounds(batch, unit, &left_tokens);
    while (left_tokens > 0 && share_round(batch, unit, &left_tokens));
}

/* Admissions end at the first waiting request among them. */
static void drop_empty_prefills(struct batch_plan *plan)
{
    int32_t n = 0;
    for (int32_t i = 0; i < plan->n_prefills; i++) {
        const struct batch_prefill *prefill = &plan->prefills[i];
        if (prefill->tokens > 0)
            plan->prefills[n++] = *prefill;
        else if (prefill->request->state == REQUEST_WAITING)
            batch_plan_limit(plan, prefill->request, BATCH_LIMIT_TOKENS);
    }
    plan->n_prefills = n;
}

/* Prompts up to last_prompt go on, then waiting requests join. Returns as add_waiting. */
static bool add_prompts(struct micro_batch *batch, const struct request_view *last_prompt, bool admits)
{
    const struct request_view *end = last_prompt != NULL ? last_prompt->next : batch->view->prefilling;
    bool goes_on = batch->tokens > 0, left_over = true;
    for (const struct request_view *r = batch->view->prefilling; r != end && goes_on; r = r->next)
        goes_on = add_prompt(batch, r, r->prompt_tokens);
    if (goes_on && admits)
        left_over = add_waiting(batch);
    else
        batch_plan_limit(batch->plan, NULL, admits ? BATCH_LIMIT_TOKENS : BATCH_LIMIT_KV_BLOCKS);
    if (shares_equally(batch->params)) {
        share_budget(batch);
        drop_empty_prefills(batch->plan);
        if (batch->behind != NULL) batch_plan_limit(batch->plan, batch->behind, BATCH_LIMIT_TOKENS);
    }
    return left_over;
}

/* --- The iteration --- */

/* Requests of a prefill pool join in order of arrival, before those that wait: their blocks, slots and tokens must be
 * free. Those whose KV has yet to come take no token. */
static void resume_remote(const struct trtllm *params, const struct replica_view *view, struct batch_plan *plan,
                          const struct room_rules *rules, struct room *room)
{
    if (plan->n_evictions > 0 || plan->decode_sequences < INT64_MAX) return;
    for (const struct request_view *r = view->nonresident; r != NULL; r = r->next) {
        const int64_t hold_tokens = resumed_tokens(params, view, r), blocks = blocks_for_tokens(view, hold_tokens);
        const bool is_here = replica_view_kv_is_pushed(view, r);
        if (batch_plan_full(plan)) plan->iterations = 1; /* the others wait for the next plan */
        if (batch_plan_full(plan) || blocks > room->free_blocks ||
            room->running >= params->max_sequences * view->stages || (is_here && room->decoding >= rules->max_batch))
            return;
        room->free_blocks -= blocks;
        room->running++;
        batch_plan_resume_holding(plan, r, is_here, hold_tokens);
        if (!is_here) continue;
        plan->decode = true;
        room->decoding++;
    }
}

static struct micro_batch beside(const struct trtllm *params, const struct replica_view *view, struct batch_plan *plan,
                                 const struct room *room)
{
    const int64_t tokens = params->token_budget - room->decoding * view->decode_tokens_each;
    return (struct micro_batch){.params = params, .view = view, .plan = plan,
                                .tokens = tokens,
                                .first_units = tokens,
                                .sequences = params->max_sequences - room->decoding,
                                .running = params->max_sequences * view->stages - room->running,
                                .free_blocks = room->free_blocks};
}

static int trtllm_compose(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    const struct trtllm *params = state;
    const int64_t most = params->token_budget / view->decode_tokens_each; /* at least one sequence gets its tokens */
    const struct room_rules rules = {.max_batch = min_i64(params->max_sequences, most > 0 ? most : 1)};
    struct room room = make_room(view, plan, &rules); /* evicts with max-utilization only: others hold all */
    if (params->capacity == STATIC_BATCH && view->n_decoding + view->n_in_flight > 0) {
        batch_plan_limit(plan, NULL, BATCH_LIMIT_CLOSED);
        return 0;
    }
    resume_remote(params, view, plan, &rules, &room);
    struct micro_batch batch = beside(params, view, plan, &room);
    if (plan->decode_sequences < INT64_MAX) batch.tokens = 0;
    plan->recheck_on_arrival = !add_prompts(&batch, room.last_prompt, plan->n_evictions == 0);
    return 0;
}

const struct batcher batching_trtllm = {
    .policy = {POLICY_HEAD(batcher, POLICY_BATCHING),
               .name = "trtllm",
               .summary = "decoding first, prompts beside it in a token budget, KV reserved up to the limit of a request",
               .source = "TensorRT-LLM 1.0",
               .oracle = ORACLE_OUTPUT,
               .params = trtllm_fields,
               .params_bytes = sizeof(struct trtllm),
               .state_bytes = sizeof(struct trtllm),
               .init = trtllm_init},
    .compose = trtllm_compose,
    .accepts_remote = true,
    .order = BATCH_BY_ARRIVAL_AND_ADMISSION,
};
