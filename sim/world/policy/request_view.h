/* A request as batchers, routers and offloaders see it. */
#ifndef ORRERY_WORLD_POLICY_REQUEST_VIEW_H
#define ORRERY_WORLD_POLICY_REQUEST_VIEW_H

#include "sim/core/units.h"

#include <stdint.h>

enum request_state {
    REQUEST_WAITING,
    REQUEST_PREFILLING,
    REQUEST_DECODING,
    REQUEST_PAUSED,      /* has KV blocks but gets no tokens until it is resumed */
    REQUEST_NONRESIDENT, /* swapped out (KV on the host) or remote (KV where its prompt was processed) */
    REQUEST_MOVING,      /* its KV is in transfer to this replica; it decodes once the KV has arrived */
    REQUEST_FINISHED,
    REQUEST_REJECTED,
    REQUEST_LOADING /* in the queue, with the KV blocks of its prompt, until its loads have come (batch_plan_load) */
};

/* Requests with limits of their own: of one user group, or of one use. The service numbers its classes from 0: first
 * those of slo.classes in that order, then the others as they arrive. */
struct request_class {
    const char *name; /* "": the only class of a service without classes */
    uint16_t index;
};

struct request_view {
    int64_t id;
    sim_ns arrival_ns;
    int32_t prompt_tokens;    /* to prefill; after a recompute preemption including its generated tokens */
    int32_t prefilled_tokens; /* of these, processed so far */
    int32_t preemptions;
    int32_t further_sequences; /* beside one, that it becomes when its prompt is processed */
    enum request_state state;
    int64_t admission; /* number of its latest admission at its replica, from 1 on */
    const struct request_view *next; /* next in its queue (waiting, prefilling) or batch (decoding); or NULL */
    const struct request_view *prev;
    const struct request_class *request_class;
    int64_t session_id; /* from 1 on; 0: of no session */
};

/* Sequences that the request is or becomes: each takes a slot of the batch. */
static inline int64_t request_view_sequences(const struct request_view *request)
{
    return 1 + (int64_t)request->further_sequences;
}

/* The order in which a batcher sees sequences that are ready to decode or to continue their prompt. It matters only if
 * a batch may leave some of them out. */
enum batch_order {
    BATCH_BY_RETURN,      /* as they return from their batch */
    BATCH_BY_ARRIVAL,     /* ties as they return */
    BATCH_BY_ADMISSION,
    BATCH_SKIPPED_BY_ARRIVAL,  /* those left out of a batch by arrival, then the others as they return */
    BATCH_BY_LATEST_TOKEN,     /* longest time since the latest token first; ties as they return */
    BATCH_BY_ARRIVAL_AND_ADMISSION, /* by arrival; ties by admission */
};

#endif
