/* The scheduler of SGLang 0.5: prefill before decoding, admission by estimated output, retraction when KV runs out.
 *
 * Admission (PrefillAdder). A request joins if its prompt, its limit of new tokens and one page are fewer tokens than
 * remain. What remains are the free tokens, less the limits of all running requests times new_token_ratio. Limits count
 * up to 4096 tokens. Prompts of one iteration have at most chunked_prefill_tokens tokens, each rounded up to pages. The
 * last prompt is cut to fit and goes on in the next iteration. If tokens or slots are short, the batch counts as full:
 * no request is tried again before a sequence has ended (batch_is_full). With the overlap scheduler that end is known
 * one iteration later.
 *
 * Decoding (update_running_batch). If no prompt is processed, all sequences get a token. If their pages are short,
 * sequences are retracted until the others have room. Those with the fewest output tokens go first, among these the
 * longest prompts, among these the youngest. Retracted requests go to the tail of the queue and are recomputed.
 *
 * Priorities (order "priority": enable_priority_scheduling). The queue is by priority, then by arrival. It is tried
 * before each iteration. If no slot is free, a request may have running ones retracted: those with the highest number
 * first, among these the latest arrivals, while their numbers are more than a threshold above its own. They are
 * retracted if what may come of them, times new_token_ratio, and what remains cover its prompt and limit. Scarce
 * tokens alone retract nobody. Once slots were short, each further request of this iteration needs a retraction of its
 * own.
 *
 * Read in sgl-project/sglang, python/sglang/srt/managers: schedule_policy.py @ 00550cd (preempt_to_schedule),
 * scheduler.py @ 0003215 (_get_new_batch_prefill_raw, update_running_batch), schedule_batch.py @ 000eaff
 * (retract_decode), new_token_ratio_tracker.py @ 1a882c5.
 *
 * A page is a KV block. The limit of a request is `max_tokens`; no trace states it, and the rule never sees the output.
 * A request ends with its limit (schedule_batch.py, check_finished), else at the end of its recorded output.
 *
 * Differences from the engine:
 * - Where SGLang would wait forever for tokens that an idle replica has, the request joins.
 * - A last sequence without room takes the blocks of a cut prompt instead of being aborted.
 * - Sequences that have ended leave at once, also with `overlap`.
 * - `lpm` does not hold back requests that share a prefix with each other. Those admitted together compute it each, as
 *   in SGLang: the radix cache gets a prompt after its forward pass (scheduler_output_processor_mixin.py @ 004ec01,
 *   process_batch_result_prefill).
 * - A retracted request finds its own blocks in the prefix cache while nobody has overwritten them, its output too.
 * - Lower numbers go first, as in vLLM. SGLang serves higher ones first, unless told otherwise
 *   (schedule_low_priority_values_first).
 * - Requests of one priority go by arrival, in SGLang by when they have joined the queue. SGLang loses requests that it
 *   retracts for one that then does not fit; here they return to the queue.
 * - With pipeline stages SGLang has a running batch, with batch_is_full, for each micro-batch. Here sequences change
 *   batches: each plan tries the queue again, and the limits of sequences in flight do not count.
 * - With pipeline stages no request joins while the cut prompt is in flight, so that one prompt at a time is cut.
 * - Requests from a prefill pool join when their context has blocks (resume_requests), without the ratio.
 *
 * Cost. An admission visits all running sequences once per plan, if a bound of their limits does not decide it. A
 * retraction visits all running sequences for each victim. With order "priority" each admission visits the whole queue:
 * the cost of a plan is quadratic in a queue that is admitted at once. */
#include "policies/batching/making_room.h"
#include "policies/batching/new_token_ratio.h"
#include "policies/batching/prefix_order.h"
#include "policies/batching/priority_order.h"
#include "policies/batching/retraction_order.h"
#include "policies/declared.h"
#include "sim/world/policy/batching.h"

#include <limits.h>
#include <math.h>

enum { LIMIT_TOKENS = 4096 };

struct sglang_params {
    int64_t max_sequences, chunked_prefill_tokens, max_prefill_tokens, max_tokens;
    double conservativeness;
    bool mixed, overlap;
    int order; /* index of orders */
    int64_t threshold;
    struct config_list priorities; /* struct class_priority */
};

