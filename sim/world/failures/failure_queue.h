/* What will fail or come back, in the order of time; of equal times the lowest number first, so numbers are unique at one
 * time. A heap: O(log n) to add and to take. */
#ifndef ORRERY_WORLD_FAILURES_FAILURE_QUEUE_H
#define ORRERY_WORLD_FAILURES_FAILURE_QUEUE_H

#include "sim/core/units.h"

#include <stddef.h>

struct failure_entry {
    sim_ns time_ns;
    int64_t number;
    sim_ns repair_ns, restart_ns; /* carried along */
};

struct failure_queue {
    struct failure_entry *entries; /* the first is the next one */
    size_t n, capacity;
};

int failure_queue_add(struct failure_queue *queue, const struct failure_entry *entry); /* 0 or SIM_E_NOMEM */
struct failure_entry failure_queue_take(struct failure_queue *queue);                  /* not from an empty one */
void failure_queue_fini(struct failure_queue *queue);

/* SIM_NS_MAX when it is empty. */
sim_ns failure_queue_next_ns(const struct failure_queue *queue);

#endif
