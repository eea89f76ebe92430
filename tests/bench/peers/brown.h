/* Brown's calendar queue (CACM 31, 1988), as a peer to measure against: one level of days, each a sorted list.
 *
 * Year and day of an event are whole numbers, time / width, because the published floating-point bounds can give a
 * wrong order. The number of days follows the number of events by halves and doubles, and their width is estimated
 * anew from the separation of the next 25 events whenever it changes. Weak where times are tied or skewed: lists get
 * long. */
#ifndef ORRERY_TESTS_BENCH_PEERS_BROWN_H
#define ORRERY_TESTS_BENCH_PEERS_BROWN_H

#include "sim/core/event.h"

struct brown_node {
    struct event event;
    struct brown_node *next;
};

struct brown {
    struct brown_node **days;
    size_t n_days; /* a power of two */
    size_t n;
    uint64_t width_ns;
    uint64_t today; /* days since the start of time */
    struct brown_node *free_nodes;
    void *slabs;
};

int brown_init(struct brown *brown); /* 0 or SIM_E_NOMEM */
void brown_fini(struct brown *brown);
int brown_push(struct brown *brown, const struct event *event); /* 0 or SIM_E_NOMEM */
int brown_pop(struct brown *brown, struct event *event);        /* 1, 0 when empty, or SIM_E_NOMEM */

#endif
