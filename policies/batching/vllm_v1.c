/* Chunked prefill in one token budget, as in vLLM v1 (vLLM 0.8 and later): there is no phase of prefill or decode, an iteration
 * is so many tokens of each request.
 *
 * Who runs comes first: everybody decoding gets one token, then an unfinished prompt as many as are left of the budget. Blocks
 * are taken for exactly the tokens processed. A sequence that needs a block and finds none preempts the last of the running,
 * which starts again from nothing at the head of the queue. If nobody was preempted, requests are admitted in order of arrival
 * while budget, slots and the blocks of their first chunk allow; the first that does not fit stops admission.
 *
 * Where several unfinished prompts run beside each other (pipeline stages), decoding goes before them. */
#include "policies/batching/making_room.h"
#include "policies/registry.h"

struct vllm_v1 {
    int64_t max_sequences, max_batched_tokens;
};

#define FIELD(name) offsetof(struct vllm_v1, name)
static const struct config_field vllm_v1_fields[] = {
    {.name = "max_sequences", .kind = CONFIG_INT, .offset = FIELD(max_sequences), .value = "256", .min = 1, .max = 65536,
     .help = "sequences that run at most (vLLM: max_num_seqs)"},
    {.name = "max_batched_tokens", .kind = CONFIG_INT, .offset = FIELD(max_batched_tokens), .value = "2048", .min = 1,
     .max = 1e9, .help = "tokens of an iteration at most, at least max_sequences (vLLM: max_num_batched_tokens)"},
    {0}};
#undef FIELD

static int vllm_v1_init(void *state, const void *params, struct diag *diag)
{
    struct vllm_v1 *batcher = state;
    *batcher = *(const struct vllm_v1 *)params;
    if (batcher->max_batched_tokens >= batcher->max_sequences) return 0;
    return diag_error(diag, SIM_E_CONFIG, NULL, "raise max_batched_tokens or lower max_sequences",
                      "vllm-v1: max_batched_tokens (%lld) is less than max_sequences (%lld)",
                      (long long)batcher->max_batched_tokens, (long long)batcher->max_sequences);
}

/* What is left to be handed out in this iteration. */
struct budget {
    int64_t tokens, free_blocks;
};

/* Plans the request's next chunk; false when there are no blocks for it. */
static bool take_chunk(const struct replica_view *view, struct batch_plan *plan, const struct request_view *request,
                       struct budget *budget)
{
    int32_t tokens = prompt_chunk(request, budget->tokens);
    int64_t held_tokens = request->prefilled_tokens + tokens;
    int64_t needed = replica_view_needed_blocks(view, request, held_tokens);
    if (needed > budget->free_blocks) return false;
    budget->free_blocks -= needed;
    budget->tokens -= tokens;
    batch_plan_prefill_holding(plan, request, tokens, held_tokens);
    return true;
}

/* An unfinished prompt without blocks for its chunk sends away those behind it, and then itself. */
static void go_on_with_prompts(const struct replica_view *view, struct batch_plan *plan,
                               const struct request_view *last, struct budget *budget)
{
    const struct request_view *end = last != NULL ? last->next : view->prefilling;
    for (const struct request_view *r = view->prefilling; r != end && budget->tokens > 0; r = r->next) {
        while (!take_chunk(view, plan, r, budget)) {
            batch_plan_evict(plan, last, "no free KV block");
            budget->free_blocks += replica_view_blocks(view, last);
            if (last == r) return;
            end = last;
            last = last->prev;
        }
    }
}

/* Returns whether requests are left that only a change at this replica can let in. */
static bool admit_from_head(const struct vllm_v1 *params, const struct replica_view *view, struct batch_plan *plan,
                            int64_t running, struct budget *budget)
{
    for (const struct request_view *r = view->waiting; r != NULL; r = r->next)
        if (running++ >= params->max_sequences || budget->tokens == 0 || batch_plan_full(plan) ||
            !take_chunk(view, plan, r, budget))
            return true;
    return false;
}

static int vllm_v1_compose(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    const struct vllm_v1 *params = state;
    const struct room_rules rules = {.spare_blocks = 0, .max_batch = params->max_sequences};
    struct room room = make_room(view, plan, &rules);
    struct budget budget = {params->max_batched_tokens - room.decoding, room.free_blocks};
    go_on_with_prompts(view, plan, room.last_prompt, &budget);
    room.free_blocks = budget.free_blocks;
    if (view->n_away > 0) take_back(view, plan, &rules, params->max_sequences, 0, &room);
    budget.free_blocks = room.free_blocks;
    if (plan->n_evictions > 0)
        plan->iterations = 1;
    else
        plan->recheck_on_arrival = !admit_from_head(params, view, plan, room.running, &budget);
    return 0;
}

const struct batcher batching_vllm_v1 = {
    .policy = {.abi = POLICY_ABI,
               .size = sizeof(struct batcher),
               .family = POLICY_BATCHING,
               .name = "vllm-v1",
               .summary = "prompts in chunks beside decoding in one token budget, paged KV, preemption by recomputation",
               .source = "vLLM 0.8, V1 scheduler",
               .params = vllm_v1_fields,
               .params_bytes = sizeof(struct vllm_v1),
               .state_bytes = sizeof(struct vllm_v1),
               .init = vllm_v1_init},
    .compose = vllm_v1_compose,
    .order = BATCH_BY_ADMISSION,
};
