/* FlexGen with a latency goal, Select-N's baseline (arXiv 2502.08182): a static share of the weights in host memory, as
 * large as the goal allows if each layer computes at the GPU's peak and all GPUs of the bus share it at all times.
 * Small batches do not reach the peak, so they miss the goal. */
#include "policies/declared.h"
#include "sim/world/policy/kv_offload.h"

#include <math.h>

static double peak_compute_s(const struct offload_view *view)
{
    const struct offload_layer *layer = &view->layer;
    const double tokens = view->workload.sequences, attention = view->workload.prompt * layer->context_flop;
    return layer->layers * tokens * (layer->token_flop + attention) /
           gpu_peak_flop_per_s(view->gpu, view->llm->compute);
}

static int flexgen_slo_place(void *state, const struct offload_view *view, struct offload_plan *plan)
{
    (void)state;
    plan->in_use = true;
    if (!(view->capacity_bytes[OFFLOAD_HOST] > 0.0)) {
        plan->missing = OFFLOAD_HOST;
        return 0;
    }
    const double worst = fmin(plan->rates.host_read, view->bus_bytes_per_s / (double)view->bus_gpus);
    const double weights = view->layer.layers * view->layer.weight_bytes;
    const double left_s = isnan(view->tpot_slo_s) ? (double)INFINITY
                                                  : fmax(view->tpot_slo_s - peak_compute_s(view), 0.0);
    const double share = fmin(1.0, left_s * worst / weights);
    plan->placement.schedule = OFFLOAD_RELEASED;
    plan->placement.shares.weights[OFFLOAD_HOST] = share;
    plan->placement.shares.weights[OFFLOAD_GPU_MEMORY] = 1.0 - share;
    plan->fixed_bytes[OFFLOAD_HOST] = view->layer.gpus * share * weights;
    plan->fixed_bytes[OFFLOAD_GPU_MEMORY] += fmin(2.0 * view->layer.weight_bytes - share * weights, 0.0);
    return 0;
}

static uint32_t flexgen_slo_reads(const void *state)
{
    (void)state;
    return OFFLOAD_READS_WORKLOAD | OFFLOAD_READS_TPOT;
}

const struct kv_offloader kv_offload_flexgen_slo = {
    .policy = {POLICY_HEAD(kv_offloader, POLICY_KV_OFFLOAD),
               .name = "flexgen-slo",
               .summary = "a static share of the weights in host memory, sized for peak FLOP/s and a bus shared by all",
               .source = "Select-N, arXiv 2502.08182, its baseline"},
    .place = flexgen_slo_place,
    .reads = flexgen_slo_reads,
};
