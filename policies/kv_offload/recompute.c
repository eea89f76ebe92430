/* The KV cache of a preempted sequence is given up, and computed again from its prompt and what it has generated when
 * it comes back: vLLM's first choice for sequences of their own. */
#include "policies/declared.h"
#include "sim/world/policy/kv_offload.h"

static enum offload_tier recompute_evicted(void *state, const struct offload_view *view,
                                           const struct request_view *request)
{
    (void)state;
    (void)view;
    (void)request;
    return OFFLOAD_GPU_MEMORY;
}

const struct kv_offloader kv_offload_recompute = {
    .policy = {POLICY_HEAD(kv_offloader, POLICY_KV_OFFLOAD),
               .name = "recompute",
               .summary = "the KV cache of preempted sequences is computed again",
               .source = "Kwon et al., SOSP 2023, section 4.5"},
    .evicted = recompute_evicted,
};
