#include "policies/batching/making_room.h"

/* One decision: which sequences decode, and which are evicted for them. */
struct passage {
    const struct replica_view *view;
    struct batch_plan *plan;
    const struct room_rules *rules;
    struct room room;
    const struct request_view *youngest; /* decoding, not evicted */
};

/* Evicts the latest arrival among the sequences not yet scheduled. Returns whether that was `member` itself. */
static bool evict_latest(struct passage *passage, const struct request_view *member)
{
    static const char reason[] = "no free KV block";
    const struct request_view *victim = passage->youngest, *prompt = passage->room.last_prompt;
    bool is_prompt = prompt != NULL && came_later(prompt, victim);
    if (is_prompt) {
        victim = prompt;
        passage->room.last_prompt = prompt->prev;
    } else {
        passage->youngest = victim->prev;
    }
    if (passage->rules->swap && !is_prompt)
        batch_plan_swap(passage->plan, victim, reason);
    else
        batch_plan_evict(passage->plan, victim, reason);
    passage->room.running--;
    passage->room.free_blocks += replica_view_freed_blocks(passage->view, victim);
    return victim == member;
}

static void pass_in_order(struct passage *passage)
{
    struct room *room = &passage->room;
    const struct request_view *member = passage->view->oldest_decoding;
    for (bool last = false; member != NULL && !last && room->decoding < passage->rules->max_batch;
         member = member->next) {
        bool grows = replica_view_grows(passage->view, member);
        while (room->free_blocks < 1 && (grows || passage->rules->spare_blocks > 0))
            if (evict_latest(passage, member)) return;
        room->free_blocks -= grows;
        room->decoding++;
        room->last_decoding = member;
        last = member == passage->youngest;
    }
}

struct room make_room(const struct replica_view *view, struct batch_plan *plan, const struct room_rules *rules)
{
    struct passage passage = {view, plan, rules, {.free_blocks = view->free_blocks, .last_prompt = view->last_prefilling},
                              view->youngest_decoding};
    struct room *room = &passage.room;
    room->running = replica_view_running(view);
    plan->keep_free_blocks = rules->spare_blocks;
    if (view->n_decoding <= rules->max_batch && view->free_blocks - view->growing >= rules->spare_blocks) {
        room->free_blocks -= view->growing;
        room->decoding = view->n_decoding;
        room->last_decoding = view->youngest_decoding;
    } else {
        pass_in_order(&passage);
        if (room->decoding > 0 && room->last_decoding != passage.youngest) plan->decode_sequences = room->decoding;
    }
    plan->decode = room->decoding > 0;
    if (plan->n_evictions > 0) plan->iterations = 1;
    return *room;
}

/* For a sequence on the host, vLLM requires the blocks that it had plus one, even if its last block has room. */
static bool has_room(const struct replica_view *view, const struct request_view *request, const struct room *room,
                     int64_t watermark)
{
    int64_t context = replica_view_context_tokens(view, request), blocks = blocks_for_tokens(view, context);
    if (room->running == 0) return room->free_blocks >= blocks;
    if (!replica_view_is_remote(view, request)) blocks = blocks_for_tokens(view, context - 1) + 1;
    return room->free_blocks - blocks >= watermark;
}

void resume_requests(const struct replica_view *view, struct batch_plan *plan, const struct room_rules *rules,
                     int64_t max_sequences, int64_t watermark, struct room *room)
{
    if (plan->n_evictions > 0 || plan->decode_sequences < INT64_MAX) return;
    for (const struct request_view *r = view->nonresident; r != NULL; r = r->next) {
        bool is_there = !replica_view_is_remote(view, r) || replica_view_kv_is_pushed(view, r);
        bool in_batch = is_there && !rules->prompts_only;
        if (batch_plan_full(plan)) plan->iterations = 1; /* the others wait for the next plan */
        if (batch_plan_full(plan) || !has_room(view, r, room, watermark) ||
            (room->running > 0 && room->running + request_view_sequences(r) > max_sequences) ||
            (in_batch && room->decoding >= rules->max_batch))
            return;
        room->free_blocks -= blocks_for_tokens(view, replica_view_context_tokens(view, r));
        room->running += request_view_sequences(r);
        batch_plan_resume(plan, r, in_batch);
        if (!in_batch) continue;
        plan->decode = true;
        room->decoding++;
    }
}
