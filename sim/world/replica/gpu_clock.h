/* Clock state: how fast a replica computes under a clock lock or a power cap, and what it then draws
 * (models/power.h).
 *
 * An order holds from the next iteration on. A lock is a clock. A cap is a power per GPU. The clock is then the
 * highest one within the cap, found for the first iteration of a run and kept for the run. Iterations that process
 * prompts have one share of time that waits for the core, those that only decode another (POLCA, ASPLOS 2024;
 * Splitwise, ISCA 2024).
 *
 * Where the power model demands more than the board's limit, the measured times are those at the limit. The work is
 * then assumed to draw the limit at the highest clock, and all its terms fall with the clock from there.
 *
 * Leaves out: a board reaches its cap from above, some milliseconds late. */
#ifndef ORRERY_WORLD_REPLICA_GPU_CLOCK_H
#define ORRERY_WORLD_REPLICA_GPU_CLOCK_H

#include "sim/core/config/config_field.h"
#include "sim/world/replica/work.h"

#include <stdbool.h>

struct clock_order {
    double clock_frac; /* over the highest clock; 1: no lock */
    double cap_w;      /* of each GPU; INFINITY: none */
    const char *domain, *target; /* of the command: "row0", and "low", "high" or "brake"; NULL: none is in force */
    sim_ns given_ns, since_ns;   /* when it was given, and took effect */
};

static inline struct clock_order clock_order_none(void)
{
    return (struct clock_order){.clock_frac = 1.0, .cap_w = (double)INFINITY};
}

/* Share of an iteration's time that scales with the SM clock. prefill: iterations that process prompts; decode: those
 * that only decode. */
struct clock_share_config {
    double prefill, decode;
};

extern const struct config_field clock_share_config_fields[];

/* The clock model of a pool's replicas. */
struct clock_model {
    struct power_model power; /* of a GPU */
    int64_t gpus;
    struct clock_share_config clock_share;
};

struct clock_state {
    bool is_slow;          /* false: as measured, and nothing below is set */
    double speed_frac, clock_frac;
    const char *domain, *target; /* of the order */
    sim_ns given_ns, since_ns;
    struct energy_model energy; /* of a replica, at this clock */
};

/* The clock state of an iteration with this work that lasts `seconds` at the highest clock; `base` is the replica's
 * energy model there. draft_j: joules of a draft model in it, beside those of its time, as of reading memory. */
struct clock_state clock_state_of(const struct clock_model *model, const struct energy_model *base,
                                  const struct clock_order *order, const struct llm_reads *reads,
                                  const struct iteration_work *work, double draft_j, double seconds);

#endif
