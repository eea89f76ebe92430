/* One inference request: what policies see of it, and what only the world knows. */
#ifndef ORRERY_WORLD_REPLICA_REQUEST_H
#define ORRERY_WORLD_REPLICA_REQUEST_H

#include "sim/world/policy/policy.h"

#include <stddef.h>

struct handover;
struct prefix_chain;

enum { TIME_UNSET = -1 };

enum request_rank { RANK_FINISH, RANK_LONGEST, REQUEST_RANKS };

struct request {
    struct request_view view; /* first: a view is the request it belongs to */
    int32_t prompt_tokens;    /* as it arrived; view.prompt_tokens grows by what a preemption makes it prefill again */
    int32_t output_tokens, generated_tokens;
    int32_t context_tokens; /* processed, the newest included, when it joined a cohort or last left one */
    int32_t replica, decode_replica; /* where it is; where it decodes or is to, -1: not yet known */
    struct prefix_chain *prefix;   /* of its prompt's blocks, or NULL */
    int32_t cached_tokens;         /* of its prompt, found in the prefix cache on its first admission */
    struct handover *handover;     /* from the replica of its prompt to the one that decodes, or NULL */
    struct cohort *cohort;         /* that it decodes in, or NULL */
    int32_t ranks[REQUEST_RANKS];    /* its places in its cohort's orders (cohort.h) */
    int32_t fresh_rank;              /* and in its list of new ones */
    int64_t joined_step, finish_step;
    int64_t held_blocks;                 /* of KV, unless it decodes and `grows`: then they follow from its context */
    bool grows;                          /* takes KV blocks as it decodes */
    int64_t planned;                     /* number of the last batch plan that named it */
    sim_ns scheduled_ns, first_token_ns; /* TIME_UNSET before */
    int64_t handed_blocks;               /* held at the replica that processed its prompt, until its KV has been moved */
    bool kv_is_here;                     /* handed over, and pushed to the replica that is to take it */
    bool in_flight;                      /* a prompt of it is in a batch that is under way */
    struct kv_move *move;                /* the latest one of its KV that is under way, or NULL */
    sim_ns joined_ns;                    /* of its latest token when it joined a cohort or last left one */
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
