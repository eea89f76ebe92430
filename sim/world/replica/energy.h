/* Energy of a replica's GPUs: the law of models/power.h, summed over runs of iterations in closed form.
 *
 * Below the power limit the law is linear, so energy follows from sums that a replica keeps anyway (work.h): time, FLOP, bytes.
 * What the limit keeps from being drawn is the only sum of its own: in iteration j of a decode run both energy and time are
 * affine in j, so what an iteration would take beyond the limit is, too, and changes its sign at most once.
 *
 * Power is that of whole iterations: of their FLOP and bytes over their time, the host's part of it included, as the law was
 * fitted. Between iterations GPUs idle with a process on them. Work counts when its iteration ends: of one that the end of
 * the run cuts off, only the time. */
#ifndef ORRERY_WORLD_REPLICA_ENERGY_H
#define ORRERY_WORLD_REPLICA_ENERGY_H

#include "models/power.h"
#include "models/transformer.h"
#include "sim/core/units.h"

#include <stdbool.h>
#include <stdint.h>

/* What a replica draws, all its GPUs together. */
struct energy_law {
    double idle_w, busy_w, limit_w;
    double token_j, row_j, pair_j, weight_byte_j, context_j; /* by the members of struct work_sums */
};

struct energy_sums {
    double excess_j; /* that iterations would take beyond the limit, and what a lower clock spares */
    double peak_w;   /* of the replica, in any iteration; 0 before the first */
};

/* Of `gpus` GPUs with this law, which serve the LLM together. */
struct energy_law energy_law_of(const struct power_law *law, const struct gpu_spec *gpu, const struct llm_spec *llm,
                                int64_t gpus);

/* n iterations: j takes work_j + j work_slope_j joules beside busy_w, and lasts time_s + j time_slope_s. */
void energy_add(struct energy_sums *sums, const struct energy_law *law, int64_t n, double work_j, double work_slope_j,
                double time_s, double time_slope_s);

/* The same at another pace than that of `base`, by whose law all work is counted: `at` is that pace's (pace.h), and iterations take
 * at_j + j at_slope_j beside its busy_w. What is not drawn goes to excess_j. */
struct energy_run {
    int64_t n;
    double base_j, base_slope_j, at_j, at_slope_j, time_s, time_slope_s;
};
void energy_add_at(struct energy_sums *sums, const struct energy_law *base, const struct energy_law *at,
                   const struct energy_run *run);

void energy_merge(struct energy_sums *into, const struct energy_sums *from); /* the peak is the higher one */

#endif
