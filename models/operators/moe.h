/* Time of a fused mixture-of-experts layer on one GPU: up (and gate) projection, activation and down projection of the
 * experts it holds, over the tokens that choose them (Triton, CUTLASS, DeepGEMM and TensorRT-LLM's own kernels).
 *
 *     t = start + held held_s + touched expert_s + soft_max(compute, weights / (bandwidth_frac W))
 *         + passes / (pass_frac W)
 *
 * Each expert's rows fill tiles of 16 x 32 while there are no more tokens than experts on the GPU, else of 64 x 64
 * (vLLM's default; its tuning files for single shapes and GPUs are not modelled). Products with fewer tiles than
 * tiles_per_sm S leave a part of the GPU idle. Hidden states that exceed the L2 are fetched again and again:
 * computing takes 1 + cache_loss log(1 + tokens hidden / L2) times as long. The weights of the touched experts are read
 * once. Between the products, every choice of a token passes through memory several times: written, activated, read,
 * written, summed. Some kernels walk along all experts on the GPU, with or without rows (DeepGEMM): held_s each.
 *
 * Expert parallelism, for builders of calls: `tokens` are those of all GPUs that share the experts, `held` is
 * experts / GPUs, `inner` is whole. Where tokens are gathered (or lie on all GPUs anyhow), choices of experts held
 * elsewhere may still pass through memory, as zeros: in Triton's kernel most do, CUTLASS spares them (spared_frac).
 * Where an all-to-all dispatches tokens, these choices are not there: `dispatched`. Low-latency dispatch also narrows
 * them and lays out the rows of each expert: its experts are two grouped products (DeepGEMM, masked), a class of their
 * own. Normal dispatch delivers a token once to each GPU that holds one of its experts, `whole_tokens`. The GPU
 * scatters it to its experts and adds up their results, walking along all its choices. Its products have contiguous
 * rows (DeepGEMM), a further class.
 * The all-to-all's message is what one GPU sends and keeps: own tokens times the experts they choose, times their
 * width, at most once per GPU; it happens twice. With tensor parallelism, `held` is all and `inner` is divided. */
#ifndef ORRERY_MODELS_OPERATORS_MOE_H
#define ORRERY_MODELS_OPERATORS_MOE_H

#include "models/hardware.h"
#include "models/operators/kernel_time.h"

#include <stdbool.h>

struct moe_params {
    double start_s;        /* of all kernels, with sorting the choices by expert */
    double flop_frac;      /* of the peak, in full tiles */
    double bandwidth_frac; /* while weights are read */
    double softness;       /* of computing and reading weights */
    double expert_s;       /* each touched expert */
    double pass_frac;      /* of the bandwidth, between the products */
    double cache_loss;
    double tiles_per_sm; /* that keep all of the GPU busy */
    double spared_frac;  /* of the passes of choices of experts held elsewhere */
    double held_s;       /* each expert on the GPU, touched or not */
};

/* How tokens spread over experts: expert_load_of. */
struct expert_load {
    double touched; /* experts with at least one row */
    double rows;    /* of all of them */
    double tiles;   /* of `tile_rows` rows, each of one expert */
};

struct moe_shape {
    double tokens, hidden, inner; /* width of the hidden state; of one expert on this GPU */
    double chosen, experts;       /* per token; in the whole layer */
    double held;                  /* experts on this GPU */
    double matrices;              /* 3 with a gate, else 2 */
    double skew;                  /* of the choices of experts: see below */
    bool in_turn;                 /* experts are chosen one after another: see below */
    bool dealt;                   /* with skew, GPUs get the rest in turn: see below */
    bool dispatched;              /* only choices of held experts are on this GPU */
    bool whole_tokens;            /* all choices of its tokens, if dispatched; set by the class, not by callers */
    enum number_format weights, compute;
    bool is_spread;          /* `load` is known: moe_spread */
    struct expert_load load; /* of all that stands above */
};

struct kernel_time moe_time(const struct moe_params *params, const struct gpu_spec *gpu, const struct moe_shape *shape);

/* Sets the load, for a shape that is timed with many parameters; no other member may change afterwards. Times stay the
 * same to the bit. */
void moe_spread(struct moe_shape *shape);

/* How the tokens of a batch spread over the experts of one GPU: touched experts, their rows, and tiles of rows. If
 * several GPUs hold the experts, the one with the most work counts, since all others wait for it.
 *
 * Without skew every token picks its experts at random, and all GPUs are taken to be equally busy; `in_turn`, tokens
 * are dealt to the experts one after another, as benchmarks do.
 *
 * With skew the rows of an expert follow a power law with that exponent between 1 and 0.8 tokens (0.01 and 2 as long as
 * there are fewer choices than experts), scaled to the sum of choices, rounded, none above `tokens`. What rounding
 * leaves goes to untouched experts of the busiest GPU or, `dealt`, of one GPU after the other (as aiconfigurator's
 * benchmarks draw loads: ai-dynamo/aiconfigurator, collector/helper.py, before and since 13dadba3). Expected values:
 * quantiles of the law stand for the experts, and the busiest GPU holds those of an upper share of the law whose mean
 * is that of the largest of so many sums (gamma distributed, by Wilson and Hilferty 1931). */
struct expert_load_shape {
    double tokens;
    double chosen, experts; /* of each token; in all */
    double held;            /* experts of the GPU */
    double skew;            /* exponent of the power law, 1.2 is strong; 0: none */
    bool in_turn, dealt;
};

struct expert_load expert_load_of(const struct expert_load_shape *shape, double tile_rows);

#endif