static const char *const orders[] = {"fcfs", "lpm", "priority", NULL};
enum { ORDER_FCFS, ORDER_LPM, ORDER_PRIORITY };

#define ROW_OF struct sglang_params
static const struct config_field sglang_fields[] = {
    ROW_INT("max_sequences", max_sequences, DEFAULT("0"), WITHIN(0, 65536),
            "most running sequences (SGLang: max_running_requests); 0: 512 per context that the KV cache holds, 2048 to "
            "4096; with pipeline stages each batch holds its share"),
    ROW_INT("chunked_prefill_tokens", chunked_prefill_tokens, DEFAULT("8192"), WITHIN(0, 1e9),
            "most prompt tokens in an iteration; the last prompt is cut to fit (SGLang: chunked_prefill_size); 0: whole "
            "prompts"),
    ROW_INT("max_prefill_tokens", max_prefill_tokens, DEFAULT("16384"), WITHIN(1, 1e9),
            "prompt tokens after which an iteration takes no further prompt; a first one may be longer"),
    ROW_INT("max_tokens", max_tokens, DEFAULT("0"), WITHIN(0, 1e9),
            "output tokens that each request states as its limit, at which it ends; 0: up to the LLM's context"),
    ROW_REAL("conservativeness", conservativeness, DEFAULT("1"), WITHIN(0, 100),
             "factor of the first new_token_ratio (SGLang: schedule_conservativeness)"),
    ROW_BOOL("mixed", mixed, DEFAULT("false"), "decode beside the prompts (SGLang: enable_mixed_chunk)"),
    ROW_BOOL("overlap", overlap, DEFAULT("true"),
             "a full batch learns one iteration later that a sequence has ended (SGLang: the overlap scheduler)"),
    ROW_CHOICE("order", order, DEFAULT("fcfs"), orders,
               "queue: longest cached prefix first while at most 128 wait; priority: slow with long queues"),
    ROW_INT("preemption_threshold", threshold, DEFAULT("10"), WITHIN(0, 1e6),
            "excess of the number of a request that order 'priority' retracts"),
    ROW_CLASSES("priorities", priorities, OPTIONAL, ANY, struct class_priority, class_priority_fields,
                "by class of requests; default: 0"),
    {0}};
#undef ROW_OF

struct sglang {
    struct sglang_params params;
    struct new_token_ratio ratio;
    bool is_full;     /* no request is tried */
    bool knows_late;  /* a sequence has ended; it counts from the next iteration on */
    bool decays;      /* the last plan decoded, without a prompt and without a retraction */
    bool is_one_step; /* the last plan was a batch in flight: one iteration, whatever decode_step says */
    int64_t decode_step, expected; /* at the last plan; sequences that decode after it if none is evicted or ends */
    bool has_cut; /* a prompt was cut, and its rest is not planned yet */
    enum batch_limit limit; /* that made is_full true, or ended the latest admissions */
};

static int sglang_init(void *state, const void *params, struct diag *diag)
{
    struct sglang *batcher = state;
    *batcher = (struct sglang){.params = *(const struct sglang_params *)params};
    priority_warn("sglang", batcher->params.order == ORDER_PRIORITY, &batcher->params.priorities, diag);
    batcher->ratio = new_token_ratio_of(batcher->params.conservativeness);
    return 0;
}

static int64_t kv_tokens(const struct replica_view *view)
{
    return view->total_blocks * view->block_tokens;
}

static int64_t paged(const struct replica_view *view, int64_t tokens)
{
    return blocks_for_tokens(view, tokens) * view->block_tokens;
}

/* Sequences of a batch. */
static int64_t most_sequences(const struct sglang_params *params, const struct replica_view *view)
{
    int64_t most = params->max_sequences;
    if (most == 0) {
        most = (int64_t)((double)kv_tokens(view) / (double)view->max_context_tokens * 512);
        most = most < 2048 ? 2048 : min_i64(most, 4096);
    }
    return sequences_per_batch(view, most);
}

/* --- Limits of new tokens --- */

/* The request's limit of output tokens, cut so that it fits into the context and the KV cache. In a prefill pool it is
 * the first token. */
