/* A request as batchers, routers and offloaders see it. */
#ifndef ORRERY_WORLD_POLICY_REQUEST_VIEW_H
#define ORRERY_WORLD_POLICY_REQUEST_VIEW_H

#include "sim/core/units.h"

#include <stdint.h>

enum request_state {
    REQUEST_WAITING,
    REQUEST_PREFILLING,
    REQUEST_DECODING,
    REQUEST_PAUSED, /* has KV blocks but gets no tokens until it is resumed */
    REQUEST_AWAY,   /* its KV is elsewhere: on the host, or where its prompt was processed */
    REQUEST_MOVING, /* its KV is on its way here; it decodes once it is there */
    REQUEST_FINISHED,
    REQUEST_REJECTED
};

/* A kind of requests with limits of its own: those of one user group, or of one use. Its service numbers them from 0 on: those
 * that slo.classes names in its order, then the others as they come. */
struct request_class {
    const char *name; /* "" in a service without classes, which has this one only */
    uint16_t index;
};

struct request_view {
    int64_t id;
    sim_ns arrival_ns;
    int32_t prompt_tokens;    /* to be prefilled: after a recompute preemption also what had been generated */
    int32_t prefilled_tokens; /* of these, processed so far */
    int32_t preemptions;
    enum request_state state;
    int64_t admission; /* number of its latest admission at its replica, from 1 on */
    const struct request_view *next; /* behind it in its queue (waiting, prefilling) or batch (decoding); or NULL */
    const struct request_view *prev;
    const struct request_class *request_class;
};

/* The order in which a batcher sees those that are ready to decode, or to go on with their prompt. It shows only where not all
 * of them are always in the same batch. */
enum batch_order {
    BATCH_AS_THEY_COME,     /* back from their batch */
    BATCH_BY_ARRIVAL,       /* equal ones as they come */
    BATCH_BY_ADMISSION,
    BATCH_LEFT_BY_ARRIVAL,  /* those left out of a batch by arrival, behind them the others as they come */
    BATCH_BY_LATEST_TOKEN,  /* who has waited longest since its latest token is first; equal ones as they come */
};

#endif
