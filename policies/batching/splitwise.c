/* Mixed batching as on Splitwise's machines (Patel et al., ISCA 2024; SplitwiseSim's "Splitwise" instance). Prompts go
 * first, whole and in order of arrival, up to a budget of tokens. As many sequences decode beside them as fit into the
 * rest of the budget; those left out last time go first. After `max_preemptions` iterations in a row without decoding,
 * decoding goes first.
 *
 * Sequences that wait keep their KV blocks. The first prompt of an iteration may exceed the budget. When blocks run
 * out, a sequence is preempted by recomputation; SplitwiseSim instead reserves memory for the whole output, which no
 * engine knows. SplitwiseSim also counts the waits of every request separately, which matters on overloaded
 * machines. */
#include "policies/batching/making_room.h"
#include "policies/declared.h"
#include "sim/world/policy/batching.h"

struct splitwise_params {
    int64_t max_sequences, max_batched_tokens, max_preemptions;
};

#define ROW_OF struct splitwise_params
static const struct config_field splitwise_fields[] = {
    ROW_INT("max_sequences", max_sequences, DEFAULT("512"), WITHIN(1, 65536),
            "most running sequences, over all batches in flight"),
    ROW_INT("max_batched_tokens", max_batched_tokens, DEFAULT("2048"), WITHIN(1, 1e9),
            "most tokens in an iteration; a first prompt may be longer"),
    ROW_INT("max_preemptions", max_preemptions, DEFAULT("4"), WITHIN(0, 1e6),
            "most iterations in a row in which decoding waits for prompts"),
    {0}};
#undef ROW_OF

struct splitwise {
    struct splitwise_params params;
    int64_t waits; /* iterations with prompts alone since the last one with decoding */
};

/* Admits prompts from the head of the queue beside `tokens` others, while there is room. Returns the tokens of all, and
 * in *left_over whether a request is left that only a change at this replica can admit. */
static int64_t admit_prompts(const struct splitwise_params *params, const struct replica_view *view,
                             struct batch_plan *plan, int64_t tokens, struct room *room, bool *left_over)
{
    for (const struct request_view *r = view->waiting; r != NULL; r = r->next) {
        int64_t blocks = blocks_for_tokens(view, r->prompt_tokens);
        *left_over = true;
        if (batch_plan_full(plan)) return tokens;
        if (blocks > view->total_blocks) {
            batch_plan_reject(plan, r, "prompt exceeds the KV cache");
            continue;
        }
        int64_t needed = replica_view_needed_blocks(view, r, r->prompt_tokens);
        int32_t prompt = prompt_chunk(view, r, r->prompt_tokens);
        const enum batch_limit limit = room->running >= params->max_sequences ? BATCH_LIMIT_SEQUENCES
                                       : needed > room->free_blocks           ? BATCH_LIMIT_KV_BLOCKS
                                       : tokens > 0 && tokens + prompt > params->max_batched_tokens
                                           ? BATCH_LIMIT_TOKENS
                                           : BATCH_LIMIT_UNSTATED;
        batch_plan_limit(plan, r, limit);
        if (limit != BATCH_LIMIT_UNSTATED) return tokens;
        room->free_blocks -= needed;
        room->running++;
        tokens += prompt;
        batch_plan_prefill(plan, r, prompt);
    }
    *left_over = false;
    return tokens;
}

static struct room_rules rules_of(const struct splitwise_params *params)
{
    return (struct room_rules){.spare_blocks = 0, .max_batch = params->max_sequences};
}

/* All sequences decode, remote requests resume, and prompts fill the rest of the budget. */
static void decode_first(struct splitwise *batcher, const struct replica_view *view, struct batch_plan *plan)
{
    const struct room_rules rules = rules_of(&batcher->params);
    struct room room = make_room(view, plan, &rules);
    bool left_over;
    if (plan->n_evictions > 0) {
        plan->decode = false; /* called again at once, with the evicted requests at the head of the queue */
        batch_plan_limit(plan, NULL, BATCH_LIMIT_KV_BLOCKS);
        return;
    }
    resume_requests(view, plan, &rules, batcher->params.max_sequences, 0, &room);
    admit_prompts(&batcher->params, view, plan, room.decoding, &room, &left_over);
    plan->recheck_on_arrival = !left_over;
    batcher->waits = 0;
}

static int splitwise_compose(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    struct splitwise *batcher = state;
    bool left_over;
    if (view->n_decoding > 0 && batcher->waits >= batcher->params.max_preemptions) {
        decode_first(batcher, view, plan);
        return 0;
    }
    struct room_rules rules = rules_of(&batcher->params);
    struct room room = {.free_blocks = view->free_blocks - view->growing, .running = replica_view_running(view)};
    int64_t tokens = admit_prompts(&batcher->params, view, plan, 0, &room, &left_over);
    if (plan->n_prefills == 0) {
        if (plan->n_rejections == 0) decode_first(batcher, view, plan); /* else it is called again at once */
        return 0;
    }
    rules.max_batch = batcher->params.max_batched_tokens - tokens;
    rules.prompts_only = rules.max_batch <= 0 && view->n_decoding > 0;
    if (rules.max_batch > 0) {
        room.decoding = view->n_decoding < rules.max_batch ? view->n_decoding : rules.max_batch;
        if (room.decoding < view->n_decoding) plan->decode_sequences = room.decoding;
    }
    resume_requests(view, plan, &rules, batcher->params.max_sequences, 0, &room);
    plan->decode = room.decoding > 0;
    batcher->waits = plan->decode || view->n_decoding == 0 ? 0 : batcher->waits + 1;
    return 0;
}

const struct batcher batching_splitwise = {
    .policy = {POLICY_HEAD(batcher, POLICY_BATCHING),
               .name = "splitwise",
               .summary = "prompts first within a token budget, decoding beside them in the rest of it",
               .source = "Patel et al., ISCA 2024; SplitwiseSim",
               .params = splitwise_fields,
               .params_bytes = sizeof(struct splitwise_params),
               .state_bytes = sizeof(struct splitwise)},
    .compose = splitwise_compose,
    .accepts_remote = true,
};
