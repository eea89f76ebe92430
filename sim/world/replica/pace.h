/* How fast a replica computes under a lock of its clock or a cap of its power, and what it draws then (models/power.h).
 *
 * What it is ordered to do holds from the next iteration on. A lock is a clock; a cap is a power per GPU, and the clock is the
 * highest one that keeps within it, found for the first iteration of a run and kept for the run. Iterations that process prompts
 * have one share of time that waits for the core, those that only decode another (POLCA, ASPLOS 2024; Splitwise, ISCA 2024).
 *
 * Where the law demands more than the board's limit, the times that were measured are those at the limit; the work is then taken to
 * draw the limit at the highest clock, and all its terms fall with the clock from there.
 *
 * Leaves out that a board reaches its cap from above, some milliseconds late. */
#ifndef ORRERY_WORLD_REPLICA_PACE_H
#define ORRERY_WORLD_REPLICA_PACE_H

#include "sim/core/config/config_field.h"
#include "sim/world/replica/work.h"

#include <stdbool.h>

struct pace_order {
    double clock_frac; /* over the highest clock; 1: no lock */
    double cap_w;      /* of each GPU; INFINITY: none */
};

static inline struct pace_order pace_free(void)
{
    return (struct pace_order){1.0, (double)INFINITY};
}

/* Share of the time of an iteration that waits for the SM clock, and lasts longer under a lower one: of iterations that process
 * prompts, and of those that only decode. */
struct clock_share_config {
    double prefill, decode;
};

extern const struct config_field clock_share_config_fields[];

/* Of the replicas of a pool. */
struct pace_model {
    struct power_law law; /* of a GPU */
    int64_t gpus;
    struct clock_share_config clock_share;
};

struct pace {
    bool is_slow;          /* else all is as measured, and nothing below is set */
    double speed_frac;
    struct energy_law law; /* of a replica, at this pace */
};

/* For an iteration with this work that lasts `seconds` at the highest clock; `base` is the replica's law there. */
struct pace pace_of(const struct pace_model *model, const struct energy_law *base, const struct pace_order *order,
                    const struct llm_reads *reads, const struct iteration_work *work, double seconds);

#endif