static int64_t limit_tokens(const struct sglang_params *params, const struct replica_view *view,
                            const struct request_view *request)
{
    const int64_t prompt = first_prompt(view, request);
    int64_t limit = params->max_tokens > 0 ? params->max_tokens : INT64_MAX;
    if (!replica_view_decodes_here(view, request)) return 1;
    limit = min_i64(limit, view->max_context_tokens - prompt - 1);
    limit = min_i64(limit, kv_tokens(view) - paged(view, prompt) - view->block_tokens - 1);
    return limit > 0 ? limit : 0;
}

/* Tokens still to come, by the limit; at most LIMIT_TOKENS. */
static int64_t tokens_to_come(const struct sglang_params *params, const struct replica_view *view,
                              const struct request_view *request)
{
    const int64_t left = limit_tokens(params, view, request) - replica_view_generated_tokens(view, request);
    return left > 0 ? min_i64(left, LIMIT_TOKENS) : 0;
}

/* --- Admission --- */

/* Room for the prompts of one iteration. */
struct adder {
    const struct sglang *batcher;
    const struct replica_view *view;
    struct batch_plan *plan;
    int64_t total_offset;    /* tokens that the prompts take, with their limits, and the decoding sequences now */
    int64_t to_come;         /* of the running sequences, by their limits; an upper bound until is_exact */
    bool is_exact;
    int64_t available_tokens, free_blocks;
    int64_t input_tokens, chunk_tokens; /* chunk_tokens INT64_MAX: prompts are not cut */
    int64_t n_preempted, growth; /* sequences that are retracted; blocks that the others take, if they decode */
};

enum verdict { GO_ON, NO_TOKENS, NO_BUDGET };

/* Decoding sequences with drafts have iterations of their own: SGLang turns enable_mixed_chunk off beside EAGLE
 * (server_args.py). */
static bool mixes(const struct sglang_params *params, const struct replica_view *view)
{
    return params->mixed && view->n_decoding > 0 && view->decode_tokens_each == 1;
}

static struct adder adder_of(const struct sglang *batcher, const struct replica_view *view, struct batch_plan *plan)
{
    const struct sglang_params *params = &batcher->params;
    const bool mixed = mixes(params, view);
    const int64_t decoding = mixed ? view->n_decoding : 0, growth = mixed ? view->growing : 0;
    const int64_t chunk = params->chunked_prefill_tokens > 0 ? params->chunked_prefill_tokens - decoding : INT64_MAX;
    const int64_t most = params->max_tokens > 0 ? min_i64(params->max_tokens, LIMIT_TOKENS) : LIMIT_TOKENS;
    return (struct adder){.batcher = batcher, .view = view, .plan = plan,
                          .total_offset = decoding,
                          .to_come = most * view->n_decoding,
                          .available_tokens = view->free_blocks * view->block_tokens,
                          .free_blocks = view->free_blocks - growth,
                          .input_tokens = params->max_prefill_tokens - decoding,
                          .chunk_tokens = chunk,
                          .growth = growth};
}

/* Tokens that remain, at least. */
static double least_remaining(const struct adder *adder)
{
    return (double)(adder->available_tokens - adder->total_offset) - (double)adder->to_come * adder->batcher->ratio.now;
}

/* Tokens that remain, where it matters whether they are more than `needed`. Only if the bound does not decide that, the
 * running sequences are counted one by one. */
static double remaining_beyond(struct adder *adder, double needed)
{
    if (least_remaining(adder) > needed || adder->is_exact) return least_remaining(adder);
    adder->is_exact = true;
    adder->to_come = 0;
    for (const struct request_view *r = adder->view->oldest_decoding; r != NULL; r = r->next)
        adder->to_come += tokens_to_come(&adder->batcher->params, adder->view, r);
    return least_remaining(adder);
}

static void take(struct adder *adder, const struct request_view *request, int64_t tokens, int64_t to_come)
{
    const struct replica_view *view = adder->view;
    const int64_t in_pages = paged(view, tokens), held_tokens = prompt_done(view, request) + tokens;
    adder->free_blocks -= replica_view_needed_blocks(view, request, held_tokens);
    adder->total_offset += in_pages + to_come + view->block_tokens;
    adder->input_tokens -= in_pages;
    if (adder->chunk_tokens < INT64_MAX) adder->chunk_tokens -= in_pages;
    batch_plan_prefill_holding(adder->plan, request, (int32_t)tokens, held_tokens);
}

