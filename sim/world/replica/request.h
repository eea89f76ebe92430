/* One inference request: the view that policies see, and the state that only the world knows. */
#ifndef ORRERY_WORLD_REPLICA_REQUEST_H
#define ORRERY_WORLD_REPLICA_REQUEST_H

#include "sim/world/policy/request_view.h"
#include "sim/world/replica/token_wait.h"

#include <stdbool.h>
#include <stddef.h>

struct chunk_prompt;
struct handover;
struct prefix_chain;
struct sequence_group;

enum { TIME_UNSET = -1 };

enum request_rank { RANK_FINISH, RANK_LONGEST, REQUEST_RANKS };

/* Its place in a session, if view.session_id names one. */
struct request_session {
    sim_ns start_ns;         /* of the session */
    int32_t repeated_tokens; /* of its prompt, those that earlier requests or the system prompt had */
    bool starts, ends;       /* it is the session's first request; its last */
    bool is_logged;          /* named by a log, which tells neither its end nor what is repeated */
};

struct request {
    struct request_view view; /* first: a view is the request it belongs to */
    /* as it arrived; view.prompt_tokens grows by what it must prefill again after a preemption */
    int32_t prompt_tokens;
    int32_t output_tokens, generated_tokens;
    int32_t context_tokens; /* processed, the newest included, when it last joined or left a running batch */
    int32_t replica, decode_replica; /* where it is; where it decodes or will decode, -1: not yet known */
    struct prefix_chain *prefix;   /* of its prompt's blocks, or of all its blocks, or NULL */
    struct chunk_prompt *chunks;   /* of its prompt, or NULL */
    int32_t cached_tokens;         /* of its prompt, found in GPU memory on its first admission */
    int32_t loaded_tokens;         /* of its prompt, loaded from a prefix store or a chunk store then */
    int32_t loading_tokens;        /* of its prompt, from this store on its latest admission */
    struct handover *handover;     /* from the replica of its prompt to the one that decodes, or NULL */
    struct running_batch *running;         /* that it decodes in, or NULL */
    int32_t ranks[REQUEST_RANKS];    /* its places in the orders of its running batch */
    int32_t fresh_rank;              /* its place among the new members */
    int64_t joined_step, finish_step;
    int64_t held_blocks;                 /* of KV; while it decodes and `grows` they follow from its context instead */
    bool grows;                          /* takes KV blocks as it decodes */
    int64_t window_blocks;               /* held beside these, for layers with a window (replica_env.window_share) */
    int32_t draft_tokens;                /* that the draft model has processed (speculation.h) */
    int64_t planned;                     /* number of the last batch plan that named it */
    sim_ns scheduled_ns, first_token_ns; /* TIME_UNSET before */
    int64_t handed_blocks;               /* held at the replica that processed its prompt, until its KV has moved */
    bool is_remote;                      /* handed over; its KV has not yet been taken where it decodes */
    bool kv_is_pushed;                   /* handed over, and pushed to the replica that will take it */
    bool in_flight;                      /* its prompt is in a batch in flight */
    struct kv_move *move;                /* the latest current move of its KV, or NULL */
    struct kv_move *loads;               /* from the prefix store, or NULL */
    int32_t n_fetches;                   /* that it waits for before it joins the queue */
    bool is_parked;                      /* in the queue with the blocks of its prompt: it loads alone, or has loaded */
    sim_ns joined_ns;                    /* of its latest token when it last joined or left a running batch */
    sim_ns first_gap_ns;                 /* between the token of its last prefill and the next one; 0 before that */
    struct token_wait max_gap;           /* over the stretches before a preemption */
    struct sequence_group *group;        /* of the sequences of its request (sequence_group.h), or NULL */
    int32_t slot;                        /* its place there */
    bool is_watched;                     /* may write into a block that others of its group hold */
    int32_t other_tokens;                /* output of the other sequences of its request, when the last one has ended */
    struct request_session session;
};

static inline struct request *request_of(const struct request_view *view)
{
    return (struct request *)(uintptr_t)view;
}

/* Tokens of its prompt that are still to be processed. */
static inline int32_t request_unprocessed_tokens(const struct request *request)
{
    return request->view.prompt_tokens - request->view.prefilled_tokens;
}

/* A queue or batch of requests, linked through their views. */
struct request_list {
    struct request *head, *tail;
    int64_t n;
};

/* `behind` NULL: at the end. */
static inline void request_list_insert_before(struct request_list *list, struct request *request,
                                              struct request *behind)
{
    struct request *before = behind != NULL ? request_of(behind->view.prev) : list->tail;
    request->view.prev = before != NULL ? &before->view : NULL;
    request->view.next = behind != NULL ? &behind->view : NULL;
    if (before != NULL) before->view.next = &request->view;
    else list->head = request;
    if (behind != NULL) behind->view.prev = &request->view;
    else list->tail = request;
    list->n++;
}

static inline void request_list_push_back(struct request_list *list, struct request *request)
{
    request_list_insert_before(list, request, NULL);
}

static inline void request_list_push_front(struct request_list *list, struct request *request)
{
    request_list_insert_before(list, request, list->head);
}

/* In its place in the order, behind its equals. */
static inline void request_list_insert(struct request_list *list, struct request *request, enum batch_order order)
{
    struct request *before = list->tail;
    if (order == BATCH_BY_ARRIVAL)
        while (before != NULL && before->view.arrival_ns > request->view.arrival_ns)
            before = request_of(before->view.prev);
    if (order == BATCH_BY_ARRIVAL_AND_ADMISSION)
        while (before != NULL && (before->view.arrival_ns > request->view.arrival_ns ||
                                  (before->view.arrival_ns == request->view.arrival_ns &&
                                   before->view.admission > request->view.admission)))
            before = request_of(before->view.prev);
    if (order == BATCH_BY_ADMISSION)
        while (before != NULL && before->view.admission > request->view.admission)
            before = request_of(before->view.prev);
    request_list_insert_before(list, request, before != NULL ? request_of(before->view.next) : list->head);
}

static inline void request_list_remove(struct request_list *list, struct request *request)
{
    struct request *next = request_of(request->view.next), *prev = request_of(request->view.prev);
    if (next) next->view.prev = request->view.prev;
    else list->tail = prev;
    if (prev) prev->view.next = request->view.next;
    else list->head = next;
    request->view.next = request->view.prev = NULL;
    list->n--;
}

static inline void request_list_each(const struct request_list *list,
                                     void (*visit)(void *context, struct request *request), void *context)
{
    for (struct request *request = list->head, *next; request != NULL; request = next) {
        next = request_of(request->view.next);
        visit(context, request);
    }
}

#endif
