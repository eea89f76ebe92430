/* Decoding requests in the order of a number of each: in which they will finish, or by how much they have processed. A binary
 * heap by (number, id). */
#ifndef ORRERY_WORLD_REPLICA_REQUEST_ORDER_H
#define ORRERY_WORLD_REPLICA_REQUEST_ORDER_H

#include "sim/world/replica/request.h"

struct request_entry {
    int64_t number, id;
    struct request *request;
};

struct request_order {
    struct request_entry *entries;
    int32_t n, capacity;
    enum request_rank rank; /* where its requests keep their places */
};

void request_order_init(struct request_order *order, enum request_rank rank);
void request_order_fini(struct request_order *order);
int request_order_add(struct request_order *order, struct request *request, int64_t number); /* 0 or SIM_E_NOMEM */
void request_order_remove(struct request_order *order, struct request *request);

/* The least number; INT64_MAX when there is none. */
static inline int64_t request_order_least(const struct request_order *order)
{
    return order->n > 0 ? order->entries[0].number : INT64_MAX;
}

static inline struct request *request_order_first(const struct request_order *order)
{
    return order->n > 0 ? order->entries[0].request : NULL;
}

#endif