static enum verdict verdict_of(struct adder *adder)
{
    if (remaining_beyond(adder, 0) <= 0) return NO_TOKENS;
    return adder->input_tokens <= 0 || adder->chunk_tokens <= 0 ? NO_BUDGET : GO_ON;
}

/* Limit counted for a prompt that ends in this iteration. */
static int64_t whole_limit(const struct adder *adder, const struct request_view *request)
{
    return min_i64(limit_tokens(&adder->batcher->params, adder->view, request), LIMIT_TOKENS);
}

/* The next piece of a prompt that was cut; as much as has blocks. Returns whether it ends. */
static bool add_cut_prompt(struct adder *adder, const struct request_view *request)
{
    const struct replica_view *view = adder->view;
    const int64_t done = prompt_done(view, request), left = request->prompt_tokens - done;
    const double remaining = remaining_beyond(adder, (double)adder->chunk_tokens);
    int64_t most = adder->chunk_tokens;
    if (remaining < (double)most && remaining >= 1) most = (int64_t)remaining;
    const int64_t has_room = (replica_view_blocks(view, request) + adder->free_blocks) * view->block_tokens - done;
    const int64_t tokens = min_i64(min_i64(left, most), has_room);
    if (tokens > 0) take(adder, request, tokens, tokens == left ? whole_limit(adder, request) : 0);
    return tokens == left;
}

/* alone: nothing else runs, so that the request joins if its blocks suffice. */
static enum verdict add_prompt(struct adder *adder, const struct request_view *request, bool alone)
{
    const struct replica_view *view = adder->view;
    const int64_t page = view->block_tokens, cached = replica_view_cached_tokens(view, request);
    const int64_t left = request->prompt_tokens - cached, in_pages = paged(view, left);
    /* cached blocks without a user stop being free */
    const int64_t locked = cached > 0 ? replica_view_needed_blocks(view, request, cached) * page : 0;
    const int64_t total = left + tokens_to_come(&adder->batcher->params, view, request) + page;
    int64_t tokens = left;
    if (!alone && remaining_beyond(adder, (double)(total + locked)) <= (double)(total + locked)) return NO_TOKENS;
    if (adder->chunk_tokens == INT64_MAX && adder->plan->n_prefills > 0 && in_pages >= adder->input_tokens)
        return NO_BUDGET;
    if (in_pages > adder->chunk_tokens) {
        tokens = adder->chunk_tokens / page * page;
        if (alone && tokens == 0) tokens = min_i64(left, adder->chunk_tokens);
        if (tokens <= 0) return NO_BUDGET;
    }
    if (replica_view_needed_blocks(view, request, cached + tokens) > adder->free_blocks) return NO_TOKENS;
    adder->available_tokens -= locked;
    take(adder, request, tokens, tokens == left ? whole_limit(adder, request) : 0);
    return verdict_of(adder);
}

/* Also says what ends the admissions: at this request, or at the one behind it if this one has joined. */
static enum verdict try_prompt(struct adder *adder, const struct request_view *request, bool is_idle,
                               const struct request_view *next)
{
    const int32_t n = adder->plan->n_prefills;
    const enum verdict verdict = add_prompt(adder, request, is_idle && n == 0);
    const enum batch_limit limit = verdict == NO_TOKENS ? BATCH_LIMIT_KV_BLOCKS : BATCH_LIMIT_TOKENS;
    if (verdict != GO_ON) batch_plan_limit(adder->plan, adder->plan->n_prefills > n ? next : request, limit);
    return verdict;
}

/* --- Preemption by priority --- */

static bool is_evicted(const struct batch_plan *plan, const struct request_view *request)
{
    for (int32_t i = 0; i < plan->n_evictions; i++)
        if (plan->evictions[i].request == request) return true;
    return false;
}

/* The running sequence that is retracted next; NULL: none. */
static const struct request_view *last_in_priority(const struct adder *adder)
{
    const struct config_list *priorities = &adder->batcher->params.priorities;
    const struct request_view *last = NULL;
    for (const struct request_view *r = adder->view->oldest_decoding; r != NULL; r = r->next)
        if (!is_evicted(adder->plan, r) && (last == NULL || priority_yields(priorities, r, last))) last = r;
    return last;
}

