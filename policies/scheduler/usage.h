/* GPUs in use over the time to come: a step function, for schedulers that make reservations. */
#ifndef ORRERY_POLICIES_SCHEDULER_USAGE_H
#define ORRERY_POLICIES_SCHEDULER_USAGE_H

#include "sim/core/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From a point on, up to the next one or for ever, so many are in use. */
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

/* Adds (gpus < 0: takes away) GPUs from one time up to, and without, another. Returns 0 or SIM_E_NOMEM. */
int usage_add(struct usage *usage, sim_ns from_ns, sim_ns to_ns, int64_t gpus);

/* Forgets what lies before `now_ns`. */
void usage_forget(struct usage *usage, sim_ns now_ns);

/* The earliest time, `now_ns` or later, from which on `gpus` of `total_gpus` are not in use for `span_ns`; for no
 * span: when they are not in use. SIM_NS_MAX when gpus > total_gpus. */
sim_ns usage_earliest(const struct usage *usage, sim_ns now_ns, sim_ns span_ns, int64_t gpus, int64_t total_gpus);

#endif
