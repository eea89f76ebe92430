/* The roofline's parameters and their defaults.
 *
 * The defaults are round numbers read off public measurements, not a fit, so the model counts as uncalibrated. They
 * come from the profiles of microsoft/vidur @ 7d475133 and ai-dynamo/aiconfigurator @ 095f58a5:
 *
 *   projection_*    Vidur, MLP up projection inside a model (time_stats.mlp_up_proj.median), median of each LLM over
 *                   all degrees of tensor parallelism: .70-.76 of the peak on A100 and .70-.73 on H100 from 2048 tokens
 *                   on; .68-.77 (A100), .68-.87 (H100), .78-.80 (A40) of the bandwidth up to 8 tokens, where one GPU
 *                   alone reaches .68-.81, .68-.91, .79-.81
 *   attention_*     aiconfigurator: prompts of 4096 tokens and more reach a median of .54 (A100) and .53 (H100) of the
 *                   peak; rows that read over 100 MB of KV cache a median of .64 (A100), .70 (H100) of the bandwidth.
 *                   Smaller rows start up for most of their time, which is layer_overhead's
 *   elementwise_*   Vidur, five operators of a Llama-2-70B layer at 2048 tokens: .47 (A100), .51 (H100)
 *   collective_*    all-reduce over 64 MB and 512 MB: .58 and .72 (A100), .71 and .78 (H100) of the link; floors from
 *                   7 us (2 GPUs) to 25 us (8 GPUs)
 *   layer_overhead  Vidur at one token: 17 us for five small kernels (A100, Llama-2-7B); the calibration of its four
 *                   matrix products starts each in 3.9 us, aiconfigurator attention in 10.5 us
 *   *_overhead      Vidur, vLLM on A100, Llama-2-7B on one GPU: schedule, prepare_inputs_e2e, sampler_e2e and
 *                   process_model_outputs (medians, 13 rows of 8 to 128 sequences) together take .79 ms + 42.6 us per
 *                   sequence by least squares; the default for an iteration is 8 % above */
#include "sim/catalog/cost_kind.h"

#include "models/roofline.h"

#define EFFICIENCY(key, member, share, what) ROW_REAL(key, member, DEFAULT(share), WITHIN(DBL_MIN, 1.0), what)
#define DURATION(key, member, time, what) ROW_QUANTITY(key, member, UNIT_TIME, DEFAULT(time), WITHIN(0.0, 10.0), what)

#define ROW_OF struct roofline_params
static const struct config_field fields[] = {
    EFFICIENCY("projection_compute_efficiency", projection_flop_frac, "0.7",
               "share of the peak that matrix products with weights reach"),
    EFFICIENCY("projection_bandwidth_efficiency", projection_bandwidth_frac, "0.75",
               "share of the memory bandwidth that reading weights reaches"),
    EFFICIENCY("attention_compute_efficiency", attention_flop_frac, "0.53",
               "share of the peak that attention of prompts reaches"),
    EFFICIENCY("attention_bandwidth_efficiency", attention_bandwidth_frac, "0.64",
               "share of the memory bandwidth that reading the KV cache reaches"),
    EFFICIENCY("elementwise_bandwidth_efficiency", elementwise_bandwidth_frac, "0.5",
               "share of the memory bandwidth that norms, activations and residuals reach"),
    EFFICIENCY("collective_bandwidth_efficiency", collective_bandwidth_frac, "0.65",
               "share of the link bandwidth that a ring all-reduce reaches"),
    DURATION("collective_latency", collective_s, "4us", "start of a collective"),
    DURATION("collective_hop_latency", collective_hop_s, "1.5us", "each step of a collective's ring"),
    DURATION("layer_overhead", layer_s, "40us", "start and ramp of the kernels of a layer"),
    DURATION("host_layer_time", host_layer_s, "0s",
             "CPU time to launch the kernels of a layer, as far as the GPU does not hide it; 0 with CUDA graphs"),
    DURATION("iteration_overhead", iteration_s, "0.85ms", "CPU time of the engine per iteration"),
    DURATION("sequence_overhead", sequence_s, "42us", "CPU time of the engine per sequence in the batch"),
    {0},
};
#undef ROW_OF

static int build(const void *params, const struct cost_request *request, struct iteration_model *model)
{
    const struct llm_spec *llm = request->llm;
    if (llm->kv_latent > 0 || llm->dense_layers > 0)
        return diag_error(request->diag, SIM_E_CONFIG, request->where, "choose another kind, such as \"operators\"",
                          "the roofline knows neither latent attention nor layers of two kinds, as %s has them",
                          llm->name);
    struct roofline *roofline = arena_alloc(request->arena, sizeof *roofline);
    if (!roofline) return SIM_E_NOMEM;
    roofline_init(roofline, request->gpu, request->llm, request->tensor_parallel, request->pipeline_parallel, params);
    model->model = roofline;
    model->cost = roofline_cost;
    return 0;
}

const struct cost_kind cost_roofline = {
    .name = "roofline",
    .summary = "from the GPU's data sheet and the LLM's shape, with default efficiencies; uncalibrated",
    .fields = fields,
    .params_bytes = sizeof(struct roofline_params),
    .build = build,
};