static void preempt(struct adder *adder, const struct request_view *victim)
{
    const struct replica_view *view = adder->view;
    const int64_t freed = replica_view_freed_blocks(view, victim);
    const int64_t grown = adder->growth > 0 ? replica_view_grows(view, victim) : 0;
    batch_plan_requeue(adder->plan, victim, "a request of higher priority has no slot");
    adder->to_come -= tokens_to_come(&adder->batcher->params, view, victim);
    adder->available_tokens += freed * view->block_tokens;
    adder->free_blocks += freed + grown;
    adder->growth -= grown;
    adder->n_preempted++;
}

/* Retracts running requests for one without a slot. Returns false, retracting none, if that would not suffice. */
static bool preempt_for(struct adder *adder, const struct request_view *request)
{
    const struct sglang_params *params = &adder->batcher->params;
    const int32_t n_before = adder->plan->n_evictions;
    const struct adder before = *adder;
    const int64_t left = request->prompt_tokens - replica_view_cached_tokens(adder->view, request);
    const double wanted = (double)(left + whole_limit(adder, request));
    double lacking = wanted - remaining_beyond(adder, (double)INFINITY);
    for (const struct request_view *r; (r = last_in_priority(adder)) != NULL && !batch_plan_full(adder->plan);) {
        if (priority_of(&params->priorities, r) - priority_of(&params->priorities, request) <= params->threshold) break;
        lacking -= (double)tokens_to_come(params, adder->view, r) * adder->batcher->ratio.now;
        preempt(adder, r);
        if (lacking <= 0) return true;
    }
    adder->plan->n_evictions = n_before;
    *adder = before;
    return false;
}

/* The first of the queue is tried before each iteration. */
static void add_by_priority(struct sglang *batcher, struct adder *adder)
{
    const struct config_list *priorities = &batcher->params.priorities;
    const struct replica_view *view = adder->view;
    const int64_t slots = most_sequences(&batcher->params, view) - view->n_decoding - view->n_moving - view->n_paused;
    const bool is_idle = replica_view_running(view) == 0;
    enum verdict verdict = GO_ON;
    bool is_full = false;
    const struct request_view *request = priority_next(priorities, view->waiting, NULL), *next;
    for (; request != NULL && verdict == GO_ON; request = next) {
        is_full = is_full || adder->plan->n_prefills >= slots; /* and stays so */
        if (batch_plan_full(adder->plan) || (is_full && !preempt_for(adder, request))) {
            if (is_full) batch_plan_limit(adder->plan, request, BATCH_LIMIT_SEQUENCES);
            return;
        }
        next = priority_next(priorities, view->waiting, request);
        verdict = try_prompt(adder, request, is_idle, next);
    }
}

/* --- Admission of all --- */

/* Adds waiting requests in their order. Sets is_full when tokens or slots are short. */
static void add_waiting(struct sglang *batcher, struct adder *adder)
{
    const struct replica_view *view = adder->view;
    const struct request_view *sorted[PREFIX_QUEUE];
    const bool by_prefix = batcher->params.order == ORDER_LPM && view->n_waiting <= PREFIX_QUEUE;
    const int32_t n_sorted = by_prefix ? prefix_sort(view, sorted) : 0;
    const int64_t slots = most_sequences(&batcher->params, view) - view->n_decoding - view->n_moving - view->n_paused;
    const bool is_idle = replica_view_running(view) == 0;
    enum verdict verdict = GO_ON;
    const struct request_view *request = by_prefix ? sorted[0] : view->waiting, *next;
    for (int32_t i = 1; verdict == GO_ON && request != NULL; i++, request = next) {
        next = !by_prefix ? request->next : i < n_sorted ? sorted[i] : NULL;
        batcher->is_full = adder->plan->n_prefills >= slots;
        if (batcher->is_full) batch_plan_limit(adder->plan, request, BATCH_LIMIT_SEQUENCES);
        if (batcher->is_full || batch_plan_full(adder->plan)) return;
        verdict = try_prompt(adder, request, is_idle, next);
    }
    batcher->is_full = verdict == NO_TOKENS;
}

/* The view does not contain a prompt in flight. Only one prompt at a time is cut; another one beside it could hold
 * blocks without which neither ends. */
static bool cut_is_in_flight(const struct sglang *batcher, const struct replica_view *view)
{
    return batcher->has_cut && view->n_prefilling == 0 && view->n_in_flight > 0;
}

