/* Select-N's coordinator of the GPUs on one bus (arXiv 2502.08182, section 4.2). */
#ifndef ORRERY_POLICIES_KV_OFFLOAD_SELECT_N_BUS_H
#define ORRERY_POLICIES_KV_OFFLOAD_SELECT_N_BUS_H

#include <stdbool.h>
#include <stdint.h>

/* GPUs that serve one LLM with one goal, and have one interval: those that keep the goal on an idle bus and fit the
 * memory. */
struct select_n_member {
    int64_t gpus, layers, interval_min, interval_max;
    double weight_bytes; /* of a layer */
    double goal_s;       /* for an iteration */
};

enum { SELECT_N_MEMBERS = 8 };

/* Of all intervals of up to SELECT_N_MEMBERS kinds of GPUs, those under which the most bytes lie in the host's memory
 * and the bus brings it to all of them within their goals, sum of gpus floor(layers / interval) weight_bytes /
 * goal_s; of equals the first, the last member's interval running fastest from its least. Returns whether there are
 * any. */
bool select_n_coordinate(const struct select_n_member *members, int n, double bus_bytes_per_s, int64_t *intervals);

#endif
