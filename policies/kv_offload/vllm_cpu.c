/* vLLM's CPU offload (cpu_offload_gb, since 0.5.5): some bytes of the weights stay in host memory and are read over the
 * link in every iteration, without overlap; the GPU memory that this frees holds KV cache. The cache of preempted
 * sequences may be swapped to the host as well (swap_space). */
#include "policies/declared.h"
#include "sim/world/policy/kv_offload.h"

#include <math.h>

struct vllm_cpu {
    double offload_bytes;
    bool swap;
};

#define ROW_OF struct vllm_cpu
static const struct config_field vllm_cpu_fields[] = {
    ROW_QUANTITY("cpu_offload", offload_bytes, UNIT_BYTES, DEFAULT("4GiB"), AT_LEAST(0),
                 "bytes of each GPU's weights in host memory (cpu_offload_gb)"),
    ROW_BOOL("swap", swap, DEFAULT("false"), "the KV cache of preempted sequences is swapped to host memory"),
    {0}};
#undef ROW_OF

static int vllm_cpu_place(void *state, const struct offload_view *view, struct offload_plan *plan)
{
    const struct vllm_cpu *params = state;
    const double weights = view->layer.layers * view->layer.weight_bytes,
                 on_host = fmin(params->offload_bytes, weights);
    plan->in_use = true;
    if (!(view->capacity_bytes[OFFLOAD_HOST] > 0.0)) {
        plan->missing = OFFLOAD_HOST;
        return 0;
    }
    plan->placement.schedule = OFFLOAD_SERIAL;
    plan->placement.shares.weights[OFFLOAD_HOST] = on_host / weights;
    plan->placement.shares.weights[OFFLOAD_GPU_MEMORY] = 1.0 - on_host / weights;
    plan->fixed_bytes[OFFLOAD_HOST] = view->layer.gpus * on_host;
    plan->fixed_bytes[OFFLOAD_GPU_MEMORY] -= on_host;
    return 0;
}

static enum offload_tier vllm_cpu_evicted(void *state, const struct offload_view *view,
                                          const struct request_view *request)
{
    (void)view;
    (void)request;
    return ((const struct vllm_cpu *)state)->swap ? OFFLOAD_HOST : OFFLOAD_GPU_MEMORY;
}

const struct kv_offloader kv_offload_vllm_cpu = {
    .policy = {POLICY_HEAD(kv_offloader, POLICY_KV_OFFLOAD),
               .name = "vllm-cpu",
               .summary = "some of the weights in host memory, read in every iteration; more room for KV cache",
               .source = "vLLM, cpu_offload_gb and swap_space",
               .params = vllm_cpu_fields,
               .params_bytes = sizeof(struct vllm_cpu),
               .state_bytes = sizeof(struct vllm_cpu)},
    .place = vllm_cpu_place,
    .evicted = vllm_cpu_evicted,
};
