#include "policies/batching/making_room.h"

static bool came_later(const struct request_view *a, const struct request_view *b)
{
    return a->arrival_ns != b->arrival_ns ? a->arrival_ns > b->arrival_ns : a->id > b->id;
}

struct passage {
    const struct replica_view *view;
    struct batch_plan *plan;
    struct room room;
    const struct request_view *youngest; /* decoding, not evicted */
};

/* Evicts the latest arrival among those who have not had their turn. Returns whether it was `member` itself. */
static bool evict_latest(struct passage *passage, const struct request_view *member)
{
    const struct request_view *victim = passage->youngest, *prompt = passage->room.last_prompt;
    if (prompt != NULL && came_later(prompt, victim)) {
        victim = prompt;
        passage->room.last_prompt = prompt->prev;
    } else {
        passage->youngest = victim->prev;
        passage->room.decoding--;
    }
    batch_plan_evict(passage->plan, victim, "no free KV block");
    passage->room.free_blocks += replica_view_blocks(passage->view, victim);
    return victim == member;
}

static void pass_in_order(struct passage *passage, int64_t spare_blocks)
{
    const struct request_view *member = passage->view->oldest_decoding;
    for (bool last = false; member != NULL && !last; member = member->next) {
        bool grows = replica_view_grows(passage->view, member);
        while (passage->room.free_blocks < 1 && (grows || spare_blocks > 0))
            if (evict_latest(passage, member)) return;
        passage->room.free_blocks -= grows;
        last = member == passage->youngest;
    }
}

struct room make_room(const struct replica_view *view, struct batch_plan *plan, int64_t spare_blocks)
{
    struct passage passage = {view, plan, {view->free_blocks, view->n_decoding, view->last_prefilling},
                              view->youngest_decoding};
    if (view->n_decoding > 0 && view->free_blocks - view->growing >= spare_blocks)
        passage.room.free_blocks -= view->growing;
    else
        pass_in_order(&passage, spare_blocks);
    plan->decode = passage.room.decoding > 0;
    plan->keep_free_blocks = spare_blocks;
    if (plan->n_evictions > 0) plan->iterations = 1;
    return passage.room;
}
