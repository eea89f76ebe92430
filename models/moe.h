/* Time of a fused mixture-of-experts layer on one GPU: up (and gate) projection, activation and down projection of the
 * experts it holds, over the tokens that choose them.
 *
 *     t = start_s + soft_max(compute, bytes / (bandwidth_frac W)) + touched expert_s
 *
 * A token chooses `chosen` of all `experts`; tokens choose independently, so that 1 - (1 - chosen/experts)^tokens of
 * the experts are touched and read. Each touched expert's rows fill whole tiles of `tile_rows`. */
#ifndef ORRERY_MODELS_MOE_H
#define ORRERY_MODELS_MOE_H

#include "models/hardware.h"
#include "models/kernel_time.h"

struct moe_params {
    double start_s;
    double flop_frac, bandwidth_frac;
    double softness;
    double expert_s;  /* each touched expert */
    double tile_rows; /* rows of an expert are rounded up to these */
};

struct moe_shape {
    double tokens, hidden, inner; /* width of the hidden state; of one expert on this GPU */
    double chosen, experts;       /* per token; in the whole layer */
    double held;                  /* experts on this GPU */
    double matrices;              /* 3 with a gate, else 2 */
    double skew;                  /* exponent of the power law of the experts' loads; 0: all alike */
    enum number_format weights, compute;
};

struct kernel_time moe_time(const struct moe_params *params, const struct gpu_spec *gpu, const struct moe_shape *shape);

#endif
