/* One inference request: what policies see of it, and what only the world knows. */
#ifndef ORRERY_WORLD_REQUEST_H
#define ORRERY_WORLD_REQUEST_H

#include "sim/world/view.h"

#include <stddef.h>

enum { TIME_UNSET = -1 };

struct request {
    struct request_view view; /* first: a view is the request it belongs to */
    int32_t prompt_tokens;    /* as it arrived; view.prompt_tokens grows by what a preemption makes it prefill again */
    int32_t output_tokens, generated_tokens;
    int32_t joined_context_tokens; /* processed tokens when it joined the decoding batch */
    int32_t replica;
    int32_t finish_rank;           /* its place in the order of finishing while it decodes */
    int64_t joined_step, finish_step;
    int64_t held_blocks;                 /* of KV, unless it decodes and `grows`: then they follow from its context */
    bool grows;                          /* takes KV blocks as it decodes */
    int64_t planned;                     /* number of the last batch plan that named it */
    sim_ns scheduled_ns, first_token_ns; /* TIME_UNSET before */
    sim_ns joined_ns;                    /* when its last prefill ended */
    sim_ns first_gap_ns;                 /* between the token of its last prefill and the next one; 0 before that */
    sim_ns max_gap_ns;                   /* over the stretches before a preemption */
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

static inline void request_list_push_back(struct request_list *list, struct request *request)
{
    request->view.next = NULL;
    request->view.prev = list->tail ? &list->tail->view : NULL;
    if (list->tail) list->tail->view.next = &request->view;
    else list->head = request;
    list->tail = request;
    list->n++;
}

static inline void request_list_push_front(struct request_list *list, struct request *request)
{
    request->view.prev = NULL;
    request->view.next = list->head ? &list->head->view : NULL;
    if (list->head) list->head->view.prev = &request->view;
    else list->tail = request;
    list->head = request;
    list->n++;
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

#endif
