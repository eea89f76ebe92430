/* The KV cache of a preempted sequence is dropped, and recomputed from its prompt and generated tokens when the
 * sequence resumes: vLLM's default for single sequences. */
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
               .summary = "the KV cache of preempted sequences is recomputed",
               .source = "Kwon et al., SOSP 2023, section 4.5"},
    .evicted = recompute_evicted,
};
