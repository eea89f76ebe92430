#include "sim/world/policy/kv_offload.h"

#include <math.h>

void offload_plan_default(const struct offload_view *view, struct offload_plan *plan)
{
    const struct offload_layer *layer = &view->layer;
    *plan = (struct offload_plan){.placement = offload_placement_none(), .rates = view->rates, .cache_copies = 1.0};
    for (int tier = 0; tier < OFFLOAD_TIERS; tier++) plan->capacity_bytes[tier] = view->capacity_bytes[tier];
    plan->fixed_bytes[OFFLOAD_GPU_MEMORY] = layer->layers * layer->weight_bytes + layer->other_bytes +
                                            view->activation_bytes;
}

struct offload offload_of_plan(const struct offload_view *view, const struct offload_plan *plan)
{
    return (struct offload){
        .layer = view->layer,
        .rates = plan->rates,
        .csd = view->csd,
        .placement = plan->placement,
        .base = view->model,
        .peak_flop_per_s = gpu_peak_flop_per_s(view->gpu, view->llm->compute),
        .memory_bytes_per_s = view->gpu->memory_bytes_per_s,
    };
}

bool offload_plan_fits(const struct offload_plan *plan, enum offload_tier *full)
{
    for (int tier = 0; tier < OFFLOAD_TIERS; tier++)
        if (plan->fixed_bytes[tier] > plan->capacity_bytes[tier]) {
            *full = (enum offload_tier)tier;
            return false;
        }
    return true;
}

double offload_plan_tokens(const struct offload_view *view, const struct offload_plan *plan)
{
    enum offload_tier full;
    double tokens = (double)INFINITY;
    if (!offload_plan_fits(plan, &full)) return 0.0;
    for (int tier = 0; tier < OFFLOAD_TIERS; tier++) {
        const double share = plan->placement.shares.cache[tier];
        const double gpus = tier == OFFLOAD_GPU_MEMORY ? 1.0 : view->layer.gpus;
        const double copies = tier == OFFLOAD_CSD ? plan->cache_copies : 1.0;
        const double token_bytes = gpus * copies * view->layer.layers * view->layer.kv_token_bytes * share;
        if (share > 0.0) tokens = fmin(tokens, (plan->capacity_bytes[tier] - plan->fixed_bytes[tier]) / token_bytes);
    }
    return tokens;
}