/* Returns the running sequences that are retracted for prompts. */
static int64_t add_prompts(struct sglang *batcher, const struct replica_view *view, struct batch_plan *plan)
{
    struct adder adder = adder_of(batcher, view, plan);
    bool all_end = true;
    if (adder.free_blocks < 0) batch_plan_limit(plan, NULL, BATCH_LIMIT_KV_BLOCKS);
    if (adder.free_blocks < 0) return 0; /* decoding beside the prompts needs a retraction first */
    for (const struct request_view *r = view->prefilling; r != NULL && adder.chunk_tokens > 0; r = r->next)
        all_end = add_cut_prompt(&adder, r) && all_end;
    if (!all_end || cut_is_in_flight(batcher, view)) batch_plan_limit(plan, NULL, BATCH_LIMIT_TOKENS);
    if (!all_end || cut_is_in_flight(batcher, view) || batcher->is_full || view->waiting == NULL) return 0;
    if (batcher->params.order == ORDER_PRIORITY)
        add_by_priority(batcher, &adder);
    else
        add_waiting(batcher, &adder);
    return adder.n_preempted;
}

/* --- Retraction --- */

/* What the running sequences have made and may make. */
struct progress {
    int64_t sequences, output_tokens, limit_tokens;
};

static void add_progress(struct progress *progress, const struct sglang_params *params, const struct replica_view *view,
                         const struct request_view *request, int64_t sign)
{
    progress->sequences += sign;
    progress->output_tokens += sign * replica_view_generated_tokens(view, request);
    progress->limit_tokens += sign * limit_tokens(params, view, request);
}

/* Retracts until the others can decode; one stays. Sets the ratio from those that stay. */
static void retract(struct sglang *batcher, const struct replica_view *view, struct batch_plan *plan)
{
    static const char reason[] = "no free KV block";
    int64_t free_blocks = view->free_blocks, growing = view->growing;
    struct place last = {.output_tokens = -1};
    struct progress progress = {0};
    for (const struct request_view *r = view->oldest_decoding; r != NULL; r = r->next)
        add_progress(&progress, &batcher->params, view, r, 1);
    while (growing > free_blocks && progress.sequences > 1 && !batch_plan_full(plan)) {
        const struct request_view *victim = next_retracted(view, &last);
        batch_plan_requeue(plan, victim, reason);
        free_blocks += replica_view_freed_blocks(view, victim);
        growing -= replica_view_grows(view, victim);
        add_progress(&progress, &batcher->params, view, victim, -1);
    }
    for (const struct request_view *r = view->last_prefilling; r != NULL && growing > free_blocks; r = r->prev) {
        if (batch_plan_full(plan)) break;
        batch_plan_requeue(plan, r, reason);
        free_blocks += replica_view_freed_blocks(view, r);
    }
    batcher->ratio.now = new_token_ratio_after(progress.sequences, progress.output_tokens, progress.limit_tokens);
    batcher->is_full = batcher->knows_late = false;
    plan->decode = growing <= free_blocks;
    plan->iterations = 1;
}

static void decode(struct sglang *batcher, const struct replica_view *view, struct batch_plan *plan)
{
    const int64_t most = most_sequences(&batcher->params, view);
    const struct room_rules rules = {.max_batch = most};
    struct room room = {.free_blocks = view->free_blocks - view->growing, .decoding = view->n_decoding,
                        .running = replica_view_running(view)};
    if (room.free_blocks < 0) {
        retract(batcher, view, plan);
        return;
    }
    plan->decode = view->n_decoding > 0;
    plan->recheck_on_arrival = !batcher->is_full;
    if (batcher->knows_late) plan->iterations = 1;
    if (view->n_nonresident > 0) resume_requests(view, plan, &rules, most, 0, &room);
    batcher->decays = plan->decode;
}

/* Requests were retracted for one that does not fit after all: the others decode once. */
static void decode_others(const struct replica_view *view, struct batch_plan *plan)
{
    int64_t free_blocks = view->free_blocks, growing = view->growing;
    for (int32_t i = 0; i < plan->n_evictions; i++) {
        free_blocks += replica_view_freed_blocks(view, plan->evictions[i].request);
        growing -= replica_view_grows(view, plan->evictions[i].request);
    }
    plan->decode = view->n_decoding > plan->n_evictions && growing <= free_blocks;
}

