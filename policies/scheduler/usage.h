/* GPUs in use in the future: a step function of time, for schedulers with reservations. */
#ifndef ORRERY_POLICIES_SCHEDULER_USAGE_H
#define ORRERY_POLICIES_SCHEDULER_USAGE_H

#include "sim/core/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `gpus` are in use from from_ns up to the next point, or forever after the last. */
struct usage_point {
    sim_ns from_ns;
    int64_t gpus;
};

/* Zero-initialised. */
struct usage {
    size_t n, capacity;
    struct usage_point *points;
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
