/* vLLM's CPU offload (cpu_offload_gb, since 0.5.5): so many bytes of the weights stay in the host's memory and are
 * read over the link in every iteration, with nothing to hide behind; what that leaves on the GPU is for KV cache.
 * The cache of preempted sequences may go to the host as well (swap_space). */
#include "policies/declared.h"
#include "sim/world/policy/kv_offload.h"

#include <math.h>

struct vllm_cpu_params {
    double offload_bytes;
    bool swap;
};

#define AT(member) .offset = offsetof(struct vllm_cpu_params, member)
static const struct config_field vllm_cpu_fields[] = {
    {.name = "cpu_offload", .kind = CONFIG_QUANTITY, .dim = UNIT_BYTES, AT(offload_bytes), .value = "4GiB", .min = 0,
     .max = -1, .help = "of each GPU's weights, what stays in the host's memory (cpu_offload_gb)"},
    {.name = "swap", .kind = CONFIG_BOOL, AT(swap), .value = "false",
     .help = "the KV cache of preempted sequences goes to the host's memory"},
    {0}};

struct vllm_cpu {
    struct vllm_cpu_params params;
};

static int vllm_cpu_place(void *state, const struct offload_view *view, struct offload_plan *plan)
{
    const struct vllm_cpu_params *params = &((struct vllm_cpu *)state)->params;
    const double weights = view->layer.layers * view->layer.weight_bytes, away = fmin(params->offload_bytes, weights);
    plan->in_use = true;
    if (!(view->capacity_bytes[OFFLOAD_HOST] > 0.0)) {
        plan->missing = OFFLOAD_HOST;
        return 0;
    }
    plan->placement.schedule = OFFLOAD_SERIAL;
    plan->placement.shares.weights[OFFLOAD_HOST] = away / weights;
    plan->placement.shares.weights[OFFLOAD_GPU_MEMORY] = 1.0 - away / weights;
    plan->fixed_bytes[OFFLOAD_HOST] = view->layer.gpus * away;
    plan->fixed_bytes[OFFLOAD_GPU_MEMORY] -= away;
    return 0;
}

static enum offload_tier vllm_cpu_evicted(void *state, const struct offload_view *view,
                                          const struct request_view *request)
{
    (void)view;
    (void)request;
    return ((struct vllm_cpu *)state)->params.swap ? OFFLOAD_HOST : OFFLOAD_GPU_MEMORY;
}

const struct kv_offloader kv_offload_vllm_cpu = {
    .policy = {POLICY_HEAD(kv_offloader, POLICY_KV_OFFLOAD),
               .name = "vllm-cpu",
               .summary = "some of the weights in the host's memory, read in every iteration; room for KV cache instead",
               .source = "vLLM, cpu_offload_gb and swap_space",
               .params = vllm_cpu_fields,
               .params_bytes = sizeof(struct vllm_cpu_params),
               .state_bytes = sizeof(struct vllm_cpu)},
    .place = vllm_cpu_place,
    .evicted = vllm_cpu_evicted,
};
