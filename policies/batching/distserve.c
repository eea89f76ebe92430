/* Batching as in DistServe's simulator (Zhong et al., OSDI 2024; simdistserve, both of its backends). Prompts go first,
 * whole and in order of arrival, up to a budget of tokens, in iterations of their own. Otherwise sequences decode in
 * the order of their queue, up to a budget of context tokens. Sequences left out keep their KV blocks. They stand
 * before those that return from the iteration, as do sequences that join meanwhile. Each pipeline stage is a worker
 * that batches for itself.
 *
 * The first sequence of an iteration may exceed its budget; the simulator would never end there. Blocks, which the
 * simulator does not limit, are not reserved: when they run out, a sequence is preempted by recomputation. */
#include "policies/batching/making_room.h"
#include "policies/declared.h"
#include "sim/world/policy/batching.h"

struct distserve {
    int64_t max_batched_tokens, max_context_tokens;
};

#define ROW_OF struct distserve
static const struct config_field distserve_fields[] = {
    ROW_INT("max_batched_tokens", max_batched_tokens, DEFAULT("66144"), WITHIN(1, 1e12),
            "most prompt tokens in an iteration (simdistserve: capacity of the KV cache, max_num_tokens.csv)"),
    ROW_INT("max_context_tokens", max_context_tokens, DEFAULT("50000"), WITHIN(1, 1e12),
            "most context tokens of the sequences that decode in an iteration"),
    {0}};
#undef ROW_OF

static void admit_prompts(const struct distserve *params, const struct replica_view *view, int64_t free_blocks,
                          struct batch_plan *plan)
{
    int64_t left_tokens = params->max_batched_tokens;
    for (const struct request_view *r = view->waiting; r != NULL && !batch_plan_full(plan); r = r->next) {
        if (blocks_for_tokens(view, r->prompt_tokens) > view->total_blocks) {
            batch_plan_reject(plan, r, "prompt exceeds the KV cache");
            continue;
        }
        int64_t needed = replica_view_needed_blocks(view, r, r->prompt_tokens);
        int32_t tokens = prompt_chunk(view, r, r->prompt_tokens);
        if (needed > free_blocks || (plan->n_prefills > 0 && tokens > left_tokens)) {
            batch_plan_limit(plan, r, needed > free_blocks ? BATCH_LIMIT_KV_BLOCKS : BATCH_LIMIT_TOKENS);
            return;
        }
        free_blocks -= needed;
        left_tokens -= tokens;
        batch_plan_prefill(plan, r, tokens);
    }
}

/* Queues requests whose prompt was processed elsewhere, once their KV has arrived. They take from `*free_blocks` the
 * blocks into which the decoding sequences do not grow. Returns whether the queue is longer: then the iteration is
 * composed anew. */
static bool queue_remote(const struct replica_view *view, int64_t *free_blocks, struct batch_plan *plan)
{
    bool is_longer = false;
    for (const struct request_view *r = view->nonresident; r != NULL && !batch_plan_full(plan); r = r->next) {
        const int64_t needed = blocks_for_tokens(view, replica_view_context_tokens(view, r));
        if (*free_blocks - needed < view->growing) break;
        *free_blocks -= needed;
        batch_plan_resume(plan, r, false);
        is_longer |= replica_view_kv_is_pushed(view, r);
    }
    return is_longer;
}

/* Decoding sequences within the budget of context tokens, counted from the first; at least 1. */
static int64_t count_within(const struct distserve *params, const struct replica_view *view)
{
    int64_t left_tokens = params->max_context_tokens, n = 0;
    if (view->decode_context_tokens <= left_tokens) return view->n_decoding;
    for (const struct request_view *r = view->oldest_decoding; r != NULL; r = r->next, n++) {
        left_tokens -= replica_view_context_tokens(view, r);
        if (left_tokens < 0) break;
    }
    return n > 0 ? n : 1;
}

static void decode(const struct distserve *params, const struct replica_view *view, struct batch_plan *plan)
{
    const struct room_rules rules = {.max_batch = count_within(params, view)};
    int64_t left_tokens = params->max_context_tokens - view->decode_context_tokens;
    if (view->n_decoding == 0) return;
    make_room(view, plan, &rules);
    if (plan->n_evictions > 0 || rules.max_batch < view->n_decoding)
        plan->iterations = 1;
    else
        plan->iterations = left_tokens > 0 ? left_tokens / view->n_decoding + 1 : 1;
}

static int distserve_compose(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    const struct distserve *params = state;
    int64_t free_blocks = view->free_blocks;
    if (view->n_nonresident > 0 && queue_remote(view, &free_blocks, plan)) return 0;
    admit_prompts(params, view, free_blocks, plan);
    if (plan->n_prefills == 0 && plan->n_rejections == 0) decode(params, view, plan);
    plan->recheck_on_arrival = true;
    return 0;
}

static int64_t distserve_compose_stage(void *state, const struct replica_view *view)
{
    return count_within(state, view);
}

const struct batcher batching_distserve = {
    .policy = {POLICY_HEAD(batcher, POLICY_BATCHING),
               .name = "distserve",
               .summary = "prompts first, else decoding from a queue within a context budget; each stage batches for itself",
               .source = "Zhong et al., OSDI 2024; simdistserve",
               .params = distserve_fields,
               .params_bytes = sizeof(struct distserve),
               .state_bytes = sizeof(struct distserve)},
    .compose = distserve_compose,
    .accepts_remote = true,
    .order = BATCH_BY_LATEST_TOKEN,
    .compose_stage = distserve_compose_stage,
};
