/* InstInfer (Pan et al., arXiv 2409.04992; InstAttention, HPCA 2025): the KV cache lies in computational storage, which
 * attends to it; weights and everything else stay on the GPU. While prompts are processed, the cache of each layer
 * moves to storage as the next layer computes, so the GPU holds the cache of two layers only. Several devices share the
 * heads.
 *
 * Sparse attention (SparF) keeps a share of the channels and of the tokens, on devices with a second copy of the
 * keys. */
#include "policies/declared.h"
#include "sim/world/policy/kv_offload.h"

#include <float.h>

struct instinfer {
    double kept_frac;
};

#define ROW_OF struct instinfer
static const struct config_field instinfer_fields[] = {
    ROW_REAL("keep", kept_frac, DEFAULT("1"), WITHIN(DBL_MIN, 1),
             "share of each key's components and of the tokens that sparse attention reads; 1: dense"),
    {0}};
#undef ROW_OF

static int instinfer_place(void *state, const struct offload_view *view, struct offload_plan *plan)
{
    const struct instinfer *params = state;
    plan->in_use = true;
    if (view->csd.csd == NULL) {
        plan->missing = OFFLOAD_CSD;
        return 0;
    }
    plan->placement.shares.cache[OFFLOAD_GPU_MEMORY] = 0.0;
    plan->placement.shares.cache[OFFLOAD_CSD] = 1.0;
    plan->placement.kept_frac = params->kept_frac;
    plan->cache_copies = csd_copies(view->csd.csd);
    plan->fixed_bytes[OFFLOAD_GPU_MEMORY] += 2.0 * view->layer.kv_token_bytes * view->activation_tokens;
    return 0;
}

const struct kv_offloader kv_offload_instinfer = {
    .policy = {POLICY_HEAD(kv_offloader, POLICY_KV_OFFLOAD),
               .name = "instinfer",
               .summary = "KV cache on drives that compute attention over it, dense or sparse; weights on the GPU",
               .source = "Pan et al., arXiv 2409.04992",
               .params = instinfer_fields,
               .params_bytes = sizeof(struct instinfer),
               .state_bytes = sizeof(struct instinfer)},
    .place = instinfer_place,
};
