/* Stall-free batching as in Sarathi-Serve (Agrawal et al., OSDI 2024; details as in Vidur): decoding never waits for
 * prompts, which are processed in chunks within the rest of a token budget.
 *
 * An iteration holds all decoding sequences, then unfinished prompts, then new ones from the head of the queue. These
 * are admitted while budget and slots last and their whole prompt leaves the watermark of blocks free: a prompt gets
 * all its blocks at admission. A decoding sequence needs a free block even if its last block has room. If there is
 * none, the latest arrival is preempted, decoding or not. A prompt that can never be admitted is rejected.
 *
 * Each half of the idea can be turned off (section 5.4.2): without `chunked` whole prompts join the decoding, without
 * `hybrid` iterations of prompts and of decoding alternate. */
#include "policies/batching/making_room.h"
#include "policies/declared.h"
#include "sim/world/policy/batching.h"

struct sarathi {
    int64_t max_sequences, token_budget;
    double watermark;
    bool chunked, hybrid;
    bool prompts_were_last; /* no parameter: the kind of the last iteration, without `hybrid` */
};

#define ROW_OF struct sarathi
static const struct config_field sarathi_fields[] = {
    ROW_INT("max_sequences", max_sequences, DEFAULT("128"), WITHIN(1, 65536),
            "most running sequences; with pipeline stages each batch holds its share"),
    ROW_INT("token_budget", token_budget, DEFAULT("512"), WITHIN(1, 1e9),
            "tokens of an iteration (the paper's tau); prompts are cut to fit, decoding may exceed it"),
    ROW_REAL("watermark", watermark, DEFAULT("0.01"), WITHIN(0, 1),
             "share of the KV blocks that an admission leaves free"),
    ROW_BOOL("chunked", chunked, DEFAULT("true"),
             "cut prompts to fit the budget; otherwise they are processed whole while any budget is left"),
    ROW_BOOL("hybrid", hybrid, DEFAULT("true"),
             "prompts beside decoding; otherwise iterations of prompts and of decoding alternate"),
    {0}};
#undef ROW_OF

static int32_t piece_of_prompt(const struct sarathi *params, const struct replica_view *view,
                               const struct request_view *request, int64_t budget)
{
    return prompt_chunk(view, request, params->chunked ? budget : INT32_MAX);
}

/* Budget left after the decoding of an iteration. */
struct rest {
    int64_t tokens, free_blocks, sequences;
    int64_t running;
};

static void take_piece(const struct sarathi *params, const struct replica_view *view, struct batch_plan *plan,
                       const struct request_view *request, struct rest *rest)
{
    int32_t tokens = piece_of_prompt(params, view, request, rest->tokens);
    batch_plan_prefill(plan, request, tokens);
    rest->tokens -= tokens;
    rest->sequences--;
}

/* Prompts behind the last one that fits into the batch wait. */
static void go_on_with_prompts(const struct sarathi *params, const struct replica_view *view, struct batch_plan *plan,
                               const struct room *room, struct rest *rest)
{
    const struct request_view *end = room->last_prompt != NULL ? room->last_prompt->next : view->prefilling;
    bool is_full = rest->sequences <= 0;
    for (const struct request_view *r = view->prefilling; r != end && rest->tokens > 0; r = r->next) {
        if (is_full && came_later(r, room->last_decoding)) return;
        take_piece(params, view, plan, r, rest);
    }
}

/* Returns whether requests are left that only a change at this replica can admit. */
static bool admit_from_head(const struct sarathi *params, const struct replica_view *view, struct batch_plan *plan,
                            struct rest *rest)
{
    int64_t watermark = (int64_t)(params->watermark * (double)view->total_blocks);
    for (const struct request_view *r = view->waiting; r != NULL; r = r->next) {
        int64_t blocks = blocks_for_tokens(view, r->prompt_tokens);
        if (batch_plan_full(plan)) {
            plan->iterations = 1; /* the rest of the queue waits for the next plan */
            return true;
        }
        if (blocks + watermark > view->total_blocks) {
            batch_plan_reject(plan, r, "prompt exceeds the KV cache");
            continue;
        }
        int64_t needed = replica_view_needed_blocks(view, r, r->prompt_tokens);
        rest->running += request_view_sequences(r);
        const bool has_slot = rest->running <= params->max_sequences || rest->running <= request_view_sequences(r);
        const bool has_blocks = rest->free_blocks - needed >= watermark;
        if (!has_slot || rest->sequences <= 0 || !has_blocks || rest->tokens <= 0) {
            batch_plan_limit(plan, r,
                             !has_slot || rest->sequences <= 0 ? BATCH_LIMIT_SEQUENCES
                             : !has_blocks                     ? BATCH_LIMIT_KV_BLOCKS
                                                               : BATCH_LIMIT_TOKENS);
            return true;
        }
        rest->free_blocks -= needed;
        take_piece(params, view, plan, r, rest);
    }
    return false;
}

