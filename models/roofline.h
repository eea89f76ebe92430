/* Iteration cost as a roofline: every operator takes the longer of computing and moving bytes, at a share of the GPU's
 * peaks, and the operators run one after another.
 *
 *     layer = projections (QKV, O, up, down) + experts + attention of prompts + attention of decoding sequences
 *             + element-wise operators + all-reduces + layer_s
 *     iteration = max(layers * layer + head, layers * host_layer_s) + iteration_s + sequences * sequence_s
 *
 * The maximum is hard (Williams et al. 2009, "Roofline"). Measured kernels round the corner off, so the model is too
 * fast where computing and moving balance, for 17 to 256 tokens. Left out: tile quantisation, split-K, overlap of
 * collectives with computing, clocks below boost, uneven experts.
 *
 * With tensor parallelism the cost is that of one GPU and its all-reduces; with pipeline parallelism that of the
 * fullest stage, sending its activations on included. */
#ifndef ORRERY_MODELS_ROOFLINE_H
#define ORRERY_MODELS_ROOFLINE_H

#include "models/hardware.h"
#include "models/iteration.h"
#include "models/transformer.h"

/* Reached shares of the peaks, and times that no peak explains. */
struct roofline_params {
    double projection_flop_frac, projection_bandwidth_frac; /* matrix products with weights */
    double attention_flop_frac, attention_bandwidth_frac;
    double elementwise_bandwidth_frac; /* norms, activation, rotary embedding, residual */
    double collective_bandwidth_frac;  /* of the link, as bus bandwidth */
    double collective_s, collective_hop_s; /* latency of a collective, and per step of its ring */
    double layer_s;        /* start and ramp of the kernels of a layer, on the GPU */
    double host_layer_s;   /* CPU time to launch the kernels of a layer, hidden behind the GPU; 0: CUDA graphs */
    double iteration_s;    /* engine: schedule, prepare, sample, detokenise */
    double sequence_s;     /* the same, per sequence */
};

/* One matrix product over m rows: the longer of m flop_s and weight_s + m row_s. */
struct roofline_product {
    double flop_s, weight_s, row_s;
};

enum { ROOFLINE_QKV, ROOFLINE_OUT, ROOFLINE_UP, ROOFLINE_DOWN, ROOFLINE_PRODUCTS };
enum { ROOFLINE_TOKEN_BITS = 24 };

/* Everything that depends on GPU, model and parallelism alone, computed once: a cost is then a few multiplications. */
struct roofline {
    double layers;
    struct roofline_product products[ROOFLINE_PRODUCTS], head;
    struct roofline_product router, expert_up, expert_down; /* weight_s of all experts; rows are tokens */
    bool has_experts;
    double expert_missed[ROOFLINE_TOKEN_BITS]; /* chance that 2^i tokens leave an expert out */
    double pair_flop_s;                        /* prompt attention, per unit of prefill_pairs */
    double context_flop_s, context_byte_s;     /* attention, per context token: computing, reading keys and values */
    double query_byte_s;                       /* attention, per token: queries in, results out */
    double window_tokens;                      /* 0: none */
    double window_frac;                        /* share of the layers that have the window */
    double token_s;                            /* element-wise operators and collectives, per token and layer */
    double layer_s;                            /* per layer, whatever the batch */
    double send_s, send_token_s;               /* to the next pipeline stage */
    double host_s, iteration_s, sequence_s;
};

/* The split must be possible (llm_parallel_problem). All shares are > 0. A group wider than a node is one ring over its
 * nodes: the slower of the GPUs' links and of what the adapters of a node carry together limits it. */
void roofline_init(struct roofline *roofline, const struct gpu_spec *gpu, const struct llm_spec *llm,
                   int64_t tensor_parallel, int64_t pipeline_parallel, const struct gpu_nodes *nodes,
                   const struct roofline_params *params);

/* An iteration_model's cost function; `model` is a struct roofline. The costs of a decode run are exact up to `until`:
 * there attention begins to compute longer than it reads, fills its window, or the GPU no longer hides the CPU. */
void roofline_cost(const void *model, const struct iteration_work *work, struct iteration_cost *cost);

#endif
