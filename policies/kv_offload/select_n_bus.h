/* Select-N's coordinator of the GPUs on one bus (arXiv 2502.08182, section 4.2). */
#ifndef ORRERY_POLICIES_KV_OFFLOAD_SELECT_N_BUS_H
#define ORRERY_POLICIES_KV_OFFLOAD_SELECT_N_BUS_H

#include <stdbool.h>
#include <stdint.h>

/* GPUs that serve one LLM with one goal at one interval, between the smallest that meets the goal on an idle bus and
 * the largest that fits the memory. */
struct select_n_member {
    int64_t gpus, layers, interval_min, interval_max;
    double weight_bytes; /* of a layer */
    double goal_s;       /* for an iteration */
};

enum { SELECT_N_MEMBERS = 8 };

/* Sets the intervals of up to SELECT_N_MEMBERS kinds of GPUs under which the most bytes lie in host memory and the bus
 * carries sum of gpus floor(layers / interval) weight_bytes / goal_s. Among equals the first counts, the last member's
 * interval running fastest, upwards. Returns false if there are none. */
bool select_n_coordinate(const struct select_n_member *members, int n, double bus_bytes_per_s, int64_t *intervals);

#endif