/* --- Between two plans --- */

/* Decode iterations since the last plan that lower the ratio. */
static int64_t decayed_steps(const struct sglang *batcher, const struct replica_view *view)
{
    if (!batcher->decays) return 0;
    return batcher->is_one_step ? 1 : view->decode_step - batcher->decode_step;
}

/* No sequence runs, and all requests have arrived at this moment: the replica was idle. */
static bool was_idle(const struct replica_view *view)
{
    return replica_view_running(view) + view->n_nonresident == 0 &&
           (view->waiting == NULL || view->waiting->arrival_ns >= view->now_ns);
}

static void look_back(struct sglang *batcher, const struct replica_view *view)
{
    const bool has_left = view->n_decoding < batcher->expected || view->stages > 1 ||
                          view->n_nonresident + view->n_moving > 0;
    new_token_ratio_decay(&batcher->ratio, decayed_steps(batcher, view));
    if (was_idle(view)) batcher->ratio.now = batcher->ratio.first;
    if (batcher->knows_late || view->n_decoding == 0) batcher->is_full = batcher->knows_late = false;
    if (!has_left || !batcher->is_full) return;
    if (batcher->params.overlap && view->stages == 1)
        batcher->knows_late = true;
    else
        batcher->is_full = false;
}

static void look_ahead(struct sglang *batcher, const struct replica_view *view, const struct batch_plan *plan)
{
    batcher->decode_step = view->decode_step;
    batcher->is_one_step = view->stages > 1 || plan->n_resumptions > 0;
    batcher->expected = view->n_decoding;
    batcher->has_cut = cut_is_in_flight(batcher, view);
    for (int32_t i = 0; i < plan->n_prefills && i < plan->capacity; i++) {
        const struct batch_prefill *prefill = &plan->prefills[i];
        const bool ends = prompt_done(view, prefill->request) + prefill->tokens == prefill->request->prompt_tokens;
        batcher->expected += ends;
        batcher->has_cut |= !ends;
    }
    if (view->n_nonresident + view->n_moving > 0) batcher->expected = INT64_MAX;
    if (view->n_decoding == 0) batcher->is_full = false; /* a new batch, which has not been tried */
}

static int sglang_compose(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    struct sglang *batcher = state;
    const bool by_priority = batcher->params.order == ORDER_PRIORITY;
    look_back(batcher, view);
    batcher->decays = false;
    int64_t n_preempted = 0;
    if (by_priority) batcher->is_full = false;
    if (view->n_prefilling > 0 || (view->waiting != NULL && !batcher->is_full))
        n_preempted = add_prompts(batcher, view, plan);
    if (plan->n_prefills == 0 && n_preempted > 0)
        decode_others(view, plan);
    else if (plan->n_prefills == 0)
        decode(batcher, view, plan);
    else
        plan->decode = mixes(&batcher->params, view) && view->n_decoding > n_preempted;
    if (by_priority && view->waiting != NULL) plan->iterations = 1;
    if (batcher->knows_late) batch_plan_limit(plan, NULL, BATCH_LIMIT_LATE);
    if (batcher->is_full) batch_plan_limit(plan, view->waiting, batcher->limit);
    /* The next trial sorts the queue by prefix anew: while this plan stands, nobody is first. */
    const bool by_prefix = batcher->params.order == ORDER_LPM && view->n_waiting <= PREFIX_QUEUE;
    if (by_prefix && plan->n_prefills == 0) plan->limited = NULL;
    batcher->limit = plan->limit;
    look_ahead(batcher, view, plan);
    return 0;
}

static int64_t sglang_most_output_tokens(const void *given)
{
    const struct sglang_params *params = given;
    return params->max_tokens;
}

const struct batcher batching_sglang = {
    .policy = {POLICY_HEAD(batcher, POLICY_BATCHING),
               .name = "sglang",
               .summary = "prompts first, admission by an estimate of the output that adapts, retraction to the tail",
               .source = "SGLang 0.5",
               .params = sglang_fields,
               .params_bytes = sizeof(struct sglang_params),
               .state_bytes = sizeof(struct sglang),
               .init = sglang_init},
    .compose = sglang_compose,
    .accepts_remote = true,
    .most_output_tokens = sglang_most_output_tokens,
};
