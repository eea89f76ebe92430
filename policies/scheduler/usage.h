/* GPUs in use in the future: a step function of time, for schedulers with reservations. Its points are the nodes of a
 * treap (Seidel and Aragon 1996) with the least and the most GPUs of each subtree. A change of a span of time and the
 * search for the next free time cost O(log n) expected for n points, if no free time before it is too short. */
#ifndef ORRERY_POLICIES_SCHEDULER_USAGE_H
#define ORRERY_POLICIES_SCHEDULER_USAGE_H

#include "sim/core/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `gpus` are in use from from_ns up to the next point, or forever after the last. All four numbers of GPUs lack the
 * `below` of the nodes above. */
struct usage_point {
    sim_ns from_ns;
    int64_t gpus, least, most; /* here; least and most of the subtree */
    int64_t below;             /* to be added to all nodes below this one */
    uint64_t height;
    uint32_t left, right; /* indices of points; 0: none */
};

/* Zero-initialised. */
struct usage {
    struct usage_point *points; /* [n]; the first one is not used */
    size_t n, capacity;
    uint32_t root, free; /* free: the first unused point, linked by `left` */
};

void usage_fini(struct usage *usage);

/* Adds GPUs (gpus < 0: removes) in [from_ns, to_ns). Returns 0 or SIM_E_NOMEM. */
int usage_add(struct usage *usage, sim_ns from_ns, sim_ns to_ns, int64_t gpus);

/* Drops the points before `now_ns`. */
void usage_forget(struct usage *usage, sim_ns now_ns);

/* The earliest time, `now_ns` or later, from which `gpus` of `total_gpus` are unused for `span_ns`; span 0: at which
 * they are unused. SIM_NS_MAX: gpus > total_gpus. */
sim_ns usage_earliest(const struct usage *usage, sim_ns now_ns, sim_ns span_ns, int64_t gpus, int64_t total_gpus);

#endif
