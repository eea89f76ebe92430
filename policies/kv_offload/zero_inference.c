/* DeepSpeed ZeRO-Inference (Aminabadi et al., SC 2022): weights stream from the host one layer ahead of the GPU. The KV
 * cache lies in host memory and moves to the GPU, layer by layer, for each attention. Transfers and computing
 * overlap. */
#include "policies/declared.h"
#include "sim/world/policy/kv_offload.h"

struct zero_inference {
    double weights_gpu;
    bool host_cache, overlap;
};

#define ROW_OF struct zero_inference
static const struct config_field zero_inference_fields[] = {
    ROW_REAL("weights_gpu", weights_gpu, DEFAULT("0"), WITHIN(0, 1), "share of the weights on the GPU"),
    ROW_BOOL("host_cache", host_cache, DEFAULT("true"), "the KV cache lies in host memory, not on the GPU"),
    ROW_BOOL("overlap", overlap, DEFAULT("true"), "layers compute while others are transferred"),
    {0}};
#undef ROW_OF

/* Two layers of weights, and of KV cache, are on the GPU at a time. */
static int zero_inference_place(void *state, const struct offload_view *view, struct offload_plan *plan)
{
    const struct zero_inference *params = state;
    const struct offload_layer *layer = &view->layer;
    struct offload_shares *shares = &plan->placement.shares;
    plan->in_use = true;
    if (!(view->capacity_bytes[OFFLOAD_HOST] > 0.0)) {
        plan->missing = OFFLOAD_HOST;
        return 0;
    }
    plan->placement.schedule = params->overlap ? OFFLOAD_OVERLAPPED : OFFLOAD_SERIAL;
    shares->weights[OFFLOAD_GPU_MEMORY] = params->weights_gpu;
    shares->weights[OFFLOAD_HOST] = 1.0 - params->weights_gpu;
    shares->cache[OFFLOAD_GPU_MEMORY] = params->host_cache ? 0.0 : 1.0;
    shares->cache[OFFLOAD_HOST] = params->host_cache ? 1.0 : 0.0;
    const double weights = layer->layers * layer->weight_bytes * shares->weights[OFFLOAD_HOST];
    const double context = view->workload.sequences * (view->workload.prompt + view->workload.output);
    plan->fixed_bytes[OFFLOAD_HOST] = layer->gpus * weights;
    plan->fixed_bytes[OFFLOAD_GPU_MEMORY] += (weights > 0.0 ? 2.0 * layer->weight_bytes : 0.0) - weights;
    if (params->host_cache) plan->fixed_bytes[OFFLOAD_GPU_MEMORY] += 2.0 * layer->kv_token_bytes * context;
    return 0;
}

static uint32_t zero_inference_reads(const void *state)
{
    return ((const struct zero_inference *)state)->host_cache ? OFFLOAD_READS_WORKLOAD : 0;
}

const struct kv_offloader kv_offload_zero_inference = {
    .policy = {POLICY_HEAD(kv_offloader, POLICY_KV_OFFLOAD),
               .name = "zero-inference",
               .summary = "weights streamed one layer ahead, KV cache in host memory",
               .source = "Aminabadi et al., SC 2022; DeepSpeed ZeRO-Inference",
               .params = zero_inference_fields,
               .params_bytes = sizeof(struct zero_inference),
               .state_bytes = sizeof(struct zero_inference)},
    .place = zero_inference_place,
    .reads = zero_inference_reads,
};