static struct room_rules rules_of(const struct sarathi *params, const struct replica_view *view)
{
    return (struct room_rules){.spare_blocks = 1, .max_batch = sequences_per_batch(view, params->max_sequences)};
}

/* For an iteration without decoding: no room has to be made. */
static struct room room_of_prompts(const struct replica_view *view)
{
    return (struct room){.free_blocks = view->free_blocks, .last_prompt = view->last_prefilling,
                         .running = replica_view_running(view)};
}

static void resume_nonresident(const struct sarathi *params, const struct replica_view *view, struct batch_plan *plan,
                               struct room *room)
{
    const struct room_rules rules = rules_of(params, view);
    int64_t watermark = (int64_t)(params->watermark * (double)view->total_blocks);
    if (view->n_nonresident > 0) resume_requests(view, plan, &rules, params->max_sequences, watermark, room);
}

static void compose_prompts(const struct sarathi *params, const struct replica_view *view, struct batch_plan *plan,
                            struct room *room)
{
    const struct room_rules rules = rules_of(params, view);
    struct rest rest = {params->token_budget - room->decoding * view->decode_tokens_each, room->free_blocks,
                        rules.max_batch - room->decoding, room->running};
    go_on_with_prompts(params, view, plan, room, &rest);
    plan->recheck_on_arrival = !admit_from_head(params, view, plan, &rest);
}

/* Prompts have the first turn, and every turn while no sequence decodes. Requests resume in turns of decoding. */
static void compose_in_turns(struct sarathi *params, const struct replica_view *view, struct batch_plan *plan)
{
    const struct room_rules rules = rules_of(params, view);
    if (!params->prompts_were_last || view->n_decoding == 0) {
        struct room room = room_of_prompts(view);
        compose_prompts(params, view, plan, &room);
        params->prompts_were_last = plan->n_prefills > 0;
        if (params->prompts_were_last || view->n_decoding + view->n_nonresident == 0) return;
    } else if (view->n_prefilling + view->n_waiting > 0) {
        plan->iterations = 1;
        batch_plan_limit(plan, NULL, BATCH_LIMIT_CLOSED);
    } else {
        plan->recheck_on_arrival = true;
    }
    params->prompts_were_last = false;
    struct room room = make_room(view, plan, &rules);
    resume_nonresident(params, view, plan, &room);
}

static int sarathi_compose(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    struct sarathi *params = state;
    const struct room_rules rules = rules_of(params, view);
    if (!params->hybrid) {
        compose_in_turns(params, view, plan);
        return 0;
    }
    struct room room = make_room(view, plan, &rules);
    if (plan->n_evictions > 0) {
        batch_plan_limit(plan, NULL, BATCH_LIMIT_KV_BLOCKS);
        plan->decode = false; /* called again at once, with the evicted requests at the head of the queue */
        plan->decode_sequences = INT64_MAX;
        return 0;
    }
    resume_nonresident(params, view, plan, &room);
    compose_prompts(params, view, plan, &room);
    return 0;
}

const struct batcher batching_sarathi = {
    .policy = {POLICY_HEAD(batcher, POLICY_BATCHING),
               .name = "sarathi",
               .summary = "stall-free: decoding first, prompts in chunks within a token budget",
               .source = "Agrawal et al., OSDI 2024",
               .params = sarathi_fields,
               .params_bytes = sizeof(struct sarathi),
               .state_bytes = sizeof(struct sarathi)},
    .compose = sarathi_compose,
    .accepts_remote = true,
    .forks = true,
    .order = BATCH_SKIPPED_BY_ARRIVAL,
};
