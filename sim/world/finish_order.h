/* The decoding requests of a replica in the order in which they will finish: a binary heap by (finish step, id). */
#ifndef ORRERY_WORLD_FINISH_ORDER_H
#define ORRERY_WORLD_FINISH_ORDER_H

#include "sim/world/request.h"

struct finish_entry {
    int64_t step, id;
    struct request *request;
};

struct finish_order {
    struct finish_entry *entries;
    int32_t n, capacity;
};

void finish_order_init(struct finish_order *order);
void finish_order_fini(struct finish_order *order);
int finish_order_add(struct finish_order *order, struct request *request); /* by its finish_step; 0 or SIM_E_NOMEM */
void finish_order_remove(struct finish_order *order, struct request *request);

/* The step after which the next request finishes; INT64_MAX when there is none. */
static inline int64_t finish_order_next_step(const struct finish_order *order)
{
    return order->n > 0 ? order->entries[0].step : INT64_MAX;
}

static inline struct request *finish_order_first(const struct finish_order *order)
{
    return order->n > 0 ? order->entries[0].request : NULL;
}

#endif
